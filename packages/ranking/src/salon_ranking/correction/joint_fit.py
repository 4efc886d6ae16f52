"""The corrected loss in strengths and further parameters: its value, slopes, curvature and minimum.

Davidson's model in θ and ln ν, and Bradley-Terry with covariates, are canonical logits: outcomes enter the loss linearly, and
the curvature does not depend on them. Where a vote and its verdict have the same covariates, the judge's negative rows cancel
against the votes', of which 1 - λ remains, and the loss is convex. Where they differ (``side_a_shown`` of a person and of the
judge) it is convex for many votes only; so the curvature is checked at each step.

Rao and Kupper's model in θ and t = ln κ is no such logit: a tie bends as a win and a loss together. With x the share of wins
and ties of the first, y that of the second and τ that of ties, the log-likelihood of a row is x ln σ(d - t) + y ln σ(-d - t) +
τ ln(e^2t - 1). It is concave, so the loss of people alone is convex; where the corrected loss bends downwards, far from its
minimum, a step is taken by the curvature of the votes and of all verdicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_ranking.correction.terms import Floats
from salon_ranking.errors import UnratableError
from salon_ranking.models.likelihood import Codes, RowScores
from salon_ranking.models.ties import Terms, TieModel, davidson

MOST_STEPS = 60
FARTHEST = 30.0
"""Log-strengths and further parameters beyond which no minimum exists."""
CLOSE = 1e-10
_ROUNDING = 1e-13
Point: TypeAlias = tuple[float, Floats, Floats]
"""Value, slopes and curvature."""


@dataclass(frozen=True, eq=False)
class LossRows:
    """Rows of votes or of verdicts in the corrected loss.

    Attributes:
        models: how many there are.
        first, second: of each row, by number.
        terms: values of the covariates, shape (rows, k); None: a tie model.
        score: of the first model, from 0 to 1.
        ties: 1 for a tie; of several judges their mean.
        weight: of the row in the loss; negative for the judge's rows of voted battles.
        model: the tie model of rows without covariates.
    """

    models: int
    first: Codes
    second: Codes
    terms: Floats | None
    score: Floats
    ties: Floats
    weight: Floats
    model: TieModel = "davidson"

    def at(self, values: Floats) -> tuple[float, RowScores]:
        """Return the log-likelihood, and slopes and curvature of all rows, with the weights in them.

        Args:
            values: θ, then ln ν, ln κ or the coefficients, shape (models + k,).
        """
        gap, weight = values[self.first] - values[self.second], self.weight
        if self.terms is None and self.model == "rao-kupper":
            height, slope, in_t, dd, dt, tt = rao_kupper_terms(gap, float(values[-1]), self.score, self.ties)
            further, border = in_t[:, None], dt[:, None]
            bends = weight * tt
            corner = np.array([[bends.sum()]])
        elif self.terms is None:
            won = np.zeros(len(gap), dtype=np.uint8)
            height, in_d, in_t, dd, dt, tt = davidson(gap, float(values[-1]), won)
            height = height + (self.score - 1.0) * gap + self.ties * values[-1]
            slope, further, border = in_d + self.score - 1.0, (in_t + self.ties)[:, None], dt[:, None]
            bends = weight * tt
            corner = np.array([[bends.sum()]])
        else:
            odds = gap + self.terms @ values[self.models :]
            chance = 0.5 * (1.0 + np.tanh(0.5 * odds))
            height = self.score * odds - np.logaddexp(0.0, odds)
            slope, dd = self.score - chance, chance * (1.0 - chance)
            further, border, bends = slope[:, None] * self.terms, dd[:, None] * self.terms, None
            corner = self.terms.T @ (weight[:, None] * border)
        rows = (self.first, self.second, weight * slope, weight[:, None] * further, np.ones(len(gap)))
        return float(weight @ height), RowScores(self.models, rows, weight * dd, weight[:, None] * border, corner, bends)


def rao_kupper_terms(gap: Floats, t: float, score: Floats, ties: Floats) -> Terms:
    """Return the terms of Rao and Kupper's model, t = ln κ above 0, where a row's score and share of ties are any."""
    first, second = score + ties / 2.0, 1.0 - score + ties / 2.0
    height = (
        -first * np.logaddexp(0.0, t - gap) - second * np.logaddexp(0.0, t + gap) + ties * (2 * t + np.log(-np.expm1(-2 * t)))
    )
    not_won, not_lost = (0.5 * (1.0 + np.tanh(0.5 * (t + sign * gap))) for sign in (-1.0, 1.0))
    slope, other = first * not_won, second * not_lost
    bend, bend_other = slope * (1.0 - not_won), other * (1.0 - not_lost)
    in_t = ties * (2.0 / -np.expm1(-2.0 * t)) - slope - other
    return height, slope - other, in_t, bend + bend_other, bend_other - bend, bend + bend_other + ties / np.sinh(t) ** 2


def slopes_of(rows: RowScores, times: Floats | None = None) -> Floats:
    """Return the sum of the rows' slopes in all parameters, shape (models + k,), where rows count several times."""
    first, second, slope, further, _ = rows.rows
    weighted = slope if times is None else times * slope
    in_strengths = np.bincount(first, weighted, rows.models) - np.bincount(second, weighted, rows.models)
    slopes: Floats = np.append(in_strengths, further.sum(axis=0) if times is None else times @ further)
    return slopes


def loss_at(parts: Sequence[LossRows], values: Floats) -> Point:
    """Return the corrected loss, with its slopes and curvature in strengths and further parameters."""
    terms = [part.at(values) for part in parts]
    slopes = -np.sum([slopes_of(rows) for _, rows in terms], axis=0)
    return -sum(height for height, _ in terms), slopes, np.sum([rows.curvature() for _, rows in terms], axis=0)


def joint_minimum(parts: Sequence[LossRows], size: int) -> Floats:
    """Return strengths, mean 0, and ``size`` further parameters that minimise the corrected loss, by Newton's method.

    Raises:
        UnratableError: it has no minimum.
    """
    models, values = parts[0].models, np.zeros(parts[0].models + size)
    above_zero = parts[0].terms is None and parts[0].model == "rao-kupper"
    if above_zero:
        values[-1] = 1.0
    connected = is_connected(models, *(np.concatenate([getattr(part, side) for part in parts]) for side in ("first", "second")))
    value, slopes, curvature = loss_at(parts, values)
    for _ in range(MOST_STEPS if connected else 0):
        convex = _bends_upwards(curvature, models)
        if not convex and above_zero:
            curvature = np.sum([part.at(values)[1].curvature() for part in parts[::2]], axis=0)
        if not convex and not (above_zero and _bends_upwards(curvature, models)):
            break  # a direction that does not bend upwards has no minimum
        step = -np.linalg.solve(curvature, slopes)
        largest = float(np.abs(step).max())
        step *= min(1.0, 2.0 / max(largest, CLOSE))
        if above_zero and step[-1] < 0.0:
            step *= min(1.0, 0.9 * values[-1] / -step[-1])
        before = value
        value, slopes, curvature = loss_at(parts, values + step)
        while value > before + _ROUNDING * abs(before) and np.abs(step).max() > CLOSE:
            step /= 2.0
            value, slopes, curvature = loss_at(parts, values + step)
        values = values + step
        values[:models] -= values[:models].mean()
        if not np.isfinite(values).all() or np.abs(values).max() > FARTHEST:
            break
        if largest < CLOSE:
            if not convex:
                break
            return values
    raise no_minimum("; or rate without tie parameter and covariates")


def _bends_upwards(curvature: Floats, models: int) -> bool:
    """Return whether a curvature is positive definite but for adding the same to all strengths, which it adds to in place."""
    curvature[:models, :models] += np.trace(curvature) / len(curvature) / models
    try:
        np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        return False
    return True


def joint_scores(parts: Sequence[LossRows], factor: float, values: Floats) -> tuple[RowScores, Floats]:
    """Return the slopes of votes and then of verdicts as the sandwich takes them, and the curvature of the loss.

    A vote's row holds its verdict's, too. Its own curvature counts 1 - λ times: exactly that of both where covariates are the
    same, and as a working model for small samples where they differ, and of Rao and Kupper's model.
    """
    people = parts[0].at(values)[1]
    if len(parts) == 1:
        return people, people.curvature()
    voted, judged = (part.at(values)[1] for part in parts[1:])
    curvature = people.curvature() + voted.curvature() + judged.curvature()
    first, second = (np.concatenate([people.rows[side], judged.rows[side]]) for side in (0, 1))
    slope = np.concatenate([people.rows[2] + voted.rows[2], judged.rows[2]])
    further = np.concatenate([people.rows[3] + voted.rows[3], judged.rows[3]])
    rest = 1.0 - factor
    bends = None
    if people.bends is not None and judged.bends is not None:
        bends = np.append(rest * people.bends, judged.bends)
    rows = RowScores(
        people.models,
        (first, second, slope, np.ascontiguousarray(further), np.ones(len(slope))),
        np.append(rest * people.bend, judged.bend),
        np.concatenate([rest * people.border, judged.border]),
        curvature[people.models :, people.models :],
        bends,
    )
    return rows, curvature


def is_connected(models: int, a: NDArray[np.integer], b: NDArray[np.integer]) -> bool:
    """Return whether pairs of models join all of them."""
    label, last = np.arange(models), np.full(models, -1)
    while not np.array_equal(label, last):
        last = label.copy()
        np.minimum.at(label, a, last[b])
        np.minimum.at(label, b, last[a])
    return not label.any()


def no_minimum(way_out: str = "") -> UnratableError:
    """Return the error of a corrected loss without a minimum."""
    return UnratableError(
        "no finite ratings minimise the loss: a model won or lost everything, battles do not connect the models, or the judge "
        f"errs by more than so few votes can correct; collect more votes, or leave the model out{way_out}"
    )
