"""``compare`` sets several boards side by side; ``compare_votes`` compares two sets of votes, with intervals.

``compare_groups``, for the groups of one set, is in :mod:`salon_ranking.leaderboard.group_comparison`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import counted, frame_cells
from salon_console.shown_result import ResultView, ShownResult
from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.battles.repeated_ids import ID
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.board import Leaderboard, freedom_of
from salon_ranking.leaderboard.options import ComparisonOptions
from salon_ranking.models.likelihood import check_size
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import POINTS_PER_UNIT, RANK_DIGITS, fitted
from salon_ranking.options import checked, with_options
from salon_ranking.uncertainty.joint import joint_fit, joint_method
from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
from salon_ranking.uncertainty.options import IntervalOptions
from salon_ranking.uncertainty.resampling import uncertainties
from salon_ranking.uncertainty.student import two_sided_quantiles, two_sided_tail
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty

Floats = NDArray[np.float64]
_MEAN = 1000.0


@checked
def compare(boards: Sequence[Leaderboard]) -> pl.DataFrame:
    """Set ratings and ranks of all boards side by side, with rank changes against the first.

    Ranks are counted again among the models that every board rates, as a place among ten says nothing beside a place among
    eight; a model that some board does not rate has no rank here.

    Returns:
        One row per model, in the order of the first board, then the others: ``model``, and for every board, by its group
        (``all`` for all battles): ``rating G``, ``rank G``, and from the second on ``change G`` (places gained
        against the first board; negative: lost).

    Raises:
        OptionError: fewer than two boards, two with the same group, or one whose models cannot all be compared.

    Example:
        >>> from salon_ranking import Battles, rank_by
        >>> votes = pl.DataFrame(
        ...     {
        ...         "model_a": ["x"] * 6,
        ...         "model_b": ["y"] * 6,
        ...         "winner": ["model_a", "model_a", "model_b", "model_b", "model_b", "model_a"],
        ...         "mode": ["expert"] * 3 + ["public"] * 3,
        ...     }
        ... )
        >>> compare(rank_by(Battles.from_frame(votes), "mode", replicates=0)).select("model", "^rank.*|change.*$").rows()
        [('x', 1, 2, -1), ('y', 2, 1, 1)]
    """
    names = [board.group or "all" for board in boards]
    if len(boards) < 2 or len(set(names)) < len(names):
        raise OptionError("side by side stand two or more boards of different groups, not", value=names)
    for board in boards:
        if board.components > 1:
            problem = "its models cannot all be compared, so it has no places to set beside others"
            raise OptionError(problem, source=board.source, value=board.group)
    shared = set.intersection(*(set(board.table["model"]) for board in boards))
    models = list(dict.fromkeys(model for board in boards for model in board.table["model"]))
    table = pl.DataFrame({"model": pl.Series(models, dtype=pl.String)})
    for board, name in zip(boards, names, strict=True):
        among = pl.when(pl.col("model").is_in(list(shared))).then(pl.col("rating").round(RANK_DIGITS))
        ranks = among.rank("min", descending=True).cast(pl.Int64)
        own = board.table.select("model", pl.col("rating").alias(f"rating {name}"), ranks.alias(f"rank {name}"))
        table = table.join(own, on="model", how="left", maintain_order="left")
    changes = [(pl.col(f"rank {names[0]}") - pl.col(f"rank {name}")).alias(f"change {name}") for name in names[1:]]
    ordered = ["model"]
    for name in names:
        ordered += [f"rating {name}", f"rank {name}", *([f"change {name}"] if name != names[0] else [])]
    return table.with_columns(changes).select(ordered)


@dataclass(frozen=True, eq=False)
class VoteComparison(ShownResult):
    """The comparison of two sets of votes on the same models, and its method.

    Attributes:
        table: one row per model that both rate, best first by the first set: ``model``, ``rating`` and ``rank`` by the first,
            ``other_rating`` and ``other_rank`` by the second, ``change`` (places gained from the second to the first),
            ``difference`` (rating less other rating, Elo points), ``ci_low``, ``ci_high``, ``degrees`` (of freedom of Student's
            t; null: the normal distribution), ``p_value``, ``p_holm`` and ``p_bh`` (by Holm, and by Benjamini and
            Hochberg, over all rows); the last six are null where no interval is known.
        header: how it was made, and why intervals are missing.
    """

    table: pl.DataFrame
    header: str

    def view(self) -> ResultView:
        """Return the header, the table, and the differences with their intervals as a chart."""
        columns = self.table.select("model", "difference", "ci_low", "ci_high")
        chart = ForestPlot("Difference in Elo", [PlotRow(*row) for row in columns.iter_rows()], 0.0)
        return ResultView(self.header, frame_cells(self.table), chart)


@with_options(ComparisonOptions)
def compare_votes(battles: Battles, other: Battles, options: ComparisonOptions) -> VoteComparison:
    """Compare the ratings by two sets of votes, with intervals of the differences where the sets are independent.

    Ratings count from the mean of the models that both sets rate, which is 1000 in both: so no baseline's own change is read
    as a change of the others. With C the matrix that takes this mean off, the covariance of the differences is C(V₁ + V₂)Cᵀ, V
    the sandwich covariance of each fit, and degrees of freedom are those of Welch and Satterthwaite. Where a cluster (prompt,
    rater) is in both sets, one sandwich of both fits is used, in which its scores are summed over both
    (:mod:`salon_ranking.uncertainty.joint`); for plain Bradley-Terry. Where a vote is in both, there are no intervals and the
    header says why. Without the column ``battle_id`` in both, votes are taken as different ones.

    The keywords are the fields of :class:`salon_ranking.ComparisonOptions`.

    Raises:
        OptionError: fewer than two models are in both; or as those options.
        UnratableError: as :func:`salon_ranking.fit`, for either.

    Example:
        >>> names = {"model_a": ["x"] * 9, "model_b": ["y"] * 9}
        >>> now = {**names, "winner": ["model_a"] * 6 + ["model_b"] * 3}
        >>> before = {**names, "winner": ["model_a"] * 3 + ["model_b"] * 6}
        >>> compare_votes(now, before).table.select("model", "change", pl.col("difference").round(1)).rows()
        [('x', 1, 120.4), ('y', -1, -120.4)]
    """
    return votes_compared(battles, other, options)


def votes_compared(battles: Battles, other: Battles, options: ComparisonOptions) -> VoteComparison:
    """Return the comparison of ``options``, as :func:`compare_votes`."""
    confidence = options.confidence
    shared = sorted({*battles.models} & {*other.models})
    if len(shared) < 2:
        raise OptionError("two models or more must be in both, not", value=len(shared))
    sides = [_side(one, shared, one.is_clustered(options.cluster), options, confidence) for one in (battles, other)]
    (first, first_variance, degrees), (second, second_variance, other_degrees) = sides
    clusters = [cluster_columns(one.cluster_by) if one.is_clustered(options.cluster) else () for one in (battles, other)]
    why = _dependence(battles, other)
    how = f"both sandwich variances added, {_independence(battles, other)}"
    unknown = np.full(len(shared), np.nan)
    error, freedom = unknown, unknown
    hanging = next((text for column in dict.fromkeys(sum(clusters, ())) if (text := _in_both(battles, other, column))), None)
    if why is None and hanging is not None:
        same = clusters[0] == clusters[1] and options.is_plain and options.estimator == "maximum-likelihood"
        joint = joint_fit({"other": other.frame, "own": battles.frame}, battles, options) if same else None
        if joint is None:
            why = hanging
        else:
            _, error, freedom = joint.differences([(model, "own", "other") for model in shared], shared)
            how = f"{joint_method(battles)}, as {hanging}"
    elif why is None:
        variance = first_variance + second_variance
        error = np.sqrt(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = variance**2 / (first_variance**2 / degrees + second_variance**2 / other_degrees)
    table = _comparison_table(shared, first, second, error, freedom, confidence)
    parts = [
        f"{battles.source} ({battles.count:,} battles) against {other.source} ({other.count:,} battles)",
        f"{len(shared):,} models in both, whose mean rating is {_MEAN:g} in both",
        f"no interval is known: {why}"
        if why is not None
        else f"{100 * confidence:.4g}% interval of a difference: {how}{freedom_of(table['degrees'])}",
        *dict.fromkeys([*battles.remarks, *other.remarks]),
        *(independence_warnings(battles, [battles.rows, other.rows]) if why is None else ()),
    ]
    return VoteComparison(table, "; ".join(parts) + ".")


def _comparison_table(
    shared: Sequence[str], first: Floats, second: Floats, error: Floats, freedom: Floats, confidence: float
) -> pl.DataFrame:
    """Return ``VoteComparison.table`` from log-strengths by both sets, and error and degrees of freedom of the differences."""
    difference = first - second
    reach = two_sided_quantiles(1.0 - confidence, freedom) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = two_sided_tail(np.abs(difference / error), freedom)
    columns = {
        "rating": _MEAN + POINTS_PER_UNIT * first,
        "other_rating": _MEAN + POINTS_PER_UNIT * second,
        "difference": POINTS_PER_UNIT * difference,
        "ci_low": POINTS_PER_UNIT * (difference - reach),
        "ci_high": POINTS_PER_UNIT * (difference + reach),
        "degrees": np.where(np.isinf(freedom), np.nan, freedom),
        "p_value": tails,
        "p_holm": holm(tails),
        "p_bh": benjamini_hochberg(tails),
    }
    places = {
        name: pl.col(rating).round(RANK_DIGITS).rank("min", descending=True).cast(pl.Int64)
        for name, rating in (("rank", "rating"), ("other_rank", "other_rating"))
    }
    table = pl.DataFrame({"model": pl.Series(shared, dtype=pl.String), **columns}).with_columns(
        pl.col("ci_low", "ci_high", "degrees", "p_value", "p_holm", "p_bh").fill_nan(None), **places
    )
    ordered = ["model", "rating", "rank", "other_rating", "other_rank", "change", *list(columns)[2:]]
    return table.with_columns(change=pl.col("other_rank") - pl.col("rank")).sort("rank", "model").select(ordered)


def _side(
    battles: Battles, shared: Sequence[str], clustered: bool, options: FitOptions, confidence: float
) -> tuple[Floats, Floats, Floats]:
    """Return θ of the shared models about their mean, the variance of each, and its degrees of freedom."""
    check_size(len(battles.models), "a comparison of votes")
    ratings = fitted(battles, options, clustered=clustered)
    number = {name: place for place, name in enumerate(battles.models)}
    chosen = np.array([number[name] for name in shared])
    theta = ratings.log_strengths[chosen]
    variance, degrees = np.full(len(shared), np.nan), np.full(len(shared), np.nan)
    asked = IntervalOptions(interval="sandwich", cluster=clustered)
    strengths = [one for league in uncertainties(ratings, asked) for one in league.strengths]
    one = strengths[0]
    index = np.searchsorted(one.members, chosen)
    is_known = len(strengths) == 1 and one.too_little(confidence) is None
    is_joined = one.strong is None or len({*one.strong[index]}) == 1  # so that all models can be compared
    if isinstance(one, AnalyticUncertainty) and is_known and is_joined:
        contrasts = np.zeros((len(shared), len(one.members)))
        contrasts[:, index] = np.eye(len(shared)) - 1.0 / len(shared)
        variance = np.maximum(((contrasts @ one.covariance) * contrasts).sum(axis=1), 0.0)
        degrees = one.degrees_of_contrasts(contrasts)
    return theta - theta.mean(), variance, degrees


def _dependence(battles: Battles, other: Battles) -> str | None:
    """Return why two sets of votes hold the same battles; None where nothing shows it."""
    return "both sets hold the same votes" if _same_rows(battles, other) else _in_both(battles, other, ID, "battles")


def _in_both(battles: Battles, other: Battles, column: str, words: str = "") -> str | None:
    """Return how many values of a column are in both sets, in words; None where none is, or a set lacks the column."""
    both = shared_values([battles.rows, other.rows], column)
    return f"{both:,} {words or f'values of {column}'} are in both" if both else None


def shared_values(frames: Sequence[pl.LazyFrame], column: str) -> int:
    """Return how many values of a column are in more than one table; 0 where a table lacks the column."""
    if not all(column in frame.collect_schema() for frame in frames):
        return 0
    values = [frame.select(pl.col(column).cast(pl.String)).drop_nulls().unique() for frame in frames]
    several = pl.concat(values).group_by(column).len().filter(pl.col("len") > 1)
    return int(several.select(pl.len()).collect().item())


def independence_warnings(battles: Battles, frames: Sequence[pl.LazyFrame]) -> Iterator[str]:
    """Yield a sentence for raters, and one for prompts, that have votes in several tables and are not clustered by."""
    clusters = cluster_columns(battles.cluster_by)
    for column in ("rater_id", "prompt_id"):
        count = 0 if column in clusters or len(clusters) == 2 else shared_values(frames, column)
        if count:
            have = "has" if count == 1 else "have"
            yield (
                f"{counted(count, 'value')} of {column} {have} votes on both sides of a difference, which count as "
                f"independent: --cluster {column}{', too,' if clusters else ''} counts each as one cluster"
            )


def _same_rows(battles: Battles, other: Battles) -> bool:
    """Return whether two sets hold the same votes in any order, by the columns that are in both."""
    if battles.count != other.count:
        return False
    frames = [one.rows.drop("__row") for one in (battles, other)]
    first, second = (frame.collect_schema() for frame in frames)
    shared = [name for name in first if name in second and not (first[name].is_nested() or second[name].is_nested())]
    text = pl.concat_str(pl.col(shared).cast(pl.String).fill_null("\0"), separator="\0")
    hashes = [frame.select(text.hash().sort()).collect() for frame in frames]
    return hashes[0].equals(hashes[1])


def _independence(battles: Battles, other: Battles) -> str:
    """Return why two sets of votes count as independent."""
    known = all(ID in one.frame.collect_schema() for one in (battles, other))
    return "as no vote is in both" if known else f"taken as independent without {ID} to tell votes apart"
