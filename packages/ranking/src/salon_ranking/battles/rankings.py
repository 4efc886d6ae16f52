"""Rankings: from a table with one row per ranked picture to arrays, and to the pairs of models that they compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles.encoding import (
    BAD_WEIGHT,
    LEAST_WEIGHT,
    MOST_RATIO,
    MOST_WEIGHT,
    RATIO_HINT,
    counting,
    numbered,
    weight_of,
)
from salon_ranking.errors import BattleError
from salon_ranking.files import reading
from salon_ranking.table_checks import RowCheck, all_wrong, wrong_rows

Codes = NDArray[np.uint32]

PLACE = "place"
"""The column that, as ``ranking_id``, tells a table of rankings from one of battles."""
UNPLACED = "unplaced"
"""The place of models below all others of a ranking whose order is not known."""
MOST_TIED = 4
"""The most models on one place, as in the core (``plackett_luce.rs``)."""
_BELOW = 2**32 - 1  # the core's code of UNPLACED
_ID = "ranking_id"
_BATTLE = {"model_a", "model_b", "winner"}


@dataclass(frozen=True, eq=False)
class Orders:
    """Rankings as arrays, best first.

    Attributes:
        start: the first entry of each ranking, and the number of all entries, shape (rankings + 1,).
        model: the number of each entry's model, shape (entries,).
        place: the place of each entry, shape (entries,); only their order matters, equal places are ties, and 2³² - 1 is that
            of unplaced models.
        weight: of each ranking, shape (rankings,).
        clusters: the code of each ranking in each column to cluster by.
    """

    start: NDArray[np.uint64]
    model: Codes
    place: Codes
    weight: NDArray[np.float64]
    clusters: tuple[Codes, ...] = ()

    @property
    def count(self) -> int:
        """Number of rankings."""
        return len(self.weight)

    @property
    def ranking(self) -> NDArray[np.int64]:
        """The ranking of each entry, shape (entries,)."""
        return np.repeat(np.arange(self.count), np.diff(self.start.astype(np.int64)))

    @property
    def groups(self) -> tuple[Codes, ...]:
        """The clusters of each ranking in each column; of two columns, their crossings too."""
        if len(self.clusters) < 2:
            return self.clusters
        first, second = self.clusters
        crossed = first.astype(np.int64) * (int(second.max(initial=0)) + 1) + second
        return (first, second, np.unique(crossed, return_inverse=True)[1].astype(np.uint32))

    def among(self, members: NDArray[np.int64]) -> "Orders":
        """Return the rankings of some models, which get new numbers; those that compare no two of them are left out."""
        number = np.full(int(self.model.max(initial=0)) + 1, -1, dtype=np.int64)
        known = members[members < len(number)]
        number[known] = np.arange(len(known))
        kept = number[self.model] >= 0
        first, last = (np.searchsorted(self.ranking[kept], np.arange(self.count), side) for side in ("left", "right"))
        compares = last - first > 1
        compares[compares] = self.place[kept][first[compares]] != _BELOW
        rows = np.flatnonzero(kept)[compares[self.ranking[kept]]]
        return Orders(
            np.concatenate([[0], np.cumsum((last - first)[compares])]).astype(np.uint64),
            number[self.model[rows]].astype(np.uint32),
            np.ascontiguousarray(self.place[rows]),
            self.weight[compares],
            tuple(np.unique(codes[compares], return_inverse=True)[1].astype(np.uint32) for codes in self.clusters),
        )

    def compared(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the entries of every pair that a ranking compares, the better one first: all but two unplaced models."""
        start, better, worse = self.start.astype(np.int64), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        sizes = np.diff(start)
        for size in np.unique(sizes):
            one, other = np.triu_indices(int(size), 1)
            entries = start[:-1][sizes == size, None]
            better.append((entries + one).ravel())
            worse.append((entries + other).ravel())
        first, second = np.concatenate(better), np.concatenate(worse)
        placed = self.place[first] != _BELOW
        return first[placed], second[placed]

    def cells(self, models: int) -> _core.Cells:
        """Return the pairs that are compared, counted as battles."""
        first, second = self.compared()
        ranking = self.ranking[first]
        aggregator, groups = _core.Aggregator(), self.groups
        aggregator.add(
            self.model[first],
            self.model[second],
            (self.place[first] == self.place[second]).astype(np.uint32),
            [0, 2],  # the core's codes of a win and a tie
            self.weight[ranking],
            groups[-1][ranking] if groups else None,
        )
        clusters, heads = (
            np.unique(groups[-1], return_index=True) if groups else (np.empty(0, np.uint32), np.empty(0, np.int64))
        )
        cells = aggregator.finish(models, np.arange(models, dtype=np.uint32), len(clusters), clusters)
        return cells if len(groups) < 3 else _core.crossed(cells, groups[0][heads], groups[1][heads])


class EncodedRankings(NamedTuple):
    """Rankings and the names of their models, in ascending order."""

    orders: Orders
    models: tuple[str, ...]


def is_of_rankings(names: Sequence[str]) -> bool:
    """Return whether a table with these columns holds rankings.

    Example:
        >>> is_of_rankings(["ranking_id", "model", "place"]), is_of_rankings(["model_a", "model_b", "winner", "place"])
        (True, False)
    """
    return bool({PLACE, _ID} & {*names}) and not _BATTLE & {*names}


def encode_rankings(frame: pl.LazyFrame, weight: str | None, clusters: Sequence[str], source: str) -> EncodedRankings:
    """Check and encode a table of rankings; rows of weight 0 are left out.

    Raises:
        BattleError: a column is missing or of the wrong type; a row has no id, no model, no place of 1 or more, or no value to
            cluster by; a ranking has one model, a model twice, no place, different weights or clusters, or more than
            ``MOST_TIED`` models on a place; or there are no rankings.
    """
    with reading(source):
        _check_schema(frame.collect_schema(), weight, clusters, source)
        columns = dict.fromkeys([_ID, "model", PLACE, *clusters, *([] if weight is None else [weight])])
        rows = counting(numbered(frame).select("__row", *columns), weight).collect()
    _check_rows(rows, weight, clusters, source)
    place = pl.when(_is_unplaced()).then(_BELOW).otherwise(_place().rank("dense").over(_ID)).cast(pl.UInt32)
    codes = [pl.col(name).cast(pl.String).alias(f"cluster {number}") for number, name in enumerate(clusters)]
    text = pl.col(_ID, "model").cast(pl.String)
    table = rows.select(text, *codes, place=place, weight=weight_of(weight)).sort(_ID, "place", "model")
    first = table[_ID].is_first_distinct()
    start = np.append(np.flatnonzero(first.to_numpy()), table.height).astype(np.uint64)
    names = sorted(table["model"].unique())
    heads = table.filter(first)
    if not table.height:
        raise BattleError("there are no rankings", source=source)
    orders = Orders(
        start,
        table["model"].cast(pl.Enum(names)).to_physical().cast(pl.UInt32).to_numpy(),
        table["place"].to_numpy(),
        heads["weight"].to_numpy(),
        tuple(heads[f"cluster {k}"].rank("dense").cast(pl.UInt32).to_numpy() - np.uint32(1) for k in range(len(clusters))),
    )
    return EncodedRankings(orders, tuple(names))


def _check_schema(schema: pl.Schema, weight: str | None, clusters: Sequence[str], source: str) -> None:
    wanted = [_ID, "model", PLACE, *clusters, *([] if weight is None else [weight])]
    missing = [name for name in wanted if name not in schema]
    if missing:
        hint = "A table with the column place holds rankings, one row per ranked picture: ranking_id, model, place."
        raise BattleError("missing column", source=source, value=missing[0], found=schema.names(), hint=hint)
    for name in wanted:
        dtype = schema[name]
        is_text = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
        if dtype.is_nested():
            raise BattleError("must hold one value per row, not", source=source, column=name, value=str(dtype))
        if name in (_ID, "model") and not (is_text or dtype.is_integer()):
            raise BattleError("must hold text, not", source=source, column=name, value=str(dtype))
        if name in (PLACE, weight) and not (dtype.is_numeric() or is_text):
            raise BattleError("must hold numbers, not", source=source, column=name, value=str(dtype))


def _is_unplaced() -> pl.Expr:
    return pl.col(PLACE).cast(pl.String) == UNPLACED


def _place() -> pl.Expr:
    """Return the place of each row as a float, null where it is not a number."""
    return pl.col(PLACE).cast(pl.String).cast(pl.Float64, strict=False)


def _check_rows(rows: pl.DataFrame, weight: str | None, clusters: Sequence[str], source: str) -> None:
    """Refuse wrong rows, every kind of mistake in one error."""
    place, model = _place(), pl.col("model").cast(pl.String)
    named = pl.col(_ID).is_not_null() & (pl.col(_ID).cast(pl.String).str.strip_chars() != "")
    is_place = _is_unplaced() | (place.is_finite() & (place >= 1) & (place == place.round())).fill_null(False)
    tied = pl.len().over(_ID, place) > MOST_TIED
    checks = [
        RowCheck(_ID, "no ranking id", ~named),
        RowCheck("model", "no model name", model.is_null()),
        RowCheck("model", "empty model name", model.str.strip_chars() == ""),
        RowCheck(PLACE, "no place", pl.col(PLACE).is_null()),
        RowCheck(PLACE, f"a place is a whole number of 1 or more, or {UNPLACED}, not", ~is_place & pl.col(PLACE).is_not_null()),
        RowCheck("model", "a model twice in one ranking:", named & pl.struct(_ID, model.alias("m")).is_first_distinct().not_()),
        RowCheck(_ID, "a ranking of one model:", named & (pl.len().over(_ID) < 2), hint="A ranking needs two models or more."),
        RowCheck(_ID, "a ranking without places:", named & _is_unplaced().all().over(_ID)),
        RowCheck(
            PLACE,
            f"more than {MOST_TIED} models on one place:",
            named & tied & place.is_not_null(),
            hint=f"Write {UNPLACED} as the place of models below all others whose order is not known.",
        ),
        *(RowCheck(name, "no value to cluster by", pl.col(name).is_null()) for name in clusters),
        *(
            RowCheck(
                name, "another value than the rows above of the same ranking:", pl.col(name) != pl.col(name).first().over(_ID)
            )
            for name in (*clusters, *([] if weight is None else [weight]))
        ),
    ]
    if weight is not None:
        value = weight_of(weight)
        checks.append(RowCheck(weight, "the weight is no number", value.is_null()))
        checks.append(RowCheck(weight, BAD_WEIGHT, ~(value.is_finite() & value.is_between(LEAST_WEIGHT, MOST_WEIGHT))))
        checks.append(
            RowCheck(
                weight,
                f"a weight more than {MOST_RATIO:,.0f} times the smallest one:",
                value > MOST_RATIO * value.min(),
                hint=RATIO_HINT,
            )
        )
    flags = {f"__wrong {number}": check.wrong for number, check in enumerate(checks)}  # evaluated once, not for each number
    flagged = rows.with_columns(**flags).lazy()
    wrong = wrong_rows(flagged, [check._replace(wrong=pl.col(name)) for name, check in zip(flags, checks, strict=True)])
    if wrong:
        raise all_wrong(wrong, source, BattleError)
