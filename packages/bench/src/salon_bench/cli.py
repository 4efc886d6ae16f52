"""The ``salon published`` commands: parse, make one library call, print."""

import csv
import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    import polars as pl

    from salon_bench.published import CellCheck, CheckReport, PublishedTable


_TABLE_OR_JSON = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)


@click.group()
def published() -> None:
    """Tables that five papers printed, as data, checked against themselves.

    \b
    salon published list                          what there is
    salon published show 003:1                    one table
    salon published show 003:1 --format csv       the same, digit for digit as printed
    salon published check                         recompute what follows from other cells
    """


@published.command("list")
@_TABLE_OR_JSON
def list_tables(form: str) -> None:
    """List the tables: paper, caption, size, and how many cells follow from others.

    \b
    salon published list
    salon published list --format json
    """
    from salon_bench.published import tables

    found = tables()
    if form == "json":
        _print_json([_about(each) for each in found])
        return
    header = ["id", "paper", "caption", "rows × columns", "derived"]
    sizes = [(each, f"{len(each.names)} × {len(each.columns)}", str(len(each.derived()))) for each in found]
    lines = [[each.id, each.paper.citation, each.caption, size, derived] for each, size, derived in sizes]
    _print_table(header, lines, right=header[-2:])


@published.command("show")
@click.argument("table_id", metavar="TABLE")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "markdown"]),
    default="table",
    show_default=True,
    help="How to print. csv and markdown keep every printed digit; json has numbers.",
)
def show(table_id: str, form: str) -> None:
    """Show one table, named by paper and number.

    \b
    salon published show 000:3
    salon published show 002:9a --format markdown
    """
    from salon_bench.published import table

    found = table(table_id)
    header = [*found.spec.keys, *found.columns]
    body = [[*key, *(found.printed[name][row] or "" for name in found.columns)] for row, key in enumerate(found.keys)]
    if form == "json":
        _print_json({"id": found.id, "caption": found.caption, "rows": found.frame().to_dicts()})
    elif form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *body])
        click.echo(text.getvalue(), nl=False)
    elif form == "markdown":
        click.echo(_markdown(header, body, len(found.spec.keys)))
    else:
        _show_on_screen(found, header, body)


@published.command("check")
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option("--all", "everything", is_flag=True, help="Show every recomputed cell, not only those that disagree.")
@_TABLE_OR_JSON
def check_tables(table_id: str | None, everything: bool, form: str) -> None:
    """Recompute every cell that follows from others and compare it with what the paper prints.

    A cell that disagrees with its own paper is a finding, listed with the likely reason; the command still succeeds.
    exact: the printed inputs give the printed digits. within rounding: they do once their own rounding is allowed for.
    consistent: the paper prints too little to recompute the cell, but what it prints allows it.

    \b
    salon published check
    salon published check 003:3 --all
    salon published check --format json
    """
    from salon_bench.published import check

    report = check(table_id)
    cells = report.results if everything else report.findings
    if form == "json":
        _print_json({"cells": _finite(report.frame(), everything), "summary": _summary(report)})
        return
    _print_summary(report)
    for (table, rule, reason), group in _by_reason(cells).items():
        click.echo(f"\n{table}, {rule}" + (f": {reason}" if reason else ""))
        lines = [[c.key, c.column, c.printed, c.recomputed_text(), str(c.agreement)] for c in group]
        _print_table(["row", "column", "paper", "recomputed", "verdict"], lines, right=("paper", "recomputed"))
    click.echo(f"{len(report.results)} cells: " + ", ".join(f"{name} {count}" for name, count in _counts(report).items()))


def _by_reason(cells: "Sequence[CellCheck]") -> "dict[tuple[str, str, str | None], list[CellCheck]]":
    """Cells of one table that one rule covers and one reason explains, together."""
    groups: dict[tuple[str, str, str | None], list[CellCheck]] = {}
    for cell in cells:
        groups.setdefault((cell.table, cell.rule, cell.reason), []).append(cell)
    return groups


def _about(each: "PublishedTable") -> dict[str, object]:
    size = {"rows": len(each.names), "columns": len(each.columns), "derived_cells": len(each.derived())}
    return {"id": each.id, "paper": each.paper.citation, "title": each.paper.title, "caption": each.caption, **size}


def _counts(report: "CheckReport") -> dict[str, int]:
    from salon_bench.published import Agreement

    return {str(agreement): report.count(agreement) for agreement in Agreement}


def _summary(report: "CheckReport") -> list[dict[str, object]]:
    return [{name: getattr(line, name) for name in type(line).__slots__} for line in report.summary()]


def _finite(frame: "pl.DataFrame", everything: bool) -> list[dict[str, object]]:
    """Rows for JSON, which knows no infinity: an open end is null."""
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
    _print_table(["table", "rule", *numbers], lines, right=numbers)


def _show_on_screen(found: "PublishedTable", header: list[str], body: list[list[str]]) -> None:
    click.echo(f"{found.paper.title}, Table {found.id.partition(':')[2]}\n{found.caption}")
    about = [f"unit: {found.spec.unit}", f"better: {found.spec.direction}"]
    about += [f"judge: {found.spec.judge}"] if found.spec.judge else []
    click.echo(", ".join(about))
    _print_table(header, body, right=found.columns, unbroken=True)


def _print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), *, unbroken: bool = False
) -> None:
    """Draw a table; ``unbroken`` lets it run past the edge of the screen instead of breaking its cells."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        drawn.add_column(Text(name), justify="right" if name in right else "left", overflow="fold", no_wrap=unbroken)
    for row in rows:
        drawn.add_row(*map(Text, row))
    console = Console(highlight=False)
    if unbroken:
        console.width = max(console.width, sum(max(map(len, cells)) + 3 for cells in zip(header, *rows, strict=True)))
    console.print(drawn)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> str:
    ruler = ["---"] * keys + ["---:"] * (len(header) - keys)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [header, ruler, *rows])


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))
