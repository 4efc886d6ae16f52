"""Predictions of battles by a fit, and their log-loss."""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console.numbers import counted
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import weight_of
from salon_ranking.files import reading
from salon_ranking.models.covariate_likelihood import SCORES, CovariateLikelihood
from salon_ranking.models.ratings import Ratings, chances_of
from salon_ranking.options import takes_battles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogLoss:
    """The mean negative log-probability of battles by a fit.

    Attributes:
        value: in nats per battle, by weight; ln 2 = 0.693 is that of a coin. None where no battle can be predicted.
        battles: how many were predicted.
        unpredicted: battles of models that the fit does not have, or cannot compare.
    """

    value: float | None
    battles: int
    unpredicted: int

    @property
    def sentence(self) -> str:
        """The same in words.

        Example:
            >>> LogLoss(0.5, 1200, 3).sentence
            'Held-out log-loss 0.5000 per battle (a coin: 0.6931), over 1,200 battles; 3 battles cannot be predicted.'
        """
        value = "is not known" if self.value is None else f"{self.value:.4f} per battle (a coin: {math.log(2.0):.4f})"
        left = f"; {counted(self.unpredicted, 'battle')} cannot be predicted" if self.unpredicted else ""
        return f"Held-out log-loss {value}, over {counted(self.battles, 'battle')}{left}."


@takes_battles
def predict(battles: Battles, ratings: Ratings) -> pl.DataFrame:
    """Return the fitted chances of every battle's outcome, seen from its ``model_a``.

    Args:
        battles: any battles, also of models that the fit does not have; with the covariates of the fit.

    Returns:
        One row per battle in their order: ``model_a``, ``model_b``, ``winner``, ``win``, ``tie``, ``loss`` (without a tie model
        ``tie`` is 0), ``log_loss`` (of a tie without a tie model: the mean of a win and a loss) and ``weight``. Null where the
        fit cannot compare the two models.

    Raises:
        CovariateError: a covariate of the fit is missing or incomplete.

    Example:
        >>> from salon_ranking import fit
        >>> votes = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 3 + ["model_b"]})
        >>> predict(votes, fit(votes)).select("win", pl.col("log_loss").round(3)).row(0)
        (0.75, 0.288)
    """
    covariates = dict.fromkeys(name for one in ratings.options.parsed_covariates for name in one.columns)
    scores = {label.value: score for label, score in SCORES.items()}
    with reading(battles.source):
        known = battles.frame.collect_schema()
        frame = battles.rows.select(
            "__row",
            pl.col("model_a", "model_b", "winner").cast(pl.String),
            weight_of(battles.weight).alias("__weight"),
            *(name for name in covariates if name in known),
        ).collect()
    number = {name: place for place, name in enumerate(ratings.models)}
    first, second = (
        frame[side].replace_strict(number, default=-1, return_dtype=pl.Int64).to_numpy() for side in ("model_a", "model_b")
    )
    win, tie, loss = (np.full(frame.height, np.nan) for _ in range(3))
    both = (first >= 0) & (second >= 0)
    if not ratings.options.covariates:
        win[both], tie[both], loss[both] = chances_of(ratings, first[both], second[both])
    else:
        win[both] = _at_covariates(ratings, frame, first, second, battles.source)[both]
        tie[both], loss[both] = 0.0 * win[both], 1.0 - win[both]
    score = frame["winner"].replace_strict(scores, return_dtype=pl.Float64).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        decided = np.where(score == 1.0, np.log(win), np.log(loss))
        tied = np.log(tie) if ratings.options.ties != "half" else 0.5 * (np.log(win) + np.log(loss))
        log_loss = -np.where(score == 0.5, tied, decided)
    columns = {"win": win, "tie": tie, "loss": loss, "log_loss": log_loss}
    table = frame.select("model_a", "model_b", "winner", weight="__weight").with_columns(
        **{name: pl.Series(values, dtype=pl.Float64).fill_nan(None) for name, values in columns.items()}
    )
    return table.select("model_a", "model_b", "winner", *columns, "weight")


@takes_battles
def log_loss(battles: Battles, ratings: Ratings) -> LogLoss:
    """Return how well a fit predicts battles, which should not be those that it was made of.

    Raises:
        CovariateError: a covariate of the fit is missing or incomplete.

    Example:
        >>> from salon_ranking import fit
        >>> votes = pl.DataFrame({"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 3 + ["model_b"]})
        >>> held_out = pl.DataFrame({"model_a": ["y", "new"], "model_b": ["x", "y"], "winner": ["model_b", "model_b"]})
        >>> log_loss(held_out, fit(votes))
        LogLoss(value=0.2876820724517809, battles=1, unpredicted=1)
    """
    predictions = predict(battles, ratings)
    known = predictions.drop_nulls("log_loss")
    if not known.height:
        return LogLoss(None, 0, predictions.height)
    value = float(np.average(known["log_loss"].to_numpy(), weights=known["weight"].to_numpy()))
    return LogLoss(value, known.height, predictions.height - known.height)


def _at_covariates(
    ratings: Ratings, frame: pl.DataFrame, first: NDArray[np.int64], second: NDArray[np.int64], source: str
) -> Floats:
    """Return the fitted win rate of each battle at its own covariates."""
    share = np.full(frame.height, np.nan)
    for number, league in enumerate(ratings.leagues):
        likelihood = league.likelihood
        if not isinstance(likelihood, CovariateLikelihood):
            continue
        own = (ratings.component[first] == number) & (ratings.component[second] == number)
        x = np.column_stack([term.values(frame, source) for term in likelihood.terms])
        odds = ratings.log_strengths[first] - ratings.log_strengths[second] + x @ league.further
        share = np.where(own, 0.5 * (1.0 + np.tanh(0.5 * odds)), share)
    return share
