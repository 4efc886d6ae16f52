"""Bounds of what a cheap judge loses that the expensive judge would keep, from the explored random share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from salon_curate.dataset import DataSet
from salon_curate.judging import NOT_ASKED
from salon_curate.selection import read_columns, select
from salon_curate.stages import Stage
from salon_ranking.uncertainty.proportions import highest_share
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class CascadeLoss:
    """The loss of a cheap filter.

    Attributes:
        explored: rows that the cheap filter drops and the expensive judge was asked about all the same, with an answer.
        kept_by_expensive: of these, rows that the expensive condition keeps.
        upper: upper Clopper–Pearson bound, at the confidence, of P(expensive keeps | cheap drops).
        dropped: rows of the data set that the cheap filter drops; a row without a readable picture is none of them.
    """

    explored: int
    kept_by_expensive: int
    upper: float
    dropped: int
    confidence: float


def cascade_loss(
    dataset: DataSet, stages: Sequence[Stage], stage: str, expensive: Mapping[str, str], *, confidence: float = 0.95
) -> CascadeLoss:
    """Bound what a stage's ``when`` loses, from the rows that it explored.

    Args:
        stage: the name of the expensive stage, which has ``when`` and ``explore``.
        expensive: conditions on the expensive judge's columns.
        confidence: of the bound, between 0 and 1.

    Raises:
        InputError: nothing was explored, a column is unknown, or the confidence is out of its range.
    """
    if not 0 < confidence < 1:
        raise InputError("must lie between 0 and 1", column="confidence", value=confidence)
    explored = select(dataset, stages, {"explored": f"{stage}_explored"}).mask
    problem = read_columns(dataset, stages, [f"{stage}_problem"]).collect()[f"{stage}_problem"]
    answered = explored & problem.is_null().to_numpy()
    number = int(answered.sum())
    if not number:
        raise InputError("nothing was explored", column="stage", value=stage, hint="Set explore = 0.02 on the stage.")
    kept = int((answered & select(dataset, stages, expensive).mask).sum())
    dropped = int(explored.sum()) + select(dataset, stages, {"not asked": f"{stage}_problem = '{NOT_ASKED}'"}).kept
    return CascadeLoss(number, kept, highest_share(kept, number, 1 - confidence), dropped, confidence)


def strictest_threshold(
    cheap: Sequence[float | None],
    expensive_keeps: Sequence[bool],
    candidates: Sequence[float],
    epsilon: float,
    *,
    confidence: float = 0.95,
) -> float | None:
    """Return the highest threshold on a cheap score whose loss is at most ``epsilon``; None where the lowest loses more.

    Thresholds are tested from the lowest up and the first that fails ends the walk (fixed-sequence testing), so the promise
    P(loss > epsilon) ≤ 1 - confidence holds although the threshold is chosen from the data. The loss is
    P(cheap score < threshold, expensive keeps): the share of all pictures that is lost.

    Args:
        cheap: scores of a random sample that both judges saw; None and NaN pass no threshold.
        expensive_keeps: the expensive judge's decision about the same pictures.
        candidates: thresholds to choose from, fixed before the data are seen.
        epsilon: the largest loss, between 0 and 1.

    Raises:
        InputError: the sample is empty or its columns differ in length; epsilon or the confidence is out of its range.
    """
    if not cheap or len(cheap) != len(expensive_keeps):
        raise InputError("scores and decisions must be of the same pictures:", value=(len(cheap), len(expensive_keeps)))
    if not 0 < epsilon < 1:
        raise InputError("must lie between 0 and 1", column="epsilon", value=epsilon)
    if not 0 < confidence < 1:
        raise InputError("must lie between 0 and 1", column="confidence", value=confidence)
    pairs = list(zip(cheap, expensive_keeps, strict=True))
    strictest = None
    for threshold in sorted(candidates):
        lost = sum(keeps and not (score is not None and score >= threshold) for score, keeps in pairs)
        if highest_share(lost, len(cheap), 1 - confidence) > epsilon:
            break
        strictest = threshold
    return strictest
