"""What the questions of Magic-Bench-377 are answered with: one JSON object, its verdict under one key.

{"reason": "…", "satisfied": true}      a test point
{"reason": "…", "score": 4}             a mark of 1 to 5
{"reason": "…", "verdict": "left"}      a battle: left, right, both good, both bad
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Final, TypeVar

from salon_taxonomy.answers import Note, OffMenuError, Outcome, Unparsed, parse_object
from salon_taxonomy.answers.strict_json import Json, JsonError

LOWEST: Final = 1
HIGHEST: Final = 5

V = TypeVar("V")


class Shown(StrEnum):
    """The outcome of one showing of two pictures, by the side of the screen."""

    LEFT = "left"
    RIGHT = "right"
    BOTH_GOOD = "both good"
    BOTH_BAD = "both bad"


def parse_check(text: str) -> Outcome[bool]:
    """Read the reply to a test point: true when the demand is met in full.

    Example:
        >>> parse_check('{"reason": "There are two.", "satisfied": false}').answer
        False
        >>> parse_check("It is satisfied.").reason
        <Reason.MALFORMED: 'malformed'>
    """
    return _parsed(text, "satisfied", _truth)


def parse_mark(text: str) -> Outcome[int]:
    """Read the reply to a rubric: a whole mark from 1 to 5.

    Example:
        >>> parse_mark('{"reason": "One hand is odd.", "score": 4}').answer
        4
        >>> parse_mark('{"reason": "", "score": 4.5}').reason
        <Reason.OFF_MENU: 'off_menu'>
    """
    return _parsed(text, "score", _mark)


def parse_battle(text: str) -> Outcome[Shown]:
    """Read the reply to a battle.

    Example:
        >>> parse_battle('{"reason": "Both follow the text.", "verdict": "both_good"}').answer
        <Shown.BOTH_GOOD: 'both good'>
        >>> parse_battle('{"reason": "", "verdict": "tie"}').reason
        <Reason.OFF_MENU: 'off_menu'>
    """
    return _parsed(text, "verdict", _shown)


def _parsed(text: str, key: str, read: Callable[[Json], V]) -> Outcome[V]:
    extra: tuple[Note, ...] = ()

    def of(members: dict[str, Json]) -> V:
        nonlocal extra
        if key not in members:
            raise JsonError(f"the key {key!r} is missing")
        extra = (Note.EXTRA_KEYS,) if members.keys() - {key, "reason"} else ()
        return read(members[key])

    outcome = parse_object(text, of)
    return outcome if isinstance(outcome, Unparsed) else replace(outcome, notes=(*outcome.notes, *extra))


def _truth(value: Json) -> bool:
    if not isinstance(value, bool):
        raise JsonError("the key 'satisfied' is neither true nor false")
    return value


def _mark(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise JsonError("the key 'score' is no number")
    if value not in range(LOWEST, HIGHEST + 1):
        raise OffMenuError(f"the score {value:g} is no whole mark from {LOWEST} to {HIGHEST}")
    return int(value)


def _shown(value: Json) -> Shown:
    if not isinstance(value, str):
        raise JsonError("the key 'verdict' is no text")
    try:
        return Shown(" ".join(value.lower().replace("_", " ").split()))
    except ValueError:
        raise OffMenuError(f"the verdict {value[:40]!r} was not offered") from None
