"""Illusory rectification: an edit instruction that rewrites the prompt instead of the picture.

R³-Bench (R³-Refiner), section 3.1 and Figure 5: a policy that is paid for verdicts alone learns to change what was asked for
until it fits what is seen. Reports and monitors count such instructions. What a reward pays for them is the reward's own
rule (``illusory`` of :class:`~salon_rewards.RectificationReward`).

    instruction ──► one spelling (no zero-width characters, accents, look-alike letters) ──► clauses, without writing in the
                    picture ("the caption on the poster") and without reasons ("as the prompt asks") ──► a verb of rewriting
                    with the prompt as its object, or a prompt that ought to be different, or a new prompt that is given

"Text" alone is writing in the picture; the prompt if the instruction calls it so (the original, the user's, text that mentions
or asks for something) or compares it with the picture ("to match the image").

Rules on words, made for counting. They read English, and in Arabic, Chinese, French, German, Hindi, Italian, Japanese,
Korean, Portuguese, Russian and Spanish the plain forms (a verb of rewriting beside a word for the prompt). They miss
misspelled words, other languages, and instructions that do not name the prompt. docs/editors.md has the measured precision
and recall. Every rule takes time linear in the length of the instruction.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from salon_taxonomy.answers.reading import BLANK_LETTERS


@dataclass(frozen=True, slots=True)
class IllusoryFinding:
    """Why an instruction is taken for illusory.

    Attributes:
        rule: ``rewritten`` (a verb of rewriting, and the prompt), ``ought`` (the prompt should be different) or
            ``new_prompt`` (another prompt is given).
        words: the words that the rule found, in lower case and one spelling; a word for writing in the picture is ``letters``.
    """

    rule: str
    words: str


def illusory(instruction: str) -> IllusoryFinding | None:
    """Return the rule by which an edit instruction rewrites the prompt instead of the picture; None if no rule applies.

    Args:
        instruction: what a model wrote as ``edit_prompt``; any text of any length.

    Example:
        >>> illusory("Replace two bowls with two plates in the prompt.").rule
        'rewritten'
        >>> illusory("The caption should have said two plates.").rule
        'ought'
        >>> illusory("Replace the bowls with plates, as the prompt asks.")
        >>> illusory("Change the text to OPEN.")
    """
    text = _one_spelling(instruction)
    return _english(_english_letters(text)) or _other_language(text)


def _one_spelling(text: str) -> str:
    """Return the text in lower case without what the eye does not see: width, accents, zero-width and direction characters."""
    return _MARKUP.sub(" ", _folded(text))


def _folded(text: str) -> str:
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        kept = "".join(sign for sign in apart if unicodedata.category(sign) not in ("Mn", "Cf") and sign not in _BLANK)
        text = unicodedata.normalize("NFC", kept)
    return text.lower()


def _english_letters(text: str) -> str:
    """The text with look-alike letters of other alphabets, digits within words and spelled-out words as Latin letters."""
    latin = text if text.isascii() else text.translate(_LOOK_ALIKES)
    latin = _DIGIT.sub(lambda match: _DIGITS[match[0]], latin)
    return _SPELLED_OUT.sub(lambda match: re.sub(r"[ .\-]", "", match[0]), latin)


def _english(text: str) -> IllusoryFinding | None:
    bare = _QUOTED.sub(lambda found: found[1] if _NOUN.fullmatch(found[1].strip()) else '""', text)
    text = bare if any(map(str.isalpha, bare)) else text.strip(' "“”„')  # an instruction that is quoted as a whole
    text = _OTHER_PROMPTS.sub(" ", text)
    if _NOUN.search(text) is None:  # every rule needs one
        return None
    for sentence in map(_without_writing, _SENTENCE_END.split(text)):
        asked = _without_reasons(sentence)
        description = _SUPPOSED.search(sentence) or _NEW_PROMPT.search(asked)
        if description is not None:
            return IllusoryFinding("new_prompt", description[0].strip())
        for rule, pairs in _RULES:
            for starts, ends, barrier in pairs:
                words = _reached(asked, starts, ends, barrier)
                if words is not None:
                    return IllusoryFinding(rule, words)
    return None


def _without_writing(sentence: str) -> str:
    """Replace the words for writing in the picture: "text" that is not the prompt's, "the caption on the wall"."""
    of_the_prompt = _TEXT_OF_THE_PROMPT.search(sentence) is not None

    def kept(match: re.Match[str]) -> str:
        before, behind = sentence[max(0, match.start() - 40) : match.start()], sentence[match.end() : match.end() + 60]
        if _WRITTEN_BEFORE.search(before) or _WRITTEN_BEHIND.match(behind):
            return "letters"
        prompt = not match[0].startswith("text") or of_the_prompt or _PROMPTS_OWN.search(before)
        return match[0] if prompt else "letters"

    return _ALSO_WRITTEN.sub(kept, sentence)


def _without_reasons(sentence: str) -> str:
    """Return the sentence without mentions of the prompt that give a reason, as in "as the prompt asks"."""
    kept: list[str] = []
    for part in _PART.split(sentence):
        at = 0
        while (start := _REASON.search(part, at)) is not None:
            mention = _MENTION.match(part, start.start()) or _MENTION.search(part, start.end())
            if mention is None:
                break
            kept.append(part[at : start.start()])
            at = mention.end()
        kept.append(part[at:])
    return " ".join(kept)


def _reached(sentence: str, starts: re.Pattern[str], ends: re.Pattern[str], barrier: re.Pattern[str]) -> str | None:
    """Return the first stretch without a barrier from a start to an end behind it."""
    for part in barrier.split(sentence):
        start = starts.search(part)
        end = ends.search(part, start.end()) if start is not None else None
        if start is not None and end is not None:
            return part[start.start() : end.end()].strip()
    return None


def _other_language(text: str) -> IllusoryFinding | None:
    text = _FOREIGN_QUOTED.sub(" ", text)
    languages = [language for language in _LANGUAGES if language.nouns.search(text) and language.verbs.search(text)]
    for clause in _FOREIGN_CLAUSE_END.split(text) if languages else ():
        for language in languages:
            if all(pattern.search(clause) for pattern in (language.nouns, language.verbs, language.particles)):
                asked = language.reasons.sub(" ", language.written.sub(" ", clause))
                noun, verb = language.nouns.search(asked), language.verbs.search(asked)
                if noun is not None and verb is not None:
                    return IllusoryFinding("rewritten", asked[min(noun.start(), verb.start()) : max(noun.end(), verb.end())])
    return None


# One spelling.

_BLANK: Final = frozenset(f"{BLANK_LETTERS}\u2800")
_MARKUP: Final = re.compile(r"[_*`~#\s]+")
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕкмтнвгԁԛԝһӏьпѵзαβεικνορτυχηωμγօոսհյցզᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢıɑɡøđħłſ",
    "aeopcyxijskmthbrdqwhlbnvzabeikvoptuxnwmyonuhjgqabcdefghijklmnoprstuvwyziagodhls",
)
"""Letters of other alphabets (Cyrillic, Greek, Armenian, small capitals) by the Latin ones that they look like."""
_DIGITS: Final = {"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s"}
_DIGIT: Final = re.compile(r"(?<=[a-z])[013457@$](?=[a-z])")
_SPELLED_OUT: Final = re.compile(r"(?<![a-z])[a-z](?:[ .\-][a-z]){4,}(?![a-z])")

# English: words.

_ASKED: Final = r"(?:prompt|promt|caption|description|request|query|wording|requirement|instruction|input)s?"
_NOUN: Final = re.compile(
    rf"\b(?:{_ASKED}|sentence|phrase|text|"
    r"what (?:is|was|the user|they|you|he|she) (?:had )?(?:asked|wanted|requested)(?: for)?)\b"
)
_ALSO_WRITTEN: Final = re.compile(
    r"\b(?:(?:caption|text|sentence|phrase|wording|instruction|description|input|request)s?|quer(?:y|ies))\b"
)
"""Words for the prompt that are also words for something written in a picture."""
_PICTURE: Final = r"(?:image|picture|photo|photograph|drawing|painting|illustration|scene|frame|canvas)"
_THING: Final = (
    r"(?:sign|billboard|window|cake|cover|t-shirt|shirt|jersey|label|jar|blackboard|chalkboard|whiteboard|board|note|plate|screen|"
    r"monitor|laptop|phone|bubble|balloon|corner|watermark|door|poster|banner|bottom|top|wall|book|page|paper|newspaper|box|package|"
    r"packaging|parcel|bottle|calendar|card|envelope|menu|mug|can|bag|tag|sticker|flag|storefront|building|ticket|keyboard|placard|"
    r"plaque|stone|logo|headline|magazine|background|foreground)s?"
)
_MADE: Final = (
    r"(?:written|printed|shown|displayed|engraved|carved|etched|painted|drawn|stitched|embroidered|stamped|handwritten|scribbled|"
    r"scrawled|tattooed|typed)"
)
_LOOKS: Final = (
    r"(?:larger|bigger|smaller|bold|bolder|italics?|cursive|legible|readable|sharper|blurry|blurred|centered|centred|capitalized|"
    r"handwritten|upside down|glow(?:s|ing)?|neon|transparent|white|black|red|blue|green|yellow|gold|golden|pink|orange|purple|"
    r"grey|gray)"
)
_WRITTEN_BEFORE: Final = re.compile(
    rf"\b(?:{_THING}(?:'s)?(?: \w+)?|overlaid|overlay|{_MADE}|"
    r"(?:add|insert|write|put|place|paint)(?: \w+)? (?:an?|some|another|the)"
    r"(?: (?:short|small|new|missing|line of|piece of))?) $"
)
"""What before such a word says that it is written in the picture: a thing, a way of writing, or a verb that puts it there."""
_WRITTEN_BEHIND: Final = re.compile(
    r"(?:'s)?(?: \"\")? (?:"
    rf"(?:(?:{_MADE} )?(?:on|in|at|under|from|over|across|inside|above|below) )?(?:\w+ ){{0,3}}?{_THING}\b|"
    rf"(?:{_MADE}|overlay|shadow|font)\b(?! in the {_ASKED})|"
    r"(?:on|onto|under|underneath|below|beneath|above|across|over|beside) (?:the|an?|his|her|their|its|each|every) "
    rf"(?!{_ASKED}\b)|"
    rf"(?:in|into|from|within|inside|throughout|at) (?:the|this|that) (?:\w+ ){{0,2}}?(?:{_PICTURE}|middle|centre|center)\b|"
    r"(?:(?:should|must|needs? to|ha[sv]e? to|ought to) )?(?:be |is |are )?(?:much )?"
    rf"{_LOOKS}(?! \w+ (?:{_THING}|{_PICTURE}))\b)"
)
"""What behind such a word says so: a place, a way of writing, or how it looks."""
_PROMPTS_OWN: Final = re.compile(rf"\b(?:original|initial|given|provided|source|target|users?'?s?|{_ASKED}(?:'s)?)(?: \w+)? $")
_TEXT_OF_THE_PROMPT: Final = re.compile(
    r"\btexts?\b[^.;:,]{0,30}?\b(?:mention|describe|ask|request|specif|call for|refer|speak|talk)|"
    r"\b(?:match\w*|fits?|reflects?|suits?|agrees? with|corresponds? (?:to|with)|consistent with|instead of|rather than|not|"
    r"because|since|as|accept|keep|leave|(?:alter|adapt|adjust|align|conform)\w* [^.;:]{0,30}?\b(?:to|with)) "
    rf"(?:\w+ing )?(?:the |this |that )(?:\w+ )?{_PICTURE}\b|"
    rf"\b{_PICTURE} (?:itself )?(?:is|looks) (?:\w+ )?(?:right|fine|correct|good)\b"
)
"""A sentence in which "text" is the prompt: it has contents, or is compared with the picture."""
_OTHER_PROMPTS: Final = re.compile(
    r"\b(?:(?:command|terminal|shell|login|password) prompts?|prompt (?:delivery|service|reply|response|payment))\b"
)
_REGULAR: Final = (
    "change|replace|edit|update|modify|correct|adjust|remove|delete|rephrase|reword|revise|add|insert|fix|shorten|simplify|"
    "specify|clarify|substitute|alter|amend|refine|extend|expand|include|append|adapt|align|turn|exchange|relax|ignore|state|"
    "mention|describe|rename|reformulate|lower|ask|use|treat|interpret|reinterpret|assume|pretend|suppose|consider|rectify|"
    "paraphrase|switch|convert|transform"
)
_FORMS: Final = (
    "swap|swaps|swapped|swapping|drop|drops|dropped|dropping|set|sets|setting|rewrite|rewrites|rewrote|rewritten|rewriting|"
    "write|writes|wrote|written|writing|put|puts|putting|take|takes|took|taken|taking|strike|strikes|struck|striking|make|makes|"
    "made|making|let|lets|try|tries|trying|have|has|having"
)


def _inflected(verb: str) -> str:
    """Return a pattern for the forms of a regular verb."""
    if verb.endswith("y"):
        return f"{verb[:-1]}(?:y|ies|ied|ying)"
    return f"{verb[:-1]}(?:e|es|ed|ing)" if verb.endswith("e") else f"{verb}(?:s|es|ed|ing)?"


_REWRITE: Final = re.compile(rf"\b(?:{'|'.join(map(_inflected, _REGULAR.split('|')))}|{_FORMS})\b")
_CHANGED: Final = re.compile(
    r"\b(?:changed|replaced|edited|updated|modified|corrected|adjusted|removed|deleted|rephrased|reworded|revised|fixed|shortened|"
    r"simplified|clarified|altered|amended|extended|expanded|adapted|reformulated|rewritten|dropped|swapped|rectified)\b"
)
_OUGHT: Final = re.compile(
    r"\b(?:should|must|ought to|need(?:s|ed)? to|ha[sd] to|would|could|might|needs? \w+ing|"
    r"(?:is|was|were|are) (?:really |just |simply )?(?:meant|supposed|intended|wrong|incorrect|mistaken|inaccurate|a mistake)|"
    r"(?:really |actually )means?|becomes?)\b"
)
_OUGHT_TO_HAVE: Final = re.compile(
    r"\b(?:should|ought to|must|could|would) have "
    r"(?:been (?:written|put|worded)|said|read|asked|mentioned|stated|meant|specified)\b"
)

# English: where words may be apart.

_SENTENCE_END: Final = re.compile(r"(?<=[.;!?])\s+")
_PART: Final = re.compile(r"([.;:,]|\b(?:but|instead|rather)\b)")
_CLAUSE: Final = re.compile(r"[.;]")
_PHRASE: Final = re.compile(r"[.;:,]")
_SAYS: Final = (
    r"(?:asks|says|states|requests|requires|wants|mentions|describes|names|specifies|demands|calls for|means|"
    r"asked|said|stated|requested|required|wanted|mentioned|described|named|specified|demanded|called for)"
)
_DOES: Final = rf"(?:{_SAYS}|(?:does not|did not|doesn't|didn't) \w+)"
_MENTION: Final = re.compile(rf"(?:the )?{_ASKED}(?:'s)?\b(?: {_DOES}\b(?: for)?| (?:alone|unchanged|as it is)\b)?")
_REASON: Final = re.compile(
    r"\b(?:as (?:the|in|it|asked|stated|requested|required|specified|described|mentioned)|since|because|per|"
    r"according to|to (?:match|satisfy|follow|fit|meet)|match(?:es)?|follows?|fits|not|do not \w+|don't \w+|never|without|"
    r"leav(?:e|es|ing)|keep(?:s|ing)?|so that the|"
    rf"the {_ASKED} (?:{_DOES}|is (?:right|correct|fulfilled|met|satisfied)))\b"
)

# English: rules.

_NEW: Final = rf"(?:new|revised|better|updated|corrected|improved|rewritten|more accurate) {_ASKED}"
_NEW_PROMPT: Final = re.compile(
    rf"^\W*(?:in the {_ASKED}|prompt edit|{_NEW})\b|\b{_NEW} ?(?::|(?:is|would be|might be)\b)|"
    r"\b(?:with|from|in place of|instead of) the (?:current |original |given )?prompt\b|\bwhat is asked for\b"
)
_SUPPOSED: Final = re.compile(
    rf"\b(?:if|had) (?:the|this|that|your|my) (?:user's |original )?{_ASKED} (?:had |has |were |was |is |to |be )*+"
    rf"(?:{_SAYS}|read|{_CHANGED.pattern[2:-2]})\b|"
    rf"\bwhere the {_ASKED} (?:says|reads|asks|has|mentions)\b|"
    r"^\W*prompt ?(?::=|=>?|→|->)"
)
"""A prompt that is only imagined, whose place is named, or that is assigned."""
_RULES: Final = (
    ("ought", ((_NOUN, _OUGHT, _PHRASE), (_OUGHT_TO_HAVE, _NOUN, _CLAUSE))),
    ("rewritten", ((_REWRITE, _NOUN, _CLAUSE), (_NOUN, _CHANGED, _CLAUSE))),
)
_QUOTED: Final = re.compile(r"[\"“”„]([^\"“”„]*+)[\"“”]")

# Other languages. The ends of words are open, as most of these languages inflect them.

_FOREIGN_CLAUSE_END: Final = re.compile(r"[.;!?。;！？؛।:：]+")
_FOREIGN_QUOTED: Final = re.compile(r"[\"“„«「『‘]([^\"“”„«»「」『』‘’]*+)[\"”“»」』’]")


@dataclass(frozen=True, slots=True)
class _Language:
    """What an instruction in one language looks like that rewrites the prompt."""

    nouns: re.Pattern[str]
    verbs: re.Pattern[str]
    particles: re.Pattern[str]
    reasons: re.Pattern[str]
    written: re.Pattern[str]


def _language(*, nouns: str, verbs: str, reasons: str, written: str, particles: str = "", spaced: bool = True) -> _Language:
    """Compile the words of a language.

    Args:
        nouns: beginnings of words for the prompt.
        verbs: beginnings of verbs of rewriting, and of those that say what the prompt ought to be.
        reasons: mentions of the prompt that give a reason; NOUN is any of the nouns.
        written: mentions of writing in the picture; NOUN is any of the nouns.
        particles: small words that English lacks; a clause without any is read as English. Empty: the script tells.
        spaced: words begin behind a space.
    """
    nouns, verbs, particles, reasons, written = map(_folded, (nouns, verbs, particles, reasons, written))
    edge = r"\b" if spaced else ""
    noun = rf"(?:{nouns})\w*+" if spaced else f"(?:{nouns})"
    reasons, written = (each.replace("noun", noun) for each in (reasons, written))
    small = rf"\b(?:{particles})(?!\w)" if particles else ""
    nouns, verbs, reasons, written = (rf"{edge}(?:{each})" for each in (nouns, verbs, reasons, written))
    return _Language(*map(re.compile, (nouns, verbs, small, reasons, written)))


_LANGUAGES: Final = (
    _language(  # German
        nouns="prompt|beschreibung|eingabe|aufforderung|anfrage|bildunterschrift|bildbeschreibung|anweisung",
        verbs="änder|ersetz|schreib|umschreib|formulier|umformulier|streich|korrigier|anpass|pass|lösch|entfern|ergänz|soll|müsste|"
        "muss|mach|erweiter|kürz|tausch|nenn",
        reasons="(?:wie|laut|gemäß|nach|entsprechend|weil|da|damit) (?:\\w+ ){0,3}?NOUN"
        "(?: (?:verlangt|fordert|sagt|will|steht|entspricht))?|"
        "(?:zum|zur|dem|der) NOUN (?:entspricht|passt|verlangt|fordert)",
        particles="der|die|das|den|dem|im|zu|zum|zur|durch|ein|eine|aus|nicht|und|sollte|müsste|muss",
        written=r"NOUN (?:\w+ )?(?:(?:auf|unter|über) (?:dem|der|den|einem|einer)|am (?:unteren|oberen|rand)|"
        r"(?:aus|in|von) (?:dem|der|diesem) (?:bild|foto|zeichnung|gemälde)|(?:im|vom) (?:bild|foto|gemälde))",
    ),
    _language(  # French
        nouns="prompt|invite|description|consigne|requête|légende|demande\\b",
        verbs="chang|remplac|modifi|réécri|corrig|supprim|ajout|reformul|adapt|devrait|doit|mett|met\\b|enlev|retir|remani",
        reasons="(?:comme|selon|conformément|suivant|car|puisque) (?:\\w+[ '’]){0,4}?NOUN(?: (?:demande|indique|exige))?|"
        "(?:respecter|correspondre|correspond|suivre) (?:(?:à|au|le|la|l)[ '’]){0,2}NOUN",
        particles="le|la|les|l|un|une|du|de|des|en|dans|par|il|que|pour|au",
        written=r"NOUN (?:\w+ )?(?:sur (?:l|la|le|les|un|une)\b|sous (?:l|la|le|les)\b|en (?:bas|haut)\b|"
        r"dans (?:l['’]image|la photo|le dessin))|"
        r"(?:supprim|effac|enlev|retir)\w* (?:\w+['’ ]){0,2}?NOUN (?:de l['’]image|de la photo|du dessin)",
    ),
    _language(  # Spanish and Portuguese
        nouns="prompt|indicación|descripción|descrição|petición|pedido|solicitud|consigna|legenda",
        verbs="cambi|reemplaz|modific|reescrib|reescrev|corrig|correg|corrij|elimin|quit|añad|adicion|ajust|debería|deveria|debe\\b|"
        "deve\\b|alter|substitu|sustitu|remov|mud|troc|reformul|pon\\b|pong",
        reasons="(?:como|según|segundo|conforme|porque|de acuerdo con|de acordo com) (?:\\w+ ){0,3}?NOUN"
        "(?: (?:pide|indica|exige|dice))?|"
        "(?:coincid|cumpl|correspond|combin)\\w* (?:con |com |a |al |ao |à ){0,1}(?:el |la |o |a ){0,1}NOUN",
        particles="el|la|los|las|debería|deveria|un|una|del|de|en|por|que|hay|al|o|os|as|um|uma|no|na|do|da|dos|para|dois",
        written=r"NOUN (?:(?:impres|escrit|grabad|gravad|pintad)\w* )?"
        r"(?:(?:en|sobre|bajo|sob|no|na|em) (?:(?:el|la|un|una|o|a|uma?) )?|del |de la |do |da )"
        r"(?:imagen|imagem|foto|dibujo|desenho|cartel|letrero|etiqueta|caja|caixa|póster|rótulo|placa|pared|parede|portada|"
        r"capa|libro|livro|camis|pantalla|tela|embalagem|botella|garrafa|parte inferior|parte superior|parte de)",
    ),
    _language(  # Italian
        nouns="prompt|descrizione|richiesta|didascalia|consegna",
        verbs="cambi|sostitui|modific|riscriv|corregg|elimin|togli|rimuov|aggiung|adatta|dovrebbe|deve\\b|metti|riformul",
        reasons="(?:come|secondo|poiché|perché) (?:\\w+ ){0,3}?NOUN(?: (?:chiede|indica|dice))?|"
        "(?:corrispond|rispett|conform)\\w* (?:al |alla |il |la ){0,1}NOUN",
        particles="il|lo|la|le|i|gli|un|una|nel|nella|dal|dalla|del|della|di|con|che",
        written=r"NOUN (?:\w+ )?(?:sull['’]|sulla |sul |sui |sotto |in (?:fondo|basso|alto|cima) |"
        r"(?:dall['’]|nell['’])immagine|(?:dalla|nella) foto)",
    ),
    _language(  # Russian
        nouns="промпт|запрос|описани|подсказк|формулировк|задани",
        verbs="измени|меня|поменя|замени|исправ|перепи|удали|убра|убери|добав|следовал|должн|нужно|надо|сделай|уточни|сократи|"
        "переформулир",
        reasons="(?:как|согласно|по|потому что|поскольку) (?:\\w+ ){0,2}?NOUN(?: (?:просит|требует|гласит))?|"
        "соответств\\w*(?: с)? NOUN",
        written=r"NOUN (?:\w+ )?(?:внизу|вверху|со? (?:картин|изображени|фото|рисун|плакат)|(?:на|под|над) "
        r"(?:таблич|вывес|этикет|картин|изображени|фото|плакат|стен|экран|короб|упаков|футбол|облож|рисун))",
    ),
    _language(  # Chinese
        nouns="提示|描述|原文|题目|指令|请求|需求|文案",
        verbs="改|替换|更换|更新|修正|删|去掉|移除|添加|加上|调整|重写|重新写|应为|应该|换成|写成",
        reasons="(?:根据|按照|依照|如|按|符合|遵循|匹配|因为|正如)(?:原始)?NOUN(?:词|中)?(?:所)?(?:的)?(?:要求|说|示)?|"
        "与NOUN词?(?:一致|相符|匹配)",
        spaced=False,
        written=r"(?:图片|图像|图|画面|画|照片|海报|招牌|广告牌|标签|牌子|书|屏幕|包装|瓶|盒子|盒|衣服|墙|杯子|杯)[^,，、]{0,2}?(?:上|中|里|内|下方|上方|底部|顶部)(?:的)?[^,，、]{0,3}?NOUN",
    ),
    _language(  # Japanese
        nouns="プロンプト|説明文|説明|指示|依頼|キャプション",
        verbs="変更|書き換え|書き直|修正|置き換え|直す|直し|変え|削除|追加|加え|すべき|訂正",
        reasons="NOUN(?:の|に)?(?:通り|とおり|従|沿|合わせ|合う|基づ|一致|よると|よれば)",
        spaced=False,
        written=r"(?:画像|写真|絵)(?:の中の|内の|の上の|の下の|の下部の|から|にある|に書かれた)NOUN|(?:画像|写真|絵)のキャプションを(?:削除|消)|(?:看板|ポスター|ラベル|紙|本|画面|壁|箱|瓶|シャツ)[^、。]{0,6}?の?NOUN",
    ),
    _language(  # Korean
        nouns="프롬프트|설명|문구|요청|지시문|캡션",
        verbs="변경|수정|바꾸|바꿔|교체|고치|고쳐|삭제|제거|추가|다시 쓰|다시 써|해야",
        reasons="NOUN(?:에|의|을|를|와|과)? ?(?:따라|따른|대로|맞게|맞춰|일치)",
        spaced=False,
        written=r"(?:이미지|사진|그림)(?:에 적힌|에 있는|에서| 속의?| 안의| 아래의?| 위의) ?NOUN|"
        r"(?:이미지|사진|그림)의 캡션을 (?:삭제|제거)|"
        r"(?:간판|포스터|표지판|라벨|벽|화면|상자|병|책|셔츠)(?:의|에|에서)? ?(?:\w+ )?NOUN",
    ),
    _language(  # Arabic
        nouns="الموجه|البرومبت|الوصف|النص الأصلي|الطلب|التعليمات",
        verbs="غير|استبدل|عدل|احذف|أضف|صحح|أعد|اكتب|يجب|ينبغي|أزل",
        reasons="(?:وفقا|حسب|كما|طبقا|بناء) (?:\\w+ ){0,2}?(?:NOUN|للوصف|للموجه|للطلب|للنص)|(?:ليطابق|لتطابق|لمطابقة) NOUN",
        spaced=False,
        written=r"NOUN (?:المكتوب|المطبوع|المنقوش|على|تحت|أسفل|فوق)|NOUN (?:من|في) (?:الصورة|الرسم|الملصق|اللافتة)",
    ),
    _language(  # Hindi
        nouns="प्रॉम्प्ट|विवरण|निर्देश|अनुरोध|कैप्शन",
        verbs="बदल|हटा|जोड़|सुधार|लिख|संशोधित|संपादित|ठीक कर|अद्यतन",
        reasons="NOUN (?:के अनुसार|के मुताबिक|के अनुरूप|से मेल)",
        spaced=False,
        written=r"(?:चित्र|तस्वीर|फोटो|बोर्ड|पोस्टर|लेबल|दीवार|किताब|डिब्बे) (?:से|पर|में|के नीचे|के ऊपर) (?:[^ ]+ ){0,2}?NOUN",
    ),
)
