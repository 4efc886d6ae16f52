"""``listing``: which models have had enough matches to be listed on a leaderboard (MEF, minimum number of matches).

MEF lists a model when its interval is at most 20 points wide and one more match changes its rating by at most 3. The effect of
one more match of weight 1 follows from the inverse H⁻¹ of the curvature. With v = e_i - e_j and p the fitted chance of i,

    Δθ = r H⁻¹v / (1 + p(1 - p) vᵀH⁻¹v),      r = 1 - p for a win of i, -p for a loss

which is one Newton step of the likelihood with that match, by the Sherman-Morrison formula. A tie model has one more row and
column in H, and a tie as a third outcome (Woodbury's formula). With covariates the match is one at equal covariates. The effect
on a model is the largest over all outcomes and all opponents in its component. Where matches are few one step is up to a third
off: it chooses the opponents that may matter most, and further steps with the same H lead to the fit with that match. A test
holds them against the refit.
"""

import math
from dataclasses import replace
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.models.likelihood import PairLikelihood, check_size
from salon_ranking.models.ratings import POINTS_PER_UNIT, FittedLeague, Ratings, elo, fitted
from salon_ranking.models.ties import TieLikelihood
from salon_ranking.options import Range, checked
from salon_ranking.uncertainty.anytime import Anytime
from salon_ranking.uncertainty.sandwich import inverse_curvature, prior_of

Floats = NDArray[np.float64]

MOST_WIDTH = 20.0
"""Elo points that the interval of a listed model may be wide."""
MOST_EFFECT = 3.0
"""Elo points that one more match may change the rating of a listed model."""
_SMALL = 0.005
"""Units of log-strength up to which one step is right to half a hundredth."""
_RIVALS = 3
"""Opponents of each model that are tried to the end."""
_MOST_STEPS, _SETTLED = 60, 1e-7
"""Of the fit with one more match; the last one in log-strengths."""


def match_effects(ratings: Ratings) -> Floats:
    """Return the largest change that one more match could make to each rating, in Elo points, shape (models,).

    0 for a baseline, which is fixed; NaN for a model alone in its component.

    Raises:
        OptionError: there are more models than a matrix can be made for.
    """
    check_size(len(ratings.models), "effects of one match")
    effects = np.full(len(ratings.models), np.nan)
    for league in ratings.leagues:
        values = league.estimate.values
        prior = prior_of(league.likelihood, values)
        inverse = inverse_curvature(league.likelihood.at(values), prior, len(league.members))
        nearly = _changes(league, inverse)
        effects[league.members] = POINTS_PER_UNIT * nearly.max(axis=1)
        large = np.flatnonzero(nearly.max(axis=1) > _SMALL)
        if not large.size:
            continue
        exact = _Refits(league, inverse, prior)
        for model in large:
            rivals = [rival for rival in np.argsort(-nearly[model], kind="stable")[:_RIVALS] if rival != model]
            changes = [exact.change(int(model), int(rival), outcome) for rival in rivals for outcome in range(exact.outcomes)]
            effects[league.members[model]] = POINTS_PER_UNIT * max(changes)
    return effects


class _Refits:
    """Fits of a league with one more match, by chord steps from the fit without it."""

    def __init__(self, league: FittedLeague, inverse: Floats, prior: Floats) -> None:
        likelihood = league.likelihood
        cells = likelihood.cells
        if cells.clusters > 1 and isinstance(likelihood, PairLikelihood | TieLikelihood):  # fewer cells without them
            without = _core.parts(cells, np.zeros(cells.clusters, dtype=np.uint32), False)[0][2]
            likelihood = replace(likelihood, cells=without, clustered=False)
        self.likelihood, self.inverse, self.prior = likelihood, inverse, prior
        self.values, self.base, self.models = league.estimate.values, league.base, len(league.log_strengths)
        self.ties = likelihood if isinstance(likelihood, TieLikelihood) and likelihood.size else None
        self.outcomes = 3 if self.ties else 2
        self.slope = self._slope(self.values)

    def _slope(self, values: Floats) -> Floats:
        """Return the slope of the log-likelihood without the prior."""
        first, second, along, further, count = self.likelihood.at(values).by_row().rows
        strengths = np.bincount(first, along * count, self.models) - np.bincount(second, along * count, self.models)
        return np.append(strengths, further.T @ count)

    def _match(self, values: Floats, model: int, rival: int, outcome: int) -> tuple[Floats, Floats]:
        """Return the slope and the curvature of the match."""
        gap = np.array([values[model] - values[rival]])
        slope, bend = np.zeros(len(values)), np.zeros((len(values), len(values)))
        pair = np.ix_([model, rival], [model, rival])
        if self.ties is not None:
            along, beside, curves = self.ties.slopes(gap, outcome, values)
            slope[-1], bend[-1, -1] = beside[0], curves[2][0]
            bend[-1, [model, rival]] = bend[[model, rival], -1] = curves[1][0] * np.array([1.0, -1.0])
            curve, size = curves[0][0], along[0]
        else:
            share = 0.5 * (1.0 + math.tanh(0.5 * gap[0]))
            curve, size = share * (1.0 - share), (1.0 - share, -share)[outcome]
        slope[[model, rival]] = size, -size
        bend[pair] = curve * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return slope, bend

    def change(self, model: int, rival: int, outcome: int) -> float:
        """Return how far the match moves the model from the baseline, in log-strength."""
        bend = self._match(self.values, model, rival, outcome)[1]
        touched = np.flatnonzero(bend.any(axis=0))
        inner = np.linalg.solve(
            np.eye(len(touched)) + bend[np.ix_(touched, touched)] @ self.inverse[np.ix_(touched, touched)],
            bend[np.ix_(touched, touched)] @ self.inverse[touched],
        )
        values = self.values
        for _ in range(_MOST_STEPS):
            pull = self._slope(values) - self.slope - self._prior(values) + self._match(values, model, rival, outcome)[0]
            step = self.inverse @ pull
            step = step - self.inverse[:, touched] @ (inner @ pull)
            if self.ties is not None and values[-1] + step[-1] <= 0.0:
                step *= 0.5 * values[-1] / -step[-1]
            values = values + step
            if np.abs(step).max() < _SETTLED:
                break
        moved = values - self.values
        return abs(float(moved[model] - moved[self.base]))

    def _prior(self, values: Floats) -> Floats:
        """Return the change of the prior's slope along the way."""
        options, strengths = self.likelihood.options, slice(0, self.models)
        lost = options.ridge * (values - self.values)
        shares = [0.5 * (1.0 + np.tanh(0.5 * one[strengths])) for one in (values, self.values)]
        lost[strengths] = options.prior_ties * (shares[0] - shares[1])
        return lost


def _changes(league: FittedLeague, inverse: Floats) -> Floats:
    """Return the largest change of θ_i - θ_base by one more match of i with j, shape (n, n)."""
    theta, base = league.log_strengths, league.base
    models = len(theta)
    own = np.diag(inverse)[:models]
    strengths = inverse[:models, :models]
    spread = own[:, None] + own[None, :] - 2.0 * strengths  # vᵀH⁻¹v
    shift = own[:, None] - strengths - strengths[base, :, None] + strengths[base, None, :]  # (e_i - e_base)ᵀH⁻¹v
    gap = theta[:, None] - theta[None, :]
    if isinstance(league.likelihood, TieLikelihood) and league.likelihood.size:
        tie = inverse[:models, models]
        mixed = tie[:, None] - tie[None, :]  # vᵀH⁻¹e_tie
        reach = np.broadcast_to((tie - tie[base])[:, None], gap.shape)  # (e_i - e_base)ᵀH⁻¹e_tie
        corner = inverse[models, models]
        change = np.zeros_like(gap)
        for outcome in range(3):
            slope, further, bend = league.likelihood.slopes(gap, outcome, league.estimate.values)
            # (I + B M)⁻¹ s for the 2 x 2 matrices B, of the match, and M = UᵀH⁻¹U, U = [v, e_tie].
            a = 1.0 + bend[0] * spread + bend[1] * mixed
            b = bend[0] * mixed + bend[1] * corner
            c = bend[1] * spread + bend[2] * mixed
            d = 1.0 + bend[1] * mixed + bend[2] * corner
            step = (shift * (d * slope - b * further) + reach * (a * further - c * slope)) / (a * d - b * c)
            change = np.maximum(change, np.abs(step))
    else:
        chance = 0.5 * (1.0 + np.tanh(0.5 * gap))
        change = np.abs(np.maximum(chance, 1.0 - chance) * shift / (1.0 + chance * (1.0 - chance) * spread))
    np.fill_diagonal(change, 0.0)
    change[base] = 0.0
    return change


@checked
def listing(
    board: Leaderboard,
    battles: Battles,
    *,
    most_width: Annotated[float, Range(1e-6, 1e6)] = MOST_WIDTH,
    most_effect: Annotated[float, Range(1e-6, 1e6)] = MOST_EFFECT,
) -> pl.DataFrame:
    """Return whether each model of a board meets MEF's listing rule, and how many more matches it needs.

    Args:
        board: with intervals.
        battles: the battles that the board ranks.

    Returns:
        One row per model in the board's order: ``rank``, ``model``, ``rating``, ``matches``, ``width`` (of the interval),
        ``match_effect`` (Elo points), ``listed``, ``matches_needed``. All four are null for a baseline: its rating is fixed,
        and the rule says nothing of it. Where no interval or rating is known, the model is not listed, and the others are null.
        ``matches_needed`` supposes that width shrinks as 1/√n (an anytime interval's more slowly, as its formula says) and the
        effect of one match as 1/n when all models play on in proportion: an extrapolation.

    Raises:
        OptionError: the board has no intervals or is not of these battles; a limit is not positive.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x"] * 90, "model_b": ["y"] * 90, "winner": ["model_a", "model_b", "tie"] * 30})
        >>> from salon_ranking import rank
        >>> battles = Battles.from_frame(votes)
        >>> board = rank(battles, interval="sandwich", baseline="y")
        >>> listing(board, battles).select("model", "listed", "matches_needed").rows()
        [('x', False, 3037), ('y', None, None)]
    """
    for name, value in (("most_width", most_width), ("most_effect", most_effect)):
        if not (math.isfinite(value) and value > 0.0):
            raise OptionError(f"{name} must be a positive number, not", value=value)
    if board.ci_method is None:
        raise OptionError("a listing needs intervals", source=board.source, hint="Rank with replicates or a sandwich.")
    effects = pl.DataFrame({"model": battles.models, "match_effect": match_effects(ratings_of(board, battles))})
    width = pl.col("ci_high") - pl.col("ci_low")
    growth = pl.col("width").map_elements(lambda wide: _growth(board, wide / most_width), return_dtype=pl.Float64)
    factor = pl.max_horizontal(growth, pl.col("match_effect") / most_effect)
    table = board.table.select("rank", "model", "rating", "matches", width.alias("width")).join(effects, on="model", how="left")
    is_fixed = pl.col("model").is_in(board.baselines) & pl.col("rating").is_not_null()
    kept = table.with_columns(
        pl.when(~is_fixed).then("width").alias("width"),
        pl.when(~is_fixed).then(pl.col("match_effect").fill_nan(None)).alias("match_effect"),
    )
    listed = (pl.col("width") <= most_width) & (pl.col("match_effect") <= most_effect)
    unknown = pl.col("width").is_null() | pl.col("match_effect").is_null()
    needed = (pl.col("matches") * factor).ceil() - pl.col("matches")
    return kept.with_columns(
        pl.when(~is_fixed).then(listed.fill_null(False)).alias("listed"),
        pl.when(~unknown).then(pl.max_horizontal(needed.ceil(), 0.0)).cast(pl.Int64).alias("matches_needed"),
    )


def _growth(board: Leaderboard, ratio: float) -> float:
    """Return how many times as many matches make an interval ``1 / ratio`` times as wide."""
    if board.options.interval != "anytime" or ratio <= 1.0:
        return ratio**2
    now, grown = Anytime(board.battles, False, board.options.confidence), ratio**2
    for _ in range(_MOST_STEPS):  # it shrinks more slowly than 1/√n
        later = Anytime(board.battles * grown, False, board.options.confidence)
        grown = (ratio * later.reach / now.reach) ** 2
    return grown


def with_listing(board: Leaderboard, battles: Battles) -> Leaderboard:
    """Return the board with the columns ``width``, ``match_effect``, ``listed`` and ``matches_needed`` of :func:`listing`."""
    columns = listing(board, battles).select("model", "width", "match_effect", "listed", "matches_needed")
    return replace(board, table=board.table.join(columns, on="model", how="left", maintain_order="left"))


def ratings_of(board: Leaderboard, battles: Battles) -> Ratings:
    """Return the fit behind a board, made again with the board's own settings.

    Raises:
        OptionError: the board is not of these battles.
    """
    if board.battles != battles.count or set(board.table.drop_nulls("component")["model"]) != set(battles.models):
        raise OptionError("the leaderboard was made from other battles", source=battles.source, value=board.source)
    fit = fitted(battles, replace(board.options, baseline=None))
    leagues, ratings = [], fit.ratings.copy()
    for league, name in zip(fit.leagues, board.baselines, strict=True):
        base = int(np.flatnonzero(league.members == fit.models.index(name))[0])
        leagues.append(replace(league, base=base))
        ratings[league.members] = elo(league.log_strengths, base, fit.baseline_rating)
    return replace(fit, baselines=board.baselines, ratings=ratings, leagues=tuple(leagues))
