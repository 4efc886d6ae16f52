"""The ``salon papers`` commands and ``salon quickstart``: parse, make one library call, print."""

import csv
import io
import shlex
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import OUTPUT, TABLE_FORMAT, output_option
from salon_console.output import as_json, deliver, print_table
from salon_console.table_files import Table, csv_cell
from salon_published.ledger_commands import PRIOR_ALONE, add, board, board_table, consistency, list_sources, page, place, scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import polars as pl
    from rich.progress import TaskID

    from salon_published import CellCheck, CheckReport, PublishedTable
    from salon_published.manifest import GenerationTask
    from salon_published.quickstart import Quickstart


_UNLIMITED = 10_000
"""Columns of a file or a pipe, which has no edge to wrap at."""


@click.group()
def papers() -> None:
    """Show what five papers and 76 repositories publish about generators, checked against itself and ranked.

    \b
    salon papers show                            the papers' tables
    salon papers show prism:1                    one table
    salon papers check                           recompute what follows from other cells
    salon papers list                            the sources of the ledger
    salon papers board text-to-video             who leads, over all sources
    salon papers scores --model qwen-image       every number of one model, with its source
    """


for command in (list_sources, board, scores, consistency, place, page, add):
    papers.add_command(command)


@papers.command("show")
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "markdown"]),
    default="table",
    show_default=True,
    help="How to print. csv and markdown keep every printed digit; json has numbers.",
)
@OUTPUT
def show(table_id: str | None, form: str, output: Path | None) -> None:
    """Show one table, named by paper and number, or list all: paper, caption, size, how many cells follow from others.

    \b
    salon papers show
    salon papers show magicmirror:3
    salon papers show r3:9a --format markdown
    """
    from salon_published import table

    if table_id is None:
        _list_tables(form, output)
        return
    published = table(table_id)
    header = [*published.spec.keys, *published.columns]
    body = [
        [*key, *(published.printed[name][row] or "" for name in published.columns)] for row, key in enumerate(published.keys)
    ]
    cells = Table(tuple(header), body, frozenset(published.columns), published.caption)

    def printed() -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(map(csv_cell, row) for row in [header, *body])
        return text.getvalue()

    deliver(
        cells,
        published.frame(),
        form=form,
        output=output,
        show=lambda: click.echo(cells.markdown(), nl=False) if form == "markdown" else _show_on_screen(published, header, body),
        json=lambda: as_json({"id": published.id, "caption": published.caption, "rows": published.frame().to_dicts()}),
        csv=printed,
    )


def _list_tables(form: str, output: Path | None) -> None:
    from salon_published import tables

    all_tables = tables()
    values = [_about(each) for each in all_tables]
    header = ("id", "paper", "caption", "rows × columns", "derived")
    sizes = [(each, f"{len(each.names)} × {len(each.columns)}", str(len(each.derived()))) for each in all_tables]
    lines = [[each.id, each.paper.citation, each.caption, size, derived] for each, size, derived in sizes]
    cells = Table(header, lines, frozenset(header[-2:]))
    markdown = (lambda: click.echo(cells.markdown(), nl=False)) if form == "markdown" else None
    deliver(cells, values, form=form, output=output, show=markdown, json=lambda: as_json(values))


@papers.command("check")
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option("--all", "everything", is_flag=True, help="Show every recomputed cell, not only those that disagree.")
@OUTPUT
@TABLE_FORMAT
def check_tables(table_id: str | None, everything: bool, form: str, output: Path | None) -> None:
    """Recompute every cell that follows from others and compare it with what the paper prints.

    A cell that disagrees with its own paper is a finding, listed with the likely reason; the command still succeeds.
    exact: the printed inputs give the printed digits. within rounding: they do once their own rounding is allowed for.
    consistent: the paper prints too little to recompute the cell, but what it prints allows it.

    \b
    salon papers check
    salon papers check prism:3 --all
    salon papers check --format json
    """
    from salon_published import check

    report = check(table_id)
    cells = report.results if everything else report.findings
    lines = [(c.table, c.rule, c.key, c.column, c.printed, c.recomputed_text(), str(c.agreement)) for c in cells]
    columns = ("table", "rule", "row", "column", "paper", "recomputed", "verdict")
    values = _finite(report.frame(), everything)
    deliver(
        Table(columns, lines, frozenset({"paper", "recomputed"})),
        values,
        form=form,
        output=output,
        show=lambda: _show_check(report, cells),
        json=lambda: as_json({"cells": values, "summary": _summary(report)}),
    )


def _show_check(report: "CheckReport", cells: "Sequence[CellCheck]") -> None:
    _print_summary(report)
    for (table, rule, reason), group in _by_reason(cells).items():
        click.echo(f"\n{table}, {rule}" + (f": {reason}" if reason else ""))
        lines = [[c.key, c.column, c.printed, c.recomputed_text(), str(c.agreement)] for c in group]
        print_table(["row", "column", "paper", "recomputed", "verdict"], lines, right=("paper", "recomputed"))
    click.echo(f"{len(report.results)} cells: " + ", ".join(f"{name} {count}" for name, count in _counts(report).items()))


def _by_reason(cells: "Sequence[CellCheck]") -> "dict[tuple[str, str, str | None], list[CellCheck]]":
    """Return cells of one table that one rule covers and one reason explains, together."""
    groups: dict[tuple[str, str, str | None], list[CellCheck]] = {}
    for cell in cells:
        groups.setdefault((cell.table, cell.rule, cell.reason), []).append(cell)
    return groups


def _about(published: "PublishedTable") -> dict[str, object]:
    size = {"rows": len(published.names), "columns": len(published.columns), "derived_cells": len(published.derived())}
    return {
        "id": published.id,
        "paper": published.paper.citation,
        "title": published.paper.title,
        "caption": published.caption,
        **size,
    }


def _counts(report: "CheckReport") -> dict[str, int]:
    from salon_published import MatchWithPrinted

    return {str(agreement): report.count(agreement) for agreement in MatchWithPrinted}


def _summary(report: "CheckReport") -> list[dict[str, object]]:
    return [{name: getattr(line, name) for name in type(line).__slots__} for line in report.summary()]


def _finite(frame: "pl.DataFrame", everything: bool) -> list[dict[str, object]]:
    """Return rows with infinite bounds as null."""
    rows = frame.to_dicts() if everything else [row for row in frame.to_dicts() if row["verdict"] == "disagrees"]
    for row in rows:
        row.update({end: None for end in ("low", "high") if abs(row[end]) == float("inf")})
    return rows


def _print_summary(report: "CheckReport") -> None:
    lines = [
        [s.table, s.rule, *(str(n) if n else "" for n in (s.cells, s.exact, s.within_rounding, s.consistent, s.disagrees))]
        for s in report.summary()
    ]
    numbers = ["cells", "exact", "within rounding", "consistent", "disagrees"]
    print_table(["table", "rule", *numbers], lines, right=numbers)


def _show_on_screen(published: "PublishedTable", header: list[str], body: list[list[str]]) -> None:
    click.echo(f"{published.paper.title}, Table {published.id.partition(':')[2]}\n{published.caption}")
    about = [f"unit: {published.spec.unit}", f"better: {published.spec.direction}"]
    about += [f"judge: {published.spec.judge}"] if published.spec.judge else []
    click.echo(", ".join(about))
    print_table(header, body, right=published.columns, width=_UNLIMITED)


@click.command()
@click.option(
    "--dir",
    "directory",
    type=InputPath(file_okay=False, made=True),
    default=Path("salon-results"),
    show_default=True,
    help="The result store to make or to extend.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Print so many models (the report has all)."
)
@output_option(what="Also write the boards of all tasks to this file")
@TABLE_FORMAT
def quickstart(directory: Path, top: int, output: Path | None, form: str) -> None:
    """Rank 441 generators of pictures, edits and videos by everything that 80 sources publish about them.

    Makes a result store, imports the published tables, derives battles from them, ranks the generators of each task with
    intervals by sources, and writes report.html. Needs no network; the same call again changes nothing.

    \b
    Example:
      salon quickstart
      salon quickstart --dir elsewhere --top 20
      salon store sql salon-results "SELECT model, rating FROM leaderboards WHERE board = 'edit' ORDER BY rank LIMIT 5"
    """
    import polars as pl

    from salon_published.ledger import compared_scores
    from salon_published.quickstart import quickstart as run

    with _progress() as progress:
        done = run(directory, progress=progress)
    boards = done.boards.items()
    frame = pl.concat([ranked.table.select(pl.lit(str(task)).alias("task"), pl.all()) for task, ranked in boards])
    tables = {task: board_table(ranked.table, compared_scores(task)) for task, ranked in boards}
    header = ("task", *next(iter(tables.values())).columns)
    lines = [[str(task), *row] for task, table in tables.items() for row in table.rows]
    whole = Table(header, lines, frozenset(header) - {"task", "model", "released", "weights"})
    deliver(whole, frame, form=form, output=output, show=lambda: _show_quickstart(done, tables, top))


@contextmanager
def _progress() -> "Iterator[Callable[[str, int, int], None]]":
    """A bar per step on standard error; it vanishes when the work is done."""
    from rich.console import Console
    from rich.progress import Progress

    steps: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), transient=True) as bars:

        def tell(step: str, done: int, total: int) -> None:
            if step not in steps:
                steps[step] = bars.add_task(step, total=total)
            bars.update(steps[step], completed=done)

        yield tell


def _show_quickstart(done: "Quickstart", tables: "Mapping[GenerationTask, Table]", top: int) -> None:
    from salon_console import numbers

    first = next(iter(done.boards))
    click.echo(done.boards[first].header)
    for task, table in tables.items():
        known = [row for row in table.rows if row[3] not in (numbers.MISSING, PRIOR_ALONE)][: top if task is first else 3]
        click.echo(f"\n{task}, {len(known)} of {numbers.counted(len(table.rows), 'generator')}:")
        print_table(table.columns, known, right=table.numeric)
    click.echo(f"\n{done.scores:,} published numbers, from which {done.battles:,} battles are derived.")
    click.echo("Intervals are by sources. A missing rank is of a generator without one; the report has every generator.")
    click.echo("\nThree questions to ask next:")
    for question, sql in done.questions:
        click.echo(f'\n# {question}\nsalon store sql {shlex.quote(str(done.given))} "{sql}"')
    click.echo(f"\n{done.added:,} rows were new to the store. Open {done.report} in a browser.")
