"""The tie parameter or the coefficients of a corrected board, as a table."""

import numpy as np
import polars as pl

from salon_ranking.correction.estimate import CorrectedStrengths
from salon_ranking.correction.terms import Floats, Further
from salon_ranking.models.ratings import POINTS_PER_UNIT, TIE_TERMS
from salon_ranking.models.ties import TIE_EDGES
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_ranking.uncertainty.student import two_sided_quantiles, two_sided_tail

_NUMBERS = ("estimate", "standard_error", "ci_low", "ci_high", "degrees", "z", "p_value", "scale", "elo", "people", "judge")
NO_PARAMETERS = pl.DataFrame(schema={"term": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)})


def parameter_table(
    further: Further,
    corrected: CorrectedStrengths,
    alone: dict[str, CorrectedStrengths | None],
    confidence: float,
    draws: Floats | None,
) -> pl.DataFrame:
    """Return one row per parameter beside strengths, as ``Leaderboard.parameters`` without ``component``.

    The interval of ν is symmetric in ln ν, that of κ in ln(κ - 1), and so within their range. ``people`` and ``judge`` are the
    estimates by either alone.

    Args:
        alone: the estimates by ``people`` and by the ``judge``.
        draws: replicates of the parameters, shape (replicates, k), whose percentiles are the ends; None: the sandwich.
    """
    names = [term.name for term in further.terms] or [TIE_TERMS[further.model]]
    count, known = len(names), len(corrected.further)
    scale = np.array([term.scale for term in further.terms] or [np.nan])
    error, low, high, degrees, reach = (np.full(count, np.nan) for _ in range(5))
    if known and draws is not None:
        low, high = expanded_interval(draws, corrected.further, corrected.sandwich.columns[0].clusters, confidence)
    elif known:
        variance = np.diag(corrected.sandwich.covariance)[-known:]
        error = np.sqrt(np.where(variance >= 0.0, variance, np.nan))
        degrees = corrected.sandwich.degrees(np.eye(len(corrected.sandwich.bread))[-known:])
        reach = two_sided_quantiles(1.0 - confidence, degrees) * error
        low, high = corrected.further - reach, corrected.further + reach
    own = _shown(corrected, further, count)
    columns = {"estimate": own, "standard_error": error, "ci_low": low, "ci_high": high, "degrees": degrees}
    if further.terms:
        z = own / error
        columns |= {"z": z, "p_value": two_sided_tail(np.abs(z), degrees), "elo": POINTS_PER_UNIT * own}
    else:
        edge = TIE_EDGES[further.model]
        if known and draws is None:
            with np.errstate(over="ignore"):
                low, high = (edge + (own - edge) * np.exp(sign * reach * own / (own - edge)) for sign in (-1.0, 1.0))
        else:
            low, high = np.exp(low), np.exp(high)
        columns |= {"standard_error": error * own, "ci_low": low, "ci_high": high}
    columns |= {"scale": scale, **{kind: _shown(one, further, count) for kind, one in alone.items()}}
    empty = np.full(count, np.nan)
    table = pl.DataFrame({"term": names, **{name: columns.get(name, empty) for name in _NUMBERS}})
    finite = pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64))
    return table.with_columns(finite)


def _shown(one: CorrectedStrengths | None, further: Further, count: int) -> Floats:
    """Return ν, κ or the coefficients of an estimate; without a tie ν is 0 and κ 1."""
    if one is None:
        return np.full(count, np.nan)
    if further.terms:
        return one.further
    return np.exp(one.further) if len(one.further) else np.full(count, TIE_EDGES[further.model])
