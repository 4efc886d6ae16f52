"""Names into 0 … n-1: battles as polars frames become the numeric core's cells.

Labels are encoded by polars itself, as categorical codes of a registry made for this one call, batch by batch: rows
never become Python objects, and memory does not grow with their number. Codes depend on the order in which threads meet
names, so models and clusters are renumbered by their sorted names at the end.
"""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import BattleError
from salon_ranking.files import reading
from salon_ranking.table_checks import RowCheck, all_wrong, wrong_rows
from salon_taxonomy.enums import Winner

_BATCH_ROWS = 1 << 18
_OUTCOMES = {Winner.MODEL_A: 0, Winner.MODEL_B: 1, Winner.BOTH_GOOD: 2, Winner.BOTH_BAD: 2, Winner.TIE: 2}
_LABELS = [label.value for label in _OUTCOMES]
_MODELS = ("model_a", "model_b")
LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""The range of a battle's weight, 0 aside."""
MOST_RATIO = 1e6
"""The largest weight over the smallest one of the same battles. Up to here, the standard error of a difference that rests on
the smallest weights alone keeps five digits in double precision; at 1e8 it is off by 6%, at 1e9 it cannot be computed."""
BAD_WEIGHT = "a weight that cannot be used:"


@dataclass(frozen=True)
class BattleColumns:
    """Which columns of the frame hold the optional parts of a battle."""

    weight: str | None = None
    cluster: tuple[str, ...] = ()
    """Columns: battles with equal values may depend on each other; of several columns, the crossings are the clusters."""

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        weight = [] if self.weight is None else [self.weight]
        return list(dict.fromkeys([*_MODELS, "winner", *weight, *self.cluster]))


@dataclass(frozen=True, eq=False)
class ClusterKey:
    """A cluster column: its values in ascending order, and the number of the value of each of the cells' clusters."""

    values: tuple[str, ...]
    number: NDArray[np.uint32]


@dataclass(frozen=True)
class Encoded:
    """Cells, and the names behind their numbers, in ascending order."""

    cells: _core.Cells
    models: tuple[str, ...]
    keys: tuple[ClusterKey, ...]


class _Names:
    """A registry of names that polars fills while it reads."""

    def __init__(self) -> None:
        self._registry = pl.Categories.random()
        self.dtype = pl.Categorical(self._registry)
        self._anchor = pl.Series([], dtype=self.dtype)  # polars forgets a registry that no column uses

    def first(self, count: int) -> list[str]:
        """Return the names behind the codes 0 … count-1."""
        return [str(self._registry[code]) for code in range(count)]


class _Clusters:
    """Numbers the cluster of every battle, by one column or by the crossing of several."""

    def __init__(self, columns: int) -> None:
        self._crossers = [_core.Crosser() for _ in range(1, columns)]
        self._counts = [0] * columns

    def code(self, codes: tuple[NDArray[np.uint32], ...]) -> NDArray[np.uint32] | None:
        """Return one code per battle, from its code in each column; None without columns."""
        if not codes:
            return None
        self._counts = [max(count, int(column.max()) + 1) for count, column in zip(self._counts, codes, strict=True)]
        code = codes[0]
        for crosser, column in zip(self._crossers, codes[1:], strict=True):
            code = crosser.number(code, column)
        return code

    def finish(self, columns: list[_Names]) -> tuple[NDArray[np.uint32], tuple[ClusterKey, ...]]:
        """Return the final number of every code, in ascending order of its values, and what the values are."""
        if not columns:
            return np.empty(0, dtype=np.uint32), ()
        values = [names.first(count) for names, count in zip(columns, self._counts, strict=True)]
        codes: list[NDArray[np.uint32]] = []
        crossed = np.arange(self._counts[0] if not self._crossers else len(self._crossers[-1].met()[0]), dtype=np.uint32)
        for crosser in reversed(self._crossers):
            left, right = crosser.met()
            codes.insert(0, right[crossed])
            crossed = left[crossed]
        codes.insert(0, crossed)
        ranks = [by_name(names)[column] for names, column in zip(values, codes, strict=True)]
        order = np.lexsort(ranks[::-1])
        numbers = np.empty(len(order), dtype=np.uint32)
        numbers[order] = np.arange(len(order), dtype=np.uint32)
        return numbers, tuple(ClusterKey(tuple(sorted(names)), rank[order]) for names, rank in zip(values, ranks, strict=True))


def numbered(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return the frame with the number of each row from 1 in ``__row``, if it has none yet."""
    return frame if "__row" in frame.collect_schema() else frame.with_row_index("__row", offset=1)


def encode(frame: pl.LazyFrame, columns: BattleColumns, source: str) -> Encoded:
    """Aggregate all battles of a frame; rows of weight 0 are left out.

    Raises:
        BattleError: for a missing column, a wrong type, or the first row with a null or empty name, an unknown winner,
            a model against itself, or a weight that is neither 0 nor within ``LEAST_WEIGHT`` and ``MOST_WEIGHT``; and for
            weights of which one is more than ``MOST_RATIO`` times another.
    """
    aggregator = _core.Aggregator()
    clusters = _Clusters(len(columns.cluster))

    ends: list[float] = []

    def take(at: "CodeBatch", menu: list[int]) -> None:
        if at.weight is not None:
            seen = [*ends, float(at.weight.min()), float(at.weight.max())]
            ends[:] = [min(seen), max(seen)]
        aggregator.add(at.model_a, at.model_b, at.winner, menu, at.weight, clusters.code(at.cluster))

    names = stream(frame, columns, source, take)
    if ends and ends[1] > MOST_RATIO * ends[0]:
        raise _too_far_apart(frame, columns, source, ends[0])
    cluster_numbers, keys = clusters.finish(names.clusters)
    cells = aggregator.finish(len(names.models), by_name(names.models), len(cluster_numbers), cluster_numbers)
    return Encoded(cells, tuple(sorted(names.models)), keys)


@dataclass(frozen=True, eq=False)
class Names:
    """What stands behind codes: the models in the order of their codes, and the registries of the cluster columns."""

    models: list[str]
    clusters: "list[_Names]"


def stream(frame: pl.LazyFrame, columns: BattleColumns, source: str, take: "Callable[[CodeBatch, list[int]], object]") -> Names:
    """Pass all battles to ``take`` as codes, in batches and in order, with the outcome of every winner code.

    Raises:
        BattleError: as :func:`encode`.
    """
    with reading(source):
        _check_schema(frame.collect_schema(), columns, source)
    models, winners, clusters = _Names(), _Names(), [_Names() for _ in columns.cluster]
    model_count = 0
    menu: list[int] = []
    with reading(source):
        for batch in _coded(frame, columns, models, winners, clusters):
            codes = CodeBatch.of(batch)
            if codes is not None:
                menu += _menu(winners, len(menu), codes.largest_winner)
            if codes is None or 3 in menu:
                raise _first_wrong(frame, columns, source)
            if len(codes.model_a) == 0:
                continue
            take(codes, menu)
            model_count = max(model_count, codes.largest_model + 1)
    names = models.first(model_count)
    if any(not name.strip() for name in names):
        raise _first_wrong(frame, columns, source)
    return Names(names, clusters)


def _check_schema(schema: pl.Schema, columns: BattleColumns, source: str) -> None:
    missing = [name for name in columns.names if name not in schema]
    if missing:
        hint = f"Missing too: {', '.join(map(repr, missing[1:]))}. " if missing[1:] else ""
        if missing[0] in {*_MODELS, "winner"}:
            hint += f"Columns with other names: `salon votes import --columns theirs={missing[0]},…` or `--votes FORMAT`."
        raise BattleError("missing column", source=source, value=missing[0], found=schema.names(), hint=hint)
    text = {*_MODELS, "winner"}
    for name in columns.names:
        dtype = schema[name]
        is_text = dtype == pl.String or dtype == pl.Categorical or dtype == pl.Enum
        if name in text and not is_text and dtype != pl.Null:
            raise BattleError("must hold text, not", source=source, column=name, value=str(dtype))
        if name == columns.weight and not (dtype.is_numeric() or dtype == pl.String):
            raise BattleError("must hold numbers, not", source=source, column=name, value=str(dtype))
        if name in columns.cluster and dtype.is_nested():
            raise BattleError("must hold one value per row, not", source=source, column=name, value=str(dtype))


def weight_of(column: str | None) -> pl.Expr:
    """Return the weight of each row as a float, null where it is not a number; 1 without a column."""
    return pl.lit(1.0) if column is None else pl.col(column).cast(pl.Float64, strict=False)


def counting(frame: pl.LazyFrame, weight: str | None) -> pl.LazyFrame:
    """Return the rows that count: all but those of weight 0, whatever else is in these."""
    return frame if weight is None else frame.filter(weight_of(weight).ne_missing(0.0))


def _coded(
    frame: pl.LazyFrame, columns: BattleColumns, models: _Names, winners: _Names, clusters: list[_Names]
) -> Iterator[pl.DataFrame]:
    """Yield the frame in batches, in order, as codes."""
    coded = [
        pl.col("model_a").cast(models.dtype).to_physical(),
        pl.col("model_b").cast(models.dtype).to_physical(),
        pl.col("winner").cast(winners.dtype).to_physical(),
    ]
    frame = counting(frame, columns.weight)
    if columns.weight is not None:
        coded.append(weight_of(columns.weight).alias("weight"))
    for number, (name, names) in enumerate(zip(columns.cluster, clusters, strict=True)):
        coded.append(pl.col(name).cast(pl.String).cast(names.dtype).to_physical().alias(f"cluster {number}"))
    yield from frame.select(coded).collect_batches(maintain_order=True, chunk_size=_BATCH_ROWS)


@dataclass(frozen=True)
class CodeBatch:
    """One batch of codes, as contiguous arrays of equal length."""

    model_a: NDArray[np.uint32]
    model_b: NDArray[np.uint32]
    winner: NDArray[np.uint32]
    weight: NDArray[np.float64] | None
    cluster: tuple[NDArray[np.uint32], ...]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> "CodeBatch | None":
        """Return the arrays of a batch; None when some row of it is wrong."""
        if any(frame.null_count().row(0)):
            return None
        arrays = {name: np.ascontiguousarray(frame[name].to_numpy()) for name in frame.columns}
        weight = arrays.get("weight")
        cluster = tuple(array for name, array in arrays.items() if name.startswith("cluster "))
        if weight is not None and not ((weight >= LEAST_WEIGHT) & (weight <= MOST_WEIGHT)).all():
            return None
        if (arrays["model_a"] == arrays["model_b"]).any():
            return None
        return cls(arrays["model_a"], arrays["model_b"], arrays["winner"], weight, cluster)

    @property
    def largest_model(self) -> int:
        return int(max(self.model_a.max(initial=0), self.model_b.max(initial=0)))

    @property
    def largest_winner(self) -> int:
        return int(self.winner.max(initial=0)) if len(self.winner) else -1


def _menu(winners: _Names, known: int, largest: int) -> list[int]:
    """Return the outcome of each winner code from ``known`` to ``largest``; 3 is an unknown winner."""
    codes: dict[str, int] = {label.value: code for label, code in _OUTCOMES.items()}
    return [codes.get(label, 3) for label in winners.first(largest + 1)[known:]]


def by_name(names: list[str]) -> NDArray[np.uint32]:
    """Return the position of each name among the sorted names."""
    numbers = np.empty(len(names), dtype=np.uint32)
    numbers[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.uint32)
    return numbers


def _first_wrong(frame: pl.LazyFrame, columns: BattleColumns, source: str) -> BattleError:
    """Return the error for all kinds of wrong rows; only called when there is one."""
    rows = counting(numbered(frame).select("__row", *columns.names), columns.weight)
    winner = pl.col("winner").cast(pl.String)
    checks: list[tuple[str, str, pl.Expr, list[str] | None]] = [
        *((name, "no model name", pl.col(name).is_null(), None) for name in _MODELS),
        *((name, "empty model name", pl.col(name).cast(pl.String).str.strip_chars() == "", None) for name in _MODELS),
        ("winner", "no winner", winner.is_null(), _LABELS),
        ("winner", "unknown winner", ~winner.is_in(_LABELS), _LABELS),
        ("model_b", "a model against itself:", pl.col("model_a").cast(pl.String) == pl.col("model_b").cast(pl.String), None),
    ]
    if columns.weight is not None:
        weight = weight_of(columns.weight)
        checks.append((columns.weight, "the weight is no number", weight.is_null(), None))
        usable = weight.is_between(LEAST_WEIGHT, MOST_WEIGHT) | (weight == 0)
        checks.append((columns.weight, BAD_WEIGHT, ~(weight.is_finite() & usable), None))
    checks += [(name, "no value to cluster by", pl.col(name).is_null(), None) for name in columns.cluster]
    hints = {**_HINTS, "unknown winner": _winner_hint(rows.select(*_MODELS, winner.alias("winner")))}
    wrong = wrong_rows(rows, [RowCheck(*check, hint=hints.get(check[1])) for check in checks])
    if not wrong:
        return BattleError("changed while it was read", source=source)
    return all_wrong(wrong, source, BattleError)


def _too_far_apart(frame: pl.LazyFrame, columns: BattleColumns, source: str, least: float) -> BattleError:
    """Return the error for weights that differ by more than ``MOST_RATIO``, which names the first of the too large ones."""
    weight = weight_of(columns.weight)
    rows = numbered(frame).select("__row", weight.alias("weight"))
    row, value = rows.filter(pl.col("weight") > MOST_RATIO * least).head(1).collect().row(0)
    problem = f"a weight more than {MOST_RATIO:,.0f} times the smallest one, {least:g}:"
    return BattleError(problem, source=source, row=row, column=columns.weight, value=value, hint=RATIO_HINT)


RATIO_HINT = "Give 0 to the battles of so little weight, which leaves them out, or weights that are closer together."
_HINTS = {
    "no winner": "Fill it in, or leave such rows out: --no-winner leave-out (no_winner='leave_out').",
    "a model against itself:": "A battle needs two different models; take the row out.",
    BAD_WEIGHT: f"Give 0, which leaves the battle out, or a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}.",
}
_MEANINGS = {
    "model_a": {"a", "1", "left", "first", "model_a", "model_1", "leftvote", "image_a", "image_1"},
    "model_b": {"b", "2", "right", "second", "model_b", "model_2", "rightvote", "image_b", "image_2"},
    "both_good": {"both_good", "bothgood", "both"},
    "both_bad": {"both_bad", "bothbad", "neither", "none"},
    "tie": {"tie", "draw", "equal", "same", "t"},
}
_MOST_WORDS = 8


def _winner_hint(winners: pl.LazyFrame) -> str:
    """Return how to say what the unknown words of a file mean, with a guess for the words that have one."""
    others = winners.filter(~pl.col("winner").is_in(_LABELS))
    by_name = pl.any_horizontal(pl.col(each).cast(pl.String) == pl.col("winner") for each in _MODELS)
    if not others.filter(by_name).head(1).collect().is_empty():
        return "Where a winner is the name of the model that won: --votes named of `salon votes rank` and `salon votes import`."
    unknown = others.select("winner").unique().sort("winner").head(_MOST_WORDS).collect()["winner"]
    ours = {
        word: next((label for label, words in _MEANINGS.items() if word.strip().lower().replace(" ", "_") in words), "…")
        for word in unknown
    }
    option = ",".join(f"{word}={label}" for word, label in ours.items())
    python = ", ".join(f"{word!r}: {label!r}" for word, label in ours.items())
    fill = f" (for … one of {', '.join(_LABELS)})" if "…" in ours.values() else ""
    return (
        f"Say what the words mean{fill}: --winner-words {shlex.quote(option)} of `salon votes rank` and `salon votes import`, "
        f"winner_words={{{python}}} in Python, or --votes FORMAT."
    )
