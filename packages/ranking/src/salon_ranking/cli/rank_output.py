"""Print, write and store what ``salon votes rank`` has found."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import rich_click as click

from salon_console.output import fitted, print_exactly
from salon_console.shown_result import joined_views
from salon_console.table_files import write_table
from salon_ranking.cli.output import console, is_quiet, plain, show_tables
from salon_ranking.cli.rank_answer import RankAnswer, RankInput
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
    if request.format_ == "json":
        click.echo(to_json(boards, answer.analyses))
    elif request.format_ == "csv":
        print_exactly(combined(boards).write_csv())
    else:
        _show_boards(answer, quiet=is_quiet(request.output))
        return
    if boards and boards[0].excluded is not None:
        click.echo(visible(boards[0].excluded.sentence), err=True)
    beside = console(stderr=request.format_ != "table", width=_WIDTH)
    for board, analyses in zip(boards, answer.analyses, strict=True):
        _show_analyses(board, analyses, beside)


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
        for warning in board.warnings:
            terminal.print(f"Warning: {plain(warning)}")
        show_tables({}, {"parameters": board.parameters, "position_bias": board.position_bias}, terminal)
        _show_analyses(board, analyses, terminal)


def _show_analyses(board: Leaderboard, analyses: Analyses, terminal: "Console") -> None:
    """Print the analyses beside a board: acceptability, goodness of fit, held-out log-loss."""
    if board.group is not None and analyses.document():
        terminal.print(f"\n{plain(board.group)}")
    if analyses.acceptability is not None:
        show_tables({}, {"acceptability": analyses.acceptability}, terminal)
    if analyses.diagnosis is not None:
        show_tables(analyses.diagnosis.numbers, analyses.diagnosis.tables, terminal)
        terminal.print(plain(analyses.diagnosis.note))
    if analyses.held_out is not None:
        terminal.print(plain(analyses.held_out.sentence))


def write_answer(request: RankRequest, rank_input: RankInput, answer: RankAnswer) -> None:
    """Write the file that the options name."""
    if request.output is not None:
        title = f"Leaderboard: {request.battles.name}"
        write_boards(
            answer.boards,
            request.output,
            title=title,
            by=request.by,
            battles=answer.rated if answer.rated.orders is None else None,
            analyses=answer.analyses,
            raters=rank_input.raters,
        )
        click.echo(f"Wrote {request.output}", err=True)


def write_boards(
    boards: Sequence[Leaderboard],
    path: Path,
    *,
    title: str,
    by: str | None = None,
    battles: "Battles | None" = None,
    analyses: Sequence[Analyses] = (),
    raters: "RaterReport | Path | None" = None,
) -> None:
    """Write boards to a file; its ending says the kind, and an existing file is replaced whole.

    Args:
        by: the column of the groups.
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

    view = joined_views([board.view() for board in boards], [board.group or "all" for board in boards], by or "group")
    makers = {**view.makers(), ".json": lambda: to_json(boards, analyses), ".html": page}
    write_table(path, view.table, combined(boards), made=makers)


def store_answer(request: RankRequest, rank_input: RankInput, answer: RankAnswer, sink: "Sink") -> None:
    """Add rows to a result store: the reasons of flags first, so that no board is stored without them."""
    from salon_console.numbers import counted

    flags = 0 if rank_input.exclusion is None else sink("rater_flags", rank_input.exclusion.records, "rank")
    rows = pl.concat([board.records(request.board_name) for board in answer.boards])  # groups differ in the column group
    added = sink("leaderboards", rows, "rank")
    remark = f"Added {counted(added, 'row')} to leaderboards and {counted(flags, 'row')} to rater_flags in {request.store}"
    click.echo(remark, err=True)
