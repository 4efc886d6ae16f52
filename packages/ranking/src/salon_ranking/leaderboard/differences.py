"""``differences``: how far apart any two models are, and which of these gaps are more than chance.

The interval of a difference is of the kind that is asked for: percentiles of θ*_i - θ*_j, or symmetric with the sandwich's
standard error; the baseline plays no part. The p-value is two-sided, 2Φ(-|difference| / standard error) (Student's t with
clusters; for every look that of ``uncertainty/anytime.py``), with the standard deviation of the replicates or the sandwich's
error: a share of replicates could not get below 1/B, and no correction could ever find it small enough. Holm's correction
(1979) holds the chance of even one wrong claim below 1 - confidence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import frame_cells
from salon_console.shown_result import ResultView, ShownResult
from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.board import Leaderboard, freedom_of
from salon_ranking.leaderboard.options import EstimateOptions, settled_options
from salon_ranking.models.likelihood import check_size
from salon_ranking.models.ratings import POINTS_PER_UNIT, fitted
from salon_ranking.options import Rankable, with_options
from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
from salon_ranking.uncertainty.options import Interval
from salon_ranking.uncertainty.resampling import uncertainties
from salon_ranking.uncertainty.uncertainty import ResampledUncertainty, Uncertainty

Floats = NDArray[np.float64]

_COLUMNS = {
    "model_a": pl.String,
    "model_b": pl.String,
    "difference": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "standard_error": pl.Float64,
    "degrees": pl.Float64,
    "p_value": pl.Float64,
    "p_holm": pl.Float64,
    "p_bh": pl.Float64,
    "significant": pl.Boolean,
}


@dataclass(frozen=True, eq=False)
class Differences(ShownResult):
    """The differences of all comparable pairs of models, and their method.

    Attributes:
        table: one row per pair, strongest first, the higher rated as ``model_a``: ``difference`` (Elo points, 0 or more),
            ``ci_low``, ``ci_high``, ``standard_error``, ``degrees`` (of freedom of Student's t; null: the normal distribution),
            ``p_value``, ``p_holm`` and ``p_bh`` (by Holm, and by Benjamini and Hochberg, over all rows), ``significant``
            (``p_holm`` < 1 - confidence). Null where no interval is known.
        confidence: of each interval by itself, and of all claims of significance together.
        ci_method: as of a leaderboard.
        degenerate: replicates (of the worst component) without a finite estimate; they count beyond both ends.
        warnings: as of a leaderboard.
    """

    table: pl.DataFrame
    source: str
    confidence: float
    ci_method: str
    degenerate: int
    warnings: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the header, the table, and the differences with their intervals as a chart."""
        columns = self.table.select(pl.format("{} − {}", "model_a", "model_b"), "difference", "ci_low", "ci_high")
        chart = ForestPlot("Difference in Elo", [PlotRow(*row) for row in columns.iter_rows()], 0.0)
        return ResultView(self.header, frame_cells(self.table), chart)

    def matrix(self) -> pl.DataFrame:
        """Return a square table of signs: +1 where the row's model is significantly above the column's, -1 below, 0 open.

        Null on the diagonal and between models that cannot be compared. One row per model, first column ``model``, strongest
        first; where a model has that name itself, underscores are added to the column's.
        """
        sign = pl.col("significant").fill_null(False).cast(pl.Int64)
        forward = self.table.select("model_a", "model_b", sign.alias("sign"))
        backward = self.table.select(
            pl.col("model_b").alias("model_a"), pl.col("model_a").alias("model_b"), -sign.alias("sign")
        )
        models = list(dict.fromkeys([*self.table["model_a"], *self.table["model_b"]]))
        signs = {(row[0], row[1]): row[2] for row in pl.concat([forward, backward]).iter_rows()}
        columns = {column: [signs.get((model, column)) for model in models] for column in models}
        name = "model"
        while name in columns:
            name += "_"
        return pl.DataFrame({name: models}).hstack([pl.Series(column, values, pl.Int64) for column, values in columns.items()])

    @property
    def header(self) -> str:
        """One sentence on how the table was made."""
        significant = self.table["significant"].sum()
        share = f"{100 * (1 - self.confidence):.3g}%"
        by_share = (self.table["p_bh"] < 1 - self.confidence).sum()
        lost = (f"{self.degenerate:,} degenerate replicates without a finite estimate",) if self.degenerate else ()
        remarks = "".join(f"; {said}" for said in (*lost, *self.warnings))
        how = f"{self.ci_method}{freedom_of(self.table['degrees'])}"
        return (
            f"{self.source}: {self.table.height:,} pairs of models; {100 * self.confidence:.4g}% interval: {how}; "
            f"{significant:,} differences are significant at {share} after Holm's correction, {by_share:,} after Benjamini and "
            f"Hochberg's{remarks}."
        )


@with_options(EstimateOptions)
def differences(battles: Rankable, options: EstimateOptions) -> Differences:
    """Return the difference of any two models, with interval and significance; keywords and errors as for :func:`rank`.

    A BCa interval needs a baseline and is not offered here.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 90, "model_b": ["y"] * 90, "winner": (["model_a"] * 2 + ["model_b"]) * 30})
        >>> found = differences(Battles.from_frame(votes), interval="sandwich")
        >>> found.table.select("model_a", pl.col("difference").round(1), "significant").row(0)
        ('x', 120.4, True)
    """
    return differences_of(battles, options)


def differences_of(battles: Battles, options: EstimateOptions) -> Differences:
    """Return the differences of ``options``, as :func:`differences`."""
    if options.interval == "bca":
        raise OptionError(
            "differences have no BCa intervals", value=options.interval, allowed=["percentile", "sandwich", "anytime"]
        )
    if not options.is_analytic and options.replicates < 2:
        raise OptionError("intervals of differences need at least 2 replicates, not", value=options.replicates)
    asked, confidence = settled_options(options, battles), options.confidence
    check_size(len(battles.models), "differences of all models")
    ratings = fitted(battles, asked, clustered=asked.clustered)
    leagues = [one for league in uncertainties(ratings, asked) for one in league.strengths]
    table = difference_table(battles.models, leagues, confidence)
    clustered_by = " and ".join(cluster_columns(battles.cluster_by)) if asked.clustered else None
    is_drawn = asked.kind == "percentile" and any(isinstance(one, ResampledUncertainty) for one in leagues)
    kind = "percentile bootstrap" if is_drawn else "sandwich" if asked.kind != "anytime" else "anytime sandwich"
    by = f"clustered by {clustered_by}" if clustered_by else "over battles"
    degenerate = max((one.degenerate for one in leagues), default=0)
    warnings = tuple(said for one in leagues for said in one.remarks(confidence, clustered_by))
    return Differences(table, battles.source, confidence, f"{kind} {by}", degenerate, warnings)


def differences_of_board(board: Leaderboard, battles: Battles, *, threads: int | None = None) -> Differences:
    """Return the differences of a board's models, by its model and kind of interval; percentiles in place of BCa."""
    interval: Interval = board.options.kind if board.options.is_analytic else "percentile"
    return differences_of(battles, replace(board.options, interval=interval, threads=threads))


def difference_table(models: Sequence[str], leagues: Sequence[Uncertainty], confidence: float) -> pl.DataFrame:
    """Return ``Differences.table`` of the pairs of every league; ``models`` are the names of all, by number."""
    pairs = [frame for one in leagues for frame in _pairs(models, one, confidence)]
    return _corrected(pl.concat(pairs or [pl.DataFrame(schema=dict.fromkeys(_COLUMNS))]), confidence)


def _pairs(models: Sequence[str], one: Uncertainty, confidence: float) -> Iterator[pl.DataFrame]:
    names = np.array(models, dtype=object)[one.members]
    errors = one.difference_errors()
    if one.too_little(confidence) is not None:
        errors = np.full_like(errors, np.nan)
    order = np.argsort(-one.estimate, kind="stable")
    for number, model in enumerate(order[:-1]):
        weaker = order[number + 1 :]
        degrees = one.degrees_of(int(model))[weaker]
        low, high = one.difference_interval(int(model), confidence)
        error = np.where(np.isnan(low[weaker] + high[weaker]), np.nan, errors[model, weaker])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (one.estimate[model] - one.estimate[weaker]) / error
        yield pl.DataFrame(
            {
                "model_a": [names[model]] * len(weaker),
                "model_b": names[weaker].tolist(),
                "difference": POINTS_PER_UNIT * (one.estimate[model] - one.estimate[weaker]),
                "ci_low": POINTS_PER_UNIT * low[weaker],
                "ci_high": POINTS_PER_UNIT * high[weaker],
                "standard_error": POINTS_PER_UNIT * error,
                "degrees": np.where(np.isinf(degrees) | np.isnan(ratio), np.nan, degrees),
                "p_value": one.tails(np.abs(ratio), degrees),
            }
        )


def _corrected(table: pl.DataFrame, confidence: float) -> pl.DataFrame:
    p_values = table["p_value"].cast(pl.Float64).to_numpy()
    added = table.with_columns(p_holm=holm(p_values), p_bh=benjamini_hochberg(p_values))
    unknown = added.with_columns(pl.col(pl.Float64).fill_nan(None))
    return unknown.with_columns((pl.col("p_holm") < 1.0 - confidence).alias("significant"))
