"""Print, write and store what ``salon votes rank`` has found."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import rich_click as click

from salon_console.numbers import frame_cells
from salon_console.output import deliver, fitted
from salon_console.shown_result import joined_views
from salon_console.table_files import write_table
from salon_ranking.cli.output import console, plain
from salon_ranking.cli.rank_answer import OtherTable, RankAnswer, RankInput
from salon_ranking.cli.rank_request import RankRequest
from salon_ranking.leaderboard.analyses import Analyses
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.output import combined, to_json
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from rich.console import Console

    from salon_ranking.battles import Battles
    from salon_ranking.cli.sinks import Sink
    from salon_ranking.raters.rater_report import RaterReport

_WIDTH = 120


def show_answer(request: RankRequest, answer: RankAnswer) -> None:
    """Print the answer on standard output, in the wanted format; remarks for people on standard error."""
    boards = answer.boards
    if request.explain is not None:
        from salon_ranking.leaderboard.explanation import explain

        for sentence in explain(boards[0], answer.rated, request.explain, threads=request.threads):
            click.echo(visible(sentence))
    elif request.side_by_side:
        _show_side_by_side(boards, request.format_)
    elif request.format_ == "json":
        click.echo(to_json(boards, answer.analyses))
    elif request.format_ == "csv":
        _write_exactly(combined(boards).write_csv())
    else:
        _show_boards(answer, quiet=_is_quiet(request))
        return
    if boards and boards[0].excluded is not None:
        click.echo(visible(boards[0].excluded.sentence), err=True)
    beside = console(stderr=request.format_ != "table", width=_WIDTH)
    for board, analyses in zip(boards, answer.analyses, strict=True):
        _show_analyses(board, analyses, beside)


def show_scores(scores: OtherTable, request: RankRequest) -> None:
    """Print scores or a comparison, and write them to the file of ``--output``."""
    from salon_ranking.cli.terminal import MOST_SHOWN, more_rows, scores_table

    cells = frame_cells if scores.is_comparison else scores_table

    def show() -> None:
        terminal = console(width=_WIDTH)
        terminal.print(plain(scores.header), style="dim")
        if scores.is_comparison or not _is_quiet(request):
            terminal.print(fitted(cells(scores.table.head(MOST_SHOWN))))
            more = more_rows(scores.table.height)
            if more is not None:
                terminal.print(more)
        for said in scores.warnings:
            terminal.print(f"Warning: {plain(said)}")
        _show_tables({}, scores.further, terminal)

    deliver(
        lambda: cells(scores.table),
        scores.table,
        form=request.format_,
        output=request.output,
        show=show,
        json=scores.document,
        made=scores.charts,
    )


def _is_quiet(request: RankRequest) -> bool:
    """Return whether the answer is wanted in a file alone: one is named, and ``--format`` is not."""
    from click.core import ParameterSource

    source = click.get_current_context().get_parameter_source("format_")  # type: ignore[union-attr]
    return request.output is not None and source is ParameterSource.DEFAULT


def _show_boards(answer: RankAnswer, *, quiet: bool) -> None:
    """Print each board as a table, with its header, parameters and analyses."""
    from salon_ranking.cli.terminal import MOST_SHOWN, more_rows

    terminal = console(width=_WIDTH)
    for board, analyses in zip(answer.boards, answer.analyses, strict=True):
        terminal.print(plain(board.header), style="dim")
        if not quiet:
            cells = board.view().table
            terminal.print(fitted(replace(cells, rows=cells.rows[:MOST_SHOWN])))
            more = more_rows(board.table.height)
            if more is not None:
                terminal.print(more)
        for said in board.warnings:
            terminal.print(f"Warning: {plain(said)}")
        _show_tables({}, {"parameters": board.parameters, "position_bias": board.position_bias}, terminal)
        _show_analyses(board, analyses, terminal)


def _show_analyses(board: Leaderboard, analyses: Analyses, terminal: "Console") -> None:
    """Print the analyses beside a board: acceptability, goodness of fit, held-out log-loss."""
    if board.group is not None and analyses.document():
        terminal.print(f"\n{plain(board.group)}")
    if analyses.acceptability is not None:
        _show_tables({}, {"acceptability": analyses.acceptability}, terminal)
    if analyses.diagnosis is not None:
        _show_tables(analyses.diagnosis.numbers, analyses.diagnosis.tables, terminal)
        terminal.print(plain(analyses.diagnosis.note))
    if analyses.held_out is not None:
        terminal.print(plain(analyses.held_out.sentence))


def _show_tables(numbers: Mapping[str, float | None], tables: Mapping[str, pl.DataFrame], terminal: "Console") -> None:
    """Print single numbers, then tables with rows."""
    for name, value in numbers.items():
        terminal.print(f"{name.replace('_', ' ')}: {'–' if value is None else f'{value:.4g}'}")
    for name, table in tables.items():
        if table.height:
            terminal.print(f"\n{name.replace('_', ' ')}")
            terminal.print(fitted(frame_cells(table)))


def _show_side_by_side(boards: Sequence[Leaderboard], format_: str) -> None:
    """Print the comparison of boards, for people or programs."""
    from salon_ranking.cli.terminal import comparison_table
    from salon_ranking.leaderboard.comparison import compare

    table = compare(boards)
    if format_ == "csv":
        _write_exactly(table.write_csv())
    elif format_ == "json":
        click.echo(table.write_json())
    else:
        console(width=_WIDTH).print(fitted(comparison_table(table)))


def _write_exactly(text: str) -> None:
    """Print every character as it is to a program, and nothing that acts to a terminal."""
    if sys.stdout.isatty():
        text = visible(text, prose=True)
    click.echo(text, nl=False, color=True)  # color: click takes nothing out of the text


def write_answer(request: RankRequest, rank_input: RankInput, answer: RankAnswer) -> None:
    """Write every file that the options name."""
    for path, found in ((request.differences, answer.differences), (request.contributions, answer.contributions)):
        if path is not None and found is not None:
            write_table(path, partial(frame_cells, found.table), found.table)
            click.echo(visible(found.header), err=True)
    if request.output is not None:
        title = f"Leaderboard: {request.battles.name}"
        write_boards(
            answer.boards, request.output, title=title, battles=answer.rated, analyses=answer.analyses, raters=rank_input.raters
        )
        click.echo(f"Wrote {request.output}", err=True)
    if request.records is not None:
        rows = _records(request, answer)
        write_table(request.records, lambda: frame_cells(rows), rows)
        click.echo(f"Wrote {rows.height:,} rows for the table leaderboards to {request.records}", err=True)


def write_boards(
    boards: Sequence[Leaderboard],
    path: Path,
    *,
    title: str,
    battles: "Battles | None" = None,
    analyses: Sequence[Analyses] = (),
    raters: "RaterReport | Path | None" = None,
) -> None:
    """Write boards to a file; its ending says the kind, and an existing file is replaced whole.

    Args:
        battles: all battles behind the boards; a page shows win rates and convergence with them.
        analyses: one for each board, for a page (.html) or a document (.json).
        raters: a report about the raters, or a table with one row per rater, for a page.

    Raises:
        InputError: the ending is unknown, or the file cannot be written.
        MissingExtraError: an HTML page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """

    def page() -> str:
        from salon_ranking.extras import drawing

        with drawing():
            from salon_ranking.report.leaderboard import leaderboard_page
        return leaderboard_page(boards, title=title, battles=battles, raters=raters, analyses=analyses)

    view = joined_views([board.view() for board in boards], [board.group or "all" for board in boards])
    made = {**view.makers(), ".json": lambda: to_json(boards, analyses), ".html": page}
    write_table(path, view.table, combined(boards), made=made)


def _records(request: RankRequest, answer: RankAnswer) -> pl.DataFrame:
    """Return the rows of all boards for a store's table ``leaderboards``; groups differ in the column ``group``."""
    return pl.concat([board.records(request.board_name) for board in answer.boards])


def store_answer(request: RankRequest, rank_input: RankInput, answer: RankAnswer, sink: "Sink") -> None:
    """Add rows to a result store: the reasons of flags first, so that no board is stored without them."""
    from salon_console.numbers import counted

    flags = 0 if rank_input.exclusion is None else sink("rater_flags", rank_input.exclusion.records, "rank")
    added = sink("leaderboards", _records(request, answer), "rank")
    said = f"Added {counted(added, 'row')} to leaderboards and {counted(flags, 'row')} to rater_flags in {request.store}"
    click.echo(said, err=True)
