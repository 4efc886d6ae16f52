"""What to look at before a new source joins the ledger: names, ranges, printed means, and numbers that others print too."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import polars as pl

from salon_published.check import check_tables
from salon_published.ledger import EQUAL, ledger_scores
from salon_published.manifest import EXACT_UNITS, RowKind, read_manifest
from salon_published.registry import registry, resolve_row
from salon_published.tables import PublishedTable, cells_of, ledger, tables, tables_of
from salon_taxonomy.errors import InputError

RANGES = {
    "fraction": (0.0, 1.0),
    "share of 1": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "points of 100": (0.0, 100.0),
    "points of 10": (0.0, 10.0),
    "points of 5": (0.0, 5.0),
}
"""The least and the largest number of a unit that has both."""


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """One finding in a source: wrong, or worth a look.

    ``row`` and ``column`` are empty where it concerns the whole table; ``is_error`` tells what must be put right from what a
    source may well print, such as a mean that is none.
    """

    table: str
    row: str
    column: str
    what: str
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a new source holds.

    ``numbers`` counts the printed ones, ``models`` the models of the registry, ``means`` the recomputed cells, ``repeated`` the
    numbers that a shipped source prints of the same model, and ``equal`` those of them that are equal.
    """

    numbers: int
    models: int
    means: int
    repeated: int
    equal: int
    problems: tuple[SourceProblem, ...]


def check_source(path: str | Path) -> SourceReport:
    """Read a file of the ledger's form and say what is wrong with it.

    Raises:
        InputError: the file is no manifest, or its rows are no table; names the key, or row, column and value.
    """
    path = Path(path)
    source = read_manifest(path)
    if source.origin is None:
        raise InputError("a source of the ledger says where it was read", source=path, column="origin")
    published = tables_of(path, source)
    shipped = [table for table in ledger() if table.paper.paper != source.paper]
    if source.paper in {table.paper.paper for table in tables()}:
        raise InputError("a paper has this name", source=path, column="paper", value=source.paper)
    checked = check_tables(published, {table.id: table for table in (*tables(), *shipped, *published)})
    means = (
        SourceProblem(
            cell.table, cell.key, cell.column, f"{cell.rule} of the printed numbers is {cell.recomputed_text()}", is_error=False
        )
        for cell in checked.findings
    )
    cells = cells_of(published).drop_nulls("value")
    repeated = _repeated(cells, published)
    problems = (*_names(published), *_maker(published), *_ranges(cells), *means)
    equal = (repeated["value"] - repeated["other"]).abs() <= EQUAL * repeated["scale"]
    models = cells["model"].drop_nulls().n_unique()
    return SourceReport(cells.height, models, len(checked.results), repeated.height, int(equal.sum()), problems)


def _names(published: Sequence[PublishedTable]) -> Iterator[SourceProblem]:
    """Yield rows of unknown models, and models with two rows."""
    spellings = {spelling: model.id for model in registry().models for spelling in (model.name, *model.spellings, model.id)}
    for table in published:
        if table.spec.rows is not RowKind.GENERATOR:
            continue
        ids = [resolve_row(dict(zip(table.spec.keys, keys, strict=True)), table.id) for keys in table.keys]
        for name, model in zip(table.names, ids, strict=True):
            if model is None:
                close = dict.fromkeys(spellings[near] for near in get_close_matches(name, spellings, n=3, cutoff=0.6))
                advice = f"a spelling of {' or '.join(close)}?" if close else "no known model has a name like it"
                yield SourceProblem(table.id, name, "", f"unknown model, {advice} (models.csv)")
        for model, count in Counter(model for model in ids if model is not None).items():
            if count > 1:
                yield SourceProblem(table.id, model, "", f"{count} rows are this model")


def _maker(published: Sequence[PublishedTable]) -> Iterator[SourceProblem]:
    origin = published[0].paper.origin
    if origin is not None and origin.maker is not None and origin.maker not in {model.maker for model in registry().models}:
        yield SourceProblem(published[0].paper.paper, "", "origin.maker", f"the registry has no maker {origin.maker!r}")


def _ranges(cells: pl.DataFrame) -> Iterator[SourceProblem]:
    for table, row, column, unit, value, text in cells.select("table", "key", "column", "unit", "value", "printed").iter_rows():
        low, high = RANGES.get(unit, (-float("inf"), float("inf")))
        if not low <= value <= high:
            yield SourceProblem(table, row, column, f"{text} is outside {low:g} to {high:g}, the range of {unit!r}")
        elif unit in EXACT_UNITS and not value.is_integer():
            yield SourceProblem(table, row, column, f"{text} is no whole number, as a {unit} is")


def _repeated(cells: pl.DataFrame, published: Sequence[PublishedTable]) -> pl.DataFrame:
    """Return the numbers that the ledger has already of the same model, task, benchmark and track."""
    tasks = {table.id: table.spec.task.value for table in published}
    same = ["task", "benchmark", "track", "model"]
    others = ledger_scores().filter(pl.col("source") != published[0].paper.paper).unique([*same, "value"])
    scaled = others.select(*same, other="value", scale=pl.col("value").abs().max().over("benchmark", "track"))
    return cells.with_columns(task=pl.col("table").replace_strict(tasks, return_dtype=pl.String)).join(scaled, on=same)
