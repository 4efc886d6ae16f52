"""Check that a restated reply contains nothing beyond the original reply.

A second model (``--extractor``) may put a reply into the form that a suite asks for. It must not answer the question
itself: every label, number and yes or no of the answer must occur in the reply. The test goes by words and is strict: what
the reply says in other words is not taken over, and stays unread.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, TypeVar

from salon_taxonomy.answers import Outcome, Parsed, Unparsed
from salon_taxonomy.verdict import Reason

RULE: Final = "faithful-1"
"""Part of the version of a run with an extractor: raised when another reply would pass."""
A = TypeVar("A")

_WORD = re.compile(r"[^\W_]+(?:\.\d+)?")
_PREFIX = re.compile(r"^L\d:\s*")
_LONGEST_LABEL = 8
_LEAST_SHARE = 2 / 3
_MOST_TEXT = 200_000
_TRUE = frozenset({"true", "yes"})
_FALSE = frozenset({"false", "no", "not", "abnormal", "wrong", "incorrect"})
_GRAMMAR = frozenset({"boxed", "answer", "explanation", "edit", "prompt"})
"""Words of the forms that suites ask for; they say nothing."""
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def faithful(parse: Callable[[str], Outcome[A]], reply: str) -> Callable[[str], Outcome[A]]:
    """Return a parser for restatements of ``reply`` that refuses answers which the reply does not contain.

    Example:
        >>> from salon_taxonomy.answers import parse_prism
        >>> parse = faithful(parse_prism, "I would give this picture seven points, because the light is wrong.")
        >>> parse('{"justification": "the light is wrong", "score": 7}').answer.score
        7.0
        >>> parse('{"justification": "the light is wrong", "score": 3}').detail
        "the restatement says '3', which the reply does not"
    """

    def read(text: str) -> Outcome[A]:
        outcome = parse(text)
        if not isinstance(outcome, Parsed):
            return outcome
        invented = invention(outcome.answer, text, reply)
        if invented is None:
            return outcome
        detail = f"the restatement says {invented!r}, which the reply does not"
        return Unparsed(Reason.MALFORMED, detail, outcome.reasoning)

    return read


def invention(answer: object, restated: str, reply: str) -> str | None:
    """Return the first part of an answer that the reply does not contain, shortened; None without one.

    A bare yes or no ("nothing is wrong") is the easiest to invent: then every word of the restatement must occur in the
    reply, and the reply must not hold the other word too.

    Args:
        answer: as parsed from the restatement: numbers, texts, truth values, and whatever is made of them.
        restated: the restatement.
        reply: what the judge said.
    """
    reply_words = _ReplyWords(reply)
    leaves = list(_leaves(answer))
    told = [leaf for leaf in leaves if not isinstance(leaf, str) or leaf.strip()]
    missing = [_named(leaf) for leaf in told if not reply_words.holds(leaf)]
    if all(isinstance(leaf, bool) for leaf in told):
        heard = restated.rpartition("</think>")[2]
        missing += [word for word in _words(heard) if word not in _GRAMMAR and not reply_words.holds_word(word)]
        missing += ["one of two"] if reply_words.both_ways else []
    return missing[0][:60] if missing else None


class _ReplyWords:
    """The words of a reply."""

    def __init__(self, reply: str) -> None:
        text = reply[:_MOST_TEXT]
        words = _words(text.replace("n't", " not ").replace("n\u2019t", " not "))
        self.words = frozenset(words)
        self._letters = frozenset(word for word in _WORD.findall(text) if len(word) == 1)
        self._running = f" {' '.join(words)} "
        self._numbers = {number for word in words if (number := _number(word)) is not None}

    @property
    def both_ways(self) -> bool:
        """Whether the reply says yes as well as no."""
        return bool(self.words & _TRUE) and bool(self.words & _FALSE)

    def holds(self, leaf: object) -> bool:
        """Return whether the reply contains a value, or two thirds of the words of a longer text."""
        if isinstance(leaf, bool):
            return bool(self.words & (_TRUE if leaf else _FALSE))
        if isinstance(leaf, int | float):
            return float(leaf) in self._numbers
        label = _PREFIX.sub("", str(leaf)).strip()
        if len(label) == 1:  # the letter of an option, not an article
            return label in self._letters
        words = _words(label)
        if len(words) <= _LONGEST_LABEL:
            return f" {' '.join(words)} " in self._running
        return sum(word in self.words for word in words) >= _LEAST_SHARE * len(words)

    def holds_word(self, word: str) -> bool:
        """Return whether the reply has the word, or another one for the same number or truth value."""
        if word in self.words:
            return True
        if word in _TRUE | _FALSE:
            return bool(self.words & (_TRUE if word in _TRUE else _FALSE))
        number = _number(word)
        return number is not None and number in self._numbers


def _leaves(value: object) -> Iterator[Any]:
    """Yield the texts, numbers and truth values that an answer is made of; None says nothing."""
    if isinstance(value, Enum):
        yield from _leaves(value.value)
    elif isinstance(value, str | bool | int | float):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for member in fields(value):
            yield from _leaves(getattr(value, member.name))
    elif isinstance(value, Mapping):
        for key, element in value.items():
            yield from _leaves(key)
            yield from _leaves(element)
    elif isinstance(value, tuple | list | AbstractSet):
        for element in value:
            yield from _leaves(element)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _number(word: str) -> float | None:
    if word in _NUMBERS:
        return float(_NUMBERS.index(word))
    try:
        return float(word) if word[0].isdigit() and word.isascii() and len(word) < 20 else None
    except ValueError:
        return None


def _named(leaf: object) -> str:
    return f"{leaf:g}" if isinstance(leaf, float) else str(leaf)
