"""Observed and predicted win rates of pairs of models."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.models.pair_totals import pair_totals
from salon_ranking.models.ratings import Ratings, predicted
from salon_ranking.options import checked, takes_battles

Floats = NDArray[np.float64]

MOST_MODELS = 2_000
"""Above this many models, no square table is made."""


@takes_battles
def win_rates(battles: Battles, ratings: Ratings | None = None, *, every_pair: bool = False) -> pl.DataFrame:
    """Return one row per model and opponent, in both directions.

    Args:
        ratings: a fit of the same models, for the column ``predicted``.
        every_pair: also pairs that never met, with 0 matches and no win rate; for at most 2,000 models.

    Returns:
        ``model``, ``opponent`` (in ascending order), ``matches``, ``wins``, ``ties``, ``losses`` (sums of weights),
        ``win_rate`` ((wins + ties/2) / matches; null without matches), and with ratings ``predicted``: the fitted win rate,
        ties as half wins (null where models cannot be compared).

    Raises:
        OptionError: the ratings are of other models, or there are too many models for ``every_pair``.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_a", "tie"]})
        >>> win_rates(Battles.from_frame(votes)).select("model", "opponent", "win_rate").rows()
        [('x', 'y', 0.75), ('y', 'x', 0.25)]
    """
    if ratings is not None and ratings.models != battles.models:
        raise OptionError("the ratings are of other models", source=battles.source)
    totals = pair_totals(battles)
    first, second = np.append(totals.first, totals.second), np.append(totals.second, totals.first)
    wins, losses, ties = np.concatenate([totals.outcomes, totals.outcomes[[1, 0, 2]]], axis=1)
    if every_pair:
        first, second, (wins, losses, ties) = _spread(battles, first, second, (wins, losses, ties))
    matches = wins + ties + losses
    with np.errstate(invalid="ignore"):
        rate = (wins + 0.5 * ties) / matches
    names = pl.Series(battles.models, dtype=pl.String)
    columns = {
        "model": names.gather(first),
        "opponent": names.gather(second),
        "matches": matches,
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "win_rate": rate,
    }
    if ratings is not None:
        columns["predicted"] = predicted(ratings, first, second)
    frame = pl.DataFrame(columns).with_columns(pl.col("^win_rate|predicted$").fill_nan(None))
    return frame.sort("model", "opponent")


@checked
def as_matrix(rates: pl.DataFrame, value: str = "win_rate") -> pl.DataFrame:
    """Return a column of :func:`win_rates` as a square: a row per ``model``, a column per opponent; null: unknown.

    Raises:
        OptionError: there is no such column, or there are more than 2,000 models.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_a", "tie"]})
        >>> as_matrix(win_rates(Battles.from_frame(votes)), "wins").rows()
        [('x', None, 1.0), ('y', 0.0, None)]
    """
    known = [name for name in rates.columns if name not in ("model", "opponent")]
    if value not in known:
        raise OptionError("unknown column of win rates", value=value, allowed=known)
    names = rates["model"].unique().sort().to_list()
    if len(names) > MOST_MODELS:
        raise OptionError("too many models for a square table:", value=len(names), hint=f"At most {MOST_MODELS:,}.")
    # The column of a model may have any name, even "model".
    square = np.full((len(names), len(names)), None, dtype=object)
    row_of = {name: number for number, name in enumerate(names)}
    for model, opponent, number in rates.select("model", "opponent", value).iter_rows():
        square[row_of[model], row_of[opponent]] = number
    heading = "model" if "model" not in row_of else "model (row)"
    columns = {heading: pl.Series(names, dtype=pl.String)}
    for name, number in row_of.items():
        columns[name] = pl.Series(square[:, number].tolist(), dtype=pl.Float64)
    return pl.DataFrame(columns)


def _spread(
    battles: Battles, first: NDArray[np.int64], second: NDArray[np.int64], columns: tuple[Floats, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Floats]]:
    """Return the same columns with an entry for every ordered pair."""
    count = len(battles.models)
    if count > MOST_MODELS:
        raise OptionError(
            "too many models for every pair:", value=count, hint=f"At most {MOST_MODELS:,}; leave every_pair out."
        )
    rows, others = np.nonzero(~np.eye(count, dtype=bool))
    squares = []
    for column in columns:
        square = np.zeros((count, count))
        square[first, second] = column
        squares.append(square[rows, others])
    return rows, others, squares
