"""The likelihood of Bradley-Terry with covariates: the design of all battles, and its part in each league."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from salon_ranking import _core
from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.battles.encoding import weight_of
from salon_ranking.errors import CovariateCollinearityError, CovariateError, CovariateSeparationError
from salon_ranking.files import reading
from salon_ranking.models.covariates import Covariate, Term, terms_of
from salon_ranking.models.league import League
from salon_ranking.models.likelihood import Codes, DrawPlan, Floats, Groups, LeagueFit, Replicates, RowScores
from salon_ranking.models.options import FitOptions
from salon_taxonomy.enums import Winner

SCORES = {Winner.MODEL_A: 1.0, Winner.MODEL_B: 0.0, Winner.BOTH_GOOD: 0.5, Winner.BOTH_BAD: 0.5, Winner.TIE: 0.5}
"""What the first model gets from each winner."""
_UNEXPLAINED = 1e-9
_CERTAIN = 20.0
"""Log-odds of a battle from which a fit that does not converge counts as separated."""


class AlikeBattles(NamedTuple):
    """Rows of alike battles: models, score of the first, battles and the weight of each, covariates (rows, k)."""

    first: Codes
    second: Codes
    score: Floats
    battles: Floats
    weight: Floats
    x: Floats


@dataclass(frozen=True, eq=False)
class Design:
    """The battles as rows, with their terms.

    Attributes:
        clusters: the codes of each row in each column to cluster by.
    """

    terms: tuple[Term, ...]
    rows: AlikeBattles
    clusters: Groups
    source: str

    def likelihood(self, league: League, options: FitOptions) -> "CovariateLikelihood":
        """Return the likelihood of one league: the rows between its models."""
        index_of = np.full(int(max(self.rows.first.max(), self.rows.second.max())) + 1, -1, dtype=np.int64)
        index_of[league.members] = np.arange(len(league.members))
        first, second = index_of[self.rows.first], index_of[self.rows.second]
        kept = (first >= 0) & (second >= 0)
        numbers = [np.ascontiguousarray(side[kept].astype(np.uint32)) for side in (first, second)]
        rows = AlikeBattles(numbers[0], numbers[1], *(np.ascontiguousarray(column[kept]) for column in self.rows[2:]))
        clusters = tuple(np.unique(codes[kept], return_inverse=True)[1].astype(np.uint32) for codes in self.clusters)
        return CovariateLikelihood(league.cells, options, self.terms, rows, clusters, self.source)


@dataclass(frozen=True, eq=False)
class CovariateLikelihood:
    """Strengths and one coefficient per term."""

    cells: _core.Cells
    options: FitOptions
    terms: tuple[Term, ...]
    rows: AlikeBattles
    clusters: Groups
    source: str

    unit = None

    @property
    def size(self) -> int:
        """Number of terms."""
        return len(self.terms)

    @property
    def groups(self) -> Groups:
        """Groups of the rows."""
        if len(self.clusters) < 2:
            return self.clusters
        _, crossings = np.unique(np.stack(self.clusters), axis=1, return_inverse=True)
        return (*self.clusters, np.ascontiguousarray(crossings.ravel(), dtype=np.uint32))

    @property
    def row_groups(self) -> Groups:
        """As ``Likelihood.row_groups``."""
        return self.groups

    @property
    def weights(self) -> Floats:
        """As ``Likelihood.weights``."""
        return self.rows.weight

    def fit(self, start: Floats | None = None) -> LeagueFit:
        """As ``Likelihood.fit``; ``start`` is not used.

        Raises:
            CovariateCollinearityError: a term is determined by strengths or by the terms before it, and there is no ridge.
            CovariateSeparationError: no finite coefficients exist.
        """
        how = self.options
        if not how.ridge:
            check_determined(self.cells.models, self.rows, self.terms, self.source)
        solution = _core.fit_contextual(
            self.cells.models, self.rows, how.prior_ties, how.tolerance, how.max_iterations, how.ridge
        )
        if not solution.converged and (not solution.determined or solution.largest_log_odds > _CERTAIN):
            raise self._separated(solution.coefficients)
        values = np.append(solution.log_strengths, solution.coefficients)
        return LeagueFit(values, solution.converged, solution.iterations, solution.gradient_norm)

    def at(self, values: Floats) -> RowScores:
        """As ``Likelihood.at``."""
        first, second, score, count, weight, x = self.rows
        p = 0.5 * (1.0 + np.tanh(0.5 * self.log_odds(values)[2]))
        slope, bend = weight * (score - p), count * weight * p * (1.0 - p)
        border = bend[:, None] * x
        rows = (first, second, slope, np.ascontiguousarray(slope[:, None] * x), count)
        return RowScores(self.cells.models, rows, bend, border, x.T @ border)

    def draw(self, values: Floats, plan: DrawPlan) -> Replicates:
        """As ``Likelihood.draw``."""
        how, models = self.options, self.cells.models
        theta, beta = (np.ascontiguousarray(part) for part in (values[:models], values[models:]))
        settings = (how.prior_ties, how.tolerance, how.max_iterations)
        groups = list(self.clusters)
        drawing = (plan.base, plan.replicates, plan.seed, plan.threads)
        return _core.bootstrap_contextual(self.rows, theta, beta, groups, *drawing, *settings, plan.progress, how.ridge)

    def log_odds(self, values: Floats) -> tuple[Codes, Codes, Floats]:
        """As ``Likelihood.log_odds``."""
        first, second, models = self.rows.first, self.rows.second, self.cells.models
        return first, second, values[first] - values[second] + self.rows.x @ values[models:]

    def log_likelihood(self, values: Floats) -> float:
        """As ``Likelihood.log_likelihood``."""
        odds = self.log_odds(values)[2]
        return float((self.rows.battles * self.rows.weight) @ (self.rows.score * odds - np.logaddexp(0.0, odds)))

    def _separated(self, coefficients: Floats) -> CovariateSeparationError:
        size = np.abs(coefficients) * np.abs(self.rows.x).max(axis=0)
        named = ", ".join(self.terms[int(k)].name for k in np.flatnonzero(size > 0.1 * size.max()))
        hint = "Leave the covariate out, or collect battles that go against it."
        problem = "some battles are predicted without error, so coefficients are infinite, by"
        return CovariateSeparationError(problem, source=self.source, value=named, hint=hint)


def check_determined(models: int, rows: AlikeBattles, terms: Sequence[Term], source: str) -> None:
    """Check that battles tell the coefficients of terms apart.

    Raises:
        CovariateCollinearityError: a term is determined by strengths or by the terms before it.
    """
    for number, term in enumerate(terms):
        if not rows.x[:, number].any():
            raise CovariateCollinearityError("the two sides never differ in", source=source, value=term.name)
    for term, share in zip(terms, _core.unexplained(models, rows), strict=True):
        if not share > _UNEXPLAINED:
            hint = "Leave it out: its effect is confounded with the models' strengths or with the covariates before it."
            problem = "is determined by what else is fitted:"
            raise CovariateCollinearityError(problem, source=source, value=term.name, hint=hint)


def design_of(battles: Battles, covariates: Sequence[Covariate], standardize: bool, clustered: bool) -> Design:
    """Read the covariates of all battles.

    Alike battles are one row where there are only categories. Rows are sorted, so that draws do not depend on their order.

    Raises:
        CovariateError: a column is missing or incomplete.
    """
    clusters = cluster_columns(battles.cluster_by) if clustered else ()
    columns = list(dict.fromkeys(name for covariate in covariates for name in covariate.columns))
    number = pl.Enum(battles.models)
    scores = {label.value: score for label, score in SCORES.items()}
    with reading(battles.source):
        schema = battles.frame.collect_schema()
        for name in columns:
            if name not in schema:
                raise CovariateError("missing column", source=battles.source, value=name, found=schema.names())
        frame = battles.rows.select(
            "__row",
            pl.col("model_a", "model_b").cast(pl.String).cast(number).to_physical().cast(pl.UInt32).name.prefix("__"),
            pl.col("winner").cast(pl.String).replace_strict(scores, return_dtype=pl.Float64).alias("__score"),
            weight_of(battles.weight).alias("__weight"),
            *(
                pl.col(name).cast(pl.String).rank("dense").cast(pl.UInt32).alias(f"__cluster{number}")
                for number, name in enumerate(clusters)
            ),
            *columns,
        ).collect()
    terms = [term for one in covariates for term in terms_of(frame, one, battles.source, standardize)]
    groups = [f"__cluster{number}" for number in range(len(clusters))]
    kept = ["__model_a", "__model_b", "__score", "__weight", *groups]
    names = [f"__x{number}" for number in range(len(terms))]
    design = frame.select(kept).with_columns(
        [pl.Series(name, term.values(frame, battles.source)) for name, term in zip(names, terms, strict=True)]
    )
    if all(term.is_category for term in terms):
        design = design.group_by([*kept, *names], maintain_order=True).len("__count")
    else:
        design = design.with_columns(__count=pl.lit(1.0))
    design = design.sort(pl.all())
    x = np.ascontiguousarray(design.select(names).to_numpy(), dtype=np.float64)
    first, second, score, weight = (np.ascontiguousarray(design[name].to_numpy()) for name in kept[:4])
    rows = AlikeBattles(first, second, score, np.ascontiguousarray(design["__count"].to_numpy(), dtype=np.float64), weight, x)
    codes = tuple(np.ascontiguousarray(design[name].to_numpy() - 1, dtype=np.uint32) for name in groups)
    return Design(tuple(terms), rows, codes, battles.source)
