"""What is fitted beside strengths when a judge is corrected: a tie parameter, or coefficients of covariates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles.encoding import numbered
from salon_ranking.errors import CovariateError
from salon_ranking.models.covariates import Covariate, Term, terms_of
from salon_ranking.models.ties import TieModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Further:
    """Parameters beside strengths: one coefficient per term; without terms the parameter of a tie model.

    Attributes:
        terms: the columns of the design, with one standardisation for votes and verdicts.
        votes: their values in each vote, in favour of the first model, shape (n, k).
        verdicts: the same of each judged battle, shape (N, k).
        ties: the judge's share of ties in each judged battle, shape (N,): 1 or 0; of several judges their weighted mean.
        model: the tie model, without terms.
    """

    terms: tuple[Term, ...]
    votes: Floats
    verdicts: Floats
    ties: Floats
    model: TieModel = "davidson"

    def taken(self, votes: NDArray[np.bool_], verdicts: NDArray[np.bool_]) -> "Further":
        """Return the values of some votes and verdicts."""
        return replace(self, votes=self.votes[votes], verdicts=self.verdicts[verdicts], ties=self.ties[verdicts])


def names_of(terms: Sequence[Term]) -> list[str]:
    """Return the columns that :func:`with_terms` adds."""
    return [f"__term {number}" for number in range(len(terms))]


def with_terms(
    votes: pl.DataFrame, verdicts: pl.DataFrame, covariates: Sequence[Covariate], sources: tuple[str, str]
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Term, ...]]:
    """Add the terms of covariates to votes and verdicts, each from its own columns, in favour of ``first``.

    Categories and standard deviations are those of the verdicts, for both.

    Args:
        votes, verdicts: with ``first`` and ``second``, the models in ascending order.
        covariates: columns that both have.
        sources: what votes and verdicts are called in errors.

    Raises:
        CovariateError: a column is missing, incomplete or of no use, or a vote has a category that no verdict has.
    """
    if not covariates:
        return votes, verdicts, ()
    frames = [numbered(frame.lazy()).collect() for frame in (votes, verdicts)]
    for frame, source in zip(frames, sources, strict=True):
        for name in (name for covariate in covariates for name in covariate.columns):
            if name not in frame.columns:
                problem = "missing column; a covariate is a column of the votes and of the verdicts:"
                raise CovariateError(problem, source=source, value=name, found=frame.columns)
    terms: list[Term] = []
    for covariate in covariates:
        terms += terms_of(frames[1], covariate, sources[1], standardize=True)
        if terms[-1].category is not None:
            of_votes, of_verdicts = (
                pl.concat([frame[name].cast(pl.String).alias("") for name in covariate.columns]) for frame in frames
            )
            strange = of_votes.filter(~of_votes.is_in(of_verdicts.unique().implode()))
            if len(strange):
                problem = "a category that no verdict has:"
                raise CovariateError(problem, source=sources[0], column=covariate.column, value=strange[0])
    with_values = []
    for frame, source in zip(frames, sources, strict=True):
        sign = np.where((frame["model_a"] == frame["first"]).to_numpy(), 1.0, -1.0)
        columns = [
            pl.Series(name, sign * term.values(frame, source)) for name, term in zip(names_of(terms), terms, strict=True)
        ]
        with_values.append(frame.drop("__row").with_columns(columns))
    return with_values[0], with_values[1], tuple(terms)
