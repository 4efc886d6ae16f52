"""SQL that reads the store's tables and can do nothing else.

A query runs in a DuckDB of its own, in memory, that may open this store's data files and no other file. That alone is not
enough: DuckDB lets a query that may read a file also write it (``WITH x AS (COPY … TO 'a data file')``). So the query's syntax
tree is looked at first: one statement, made of nothing but selections, calling no table function but harmless ones.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from datetime import date
from itertools import pairwise
from pathlib import Path
from threading import TIMEOUT_MAX, Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import polars as pl

from salon_store.delta import At, Snapshot
from salon_store.errors import DamagedTableError, QueryError
from salon_store.schemas import SCHEMAS
from salon_store.tables import StoreTable, altered
from salon_store.views import create_error_view, create_view, file_pattern, hide_progress, identifier, literal
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import duckdb

_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"})
_READERS = frozenset({"read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_json_objects", "read_ndjson"})
_READERS |= {"read_parquet", "parquet_scan", "read_text"}
_FILE_READERS = {".csv": "read_csv", ".json": "read_json", ".jsonl": "read_json", ".parquet": "read_parquet"}
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET temp_directory = ''",
)
_AFTER_ON = frozenset({b"using", b"group", b"order", b"limit", b"offset", b"union", b"except", b"intersect", b";"})
_BIG = frozenset({"HUGEINT", "UHUGEINT"})
_AS_TEXT = ("INTERVAL", "UNION", "BIGNUM", "VARIANT", "BIT", "TIME WITH TIME ZONE", "GEOMETRY")
_BETWEEN_INTERRUPTIONS = 0.05  # seconds
_BETWEEN_LOOKS = 0.2  # seconds
_FIRST_DAY, _LAST_DAY = pl.lit(date.min), pl.lit(date.max)
_READS = "Write one SELECT (or WITH … SELECT, FROM, SHOW TABLES, DESCRIBE, SUMMARIZE); plain `duckdb` can do the rest."


def run_query(
    query: str,
    tables: Mapping[str, StoreTable],
    *,
    store: str,
    timeout: float | None = None,
    at: At = None,
    files: Mapping[str, Path] | None = None,
) -> pl.DataFrame:
    """Return the result of one reading query over the tables, and over ``files`` by the names they are given.

    Times come back in UTC; sums of whole numbers as 64-bit integers where they fit; intervals, and other types that
    polars lacks, as text; of columns with the same name all but the first get a number.

    Raises:
        QueryError: when DuckDB does not understand the query, cannot finish it (in ``timeout`` seconds), or it would do
            more than read tables.
        DamagedTableError: when a table in the query has a missing, foreign or cut file, or one whose changed bytes DuckDB
            cannot read.
        KeyboardInterrupt: when Ctrl-C stopped the query.
    """
    try:
        query.encode()
    except UnicodeEncodeError:
        raise QueryError("the query is not valid Unicode", source="query") from None
    if timeout is not None and not 0 < timeout <= TIMEOUT_MAX:
        raise QueryError("a timeout is a number of seconds above 0, not", source="query", value=timeout)
    while True:
        try:
            return _attempt(query, tables, store=store, timeout=timeout, at=at, files=files or {})
        except _ReplacedError:  # by a compaction, and removed: begin again with what it made
            continue


def query_folder(query: str, folder: Path, linked: Path | None = None) -> list[dict[str, Any]]:
    """Return the rows of one reading query over the files of a folder, which it names ``'{folder}/a.csv'``.

    It runs on one thread, so that rows without an order come in the same order again, and sees no other file and no network.

    Args:
        query: one SELECT, in DuckDB's SQL.
        folder: of the files.
        linked: the folder that links in ``folder`` may lead to; None: links lead nowhere else.

    Raises:
        QueryError: DuckDB does not understand or cannot finish the query, or it would do more than read files of the folder.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.csv").write_text("id,text\\n7,a cat\\n")
        >>> query_folder("select id, upper(text) as text from '{folder}/a.csv'", folder)
        [{'id': 7, 'text': 'A CAT'}]
    """
    import duckdb

    address = str(folder.resolve()).replace("'", "''")
    seen = [literal(str(each.resolve())) for each in (folder, linked) if each is not None]
    try:
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            for setting in (*_SETTINGS, f"SET allowed_directories = [{', '.join(seen)}]", "SET enable_external_access = false"):
                connection.execute(setting)
            connection.execute("SET lock_configuration = true")
            text, _ = _checked(query.replace("{folder}", address), connection, _TABLE_FUNCTIONS | _READERS)
            result = connection.execute(text)
            names = _distinct([column[0] for column in result.description or ()])
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
    except duckdb.Error as error:
        hint = "A query sees the files of this folder alone, named '{folder}/NAME'."
        message = str(error).strip().partition("\n")[0]
        raise QueryError(visible(message, prose=True), source="query", hint=hint) from error


def _attempt(
    query: str,
    tables: Mapping[str, StoreTable],
    *,
    store: str,
    timeout: float | None,
    at: At,
    files: Mapping[str, Path],
) -> pl.DataFrame:
    """Run the query in a thread of its own: DuckDB itself notices Ctrl-C in some phases of a query only."""
    import duckdb

    outcome: Future[pl.DataFrame] = Future()
    stopped, outside = Event(), Event()

    def working() -> None:
        try:
            outcome.set_result(_answered(query, tables, connection, stopped, outside, store=store, at=at, files=files))
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            outcome.set_exception(error)

    thread = Thread(target=working, name="salon-sql", daemon=True)
    with duckdb.connect(":memory:") as connection:
        try:
            thread.start()
            end = monotonic() + (timeout or TIMEOUT_MAX)
            while not outcome.done() and (left := end - monotonic()) > 0:
                wait([outcome], min(left, _BETWEEN_LOOKS))  # a Ctrl-C that another thread receives ends no longer wait
            if outcome.done():
                return outcome.result()
            raise QueryError(
                f"the query was stopped after {timeout:g} seconds",
                source="query",
                hint="Ask for less, or allow more seconds: `salon store sql --timeout`.",
            )
        finally:
            stopped.set()
            # Repeated, because an interruption between two statements has no effect. A thread that waits for a disk or a
            # bucket is left behind: it ends before it uses the connection again.
            while thread.is_alive() and not outside.is_set():
                with suppress(KeyboardInterrupt):
                    connection.interrupt()
                    thread.join(_BETWEEN_INTERRUPTIONS)


@contextmanager
def _away(stopped: Event, outside: Event) -> Iterator[None]:
    """Mark work on files, which may take long and uses no connection; nothing follows it once the query was stopped."""
    outside.set()
    try:
        yield
    finally:
        outside.clear()
        if stopped.is_set():
            raise QueryError("the query was stopped", source="query")


def _answered(
    query: str,
    tables: Mapping[str, StoreTable],
    connection: "duckdb.DuckDBPyConnection",
    stopped: Event,
    outside: Event,
    *,
    store: str,
    at: At,
    files: Mapping[str, Path],
) -> pl.DataFrame:
    """Return the result of the query on a new connection, which is locked down first."""
    import duckdb

    hide_progress(connection)
    for setting in _SETTINGS:
        connection.execute(setting)
    used: dict[str, tuple[Snapshot, list[Path]]] = {}
    for name, path in files.items():
        _read_file(connection, name, path)
    try:
        marker = uuid4().hex
        query, tree = _checked(_marked_pivots(query, marker, connection), connection)
        read = _table_names(tree)
        names = sorted(read & tables.keys())
        if isinstance(at, int) and len(names) != 1:
            raise QueryError(
                "a version is of one table; the query reads",
                source="query",
                value=", ".join(names),
                hint="Give a time instead.",
            )
        own_names = _names_given(tree)
        damaged: dict[str, DamagedTableError] = {}
        for name in names:
            try:
                with _away(stopped, outside):
                    used[name] = tables[name].files_at(at)
            except DamagedTableError as error:
                if name not in own_names:
                    raise
                damaged[name] = error  # ``WITH name AS …``: perhaps the table is not read at all
        hidden = bool(read) and read <= tables.keys() | own_names | {
            name.lower() for name in files
        }  # nothing in the query can show another table
        _create_views(connection, used, damaged, () if hidden else SCHEMAS)
        if marker in query:
            query, _ = _checked(_with_pivot_values(query, tree, marker, connection), connection)
        return _collected(connection.sql(query))
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        mistaken = (duckdb.ParserException, duckdb.SyntaxException, duckdb.BinderException, duckdb.CatalogException)
        if not stopped.is_set() and not isinstance(error, mistaken):
            with _away(stopped, outside):
                for name, (snapshot, paths) in used.items():
                    gone = at is None and not all(path.exists() for path in paths)
                    if gone and tables[name].log.version() != snapshot.version:
                        raise _ReplacedError from error
                    alteration = altered(snapshot.files, paths, store)
                    if alteration is not None:
                        raise alteration from error
        raise QueryError(visible(str(error).strip(), prose=True), source="query", hint=_hint(error)) from error


def _read_file(connection: "duckdb.DuckDBPyConnection", name: str, path: Path) -> None:
    """Read a file of the user's into a table of the connection.

    Raises:
        QueryError: the name is unusable or taken, the ending is unknown, or the file cannot be read.
    """
    import duckdb

    if not name.isidentifier() or name.lower() in SCHEMAS:
        hint = "Take a word that is no table of the store."
        raise QueryError("is no name for a table of one's own", source="--table", value=name, found=list(SCHEMAS), hint=hint)
    reader = _FILE_READERS.get(path.suffix.lower())
    if reader is None:
        raise QueryError("unknown kind of file", source=path, value=path.suffix, allowed=list(_FILE_READERS))
    try:
        connection.execute(f"CREATE TEMP TABLE {identifier(name)} AS FROM {reader}({literal(file_pattern(path))})")
    except duckdb.Error as error:
        raise QueryError("the file cannot be read", source=path, value=str(error).partition("\n")[0][:200]) from error


class _ReplacedError(Exception):
    """A file was merged into another and removed while the query ran."""


def _create_views(
    connection: "duckdb.DuckDBPyConnection",
    used: Mapping[str, tuple[Snapshot, list[Path]]],
    damaged: Mapping[str, DamagedTableError],
    empty_tables: Collection[str],
) -> None:
    """Make a view of each table that is used, damaged or shown, and allow their files alone."""
    files: set[str] = set()
    for schema in SCHEMAS.values():
        if schema.name in used:
            snapshot, paths = used[schema.name]
            create_view(connection, schema, paths, missing_columns=snapshot.missing_columns)
            files |= {name for path in paths for name in (str(path), file_pattern(path))}
        elif (
            schema.name in damaged or schema.name in empty_tables
        ):  # has columns, for DESCRIBE, and must never answer with rows
            create_error_view(connection, schema, str(damaged.get(schema.name, "the query does not name it")))
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, sorted(files)))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _checked(
    query: str, connection: "duckdb.DuckDBPyConnection", functions: Collection[str] = _TABLE_FUNCTIONS
) -> tuple[str, dict[str, Any]]:
    """Return the query without a semicolon and its syntax tree, or an error when it is not one that only reads."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        hint = 'Write one SELECT: "SELECT * FROM scores LIMIT 10".'
        raise QueryError(f"expected one statement, got {len(statements)}", source="query", hint=hint)
    kind = _kind(statements[0])
    text = _syntax_tree(query, connection)
    try:
        tree = json.loads(text)
    except RecursionError:
        raise QueryError(
            "the query is nested too deeply to be checked", source="query", hint="Name parts of it: WITH part AS (…) SELECT …"
        ) from None
    if kind != "SELECT" or tree["error"]:
        raise QueryError(f"{kind} is not a query that only reads", source="query", hint=_READS)
    for node in _objects(tree):
        name = node.get("type")
        if isinstance(name, str) and name.endswith("_NODE") and name not in _NODES:
            verb = name.removesuffix("_NODE").removesuffix("_QUERY")
            raise QueryError(f"{verb} is not a query that only reads", source="query", hint=_READS)
        if name == "TABLE_FUNCTION":
            called = node.get("function")
            function = str(called.get("function_name")).lower() if isinstance(called, dict) else "unknown"
            if function not in functions:
                raise QueryError(
                    "this table function is not offered here:",
                    source="query",
                    value=function,
                    allowed=sorted(functions),
                    hint=_OWN_FILE if function.startswith("read_") else None,
                )

    # DuckDB makes a subquery of it, for which a semicolon (and a remark behind it) would be in the way.
    while (end := query.rfind(";")) >= 0 and _syntax_tree(query[:end], connection) == text:
        query = query[:end]
    return query, tree


def _kind(statement: "duckdb.Statement") -> str:
    """Return the name of a statement's type; DuckDB's own module has none for its newest."""
    try:
        return statement.type.name
    except ValueError:
        return "this"


def _marked_pivots(query: str, marker: str, connection: "duckdb.DuckDBPyConnection") -> str:
    """Return the query with a marked list of values behind every ``PIVOT … ON`` element without one.

    DuckDB runs a PIVOT that has to find its values as several statements, which have no syntax tree to check. With its values
    written down it is one selection like any other; a query that becomes something else by this is refused as such.
    """
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1 or _kind(statements[0]) != "MULTI":
        return query
    text = query.encode()
    starts = [start for start, _ in duckdb.tokenize(query)] + [len(text)]
    comments = [kind == duckdb.token_type.comment for _, kind in duckdb.tokenize(query)]
    words = [text[start:end].split(None, 1)[0].lower() for start, end in pairwise(starts)]
    insertions: list[tuple[int, bytes]] = []
    depth = 0
    pivots: list[int] = []  # depths at which a PIVOT waits for its ON
    begun: dict[int, int] = {}  # depth → where the element of an ON began
    listed = False

    def ended(offset: int, at: int) -> None:
        if not listed and at in begun:
            value = f") IN ('{marker}{len(insertions) // 2}') "
            insertions.extend([(begun[at], b" ("), (offset, value.encode())])
        begun.pop(at, None)

    for number, (word, comment) in enumerate(zip(words, comments, strict=True)):
        offset = starts[number]
        if comment:
            continue
        if word in (b"(", b"[", b"{"):
            depth += 1
        elif word in (b")", b"]", b"}"):
            ended(offset, depth)
            depth -= 1
        elif word in (b"pivot", b"pivot_wider"):
            pivots.append(depth)
        elif word == b"on" and pivots and pivots[-1] == depth:
            pivots.pop()
            begun[depth], listed = starts[number + 1], False
        elif depth in begun:
            if word == b"in":
                listed = True
            elif word == b"," or word in _AFTER_ON:
                ended(offset, depth)
                if word == b",":
                    begun[depth], listed = starts[number + 1], False
    ended(_end_of_code(starts, comments), depth)
    for offset, inserted in sorted(insertions, reverse=True):
        text = text[:offset] + inserted + text[offset:]
    return text.decode()


def _end_of_code(starts: list[int], comments: list[bool]) -> int:
    """Return where the comments begin that end a query, or its end."""
    count = len(comments)
    while count and comments[count - 1]:
        count -= 1
    return starts[count]


def _with_pivot_values(query: str, tree: dict[str, Any], marker: str, connection: "duckdb.DuckDBPyConnection") -> str:
    """Return the query with the values of each pivoted column in place of its mark, as DuckDB itself finds them."""
    top = tree["statements"][0]["node"]
    for node in _objects(tree):
        if node.get("type") != "PIVOT":
            continue
        for pivot in node["pivots"]:
            mark = _mark_of(pivot, marker)
            if mark is None:
                continue
            wanted = json.loads(_syntax_tree("SELECT DISTINCT CAST(x AS VARCHAR) AS v FROM t ORDER BY v", connection))
            selection = wanted["statements"][0]["node"]
            selection["select_list"][0]["child"] = pivot["pivot_expressions"][0]
            selection["from_table"] = node["source"]
            selection["cte_map"] = top["cte_map"]
            ((text,),) = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(wanted)]).fetchall()
            values = [value for (value,) in connection.execute(str(text)).fetchall() if value is not None]
            if not values:
                raise QueryError(
                    "PIVOT found no value to make a column of", source="query", hint="Name the values: ON … IN (…)."
                )
            query = query.replace(literal(mark), ", ".join(map(literal, values)))
    return query


def _mark_of(pivot: dict[str, Any], marker: str) -> str | None:
    """Return the mark in place of the values of a pivoted column, None for one whose values are given."""
    texts = [entry["star_expr"]["literal"]["text"] for entry in pivot["entries"] if "literal" in (entry["star_expr"] or {})]
    return next((text for text in texts if text.startswith(marker)), None)


def _table_names(tree: object) -> set[str]:
    """Return everything that is named in the place of a table in a query, in small letters."""
    return {str(node["table_name"]).lower() for node in _objects(tree) if node.get("table_name")}


def _names_given(tree: object) -> set[str]:
    """Return the names that a query gives itself (``WITH name AS …``), in small letters."""
    maps = [node["cte_map"] for node in _objects(tree) if isinstance(node.get("cte_map"), dict)]
    return {str(entry.get("key")).lower() for given in maps for entry in _objects(given) if "key" in entry}


def _syntax_tree(query: str, connection: "duckdb.DuckDBPyConnection") -> str:
    """Return the query's syntax tree as JSON, with ``"error": true`` when it is no selection."""
    ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    return str(text)


def _objects(tree: object) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in the tree."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _collected(result: "duckdb.DuckDBPyRelation | None") -> pl.DataFrame:
    if result is None:
        return pl.DataFrame()
    names = _distinct(result.columns)
    kinds = [str(kind) for kind in result.types]
    columns = ", ".join(
        f"{f'CAST(#{place} AS VARCHAR)' if _shown_as_text(kind) else f'#{place}'} AS {identifier(name)}"
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True), start=1)
    )
    frame = pl.DataFrame(_Stream(result.project(columns)))
    _refuse_strange_times(frame)
    return frame.with_columns(_whole_numbers(frame[name]) for name, kind in zip(names, kinds, strict=True) if kind in _BIG)


def _shown_as_text(kind: str) -> bool:
    return kind in _BIG or any(name in kind for name in _AS_TEXT)


def _refuse_strange_times(frame: pl.DataFrame) -> None:
    """Refuse infinite times and those beyond the year 9999, which Python has no values for."""
    for column in frame.iter_columns():
        for times in _times_in(column):
            days = times.dt.date() if times.dtype == pl.Datetime else times
            if not days.is_between(_FIRST_DAY, _LAST_DAY).all():
                raise QueryError(
                    "the result holds a time outside the years 1 to 9999",
                    source="query",
                    column=column.name,
                    hint="CAST it to VARCHAR.",
                )


def _times_in(values: pl.Series) -> Iterator[pl.Series]:
    """Yield the dates and times of a column, also those within lists and structures."""
    if values.dtype in (pl.Date, pl.Datetime):
        yield values
    elif isinstance(values.dtype, pl.List | pl.Array):
        yield from _times_in(values.explode())
    elif isinstance(values.dtype, pl.Struct):
        for field in values.struct.fields:
            yield from _times_in(values.struct.field(field))


def _whole_numbers(texts: pl.Series) -> pl.Series:
    """Convert texts to 64-bit integers where all of them fit, otherwise to 128 bits, otherwise leave them."""
    for kind in (pl.Int64, pl.Int128):
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count():
            return numbers
    return texts


class _Stream:
    """A result as an Arrow stream, of a class of our own.

    Polars remembers the classes it has been given; were DuckDB's among them, DuckDB would complain about leaks on
    standard error when the interpreter ends.
    """

    def __init__(self, result: "duckdb.DuckDBPyRelation") -> None:
        self._result = result

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._result.__arrow_c_stream__(requested_schema)


def _distinct(names: Sequence[str]) -> list[str]:
    used: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate.lower() in {other.lower() for other in used}:
            candidate, number = f"{name}_{number}", number + 1
        used.append(candidate)
    return used


_OWN_FILE: Final = "--table NAME=FILE (files={'NAME': …} in Python) adds a file of yours as a table."


def _hint(error: Exception) -> str | None:
    import duckdb

    if isinstance(error, duckdb.CatalogException):
        return f"The tables are {', '.join(SCHEMAS)}; DESCRIBE shows the columns of one. {_OWN_FILE}"
    if isinstance(error, duckdb.BinderException):
        return "`salon store schema TABLE` lists the columns of a table."
    if isinstance(error, duckdb.ParserException):
        return 'A query is one SELECT in quotation marks: "SELECT * FROM scores LIMIT 5".'
    if isinstance(error, duckdb.PermissionException):
        return f"A query sees this store's tables and no other file. {_OWN_FILE}"
    return None
