"""Other ways to score the same battles: Newman's iteration, PageRank, rank centrality.

They are for comparison. Newman's iteration has the maximum likelihood of :func:`salon_ranking.fit` for its answer; rank
centrality estimates the same strengths from an eigenvector; PageRank has a scale of its own, without odds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.models.league import check_battles, default_baseline, leagues_of
from salon_ranking.models.options import check_numbers
from salon_ranking.models.pair_totals import PairTotals, pair_totals
from salon_ranking.models.ratings import RANK_DIGITS, elo
from salon_ranking.options import takes_battles

Floats = NDArray[np.float64]
ScoreMethod: TypeAlias = Literal["newman", "pagerank", "rank-centrality"]

MOST_MODELS = 2_000
"""Rank centrality solves a dense system, for at most so many models."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all models, in the order of ``battles.models``.

    Attributes:
        scores: shares that add up to 1; higher is better.
        ratings: Elo points of ln(score) with the baseline at ``baseline_rating``; NaN for PageRank, whose scores are no odds.
        converged: whether the last sweep changed no score by more than ``tolerance``, relatively.
    """

    battles: Battles
    method: ScoreMethod
    scores: Floats
    ratings: Floats
    baseline: str
    baseline_rating: float
    damping: float | None
    iterations: int
    converged: bool
    tolerance: float

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per model, best first: rank, model, score, rating, matches, wins, ties, losses, win_rate."""
        matches, wins, ties, losses = self.battles.cells.records()
        columns = {
            "model": pl.Series(self.battles.models, dtype=pl.String),
            "score": self.scores,
            "rating": self.ratings,
            "matches": matches,
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "win_rate": (wins + 0.5 * ties) / matches,
        }
        place = pl.col("score").log().round(RANK_DIGITS).rank("min", descending=True).cast(pl.Int64).alias("rank")
        frame = pl.DataFrame(columns).with_columns(pl.col("rating").fill_nan(None))
        return self.battles.with_unrated(frame.select(place, pl.all()).sort("rank", "model"))

    @property
    def header(self) -> str:
        """How the table was made."""
        name = {
            "newman": "Newman's iteration",
            "pagerank": f"PageRank, damping {self.damping}",
            "rank-centrality": "rank centrality",
        }
        parts = [
            f"{self.battles.source}: {self.battles.count:,} battles, {len(self.battles.models):,} models",
            name[self.method],
        ]
        parts.append("ties half a win")
        if self.method != "pagerank":
            parts.append(f"{self.baseline} fixed at {self.baseline_rating:g}")
        parts += self.battles.remarks
        if not self.converged:
            parts.append(f"NOT CONVERGED after {self.iterations} iterations")
        return "; ".join(parts) + "."


@takes_battles
def alternative_scores(
    battles: Battles,
    method: ScoreMethod,
    *,
    damping: float = 0.85,
    baseline: str | None = None,
    baseline_rating: float = 1000.0,
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> Scores:
    """Score all models by another method.

    - ``newman``: π_i ← Σ_j w_ij π_j/(π_i + π_j) / Σ_j w_ji/(π_i + π_j), one model after the other (Newman 2023, JMLR 24:238).
    - ``pagerank``: a surfer goes from a loser to a winner with probability ``damping``, else anywhere (Page et al. 1999).
    - ``rank-centrality``: the stationary distribution of the walk that goes from i to j with probability share(j beats i)/d,
      d the largest number of opponents (Negahban, Oh and Shah 2017, doi:10.1287/opre.2016.1534). The shares of all pairs
      count alike, however often they met.

    Raises:
        BattleError: there are no battles.
        UnratableError: for all but PageRank, no finite scores exist.
        OptionError: an argument is outside its range, or too many models for rank centrality.
        UnknownModelError: the baseline has no battle.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 3 + ["model_b"]})
        >>> alternative_scores(Battles.from_frame(votes), "newman").scores.round(6).tolist()
        [0.75, 0.25]
    """
    check_numbers(baseline_rating=baseline_rating, tolerance=tolerance, max_iterations=max_iterations)
    if method not in get_args(ScoreMethod):
        raise OptionError("unknown method", value=method, allowed=get_args(ScoreMethod))
    if not 0.0 < damping < 1.0:
        raise OptionError("damping must lie between 0 and 1, not", value=damping)
    check_battles(battles, baseline)
    totals, count = pair_totals(battles), len(battles.models)
    if method == "pagerank":
        scores, iterations, converged = _pagerank(totals, count, damping, tolerance, max_iterations)
    else:
        leagues_of(battles, 0.0, "refuse")
        if method == "newman":
            scores, iterations, converged = _newman(totals, count, tolerance, max_iterations)
        else:
            scores, iterations, converged = _rank_centrality(totals, count), 1, True
    logs = np.log(scores)
    base = default_baseline(battles.cells, logs) if baseline is None else battles.models.index(baseline)
    ratings = np.full(count, np.nan) if method == "pagerank" else elo(logs, base, baseline_rating)
    return Scores(
        battles=battles,
        method=method,
        scores=scores,
        ratings=ratings,
        baseline=battles.models[base],
        baseline_rating=baseline_rating,
        damping=damping if method == "pagerank" else None,
        iterations=iterations,
        converged=converged,
        tolerance=tolerance,
    )


def _newman(totals: PairTotals, count: int, tolerance: float, max_iterations: int) -> tuple[Floats, int, bool]:
    own = np.append(totals.first, totals.second)
    order = np.argsort(own, kind="stable")
    bounds = np.searchsorted(own[order], np.arange(count + 1))
    other = np.append(totals.second, totals.first)[order]
    won = np.append(totals.score, totals.matches - totals.score)[order]
    lost = np.append(totals.matches - totals.score, totals.score)[order]
    strength = np.ones(count)
    for iteration in range(1, max_iterations + 1):
        before = strength.copy()
        for model in range(count):
            part = slice(bounds[model], bounds[model + 1])
            against = strength[other[part]]
            total = strength[model] + against
            strength[model] = (won[part] * against / total).sum() / (lost[part] / total).sum()
        strength /= np.exp(np.log(strength).mean())
        if np.abs(np.log(strength / before)).max() <= tolerance:
            return strength / strength.sum(), iteration, True
    return strength / strength.sum(), max_iterations, False


def _pagerank(
    totals: PairTotals, count: int, damping: float, tolerance: float, max_iterations: int
) -> tuple[Floats, int, bool]:
    loser, winner = np.append(totals.second, totals.first), np.append(totals.first, totals.second)
    weight = np.append(totals.score, totals.matches - totals.score)
    lost = np.bincount(loser, weights=weight, minlength=count)
    share = np.divide(weight, lost[loser], out=np.zeros_like(weight), where=lost[loser] > 0)
    rank = np.full(count, 1.0 / count)
    for iteration in range(1, max_iterations + 1):
        flow = np.bincount(winner, weights=share * rank[loser], minlength=count)
        fresh = damping * (flow + rank[lost == 0].sum() / count) + (1.0 - damping) / count
        if np.abs(fresh / rank - 1.0).max() <= tolerance:
            return fresh, iteration, True
        rank = fresh
    return rank, max_iterations, False


def _rank_centrality(totals: PairTotals, count: int) -> Floats:
    if count > MOST_MODELS:
        raise OptionError("too many models for rank centrality:", value=count, hint=f"At most {MOST_MODELS:,}.")
    share = totals.score / totals.matches
    walk = np.zeros((count, count))
    walk[totals.second, totals.first], walk[totals.first, totals.second] = share, 1.0 - share
    opponents = np.bincount(np.append(totals.first, totals.second), minlength=count).max()
    walk /= opponents
    np.fill_diagonal(walk, 1.0 - walk.sum(axis=1))
    # Stationary: πW = π, one of these equations replaced by Σπ = 1.
    equations = walk.T - np.eye(count)
    equations[-1] = 1.0
    stationary: Floats = np.linalg.solve(equations, np.eye(count)[-1])
    return np.maximum(stationary, np.finfo(float).tiny)
