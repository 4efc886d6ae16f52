"""Stages that see the whole data set at once: duplicates, shared stretches of clips, and splits that nothing straddles."""

from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from salon_curate.clips import SAMPLES_PER_SECOND
from salon_curate.dataset import seeded_hash
from salon_curate.stages import dataset_stage
from salon_ranking.near_duplicates import near_duplicates

_LEAST_SAMPLES: Final = 15
"""Of a stretch that clips share: 1.5 s."""
_STRETCHES: Final = ("stretch_group",)


def _shortened(rows: pl.DataFrame) -> pl.DataFrame:
    """Keep 128 bits of each SHA-256 as two numbers instead of 64 characters."""
    digests = np.frombuffer(bytes.fromhex("".join(rows["sha256"].fill_null("0" * 64))), ">u8").reshape(-1, 4)
    halves = {name: pl.Series(digests[:, place].astype(np.uint64)) for place, name in enumerate(("first_half", "second_half"))}
    known = rows["sha256"].is_not_null()
    return rows.select("key", "phash").with_columns(pl.when(known).then(each).alias(name) for name, each in halves.items())


@dataset_stage(
    version="1",
    reads=["sha256", "phash"],
    writes={"duplicate_of": pl.String, "near_duplicate_of": pl.String},
    prepare=_shortened,
)
def duplicates(rows: pl.DataFrame, distance: Annotated[int, Field(ge=0, le=7)] = 3) -> pl.DataFrame:
    """Name, for every picture, the first picture that it repeats.

    * ``duplicate_of``: the key of the first picture with the same bytes; null for the first itself.
    * ``near_duplicate_of``: the key of the first picture of its group by perceptual hash; null for the first itself.

    Groups are connected components of hashes that differ in at most ``distance`` of 64 bits (0 to 7); all such pairs are
    found. A picture that could not be decoded has no near-duplicate.
    """
    keys = rows["key"]
    exact, twice = np.arange(len(rows)), _repeated(rows["first_half"])
    halves = rows.select("first_half", "second_half")[twice].with_columns(row=twice)
    exact[twice] = halves.select(pl.col("row").min().over("first_half", "second_half")).to_series().to_numpy()
    known = rows["phash"].is_not_null()
    near = np.arange(len(rows))
    places = np.flatnonzero(known.to_numpy())
    near[places] = places[near_duplicates(rows["phash"].drop_nulls().to_numpy(), distance)]
    return pl.DataFrame({"key": keys, "duplicate_of": _named(keys, exact), "near_duplicate_of": _named(keys, near)})


@dataset_stage(
    version="2",
    reads=["frame_hashes"],
    writes={
        "stretch_of": pl.String,
        "stretch_s": pl.Float32,
        "stretch_at_s": pl.Float64,
        "stretch_of_at_s": pl.Float64,
        "stretch_group": pl.String,
    },
)
def stretches(rows: pl.DataFrame) -> pl.DataFrame:
    """Name, for every clip, the earlier clip that it shares its longest stretch with: cut out, encoded again or resized.

    * ``stretch_of``: the key of that clip; null where no earlier clip shares a stretch of 1.5 s or more.
    * ``stretch_s``: length of the stretch, in seconds.
    * ``stretch_at_s``, ``stretch_of_at_s``: where it begins in this clip and in the other, in seconds.
    * ``stretch_group``: the key of the first of all clips that such stretches connect, also by way of others; null where no
      clip shares one.

    A stretch is a run of samples, ten per second, whose ``frame_hashes`` differ in at most 6 of 64 bits pair by pair; black
    pictures are in none. Two clips are compared where one sample of each lies in one group of hashes that differ in at most 3
    bits; the time grows with the square of the clips in a group. A clip without hashes has no stretch.
    """
    keys, hashes = rows["key"].to_list(), [np.asarray(each or (), np.uint64) for each in rows["frame_hashes"].to_list()]
    best: dict[int, tuple[int, int, int, int]] = {}
    shared: list[tuple[int, int]] = []
    for first, second in _sharing(hashes):
        length, at_first, at_second = longest_run(hashes[first], hashes[second])
        if length < _LEAST_SAMPLES:
            continue
        shared.append((first, second))
        if length > best.get(second, (0,))[0]:
            best[second] = (length, first, at_second, at_first)
    label = np.full(len(rows), -1)
    edges = pl.Series([number for number in range(len(shared)) for _ in range(2)], dtype=pl.Int64)
    ends = pl.Series([clip for pair in shared for clip in pair], dtype=pl.Int64)
    heads = components([edges, ends])
    label[ends.to_numpy()] = ends.to_numpy()[heads]
    nothing = (None,) * 4
    records = []
    for row in range(len(rows)):
        length, first, at, of_at = best.get(row, (0, 0, 0, 0))
        longest = (keys[first], *(each / SAMPLES_PER_SECOND for each in (length, at, of_at))) if length else nothing
        records.append((*longest, keys[label[row]] if label[row] >= 0 else None))
    return rows.select("key").hstack(pl.DataFrame(records, schema=dict(stretches.writes), orient="row"))


def _sharing(hashes: list[NDArray[np.uint64]]) -> list[tuple[int, int]]:
    """Return the pairs of clips with near-duplicate samples, ascending."""
    owners = np.repeat(np.arange(len(hashes)), [len(each) for each in hashes])
    groups = near_duplicates(np.concatenate([*hashes, np.empty(0, np.uint64)]), 3)
    clips_of = pl.DataFrame({"group": groups, "clip": owners}).unique().sort("group", "clip").group_by("group").agg("clip")
    pairs = {pair for clips in clips_of["clip"].to_list() for pair in combinations(clips, 2)}
    return sorted(pairs)


def longest_run(first: NDArray[np.uint64], second: NDArray[np.uint64], bits: int = 6) -> tuple[int, int, int]:
    """Return the longest run of samples that two clips share: its length, and where it begins in each.

    Samples agree whose hashes differ in at most ``bits`` bits; a hash of 0, of a black picture, agrees with none.

    Example:
        >>> one, other = np.array([1, 2**20 - 1, 2**40 - 1, 7], np.uint64), np.array([2**20 - 1, 2**40 - 1], np.uint64)
        >>> longest_run(one, other)
        (2, 1, 0)
    """
    best, before = (0, 0, 0), np.zeros(len(second) + 1, np.int64)
    for row, value in enumerate(first):
        runs = np.zeros_like(before)
        agrees = (np.bitwise_count(second ^ value) <= bits) & (second != 0) & (value != 0)
        runs[1:] = (before[:-1] + 1) * agrees
        end = int(runs.argmax())
        if runs[end] > best[0]:
            best = (int(runs[end]), row + 1 - int(runs[end]), end - int(runs[end]))
        before = runs
    return best


def _hashed(rows: pl.DataFrame) -> pl.DataFrame:
    """Replace what rows may share, keys of first pictures, prompts, films and pictures that were edited, by 64-bit hashes."""
    prompt = pl.col("prompt").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    same = [pl.col(name).fill_null(pl.col("key")) for name in ("duplicate_of", "near_duplicate_of")]
    shared = [pl.col(name) for name in (*_STRETCHES, "edited") if name in rows.columns]
    if "meta" in rows.columns:
        shared.append(pl.col("meta").str.json_path_match("$.film_sha256").alias("film"))
    return rows.select(
        "key",
        *(each.hash() for each in same),
        *(pl.when(each.is_not_null()).then(each.hash()) for each in shared),
        pl.when(prompt != "").then(prompt.hash()).alias("prompt"),
    )


def _add_up(shares: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Refuse shares that do not divide a whole."""
    if shares is not None and not (all(share > 0 for share in shares.values()) and abs(sum(shares.values()) - 1) <= 1e-9):
        raise ValueError("the shares must be above 0 and add up to 1")
    return shares


@dataset_stage(
    version="3",
    reads=["prompt", "meta", "edited", "duplicate_of", "near_duplicate_of"],
    writes={"split": pl.String},
    prepare=_hashed,
    also=_STRETCHES,
)
def split(
    rows: pl.DataFrame,
    shares: Annotated[Mapping[str, float] | None, AfterValidator(_add_up)] = None,
    seed: Annotated[int, Field(ge=0)] = 0,
) -> pl.DataFrame:
    """Divide the pictures into splits, such that duplicates, near-duplicates and pictures of one prompt stay together.

    So do edits of one picture, clips that ``cut`` made of one film, and clips that share stretches, where the pipeline has the
    stage ``stretches`` before it.

    Groups are joined as long as they share a prompt (case and white space aside; empty ones are not), the edited picture, the
    film, a duplicate or a stretch. A group is assigned as a whole, by a hash of its first key and the seed, so another picture
    later moves no group that it does not join.

    Args:
        rows: of the whole data set.
        shares: the name of each split with its share, above 0; they add up to 1. Default: train 0.9, test 0.1.
        seed: of the assignment.
    """
    ratio = dict(shares or {"train": 0.9, "test": 0.1})
    keys = rows["key"]
    group = components([rows[name] for name in rows.columns if name != "key"])
    edges = np.cumsum(list(ratio.values()))[:-1]
    heads = np.unique(group)
    drawn = np.fromiter((seeded_hash(key, seed, "split") / 2.0**64 for key in keys.gather(heads)), np.float64, len(heads))
    places = np.searchsorted(edges, drawn, side="right")
    return pl.DataFrame({"key": keys, "split": pl.Series(list(ratio)).gather(places[np.searchsorted(heads, group)])})


def components(labels: list[pl.Series]) -> NDArray[np.int64]:
    """Return the smallest index of each row's component.

    Rows are joined where any of the label columns is equal and not null.

    Example:
        >>> components([pl.Series(["a", "a", "b", "c"]), pl.Series([None, "x", "x", None])]).tolist()
        [0, 0, 0, 3]
    """
    group = np.arange(len(labels[0]))
    shared = [_shared(label) for label in labels]
    while True:
        before = group.copy()
        for rows, begins, sizes in shared:
            if len(rows):
                least = np.repeat(np.minimum.reduceat(group[rows], begins), sizes)
                np.minimum.at(group, group[rows], least)  # the heads move first, so that a chain halves with every turn
                group[rows] = least
                group = group[group]
        if np.array_equal(group, before):
            return group


def _shared(label: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that share a label, ordered by it; where each label begins; how many rows have it."""
    rows = _repeated(label)
    values = label.gather(rows).to_numpy()
    order = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.append(True, values[order[1:]] != values[order[:-1]])[: len(order)])
    return rows[order], begins, np.diff(begins, append=len(order))


def _repeated(label: pl.Series) -> NDArray[np.int64]:
    """Return the rows whose label occurs more than once; sorted, because a table of groups takes ten times the memory."""
    known = label.drop_nulls().to_numpy()
    ordered = np.sort(known)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.empty(0, np.int64)
    index = np.searchsorted(twice, known).clip(max=len(twice) - 1)
    rows: NDArray[np.int64] = np.flatnonzero(label.is_not_null().to_numpy())[twice[index] == known]
    return rows


def _named(keys: pl.Series, first: NDArray[np.int64]) -> pl.Series:
    """Return the key of each row's first, null where that is the row itself."""
    places = pl.Series(first)
    return keys.gather(places.set(pl.Series(first == np.arange(len(first))), None))
