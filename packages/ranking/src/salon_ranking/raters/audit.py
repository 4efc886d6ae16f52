"""Draw a share of every rater's battles, to be judged again by another rater (MEF, section 5.1.2: 25%).

Which battles are drawn depends on the seed and the battles' ids alone: not on their order, the machine, or other raters.
"""

import hashlib
from typing import Annotated

import polars as pl

from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import Frame, as_lazy, reading
from salon_ranking.options import Range, Seed, checked


@checked
def audit_sample(
    battles: Frame,
    *,
    share: Annotated[float, Range(0, 1)] = 0.25,
    seed: Seed = 0,
    mode: str | None = None,
    source: str = "battles",
) -> pl.DataFrame:
    """Draw ``share`` of each rater's battles, rounded up; the rows as they were, in their order.

    Args:
        battles: with ``battle_id`` (each once) and ``rater_id``.
        mode: only battles of this mode, such as ``"expert"``; needs the column ``mode``.

    Raises:
        OptionError: the share is not above 0 and at most 1.
        BattleError: a column is missing or has a null, or an id occurs twice.

    Example:
        >>> rows = pl.DataFrame({"battle_id": [f"b{n}" for n in range(8)], "rater_id": ["r"] * 4 + ["s"] * 4})
        >>> audit_sample(rows, share=0.25)["rater_id"].to_list()
        ['r', 's']
    """
    if not 0.0 < share <= 1.0:
        raise OptionError("the share to audit must be above 0 and at most 1, not", value=share)
    with reading(source):
        whole = as_lazy(battles, source).collect()
    for column in ("battle_id", "rater_id", *(["mode"] if mode is not None else [])):
        if column not in whole.columns:
            raise BattleError("missing column", source=source, value=column, found=whole.columns)
    chosen = whole.with_row_index("__row").filter(pl.lit(True) if mode is None else pl.col("mode").cast(pl.String) == mode)
    for column in ("battle_id", "rater_id"):
        empty = chosen.filter(pl.col(column).is_null())
        if len(empty):
            raise BattleError("no value", source=source, row=int(empty["__row"][0]) + 1, column=column)
    twice = chosen.filter(~pl.col("battle_id").is_first_distinct())
    if len(twice):
        row, value = int(twice["__row"][0]) + 1, twice["battle_id"][0]
        raise BattleError("occurs twice:", source=source, row=row, column="battle_id", value=value)
    lots = pl.Series("__lot", [_draw_key(str(battle), seed) for battle in chosen["battle_id"].to_list()], dtype=pl.String)
    lot_rank = pl.col("__lot").rank("ordinal").over("rater_id")
    drawn = chosen.with_columns(lots).filter(lot_rank <= (share * pl.len().over("rater_id")).ceil())
    return drawn.sort("__row").drop("__row", "__lot")


def _draw_key(battle: str, seed: int) -> str:
    """Return a battle's key of drawing, a hash in hexadecimal digits."""
    return hashlib.blake2b(f"audit\0{seed}\0{battle}".encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
