"""The published tables as data: one frame per table, or every cell of all of them in one long frame.

The numbers are kept as they were printed, digit for digit; a float is made of them only on the way out.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import chain
from pathlib import Path

import polars as pl

from salon_published.manifest import EXACT_UNITS, TEXT_UNIT, ColumnEntry, Paper, TableEntry, read_manifest, readable
from salon_published.patterns import Pattern
from salon_published.registry import resolve_row
from salon_published.rounding import Quantity, decimals, quantity
from salon_taxonomy.errors import InputError

DATA = Path(__file__).parent / "data"
"""The folder of manifests and CSV files that ships with the package."""
LEDGER = DATA / "ledger"
"""The folder of the sources of the ledger."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_BOLD = re.compile(r"\*\*(.+)\*\*")

CELL_SCHEMA: dict[str, type[pl.DataType]] = {
    "table": pl.String,
    "row": pl.Int64,
    "key": pl.String,
    "model": pl.String,
    "column": pl.String,
    "printed": pl.String,
    "value": pl.Float64,
    "decimals": pl.Int64,
    "unit": pl.String,
    "direction": pl.String,
    "benchmark": pl.String,
    "track": pl.String,
    "dimension": pl.String,
    "judge": pl.String,
    "role": pl.String,
    "derived": pl.Boolean,
    "n": pl.Int64,
}
"""The columns of :func:`cells`."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table as it was printed.

    ``keys[i]`` are the key cells of row i, ``names[i]`` is what that row is called, and ``printed[column][i]`` the text
    of a cell, None where the paper prints none. ``bold`` holds row and column of the numbers between two asterisks.
    """

    paper: Paper
    spec: TableEntry
    keys: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    printed: dict[str, tuple[str | None, ...]]
    bold: frozenset[tuple[int, str]] = frozenset()

    @property
    def id(self) -> str:
        """Paper and table number: ``"prism:1"``."""
        return self.spec.id

    @property
    def caption(self) -> str:
        """What the table shows, in our words."""
        return self.spec.caption

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are not keys."""
        return tuple(self.printed)

    def describe(self, column: str) -> ColumnEntry:
        """Unit, direction, track and the like of one column."""
        return self.spec.describe(column)

    def matching(self, pattern: str) -> list[str]:
        """Return the numeric columns that a pattern names."""
        return [name for name in self.columns if Pattern(pattern).matches(name) and self.describe(name).unit != TEXT_UNIT]

    def place(self, row: str) -> int:
        """Return the place of a row, from 0.

        Raises:
            InputError: no row has that name.
        """
        if row not in self.names:
            raise InputError("no such row", source=f"published table {self.id}", value=row, allowed=self.names)
        return self.names.index(row)

    def quantity(self, row: int, column: str) -> Quantity | None:
        """Return one number with its rounding; None where the paper prints none.

        Raises:
            InputError: there is no such column, or it holds words.
        """
        if column not in self.printed or self.describe(column).unit == TEXT_UNIT:
            allowed = self.matching("*")
            raise InputError("no such numeric column", source=f"published table {self.id}", value=column, allowed=allowed)
        text = self.printed[column][row]
        return None if text is None else quantity(text, exact=self.describe(column).unit in EXACT_UNITS)

    def derived(self) -> frozenset[tuple[int, str]]:
        """Return the (row, column) of every cell that follows from other cells by a rule of the manifest."""
        return frozenset(
            (row, column)
            for check in self.spec.check
            if check.derives
            for column in self.matching(check.target)
            for row, name in enumerate(self.names)
            if (check.rows is None or name in check.rows) and name not in check.except_rows
            if self.printed[column][row] is not None
        )

    def frame(self) -> pl.DataFrame:
        """Return key columns as strings, words as strings, everything else as floats; null where the paper prints nothing."""
        columns: dict[str, pl.Series] = {}
        for number, key in enumerate(self.spec.keys):
            columns[key] = pl.Series(key, [row[number] for row in self.keys], dtype=pl.String)
        for name, texts in self.printed.items():
            if self.describe(name).unit == TEXT_UNIT:
                columns[name] = pl.Series(name, texts, dtype=pl.String)
            else:
                columns[name] = pl.Series(name, [None if text is None else float(text) for text in texts], dtype=pl.Float64)
        return pl.DataFrame(columns)


def tables() -> tuple[PublishedTable, ...]:
    """Return all published tables, by paper and table number.

    Raises:
        InputError: a manifest or CSV file of the package is wrong.

    Example:
        >>> [each.id for each in tables()][:3]
        ['magicmirror:1', 'magicmirror:2', 'magicmirror:3']
    """
    return _shipped()


def table(table_id: str) -> PublishedTable:
    """Return one table of the papers or of the ledger by its id.

    Raises:
        InputError: there is no such table; names those that look like it.

    Example:
        >>> table("prism:1").spec.judge
        'GPT-4.1'
    """
    known = {each.id: each for each in tables()}
    if table_id not in known:
        known |= {each.id: each for each in ledger()}
    if table_id not in known:
        close = get_close_matches(table_id, known, n=5, cutoff=0.5)
        hint = "`salon papers show` lists them all."
        raise InputError("no such published table", value=table_id, allowed=close or known, hint=hint)
    return known[table_id]


def load(table_id: str) -> pl.DataFrame:
    """Return one table as a frame: keys and words as strings, numbers as floats, null where the paper prints nothing.

    Raises:
        InputError: there is no such table.

    Example:
        >>> load("magicmirror:3").head(2).select("model", "overall").rows()
        [('FLUX.1-dev', 62.16), ('Seedream3.0', 59.54)]
    """
    return table(table_id).frame()


def cells() -> pl.DataFrame:
    """Return every cell that is not a key, one per row, in the order of the tables; columns as in ``CELL_SCHEMA``.

    ``row`` counts from 1. ``model`` is the registry's id, null where the row is no model. ``value`` and ``decimals`` are
    null for words and for cells that the paper leaves empty; ``derived`` marks cells that follow from others.

    Example:
        >>> cells().filter(pl.col("derived") & (pl.col("table") == "artifact-bench:2")).height
        80
    """
    return cells_of(tables())


@cache
def all_cells() -> pl.DataFrame:
    """Return the cells of all tables of the papers and of the ledger, as :func:`cells`."""
    return cells_of((*tables(), *ledger()))


def cells_of(chosen: Sequence[PublishedTable]) -> pl.DataFrame:
    """Return the cells of some tables, as :func:`cells`."""
    rows = chain.from_iterable(_cell_rows(each) for each in chosen)
    return pl.DataFrame(list(rows), schema=CELL_SCHEMA, orient="row", infer_schema_length=None)


def _cell_rows(table: PublishedTable) -> list[tuple[object, ...]]:
    derived = table.derived()
    abouts = {column: table.describe(column) for column in table.columns}
    rows: list[tuple[object, ...]] = []
    for row, name in enumerate(table.names):
        model = resolve_row(dict(zip(table.spec.keys, table.keys[row], strict=True)), table.id)
        for column, about in abouts.items():
            text = table.printed[column][row]
            number = text if about.unit != TEXT_UNIT else None
            value, digits = (None, None) if number is None else (float(number), decimals(number))
            cell = (table.id, row + 1, name, model, column, text, value, digits)
            meaning = (about.unit, about.direction, about.benchmark, about.track, about.dimension, about.judge, about.role)
            rows.append((*cell, *meaning, (row, column) in derived, about.n))
    return rows


@cache
def _shipped() -> tuple[PublishedTable, ...]:
    return read_tables(DATA)


@cache
def ledger() -> tuple[PublishedTable, ...]:
    """Return the tables of the ledger, what repositories publish about generators, by source and number.

    Raises:
        InputError: a file of the package is wrong.

    Example:
        >>> len({each.paper.paper for each in ledger()})
        76
    """
    return read_tables(LEDGER)


def read_tables(folder: Path) -> tuple[PublishedTable, ...]:
    """Read every manifest ``<paper>.toml`` of a folder and its CSV files, in the order of the papers' places.

    Raises:
        InputError: a manifest or a CSV file is wrong; names file, row, column and value.
    """
    papers = sorted(((path, read_manifest(path)) for path in sorted(folder.glob("*.toml"))), key=lambda pair: pair[1].place)
    return tuple(table for path, paper in papers for table in tables_of(path, paper))


def tables_of(manifest: Path, paper: Paper) -> tuple[PublishedTable, ...]:
    """Return the tables of one manifest that was read.

    Raises:
        InputError: rows are wrong; names file, row, column and value.
    """
    return tuple(_read_table(manifest, paper, spec) for spec in paper.table)


def _read_table(manifest: Path, paper: Paper, spec: TableEntry) -> PublishedTable:
    path: Path | str = f"{manifest}, table {spec.id}" if spec.file is None else manifest.parent / spec.file
    try:
        text = readable(Path(path).read_text(encoding="utf-8")) if spec.csv is None else spec.csv
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except OSError as error:
        raise InputError(f"the table cannot be read ({error.strerror})", source=path) from error
    except (csv.Error, ValueError) as error:
        raise InputError(f"the table is no valid CSV: {error}", source=path) from error
    header, body = (lines[0], lines[1:]) if lines else ([], [])
    count = len(spec.keys)
    if tuple(header[:count]) != spec.keys or len(header) == count or len(set(header)) != len(header) or not body:
        message = "the header must start with the keys, name each further column once, and be followed by rows"
        raise InputError(message, source=path, value=",".join(header), allowed=spec.keys)
    for number, line in enumerate(body, start=1):
        if len(line) != len(header):
            raise InputError(f"{len(line)} cells where the header has {len(header)}", source=path, row=number)
    values = list(enumerate(header))[count:]
    bold = frozenset((row, name) for place, name in values for row, line in enumerate(body) if _BOLD.fullmatch(line[place]))
    plain = {name: [_BOLD.sub(r"\1", line[place]) for line in body] for place, name in values}
    printed = {name: _column(path, spec, name, texts) for name, texts in plain.items()}
    keys = tuple(tuple(line[:count]) for line in body)
    return PublishedTable(paper, spec, keys, _row_names(path, spec, keys), printed, bold)


def _column(path: Path | str, spec: TableEntry, name: str, texts: Sequence[str]) -> tuple[str | None, ...]:
    if spec.describe(name).unit != TEXT_UNIT:
        for number, text in enumerate(texts, start=1):
            if text and not _NUMBER.fullmatch(text):
                raise InputError("not a number", source=path, row=number, column=name, value=text)
    return tuple(text or None for text in texts)


def _row_names(path: Path | str, spec: TableEntry, keys: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what each row is called: its key cells, or those that the manifest chooses, joined by spaces."""
    chosen = spec.keys if spec.name is None else spec.name
    unknown = set(chosen) - set(spec.keys)
    if unknown:
        raise InputError("the row name uses a column that is no key", source=path, value=min(unknown), allowed=spec.keys)
    places = [spec.keys.index(key) for key in chosen]
    names = tuple(" ".join(row[place] for place in places if row[place]) for row in keys)
    for number, name in enumerate(names, start=1):
        if not name or names.index(name) != number - 1:
            raise InputError("a row needs a name of its own", source=path, row=number, value=name)
    return names
