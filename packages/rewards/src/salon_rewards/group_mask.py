"""Let a group abstain together when one of its completions has no reward.

GRPO compares the completions of one prompt with each other. TRL turns a lone ``None`` into NaN and sums it up as 0: of
four equal completions the one whose judge failed would get the advantage −1.5 and the others +0.5. So by default the
whole group abstains, for this reward and this batch: it then learns nothing from it, and nothing false either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from salon_taxonomy.verdict import Reason, Unscored

Paid: TypeAlias = float | Unscored
"""What one completion earned, or the reason why there is no number."""

NO_TRUTH: Final = Unscored(Reason.NOT_REPORTED, "the row has no truth")
"""What a completion earns that there is nothing to hold against."""


@dataclass(frozen=True)
class Component:
    """What one part of a reward, or the total, came to over one batch.

    Attributes:
        name: of the part; of a part of a part ``outer/inner``.
        weight: what it is worth in the sum, at this step; 1 for totals and gates.
        paid: for each completion.
    """

    name: str
    weight: float
    paid: tuple[Paid, ...]


class Abstention(StrEnum):
    """Who abstains when a completion has no reward."""

    GROUP = "group"
    """All completions of its group."""
    ALONE = "alone"
    """It alone; for trainers that leave a missing reward out of the group's mean."""


def together(paid: Sequence[Paid], groups: Iterable[Iterable[int]]) -> list[Paid]:
    """Return the same, but a group that has one without a reward has none at all.

    Args:
        paid: what each completion earned.
        groups: positions in ``paid``, see ``Batch.groups``.

    Example:
        >>> from salon_taxonomy.verdict import Reason
        >>> lost = Unscored(Reason.TIMEOUT, "no answer in 30 s")
        >>> plain(together([1.0, lost, 0.0, 1.0], [range(0, 2), range(2, 4)]))
        [None, None, 0.0, 1.0]
    """
    settled = list(paid)
    for group in groups:
        lost = next((verdict for position in group if isinstance(verdict := settled[position], Unscored)), None)
        if lost is None:
            continue
        for position in group:
            if not isinstance(settled[position], Unscored):
                settled[position] = Unscored(lost.reason, "another completion of its group has no verdict")
    return settled


def plain(paid: Iterable[Paid]) -> list[float | None]:
    """As trainers take it: None where there is no reward.

    Example:
        >>> from salon_taxonomy.verdict import Reason
        >>> plain([1.0, Unscored(Reason.TIMEOUT)])
        [1.0, None]
    """
    return [None if isinstance(each, Unscored) else each for each in paid]
