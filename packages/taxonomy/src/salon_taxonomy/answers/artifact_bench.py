"""Artifact-Bench's answers: yes or no, video A or B, and the letters of the options that apply.

The grammar is Artifact-Bench's, appendices A.2 and A.3. Its replies are prose, from which rules take the
answer; where they find nothing, the benchmark asks a language model, and where that finds nothing the item counts as
wrong. That second reader is the caller's: here a reply in which the rules find nothing is ``Unparsed``.

Two sets of rules are offered. ``"released"`` repeats the authors' script to the letter: in it, "There is *no* sign"
answers no, "video **a**bout cats" names video A, and the article in "**A** hand melts" chooses option A. ``"paper"``, the
default, drops what the script misreads: a refusal is no answer, a letter is part of no word, capital letters are taken out
of prose only where none of them can be an article or a pronoun, and a sentence that names both answers, or denies the one it
names, decides nothing ("Video A is better than Video B", "not yes"). Reasoning is taken out in the same way by both;
the script alone would read on in a ``<think>`` block that is never closed or never opened.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeVar

from salon_taxonomy.answers.outcome import Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import Fidelity, SplitReply, checked_fidelity, is_refusal, refused, split_reply
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

A = TypeVar("A")

_MOST_OPTIONS = 26
_WRAPPING = " \t\r\n\"'`*.。,:;()[]<>"

_MARK = r"answer(?: is)?[ *\"'`]{0,4}[:：]?[ *\"'`<(\[]{0,4}"
_OTHER_FOLLOWS = r"(?![ *\"'`>)\]]{0,4}[,/]?[ *\"'`<(\[]{0,4}(?:or|and|nor|vs|/)\b|[ *\"'`>)\]]{0,4}/)"
_DENIAL = re.compile(
    r"(?:\b(?:not|never|neither|nor|hardly|cannot)|n['’]t)"
    r"(?:[ *\"'`“‘]{1,4}(?:a|an|the|be|is|as|say|call|clear|clearly|simple|simply|quite|just|really|definite|definitely"
    r"|necessarily|exactly|answer)){0,4}[ *\"'`“‘<(\[]{1,4}$"
)
_DENIED_AFTER = re.compile(
    r"[ *\"'`>)\]”’]{0,4} (?:(?:is|was|would be|can|could|should) ?(?:not|never|n['’]t)|(?:is|was)n['’]t|cannot)\b"
)
_DENIAL_LENGTH = 120
# A full stop ends a sentence only before white space or quotation marks (not in "0.5 s"); a line break does not where the
# line before it plainly goes on.
_SENTENCE_END = re.compile(
    r"[!?。！？]|\.(?=[\s\"'”’*)\]>]|$)"
    r"|(?<!,)(?<!\bthan)(?<!\bor)(?<!\band)(?<!\bnor)(?<!\bto)(?<!\bover)(?<!\bnot)(?<!\bvideo)\n"
)

_YES_NO = re.compile(r"\b(yes|no)\b")
_ANSWER_YES_NO = re.compile(_MARK + r"\b(yes|no)\b" + _OTHER_FOLLOWS)
_RELEASED_ANSWER = re.compile(r"answer\s*+[:：]\s*+(yes|no)\b")

_VIDEO = re.compile(r"\bvideo\s*+([ab])\b")
_MARKED_LETTER = r"answer(?: is)?[ *\"'`]{0,4}[:：][ *\"'`<(\[]{0,4}(?=[ab]\b(?! [a-z]))"
_ANSWER_VIDEO = re.compile(rf"(?:{_MARK}\bvideo\s*+|{_MARKED_LETTER})([ab])\b{_OTHER_FOLLOWS}")
_RELEASED_VIDEO = re.compile(r"video\s*+([ab])")

_LETTER = re.compile(r"\b[A-Z]\b")
_WORD_LETTER = re.compile(r"\b(?:A|I)(?=[ '’](?!and\b|or\b)[a-z])")
_LETTER_LIST = re.compile(r"[A-Z](?:(?:\s{0,2}(?:[,;/&+]|and)\s{0,2}|\s{1,2})[A-Z]){0,25}")
_MARKED_LIST = re.compile(
    r"(?i:answers?|options?|selected|choices?)(?i: is| are)?[ *]{0,4}[:：][ *\"'(\[]{0,4}"
    r"([A-Z](?:\s{0,2}(?:[,;/&+]|and)\s{0,2}[A-Z]\b){0,25}+)\b(?! [a-z])"
)
# Small letters are words more often than options: a list of them counts where it is the rest of its line.
_SMALL_LETTER_LIST = re.compile(_LETTER_LIST.pattern, re.IGNORECASE)
_SMALL_MARKED_LIST = re.compile(
    r"(?:answers?|options?|selected|choices?)(?: is| are)?[ *]{0,4}[:：][ *\"']{0,4}"
    r"([a-z](?:\s{0,2}(?:[,;/&+]|and)\s{0,2}[a-z]\b){0,25}+)(?=[ *\"'.]{0,4}(?:\n|$))",
    re.IGNORECASE,
)
_IN_BRACKETS = re.compile(r"[(\[<]([A-Za-z])[)\]>]")


@dataclass(frozen=True, slots=True)
class YesNoAnswer:
    """Task 1 (RVAC): whether a video was made by a generative model."""

    ai_generated: bool


@dataclass(frozen=True, slots=True)
class VideoChoiceAnswer:
    """Task 2 (PVRC): which of two generated videos looks more realistic."""

    more_realistic: Literal["A", "B"]


@dataclass(frozen=True, slots=True)
class OptionLettersAnswer:
    """Task 3 (AID): the options that were observed. Never empty; scored as a set, by exact match."""

    letters: frozenset[str]


def parse_yes_no(text: str, *, fidelity: Fidelity = "paper") -> Outcome[YesNoAnswer]:
    """Read the answer to task 1: yes or no.

    It is the whole reply, else the last "answer: yes", else the last word that is yes or no.

    By the paper's rules the last such word counts only if its sentence does not also hold the other word, and does not deny
    it ("not yes"). The released script takes the first "answer: yes" instead of the last, and asks for nothing more.

    Example:
        >>> parse_yes_no("The fingers merge, so the answer is: **Yes**.").answer
        YesNoAnswer(ai_generated=True)
        >>> parse_yes_no("Is it generated, yes or no?").detail
        'both yes and no are in the deciding sentence'
        >>> parse_yes_no("Sorry, no videos can be opened here.").reason
        <Reason.REFUSED: 'refused'>
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    lowered = heard.answer.lower()
    if lowered.strip(_WRAPPING) in ("yes", "no"):
        return _heard(heard, YesNoAnswer(lowered.strip(_WRAPPING) == "yes"))
    if checked_fidelity(fidelity) == "released":
        first = _RELEASED_ANSWER.search(lowered)
        word = first[1] if first else _last(_YES_NO, lowered)
    else:
        word = _last(_ANSWER_YES_NO, lowered)
        if word is None and is_refusal(heard.answer):
            return refused(heard)
        if word is None and (doubt := _doubt(_YES_NO, lowered, "both yes and no")):
            return Unparsed(Reason.MALFORMED, doubt, heard.reasoning)
        word = word or _last(_YES_NO, lowered)
    return _nothing(heard, "neither yes nor no") if word is None else _heard(heard, YesNoAnswer(word == "yes"))


def parse_video_choice(text: str, *, fidelity: Fidelity = "paper") -> Outcome[VideoChoiceAnswer]:
    """Read a reply to task 2: the last "Video A" or "Video B", in angle brackets or not.

    By the paper's rules a reply that is nothing but the letter is read as well, the last "answer: Video A" comes before all
    others, and without one the last video counts only if its sentence does not also name the other, and does not deny it
    ("not Video A", "Video A is not …"). What the sentence says of the video is not understood.

    Example:
        >>> parse_video_choice("Video A flickers. <Video B> is more realistic.").answer
        VideoChoiceAnswer(more_realistic='B')
        >>> parse_video_choice("Video A is better than Video B").detail
        'both videos are in the deciding sentence'
        >>> parse_video_choice("Both are equally good.").reason
        <Reason.MALFORMED: 'malformed'>
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    lowered = heard.answer.lower()
    if checked_fidelity(fidelity) == "released":
        letter = _last(_RELEASED_VIDEO, lowered)
    else:
        if is_refusal(heard.answer):
            return refused(heard)
        whole = lowered.strip(_WRAPPING)
        letter = whole if whole in ("a", "b") else _last(_ANSWER_VIDEO, lowered)
        if letter is None and (doubt := _doubt(_VIDEO, lowered, "both videos")):
            return Unparsed(Reason.MALFORMED, doubt, heard.reasoning)
        letter = letter or _last(_VIDEO, lowered)
    if letter is None:
        return _nothing(heard, "neither Video A nor Video B")
    return _heard(heard, VideoChoiceAnswer("A" if letter == "a" else "B"))


def parse_option_letters(text: str, options: int = 6, *, fidelity: Fidelity = "paper") -> Outcome[OptionLettersAnswer]:
    """Read a reply to task 3: letters of options, ``A`` being the first of ``options``.

    By the paper's rules: the whole reply if it is a list of letters, else the last list behind "answer:", else all single
    capital letters of the prose. Letters in brackets count as letters ("(B)"); small letters count where they are the whole
    reply, or all that stands behind "answer:". Prose in which "A" or "I" may be a word is left to the second reader. Letters
    beyond the options are left out; a reply with no others is ``OFF_MENU``. The released script makes the whole reply capitals
    and takes every single letter, the article in "a hand" too.

    Args:
        text: the reply.
        options: how many options were offered, 1 to 26.
        fidelity: which rules.

    Raises:
        InputError: for a number of options that is not 1 to 26.

    Example:
        >>> sorted(parse_option_letters("B, D").answer.letters)
        ['B', 'D']
        >>> sorted(parse_option_letters("A hand melts, hence: answer: B and E.").answer.letters)
        ['B', 'E']
        >>> [sorted(parse_option_letters(reply).answer.letters) for reply in ("b, d", "(b)", "It melts.\\nanswer: b")]
        [['B', 'D'], ['B'], ['B']]
        >>> parse_option_letters("A hand melts in option C.").reason
        <Reason.MALFORMED: 'malformed'>
    """
    if not 1 <= options <= _MOST_OPTIONS:
        raise InputError("the number of options must be 1 to 26", column="options", value=options)
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    if checked_fidelity(fidelity) == "released":
        letters = _LETTER.findall(heard.answer.upper())
    else:
        if is_refusal(heard.answer):
            return refused(heard)
        listed = _listed(heard.answer)
        if listed is None and _WORD_LETTER.search(heard.answer):
            return _nothing(heard, "a letter may be a word, so no sure choice of options")
        letters = _LETTER.findall(heard.answer if listed is None else listed.upper())
    offered = frozenset(letter for letter in letters if ord(letter) - ord("A") < options)
    if offered:
        return _heard(heard, OptionLettersAnswer(offered))
    if letters:
        return Unparsed(Reason.OFF_MENU, f"only letters beyond the {options} options", heard.reasoning)
    return _nothing(heard, "no letter of an option")


def _listed(answer: str) -> str | None:
    """Return the reply's explicit list of letters, if it has one."""
    bare = _IN_BRACKETS.sub(r"\1", answer)
    whole = bare.strip(_WRAPPING)
    if _SMALL_LETTER_LIST.fullmatch(whole):
        return whole
    return _last(_MARKED_LIST, bare) or _last(_SMALL_MARKED_LIST, bare)


def _doubt(pattern: re.Pattern[str], text: str, both: str) -> str | None:
    """Return why the sentence of the pattern's last match decides nothing: it holds both answers, or denies the one it holds.

    None where it decides, and where nothing matches.
    """
    match = _last_match(pattern, text)
    if match is None:
        return None
    start, end = 0, len(text)
    for stop in _SENTENCE_END.finditer(text):
        if stop.start() >= match.end():
            end = stop.start()
            break
        if stop.end() <= match.start():
            start = stop.end()
    if len({match[1] for match in pattern.finditer(text, start, end)}) > 1:
        return f"{both} are in the deciding sentence"
    before = text[max(start, match.start() - _DENIAL_LENGTH) : match.start()]
    if _DENIAL.search(before) or _DENIED_AFTER.match(text, match.end(), end):
        return "the deciding sentence denies the answer that it names"
    return None


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the first group of the pattern's last match."""
    match = _last_match(pattern, text)
    return None if match is None else match[1]


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def _heard(heard: SplitReply, answer: A) -> Parsed[A]:
    return Parsed(answer, heard.reasoning, heard.notes)


def _nothing(heard: SplitReply, what: str) -> Unparsed:
    return Unparsed(Reason.MALFORMED, f"{what} is in the reply", heard.reasoning)
