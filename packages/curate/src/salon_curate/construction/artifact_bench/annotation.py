"""Decide a video's labels from several annotators: three, two more where they differ, then two experts.

Source: Artifact-Bench, section 3.3.

Works on rows of ``assessments``: ``judge`` is the annotator, ``present`` what he or she says of ``label``. An annotator who has
any row about a video has labelled it; labels without a row of theirs do not hold.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from salon_judges.formats.artifact_bench import TAXONOMY
from salon_ranking.agreement import UndefinedError, alpha_of_ratings, fleiss_kappa
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

FIRST_ANNOTATORS = 3
"""How many label every video."""
ALL_ANNOTATORS = 5
"""How many label a video about which the first three differ."""
EXPERTS = 2
"""How many experts look at what was settled."""
_COLUMNS = ("generation_id", "taxonomy", "label", "present", "judge")


class AnnotationState(StrEnum):
    """How far the labels of one video are."""

    FIRST_ROUND = "first_round"
    """Fewer than three annotators so far."""
    SECOND_ROUND = "second_round"
    """Three differ: two more are needed."""
    VERIFY = "verify"
    """Settled by annotators; experts have not all looked at it."""
    SETTLED = "settled"
    """Settled, and confirmed by the experts, or changed to what they agree on."""
    DISPUTED = "disputed"
    """The experts differ: people must talk."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """Where one video stands.

    Attributes:
        generation_id: the video.
        stage: what comes next.
        labels: ids of the labels that hold as far as settled, in alphabetical order; empty before.
        missing: how many people are to label it before the next stage.
        unanimous: whether the first three gave exactly the same labels; None before there are three.
    """

    generation_id: str
    stage: AnnotationState
    labels: tuple[str, ...]
    missing: int
    unanimous: bool | None


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """The agreement of annotators on one label, over videos with two or more annotators.

    Attributes:
        label: its id.
        videos: how many.
        alpha: Krippendorff's α, nominal; None where it does not exist (no annotator gave the label, or all did).
        kappa: Fleiss' κ over the videos that at least three labelled, by the first three in the order of names; None likewise.
        present: share of all judgements that gave it, 0 to 1.
    """

    label: str
    videos: int
    alpha: float | None
    kappa: float | None
    present: float


def annotate(assessments: "pl.DataFrame", *, experts: Collection[str] = ()) -> list[Annotated]:
    """Return the labels and the annotation stage of every video.

    Three annotators who give exactly the same labels settle them. Otherwise two more are asked, and each label holds that three
    of the five give. Then the experts: where both give the same labels, these stand.

    Args:
        assessments: rows of ``assessments`` of the taxonomy ``artifact-bench``; others are not looked at.
        experts: those of the judges who verify; what they say does not count among the annotators.

    Returns:
        One entry per video, in alphabetical order.

    Raises:
        InputError: a column is missing, a judge gave both verdicts on a label, or a video has too many annotators.

    Example:
        >>> import polars as pl
        >>> said = [("v1", "artifact-bench", "oversmoothing", True, name) for name in ("ann", "ben", "eve")]
        >>> frame = pl.DataFrame(said, schema=["generation_id", "taxonomy", "label", "present", "judge"], orient="row")
        >>> [(each.stage.value, each.labels) for each in annotate(frame)]
        [('verify', ('oversmoothing',))]
    """
    return [_standing(video, by_person, frozenset(experts)) for video, by_person in sorted(_given(assessments).items())]


def agreement(assessments: "pl.DataFrame", *, experts: Collection[str] = ()) -> list[AnnotatorAgreement]:
    """How far annotators agree, label by label, labels in alphabetical order; experts are not counted.

    Raises:
        InputError: as :func:`annotate`.
    """
    labels_of = {
        video: {person: labels for person, labels in people.items() if person not in experts}
        for video, people in _given(assessments).items()
    }
    several = {video: people for video, people in labels_of.items() if len(people) > 1}
    labels = sorted({label for people in several.values() for chosen in people.values() for label in chosen})
    return [_agreement(label, several) for label in labels]


def _given(assessments: "pl.DataFrame") -> dict[str, dict[str, frozenset[str]]]:
    """Video → person → the labels that hold for him or her."""
    import polars as pl

    for column in _COLUMNS:
        if column not in assessments.columns:
            raise InputError("the column is missing", column=column, found=assessments.columns)
    rows = assessments.filter(pl.col("taxonomy") == TAXONOMY).select("generation_id", "judge", "label", "present").unique()
    key = ["generation_id", "judge", "label"]
    twice = rows.group_by(key).len().filter(pl.col("len") > 1).sort(key)
    if twice.height:
        video, person, label, _ = twice.row(0)
        raise InputError(f"{person} says both yes and no of {label} in", column="present", value=video)
    labels_of: dict[str, dict[str, frozenset[str]]] = {}
    for row in rows.sort(key).iter_rows(named=True):
        people = labels_of.setdefault(row["generation_id"], {})
        people[row["judge"]] = people.get(row["judge"], frozenset()) | ({row["label"]} if row["present"] else frozenset())
    return labels_of


def _standing(video: str, people: dict[str, frozenset[str]], experts: frozenset[str]) -> Annotated:
    labelled = [labels for person, labels in sorted(people.items()) if person not in experts]
    checks = [labels for person, labels in sorted(people.items()) if person in experts]
    if len(labelled) > ALL_ANNOTATORS or len(checks) > EXPERTS:
        raise InputError(
            f"at most {ALL_ANNOTATORS} annotators and {EXPERTS} experts label a video; there are more for",
            value=video,
            hint="Name the experts, or leave out the rows of a trial.",
        )
    if len(labelled) < FIRST_ANNOTATORS:
        return Annotated(video, AnnotationState.FIRST_ROUND, (), FIRST_ANNOTATORS - len(labelled), None)
    # Five were only asked because three differed; which three came first the rows do not say.
    unanimous = len(labelled) == FIRST_ANNOTATORS and len(set(labelled)) == 1
    if not unanimous and len(labelled) < ALL_ANNOTATORS:
        return Annotated(video, AnnotationState.SECOND_ROUND, (), ALL_ANNOTATORS - len(labelled), False)
    votes = {label: sum(label in each for each in labelled) for each in labelled for label in each}
    labels = tuple(sorted(label for label, count in votes.items() if 2 * count > len(labelled)))
    if len(checks) < EXPERTS:
        return Annotated(video, AnnotationState.VERIFY, labels, EXPERTS - len(checks), unanimous)
    if checks[0] != checks[1]:
        return Annotated(video, AnnotationState.DISPUTED, labels, 0, unanimous)
    return Annotated(video, AnnotationState.SETTLED, tuple(sorted(checks[0])), 0, unanimous)


def _agreement(label: str, several: dict[str, dict[str, frozenset[str]]]) -> AnnotatorAgreement:
    import numpy as np

    votes = [[label in chosen for _, chosen in sorted(people.items())] for people in several.values()]
    things = np.repeat(np.arange(len(votes)), [len(each) for each in votes])
    flat = np.array([vote for each in votes for vote in each], dtype=np.float64)
    three = [sum(each[:FIRST_ANNOTATORS]) for each in votes if len(each) >= FIRST_ANNOTATORS]
    alpha = kappa = None
    try:
        alpha = alpha_of_ratings(things, flat).value
    except UndefinedError:
        alpha = None  # one category only: chance explains everything
    try:
        kappa = fleiss_kappa([[count, FIRST_ANNOTATORS - count] for count in three]) if three else None
    except UndefinedError:
        kappa = None
    return AnnotatorAgreement(label, len(votes), alpha, kappa, float(flat.mean()))
