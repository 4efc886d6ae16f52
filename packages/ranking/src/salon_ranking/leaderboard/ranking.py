"""``rank``: a leaderboard of any model: ratings with intervals, matches and win rates, one row per model."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles, cluster_columns, planned_by
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.options import RankOptions, settled_options
from salon_ranking.models.likelihood import check_size
from salon_ranking.models.ratings import POINTS_PER_UNIT, RANK_DIGITS, Ratings, fitted
from salon_ranking.models.ties import TIE_EDGES, TieLikelihood
from salon_ranking.options import Rankable, with_options
from salon_ranking.uncertainty.options import Interval
from salon_ranking.uncertainty.resampling import LeagueUncertainty, uncertainties
from salon_ranking.uncertainty.simultaneous import rank_intervals
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty, ResampledUncertainty, Uncertainty

Floats = NDArray[np.float64]

NORMAL_DRAWS = 1000
"""Draws for the rank intervals of a sandwich when no replicates are asked for."""


@with_options(RankOptions)
def rank(battles: Rankable, options: RankOptions) -> Leaderboard:
    """Rate all models, by any model of :func:`salon_ranking.fit`, with intervals (``docs/intervals.md``).

    Rankings have sandwiches, or intervals that hold at every look, and no replicates.

    The rating is the fit to all battles, never an average of replicates. Every replicate resamples battles (or, with
    ``cluster``, whole clusters) with replacement and is fitted again; its uncertainty includes that of the baseline.
    A model that no chain of battles joins to the baseline in a replicate has no value in it (``replicates_used``): a prior
    joins no models. A replicate without a finite estimate has none at all (``degenerate``). Such replicates count beyond both
    ends of an interval; where they are more than one tail, the interval is null (few battles of a model), or all are sandwiches
    (degenerate replicates), and ``Leaderboard.warnings`` says so. The same seed gives the same intervals, bit for bit, on any
    number of threads. Ctrl-C stops at once.

    Firth's estimator is used in every replicate too. No replicate is degenerate then unless it lacks the baseline. Its
    intervals are percentiles or a sandwich at the reduced estimate; they are null for a model that the baseline beat in every
    chain of battles, or that so beat the baseline: neither kind knows how far such a rating may reach. Clusters count in the
    intervals; the reduction is that of independent battles.

    The keywords are the fields of :class:`salon_ranking.RankOptions`; for other errors see
    :func:`salon_ranking.fit`.

    Raises:
        OptionError: an argument is outside its range, ``cluster`` without a column to cluster by, BCa intervals with two
            columns, or more models than a matrix can be made for.
        UnratableError: also when battles say too little about some model for an analytic interval.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 9, "model_b": ["y"] * 9, "winner": ["model_a", "tie", "model_b"] * 3})
        >>> rank(Battles.from_frame(votes), replicates=100).table.select("rank", "model", "matches", "win_rate").rows()
        [(1, 'x', 9.0, 0.5), (1, 'y', 9.0, 0.5)]
    """
    return ranked(battles, options)


def ranked(battles: Battles, options: RankOptions) -> Leaderboard:
    """Return the leaderboard of ``options``, as :func:`rank`."""
    asked = settled_options(options, battles)
    if options.ranks:
        _check_ranks(battles, asked)
    ratings = fitted(battles, options, clustered=asked.clustered)
    intervals = _Intervals(battles, ratings, asked)
    for number, league in enumerate(uncertainties(ratings, asked)):
        intervals.add(number, league, keep=options.ranks)
    table = _table(battles, ratings, intervals)
    if np.isfinite(intervals.degrees).any():
        degrees = pl.DataFrame({"model": battles.models, "degrees": intervals.degrees})
        table = table.join(degrees.fill_nan(None), on="model", how="left", maintain_order="left")
    if options.ranks:
        table = table.join(intervals.ranks(), on="model", how="left", maintain_order="left")
    return _board(intervals, table)


def _check_ranks(battles: Battles, asked: RankOptions) -> None:
    """Check that rank intervals can be made.

    Raises:
        OptionError: no intervals are wanted, or there are more models than a matrix can be made for.
    """
    if not asked.is_wanted:
        raise OptionError("rank intervals need a sandwich or replicates, not", value=asked.replicates)
    check_size(len(battles.models), "rank intervals")


def _board(intervals: "_Intervals", table: pl.DataFrame) -> Leaderboard:
    """Return the board of a table: its fields are those of the fit, its options and its intervals."""
    battles, ratings, asked = intervals.battles, intervals.ratings, intervals.asked
    kind: Interval = "sandwich" if intervals.kinds == {"sandwich"} else asked.kind
    return Leaderboard(
        table=battles.with_unrated(table),
        parameters=intervals.parameters(),
        options=replace(asked, interval=kind, threads=None, progress=None, start=None),
        source=battles.source,
        group=None,
        battles=battles.count,
        rankings=None if battles.orders is None else battles.orders.count,
        baselines=ratings.baselines,
        converged=ratings.converged,
        iterations=ratings.iterations,
        gradient_norm=ratings.gradient_norm,
        log_likelihood=ratings.log_likelihood,
        replicates=0 if asked.is_analytic else asked.replicates,
        degenerate=intervals.degenerate,
        unconverged=intervals.unconverged,
        cluster=intervals.clustered_by,
        weight=battles.weight,
        left_out=ratings.left_out,
        planned=planned_by(battles),
        remarks=battles.remarks_with(asked.clustered),
        warnings=(*dict.fromkeys(intervals.warnings), *battles.unrated_note),
    )


def ranked_like(board: Leaderboard, battles: Battles) -> Leaderboard:
    """Rank other battles by the model of a board, without intervals, each component by itself."""
    bare = replace(board.options, interval=None, replicates=0, ranks=False, cluster=False)
    return ranked(battles, replace(bare, baseline=None, components="separate"))


@dataclass(eq=False)
class _Intervals:
    """The intervals of a board, as its leagues come in; one entry per model."""

    battles: Battles
    ratings: Ratings
    asked: RankOptions
    degenerate: int = 0
    unconverged: int = 0
    kinds: set[Interval] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    kept: list[Uncertainty] = field(default_factory=list)
    further: dict[int, Uncertainty | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.battles.models)
        self.low, self.high, self.error, self.degrees = (np.full(count, np.nan) for _ in range(4))
        self.used = np.zeros(count, dtype=np.int64)

    @property
    def clustered_by(self) -> str | None:
        """The columns of clusters in words."""
        return " and ".join(cluster_columns(self.battles.cluster_by)) if self.asked.clustered else None

    def add(self, number: int, league: LeagueUncertainty, *, keep: bool) -> None:
        """Add the league of a number; ``keep`` its uncertainty for :meth:`ranks`."""
        for one in league.strengths:
            self._add(one)
            if keep:
                self.kept.append(one)
        self.further[number] = league.further

    def _add(self, uncertainty: Uncertainty) -> None:
        ends, confidence = uncertainty.interval(self.asked.confidence), self.asked.confidence
        low, high = (self.ratings.baseline_rating + POINTS_PER_UNIT * end for end in ends[:2])
        self.low[uncertainty.members], self.high[uncertainty.members] = low, high
        self.error[uncertainty.members] = np.where(np.isnan(high - low), np.nan, POINTS_PER_UNIT * uncertainty.errors())
        self.used[uncertainty.members] = ends.used
        if isinstance(uncertainty, AnalyticUncertainty) and uncertainty.freedom is not None and uncertainty.base is not None:
            degrees = uncertainty.degrees_of(uncertainty.base)
            self.degrees[uncertainty.members] = np.where(np.isinf(degrees) | np.isnan(high - low), np.nan, degrees)
        self.degenerate = max(self.degenerate, uncertainty.degenerate)
        self.unconverged += uncertainty.unconverged
        is_asked = isinstance(uncertainty, ResampledUncertainty) or uncertainty.anytime is not None
        self.kinds.add(self.asked.kind if is_asked else "sandwich")
        named = self.battles.models[uncertainty.members[uncertainty.base or 0]]
        where = f"component of {named}: " if len(self.ratings.baselines) > 1 else ""
        self.warnings += [
            where + said for said in uncertainty.warnings(self.battles.models, confidence, self.clustered_by, ends)
        ]

    def ranks(self) -> pl.DataFrame:
        """Return ``model``, ``rank_low`` and ``rank_high``: simultaneous intervals of the ranks."""
        best, worst = (np.ones(len(self.battles.models), dtype=np.int64) for _ in range(2))
        least = NORMAL_DRAWS if self.asked.is_analytic or not self.asked.replicates else 0
        draws = max(self.asked.replicates, least)
        intervals = rank_intervals(self.kept, self.asked.confidence, draws, self.asked.seed)
        for one, (first, last) in zip(self.kept, intervals, strict=True):
            # Models of the same component that no chain of battles joins may lie anywhere among each other.
            component = self.ratings.component
            others = np.count_nonzero(component == component[one.members[0]]) - len(one.members)
            best[one.members], worst[one.members] = first, last + others
        return pl.DataFrame({"model": self.battles.models, "rank_low": best, "rank_high": worst})

    def parameters(self) -> pl.DataFrame:
        """Return ``Leaderboard.parameters``."""
        table = self.ratings.parameters
        error, low, high, p_value, degrees = (np.full(table.height, np.nan) for _ in range(5))
        for number, uncertainty in self.further.items():
            if uncertainty is None:
                continue
            rows = np.flatnonzero(table["component"].to_numpy() == number)
            ends = uncertainty.interval(self.asked.confidence)
            low[rows], high[rows] = ends.low[:-1], ends.high[:-1]
            error[rows] = np.where(np.isnan(ends.high - ends.low), np.nan, uncertainty.errors())[:-1]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.abs(uncertainty.estimate[:-1] / error[rows])
            degrees[rows] = uncertainty.degrees_of(len(uncertainty.estimate) - 1)[:-1]
            p_value[rows] = uncertainty.tails(ratio, degrees[rows])
            if isinstance(self.ratings.leagues[number].likelihood, TieLikelihood):
                edge = TIE_EDGES[self.ratings.options.ties]
                low[rows], high[rows] = _within_range(uncertainty, edge, low[rows], high[rows])
        is_covariate = pl.col("scale").is_not_null()  # that a tie parameter is 0 is no hypothesis: it is the edge of its range
        columns = {
            "standard_error": error,
            "ci_low": low,
            "ci_high": high,
            "degrees": np.where(np.isinf(degrees), np.nan, degrees),
        }
        with_errors = table.with_columns(**{name: pl.Series(values, dtype=pl.Float64) for name, values in columns.items()})
        tests = with_errors.with_columns(
            z=pl.when(is_covariate).then(pl.col("estimate") / pl.col("standard_error")),
            p_value=pl.when(is_covariate).then(pl.Series(p_value, dtype=pl.Float64)),
            elo=pl.when(is_covariate).then(POINTS_PER_UNIT * pl.col("estimate")),
        )
        names = (
            "component",
            "term",
            "estimate",
            "standard_error",
            "ci_low",
            "ci_high",
            "degrees",
            "z",
            "p_value",
            "scale",
            "elo",
        )
        return tests.select(names).with_columns(pl.col(pl.Float64).fill_nan(None))


def _within_range(uncertainty: Uncertainty, edge: float, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return a tie parameter's interval; that of a sandwich is symmetric in ln(parameter - edge), and so above the edge."""
    if isinstance(uncertainty, ResampledUncertainty):
        return low, high
    above = uncertainty.estimate[:-1] - edge
    reach = np.exp((high - low) / (2.0 * above))
    return edge + above / reach, edge + above * reach


def _table(battles: Battles, ratings: Ratings, intervals: _Intervals) -> pl.DataFrame:
    matches, wins, ties, losses = battles.cells.records()
    frame = pl.DataFrame(
        {
            "model": pl.Series(battles.models, dtype=pl.String),
            "rating": ratings.ratings,
            "standard_error": intervals.error,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "matches": matches,
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "win_rate": (wins + 0.5 * ties) / matches,
            "replicates_used": intervals.used,
            "component": ratings.component,
        }
    ).with_columns(pl.col("rating", "standard_error", "ci_low", "ci_high").fill_nan(None))
    rank_number = pl.col("rating").round(RANK_DIGITS).rank("min", descending=True).over("component")
    # A model that is alone in its component has no rating and is first among one.
    ranked = frame.with_columns(rank_number.fill_null(1).cast(pl.Int64).alias("rank"))
    return ranked.select("rank", pl.all().exclude("rank")).sort("component", "rank", "model")
