"""Balanced draws: so many pictures from each bucket, as MagicMirror's multi-bucket sampling (4:1:1:1:1) or by score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salon_curate.dataset import DataSet, seeded_hash
from salon_curate.selection import read_columns, select
from salon_curate.stages import Stage
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Draw:
    """A balanced draw: ``keys`` has the columns ``key`` and ``bucket``; ``available`` and ``drawn`` count rows per bucket."""

    keys: "pl.DataFrame"
    available: Mapping[str, int]
    drawn: Mapping[str, int]


def shares_of(ratio: Sequence[int], number: int) -> list[int]:
    """Return how many of ``number`` each part of a ratio gets: rounded down, the rest to the largest remainders.

    Example:
        >>> shares_of([4, 1, 1, 1, 1], 32), shares_of([1, 1, 1], 10)
        ([16, 4, 4, 4, 4], [4, 3, 3])
    """
    if not ratio or min(ratio) < 1:
        raise InputError("a ratio is of whole numbers above 0, not", column="ratio", value=list(ratio))
    exact = [number * part / sum(ratio) for part in ratio]
    shares = [int(each) for each in exact]
    order = sorted(range(len(ratio)), key=lambda index: (shares[index] - exact[index], index))
    for index in order[: number - sum(shares)]:
        shares[index] += 1
    return shares


def draw(
    dataset: DataSet,
    stages: Sequence[Stage],
    buckets: Mapping[str, str],
    ratio: Sequence[int],
    number: int,
    *,
    by: str | None = None,
    seed: int = 0,
) -> Draw:
    """Draw pictures from buckets in a ratio; a picture that several buckets fit is drawn from the first at most.

    Args:
        buckets: name → SQL, in the order of the ratio.
        ratio: whole numbers, one for each bucket.
        number: of pictures in all.
        by: a column: each bucket gives its highest values (hard positives: a score of how misleading a picture is) instead of a
            random draw; equal values by the order of the keys' hashes. A row without a value is not drawn.
        seed: of the random order.

    Raises:
        InputError: the ratio does not fit the buckets, a bucket has too few pictures, or ``by`` has no numbers.
    """
    import numpy as np
    import polars as pl

    if len(ratio) != len(buckets):
        raise InputError(f"{len(buckets)} buckets need as many parts of the ratio, not", column="ratio", value=list(ratio))
    wanted = shares_of(ratio, number)
    rows = read_columns(dataset, stages, [] if by is None else [by]).collect()
    if by is not None and not (rows.schema[by].is_numeric() or rows.schema[by] == pl.Boolean):
        raise InputError("has no numbers to order by:", column="by", value=by)
    hashes = np.array([seeded_hash(key, seed, "draw") for key in rows["key"]], dtype=np.uint64)
    rank = np.zeros(len(rows)) if by is None else -rows[by].cast(float).to_numpy()  # a missing value is NaN
    free = ~np.isnan(rank)
    pieces, available = [], {}
    for (name, sql), count in zip(buckets.items(), wanted, strict=True):
        places = np.flatnonzero(select(dataset, stages, {name: sql}).mask & free)
        available[name] = len(places)
        if len(places) < count:
            hint = f"Draw at most {number * len(places) // max(count, 1)} pictures in this ratio."
            raise InputError(f"the bucket has too few pictures for {count}:", column=name, value=len(places), hint=hint)
        chosen = places[np.lexsort((hashes[places], rank[places]))[:count]]
        free[chosen] = False
        pieces.append(pl.DataFrame({"key": rows["key"].gather(chosen), "bucket": name}))
    return Draw(pl.concat(pieces), available, dict(zip(buckets, wanted, strict=True)))
