"""Screen raters of opinion scores: outliers as in ITU-R BT.500, and each rater's bias and inconsistency.

BT.500-14 (10/2019), Annex 1, section 2.3.1, which was Annex 2, section 2.3.1 up to BT.500-13, counts for each rater how many
marks lie far above (P) and far below (Q) the mean of a file's marks: at least two sample standard deviations away where the
kurtosis of its marks, m4 / m2², lies within [2, 4], at least √20 elsewhere. A rater is rejected when (P + Q) / marks > 0.05 and
|P − Q| / (P + Q) < 0.3. It takes six raters per file for any mark to be that far. The numbers are those of the screening in
Netflix's sureal (its model BT500); NTIA/ITS's MATLAB code for BT.500-12 has the same but for 0.3, which it does not use.

Bias and inconsistency come from the additive model of ITU-T P.910 (mark = file + rater's bias + noise), fitted by least
squares: two raters per file are enough where raters share files with each other.
"""

import json
from typing import Final

import numpy as np
import polars as pl
from sqlalchemy import Connection, select

from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTLED, SETTLED_ANSWERS

FEWEST: Final = 6
"""Raters of a file: of five marks none can lie two sample standard deviations from their mean."""
FAR_SHARE: Final = 0.05
BALANCE: Final = 0.3
NORMAL_KURTOSIS: Final = (2.0, 4.0)
FAR: Final = 2.0
FAR_ELSE: Final = float(np.sqrt(20.0))
_ROUNDS: Final = 200
_CLOSE: Final = 1e-9
_MARKS: Final = (
    select(SETTLED.c.rater_id, ASSIGNMENTS.c.payload, ANSWERS.c.choice)
    .select_from(SETTLED_ANSWERS)
    .where(SETTLED.c.kind == "panel")
    .order_by(SETTLED.c.number)
)
_SCHEMA: Final = {"rater_id": pl.String, "file": pl.String, "dimension": pl.String, "value": pl.Float64}


def screen_raters(marks: pl.DataFrame) -> pl.DataFrame:
    """Screen the raters of each dimension.

    Args:
        marks: columns ``rater_id``, ``file``, ``dimension``, ``value``; one mark per rater, file and dimension.

    Returns:
        One row per dimension and rater: ``marks``; ``bias`` (mean distance from what others gave, in points of the scale) and
        ``inconsistency`` (standard deviation of what is left); ``far_above``, ``far_below`` and ``screened``, the marks on
        files of six raters or more; ``rejected`` by BT.500, null where nothing could be screened.

    Example:
        >>> marks = pl.DataFrame(
        ...     {"rater_id": ["ann", "ben"] * 3, "file": ["f1", "f1", "f2", "f2", "f3", "f3"], "dimension": "looks",
        ...      "value": [3.0, 4.0, 2.0, 3.0, 4.0, 5.0]}
        ... )
        >>> screen_raters(marks).select("rater_id", "bias", "rejected").rows()
        [('ann', -0.5, None), ('ben', 0.5, None)]
    """
    frames = [
        _screened(part).with_columns(dimension=pl.lit(name))
        for (name,), part in marks.group_by("dimension", maintain_order=True)
    ]
    columns = ["dimension", "rater_id", "marks", "bias", "inconsistency", "far_above", "far_below", "screened", "rejected"]
    return pl.concat(frames).select(columns) if frames else pl.DataFrame(schema=dict.fromkeys(columns, pl.Null))


def _screened(marks: pl.DataFrame) -> pl.DataFrame:
    value, mean, spread = pl.col("value"), pl.col("value").mean(), pl.col("value").std()
    kurtosis = ((value - mean) ** 4).mean() / ((value - mean) ** 2).mean() ** 2
    limit = pl.when(kurtosis.is_between(*NORMAL_KURTOSIS)).then(FAR).otherwise(FAR_ELSE)
    apart = marks.with_columns(
        screened=(pl.len() >= FEWEST).over("file"),
        above=((spread > 0) & (value >= mean + limit * spread)).over("file"),
        below=((spread > 0) & (value <= mean - limit * spread)).over("file"),
    ).with_columns(rest=_residuals(marks))
    far = pl.col("far_above") + pl.col("far_below")
    one_sided = (pl.col("far_above") - pl.col("far_below")).abs()
    return (
        apart.group_by("rater_id", maintain_order=True)
        .agg(
            marks=pl.len(),
            bias=pl.col("rest").mean(),
            inconsistency=pl.col("rest").std(),
            far_above=(pl.col("above") & pl.col("screened")).sum().cast(pl.Int64),
            far_below=(pl.col("below") & pl.col("screened")).sum().cast(pl.Int64),
            screened=pl.col("screened").sum().cast(pl.Int64),
        )
        .with_columns(
            rejected=pl.when(pl.col("screened") > 0).then((far > FAR_SHARE * pl.col("screened")) & (one_sided < BALANCE * far))
        )
    )


def _residuals(marks: pl.DataFrame) -> pl.Series:
    """Return marks less the file's level, with raters' biases taken into account; biases of all marks sum to zero."""
    files, file = np.unique(marks["file"].to_numpy(), return_inverse=True)
    raters, rater = np.unique(marks["rater_id"].to_numpy(), return_inverse=True)
    values = marks["value"].to_numpy()
    per_file, per_rater = np.bincount(file), np.bincount(rater)
    bias = np.zeros(len(raters))
    level = np.zeros(len(files))
    for _ in range(_ROUNDS):
        level = np.bincount(file, weights=values - bias[rater]) / per_file
        new = np.bincount(rater, weights=values - level[file]) / per_rater
        new -= np.average(new, weights=per_rater)
        moved, bias = np.abs(new - bias).max(), new
        if moved < _CLOSE:
            break
    level = np.bincount(file, weights=values - bias[rater]) / per_file
    return pl.Series(values - level[file])


def read_marks(connection: Connection) -> pl.DataFrame:
    """Return every settled mark of the arena, as :func:`screen_raters` takes them."""
    rows = []
    for rater_id, text, choice in connection.execute(_MARKS):
        payload = json.loads(text)
        for file, answers in zip(payload["files"][payload["rated_from"] :], json.loads(choice), strict=True):
            key = "\x1f".join([payload["prompt_id"], file["model"], str(file["sample"])])
            rows += [(rater_id, key, name, float(mark)) for (name, _), mark in zip(payload["questions"], answers, strict=True)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def screening_lines(connection: Connection) -> list[str]:
    """Return one line per dimension and rater; empty for an arena without opinion scores."""
    marks = read_marks(connection)
    lines = []
    for row in screen_raters(marks).to_dicts() if marks.height else []:
        spread = "unknown" if row["inconsistency"] is None else f"{row['inconsistency']:.2f}"
        verdict = {True: "rejected", False: "kept", None: f"too few raters per file ({FEWEST} needed)"}[row["rejected"]]
        about = (
            f"{row['rater_id']}, {row['dimension']}: {row['marks']:,} marks, bias {row['bias']:+.2f}, inconsistency {spread}"
        )
        lines.append(f"{about}; BT.500: {verdict}")
    return lines
