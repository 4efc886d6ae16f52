"""``rank``: ratings with bootstrap intervals, matches and win rates, one row per model."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from salon_ranking import _core, reference
from salon_ranking.battles import Battles
from salon_ranking.bradley_terry import (
    MAX_ITERATIONS,
    TOLERANCE,
    Components,
    Floats,
    League,
    Ratings,
    Solver,
    elo,
    fit,
    leagues_of,
)
from salon_ranking.errors import OptionError
from salon_ranking.intervals import percentile_interval
from salon_ranking.leaderboard import RANK_DIGITS, Leaderboard

Progress = Callable[[int, int], object]
"""Called now and then with the replicates that are done and their number."""

_MOST_NUMBERS = 1 << 29


@dataclass(frozen=True)
class _Options:
    """The arguments of :func:`rank` that shape its result."""

    baseline: str | None
    baseline_rating: float
    replicates: int
    seed: int
    confidence: float
    cluster: bool
    prior_ties: float
    components: Components
    solver: Solver
    tolerance: float
    max_iterations: int


def rank(
    battles: Battles,
    *,
    baseline: str | None = None,
    baseline_rating: float = 1000.0,
    replicates: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    cluster: bool = False,
    prior_ties: float = 0.0,
    components: Components = "refuse",
    solver: Solver = "rust",
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Rate all models, with percentile bootstrap intervals.

    The rating is the fit to all battles, never an average of replicates. Every replicate resamples battles (or, with
    ``cluster``, whole clusters) with replacement and is fitted anew; its uncertainty includes that of the baseline.
    A model that no chain of battles joins to the baseline in a replicate is left out of that replicate
    (``replicates_used``): a prior compares nobody. A replicate without a finite estimate is left out whole and counted
    (``degenerate``). The same seed gives the same intervals, bit for bit, on any number of threads. Ctrl-C stops at once.

    Args:
        replicates: 0 for no intervals.
        seed: from 0 to 2⁶³-1.
        confidence: the intervals' coverage, between 0 and 1.
        cluster: resample the values of ``battles.cluster_by`` instead of single battles.
        threads: by default all processors that this process may use.
        progress: called now and then with (done, replicates).

    For the other arguments and errors see :func:`fit`.

    Raises:
        OptionError: an argument is outside its range, or ``cluster`` without a column to cluster by.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 9, "model_b": ["y"] * 9, "winner": ["model_a", "tie", "model_b"] * 3})
        >>> rank(Battles.from_frame(votes), replicates=100).table.select("rank", "model", "matches", "win_rate").rows()
        [(1, 'x', 9.0, 0.5), (1, 'y', 9.0, 0.5)]
    """
    options = _Options(
        baseline,
        baseline_rating,
        replicates,
        seed,
        confidence,
        cluster,
        prior_ties,
        components,
        solver,
        tolerance,
        max_iterations,
    )
    _check(battles, options, threads)
    ratings = fit(
        battles,
        baseline=baseline,
        baseline_rating=baseline_rating,
        solver=solver,
        prior_ties=prior_ties,
        tolerance=tolerance,
        max_iterations=max_iterations,
        components=components,
    )
    low, high = np.full(len(battles.models), np.nan), np.full(len(battles.models), np.nan)
    used = np.zeros(len(battles.models), dtype=np.int64)
    degenerate = unconverged = 0
    if replicates:
        _, leagues = leagues_of(battles, prior_ties, components)
        for league, base in zip(leagues, ratings.baselines, strict=True):
            base_number = [battles.models[number] for number in league.members].index(base)
            drawn = _resample(league, base_number, ratings, options, threads or _processors(), progress)
            points = elo(drawn.log_strengths, base_number, baseline_rating)
            members = league.members
            low[members], high[members], used[members] = percentile_interval(points, confidence)
            degenerate, unconverged = max(degenerate, drawn.degenerate), unconverged + drawn.unconverged
    return Leaderboard(
        table=_table(battles, ratings, low, high, used),
        source=battles.source,
        group=None,
        battles=battles.count,
        baselines=ratings.baselines,
        baseline_rating=baseline_rating,
        solver=solver,
        prior_ties=prior_ties,
        tolerance=tolerance,
        converged=ratings.converged,
        iterations=ratings.iterations,
        gradient_norm=ratings.gradient_norm,
        replicates=replicates,
        degenerate=degenerate,
        unconverged=unconverged,
        seed=seed,
        confidence=confidence,
        cluster=battles.cluster_by if cluster else None,
        weight=battles.weight,
        left_out=ratings.left_out,
    )


def _check(battles: Battles, options: _Options, threads: int | None) -> None:
    if not 0.0 < options.confidence < 1.0:
        raise OptionError("confidence must lie between 0 and 1, not", value=options.confidence)
    if options.replicates < 0:
        raise OptionError("replicates must be 0 or more, not", value=options.replicates)
    if not 0 <= options.seed < 1 << 63:
        raise OptionError("seed must lie between 0 and 2**63 - 1, not", value=options.seed)
    if threads is not None and threads < 1:
        raise OptionError("threads must be 1 or more, not", value=threads)
    if options.cluster and battles.cluster_by is None:
        raise OptionError("there is nothing to cluster by", source=battles.source, hint="Name the column: cluster_by=…")
    if options.replicates * len(battles.models) > _MOST_NUMBERS:
        most = _MOST_NUMBERS // len(battles.models)
        problem = f"replicates x models must stay below {_MOST_NUMBERS:,}; with {len(battles.models):,} models that is at most"
        raise OptionError(problem, value=most)


def _resample(
    league: League, baseline: int, ratings: Ratings, options: _Options, threads: int, progress: Progress | None
) -> _core.Replicates | reference.Replicates:
    estimate = np.ascontiguousarray(ratings.log_strengths[league.members])
    told = None if progress is None else lambda done: progress(done, options.replicates)
    if options.solver == "reference":
        return reference.bootstrap(
            league.cells,
            baseline,
            options.replicates,
            options.seed,
            options.cluster,
            options.prior_ties,
            options.tolerance,
            options.max_iterations,
        )
    return _core.bootstrap(
        league.cells,
        estimate,
        baseline,
        options.replicates,
        options.seed,
        options.cluster,
        threads,
        options.prior_ties,
        options.tolerance,
        options.max_iterations,
        told,
    )


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _table(
    battles: Battles, ratings: Ratings, low: Floats, high: Floats, used: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> pl.DataFrame:
    matches, wins, ties, losses = battles.cells.records()
    frame = pl.DataFrame(
        {
            "model": pl.Series(battles.models, dtype=pl.String),
            "rating": ratings.ratings,
            "ci_low": low,
            "ci_high": high,
            "matches": matches,
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "win_rate": (wins + 0.5 * ties) / matches,
            "replicates_used": used,
            "component": ratings.component,
        }
    ).with_columns(pl.col("rating", "ci_low", "ci_high").fill_nan(None))
    place = pl.col("rating").round(RANK_DIGITS).rank("min", descending=True).over("component")
    # A model that is alone in its component has no rating and is first among one.
    ranked = frame.with_columns(place.fill_null(1).cast(pl.Int64).alias("rank"))
    return ranked.select("rank", pl.all().exclude("rank")).sort("component", "rank", "model")
