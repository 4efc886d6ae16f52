"""From rows to numbers: S_ref, S_rect, verdict accuracy, and how many pictures became better or worse.

    S_ref  = mean over all rows of s;   s = [v̂ true] if aligned, [v̂ false and explanation equivalent] if not
    S_rect = mean over misaligned rows of (V_post − V_pre) / (1 − V_pre);   0 where V_pre = 1; no lower bound

R³-Bench, section 2.3 and appendix E. The paper divides by all rows: here a row without a verdict then counts 0 and is
reported. The released code divides by the rows that have one: the metrics whose names end in ``_released`` or ``_scored``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from salon_judges.formats.r3_bench import Category

if TYPE_CHECKING:
    import polars as pl

    from salon_bench.suites.contract.tables import Line
    from salon_ranking.uncertainty.means import Ends

SEED: Final = 42
"""The seed of the paper's own bootstrap (appendix C.3)."""

SIDES: Final = ("v_before", "v_after")
"""The dimensions: the share of questions answered as annotated before and after the edit."""

Denominator: TypeAlias = Literal["all", "scored"]


def gain(before: float, after: float) -> float:
    """Return how much of what was wrong is right now: 1 everything, 0 nothing, below 0 it became worse.

    Args:
        before: share of questions answered as annotated before the edit, 0 to 1.
        after: the same after it.

    Example:
        >>> gain(0.5, 1.0), gain(0.75, 0.5), gain(1.0, 0.5)
        (1.0, -1.0, 0.0)
    """
    return 0.0 if before >= 1.0 else (after - before) / (1.0 - before)


def lines_of(scores: "pl.DataFrame", dimension: str, metric: str, denominator: Denominator, *, share: bool) -> "list[Line]":
    """Return a metric's line over everything, and one per category.

    Args:
        scores: rows of one subject, columns as in the store; the category is the column ``task``.
        dimension: which of them.
        metric: what the lines call it.
        denominator: all rows (one without a verdict counts 0), or those that have a verdict.
        share: the values are 0 or 1: Wilson's interval; else Student's t over rows.
    """
    import polars as pl

    from salon_bench.suites.contract.tables import line

    mine = scores.filter(pl.col("dimension") == dimension)
    present = set(mine["task"])
    groups: list[str | None] = [None, *(each.value for each in Category if each.value in present)]
    lines = []
    for group in groups:
        rows = mine if group is None else mine.filter(pl.col("task") == group)
        scored = rows["value"].count()
        values = rows["value"].fill_null(0.0) if denominator == "all" else rows["value"].drop_nulls()
        value, ends = _with_interval(values.to_list() if scored else [], share=share)
        lines.append(line(metric, group, value, ends, scored=scored, unscored=rows.height - scored))
    return lines


def changes(scores: "pl.DataFrame") -> "list[Line]":
    """Return the shares of edited pictures that improved, worsened or stayed unchanged.

    V after the edit is compared with V before it (as the released script does): the gain of a picture that was right before
    is 0 whatever the edit does to it. A row without these two, whose picture was not edited, is unchanged.
    """
    import polars as pl

    from salon_bench.suites.contract.metrics import share_with_wilson
    from salon_bench.suites.contract.tables import line

    rows = scores.filter(pl.col("dimension") == "s_rect")
    sides = [scores.filter(pl.col("dimension") == name).select("prompt_id", pl.col("value").alias(name)) for name in SIDES]
    scored = rows.filter(pl.col("value").is_not_null()).select("prompt_id")
    for side in sides:
        scored = scored.join(side, on="prompt_id", how="left")
    values = scored.select((pl.col("v_after") - pl.col("v_before")).fill_null(0.0)).to_series()
    counts = {"improved": (values > 0).sum(), "unchanged": (values == 0).sum(), "worsened": (values < 0).sum()}
    return [
        line(name, None, *share_with_wilson(int(count), len(values)), scored=len(values), unscored=rows.height - len(values))
        for name, count in counts.items()
    ]


def _with_interval(values: Sequence[float], *, share: bool) -> "tuple[float | None, Ends]":
    """Return Wilson's interval for a share of 0 and 1, else Student's t."""
    from salon_bench.suites.contract.metrics import share_with_wilson
    from salon_ranking.uncertainty.means import mean_with_interval

    if share and all(value in (0.0, 1.0) for value in values):
        return share_with_wilson(round(sum(values)), len(values))
    return mean_with_interval(values, within=(0.0, 1.0))
