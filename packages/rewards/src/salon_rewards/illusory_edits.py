"""Illusory rectification: an edit instruction that rewrites the prompt instead of the picture.

Paper 002 (R³-Bench and R³-Refiner), section 3.1 and Figure 5: a policy that is paid for verdicts alone learns to change what
was asked for until it fits what is seen. Such an instruction must be counted, and no reward may pay for it.

The detector is a handful of rules on English words, made for watching and counting: it looks for a verb of rewriting whose
object is the prompt, for a prompt that is given anew, and for the picture being left as it is. Words that are written in
the picture (signs, labels, captions at its edge) are things to edit like any other.
"""

import re
from dataclasses import dataclass
from typing import Final

LONGEST_INSTRUCTION: Final = 4_000
"""Of longer instructions the rest is not looked at."""

_ASKED: Final = r"(?:prompt|caption|description|request|query|wording|requirement|instruction)"
_SURELY: Final = rf"(?:(?:text |user |original |image |input )*{_ASKED}|(?:input|original|target) text|sentence|phrase|text)"
_REWRITE: Final = (
    r"(?:change|rewrite|replace|edit|update|modify|correct|adjust|remove|drop|delete|rephrase|reword|revise|add|insert|fix|"
    r"shorten|simplify|specify|clarify|substitute|alter|amend|set|refine|extend|expand|include|append|adapt|align|turn|swap|"
    r"exchange|relax|ignore|state|mention|describe|rename|write|put|take|strike|reformulate|lower|make|let|ask|use|try)"
)
_IN_PICTURE: Final = re.compile(
    r"\b(?:sign|signs|sign's|billboard|window|cake|cover|t-shirt|shirt|jersey|label|jar|blackboard|chalkboard|note|plate|screen|"
    r"monitor|laptop|bubble|corner|watermark|door|poster|banner|bottom of the (?:image|picture)|command prompt|"
    r"terminal prompt)\b"
)
_AS_ASKED: Final = re.compile(
    r"\b(?:as (?:the|asked|stated|requested|required|specified|described|in)|since|because|per|according to|"
    r"to (?:match|satisfy|follow|fit)|match(?:es)?|follows?|not|do not change|don't change|"
    rf"keep)\b[^.;:]*?\b{_ASKED}(?:'s)?\b(?: (?:asks?|says?|states?|requests?|requires?|wants?)\b(?: for)?)?|"
    rf"\bthe {_ASKED} (?:asks|says|states|requests|requires|wants)\b(?: for)?|\bso that the {_ASKED} \"[^\"]*\" becomes true"
)
_REWRITTEN: Final = re.compile(rf"\b{_REWRITE}\b[^.;]*?\b{_SURELY}\b")
_OUGHT: Final = re.compile(
    rf"\b{_SURELY}\b[^.;]*?\b(?:should|must|needs? to|has to)\b (?:be |read|say|mention|become|state|describe|ask)"
)
_GIVEN_ANEW: Final = re.compile(
    rf"^\W*(?:in the {_ASKED}\b|prompt edit|(?:new|revised|better|updated|corrected|improved|rewritten) {_ASKED})\b|"
    r"\b(?:with|from) the prompt\b|"
    r"\bwhat is asked for\b"
)
_WHERE: Final = re.compile(rf"\bwhere the {_ASKED} (?:says|reads|asks|has|mentions)\b")
_SENTENCES: Final = re.compile(r"(?<=[.;!])\s+")
_RULES: Final = (("given_anew", _GIVEN_ANEW), ("ought", _OUGHT), ("rewritten", _REWRITTEN))
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”")
_ALSO_WRITTEN: Final = re.compile(
    r"(?:caption|text|sentence|phrase|wording|instruction|description)$|(?:command|terminal) prompt"
)
"""Words for the prompt that are words for something in a picture, too."""


@dataclass(frozen=True, slots=True)
class IllusoryFinding:
    """Why an instruction is taken for illusory.

    Attributes:
        rule: ``rewritten`` (a verb of rewriting, and the prompt), ``ought`` (the prompt should be otherwise) or
            ``given_anew`` (another prompt is given).
        words: the words that the rule found, in lower case.
    """

    rule: str
    words: str


def illusory(instruction: str) -> IllusoryFinding | None:
    """Whether an edit instruction rewrites the prompt instead of the picture; None when it does not seem to.

    Args:
        instruction: what a model wrote as ``edit_prompt``; any text, in English.

    Example:
        >>> illusory("Replace two bowls with two plates in the prompt.").rule
        'rewritten'
        >>> illusory("Replace the bowls with plates, as the prompt asks.")
        >>> illusory("Change the text on the sign to OPEN.")
    """
    text = _QUOTED.sub('""', instruction[:LONGEST_INSTRUCTION].lower())
    where = _WHERE.search(text)
    if where is not None:
        return IllusoryFinding("given_anew", where[0])
    for sentence in _SENTENCES.split(_AS_ASKED.sub(" ", text)):
        for rule, pattern in _RULES:
            found = pattern.search(sentence)
            if found is not None and not (_ALSO_WRITTEN.search(found[0]) and _IN_PICTURE.search(sentence)):
                return IllusoryFinding(rule, found[0].strip())
    return None
