"""Leaderboards: ratings with bootstrap intervals, matches and win rates, one row per model."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from salon_ranking import _core, reference
from salon_ranking._index import reading
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
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.intervals import percentile_interval
from salon_taxonomy.digest import digest
from salon_taxonomy.records import LeaderboardRow

Progress = Callable[[int, int], object]
"""Called now and then with the replicates that are done and their number."""

NOT_GIVEN = "(not given)"
"""The group of battles whose grouping column is null."""
_RANK_DIGITS = 6
_MOST_NUMBERS = 1 << 29


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """A ranked table and how it was made.

    Attributes:
        table: one row per model, best first, with the columns ``rank`` (1 is best; equal ratings share a rank; counted
            within a component), ``model``, ``rating``, ``ci_low``, ``ci_high`` (Elo points; null where there is none),
            ``matches``, ``wins``, ``ties``, ``losses`` (sums of weights), ``win_rate`` ((wins + ties/2) / matches),
            ``replicates_used`` (replicates in which the model had a battle and a finite rating) and ``component``.
        source: where the battles came from.
        group: the value of the grouping column; None is all battles.
        battles: number of battles.
        baselines: per component, the model whose rating is fixed at ``baseline_rating``, without an interval's width.
        replicates: bootstrap replicates that were drawn; 0: no intervals.
        degenerate: replicates (of the worst component) without a finite estimate; they are in no interval.
        unconverged: replicates whose fit did not reach the tolerance; they are in the intervals.
        cluster: the column whose values were resampled as a whole; None: single battles were.
        left_out: battles between models of different components.
    """

    table: pl.DataFrame
    source: str
    group: str | None
    battles: int
    baselines: tuple[str, ...]
    baseline_rating: float
    solver: Solver
    prior_ties: float
    tolerance: float
    converged: bool
    iterations: int
    gradient_norm: float
    replicates: int
    degenerate: int
    unconverged: int
    seed: int
    confidence: float
    cluster: str | None
    weight: str | None
    left_out: int

    @property
    def ci_method(self) -> str | None:
        """How the intervals were made; None without intervals."""
        if self.replicates == 0:
            return None
        return (
            "percentile bootstrap over battles" if self.cluster is None else f"percentile bootstrap clustered by {self.cluster}"
        )

    @property
    def components(self) -> int:
        """Number of groups of models that are ranked each by itself; 1 when all can be compared."""
        return self.table["component"].n_unique()

    @property
    def header(self) -> str:
        """One or two sentences on how the table was made, with everything that could not be rated counted."""
        title = self.source if self.group is None else f"{self.source}, {self.group}"
        parts = [f"{title}: {self.battles:,} battles, {self.table.height:,} models"]
        parts.append("Bradley-Terry maximum likelihood, ties half a win, 400·log10 scale")
        if self.weight is not None:
            parts.append(f"weighted by {self.weight}")
        if self.prior_ties:
            parts.append(f"prior: drawn battles per model against a mean opponent: {self.prior_ties:g}")
        parts.append(f"{' and '.join(self.baselines[:3]) or 'nobody'} fixed at {self.baseline_rating:g}")
        if self.ci_method is not None:
            parts.append(
                f"{100 * self.confidence:.4g} % interval: {self.ci_method}, {self.replicates:,} replicates, seed {self.seed}"
            )
        if self.degenerate:
            parts.append(f"{self.degenerate:,} degenerate replicates without a finite estimate are in no interval")
        if self.unconverged:
            parts.append(f"{self.unconverged:,} replicates did not converge")
        if self.components > 1:
            parts.append(
                f"{self.components} components are ranked each by itself, {self.left_out:,} battles between them left out"
            )
        if not self.converged:
            parts.append(f"NOT CONVERGED after {self.iterations} iterations (gradient {self.gradient_norm:.1e})")
        return "; ".join(parts) + "."

    def records(self, board: str = "overall") -> pl.DataFrame:
        """The table in the columns of the result store's ``leaderboards``; models without a rating are left out.

        The key of the board is a digest of its content, so the same battles ranked the same way keep the same key.
        """
        rated = self.table.filter(pl.col("rating").is_not_null())
        how = {
            "board": board,
            "group": self.group,
            "models": rated["model"].to_list(),
            "ratings": [round(value, _RANK_DIGITS) for value in rated["rating"].to_list()],
            "matches": rated["matches"].to_list(),
            "method": [self.ci_method, self.replicates, self.seed, self.confidence, self.solver, self.prior_ties],
        }
        constants: dict[str, pl.Expr] = {
            "leaderboard_id": pl.lit(digest("leaderboard", how)),
            "board": pl.lit(board),
            "group": pl.lit(self.group, dtype=pl.String),
            "confidence": pl.lit(self.confidence if self.replicates else None, dtype=pl.Float64),
            "ci_method": pl.lit(self.ci_method, dtype=pl.String),
            "baseline": pl.lit(self.baselines[0] if self.baselines else None, dtype=pl.String),
            "solver": pl.lit(self.solver),
            "replicates": pl.lit(self.replicates, dtype=pl.Int64),
            "seed": pl.lit(self.seed if self.replicates else None, dtype=pl.Int64),
        }
        return rated.with_columns(**constants).select(list(LeaderboardRow.model_fields))


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
    A model without a battle in a replicate is left out of that replicate (``replicates_used``); a replicate without a
    finite estimate is left out whole and counted (``degenerate``). The same seed gives the same intervals, bit for
    bit, on any number of threads. Ctrl-C stops at once.

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
            drawn = _resample(league, ratings, options, threads or _processors(), progress)
            base_number = [battles.models[number] for number in league.members].index(base)
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


def rank_by(battles: Battles, column: str, *, baseline: str | None = None, **options: object) -> tuple[Leaderboard, ...]:
    """One leaderboard per value of ``column`` (a scenario, a rater), in ascending order of the values.

    Battles whose value is null form a group of their own, named ``(not given)``. Without a named baseline, all groups
    share the overall default when it plays in each of them; else each group has its own.

    Args:
        options: as for :func:`rank`.

    Raises:
        BattleError: the column is missing; or as :func:`rank`, with the group named.

    Example:
        >>> votes = pl.DataFrame(
        ...     {"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a", "model_b"] * 2, "scenario": ["art"] * 4}
        ... )
        >>> [board.group for board in rank_by(Battles.from_frame(votes), "scenario", replicates=0)]
        ['art']
    """
    groups = _groups(battles, column)
    shared = _shared_baseline(battles, groups, options) if baseline is None else baseline
    boards = []
    for name, group in groups.items():
        board = rank(group, baseline=shared, **options)  # type: ignore[arg-type]
        boards.append(replace(board, source=battles.source, group=name))
    return tuple(boards)


def _groups(battles: Battles, column: str) -> dict[str, Battles]:
    with reading(battles.source):
        schema = battles.frame.collect_schema()
        if column not in schema:
            raise BattleError("missing column to group by", source=battles.source, value=column, allowed=schema.names())
        needed = dict.fromkeys(["model_a", "model_b", "winner", battles.weight, battles.cluster_by, column])
        columns = [pl.col(name) for name in needed if name is not None]
        key = pl.col(column).cast(pl.String).fill_null(NOT_GIVEN).alias("__group")
        text = pl.col(pl.String).cast(pl.Categorical)
        frame = battles.frame.select(*columns, key).with_columns(text).collect(engine="streaming")
    parts: Mapping[tuple[object, ...], pl.DataFrame] = frame.partition_by("__group", as_dict=True)
    return {
        name: Battles.from_frame(part, f"{battles.source}, {column} {name!r}", battles.cluster_by, battles.weight)
        for name, part in sorted(((str(key[0]), part) for key, part in parts.items()), key=lambda item: item[0])
    }


def _shared_baseline(battles: Battles, groups: Mapping[str, Battles], options: Mapping[str, object]) -> str | None:
    """The overall default baseline, when it plays in every group."""
    prior_ties = float(options.get("prior_ties", 0.0))  # type: ignore[arg-type]
    if prior_ties == 0.0 and battles.cells.components().any():
        return None
    default = fit(battles, prior_ties=prior_ties).baselines[0]
    return default if all(default in group.models for group in groups.values()) else None


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
    league: League, ratings: Ratings, options: _Options, threads: int, progress: Progress | None
) -> _core.Replicates | reference.Replicates:
    estimate = np.ascontiguousarray(ratings.log_strengths[league.members])
    told = None if progress is None else lambda done: progress(done, options.replicates)
    if options.solver == "reference":
        return reference.bootstrap(
            league.cells,
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
    place = pl.col("rating").round(_RANK_DIGITS).rank("min", descending=True).over("component")
    # A model that is alone in its component has no rating and is first among one.
    ranked = frame.with_columns(place.fill_null(1).cast(pl.Int64).alias("rank"))
    return ranked.select("rank", pl.all().exclude("rank")).sort("component", "rank", "model")
