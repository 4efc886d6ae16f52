"""Read tables from files, folders, patterns, databases, standard input and result stores.

A directory is first offered to the functions of the entry-point group ``salon.sources``, each
``(path, table) -> LazyFrame | None``; so a result store can be ranked although this package imports no store. CSV, JSON Lines
and Parquet files are read lazily, batch by batch; the other kinds are held in memory.
"""

import codecs
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import polars as pl

from salon_console.table_files import FORMULA
from salon_ranking.errors import BattleError, MissingExtraError, RankingError, Wrong
from salon_ranking.table_checks import all_wrong
from salon_taxonomy.errors import InputError, missing_path, refuse_device
from salon_taxonomy.store_address import is_url

Source: TypeAlias = Callable[[str | Path, str], pl.LazyFrame | None]


class ArrowTable(Protocol):
    """A table with the Arrow PyCapsule interface: of pandas, pyarrow, DuckDB, Hugging Face datasets and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow stream."""


Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowTable | Mapping[str, Sequence[Any]]
"""What functions take as a table: a frame of polars, any table with the Arrow PyCapsule or the dataframe interface, or a
mapping from column names to values."""

GROUP = "salon.sources"
STANDARD_INPUT = "-"
_Content: TypeAlias = Path | io.BytesIO
_DATABASES = (".duckdb", ".ddb", ".db")
_NOT_ROWS = {"dataset_dict.json", "dataset_info.json", "dataset_infos.json", "state.json", "store.json"}
"""Files about a data set that Hugging Face and Salon write beside its rows."""
_START = 1 << 16
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def as_lazy(frame: object, source: str = "frame", error: type[RankingError] = BattleError) -> pl.LazyFrame:
    """Return any kind of table as a lazy frame of polars.

    Raises:
        error: it is not a table.

    Example:
        >>> as_lazy({"model": ["x", "y"]}).collect().height
        2
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    try:
        if hasattr(frame, "to_polars"):  # data sets of Hugging Face, frames of narwhals
            return as_lazy(frame.to_polars(), source, error)
        if hasattr(frame, "__arrow_c_stream__") or isinstance(frame, Mapping):
            return pl.DataFrame(frame).lazy()
        if hasattr(frame, "__dataframe__"):
            return pl.from_dataframe(cast("Any", frame)).lazy()
    except (pl.exceptions.PolarsError, ImportError, TypeError, ValueError) as problem:
        raise error("cannot be read as a table:", source=source, value=str(problem)) from problem
    known = ["polars", "pandas", "pyarrow", "a table with __arrow_c_stream__ or __dataframe__", "a mapping of columns"]
    raise error("is not a table:", source=source, value=type(frame).__name__, allowed=known)


def scan(path: str | Path, table: str = "battles", error: type[RankingError] = BattleError) -> pl.LazyFrame:
    """Return the rows at ``path``, unread where the kind of file allows it.

    ``path`` is a file (.csv, .tsv, .json, .jsonl, .ndjson, .parquet, .arrow; text also with .gz), a pattern such as
    ``votes/2026-*.parquet``, a folder of files of one kind, a data set of Hugging Face on disk, a result store (a directory, or
    a URL such as ``s3://bucket/results``), a DuckDB database (``arena.duckdb``, or ``arena.duckdb/votes`` for its table
    ``votes``), or ``-``, standard input.

    In text files every column of a CSV file is text until it is needed as something else, so a model may be called ``007``.
    The separator (``,`` ``;`` tab ``|``) is the one that the header has most of. Text is UTF-8, or UTF-16 with its byte order
    mark.

    Args:
        table: the table to read from a result store or a database.

    Raises:
        error: nothing is there, the ending is unknown, or no installed package reads the directory.
    """
    if not isinstance(path, str | Path):
        raise error("is not a path:", value=repr(path))
    if is_url(path):
        stored = _stored(path, table)
        if stored is None:
            raise error("is no result store that an installed package can read", source=path)
        return stored
    path = Path(path)
    if str(path) == STANDARD_INPUT:
        with reading(STANDARD_INPUT, error):
            content = _decoded(sys.stdin.buffer.read())
            return _READERS[_kind_of(content)]([io.BytesIO(content)])
    if path.is_dir():
        return _scan_directory(path, table, error)
    database = path if path.suffix.lower() in _DATABASES else path.parent
    if database.suffix.lower() in _DATABASES and database.is_file():
        return _scan_database(database, None if database == path else path.name, table, error)
    return _scan_files(_files(path, error), path, error)


def read_table(path: str | Path, table: str, error: type[RankingError]) -> pl.DataFrame:
    """Return the rows of a file, of a folder or pattern of files, or of a result store's table ``table``.

    Raises:
        error: nothing is there, the ending is unknown, the file cannot be read, or no package knows the directory.
    """
    with reading(str(path), error):
        return scan(path, table, error).collect()


def _files(path: Path, error: type[RankingError]) -> list[Path]:
    """Return the file itself, or those of a pattern in the order of their names."""
    if path.exists() or not any(sign in path.name for sign in "*?["):
        return [path]
    files = sorted(file for file in path.parent.glob(re.sub(r"\*+", "*", path.name)) if not file.is_dir())
    if not files:
        raise error("no file has such a name", source=path)
    return files


def _ending(path: Path) -> str:
    """Return the ending that says what a file is, that of compression aside."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _scan_files(paths: list[Path], source: Path, error: type[RankingError]) -> pl.LazyFrame:
    """Return all rows of files of one kind, in the order of the names."""
    endings = sorted({_ending(path) for path in paths})
    if len(endings) > 1:
        hint = "Name those of one kind by a pattern, such as 'votes/*.parquet'."
        raise error("files of several kinds cannot be read as one:", source=source, value=endings, hint=hint)
    reader = _READERS.get(endings[0])
    if reader is None:
        hint = "Give a file with one of these endings, a folder of such files, or the directory of a result store."
        known = [*_READERS, *_DATABASES]
        raise error("unknown kind of file", source=source, value=endings[0], allowed=known, hint=hint)
    for path in paths:
        if not path.exists():
            missing = missing_path(path)
            raise error(missing.problem, source=source, value=missing.value, hint=missing.hint)
        try:
            refuse_device(path)
        except InputError as refused:
            raise error(refused.problem, source=path, hint=refused.hint) from refused
        if path.is_file() and not path.stat().st_size:
            hint = "Give a file with a header and rows." if endings[0] in (".csv", ".tsv") else "Give a file with rows."
            raise error("cannot be read: the file is empty", source=path, hint=hint)
    with reading(str(source), error):
        return reader([_content(path) for path in paths])


def _content(path: Path) -> _Content:
    """Return the path itself, or its text where polars cannot read the file as it is."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b" or start[:2] in _UTF16:
        return io.BytesIO(_decoded(path.read_bytes()))
    return path


def _decoded(content: bytes) -> bytes:
    """Return bytes without gzip's compression, and text in UTF-8."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, zlib.error) as problem:
            raise OSError(f"the compressed file ends too early or is damaged ({problem})") from problem
    return content.decode("utf-16").encode() if content[:2] in _UTF16 else content


def _start_of(content: _Content) -> bytes:
    if isinstance(content, io.BytesIO):
        return content.getvalue()[:_START]
    with content.open("rb") as file:
        return file.read(_START)


def _kind_of(content: bytes) -> str:
    """Return the ending that a file with this content would have."""
    if content[:4] == b"PAR1":
        return ".parquet"
    if content[:6] == b"ARROW1" or content[:4] == b"\xff\xff\xff\xff":
        return ".arrow"
    first = content[:_START].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return ".json" if first == b"[" else ".jsonl" if first == b"{" else ".csv"


def _csv(contents: list[_Content]) -> pl.LazyFrame:
    separator = ","
    for content in contents[::-1]:
        header = _start_of(content).decode("utf-8", "replace").removeprefix("\ufeff")
        separator = _separator(header)
        try:
            names = next(csv.reader(io.StringIO(header), delimiter=separator), [])
        except csv.Error as error:
            raise pl.exceptions.ComputeError("the first line is not a header of column names") from error
        twice = [name for place, name in enumerate(names) if name.strip() and name in names[:place]]
        if twice:
            raise pl.exceptions.DuplicateError(f"the header has the column {twice[0]!r} twice; rename one of them")
    rows = pl.scan_csv(cast("Any", contents), infer_schema=False, glob=False, separator=separator)
    return rows.with_columns(pl.all().str.replace(f"^'({FORMULA})", "$1"))  # as csv_text


def _separator(text: str) -> str:
    """Return the separator that the first line has most of."""
    return max(",;\t|", key=text.split("\n", 1)[0].count)


def _json_lines(contents: list[_Content]) -> pl.LazyFrame:
    return pl.scan_ndjson(cast("Any", contents), infer_schema_length=None)


def _json(contents: list[_Content]) -> pl.LazyFrame:
    """Return a list of objects; or lines of objects, whatever the ending says."""
    if all(_kind_of(_start_of(content)) == ".jsonl" for content in contents):
        return _json_lines(contents)
    return pl.concat([pl.read_json(content, infer_schema_length=None) for content in contents], how="diagonal_relaxed").lazy()


def _parquet(contents: list[_Content]) -> pl.LazyFrame:
    return pl.scan_parquet(cast("Any", contents), glob=False, extra_columns="ignore")


def _arrow(contents: list[_Content]) -> pl.LazyFrame:
    """Arrow files, and Arrow streams, which Hugging Face data sets on disk are."""
    files = [pl.read_ipc if _start_of(content)[:6] == b"ARROW1" else pl.read_ipc_stream for content in contents]
    return pl.concat([read(content) for read, content in zip(files, contents, strict=True)]).lazy()


_READERS: dict[str, Callable[[list[_Content]], pl.LazyFrame]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
    ".arrow": _arrow,
}


def _stored(path: str | Path, table: str) -> pl.LazyFrame | None:
    """Return the table of a result store that an installed package reads; None when none does."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        source: Source = entry.load()
        frame = source(path, table)
        if frame is not None:
            return frame
    return None


def _scan_directory(path: Path, table: str, error: type[RankingError]) -> pl.LazyFrame:
    stored = _stored(path, table)
    if stored is not None:
        return stored
    files = _tables(path.iterdir(), path) or _tables(path.rglob("*"), path)
    if files:
        return _scan_files(files, path, error)
    hint = "A result store has a store.json in it, and is read by the package salon-store; `salon store init` makes a new one."
    raise error(f"this directory is no result store and holds no files of {table}", source=path, hint=hint)


def _tables(files: Iterator[Path], folder: Path) -> list[Path]:
    """Return the files that hold rows, in the order of their names; hidden and unfinished ones do not."""
    return sorted(
        file
        for file in files
        if _ending(file) in _READERS
        and file.name not in _NOT_ROWS
        and not any(part[0] in "._" for part in file.relative_to(folder).parts)
    )


def _scan_database(path: Path, name: str | None, table: str, error: type[RankingError]) -> pl.LazyFrame:
    """Return a table of a DuckDB database: the named one, the wanted one, or the only one."""
    try:
        import duckdb
    except ModuleNotFoundError as absent:
        raise MissingExtraError("a DuckDB database needs a package that is missing:", value=absent.name) from absent
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            tables = [row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()]
            chosen = name or (table if table in tables or len(tables) != 1 else tables[0])
            if chosen not in tables:
                hint = f"Name the table after a slash: {path}/TABLE."
                raise error("this database has no table", source=path, value=chosen, allowed=tables, hint=hint)
            quoted = chosen.replace('"', '""')
            return pl.DataFrame(connection.sql(f'FROM "{quoted}"')).lazy()
    except duckdb.Error as problem:
        raise error("cannot be read:", source=path, value=str(problem).splitlines()[0]) from problem


@contextmanager
def reading(source: str, error: type[RankingError] = BattleError) -> Iterator[None]:
    """Raise ``error`` with source and, where known, row for what polars or the system cannot read."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeDecodeError) as problem:
        wrong = _broken_rows(Path(source))
        if wrong:
            raise all_wrong(wrong, source, error) from problem
        reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
        hint = "Check that the file is complete and is what its ending says."
        raise error("cannot be read:", source=source, value=reason, hint=hint) from problem


_ENCODING = "cannot be read: this is not UTF-8:"
_ENCODING_HINT = "Save the file as UTF-8, or convert it: iconv -f latin1 -t utf-8 OLD > NEW."


def _broken_rows(path: Path) -> list[Wrong]:
    """Return the mistakes in the rows of one text file that polars could not read, if any are found."""
    kind = _ending(path)
    if not path.is_file() or kind not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        return []
    try:
        content = _decoded(path.read_bytes()).decode("utf-8", "surrogateescape")
        rows = _broken_lines(content) if kind.endswith("json") or kind == ".jsonl" else _broken_records(content)
        wrong: dict[str, Wrong] = {}
        for row, problem, value, hint in rows:
            before = wrong.get(problem)
            wrong[problem] = (
                Wrong(problem, row, 1, None, value, None, hint) if before is None else replace(before, rows=before.rows + 1)
            )
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    return list(wrong.values())


_Broken: TypeAlias = tuple[int, str, object, str]


def _broken_records(content: str) -> Iterator[_Broken]:
    """Yield the rows of a CSV file that are not UTF-8 or have more fields than its header."""
    records = csv.reader(io.StringIO(content), delimiter=_separator(content))
    fields = len(next(records, []))
    for row, record in enumerate(records, start=1):
        if bad := next((field for field in record if not _is_text(field)), None):
            yield row, _ENCODING, bad.encode("utf-8", "surrogateescape"), _ENCODING_HINT
        if len(record) > fields:
            hint = f"The header has {fields}; put a value that holds a separator in quotation marks."
            yield row, "cannot be read: more fields than the header has:", len(record), hint


def _broken_lines(content: str) -> Iterator[_Broken]:
    """Yield the rows of a file of JSON Lines that are not UTF-8, or not one JSON object."""
    row = 0
    for line in content.split("\n"):
        if not line.strip():
            continue
        row += 1
        if not _is_text(line):
            yield row, _ENCODING, line.encode("utf-8", "surrogateescape"), _ENCODING_HINT
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield row, "cannot be read: this is not JSON:", line, "Each line must be one JSON object, whole."
            continue
        if not isinstance(value, dict):
            yield row, "cannot be read: this is not a JSON object:", line, "Each line must be one JSON object, whole."


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def json_text(content: object) -> str:
    """Return JSON for programs: indented, with every character as it is, and without NaN.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
