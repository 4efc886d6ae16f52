"""Generic answers: yes or no, a label of a menu, a mark on a scale, a JSON object, a text, a numbered list.

The forms of questions that a user writes, and of MagicBench's question about the subject. A reply may reason first; its last
line is the answer, best behind "Answer:". Prose is not searched for words of the menu, so "I have no idea" answers nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, TypeVar

from salon_taxonomy.answers.outcome import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import SplitReply, is_refusal, last_object, refused, rejected, split_object, split_reply
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

V = TypeVar("V")

_WRAPPING: Final = " \t\r\n\"'`*.。,:;()[]<>"
_ANSWER: Final = re.compile(r"\banswer(?: is)?[ *\"'`]{0,4}[:：](.{0,80})", re.IGNORECASE)
_YES_NO: Final = ("yes", "no")
_FIRST: Final = re.compile(r"\W{0,8}(yes|no)\s?[,.:;–—-]", re.IGNORECASE)
_MARKED: Final = re.compile(r"(?:answer|score|rating)(?: is)?[ *\"'`]{0,4}[:：][ *\"'`<(\[]{0,4}", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"(?P<number>-?[0-9]{1,6}(?:\.[0-9]{1,12})?)(?:\s?(?:/|out of)\s?(?P<most>[0-9]{1,6}))?"
    r"(?![0-9]|\.?\w|[%/]|\s?[-–—]\s?[0-9]|\s(?:or|to|and)\s[0-9])"
)
_LONGEST_LINE: Final = 80
_LONGEST_SHOWN: Final = 40
_MOST_SHOWN: Final = 8
_MOST_ITEMS: Final = 100
_BETWEEN_ITEMS: Final = " \t\r\n;*"


class OffMenuError(ValueError):
    """A value in a reply is well formed, but it is not one of those that were offered. The message is one clause."""


def parse_yes_or_no(text: str) -> Outcome[bool]:
    """Read a reply to a yes-or-no question: its last line must be yes or no, or end with "answer: yes".

    A verdict that stands first is taken where what follows cannot turn it round: on the same line after a comma, full stop or
    dash ("No, it is cropped."), or from the next line on, beginning a sentence, when no later line is the other verdict.

    Example:
        >>> parse_yes_or_no("Both hands are in the frame.\\n\\n**Yes**").answer
        True
        >>> [parse_yes_or_no(reply).reason.value for reply in ("", "I have no idea", '{"answer": "ye', "Answer: maybe")]
        ['empty', 'malformed', 'truncated', 'off_menu']
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    lines, word = _lines(heard), _last_line(heard, _YES_NO)
    if word is None and len(lines) == 1:
        first = _FIRST.match(lines[0])
        word = first[1].casefold() if first else None
    elif word is None and lines and not lines[1][0].islower() and not any(_bare(line, _YES_NO) for line in lines[1:]):
        word = _bare(lines[0], _YES_NO)
    if word is None:
        return _nothing_chosen(heard, "the last line is neither yes nor no")
    return Parsed(word == "yes", heard.reasoning, heard.notes)


def parse_choice(text: str, labels: Sequence[str]) -> Outcome[str]:
    """Read which one of some labels a reply ends with; upper and lower case are the same.

    Args:
        text: the reply. Its last line must be a label, or end with "answer: label".
        labels: at least two, different also in lower case.

    Returns:
        The label as it is spelled in ``labels``.

    Raises:
        InputError: there are fewer than two labels, or two are the same.

    Example:
        >>> parse_choice("It has brush strokes.\\nAnswer: **Oil painting**", ["photo", "oil painting"]).answer
        'oil painting'
        >>> parse_choice("Answer: sculpture", ["photo", "oil painting"]).detail
        "'sculpture' was not offered"
    """
    spelled = {label.lower(): label for label in labels}
    if len(labels) < 2 or len(spelled) < len(labels) or "" in spelled:
        raise InputError("needs two or more different labels, not", column="labels", value=list(labels))
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    word = _last_line(heard, tuple(spelled))
    if word is None:
        more = f" and {len(labels) - _MOST_SHOWN} more" if len(labels) > _MOST_SHOWN else ""
        return _nothing_chosen(heard, f"the last line is none of {', '.join(labels[:_MOST_SHOWN])}{more}")
    return Parsed(spelled[word], heard.reasoning, heard.notes)


def parse_scale(text: str, lowest: int, highest: int) -> Outcome[int]:
    """Read a whole mark from ``lowest`` to ``highest``: the whole reply, or what is behind the last "answer:" or "score:".

    "4/5" and "4 out of 5" count if 5 is the highest mark.

    Raises:
        InputError: ``lowest`` is not below ``highest``.

    Example:
        >>> parse_scale("Sharp, but the hand is odd. Answer: 4/5", 1, 5).answer
        4
        >>> parse_scale("Answer: 9", 1, 5).detail
        'the mark 9 is no whole number from 1 to 5'
        >>> parse_scale("It has 3 cats.", 1, 5).reason
        <Reason.MALFORMED: 'malformed'>
    """
    if lowest >= highest:
        raise InputError("the lowest mark must be below the highest, not", column="lowest", value=lowest)
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    marks = list(_MARKED.finditer(heard.answer))
    match = _NUMBER.match(heard.answer, marks[-1].end()) if marks else _NUMBER.fullmatch(heard.answer.strip(_WRAPPING))
    if match is None or _broken_off(heard):
        return _nothing_chosen(heard, f"no mark from {lowest} to {highest} is in the reply")
    number = float(match["number"])
    if number not in range(lowest, highest + 1) or (match["most"] and int(match["most"]) != highest):
        problem = f"the mark {match[0]} is no whole number from {lowest} to {highest}"
        return Unparsed(Reason.OFF_MENU, problem, heard.reasoning)
    return Parsed(int(number), heard.reasoning, heard.notes)


def parse_object(text: str, read: Callable[[dict[str, Json]], V]) -> Outcome[V]:
    """Read the last JSON object of a reply: bare, fenced or within prose.

    Args:
        text: the reply.
        read: makes the answer from the members; raises ``JsonError`` for a malformed object, and ``OffMenuError`` for a value
            that was not offered.

    Example:
        >>> parse_object('Here you are: {"cats": 2}', lambda members: members["cats"]).answer
        2
        >>> parse_object('{"cats": 2', dict).reason
        <Reason.TRUNCATED: 'truncated'>
    """
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    try:
        members = strict_json(fragment.body)
        if not isinstance(members, dict):
            raise JsonError("the answer is no JSON object")
        answer = read(members)
    except OffMenuError as problem:
        return rejected(fragment, Reason.OFF_MENU, str(problem), heard.reasoning)
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    if fragment.unfinished:
        return Unparsed(Reason.TRUNCATED, "another object was begun and never closed", heard.reasoning)
    return Parsed(answer, heard.reasoning, (*heard.notes, *fragment.notes))


def parse_text(text: str) -> Outcome[str]:
    """Read a reply in words: all of it but its reasoning.

    Example:
        >>> parse_text("<think>A dog, then?</think>A dog runs to a tree.").answer
        'A dog runs to a tree.'
        >>> parse_text("I'm sorry, I can't view videos.").reason
        <Reason.REFUSED: 'refused'>
    """
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    if is_refusal(heard.answer):
        return refused(heard)
    return Parsed(heard.answer, heard.reasoning, heard.notes)


def parse_list(text: str) -> Outcome[tuple[str, ...]]:
    """Read a numbered list: its items from 1, each on lines of its own, or behind the one before.

    Example:
        >>> parse_list("1. A dog runs.\\n2. It lies down.").answer
        ('A dog runs.', 'It lies down.')
        >>> parse_list("1. A dog runs; 2. it lies down.").answer
        ('A dog runs', 'it lies down.')
        >>> [parse_list(reply).reason.value for reply in ("", "A dog runs.", "1. A dog runs.\\n2. ")]
        ['empty', 'malformed', 'malformed']
    """
    outcome = parse_text(text)
    if isinstance(outcome, Unparsed):
        return outcome
    starts: list[re.Match[str]] = []
    while len(starts) < _MOST_ITEMS and (start := _item(outcome.answer, starts)) is not None:
        starts.append(start)
    ends = [*(start.start() for start in starts[1:]), len(outcome.answer)]
    items = tuple(outcome.answer[start.end() : end].strip(_BETWEEN_ITEMS) for start, end in zip(starts, ends, strict=False))
    if not all(map(str.strip, items)) or not items:
        problem = f"item {items.index('') + 1} of the list is empty" if items else "there is no numbered list in the reply"
        return Unparsed(Reason.MALFORMED, problem, outcome.reasoning)
    return Parsed(items, outcome.reasoning, outcome.notes)


def parse_value(text: str, key: str, read: Callable[[Json], V]) -> Outcome[V]:
    """Read the value of one key of the last JSON object of a reply.

    A key beside it other than ``reason`` is noted.

    Args:
        text: the reply.
        key: of the object.
        read: makes the answer from the value; raises as for :func:`parse_object`.

    Example:
        >>> parse_value('{"reason": "Two of them.", "cats": 2}', "cats", int).answer
        2
        >>> parse_value('{"dogs": 2}', "cats", int).reason
        <Reason.MALFORMED: 'malformed'>
    """
    extra: tuple[Note, ...] = ()

    def of(members: dict[str, Json]) -> V:
        nonlocal extra
        if key not in members:
            raise JsonError(f"the key {key!r} is missing")
        extra = (Note.EXTRA_KEYS,) if members.keys() - {key, "reason"} else ()
        return read(members[key])

    outcome = parse_object(text, of)
    return outcome if isinstance(outcome, Unparsed) else replace(outcome, notes=(*outcome.notes, *extra))


def _item(text: str, before: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """Return where the next item of a numbered list begins: on a line, else behind a space or a semicolon."""
    number, behind = len(before) + 1, before[-1].end() if before else 0
    on_a_line = re.compile(rf"^[ \t*#-]{{0,8}}{number}[.)]\**(?=\s|$)", re.MULTILINE)
    return on_a_line.search(text, behind) or re.compile(rf"(?<=[\s;]){number}[.)](?=\s|$)").search(text, behind)


def _lines(heard: SplitReply) -> list[str]:
    return [line.strip() for line in heard.answer.splitlines() if line.strip()]


def _last_line(heard: SplitReply, words: tuple[str, ...]) -> str | None:
    """Return the word that is the last line of a reply, or that its last line gives behind "answer:"."""
    lines = _lines(heard)
    if not lines:
        return None
    end = lines[-1][-_LONGEST_LINE - max(map(len, words)) :]
    return _bare(lines[-1], words) or _chosen(_marked_pattern(words).search(end), words)


def _bare(line: str, words: tuple[str, ...]) -> str | None:
    """Return the word of a line that holds nothing else."""
    longest = _LONGEST_LINE + max(map(len, words))
    return _chosen(_bare_pattern(words).fullmatch(line), words) if len(line) <= longest else None


def _chosen(match: re.Match[str] | None, words: tuple[str, ...]) -> str | None:
    """Return the word whose group matched: letters such as "ſ" match a word without being its lower case."""
    return None if match is None or match.lastindex is None else _longest_first(words)[match.lastindex - 1]


@cache
def _bare_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    lead = r"\W{0,8}?(?:(?:my |the )?(?:final )?answer(?: is)?\W{0,8}?)?"
    return re.compile(rf"{lead}(?:{_one_of(words)})\W{{0,8}}", re.IGNORECASE)


@cache
def _marked_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\banswer(?: is)?[ *\"'`]{{0,4}}[:：]\W{{0,6}}?(?:{_one_of(words)})\W{{0,8}}$", re.IGNORECASE)


def _one_of(words: tuple[str, ...]) -> str:
    """Return a group for each word; no sign or point of a number is taken for punctuation before it."""
    groups = ((r"(?<![-−–.])" if word[0].isdigit() else "") + f"({re.escape(word)})" for word in _longest_first(words))
    return "|".join(groups)


def _longest_first(words: tuple[str, ...]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _nothing_chosen(heard: SplitReply, problem: str) -> Unparsed:
    """Return why a reply chooses nothing: cut off, a refusal, another answer, or prose."""
    if _broken_off(heard):
        return Unparsed(Reason.TRUNCATED, "{ is opened and never closed", heard.reasoning)
    if is_refusal(heard.answer):
        return refused(heard)
    marked = _ANSWER.search((_lines(heard) or [""])[-1])
    if marked is not None:
        other = marked[1].strip(_WRAPPING)[:_LONGEST_SHOWN]
        return Unparsed(Reason.OFF_MENU, f"{other!r} was not offered", heard.reasoning)
    return Unparsed(Reason.MALFORMED, problem, heard.reasoning)


def _broken_off(heard: SplitReply) -> bool:
    """Return whether a reply is the beginning of a JSON object."""
    return heard.answer.lstrip("`json \n").startswith("{") and last_object(heard.answer) is None
