"""A fit and its board with one array entry per model, for tests of models with further parameters."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from salon_ranking import Battles, Leaderboard, _core, fit, rank
from salon_ranking.models.likelihood import PairLikelihood
from salon_ranking.models.options import FitOptions
from salon_ranking.uncertainty.options import IntervalOptions
from salon_ranking.uncertainty.resampling import uncertainties
from salon_ranking.uncertainty.simultaneous import _inverse_of, _joint_quantile, _largest
from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_tail
from salon_ranking.uncertainty.uncertainty import Interval, Uncertainty

_FIT = (
    "ties",
    "covariates",
    "standardize",
    "baseline",
    "baseline_rating",
    "prior_ties",
    "tolerance",
    "max_iterations",
    "components",
)


class Ranked:
    """The fit by the given options, and the board by the same."""

    def __init__(self, battles: Battles, **options: Any) -> None:
        self.fit = fit(battles, **{name: options[name] for name in _FIT if name in options})
        self.board: Leaderboard = rank(battles, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fit if hasattr(self.fit, name) else self.board, name)

    def by_model(self, column: str) -> np.ndarray:
        """A column of the board in the order of the models; NaN for null."""
        values = dict(self.board.table.select("model", pl.col(column).cast(pl.Float64)).iter_rows())
        return np.array([math.nan if values[model] is None else values[model] for model in self.fit.models])

    @property
    def standard_errors(self) -> np.ndarray:
        return self.by_model("standard_error")

    @property
    def ci_low(self) -> np.ndarray:
        return self.by_model("ci_low")

    @property
    def ci_high(self) -> np.ndarray:
        return self.by_model("ci_high")

    @property
    def coefficients(self) -> pl.DataFrame:
        return self.board.parameters

    @cached_property
    def tie(self) -> dict[str, Any]:
        """The row of the tie parameter, NaN for null."""
        return self.board.parameters.with_columns(pl.col(pl.Float64).fill_null(math.nan)).row(0, named=True)


def tied(battles: Battles, model: str = "davidson", **options: Any) -> Ranked:
    """Ranked by a tie model."""
    return Ranked(battles, ties=model, **options)


def contextual(battles: Battles, covariates: Sequence[Any], **options: Any) -> Ranked:
    """Ranked at equal covariates."""
    return Ranked(battles, covariates=covariates, **options)


def plain(cells: _core.Cells, prior_ties: float = 0.0, *, clustered: bool = False) -> PairLikelihood:
    """The likelihood of plain Bradley-Terry."""
    return PairLikelihood(cells, FitOptions(prior_ties=prior_ties), clustered)


def spread_of(
    battles: Battles,
    interval: Interval,
    replicates: int = 0,
    seed: int = 0,
    *,
    cluster: bool = False,
    components: str = "refuse",
) -> list[Uncertainty]:
    """The uncertainty of strengths of every league of a plain fit."""
    asked = IntervalOptions(interval=interval, replicates=replicates, seed=seed, cluster=cluster)
    ratings = fit(battles, components=components) if not cluster else _clustered(battles, components)
    return [one for league in uncertainties(ratings, asked) for one in league.strengths]


def _clustered(battles: Battles, components: str) -> Any:
    from salon_ranking.models.ratings import fitted

    return fitted(battles, FitOptions(components=components), clustered=True)


def critical_value(spread: Uncertainty, confidence: float, draws: int, seed: int) -> float:
    """The quantile of max over pairs of |(θ*_i - θ*_j) - (θ_i - θ_j)| / se_ij: the first step of ``certain``."""
    largest = _largest(spread.deviations(draws, seed), _inverse_of(spread.difference_errors()))
    quantile = _joint_quantile([largest], confidence)
    tail = two_sided_tail(np.array([quantile]), np.inf)[0]
    return quantile if np.isinf(spread.degrees) or not quantile > 0.0 else two_sided_quantile(float(tail), spread.degrees)
