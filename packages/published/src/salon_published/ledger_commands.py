"""``salon papers list``, ``board``, ``scores``, ``consistency`` and ``add``: the ledger on the command line."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console import numbers
from salon_console.file_options import InputPath, OutputPath
from salon_console.options import FORMAT, OUTPUT, TABLE_FORMAT, format_option
from salon_console.output import as_json, deliver, print_parts, print_table
from salon_console.table_files import Table
from salon_published.manifest import GenerationTask

if TYPE_CHECKING:
    import polars as pl

    from salon_published.source_check import SourceReport

PRIOR_ALONE = "prior alone"
"""In place of the interval of a model that only the prior joins to the baseline."""
TASK = click.Choice([str(task) for task in GenerationTask])


@click.command("list")
@click.option("--stale", type=click.IntRange(min=0), metavar="DAYS", help="Only sources that were read longer ago than this.")
@OUTPUT
@TABLE_FORMAT
def list_sources(stale: int | None, output: Path | None, form: str) -> None:
    """List the sources of the ledger: when they were read, who measured, how many numbers of how many models.

    \b
    salon papers list
    salon papers list --stale 180
    """
    from salon_published.ledger import sources

    frame = sources(None if stale is None else (datetime.now(UTC).date(), stale))
    header = ("source", "title", "date", "read", "measured by", "licence", "tables", "numbers", "models")
    rows = [[str(cell) for cell in row] for row in frame.drop("link").iter_rows()]
    deliver(Table(header, rows, frozenset(header[-3:])), frame, form=form, output=output)


_CAPABILITY = click.option(
    "--capability", metavar="NAME", help="Only columns that measure it: text, counting, reasoning, motion, …"
)


@click.command("board")
@click.argument("task", type=TASK, metavar="TASK")
@_CAPABILITY
@click.option("--people", is_flag=True, help="Only numbers that people's votes or marks make.")
@click.option("--measured", is_flag=True, help="Only numbers of benchmarks' authors and of voters: none that a maker reports.")
@click.option("--top", type=click.IntRange(min=1), help="Print only so many models.")
@OUTPUT
@TABLE_FORMAT
def board(
    task: str, capability: str | None, people: bool, measured: bool, top: int | None, output: Path | None, form: str
) -> None:
    """Rank the generators of one task over all sources of the ledger, with intervals by sources.

    TASK is text-to-image, edit, text-to-video or image-to-video. Every column of every table compares its models once; a pair
    of numbers that one table quotes from another counts once.

    \b
    salon papers board text-to-image --top 10
    salon papers board text-to-image --capability text
    salon papers board edit --measured
    """
    from salon_published.ledger import check_compared, compared_scores, ledger_board

    compared = compared_scores(task, capability=capability, people=people, measured=measured)
    check_compared(compared, task, capability=capability, people=people, measured=measured)
    result = ledger_board(compared)
    rows = result.table.head(top or result.table.height)
    table = board_table(rows, compared)
    warnings = [f"Warning: {text}" for text in result.warnings]
    deliver(
        table,
        rows,
        form=form,
        output=output,
        show=lambda: print_parts(result.header, *warnings, table),
        json=lambda: as_json({"header": result.header, "warnings": result.warnings, "models": rows.to_dicts()}),
    )


def board_table(rows: "pl.DataFrame", compared: "pl.DataFrame") -> Table:
    """Return rows of a board with names, how many sources compare each model, its month of release and its weights."""
    from salon_published.registry import registry

    sources = dict(compared.select("model", "source").unique()["model"].value_counts().iter_rows())
    header = ("rank", "model", "Elo", "95% CI", "battles", "sources", "released", "weights")
    known = registry()
    lines = []
    for row in rows.iter_rows(named=True):
        model = known.get(row["model"])
        facts = [numbers.count(row["matches"]), str(sources[row["model"]]), model.released or "", model.weights or ""]
        *cells, interval = numbers.rating_cells({**row, "model": model.name})
        lines.append([*cells, PRIOR_ALONE if row["joined_by"] == "prior" else interval, *facts])
    return Table(header, lines, frozenset({"rank", "Elo", "95% CI", "battles", "sources"}))


@click.command("scores")
@click.option("--task", type=TASK, help="Only this task.")
@_CAPABILITY
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Only this model, by name or id; may be given again.")
@click.option("--benchmark", metavar="NAME", help="Only this benchmark.")
@OUTPUT
@format_option("table", "csv", "json", default=None, help_="What is printed. Default: table, or nothing with --output.")
def scores(
    task: str | None,
    capability: str | None,
    models: tuple[str, ...],
    benchmark: str | None,
    output: Path | None,
    form: str | None,
) -> None:
    """Print every number of the ledger, with its source: one row per source, table, column and model.

    `--output scores.parquet` writes them for SQL, pandas or polars.

    \b
    salon papers scores --model qwen-image --benchmark GenEval
    salon papers scores --task edit --capability text
    salon papers scores --output scores.parquet
    """
    from salon_published.ledger import chosen_scores

    frame = chosen_scores(task=task, capability=capability, models=models, benchmark=benchmark)
    header = ("model", "benchmark", "track", "value", "judge", "reported", "quoted", "source", "date")
    cells = frame.select("model", "benchmark", "track", "printed", "judge", "reported", "quoted", "source", "date")
    rows = [["" if cell is None else str(cell) for cell in row] for row in cells.iter_rows()]
    deliver(Table(header, rows, frozenset({"value"})), frame, form=form, output=output)


@click.command("consistency")
@OUTPUT
@TABLE_FORMAT
def consistency(output: Path | None, form: str) -> None:
    """Say how often sources print the same number of the same model, by benchmark and by who reports it.

    It says also whether makers' own numbers are higher, how far judges differ, and (JSON) which benchmarks no longer separate
    the best ten. Numbers are equal if they differ by no more than half a percent of the scale. Equality is mostly quoting.
    """
    from salon_published import ledger_consistency as found
    from salon_published.ledger import ledger_scores

    numbers_ = ledger_scores()
    agreement, kinds = found.agreement_of_sources(numbers_), found.agreement_of_sources(numbers_, by="kinds")
    lead, judges = found.lead_of_self_reports(numbers_), found.agreement_of_judges(numbers_)
    table = _agreement(agreement)
    leads = [
        f"{task}: makers' numbers of their own models lie {100 * value:+.2f}% of the scale from those of others "
        f"({numbers.share_interval(low, high)}; {numbers.counted(pairs, 'pair')}, {numbers.counted(makers, 'source')})."
        for task, pairs, makers, value, low, high in lead.iter_rows()
    ]
    header = ("benchmark", "judge", "other judge", "difference", "95% CI", "ρ")
    rows = [
        [benchmark, judge, other, f"{100 * difference:+.1f}%", numbers.share_interval(low, high), numbers.correlation(rho)]
        for _, benchmark, judge, other, _, _, difference, low, high, rho, *_ in judges.iter_rows()
    ]
    frames = {"benchmarks": agreement, "kinds": kinds, "self_reports": lead, "judges": judges}
    frames["separation"] = found.separation_of_best(numbers_)
    deliver(
        table,
        agreement,
        form=form,
        output=output,
        show=lambda: print_parts(table, _agreement(kinds), *leads, Table(header, rows, frozenset({"difference", "ρ"}))),
        json=lambda: as_json({name: frame.to_dicts() for name, frame in frames.items()}),
    )


def _agreement(frame: "pl.DataFrame") -> Table:
    header = (*frame.columns[:2], "pairs", "equal", "95% CI", "median difference of the others")
    rows = [
        [task, name, str(pairs), numbers.share(equal), numbers.share_interval(low, high), numbers.share(median)]
        for task, name, pairs, equal, low, high, median in frame.iter_rows()
    ]
    return Table(header, rows, frozenset({"pairs", "equal"}))


@click.command("add")
@click.argument("file", type=InputPath(dir_okay=False))
@FORMAT
def add(file: Path, form: str) -> None:
    """Check a file of a new source before it joins the ledger.

    It checks names, units, ranges, printed means and ranks, bold numbers (**0.8**), and names each number that another source
    prints otherwise, with that source and both values.
    FILE is one source in the form of salon_published/data/ledger; docs/ledger.md shows it. Exits with 1 while something must
    be put right. What a source may have printed so, such as a wrong mean, is listed to look at, and is no error.
    """
    from salon_published.source_check import check_source

    report = check_source(file)
    if form == "json":
        click.echo(as_json(_report(report)))
    else:
        _show_report(report, file)
    if any(problem.is_error for problem in report.problems):
        raise SystemExit(1)


def _report(report: "SourceReport") -> dict[str, object]:
    facts = {name: getattr(report, name) for name in ("numbers", "models", "means", "repeated", "equal")}
    fields = ("table", "row", "column", "what", "is_error")
    return {**facts, "problems": [{name: getattr(problem, name) for name in fields} for problem in report.problems]}


def _show_report(report: "SourceReport", file: Path) -> None:
    lines = [[p.table, p.row, p.column, "wrong" if p.is_error else "look", p.what] for p in report.problems]
    if lines:
        print_table(["table", "row", "column", "", "what"], lines)
    click.echo(
        f"{numbers.counted(report.numbers, 'number')} of {numbers.counted(report.models, 'model')}; "
        f"{numbers.counted(report.means, 'cell')} recomputed; "
        f"{report.repeated:,} in other sources, too, {report.equal:,} of them equal."
    )
    if not any(problem.is_error for problem in report.problems):
        click.echo(f"Nothing must be put right: move {file.name} into salon_published/data/ledger.")


@click.command("place")
@click.argument("file", type=InputPath(tables=True))
@click.option("--task", type=TASK, default="text-to-image", show_default=True, help="What the model makes.")
@_CAPABILITY
@OUTPUT
@TABLE_FORMAT
def place(file: Path, task: str, capability: str | None, output: Path | None, form: str) -> None:
    """Say where a model of your own would stand, with an interval, and which benchmark would tell most next.

    FILE has the columns benchmark, track and value, named as `salon papers scores` names them, one row per number. With
    --capability its numbers of other tracks are left out.

    \b
    salon papers place mine.csv --task edit
    salon papers place mine.csv --capability text
    """
    from salon_published.ledger_place import YOURS, place

    placing = place(file, task, capability=capability)
    board = placing.board
    at = board["model"].to_list().index(YOURS)
    around = board.slice(max(at - 4, 0), 9)
    header = ("rank", "model", "Elo", "95% CI")
    rows = [list(numbers.rating_cells(row)) for row in around.iter_rows(named=True)]
    for cells, joined_by in zip(rows, around["joined_by"], strict=True):
        cells[3] = PRIOR_ALONE if joined_by == "prior" else cells[3]
    table = Table(header, rows, frozenset({"rank", "Elo"}))
    further = placing.next_benchmarks.head(5)
    others = f"; {placing.left_out:,} measure something else" if placing.left_out else ""
    deliver(
        table,
        board,
        form=form,
        output=output,
        show=lambda: print_parts(
            placing.header,
            table,
            f"{numbers.counted(placing.numbers, 'number')} compared{others}. Rivals within 200 points have most numbers of:",
            numbers.frame_cells(further),
        ),
        json=lambda: as_json({"board": board.to_dicts(), "next_benchmarks": further.to_dicts()}),
    )


@click.command("page")
@click.option("--output", metavar="FILE", type=OutputPath(endings=(".html",)), required=True, help="The page to write: .html.")
def page(output: Path) -> None:
    """Write the ledger as one page: boards, every number of every model, progress, agreement of benchmarks and of sources.

    \b
    salon papers page --output ledger.html
    """
    from salon_published.ledger_page import ledger_page
    from salon_taxonomy.whole_files import write_whole

    write_whole(output, ledger_page().encode())
    click.echo(f"Wrote {output}: open it in a browser.")
