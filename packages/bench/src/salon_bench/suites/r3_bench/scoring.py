"""From rows to numbers: S_ref, S_rect, verdict accuracy, and how many pictures became better or worse.

    S_ref  = mean over all rows of s;   s = [v̂ true] if aligned, [v̂ false and explanation equivalent] if not
    S_rect = mean over misaligned rows of (V_post − V_pre) / (1 − V_pre);   0 where V_pre = 1; no lower bound

Paper 002, section 2.3 and appendix E. The paper divides by all rows: here a row without a verdict then counts 0 and is
reported. The released code divides by the rows that have one: the metrics whose names end in ``_released`` or ``_scored``.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.r3_bench.rows import Category

if TYPE_CHECKING:
    import polars as pl

CONFIDENCE: Final = 0.95
REPLICATES: Final = 1000
SEED: Final = 42
"""The seed of the paper's own bootstrap (appendix C.3)."""

SIDES: Final = ("v_before", "v_after")
"""The dimensions: the share of questions answered as annotated before and after the edit."""

Denominator: TypeAlias = Literal["all", "scored"]
Line: TypeAlias = dict[str, str | float | int | None]


def gain(before: float, after: float) -> float:
    """How much of what was wrong is right now: 1 everything, 0 nothing, below 0 it became worse.

    Args:
        before: share of questions answered as annotated before the edit, 0 to 1.
        after: the same after it.

    Example:
        >>> gain(0.5, 1.0), gain(0.75, 0.5), gain(1.0, 0.5)
        (1.0, -1.0, 0.0)
    """
    return 0.0 if before >= 1.0 else (after - before) / (1.0 - before)


def lines_of(scores: "pl.DataFrame", dimension: str, metric: str, denominator: Denominator, *, share: bool) -> list[Line]:
    """A metric's line over everything, and one per category.

    Args:
        scores: rows of one subject, columns as in the store; the category is the column ``task``.
        dimension: which of them.
        metric: what the lines call it.
        denominator: all rows (one without a verdict counts 0), or those that have a verdict.
        share: the values are 0 or 1: Wilson's interval; else a percentile bootstrap over rows, from two rows on.
    """
    import polars as pl

    mine = scores.filter(pl.col("dimension") == dimension)
    present = set(mine["task"])
    groups: list[str | None] = [None, *(each.value for each in Category if each.value in present)]
    found = []
    for group in groups:
        rows = mine if group is None else mine.filter(pl.col("task") == group)
        scored = rows["value"].count()
        values = rows["value"].fill_null(0.0) if denominator == "all" else rows["value"].drop_nulls()
        value = math.fsum(values) / len(values) if scored else None
        low, high = _interval(values.to_list(), share=share) if scored else (None, None)
        ends: Line = {"ci_low": low, "ci_high": high, "scored": scored, "unscored": rows.height - scored}
        found.append({"metric": metric, "group": group, "value": value, **ends})
    return found


def changes(scores: "pl.DataFrame") -> list[Line]:
    """Count the edited pictures that became better, worse, or stayed as they were, as shares of the rows with a verdict.

    V after the edit is compared with V before it (as the released script does): the gain of a picture that was right before
    is 0 whatever the edit does to it. A row without these two, whose picture was not edited, is unchanged.
    """
    import polars as pl

    rows = scores.filter(pl.col("dimension") == "s_rect")
    sides = [scores.filter(pl.col("dimension") == name).select("prompt_id", pl.col("value").alias(name)) for name in SIDES]
    scored = rows.filter(pl.col("value").is_not_null()).select("prompt_id")
    for side in sides:
        scored = scored.join(side, on="prompt_id", how="left")
    values = scored.select((pl.col("v_after") - pl.col("v_before")).fill_null(0.0)).to_series()
    counts = {"improved": (values > 0).sum(), "unchanged": (values == 0).sum(), "worsened": (values < 0).sum()}
    lines: list[Line] = []
    for name, count in counts.items():
        low, high = _wilson(int(count), len(values)) if len(values) else (None, None)
        value = int(count) / len(values) if len(values) else None
        ends: Line = {"ci_low": low, "ci_high": high, "scored": len(values), "unscored": rows.height - len(values)}
        lines.append({"metric": name, "group": None, "value": value, **ends})
    return lines


def summary_of(lines: Sequence[Line], *notes: str) -> Summary:
    """The lines as the table that every suite returns."""
    import polars as pl

    numbers = dict.fromkeys(("value", "ci_low", "ci_high"), pl.Float64)
    counts = dict.fromkeys(("scored", "unscored"), pl.Int64)
    return Summary(pl.DataFrame(list(lines), schema={"metric": pl.String, "group": pl.String, **numbers, **counts}), notes)


def _interval(values: Sequence[float], *, share: bool) -> tuple[float | None, float | None]:
    """Both ends; none where a bootstrap would rest on a single row, which says nothing about others.

    Rows stand in the store as their replies came; the values are sorted, so that the draws do not depend on that order.
    """
    if share and all(value in (0.0, 1.0) for value in values):
        return _wilson(round(sum(values)), len(values))
    if len(values) < 2:
        return None, None
    import numpy as np

    random = np.random.default_rng(SEED)
    table = np.sort(values)
    means = np.array([table[random.integers(0, len(table), len(table))].mean() for _ in range(REPLICATES)])
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _wilson(successes: int, trials: int) -> tuple[float, float]:
    from salon_ranking.shares import wilson_interval

    low, high = wilson_interval([successes], [trials], CONFIDENCE)
    return float(low[0]), float(high[0])
