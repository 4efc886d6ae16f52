"""Goodness of fit: deviance against the saturated model, residuals of pairs, and cycles of majorities."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.diagnostics.win_rates import MOST_MODELS
from salon_ranking.errors import OptionError
from salon_ranking.models.league import check_battles
from salon_ranking.models.pair_totals import PairTotals, pair_totals
from salon_ranking.models.ratings import Ratings, chances_of, predicted
from salon_ranking.options import Range, takes_battles

Floats = NDArray[np.float64]

_FEW = 5.0
_MOST_FEW = 0.2
"""Of the pairs may have so few (Cochran 1954, doi:10.2307/3001616)."""
_MOST_FOR_CYCLES = 1_000


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """How far a fit lies from the data.

    Attributes:
        deviance: 2·(log-likelihood of the saturated model, which gives every pair its own shares, - that of the fit).
        degrees_of_freedom: parameters of the saturated model less those of the fit.
        p_value: P(χ² ≥ deviance); None where the χ² distribution does not hold, which ``note`` explains.
        note: what to think of the p-value.
        few: share of pairs whose smallest expected count is below 5; with many of them the p-value is rough.
        pairs: one row per pair, most surprising first: ``model``, ``opponent``, ``matches``, ``observed`` and ``predicted``
            (win rates, ties as half wins), ``residual``: (observed - predicted)/standard error, standardized for leverage,
            about normal with standard deviation 1 when the model holds; null where a pair fits itself.
    """

    deviance: float
    degrees_of_freedom: int
    p_value: float | None
    note: str
    few: float
    pairs: pl.DataFrame


@dataclass(frozen=True, eq=False)
class CycleReport:
    """Cycles of majorities, a > b > c > a.

    A majority is more than half of the battles, a tie half a win.

    Attributes:
        triads: triples of models of which all three pairs met and have a majority.
        cyclic: how many of them are cycles.
        worst: the cycles with the strongest weakest majority: ``first`` beats ``second`` beats ``third`` beats ``first``, with
            the three win rates and ``weakest``, the smallest of them.
    """

    triads: int
    cyclic: int
    worst: pl.DataFrame

    @property
    def share(self) -> float | None:
        """The share of cycles; a quarter would be chance alone, none is one order of all models. None without triads."""
        return self.cyclic / self.triads if self.triads else None


@takes_battles
def goodness_of_fit(battles: Battles, ratings: Ratings) -> GoodnessOfFit:
    """Compare a fit with the battles that it was made of.

    Raises:
        BattleError: there are no battles.
        OptionError: the ratings are of other models, or have covariates.
        MissingExtraError: the p-value needs the extra ``salon-ranking[analysis]``.

    Example:
        >>> from salon_ranking import fit
        >>> meetings = [("x", "y", 14, 6), ("y", "z", 14, 6), ("x", "z", 4, 16)]  # z beats the best
        >>> rows = [(a, b, w) for a, b, won, lost in meetings for w in ["model_a"] * won + ["model_b"] * lost]
        >>> battles = Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
        >>> found = goodness_of_fit(battles, fit(battles))
        >>> round(found.deviance, 2), found.degrees_of_freedom, found.p_value < 0.01
        (13.76, 1, True)
    """
    check_battles(battles)
    if ratings.models != battles.models:
        raise OptionError("the ratings are of other models", source=battles.source)
    if ratings.options.covariates:
        hint = "Fit without covariates; compare fits by their log-likelihood."
        raise OptionError("there is no goodness of fit of pairs for a fit with covariates", source=battles.source, hint=hint)
    totals = _comparable(pair_totals(battles), ratings)
    chances = _chances(ratings, totals)
    observed = _observed(ratings, totals)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(observed > 0.0, observed * np.log(observed / (totals.matches * chances)), 0.0)
    deviance = max(2.0 * float(terms.sum()), 0.0)
    freedom = (len(chances) - 1) * len(totals.first) - _parameters(ratings, totals)
    expected = totals.matches * chances
    few = float((np.where(chances > 0.0, expected, np.inf).min(axis=0) < _FEW).mean()) if len(totals.first) else 0.0
    note = _note(battles, ratings, totals, freedom)
    if not note and few > _MOST_FEW:
        note = f"No p-value: {100 * few:.0f}% of the pairs have expected counts below {_FEW:g}, so that χ² does not hold."
    p_value = None if note else _chi_squared_tail(deviance, freedom)
    usual = f"χ² holds roughly when few pairs have expected counts below 5; here {100 * few:.0f}% have."
    return GoodnessOfFit(deviance, freedom, p_value, note or usual, few, _residuals(battles, ratings, totals))


@takes_battles
def cycle_report(battles: Battles, most: Annotated[int, Range(0, 1e9)] = 10) -> CycleReport:
    """Count cycles of majorities among all triads, and name the worst.

    Raises:
        BattleError: there are no battles.
        OptionError: more than 1,000 models (the work grows with their cube), or ``most`` is negative.

    Example:
        >>> rows = [("x", "y", "model_a"), ("y", "z", "model_a"), ("z", "x", "model_a")]
        >>> found = cycle_report(Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row")))
        >>> found.triads, found.cyclic, found.worst.row(0)[:3]
        (1, 1, ('x', 'y', 'z'))
    """
    check_battles(battles)
    count = len(battles.models)
    if count > _MOST_FOR_CYCLES:
        raise OptionError("too many models for a cycle report:", value=count, hint=f"At most {_MOST_FOR_CYCLES:,}.")
    if most < 0:
        raise OptionError("most must be 0 or more, not", value=most)
    totals = pair_totals(battles)
    rate = np.full((count, count), 0.5)
    share = totals.score / totals.matches
    rate[totals.first, totals.second], rate[totals.second, totals.first] = share, 1.0 - share
    beats = (rate > 0.5).astype(np.float64)
    either = beats + beats.T
    cyclic = round(float(np.einsum("ij,ji->", beats @ beats, beats)) / 3.0)
    triads = round(float(np.einsum("ij,ji->", either @ either, either)) / 6.0)
    return CycleReport(triads, cyclic, _worst_cycles(battles, rate, most))


def _worst_cycles(battles: Battles, rate: Floats, most: int) -> pl.DataFrame:
    cycles: list[tuple[float, int, int, int]] = []
    for start in range(len(rate)):
        # Each cycle once: from its lowest number.
        seconds = start + 1 + np.flatnonzero(rate[start, start + 1 :] > 0.5)
        thirds = start + 1 + np.flatnonzero(rate[start + 1 :, start] > 0.5)
        between = rate[np.ix_(seconds, thirds)]
        weakest = np.minimum(np.minimum(between, rate[start, seconds][:, None]), rate[thirds, start][None, :])
        rows, columns = np.nonzero(between > 0.5)
        strength = weakest[rows, columns]
        best = np.argsort(-strength, kind="stable")[:most]
        cycles += [(float(strength[k]), start, int(seconds[rows[k]]), int(thirds[columns[k]])) for k in best]
    cycles = sorted(cycles, key=lambda one: (-one[0], *one[1:]))[:most]
    schema = {
        "first": pl.String,
        "second": pl.String,
        "third": pl.String,
        "first_beats_second": pl.Float64,
        "second_beats_third": pl.Float64,
        "third_beats_first": pl.Float64,
        "weakest": pl.Float64,
    }
    names = battles.models
    rows_ = [(names[a], names[b], names[c], rate[a, b], rate[b, c], rate[c, a], weak) for weak, a, b, c in cycles]
    return pl.DataFrame(rows_, schema=schema, orient="row")


def _chi_squared_tail(value: float, freedom: int) -> float:
    from salon_ranking.extras import analysis

    return float(analysis("scipy.stats", "a p-value").chi2.sf(value, freedom))


def _comparable(totals: PairTotals, ratings: Ratings) -> PairTotals:
    """Without pairs of models that the fit cannot compare."""
    kept = ratings.component[totals.first] == ratings.component[totals.second]
    return PairTotals(totals.first[kept], totals.second[kept], totals.outcomes[:, kept], totals.squares[kept])


def _chances(ratings: Ratings, totals: PairTotals) -> Floats:
    """Return the fitted probability of each outcome, shape (2, pairs), or (3, pairs) with ties of a tie model."""
    if _has_ties(ratings, totals):
        won, tied, lost = chances_of(ratings, totals.first, totals.second)
        return np.stack([won, lost, tied])
    share = predicted(ratings, totals.first, totals.second)
    return np.stack([share, 1.0 - share])


def _has_ties(ratings: Ratings, totals: PairTotals) -> bool:
    """Return whether a tie model has seen ties."""
    return ratings.options.ties != "half" and bool(totals.outcomes[2].any())


def _observed(ratings: Ratings, totals: PairTotals) -> Floats:
    if _has_ties(ratings, totals):
        return totals.outcomes
    return np.stack([totals.score, totals.matches - totals.score])


def _parameters(ratings: Ratings, totals: PairTotals) -> int:
    """Return the free parameters of the fit: strengths less one per component, and the further parameters."""
    met = np.unique(np.append(totals.first, totals.second))
    further = sum(league.likelihood.size for league in ratings.leagues)
    return len(met) - len(np.unique(ratings.component[met])) + further


def _note(battles: Battles, ratings: Ratings, totals: PairTotals, freedom: int) -> str:
    """Return why there is no p-value; empty when there is one."""
    if freedom <= 0:
        return "No p-value: the fit has as many parameters as there are shares to explain."
    if battles.weight is not None:
        return "No p-value: χ² does not hold for weighted battles."
    if ratings.options.prior_ties:
        return "No p-value: χ² does not hold with a prior."
    if ratings.options.ties == "half" and totals.outcomes[2].any():
        return "No p-value: ties as half wins vary less than wins and losses, so χ² does not hold; a tie model has one."
    return ""


def _residuals(battles: Battles, ratings: Ratings, totals: PairTotals) -> pl.DataFrame:
    chances = _chances(ratings, totals)
    share = predicted(ratings, totals.first, totals.second)
    spread = share * (1.0 - share)
    if len(chances) == 3:
        spread = chances[0] + 0.25 * chances[2] - share**2  # of a score of 1, 0 or ½
    left = 1.0 - _leverage(totals, spread, len(battles.models))
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.sqrt(totals.squares * spread * np.where(left > 1e-9, left, np.nan))
        residual = (totals.score - totals.matches * share) / size
    names = pl.Series(battles.models, dtype=pl.String)
    columns = {
        "model": names.gather(totals.first),
        "opponent": names.gather(totals.second),
        "matches": totals.matches,
        "observed": totals.score / totals.matches,
        "predicted": share,
        "residual": residual,
    }
    frame = pl.DataFrame(columns).with_columns(pl.col("residual").fill_nan(None))
    return frame.sort(pl.col("residual").abs(), "model", "opponent", descending=[True, False, False], nulls_last=True)


def _leverage(totals: PairTotals, spread: Floats, count: int) -> Floats:
    """Return each pair's leverage, its weight times effective resistance; 0 above 2,000 models."""
    if count > MOST_MODELS:
        return np.zeros(len(totals.first))
    weight = totals.matches * spread
    laplacian = np.zeros((count, count))
    laplacian[totals.first, totals.second] = laplacian[totals.second, totals.first] = -weight
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    diagonal = np.diag(inverse)
    leverage: Floats = weight * (diagonal[totals.first] + diagonal[totals.second] - 2.0 * inverse[totals.first, totals.second])
    return leverage
