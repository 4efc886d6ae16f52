"""Read which of two pictures a judge prefers: one JSON object, ``{"reason": "…", "verdict": "left"}``."""

from enum import StrEnum

from salon_taxonomy.answers.forms import OffMenuError, parse_value
from salon_taxonomy.answers.outcome import Outcome
from salon_taxonomy.answers.strict_json import Json, JsonError


class SideVerdict(StrEnum):
    """The outcome of one showing of two pictures, by the side of the screen."""

    LEFT = "left"
    RIGHT = "right"
    BOTH_GOOD = "both good"
    BOTH_BAD = "both bad"


def parse_pair_verdict(text: str) -> Outcome[SideVerdict]:
    """Read the reply to a question about two pictures.

    Example:
        >>> parse_pair_verdict('{"reason": "Both follow the text.", "verdict": "both_good"}').answer
        <SideVerdict.BOTH_GOOD: 'both good'>
        >>> parse_pair_verdict('{"reason": "", "verdict": "tie"}').reason
        <Reason.OFF_MENU: 'off_menu'>
    """
    return parse_value(text, "verdict", _verdict)


def _verdict(value: Json) -> SideVerdict:
    if not isinstance(value, str):
        raise JsonError("the key 'verdict' is no text")
    try:
        return SideVerdict(" ".join(value.lower().replace("_", " ").split()))
    except ValueError:
        raise OffMenuError(f"the verdict {value[:40]!r} was not offered") from None
