"""Find ids that are in more than one row, before a vote counts twice.

Ids are compared by 64-bit hashes, eight bytes a battle, a share of the hashes at a time where there are many; a pair that
agrees is looked up again, so that no battle is refused for a chance agreement of hashes.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles.encoding import counting, numbered
from salon_ranking.errors import BattleError, Wrong
from salon_ranking.files import reading
from salon_ranking.table_checks import all_wrong

ID = "battle_id"
"""The column that tells battles apart."""
_BATCH_ROWS = 1 << 18
_MOST_HASHES = 1 << 26
"""Hashes that are held at a time: half a gibibyte."""
_HASH, _ROW = "__hash", "__row"
_NAMED = 10
"""Ids that an error names."""
_HINT = (
    "Take one of them out; or --repeated-ids first (copies='first') keeps the first of rows that are equal in every column, "
    "--repeated-ids count (ids=None) counts all: of `salon votes rank`, `compare`, `raters` and `import`."
)


def refuse_repeated(
    frame: pl.LazyFrame,
    column: str | None,
    source: str,
    rows: int,
    *,
    weight: str | None = None,
    most: int = _MOST_HASHES,
) -> None:
    """Raise an error for an id in two rows; nulls are not compared.

    Args:
        column: the column of ids; ``battle_id`` may be absent, another may not. None: nothing is looked at.
        rows: about how many rows there are, to share the work.
        weight: the column of weights; rows of weight 0 are left out.
        most: hashes to hold at a time; more rows than that are read several times.

    Raises:
        BattleError: names the row of the first repetition, or the column where it is absent or its values are lists.

    Example:
        >>> votes = pl.LazyFrame({"battle_id": ["b1", "b2", "b1"]})
        >>> refuse_repeated(votes, "battle_id", "votes.csv", 3)
        Traceback (most recent call last):
        ...
        salon_ranking.errors.BattleError: votes.csv, row 3, column 'battle_id': the same id twice: 'b1'
        It is in row 1 already. ...
    """
    with reading(source):
        schema = frame.collect_schema()
        weights = [] if weight is None or weight == column else [weight]
    if column is None or (column == ID and column not in schema):
        return
    if column not in schema:
        raise BattleError("missing column of ids", source=source, value=column, found=schema.names())
    with reading(source):
        dtype = schema[column]
        if dtype.is_nested():
            raise BattleError("must hold one value per row, not", source=source, column=column, value=str(dtype))
        again = repeated_rows(numbered(frame).select(_ROW, column, *weights), column, rows, weight=weight, most=most)
    if not again.height:
        return
    again = again.with_columns(pl.col(column).cast(pl.String))
    second = again.filter(~pl.col(column).is_first_distinct())
    row, value = second.select(_ROW, column).row(0)
    first = again.filter(pl.col(column) == value)[_ROW][0]
    hint = f"It is in row {first:,} already. {_HINT}{_ids(second[column])}"
    raise all_wrong([Wrong("the same id twice:", row, second.height, column, value, None, hint)], source, BattleError)


def _ids(values: pl.Series) -> str:
    """Return the ids of several repeated rows as a sentence; nothing for one id."""
    ids = values.unique(maintain_order=True)
    named = ", ".join(map(repr, ids.head(_NAMED)))
    return "" if len(ids) < 2 else f"\nThe ids: {named}{', …' if len(ids) > _NAMED else ''}."


def repeated_rows(
    frame: pl.LazyFrame, column: str, rows: int, *, weight: str | None = None, most: int = _MOST_HASHES
) -> pl.DataFrame:
    """Return the rows whose id is in another row too, in their order, with the number of each from 1 in ``__row``.

    The arguments are those of :func:`refuse_repeated`.

    Example:
        >>> repeated_rows(pl.LazyFrame({"id": ["b1", "b2", "b1", None]}), "id", 4).rows()
        [(1, 'b1'), (3, 'b1')]
    """
    ids = counting(frame, weight).select(pl.col(column).cast(pl.String))
    shares = -(-max(rows, 1) // most)
    suspects = np.concatenate([_repeated(_hashes(ids, column, share, shares)) for share in range(shares)])
    if not len(suspects):
        return numbered(frame).head(0).collect()
    id_ = pl.col(column).cast(pl.String)
    hashed = counting(numbered(frame), weight).filter(id_.is_not_null(), id_.hash().is_in(suspects.tolist()))
    return hashed.collect().sort(_ROW).filter(id_.is_duplicated())


def row_count(frame: pl.LazyFrame) -> int:
    """Return the number of rows."""
    return int(frame.select(pl.len()).collect().item())


def _hashes(ids: pl.LazyFrame, column: str, share: int, shares: int) -> NDArray[np.uint64]:
    """Return the hashes of all ids whose hash falls into one share, ascending."""
    hashes = ids.filter(pl.col(column).is_not_null()).select(pl.col(column).hash().alias(_HASH))
    if shares > 1:
        hashes = hashes.filter(pl.col(_HASH) % shares == share)
    all_hashes: NDArray[np.uint64] = np.concatenate([np.empty(0, dtype=np.uint64), *_batches(hashes)])
    all_hashes.sort()
    return all_hashes


def _batches(hashes: pl.LazyFrame) -> Iterator[NDArray[np.uint64]]:
    for batch in hashes.collect_batches(maintain_order=False, chunk_size=_BATCH_ROWS):
        yield batch[_HASH].to_numpy()


def _repeated(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the values that occur more than once among ascending ones."""
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
