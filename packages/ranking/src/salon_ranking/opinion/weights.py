"""Estimate how far a better mark in one dimension raises the chance to win a battle (MEF, section 6.4).

A logistic regression of single votes on standardized differences of marks; see ``design.py`` for the columns. Its result
is reported as in the paper (Tables 9 and 10): of two pictures that are equal in every dimension, let one stand one standard
deviation higher in dimension d. Its win rate rises above 50% by

    rise_d = mean over battles of Λ(β_d + Σ_j γ_dj·x_j + δ_d·x_d) - ½,       Λ(t) = 1 / (1 + e^-t)

with the levels x at which the battles were fought: an average over them, without interactions Λ(β_d) - ½. Intervals
are by the delta method on the logit of ½ + rise_d, with the levels taken as given, so they stay within ±50%.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console import numbers
from salon_console.forest_plot import ForestPlot
from salon_console.numbers import plot_rows
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import weight_of
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import reading
from salon_ranking.leaderboard.board import NOT_GIVEN
from salon_ranking.opinion.design import Level, Marks, Terms, standardized_marks
from salon_ranking.opinion.errors import WeightsError
from salon_ranking.opinion.logistic import Integers, LogisticFit, degrees_of, fit_logistic, win_probability
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.options import Confidence, takes_battles
from salon_ranking.table_checks import named
from salon_ranking.uncertainty.student import two_sided_quantiles

Floats = NDArray[np.float64]
Ties: TypeAlias = Literal["half", "drop"]
"""A tie is half a win for each side, or left out (and counted)."""

RISES = {
    "persona": pl.String,
    "scenario": pl.String,
    "dimension": pl.String,
    "rise": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "battles": pl.Int64,
    "ties": pl.Int64,
    "prompts": pl.Int64,
}
COEFFICIENTS = {
    "persona": pl.String,
    "scenario": pl.String,
    "term": pl.String,
    "estimate": pl.Float64,
    "standard_error": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "degrees": pl.Float64,
}
_UNFITTED = {"persona": pl.String, "scenario": pl.String, "battles": pl.Int64, "reason": pl.String}


@dataclass(frozen=True, eq=False)
class Weights(ShownResult):
    """Weights of the dimensions and how they were made. In all tables a null persona or scenario means all of them.

    Attributes:
        table: ``persona``, ``scenario``, ``dimension``, ``rise`` (share of battles above ½: 0.377 is +37.7%), ``ci_low``,
            ``ci_high``, ``battles`` (used), ``ties`` (among them), ``prompts``.
        coefficients: ``persona``, ``scenario``, ``term``, ``estimate`` (logits per standard deviation), ``standard_error``,
            ``ci_low``, ``ci_high``, ``degrees`` (of freedom of Student's t; null: the normal distribution).
        standards: ``dimension``, ``mean``, ``deviation``: what one standard deviation is, in marks.
        unfitted: groups without weights: ``persona``, ``scenario``, ``battles``, ``reason``.
        battles: battles in the input, those of weight 0 left out.
        weight: the column with each battle's weight; None: every battle weighs 1.
        unrated: battles left out because a picture has no mark in some dimension.
        dropped_ties: ties left out; 0 with ``ties="half"``.
    """

    table: pl.DataFrame
    coefficients: pl.DataFrame
    standards: pl.DataFrame
    unfitted: pl.DataFrame
    source: str
    ratings_source: str
    battles: int
    unrated: int
    dropped_ties: int
    persona: str | None
    interactions: bool
    ties: Ties
    cluster: str | None
    weight: str | None
    level: Level
    confidence: float

    def view(self) -> ResultView:
        """Return one row per persona, scenario and dimension, the rises as a chart, and the groups without weights as notes."""
        heads = ("persona", "scenario", "dimension", "rise", f"{100 * self.confidence:.4g}% CI", "battles", "ties")
        rows = [
            (
                row["persona"] or "all",
                row["scenario"] or "all",
                row["dimension"],
                f"{100 * row['rise']:+.1f}%",
                numbers.MISSING if row["ci_low"] is None else f"{100 * row['ci_low']:+.1f} – {100 * row['ci_high']:+.1f}",
                f"{row['battles']:,}",
                f"{row['ties']:,}",
            )
            for row in self.table.iter_rows(named=True)
        ]
        notes = tuple(
            f"No weights for {persona or 'all'}, {scenario or 'all'} ({battles:,} battles): {reason}"
            for persona, scenario, battles, reason in self.unfitted.iter_rows()
        )
        chart = ForestPlot("Rise of the win rate", plot_rows(self.table, "rise"), 0.0)
        return ResultView(self.header, Table(heads, rows, frozenset(heads[3:])), chart, notes)

    @property
    def header(self) -> str:
        """A few sentences on how the table was made, with everything that was left out counted."""
        used = self.battles - self.unrated - self.dropped_ties
        parts = [f"{self.source} with {self.ratings_source}: {used:,} of {self.battles:,} battles used"]
        parts.append(f"{self.unrated:,} without ratings of both pictures in every dimension")
        parts.append("ties half a win" if self.ties == "half" else f"{self.dropped_ties:,} ties left out")
        if self.weight is not None:
            parts.append(f"weighted by {self.weight}")
        kinds = " with interactions x·x and x·Δx" if self.interactions else " without interactions"
        parts.append(f"logistic regression on standardized differences of marks per {self._unit}{kinds}")
        errors = "robust" if self.cluster is None else f"robust, clustered by {self.cluster}"
        parts.append(f"{100 * self.confidence:.4g}% interval: delta method, standard errors {errors}")
        if self.unfitted.height:
            parts.append(f"{self.unfitted.height:,} groups have no weights")
        return "; ".join(parts) + "."

    @property
    def _unit(self) -> str:
        return "prompt and model" if self.level == "prompt" else "generation"


@takes_battles
def dimension_weights(
    battles: Battles,
    ratings: MosRatings,
    *,
    persona: str | None = None,
    by_scenario: bool = False,
    interactions: bool = True,
    ties: Ties = "half",
    cluster: str | None = None,
    level: Level = "prompt",
    confidence: Confidence = 0.95,
) -> Weights:
    """Fit the regression to all battles, and to those of every persona, scenario, and persona in a scenario.

    Battles need ``prompt_id`` (with ``level="generation"``: ``generation_a`` and ``generation_b``). A group that cannot be
    fitted is listed in ``unfitted`` with the reason; when all battles together cannot be, that is an error.

    Args:
        persona: the column of the battles that says who voted, such as ``mode``; one that is null or blank is ``(not given)``.
        by_scenario: fit scenarios too: the column ``scenario`` of the battles, else that of the ratings.
        cluster: a column of the battles; votes on one prompt (or by one rater) may depend on each other.

    Raises:
        BattleError: a column is missing.
        TooFewBattlesError, CollinearityError, SeparationError: see :func:`fit_logistic` and :func:`standardized_marks`.
        OptionError: ``confidence``, ``ties`` or ``level`` is not allowed, or ``by_scenario`` without scenarios.
    """
    if ties not in ("half", "drop"):
        raise OptionError("unknown way with ties", value=ties, allowed=("half", "drop"))
    if level not in ("prompt", "generation"):
        raise OptionError("unknown level", value=level, allowed=("prompt", "generation"))
    marks = standardized_marks(ratings, level)
    votes = _votes(battles, ratings, marks, persona, by_scenario, cluster, level)
    rated = votes.drop_nulls(["a", "b"])
    used = rated if ties == "half" else rated.filter(pl.col("y") != 0.5)
    terms = Terms(marks.dimensions, interactions)
    rises, coefficients, unfitted = [pl.DataFrame(schema=RISES)], [pl.DataFrame(schema=COEFFICIENTS)], []
    for group in _groups(used, persona is not None, by_scenario):
        try:
            fitted = _fit(group.votes, marks, terms, confidence)
        except WeightsError as error:
            if group.is_all:
                raise type(error)(error.problem, source=battles.source, value=error.value, hint=error.hint) from error
            unfitted.append((group.persona, group.scenario, group.votes.height, str(error).splitlines()[0]))
            continue
        named = [pl.lit(group.persona, pl.String).alias("persona"), pl.lit(group.scenario, pl.String).alias("scenario")]
        rises.append(fitted.rises.select(*named, pl.all()).select(list(RISES)))
        coefficients.append(fitted.coefficients.select(*named, pl.all()))
    return Weights(
        table=pl.concat(rises),
        coefficients=pl.concat(coefficients),
        standards=pl.DataFrame({"dimension": marks.dimensions, "mean": marks.mean, "deviation": marks.deviation}),
        unfitted=pl.DataFrame(unfitted, schema=_UNFITTED, orient="row"),
        source=battles.source,
        ratings_source=ratings.source,
        battles=votes.height,
        unrated=votes.height - rated.height,
        dropped_ties=rated.height - used.height,
        persona=persona,
        interactions=interactions,
        ties=ties,
        cluster=cluster,
        weight=battles.weight,
        level=level,
        confidence=confidence,
    )


def _votes(
    battles: Battles,
    ratings: MosRatings,
    marks: Marks,
    persona: str | None,
    by_scenario: bool,
    cluster: str | None,
    level: Level,
) -> pl.DataFrame:
    """Return one row per battle: row numbers ``a``, ``b`` of its pictures' marks (null: none) and outcome ``y``."""
    schema = battles.frame.collect_schema()
    needed = ["prompt_id"] if level == "prompt" else ["generation_a", "generation_b"]
    if by_scenario and "scenario" not in schema and ratings.has_scenarios and "prompt_id" not in needed:
        needed.append("prompt_id")  # by which the ratings tell the scenario
    for column in (*needed, persona, cluster):
        if column is not None and column not in schema:
            raise BattleError("missing column", source=battles.source, value=column, found=schema.names())
        if column is not None and schema[column].is_nested():
            raise BattleError("must hold text, not", source=battles.source, column=column, value=str(schema[column]))
    if by_scenario and "scenario" not in schema and not ratings.has_scenarios:
        raise OptionError("no scenarios are known", source=battles.source, hint="Give battles or ratings a column 'scenario'.")
    text = {name: pl.col(name).cast(pl.String) for name in ("prompt_id", "model_a", "model_b", *needed) if name in schema}
    winner = pl.col("winner").cast(pl.String)
    columns = {
        **text,
        "y": pl.when(winner == "model_a").then(1.0).when(winner == "model_b").then(0.0).otherwise(0.5),
        "persona": pl.lit(None, pl.String) if persona is None else _or_not_given(persona),
        "weight": weight_of(battles.weight),
        "cluster": pl.lit(None, pl.String) if cluster is None else pl.col(cluster).cast(pl.String).fill_null(NOT_GIVEN),
    }
    if by_scenario and "scenario" in schema:
        columns["scenario"] = _or_not_given("scenario")
    with reading(battles.source):
        votes = battles.rows.select(**columns).collect()
    if by_scenario and "scenario" not in votes.columns:
        known = ratings.frame.select("prompt_id", "scenario").unique("prompt_id")
        votes = votes.join(known, on="prompt_id", how="left", maintain_order="left")
        votes = votes.with_columns(pl.col("scenario").fill_null(NOT_GIVEN))
    for side in ("a", "b"):
        here = ["prompt_id", f"model_{side}"] if level == "prompt" else [f"generation_{side}"]
        there = ["prompt_id", "model"] if level == "prompt" else ["generation_id"]
        pictures = marks.keys.rename({"picture": side})
        votes = votes.join(pictures, left_on=here, right_on=there, how="left", maintain_order="left")
    missing = [pl.lit(None, pl.String).alias(name) for name in ("prompt_id", "scenario") if name not in votes.columns]
    names = ("prompt_id", "persona", "scenario", "cluster")
    return votes.with_columns(missing).select("a", "b", "y", "weight", *names)


def _or_not_given(column: str) -> pl.Expr:
    """Return a column of names; a missing or blank one is ``(not given)``, as in ratings."""
    return named(pl.col(column).cast(pl.String).str.strip_chars()).fill_null(NOT_GIVEN)


@dataclass(frozen=True)
class _Group:
    """Votes that are fitted together."""

    persona: str | None
    scenario: str | None
    votes: pl.DataFrame

    @property
    def is_all(self) -> bool:
        return self.persona is None and self.scenario is None


def _groups(votes: pl.DataFrame, personas: bool, scenarios: bool) -> Iterator[_Group]:
    yield _Group(None, None, votes)
    if personas:
        for (name,), rows in votes.sort("persona", maintain_order=True).group_by("persona", maintain_order=True):
            yield _Group(str(name), None, rows)
    if scenarios:
        for (name,), rows in votes.sort("scenario", maintain_order=True).group_by("scenario", maintain_order=True):
            yield _Group(None, str(name), rows)
    if personas and scenarios:
        both = ["persona", "scenario"]
        for (who, what), rows in votes.sort(both, maintain_order=True).group_by(both, maintain_order=True):
            yield _Group(str(who), str(what), rows)


@dataclass(frozen=True)
class _Fitted:
    """The two tables of one group."""

    rises: pl.DataFrame
    coefficients: pl.DataFrame


def _fit(votes: pl.DataFrame, marks: Marks, terms: Terms, confidence: float) -> _Fitted:
    side_a, side_b = marks.z[votes["a"].to_numpy()], marks.z[votes["b"].to_numpy()]
    level, y, weight = (side_a + side_b) / 2.0, votes["y"].to_numpy(), votes["weight"].to_numpy()
    clusters: Integers | None = None
    if votes["cluster"].null_count() < votes.height:
        clusters = votes["cluster"].rank("dense").to_numpy().astype(np.int64)
    logistic = fit_logistic(terms.columns(level, side_a - side_b), y, terms.names, clusters, weight)
    degrees = degrees_of(logistic, np.eye(len(terms.names)))
    reach = two_sided_quantiles(1.0 - confidence, degrees)
    error = np.sqrt(np.diag(logistic.covariance))
    coefficients = pl.DataFrame(
        {
            "term": terms.names,
            "estimate": logistic.estimate,
            "standard_error": error,
            "ci_low": logistic.estimate - reach * error,
            "ci_high": logistic.estimate + reach * error,
            "degrees": np.where(np.isinf(degrees), np.nan, degrees),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    rise, low, high = rises(logistic, terms, level, weight, confidence)
    table = pl.DataFrame({"dimension": terms.dimensions, "rise": rise, "ci_low": low, "ci_high": high}).with_columns(
        pl.col("ci_low", "ci_high").fill_nan(None)
    )
    counts = {"battles": votes.height, "ties": int((y == 0.5).sum()), "prompts": votes["prompt_id"].drop_nulls().n_unique()}
    return _Fitted(table.with_columns(pl.lit(value, pl.Int64).alias(name) for name, value in counts.items()), coefficients)


def rises(fit: LogisticFit, terms: Terms, level: Floats, weight: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return win-rate rises above ½ at the given levels, shape (battles, dimensions), and the ends of their intervals.

    Args:
        weight: of each battle's levels in the average, shape (battles,).
        confidence: of the intervals; NaN where they cannot be known.
    """
    share = weight / weight.sum()
    count = len(terms.dimensions)
    mean, gradients = np.empty(count), np.empty((count, len(fit.estimate)))
    for dimension in range(count):
        change = np.zeros_like(level)
        change[:, dimension] = 1.0
        columns = terms.columns(level, change)
        p = win_probability(columns @ fit.estimate)
        mean[dimension] = share @ p
        gradients[dimension] = columns.T @ (share * p * (1.0 - p))
    reach = two_sided_quantiles(1.0 - confidence, degrees_of(fit, gradients))
    error = np.sqrt(np.einsum("ci,ij,cj->c", gradients, fit.covariance, gradients)) / (mean * (1.0 - mean))
    logit = np.log(mean / (1.0 - mean))
    return mean - 0.5, win_probability(logit - reach * error) - 0.5, win_probability(logit + reach * error) - 0.5
