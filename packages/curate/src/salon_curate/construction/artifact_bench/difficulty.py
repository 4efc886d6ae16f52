"""How hard a question is: three raters, two more where they differ, then the majority (Artifact-Bench, section 3.3)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from salon_curate.construction.artifact_bench.annotation import ALL_ANNOTATORS, FIRST_ANNOTATORS
from salon_judges.formats.artifact_bench import QuestionLevel
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class QuestionDifficulty:
    """How hard one question is.

    Attributes:
        level: what most raters say; None while raters are missing, or where no level has a majority of five (2–2–1).
        missing: how many raters are to be asked.
        votes: of each level.
    """

    level: QuestionLevel | None
    missing: int
    votes: Mapping[QuestionLevel, int]


def difficulty(ratings: Mapping[str, QuestionLevel]) -> QuestionDifficulty:
    """The level of a question from what its raters say.

    Args:
        ratings: rater → level.

    Raises:
        InputError: for more than five raters.

    Example:
        >>> difficulty({"ann": QuestionLevel.L1, "ben": QuestionLevel.L1, "eve": QuestionLevel.L2}).missing
        2
        >>> difficulty({"ann": QuestionLevel.L1, "ben": QuestionLevel.L1, "eve": QuestionLevel.L1}).level
        <QuestionLevel.L1: 'L1'>
    """
    votes = Counter(ratings.values())
    counts = {level: votes[level] for level in QuestionLevel}
    if len(ratings) > ALL_ANNOTATORS:
        raise InputError(f"at most {ALL_ANNOTATORS} raters say how hard a question is, not", value=len(ratings))
    if len(ratings) < FIRST_ANNOTATORS:
        return QuestionDifficulty(None, FIRST_ANNOTATORS - len(ratings), counts)
    if len(votes) > 1 and len(ratings) < ALL_ANNOTATORS:
        return QuestionDifficulty(None, ALL_ANNOTATORS - len(ratings), counts)
    level, count = votes.most_common(1)[0]
    return QuestionDifficulty(level if 2 * count > len(ratings) else None, 0, counts)
