"""``contributions``: how much each prompt adds to each rating (MEF, Eq. 2).

For a prompt, the schedule of matches stays, the outcomes of all matches on other prompts become draws, and the league is
fitted again; the rating relative to the baseline is the prompt's contribution. All prompts share one factor of the curvature at
equal strengths, so none is fitted from scratch. To first order around equal strengths the contributions add up to the rating
exactly; the gap that is left grows with the square of the ratings' differences, and is part of the result.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import BattleColumns, encode
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.leaderboard.options import ContributionOptions
from salon_ranking.models.ratings import POINTS_PER_UNIT, fitted
from salon_ranking.options import with_options, workers

_OWN = ("model", "contribution", "matches")


@dataclass(frozen=True, eq=False)
class Contributions:
    """What every value of a column contributes to every rating.

    Attributes:
        table: one row per value and model: the column itself (named as in the battles), ``model``, ``contribution`` (Elo points
            relative to the baseline), ``matches`` (of the model on it, sum of weights; 0 where it has none). Values in
            ascending order, models best first.
        totals: one row per model, best first: ``model``, ``rating`` (relative to the baseline), ``sum`` (of its
            contributions), ``gap`` (sum - rating).
        column: the column.
        baseline: the model whose contributions are all 0.
        unconverged: values whose fit did not reach the tolerance.
    """

    table: pl.DataFrame
    totals: pl.DataFrame
    source: str
    column: str
    baseline: str
    prior_ties: float
    unconverged: int

    @property
    def relative_gap(self) -> float:
        """The largest absolute ``gap`` over the distance from the lowest to the highest rating; MEF finds it below 0.05."""
        ratings = self.totals["rating"].to_numpy()
        distance = float(np.ptp(ratings))
        return float(np.abs(self.totals["gap"].to_numpy()).max()) / distance if distance > 0.0 else 0.0

    @property
    def header(self) -> str:
        """One sentence on how the table was made."""
        parts = [f"{self.source}: contributions of each {self.column} to the ratings, relative to {self.baseline}"]
        parts.append("all other matches drawn, ties half a win")
        if self.prior_ties:
            parts.append(f"prior: drawn battles per model against a mean opponent: {self.prior_ties:g}")
        parts.append(f"their sums miss the ratings by at most {100 * self.relative_gap:.2g}% of the ratings' range")
        if self.unconverged:
            parts.append(f"{self.unconverged:,} fits did not converge")
        return "; ".join(parts) + "."


@with_options(ContributionOptions)
def contributions(battles: Battles, options: ContributionOptions) -> Contributions:
    """Return the contribution of every value of ``column`` to every model's rating.

    The keywords are the fields of :class:`salon_ranking.ContributionOptions`.

    Raises:
        BattleError: the column is missing, or a battle has no value in it.
        OptionError: the column is named like one of the table's own, or ``threads`` is outside its range.
        UnratableError: no finite ratings exist. Where they exist, every contribution is finite too: models that win all matches
            against the rest with all others drawn would win them in the real league as well.

    Example:
        >>> votes = pl.DataFrame(
        ...     {
        ...         "model_a": ["x"] * 8,
        ...         "model_b": ["y"] * 8,
        ...         "winner": ["model_a"] * 3 + ["model_b"] * 2 + ["tie"] * 3,
        ...         "prompt_id": ["art", "art", "film", "art", "film", "film", "film", "film"],
        ...     }
        ... )
        >>> found = contributions(Battles.from_frame(votes), baseline="y")
        >>> found.table.filter(pl.col("model") == "x")["contribution"].round(1).to_list()
        [43.7, 0.0]
    """
    return contributions_of(battles, options)


def contributions_of(battles: Battles, options: ContributionOptions) -> Contributions:
    """Return the contributions of ``options``, as :func:`contributions`."""
    column, prior_ties, progress = options.column, options.prior_ties, options.progress
    if column not in battles.frame.collect_schema():
        known = battles.frame.collect_schema().names()
        raise BattleError("missing column", source=battles.source, value=column, found=known)
    if column in _OWN:
        raise OptionError("the table has a column of this name; rename that of the battles:", value=column)
    number = workers(options.threads)
    encoded = encode(battles.frame, BattleColumns(weight=battles.weight, cluster=(column,)), battles.source)
    ratings = fitted(battles, options)
    values, models = encoded.keys[0].values, encoded.models
    told = None if progress is None else lambda done: progress(done, len(values))
    theta, unconverged = _core.contributions(encoded.cells, number, prior_ties, options.tolerance, options.max_iterations, told)
    base = models.index(ratings.baselines[0])
    points = POINTS_PER_UNIT * (theta - theta[:, [base]])
    order = np.lexsort((np.arange(len(models)), -ratings.ratings))
    names = np.array(models, dtype=object)[order]
    table = pl.DataFrame(
        {
            column: np.repeat(np.array(values, dtype=object), len(models)).tolist(),
            "model": np.tile(names, len(values)).tolist(),
            "contribution": points[:, order].ravel(),
            "matches": _matches(encoded.cells)[:, order].ravel(),
        }
    )
    relative = (ratings.ratings - ratings.baseline_rating)[order]
    total = points.sum(axis=0)[order]
    totals = pl.DataFrame({"model": names.tolist(), "rating": relative, "sum": total, "gap": total - relative})
    return Contributions(table, totals, battles.source, column, ratings.baselines[0], prior_ties, unconverged)


def _matches(cells: _core.Cells) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Return matches of every model on every value, by weight; shape (values, models)."""
    first, second, _, cluster, count, weight = cells.columns()
    met = np.zeros((cells.clusters, cells.models))
    np.add.at(met, (cluster, first), count * weight)
    np.add.at(met, (cluster, second), count * weight)
    return met
