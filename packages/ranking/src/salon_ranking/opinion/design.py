"""From votes and ratings to the columns of the regression: standardized marks, their differences and interactions.

For a picture with the marks m_d in the dimensions d, let z_d = (m_d - μ_d) / σ_d, with mean μ_d and standard deviation σ_d
(divisor n - 1) over all pictures that were rated in every dimension, each counted once: one scale for all voters and
scenarios. A battle between A and B has

    Δ_d = z_Ad - z_Bd                                the change
    x_d = (z_Ad + z_Bd) / 2                          the level
    Δ_d                                              main terms
    z_Ai·z_Aj - z_Bi·z_Bj  =  x_i·Δ_j + x_j·Δ_i      cross-variable interactions x_i·x_j, i < j
    x_d·Δ_d  =  (z_Ad² - z_Bd²) / 2                  level-change interactions x·Δx

so the logit of A winning is U(A) - U(B) with U(z) = Σ β_d z_d + Σ γ_ij z_i z_j + Σ δ_d z_d²/2. All columns change sign when
A and B change places, there is no intercept, and equal pictures win half the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.opinion.errors import CollinearityError
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.options import shaped

Floats = NDArray[np.float64]
Level: TypeAlias = Literal["prompt", "generation"]
"""Whose marks a picture gets: those of its model for its prompt (mean over samples), or its own."""


@dataclass(frozen=True, eq=False)
class Marks:
    """Standardized marks of pictures.

    Attributes:
        keys: one row per picture: ``prompt_id`` and ``model``, or ``generation_id``; and ``picture``, its row number.
        z: shape (pictures, dimensions).
        mean, deviation: of each dimension, in marks; shape (dimensions,).
        incomplete: pictures left out because some dimension has no mark.
    """

    keys: pl.DataFrame
    dimensions: tuple[str, ...]
    z: Floats
    mean: Floats
    deviation: Floats
    incomplete: int


def standardized_marks(ratings: MosRatings, level: Level = "prompt") -> Marks:
    """Return the marks of every picture with marks in all dimensions.

    At the level of prompts, a mark is the mean over generations of the mean over raters.

    Raises:
        CollinearityError: a dimension has the same mark everywhere, or fewer than two pictures are rated in all dimensions.
    """
    by_generation = ratings.scored.group_by("generation_id", "dimension").agg(
        pl.col("prompt_id").first(), pl.col("model").first(), pl.col("value").mean()
    )
    keys = ["prompt_id", "model"] if level == "prompt" else ["generation_id"]
    names = [f"mark {number}" for number in range(len(ratings.dimensions))]
    marks = [
        pl.col("value").filter(pl.col("dimension") == dimension).mean().alias(name)
        for name, dimension in zip(names, ratings.dimensions, strict=True)
    ]
    wide = by_generation.group_by(keys).agg(marks).sort(keys)
    whole = wide.drop_nulls(names)
    if whole.height < 2:
        hint = "Each picture of a battle needs a mark in every dimension."
        raise CollinearityError(
            "too few pictures are rated in every dimension:", source=ratings.source, value=whole.height, hint=hint
        )
    values = whole.select(names).to_numpy()
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    for number, dimension in enumerate(ratings.dimensions):
        if deviation[number] <= 1e-12 * max(1.0, abs(mean[number])):
            hint = "Leave that dimension out of the ratings."
            raise CollinearityError(
                "every picture has the same mark in dimension", source=ratings.source, value=dimension, hint=hint
            )
    numbered = whole.select(keys).with_row_index("picture")
    return Marks(numbered, ratings.dimensions, (values - mean) / deviation, mean, deviation, wide.height - whole.height)


@dataclass(frozen=True)
class Terms:
    """The columns of the regression for given dimensions, with or without interactions."""

    dimensions: Sequence[str]
    interactions: bool

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Numbers of the dimensions that interact."""
        return list(combinations(range(len(self.dimensions)), 2)) if self.interactions else []

    @property
    def names(self) -> list[str]:
        """The columns' names: ``d``, ``i × j``, ``d level × change``."""
        crossed = [f"{self.dimensions[i]} × {self.dimensions[j]}" for i, j in self.pairs]
        levels = [f"{dimension} level × change" for dimension in self.dimensions] if self.interactions else []
        return [*self.dimensions, *crossed, *levels]

    @shaped(level="nd", change="nd")
    def columns(self, level: Floats, change: Floats) -> Floats:
        """Return the design, shape (battles, terms), of levels and changes, shape (battles, dimensions) each.

        Example:
            >>> Terms(("a", "b"), interactions=True).columns(np.array([[2.0, 3.0]]), np.array([[1.0, 0.0]])).tolist()
            [[1.0, 0.0, 3.0, 2.0, 0.0]]
        """
        parts = [change]
        if self.interactions:
            parts += [(level[:, i] * change[:, j] + level[:, j] * change[:, i])[:, None] for i, j in self.pairs]
            parts.append(level * change)
        return np.concatenate(parts, axis=1)
