"""What the questions of Magic-Bench-377 are answered with: one JSON object, its verdict under one key.

{"reason": "…", "satisfied": true}      a test point
{"reason": "…", "score": 4}             a mark of 1 to 5
{"reason": "…", "verdict": "left"}      a battle: salon_taxonomy.answers.parse_pair_verdict
"""

from typing import Final

from salon_taxonomy.answers import OffMenuError, Outcome, parse_value
from salon_taxonomy.answers.strict_json import Json, JsonError

LOWEST: Final = 1
HIGHEST: Final = 5


def parse_check(text: str) -> Outcome[bool]:
    """Read the reply to a test point: true when the demand is met in full.

    Example:
        >>> parse_check('{"reason": "There are two.", "satisfied": false}').answer
        False
        >>> parse_check("It is satisfied.").reason
        <Reason.MALFORMED: 'malformed'>
    """
    return parse_value(text, "satisfied", _truth)


def parse_mark(text: str) -> Outcome[int]:
    """Read the reply to a rubric: a whole mark from 1 to 5.

    Example:
        >>> parse_mark('{"reason": "One hand is odd.", "score": 4}').answer
        4
        >>> parse_mark('{"reason": "", "score": 4.5}').reason
        <Reason.OFF_MENU: 'off_menu'>
    """
    return parse_value(text, "score", _mark)


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
