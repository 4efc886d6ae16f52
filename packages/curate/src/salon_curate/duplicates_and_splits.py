"""Stages that see the whole data set at once: duplicates, and splits that nothing straddles."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from salon_curate.dataset import seeded_hash
from salon_curate.stages import stage
from salon_ranking.near_duplicates import near_duplicates
from salon_taxonomy.errors import InputError


@stage(
    version="1",
    reads=["sha256", "phash"],
    writes={"duplicate_of": pl.String, "near_duplicate_of": pl.String},
    scope="dataset",
)
def duplicates(rows: pl.DataFrame, distance: int = 3) -> pl.DataFrame:
    """Name, for every picture, the first picture that it repeats.

    * ``duplicate_of``: the key of the first picture with the same bytes; null for the first itself.
    * ``near_duplicate_of``: the key of the first picture of its group by perceptual hash; null for the first itself.

    Groups are connected components of hashes that differ in at most ``distance`` of 64 bits; all such pairs are found. A
    picture that could not be decoded has no near-duplicate.
    """
    keys = rows["key"]
    first = pl.int_range(len(rows), eager=True)
    exact = (
        pl.DataFrame({"sha256": rows["sha256"], "place": first})
        .select(pl.when(pl.col("sha256").is_null()).then("place").otherwise(pl.col("place").min().over("sha256")))
        .to_series()
    )
    known = rows["phash"].is_not_null().to_numpy()
    near = np.arange(len(rows))
    places = np.flatnonzero(known)
    near[places] = places[near_duplicates(rows["phash"].filter(pl.Series(known)).to_numpy(), distance)]
    return pl.DataFrame(
        {
            "key": keys,
            "duplicate_of": _named(keys, exact.to_numpy()),
            "near_duplicate_of": _named(keys, near),
        },
        schema={"key": pl.String, "duplicate_of": pl.String, "near_duplicate_of": pl.String},
    )


@stage(version="1", reads=["prompt", "duplicate_of", "near_duplicate_of"], writes={"split": pl.String}, scope="dataset")
def split(rows: pl.DataFrame, shares: Mapping[str, float] | None = None, seed: int = 0) -> pl.DataFrame:
    """Divide the pictures into splits, such that duplicates, near-duplicates and pictures of one prompt stay together.

    Groups are joined as long as they share a prompt (case and white space aside) or a duplicate. A group is assigned as a
    whole, by a hash of its first key and the seed, so another picture later moves no group that it does not join.

    Args:
        rows: of the whole data set.
        shares: the name of each split with its share; default: train 0.9, test 0.1.
        seed: of the assignment.

    Raises:
        InputError: the shares are not positive, or do not add up to 1.
    """
    given = dict(shares or {"train": 0.9, "test": 0.1})
    if not given or min(given.values()) <= 0 or abs(sum(given.values()) - 1) > 1e-9:
        raise InputError("the shares must be above 0 and add up to 1, not", column="shares", value=given)
    keys = rows["key"]
    group = components(
        [
            rows["duplicate_of"].fill_null(keys),
            rows["near_duplicate_of"].fill_null(keys),
            rows["prompt"].str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(),
        ]
    )
    edges = np.cumsum(list(given.values()))[:-1]
    heads = np.unique(group)
    drawn = np.array([seeded_hash(keys[int(head)], seed, "split") / 2.0**64 for head in heads])
    names = np.array(list(given))[np.searchsorted(edges, drawn, side="right")]
    return pl.DataFrame({"key": keys, "split": names[np.searchsorted(heads, group)]})


def components(labels: list[pl.Series]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return the smallest index of each row's component.

    Rows are joined where any of the label columns is equal and not null.

    Example:
        >>> components([pl.Series(["a", "a", "b", "c"]), pl.Series([None, "x", "x", None])]).tolist()
        [0, 0, 0, 3]
    """
    frame = pl.DataFrame({f"l{number}": each for number, each in enumerate(labels)}).with_row_index("group")
    frame = frame.with_columns(pl.col("group").cast(pl.Int64))
    while True:
        before = frame["group"]
        for name in frame.columns[1:]:
            least = pl.col("group").min().over(name)
            frame = frame.with_columns(pl.when(pl.col(name).is_null()).then("group").otherwise(least).alias("group"))
        if frame["group"].equals(before):
            return before.to_numpy()


def _named(keys: pl.Series, first: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pl.Series:
    """The key of each row's first, null where that is the row itself."""
    own = first == np.arange(len(keys))
    return keys.gather(first).set(pl.Series(own), None)
