"""Ratings of what people prefer, out of many battles that a judge decided and a few that people answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.correction.balance import imbalances
from salon_ranking.correction.estimate import (
    CorrectedStrengths,
    best_factors,
    estimate,
    mixed,
    possible_estimate,
    resampled,
    without_people,
)
from salon_ranking.correction.pairing import Floats, Paired, paired
from salon_ranking.correction.parameters import NO_PARAMETERS, parameter_table
from salon_ranking.errors import CovariateError, OptionError, UnratableError
from salon_ranking.leaderboard.board import TIE_MODELS
from salon_ranking.leaderboard.differences import difference_table
from salon_ranking.leaderboard.ranking import NORMAL_DRAWS
from salon_ranking.models.covariate_likelihood import AlikeBattles, check_determined
from salon_ranking.models.covariates import Covariate
from salon_ranking.models.likelihood import check_size
from salon_ranking.models.options import FitOptions, Ties
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.options import Confidence, Options, Range, Replicates, Seed, with_options
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_ranking.uncertainty.simultaneous import rank_intervals
from salon_ranking.uncertainty.student import two_sided_quantiles
from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty, Freedom

FEWEST_VOTES = 20
"""Fewer votes of people correct nothing."""
_BASELINE = 1000.0


def three_marks(table: pl.DataFrame, value: str) -> list[PlotRow]:
    """Return the rows of a chart: of each model the corrected value, people's alone and the judge's alone."""
    series = (
        ("corrected", value, "ci_low", "ci_high"),
        ("people alone", "people", "people_low", "people_high"),
        ("judge alone", "judge", "judge_low", "judge_high"),
    )
    return [
        PlotRow(row["model"], row[middle], row[low], row[high], name)
        for row in table.iter_rows(named=True)
        for name, middle, low, high in series
    ]


@dataclass(frozen=True, eq=False)
class CorrectedRatings(ShownResult):
    """Ratings by people, by the judge, and by the judge corrected by people.

    Attributes:
        table: one row per model, best corrected rating first: ``rank``, ``model``, ``rating``, ``ci_low``, ``ci_high`` and
            ``degrees`` (of freedom of Student's t) of the corrected estimate; ``people``, ``people_low``, ``people_high`` of
            people's votes alone and ``judge``, ``judge_low``, ``judge_high`` of the judge alone; ``votes`` and ``verdicts``, of
            the model. Elo points; the baseline is 1,000 in all three. With ``ranks`` also ``rank_low`` and ``rank_high``, which
            hold all true ranks at once. Null where it is not known.
        differences: with ``ranks``: of any two models, as of :class:`~salon_ranking.Differences`; else empty.
        parameters: the tie parameter ν or the coefficients of covariates: the columns of ``Leaderboard.parameters`` without
            ``component``, and the estimates by ``people`` and by the ``judge`` alone; no rows without either.
        groups: with ``by``: the rows of ``table`` for each of its values, in a first column ``group``.
        factor: λ, how far the judge is used: 0, people alone; 1, a judge like people. Of several judges the sum.
        factors: λ of each judge by name.
        counts_for: how many votes one vote counts for: the variance by people alone over the corrected one.
        header: how it was made.
        warnings: what to know before it is believed.
    """

    table: pl.DataFrame
    differences: pl.DataFrame
    parameters: pl.DataFrame
    groups: pl.DataFrame
    factor: float
    factors: Mapping[str, float]
    counts_for: float | None
    header: str
    warnings: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the header, the table, and three marks per model as a chart."""
        chart = ForestPlot("Elo", three_marks(self.table, "rating"), _BASELINE)
        return ResultView(self.header, self.cells(self.table), chart, tuple(f"Warning: {text}" for text in self.warnings))

    def cells(self, table: pl.DataFrame) -> Table:
        """Return rows of ``table`` as people read them."""
        with_ranks = "rank_low" in table.columns
        names = ("model", "Elo", "95% CI", "people alone", "95% CI of people", "judge alone", "votes", "verdicts")
        columns = (*({"group"} & {*table.columns}), "rank", *(["ranks"] if with_ranks else []), *names)
        rows = [
            [
                *([row["group"]] if "group" in row else []),
                *_with_ranks(row, with_ranks),
                numbers.rating(row["people"]),
                numbers.interval(row["people_low"], row["people_high"]),
                numbers.rating(row["judge"]),
                numbers.count(row["votes"]),
                numbers.count(row["verdicts"]),
            ]
            for row in table.iter_rows(named=True)
        ]
        return Table(columns, rows, frozenset({"rank", "Elo", "people alone", "judge alone", "votes", "verdicts"}))


def _with_ranks(row: Mapping[str, Any], with_ranks: bool) -> tuple[str, ...]:
    rank, *others = numbers.rating_cells(row)
    return rank, *([numbers.interval(row["rank_low"], row["rank_high"])] if with_ranks else []), *others


@dataclass(frozen=True, kw_only=True)
class CorrectionOptions(Options):
    """How a judge is corrected.

    Attributes:
        baseline: the model whose rating is 1,000; None: the one with most verdicts.
        probability: the column of the votes, or of the verdicts, with the chance that the battle was shown to people, above 0
            and at most 1; None: all battles had the same.
        factor: λ, from 0 to 1, of several judges of their plain mean; None: the best one.
        by: a column of the verdicts, such as category: also a board for each of its values.
        ranks: also intervals of the ranks, and the differences of any two models; by the sandwich alone.
        replicates: of a bootstrap of battles, or of clusters that the verdicts have; 0: intervals by the sandwich.
        seed: of its draws.
        confidence: of the intervals.
        ties: half a win for each model, or ``"davidson"`` or ``"rao-kupper"``, with a parameter for ties.
        covariates: columns of votes and verdicts, as of :class:`~salon_ranking.FitOptions`: ratings are at equal values.
            Votes have their own (``side_a_shown`` to the person), verdicts theirs. Numbers count in standard deviations of the
            verdicts.
    """

    baseline: str | None = None
    probability: str | None = None
    factor: Annotated[float, Range(0, 1)] | None = None
    by: str | None = None
    ranks: bool = False
    replicates: Replicates = 0
    seed: Seed = 0
    confidence: Confidence = 0.95
    ties: Ties = "half"
    covariates: Sequence[str | Covariate] = ()

    @cached_property
    def model(self) -> FitOptions:
        """The model by which votes and verdicts are rated."""
        return FitOptions(ties=self.ties, covariates=self.covariates)

    def check(self) -> None:
        """Check the model.

        Raises:
            OptionError: tie models and covariates are combined.
            CovariateError: text that is neither one column nor a pair.
        """
        super().check()
        self.model.check()


@with_options(CorrectionOptions)
def correct_ratings(people: Battles, judged: Battles, options: CorrectionOptions) -> CorrectedRatings:
    """Rate models as people do, from a judge's verdicts on all battles and people's votes on a part of them.

    With H the mean loss of people's votes, J_N the judge's over all N verdicts and J_n over the n voted ones, the ratings
    minimise H + λ (J_N - J_n) of the Bradley-Terry loss, a tie half a win; or of a tie model, or with covariates, over
    strengths and these parameters together. λ is the covariance of people's and the judge's scores over the judge's
    variance (their traces in the metric of the ratings alone), between 0 and 1; so a judge that answers as people do gives
    people on all battles, and one that answers at random gives people alone. The covariance is a sandwich of both parts'
    influences, added within a cluster before they are squared, with CR2 and Satterthwaite's degrees of freedom as for other
    boards (``docs/correction.md``).

    The voted battles must be a random part of the judged ones, or ``probability`` says with which chance each was shown.

    Args:
        people: votes. Several about one battle are several votes. Their columns of clusters (``cluster_by``) may be one that
            the verdicts have too (``prompt_id``), one that they have not (``rater_id``), or one of each; without any, what is
            about one battle hangs together.
        judged: one verdict per battle, or per battle and judge (``rater_id``): then each judge has a λ of its own, which add up
            to 1 at most, and battles count that all judges decided. Votes are matched by ``battle_id`` where ids are shared,
            else by the two generations, else by ``prompt_id`` and pair; whichever side each model stood on.
        options: as keywords, the fields of :class:`CorrectionOptions`.

    Raises:
        OptionError: fewer than 20 votes, a model without a vote, votes about no judged battle, an unknown baseline or column, a
            bootstrap of raters.
        CovariateError: a covariate is missing, incomplete or of no use in one of both, or the votes do not tell it apart.
        UnratableError: no finite ratings minimise it: some model won or lost everything, or the judge's bias is larger than so
            few votes can correct.

    Example:
        >>> pairs = [(f"p{n}", *pair) for n in range(40) for pair in (("x", "y"), ("y", "z"), ("x", "z"))]
        >>> frame = pl.DataFrame(pairs, ["prompt_id", "model_a", "model_b"], orient="row").with_row_index("n")
        >>> winner = pl.when(pl.col("n") % 3 == 0).then(pl.lit("model_b")).otherwise(pl.lit("model_a"))
        >>> judged = frame.with_columns(winner=winner)
        >>> votes = judged[::2].with_columns(winner=pl.when(pl.col("n") % 5 == 0).then(pl.lit("model_b")).otherwise("winner"))
        >>> board = correct_ratings(Battles.from_frame(votes), Battles.from_frame(judged))
        >>> board.table["model"].to_list(), board.table["votes"].to_list(), 0 < board.factor < 1
        (['y', 'x', 'z'], [40, 40, 40], True)
    """
    both = paired(people, judged, options.probability, options.by, options.model)
    if options.replicates and len(both.groups) > 1:
        problem = "the bootstrap draws battles, or clusters that the verdicts have; without replicates the sandwich takes"
        raise OptionError(problem, source=people.source, value=" and ".join(cluster_columns(people.cluster_by)))
    if options.replicates and options.ranks:
        raise OptionError("ranks are made by the sandwich alone; leave out", value="replicates")
    board = _corrected(both, options)
    parts = [
        f"{numbers.counted(len(both.people), 'vote')} of people ({people.source})",
        f"{numbers.counted(both.verdicts.size, 'verdict')} of {_who(both)} ({judged.source}), matched by {both.matched_by}",
        *([_left_out(*both.left_out)] if both.left_out[0] else []),
        f"{numbers.counted(len(both.models), 'model')}, {_model(options, board.parameters)}, {board.baseline} fixed at 1000",
        _use(board.factors),
        *([] if board.counts_for is None else [f"one vote counts for {board.counts_for:.2f}"]),
        *([] if options.probability is None else [f"votes weigh the inverse of {options.probability}"]),
        f"{100 * options.confidence:.4g}% CI: {_method(options)} of both parts, clustered by "
        f"{' and '.join(cluster_columns(people.cluster_by)) or 'battle'}",
    ]
    groups, missing = _boards_by(both, options, board.baseline)
    warnings = (*_warnings(both, board.alone, options.probability is not None), *missing)
    of_judges = {name: float(value) for name, value in board.factors.items()}
    return CorrectedRatings(
        board.table,
        board.differences,
        board.parameters,
        groups,
        min(sum(of_judges.values()), 1.0),
        of_judges,
        board.counts_for,
        "; ".join(parts) + ".",
        warnings,
    )


@dataclass(frozen=True, eq=False)
class _Board:
    """A corrected board before it is put into words."""

    table: pl.DataFrame
    differences: pl.DataFrame
    parameters: pl.DataFrame
    factors: Mapping[str, float]
    counts_for: float | None
    baseline: str
    alone: dict[str, CorrectedStrengths | None]


def _corrected(both: Paired, options: CorrectionOptions) -> _Board:
    _refuse(both, options.baseline)
    check_size(len(both.models), "a corrected board")
    fixed = int(_appearances(both)[1].argmax()) if options.baseline is None else both.models.index(options.baseline)
    count = len(both.judges)
    factors = best_factors(both) if options.factor is None else np.full(count, options.factor / count)
    both, chosen = mixed(both, factors), min(float(factors.sum()), 1.0)
    corrected = estimate(both, chosen)
    judge = without_people(both)
    alone = {
        "people": corrected if chosen == 0.0 else possible_estimate(both, 0.0),
        "judge": possible_estimate(judge, 1.0),
    }
    parts_of = {"corrected": (both, chosen), "people": (both, 0.0), "judge": (judge, 1.0)}
    columns: dict[str, Floats] = {}
    models, of_parameters = len(both.models), None
    for kind, one in (("corrected", corrected), *alone.items()):
        draws = resampled(*parts_of[kind], options.replicates, options.seed) if options.replicates and one else None
        if draws is not None:
            draws, of_parameters = draws[:, :models], draws[:, models:] if kind == "corrected" else of_parameters
        columns |= _columns(kind, one, models, fixed, options.confidence, draws)
    parameters = NO_PARAMETERS
    if both.further:
        parameters = parameter_table(both.further, corrected, alone, options.confidence, of_parameters)
    leagues = [_uncertainty(corrected, fixed)] if options.ranks else []
    ranks = rank_intervals(leagues, options.confidence, NORMAL_DRAWS, options.seed)
    voted, met = _appearances(both)
    counts = {"votes": voted.astype(np.int64), "verdicts": met.astype(np.int64)}
    of_ranks = dict(zip(("rank_low", "rank_high"), ranks[0], strict=True)) if ranks else {}
    frame = pl.DataFrame({"model": both.models, **columns, **of_ranks, **counts})
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    rank = pl.col("rating").round(9).rank("min", descending=True).cast(pl.Int64)
    table = frame.with_columns(rank=rank).sort("rating", "model", descending=[True, False])
    counts_for = None
    if alone["people"] is not None:
        others = np.arange(len(both.models)) != fixed
        of_people, of_both = alone["people"].beside(fixed)[others], corrected.beside(fixed)[others]
        counts_for = float((of_people / of_both).mean()) if (of_both > 0.0).all() and (of_people > 0.0).all() else None
    order = ["rank", *of_ranks, "model", "rating", "ci_low", "ci_high", "degrees"]
    order += [f"{kind}{end}" for kind in ("people", "judge") for end in ("", "_low", "_high")]
    return _Board(
        table.select(*order, "votes", "verdicts"),
        difference_table(both.models, leagues, options.confidence),
        parameters,
        dict(zip(both.judges, factors.tolist(), strict=True)),
        counts_for,
        both.models[fixed],
        alone,
    )


def _uncertainty(one: CorrectedStrengths, fixed: int) -> AnalyticUncertainty:
    members = np.arange(len(one.theta))
    gap, freedom = one.theta - one.theta[fixed], Freedom(one.sandwich, members)
    covariance = one.sandwich.covariance[: len(members), : len(members)]
    return AnalyticUncertainty(members, fixed, gap, covariance=covariance, freedom=freedom)


def _boards_by(both: Paired, options: CorrectionOptions, baseline: str) -> tuple[pl.DataFrame, list[str]]:
    """Return the boards of all parts as one table, and a sentence for each part without one."""
    tables, missing = [], []
    for part in sorted({*both.parts}):
        battles = both.of_part(part)
        try:
            board = _corrected(battles, replace(options, baseline=baseline if baseline in battles.models else None))
        except (OptionError, CovariateError, UnratableError) as error:
            missing.append(f"{options.by} {part} has no board: {str(error).splitlines()[0]}")
            continue
        tables.append(board.table.select(pl.lit(part).alias("group"), pl.all()))
    return pl.concat(tables) if tables else pl.DataFrame(), missing


def _left_out(battles: int, votes: int) -> str:
    return f"{numbers.counted(battles, 'battle')} with {numbers.counted(votes, 'vote')} left out that not all judges decided"


def _who(both: Paired) -> str:
    return "a judge" if len(both.judges) == 1 else f"{len(both.judges)} judges"


def _model(options: CorrectionOptions, parameters: pl.DataFrame) -> str:
    if options.ties != "half":
        term, estimate = parameters.select("term", "estimate").row(0)
        return f"{TIE_MODELS[options.ties]}, {term} = {estimate:.4g}"
    names = ", ".join(covariate.name for covariate in options.model.parsed_covariates)
    scaled = " (numbers per standard deviation)" if (parameters["scale"] != 1.0).any() else ""
    return "Bradley-Terry, ties half a win" + (f", controlled for {names}{scaled}" if names else "")


def _use(factors: Mapping[str, float]) -> str:
    if len(factors) == 1:
        return f"the judge is used by λ = {sum(factors.values()):.2f}"
    return "the judges are used by λ = " + " + ".join(f"{value:.2f} ({name})" for name, value in factors.items())


def _method(options: CorrectionOptions) -> str:
    return f"bootstrap ({options.replicates:,} replicates, seed {options.seed})" if options.replicates else "sandwich"


def _refuse(both: Paired, baseline: str | None) -> None:
    votes, models = len(both.people), both.models
    if votes < FEWEST_VOTES:
        raise OptionError(f"{FEWEST_VOTES} votes or more are needed to correct a judge, not", value=votes)
    if baseline is not None and baseline not in models:
        raise OptionError("the baseline is no model of the verdicts:", value=baseline, allowed=list(models))
    unseen = [model for model, count in zip(models, _appearances(both)[0], strict=True) if not count]
    if unseen:
        raise OptionError("people voted on no battle of", value=", ".join(unseen[:5]))
    if both.further and both.further.terms:
        one = np.ones(votes)
        sides = both.first[both.battle], both.second[both.battle]
        rows = AlikeBattles(*sides, both.people, one, both.weight, both.further.votes)
        check_determined(len(models), rows, both.further.terms, "the votes of people")


def _appearances(both: Paired) -> tuple[Floats, Floats]:
    """Return how many votes and how many verdicts each model has."""
    size = len(both.models)
    sides = (both.first, both.second)
    voted = sum(np.bincount(side[both.battle], minlength=size) for side in sides)
    met = sum(np.bincount(side, minlength=size) for side in sides)
    return np.asarray(voted, dtype=np.float64), np.asarray(met, dtype=np.float64)


def _columns(
    kind: str, estimate: CorrectedStrengths | None, models: int, fixed: int, confidence: float, draws: Floats | None
) -> dict[str, Floats]:
    """Return rating and ends of one estimate, in Elo points; NaN where it is not known.

    Args:
        draws: replicates of the log-strengths, whose percentiles are the ends; None: the sandwich.
    """
    names = ("rating", "ci_low", "ci_high", "degrees") if kind == "corrected" else (kind, f"{kind}_low", f"{kind}_high")
    if estimate is None:
        return {name: np.full(models, np.nan) for name in names}
    gap = estimate.theta - estimate.theta[fixed]
    if draws is not None:
        clusters = estimate.sandwich.columns[0].clusters
        ends = expanded_interval(draws - draws[:, [fixed]], gap, clusters, confidence)
        low, high = (np.where(np.arange(models) == fixed, 0.0, end) for end in ends)
        degrees = np.full(models, np.nan)
    else:
        contrasts = np.eye(models, len(estimate.sandwich.bread))
        contrasts[:, fixed] -= 1.0
        degrees = np.where(np.arange(models) == fixed, np.inf, estimate.sandwich.degrees(contrasts))
        variance = estimate.beside(fixed)
        error = np.sqrt(np.where(variance >= 0.0, variance, np.nan))
        reach = two_sided_quantiles(1.0 - confidence, degrees) * error
        low, high = gap - reach, gap + reach
    values = [_BASELINE + POINTS_PER_UNIT * part for part in (gap, low, high)]
    finite_degrees = np.where(np.isfinite(degrees), degrees, np.nan)
    return dict(zip(names, (*values, finite_degrees), strict=False))


def _warnings(both: Paired, alone: dict[str, CorrectedStrengths | None], chances_given: bool) -> list[str]:
    missing = [names for kind, names in (("people", "votes"), ("judge", "verdicts")) if alone[kind] is None]
    warnings = [f"{names} alone give no finite ratings: a model won or lost all of them" for names in missing]
    if not chances_given:
        differs = "the votes are not of a random part of the judged battles, which the correction takes for granted:"
        warnings += [f"{differs} {text}" for text in imbalances(both)]
    return warnings
