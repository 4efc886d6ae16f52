"""``salon store``: make, fill, query and look after a result store."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import rich_click as click

from salon_console.file_options import InputPath, StorePath
from salon_console.options import FORMAT, OUTPUT, FiniteRange, output_option
from salon_console.output import as_json, console_of, deliver, fitted
from salon_console.table_files import Table
from salon_taxonomy.store_address import is_url
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from datetime import datetime

    import polars as pl

    from salon_console.table_files import ValueForm
    from salon_store.schemas import Column
    from salon_store.store import ResultStore

_STORE = StorePath()
_MEBIBYTE = 1 << 20
_LONG_FILE = 4 * _MEBIBYTE
_MOST_ROWS = 200  # that a table on the screen shows
_UNLIMITED = 10_000  # columns: a pipe has no edge to wrap at


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def store() -> None:
    """Keep every score, battle and rating in one directory, and ask it questions in SQL.

    \b
    salon store init results
    salon store import results battles votes.csv
    salon store sql results "SELECT winner, count(*) FROM battles GROUP BY winner"
    """


@store.command()
@click.argument("directory", type=_STORE)
def init(directory: str | Path) -> None:
    """Make an empty store in DIRECTORY (which must be new or empty); harmless where there is one already.

    \b
    salon store init results
    """
    from salon_store.store import ResultStore

    _report_recovered(ResultStore.open(directory))
    click.echo(f"{_shown(directory)} is a result store.", err=True)
    steps = (
        ("salon store schema battles", "the columns of a table"),
        (f"salon store import {_shown(directory)} battles votes.csv", "rows from csv, jsonl or parquet"),
        (f'salon store sql {_shown(directory)} "SHOW TABLES"', "questions in SQL"),
    )
    width = max(len(command) for command, _ in steps)
    click.echo("Next:", err=True)
    for command, meaning in steps:
        click.echo(f"  {command:{width}}  {meaning}", err=True)


@store.command("ls")
@click.argument("directory", type=_STORE)
@click.argument("table", required=False)
@OUTPUT
@FORMAT
def list_tables(directory: str | Path, table: str | None, output: Path | None, form: str) -> None:
    """List the tables of the store in DIRECTORY with rows, files and size; with TABLE, the commits of that table.

    \b
    salon store ls results
    salon store ls results battles
    salon store sql results "SELECT count(*) FROM battles" --at 3
    """
    from salon_store.store import ResultStore

    opened = ResultStore.open(directory, create=False, read_only=True)
    if table is not None:
        _commits(opened, table, output, form)
        return
    tables = opened.tables()
    rows = [(info.table, f"{info.rows:,}", f"{info.files:,}", _size(info.bytes)) for info in tables]
    values = [{"table": info.table, "rows": info.rows, "files": info.files, "bytes": info.bytes} for info in tables]
    _deliver(Table(("table", "rows", "files", "size"), rows, frozenset({"rows", "files", "size"})), values, form, output)
    for path in opened.journals_waiting():
        click.echo(f"{_shown(path)}: a journal in use, or left behind (then `salon store compact` folds it)", err=True)


def _commits(opened: "ResultStore", table: str, output: Path | None, form: str) -> None:
    changes = opened.history(table)
    rows = [
        (
            str(change.version),
            change.at.isoformat(sep=" ", timespec="seconds"),
            change.operation,
            change.run_id or "",
            f"{change.rows:,}",
            f"+{change.files_added} -{change.files_removed}",
        )
        for change in changes
    ]
    columns = ("version", "at", "operation", "run", "rows", "files")
    values = [{name: getattr(change, name) for name in type(change).__slots__} for change in changes]
    _deliver(Table(columns, rows, frozenset({"version", "rows", "files"})), values, form, output)


@store.command()
@click.argument("table")
@OUTPUT
@FORMAT
def schema(table: str, output: Path | None, form: str) -> None:
    """Show the columns of TABLE: type, whether it must be given, what it may hold. A key column has a star.

    \b
    salon store schema battles
    """
    from salon_store.schemas import table_schema

    described = table_schema(table)
    rows = [
        (f"{name}{'*' if name in described.key else ''}", _kind(column), _given(column), _holds(column))
        for name, column in described.columns.items()
    ]
    values = [
        {"column": name, "key": name in described.key, "type": kind, "given": given, "holds": holds}
        for name, (_, kind, given, holds) in zip(described.columns, rows, strict=True)
    ]
    _deliver(Table(("column", "type", "given", "holds"), rows), values, form, output)
    for rule in described.rules if form == "table" else ():
        click.echo(f"{rule.problem}")


@store.command("import")
@click.argument("directory", type=_STORE)
@click.argument("table")
@click.argument("files", type=InputPath(dir_okay=False), nargs=-1, required=True)
@click.option("--run-id", help="Name of the run that the rows belong to; a digest of the files unless given.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["refuse", "skip"]),
    default="refuse",
    show_default=True,
    help="What to do with a row whose key is in the table.",
)
def import_files(
    directory: str | Path, table: str, files: tuple[Path, ...], run_id: str | None, on_duplicate: Literal["refuse", "skip"]
) -> None:
    """Add the rows of FILES (csv, jsonl, parquet) to TABLE: all of them, or none when anything is wrong.

    In csv files an empty cell is null, a list is a JSON array or texts separated by ";", a time is ISO 8601 with its zone.

    \b
    salon store import results battles votes.csv more-votes.jsonl
    salon store import results battles votes.csv --on-duplicate skip
    """
    from salon_store.errors import DuplicateKeyError
    from salon_store.importing import joined, located, read_rows
    from salon_store.schemas import table_schema
    from salon_store.store import ResultStore
    from salon_taxonomy.digest import digest, file_sha256

    table_schema(table)
    opened = ResultStore.open(directory, create=False)
    _report_recovered(opened)
    with _progress("reading", sum(path.stat().st_size for path in files if path.exists())) as advance:
        frames = [(path, read_rows(path, table, on_bytes=advance)) for path in files]
    run = run_id or f"import-{digest('import', [file_sha256(path) for path in files], length=12)}"
    try:
        outcome = opened.append(table, joined(frames, table), run_id=run, on_duplicate=on_duplicate)
    except DuplicateKeyError as error:
        raise located(error, frames) from error
    if not is_url(directory):
        opened.catalog()
    skipped = f", {outcome.rows_skipped:,} skipped (key already in the table)" if outcome.rows_skipped else ""
    click.echo(f"{_count(outcome.rows_written, 'row')} written to {table}{skipped}.", err=True)


@store.command()
@click.argument("directory", type=_STORE)
@click.argument("query")
@click.option(
    "--format", "format_", type=click.Choice(["table", "csv", "json", "parquet"]), help="What is printed. Default: table."
)
@output_option(what="Write this file, and print nothing unless --format is given")
@click.option("--timeout", type=FiniteRange(min=0, min_open=True), help="Seconds after which the query is stopped.")
@click.option("--at", metavar="VERSION|TIME", help="Read the tables as of a time with its zone, or one table's version.")
@click.option("--table", "files", metavar="NAME=FILE", multiple=True, help="Read this CSV, JSON or Parquet file, too, as NAME.")
def sql(
    directory: str | Path,
    query: str,
    format_: "ValueForm | Literal['table'] | None",
    output: Path | None,
    timeout: float | None,
    at: str | None,
    files: tuple[str, ...],
) -> None:
    """Ask the store in DIRECTORY a QUERY in SQL (DuckDB's dialect). It reads, and can do nothing else.

    \b
    salon store sql results "SHOW TABLES"
    salon store sql results "SELECT model, avg(value) FROM ratings GROUP BY model" --format csv
    salon store sql results "FROM battles" --output battles.parquet
    salon store sql results "SELECT count(*) FROM battles a, battles b" --timeout 60
    salon store sql results "SELECT count(*) FROM battles" --at 2026-01-31T12:00:00Z
    salon store sql results "SELECT team, count(*) FROM battles JOIN mine USING (rater_id) GROUP BY team" --table mine=mine.csv
    """
    from salon_console.table_files import encoded, write_table
    from salon_store.store import ResultStore
    from salon_taxonomy.errors import InputError, missing_path

    named = {name: Path(path) for name, _, path in (each.partition("=") for each in files)}
    for path in named.values():
        if not path.is_file():
            raise missing_path(path)
    result = ResultStore.open(directory, create=False, read_only=True).sql(query, timeout=timeout, at=_moment(at), files=named)
    if format_ == "table" or (format_ is None and output is None):
        _print_frame(result)
    elif format_ is None:
        pass
    elif not sys.stdout.isatty():
        _write_bytes(encoded(result, format_))
    elif format_ == "parquet":
        raise InputError("parquet is not for the screen", hint="Add --output, or send it into a file or a pipe.")
    else:
        _write_bytes(_shown(encoded(result, format_).decode()).encode())
    if output is not None:
        write_table(output, lambda: _cells(result), result)
        click.echo(f"{_count(result.height, 'row')} written to {_shown(output)}.", err=True)


@store.command()
@click.argument("directory", type=_STORE)
def compact(directory: str | Path) -> None:
    """Merge the small files of the store in DIRECTORY. Appends and queries may go on meanwhile.

    The merged files stay for time travel until `salon store vacuum`.

    \b
    salon store compact results
    """
    from salon_store.schemas import SCHEMAS
    from salon_store.store import ResultStore

    opened = ResultStore.open(directory, create=False)
    _report_recovered(opened)
    with _progress("compacting", len(SCHEMAS), always=True) as advance:
        done = opened.compact(on_table=lambda _: advance(1))
    for table in done:
        if table.files_merged:
            click.echo(f"{table.table}: {_count(table.files_merged, 'file')} merged into {table.files_written}", err=True)
    if not any(table.files_merged for table in done):
        click.echo("Nothing to merge.", err=True)


@store.command()
@click.argument("directory", type=_STORE)
@click.option("--retention", type=FiniteRange(min=1, max=876_000), default=168.0, show_default=True, help="Hours to keep.")
def vacuum(directory: str | Path, retention: float) -> None:
    """Remove the data files that no version of the last hours of the store in DIRECTORY has.

    A file that a running query may need is younger than that. Versions from before can no longer be read.

    \b
    salon store vacuum results
    salon store vacuum results --retention 24
    """
    from datetime import timedelta

    from salon_store.store import ResultStore

    opened = ResultStore.open(directory, create=False)
    _report_recovered(opened)
    removed = opened.vacuum(retention=timedelta(hours=retention))
    for table, names in removed.items():
        if names:
            click.echo(f"{table}: {_count(len(names), 'file')} removed", err=True)
    if not any(removed.values()):
        click.echo("Nothing to remove.", err=True)


@store.command()
@click.argument("directory", type=_STORE)
@click.argument("run")
@click.option("--undo", is_flag=True, help="Put the rows of a removed run back.")
def remove(directory: str | Path, run: str, undo: bool) -> None:
    """Remove the rows of RUN, a trial say, from the store in DIRECTORY: its scores, labels, calls, events and rewards.

    Prompts, generations, battles and leaderboards name no run and stay. --undo works until `salon store vacuum` has removed
    the files of before, at the earliest after its retention.

    \b
    salon store remove results prism-3f2a
    salon store remove results prism-3f2a --undo
    """
    from salon_store.store import ResultStore

    opened = ResultStore.open(directory, create=False)
    _report_recovered(opened)
    counts = opened.restore(run) if undo else opened.remove(run)
    for table, rows in counts.items():
        if rows:
            click.echo(f"{table}: {_count(rows, 'row')} {'put back' if undo else 'removed'}", err=True)
    if not undo:
        click.echo(f"`salon store remove {_shown(directory)} {_shown(run)} --undo` puts them back.", err=True)


@store.command()
@click.argument("directory", type=_STORE)
@click.option(
    "--set-aside", is_flag=True, help="Take damaged and missing files out of their tables; move what is left of them away."
)
@click.pass_context
def verify(context: click.Context, directory: str | Path, set_aside: bool) -> None:
    """Check every file of the store in DIRECTORY: content, schema, values, keys. Exits 1 when anything is wrong.

    Without --set-aside it changes nothing, so it also checks a store that cannot be written.

    \b
    salon store verify results
    salon store verify results --set-aside
    """
    from salon_store.store import ResultStore

    opened = ResultStore.open(directory, create=False, read_only=not set_aside)
    _report_recovered(opened)
    outcome = opened.verify(set_aside=set_aside)
    for problem in outcome.problems:
        click.echo(_shown(problem))
    for path in outcome.journals_waiting:
        click.echo(f"{_shown(path)}: a journal in use, or left behind (then `salon store compact` folds it)", err=True)
    for file in outcome.uncommitted:
        words = "no version has its rows: its writer works or was killed before the commit, or the newest commits were removed"
        click.echo(f"{_shown(file)}: {words}", err=True)
    verdict = "sound" if outcome.sound else _count(len(outcome.problems), "problem")
    click.echo(f"{_count(outcome.files, 'file')}, {_count(outcome.rows, 'row')}: {verdict}.", err=True)
    context.exit(0 if outcome.sound else 1)


def _moment(at: str | None) -> "datetime | int | None":
    """Return a version or a time with its zone."""
    from datetime import datetime

    if at is None or at.isdecimal():
        return None if at is None else int(at)
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise click.BadParameter(
            f"{at!r} is neither a version (see `salon store ls DIRECTORY TABLE`) nor a time such as 2026-01-31T12:00:00Z",
            param_hint="--at",
        )
    return moment


def _report_recovered(opened: "ResultStore") -> None:
    for folded in opened.recovered:
        click.echo(
            f"The journal of run {_shown(folded.run_id)}, left behind by a writer that died, was folded: "
            f"{_count(folded.rows_written, 'row')}, {folded.rows_skipped:,} already there.",
            err=True,
        )
        for kept in folded.set_aside:
            click.echo(f"Warning: {_shown(kept)}", err=True)


def _kind(column: "Column") -> str:
    names = {"String": "text", "Float64": "number", "Int64": "whole number", "Boolean": "true or false"}
    return names.get(str(column.dtype), "texts" if str(column.dtype).startswith("List") else "time")


def _given(column: "Column") -> str:
    if column.required:
        return "always"
    if column.nullable:
        return "or null"
    return f"or {list(column.default) if isinstance(column.default, tuple) else column.default}"


def _holds(column: "Column") -> str:
    if column.allowed is not None:
        return ", ".join(column.allowed)
    bounds = ((">=", column.at_least), (">", column.above), ("<=", column.at_most), ("<", column.below))
    limits = [f"{sign} {bound:g}" for sign, bound in bounds if bound is not None]
    if column.longest is not None:
        limits.append(f"{column.shortest} to {column.longest} characters")
    elif column.shortest is not None:
        limits.append(f"at least {column.shortest} character")
    if column.pattern is not None:
        limits.append("64 hex digits")
    return ", ".join(limits)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def _shown(value: object) -> str:
    """Return a name or a cell as text that a terminal cannot act upon."""
    return visible(str(value), prose=True)


def _write_bytes(content: bytes) -> None:
    """Write to standard output as they are: ``click.echo`` would strip what looks like a terminal's codes in a pipe."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _deliver(table: Table, values: list[dict[str, object]], form: str, output: Path | None) -> None:
    deliver(table, values, form=form, output=output, show=lambda: _print(table), json=lambda: as_json(values))


def _print(table: Table) -> None:
    console_of(_UNLIMITED).print(fitted(table, indented=False))


def _cells(frame: "pl.DataFrame") -> Table:
    numeric = frozenset(name for name, kind in frame.schema.items() if kind.is_numeric())
    return Table(tuple(frame.columns), [["" if cell is None else _cell(cell) for cell in row] for row in frame.rows()], numeric)


def _print_frame(frame: "pl.DataFrame") -> None:
    _print(_cells(frame.head(_MOST_ROWS)))
    rest = f", {_MOST_ROWS} of them shown; --format csv shows all" if frame.height > _MOST_ROWS else ""
    click.echo(_count(frame.height, "row") + rest, err=True)


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else _shown(value).replace("\n", "\\n")


@contextmanager
def _progress(words: str, total: int, *, always: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, for what may take longer than a second."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not always and total < _LONG_FILE) as bar:
        task = bar.add_task(words, total=total)
        yield lambda amount: bar.advance(task, amount)
