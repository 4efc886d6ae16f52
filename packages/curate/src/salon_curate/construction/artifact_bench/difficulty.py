"""How hard a question is: three raters, two more where they differ, then the majority (Artifact-Bench, section 3.3)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from salon_bench.suites.artifact_bench.rows import Level
from salon_curate.construction.artifact_bench.annotation import ALL_ANNOTATORS, FIRST_ANNOTATORS
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class Difficulty:
    """How hard one question is.

    Attributes:
        level: what most raters say; None while raters are missing, or where no level has a majority of five (2–2–1).
        missing: how many raters are to be asked.
        votes: of each level.
    """

    level: Level | None
    missing: int
    votes: Mapping[Level, int]


def difficulty(ratings: Mapping[str, Level]) -> Difficulty:
    """The level of a question from what its raters say.

    Args:
        ratings: rater → level.

    Raises:
        InputError: for more than five raters.

    Example:
        >>> difficulty({"ann": Level.L1, "ben": Level.L1, "eve": Level.L2}).missing
        2
        >>> difficulty({"ann": Level.L1, "ben": Level.L1, "eve": Level.L1}).level
        <Level.L1: 'L1'>
    """
    votes = Counter(ratings.values())
    counts = {level: votes[level] for level in Level}
    if len(ratings) > ALL_ANNOTATORS:
        raise InputError(f"at most {ALL_ANNOTATORS} raters say how hard a question is, not", value=len(ratings))
    if len(ratings) < FIRST_ANNOTATORS:
        return Difficulty(None, FIRST_ANNOTATORS - len(ratings), counts)
    if len(votes) > 1 and len(ratings) < ALL_ANNOTATORS:
        return Difficulty(None, ALL_ANNOTATORS - len(ratings), counts)
    level, count = votes.most_common(1)[0]
    return Difficulty(level if 2 * count > len(ratings) else None, 0, counts)
