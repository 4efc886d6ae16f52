"""What rewards there are, for people who choose one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RewardEntry:
    """One reward.

    Attributes:
        name: what the command line and result tables call it.
        summary: what it pays for, in one line.
        lowest: its lowest value with default weights.
        highest: its highest value with default weights.
        source: the paper, by house number, and the place in it.
    """

    name: str
    summary: str
    lowest: float
    highest: float
    source: str


REWARDS: tuple[RewardEntry, ...] = (
    RewardEntry(
        name="magicmirror",
        summary="labels of image artifacts at three levels, each paid only when the one above is right",
        lowest=0.0,
        highest=16.0,
        source="000, appendix A.4, Eq. 3 and 5",
    ),
)
"""Every reward of this version, in alphabetical order. ``highest`` includes the consistency term."""
