"""How far the judges of a panel agree beyond chance: Krippendorff's α of their scores, Cohen's κ of their labels."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from salon_ranking.agreement import UndefinedError, alpha, cohen_kappa

_ITEM = ("suite", "task", "subject_model", "prompt_id", "generation_id", "dimension")


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """Krippendorff's α (interval level) of one dimension.

    Attributes:
        task: of the suite.
        dimension: within the task.
        alpha: 1 for full agreement, 0 for chance, negative below; None where it does not exist, and ``reason`` says why
            (every score is the same, no item was scored by two).
        items: items that two members or more scored.
        reason: why there is no α; None when there is one.
    """

    task: str
    dimension: str
    alpha: float | None
    items: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Cohen's κ of two members about one label: given or withheld, over the generations that both labelled.

    Attributes:
        taxonomy: the label's.
        label: its id.
        member_a: one.
        member_b: the other.
        generations: that both labelled.
        kappa: None where it does not exist, because both said the same about every generation.
    """

    taxonomy: str
    label: str
    member_a: str
    member_b: str
    generations: int
    kappa: float | None


def score_agreement(members: Mapping[str, pl.DataFrame]) -> list[ScoreAgreement]:
    """Return α of every task and dimension, in their order; unscored items are left out.

    Args:
        members: each member's rows of ``scores``, by its name.

    Example:
        >>> row = {"suite": "s", "task": "t", "subject_model": "m", "generation_id": None, "dimension": "d"}
        >>> def scores(*values: float) -> pl.DataFrame:
        ...     return pl.DataFrame([{**row, "prompt_id": str(n), "value": value} for n, value in enumerate(values)])
        >>> found = score_agreement({"a": scores(1.0, 2.0, 3.0), "b": scores(1.0, 2.0, 4.0)})
        >>> [(each.items, round(each.alpha or 0, 3)) for each in found]
        [(3, 0.878)]
    """
    columns = (*(pl.col(name).cast(pl.String) for name in _ITEM), pl.col("value").cast(pl.Float64))
    frames = [frame.select(columns).with_columns(member=pl.lit(name)) for name, frame in members.items()]
    rows = pl.concat(frames, how="vertical_relaxed").drop_nulls("value")
    item_key = pl.concat_str(*(pl.col(name).fill_null("") for name in _ITEM), separator="\0")
    rows = rows.with_columns(item=item_key)
    return [
        _score_agreement(str(task), str(dimension), part)
        for (task, dimension), part in sorted(rows.partition_by("task", "dimension", as_dict=True).items())
    ]


def label_agreement(members: Mapping[str, pl.DataFrame]) -> list[LabelAgreement]:
    """Return Cohen's κ of every pair of members, for every label that one of the two gave.

    A label that a member does not mention about a generation that it labelled counts as withheld.

    Args:
        members: each member's rows of ``assessments``, by its name.
    """
    agreements = []
    names = sorted(members)
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            both = (members[one], members[other])
            keys = [frame.select("taxonomy", "generation_id").unique() for frame in both]
            shared = keys[0].join(keys[1], on=["taxonomy", "generation_id"]).sort("taxonomy", "generation_id")
            present = [set(frame.filter("present").select("taxonomy", "label", "generation_id").iter_rows()) for frame in both]
            for taxonomy, label in sorted({(taxonomy, label) for each in present for taxonomy, label, _ in each}):
                things = shared.filter(pl.col("taxonomy") == taxonomy)["generation_id"].to_list()
                answers = [[(taxonomy, label, thing) in each for thing in things] for each in present]
                agreements.append(LabelAgreement(taxonomy, label, one, other, len(things), _kappa(answers[0], answers[1])))
    return agreements


def _score_agreement(task: str, dimension: str, rows: pl.DataFrame) -> ScoreAgreement:
    shared = rows.group_by("item").len().filter(pl.col("len") > 1).height
    try:
        value = alpha(rows, thing="item", rater="member", value="value", level="interval").value
    except UndefinedError as error:
        return ScoreAgreement(task, dimension, None, shared, error.problem.rstrip(":"))
    return ScoreAgreement(task, dimension, value, shared)


def _kappa(one: list[bool], other: list[bool]) -> float | None:
    try:
        return cohen_kappa(one, other)
    except UndefinedError:
        return None
