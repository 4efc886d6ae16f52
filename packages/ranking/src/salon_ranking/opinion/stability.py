"""How many samples per prompt a score needs: a model compared with itself.

The MEF paper (section 5.2) compares a model with itself: with one sample per prompt the two scores differ markedly with a
probability of 30%, with the mean of four samples below 5%. Let var_1 = 1/n² · Σ_i var(a_i) be Eq. 4's variance of a score
from one sample per prompt. Two scores of the same model, each from its own m samples, differ by a normal amount with
variance 2 · var_1 / m, so

    P(|difference| > t) = 2 · Φ(-t / √(2 · var_1 / m))          E|difference| = √(2/π) · √(2 · var_1 / m)

with t the gap that is taken for a difference, the paper's 0.1. The paper's two numbers fit each other under this reading:
30% at m = 1 is z = 1.04, and four samples double it to 2.07, which is 3.8%.
"""

import math
from typing import Annotated

import numpy as np
import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.opinion.scores import Unit, cells
from salon_ranking.options import Range, checked

NOTABLE_GAP = 0.1
"""Marks on a 1-5 scale that the MEF paper takes for a difference between two models."""


@checked
def self_comparison(
    ratings: MosRatings,
    *,
    threshold: Annotated[float, Range(0)] = NOTABLE_GAP,
    most: Annotated[int, Range(0, 1e9)] | None = None,
    unit: Unit = "generation",
) -> pl.DataFrame:
    """Estimate how far two scores of one model, each from m samples per prompt, differ by chance.

    Args:
        threshold: the gap in marks that counts as a difference; above 0.
        most: m runs from 1 to here; by default to the largest number of evaluations of a prompt.

    Returns:
        One row per dimension, model and ``samples`` (m): ``probability`` of a gap above the threshold,
        ``mean_abs_difference`` (marks). Models without two evaluations of any prompt have no rows.

    Raises:
        OptionError: ``threshold`` is not above 0, or ``most`` below 1.
    """
    if not (threshold > 0.0 and math.isfinite(threshold)):
        raise OptionError("must be above 0:", key="threshold", value=threshold)
    if most is not None and most < 1:
        raise OptionError("must be 1 or more:", key="most", value=most)
    blocks = cells(ratings, unit).drop_nulls("within")
    # Eq. 4 with k = 1.
    single = pl.col("within").sum() / pl.len().cast(pl.Float64).pow(2)
    table = blocks.group_by("dimension", "model").agg(single=single).sort("dimension", "model")
    up_to = most if most is not None else max(blocks["k"].to_list(), default=0)
    samples = pl.DataFrame({"samples": range(1, up_to + 1)}, schema={"samples": pl.Int64})
    table = table.join(samples, how="cross", maintain_order="left_right")
    spread = (2.0 * table["single"].to_numpy() / table["samples"].to_numpy()) ** 0.5
    with np.errstate(divide="ignore"):
        z = threshold / (spread * math.sqrt(2.0))
    probability = np.array([math.erfc(value) for value in z], dtype=np.float64)
    return table.select("dimension", "model", "samples").with_columns(
        probability=pl.Series(probability),
        mean_abs_difference=pl.Series(math.sqrt(2.0 / math.pi) * spread),
    )
