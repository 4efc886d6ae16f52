"""Observed win rates of pairs of models."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.errors import UnknownModelError
from salon_ranking.options import takes_battles

__all__ = ["head_to_head"]


@takes_battles
def head_to_head(battles: Battles, models: Sequence[str] | None = None) -> pl.DataFrame:
    """Return every ordered pair of models that met.

    Args:
        models: only pairs among these; by default all models.

    Returns:
        Columns ``model``, ``opponent`` (both in ascending order), ``matches``, ``wins``, ``ties`` (sums of weights, seen from
        ``model``) and ``win_rate``, (wins + ties/2) / matches, as MEF defines it.

    Raises:
        UnknownModelError: one of ``models`` has no battle.

    Example:
        >>> rows = {"model_a": ["x", "y", "x"], "model_b": ["y", "x", "y"], "winner": ["model_a", "tie", "model_a"]}
        >>> votes = pl.DataFrame(rows)
        >>> head_to_head(Battles.from_frame(votes)).select("model", "opponent", "matches", "win_rate").rows()[0]
        ('x', 'y', 3.0, 0.8333333333333334)
    """
    chosen = sorted(set(battles.models if models is None else models))
    number = {name: index for index, name in enumerate(battles.models)}
    for name in chosen:
        if name not in number:
            raise UnknownModelError("unknown model", source=battles.source, value=name, allowed=battles.models)
    row_of = np.full(len(battles.models), -1, dtype=np.int64)
    row_of[[number[name] for name in chosen]] = np.arange(len(chosen))
    first, second, outcome, _, count, weight = battles.cells.columns()
    mine, theirs = row_of[first], row_of[second]
    kept = (mine >= 0) & (theirs >= 0)
    cells = pl.DataFrame({"one": mine[kept], "other": theirs[kept], "outcome": outcome[kept], "weight": (count * weight)[kept]})
    seen = pl.concat(
        [
            cells.select("one", "other", "weight", won=pl.col("outcome") == 0, tied=pl.col("outcome") == 2),
            cells.select(
                pl.col("other").alias("one"),
                pl.col("one").alias("other"),
                "weight",
                won=pl.col("outcome") == 1,
                tied=pl.col("outcome") == 2,
            ),
        ]
    )
    sums = (
        seen.group_by("one", "other")
        .agg(
            matches=pl.col("weight").sum(),
            wins=(pl.col("weight") * pl.col("won")).sum(),
            ties=(pl.col("weight") * pl.col("tied")).sum(),
        )
        .sort("one", "other")
    )
    names = pl.Series(chosen, dtype=pl.String)
    return sums.select(
        names.gather(sums["one"]).alias("model"),
        names.gather(sums["other"]).alias("opponent"),
        "matches",
        "wins",
        "ties",
        win_rate=(pl.col("wins") + 0.5 * pl.col("ties")) / pl.col("matches"),
    )
