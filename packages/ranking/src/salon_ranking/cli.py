"""``salon rank``: a leaderboard from a file of votes or a result store."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_ranking.model_options import model_options
from salon_ranking.vote_options import vote_options
from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.file_options import InputPath, OutputPath, StorePath
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from salon_ranking.battles import Battles
    from salon_ranking.leaderboard.answer import Answer, Ballot, Stage
    from salon_ranking.leaderboard.board import Leaderboard
    from salon_ranking.leaderboard.further import Further
    from salon_ranking.leaderboard.request import Request
    from salon_ranking.sinks import Sink

_QUIET_SECONDS = 1.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("--baseline", metavar="NAME", help="Fix this model at 1000. Default: the lowest rated well-played model.")
@click.option("--by", metavar="COLUMN", help="One leaderboard per value of this column, such as scenario.")
@click.option(
    "--bootstrap", "replicates", type=int, default=1000, show_default=True, help="Replicates for the intervals; 0: none."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same intervals.")
@click.option(
    "--cluster",
    metavar="COLUMN",
    multiple=True,
    help="Votes with the same value (a prompt, a rater) hang together. Give it twice for two-way clusters.",
)
@click.option(
    "--repeated-ids",
    type=click.Choice(["refuse", "count"]),
    default="refuse",
    show_default=True,
    help="When a battle_id is in two rows: stop and name them, or count both.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Coverage of the intervals.")
@click.option(
    "--prior-ties",
    type=float,
    default=0.0,
    show_default=True,
    help="Drawn battles given to every model against a mean opponent.",
)
@click.option(
    "--components",
    type=click.Choice(["refuse", "separate"]),
    default="refuse",
    show_default=True,
    help="When battles do not connect all models by wins and losses: stop, or rank each group by itself.",
)
@click.option(
    "--interval",
    type=click.Choice(["percentile", "bca", "sandwich"]),
    help="Bootstrap percentiles, the same corrected for bias and skewness, or analytic. Default: percentile; for --ties, "
    "--covariate and --method firth, whose refits are slow, sandwich.",
)
@click.option("--ranks", is_flag=True, help="Add the best and worst rank of each model, for all models at once.")
@click.option(
    "--listing", is_flag=True, help="Add whether each model may be listed: interval at most 20 wide, one match at most 3."
)
@click.option("--explain", metavar="MODEL", help="Say in sentences how this model was rated and what it still needs.")
@click.option("--differences", type=OutputPath(), help="Write every pair's difference to a file.")
@click.option(
    "--contributions",
    type=OutputPath(),
    help="Write what each prompt adds to each rating to a file.",
)
@click.option("--prompt", metavar="COLUMN", default="prompt_id", show_default=True, help="The column for --contributions.")
@click.option(
    "--against",
    metavar="INPUT",
    type=InputPath(tables=True),
    help="Compare with these votes: both ratings and ranks, and the difference of each model with its interval.",
)
@click.option("--side-by-side", is_flag=True, help="With --by: all groups in one table, with the changes of rank.")
@click.option("--threads", type=int, help="Default: all processors. The result does not depend on it.")
@click.option(
    "--output",
    type=OutputPath(),
    help="Write .csv, .parquet, .json or .html, and show no table unless --format is given.",
)
@click.option(
    "--exclude-flagged",
    is_flag=True,
    help="Leave out the battles of raters flagged by `salon raters`, or by the table --raters; report how many and why.",
)
@click.option(
    "--raters",
    metavar="FILE",
    type=InputPath(tables=True),
    help="A table that `salon raters --output` wrote (.csv, .parquet): for --exclude-flagged, and for an HTML page.",
)
@click.option(
    "--store",
    metavar="STORE",
    type=StorePath(tables=True),
    help="Also add the rows to this result store (a directory or a URL), with the reasons of --exclude-flagged.",
)
@click.option(
    "--records",
    type=OutputPath(),
    help="Also write rows for a store's leaderboards: .csv, .parquet or .jsonl.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
@model_options
@vote_options
def rank(choice: Mapping[str, Any], **options: Any) -> None:
    """Rank models by their battles: Bradley-Terry ratings on the Elo scale with intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model_a, model_b and winner (model_a, model_b, both_good,
    both_bad or tie), or the directory of a result store.

    \b
    Example:
      salon rank votes.csv
      salon rank votes.parquet --baseline my-model-v1 --output board.html
      salon rank salon-results --by scenario --cluster suite --prior-ties 1 --format json
      salon rank votes.parquet --interval sandwich --cluster prompt_id --cluster rater_id --ranks
      salon rank votes.parquet --by mode --side-by-side
      salon rank june.csv --against may.csv --cluster prompt_id
      salon rank votes.parquet --explain my-model-v2 --contributions prompts.csv
      salon rank votes.csv --ties davidson --both-bad own
      salon rank votes.parquet --ties davidson --interval percentile --cluster prompt_id --bootstrap 200
      salon rank votes.csv --covariate length_a,length_b --position-bias
      salon rank votes.csv --method firth
      salon rank votes.csv --method elo --k 4 --orders 100
      salon rank votes.parquet --exclude-flagged --store salon-results
      salon rank votes.csv --records rows.parquet && salon store import salon-results leaderboards rows.parquet
    """
    from salon_ranking.leaderboard.answer import rank_boards, read_ballot, score_table
    from salon_ranking.leaderboard.request import Choice, Request, check_request
    from salon_ranking.model_options import show_scores
    from salon_ranking.sinks import open_sink

    request = Request(choice=Choice(**choice), **options)
    check_request(request)
    sink = None if request.store is None else open_sink(request.store)
    ballot = read_ballot(request)
    if request.against is not None:
        _compare(request, ballot.battles)
        return
    if not request.choice.is_fit:
        with _progress() as stage:
            scores = score_table(request, ballot, stage)
        show_scores(scores, request.format_, request.output, _console(), quiet=_is_quiet(request))
        return
    with _progress() as stage:
        answer = rank_boards(request, ballot, stage)
    _show(request, answer)
    _write(request, ballot, answer)
    if not all(board.converged for board in answer.boards):
        raise IncompleteError("the ratings did not converge; they are not the estimate")
    if sink is not None:
        _store(request, ballot, answer, sink)


def _compare(request: "Request", battles: "Battles") -> None:
    """Compare the votes with those of --against."""
    from dataclasses import replace

    from salon_ranking.leaderboard.answer import read_ballot
    from salon_ranking.leaderboard.comparison import compare_votes
    from salon_ranking.leaderboard.score_table import ScoreTable
    from salon_ranking.model_options import show_scores

    other = read_ballot(replace(request, battles=request.against)).battles  # type: ignore[arg-type]
    how = {**request.choice.model, "confidence": request.confidence, "prior_ties": request.prior_ties}
    found = compare_votes(battles, other, **how)  # type: ignore[arg-type]
    show_scores(ScoreTable(found.header, found.table), request.format_, request.output, _console(), plain=True)


def _show(request: "Request", answer: "Answer") -> None:
    """The answer on standard output, in the format that was asked for; remarks for people on standard error."""
    from salon_ranking.leaderboard.comparison import compare
    from salon_ranking.leaderboard.explanation import explain
    from salon_ranking.leaderboard.output import combined, to_json

    boards = answer.boards
    if request.explain is not None:
        for sentence in explain(boards[0], answer.rated, request.explain, threads=request.threads):
            click.echo(visible(sentence))
    elif request.side_by_side:
        _show_side_by_side(compare(boards), request.format_)
    elif request.format_ == "json":
        click.echo(to_json(boards, answer.further))
    elif request.format_ == "csv":
        _write_exactly(combined(boards).write_csv())
    else:
        _show_boards(answer, quiet=_is_quiet(request))
        return
    if boards and boards[0].excluded is not None:
        click.echo(visible(boards[0].excluded.sentence), err=True)
    beside = _console(stderr=request.format_ != "table")
    for board, further in zip(boards, answer.further, strict=True):
        _show_further(board, further, beside)


def _is_quiet(request: "Request") -> bool:
    """Whether the answer is wanted in a file alone: one is named, and ``--format`` is not."""
    from click.core import ParameterSource

    source = click.get_current_context().get_parameter_source("format_")  # type: ignore[union-attr]
    return request.output is not None and source is ParameterSource.DEFAULT


def _show_boards(answer: "Answer", *, quiet: bool) -> None:
    """Print each board as a table, with its header, parameters and analyses."""
    from salon_ranking.model_options import show_tables
    from salon_ranking.report.terminal import board_table, more_rows, plain

    console = _console()
    for board, further in zip(answer.boards, answer.further, strict=True):
        console.print(plain(board.header), style="dim")
        if not quiet:
            console.print(board_table(board))
            more = more_rows(board.table.height)
            if more is not None:
                console.print(more)
        for said in board.warnings:
            console.print(f"Warning: {plain(said)}")
        show_tables({}, {"parameters": board.parameters, "position_bias": board.position_bias}, console)
        _show_further(board, further, console)


def _show_further(board: "Leaderboard", further: "Further", console: "Console") -> None:
    """Print the analyses beside a board: acceptability, and goodness of fit."""
    from salon_ranking.model_options import show_tables
    from salon_ranking.report.terminal import plain

    if board.group is not None and (further.acceptability is not None or further.diagnosis is not None):
        console.print(f"\n{plain(board.group)}")
    if further.acceptability is not None:
        show_tables({}, {"acceptability": further.acceptability}, console)
    if further.diagnosis is not None:
        show_tables(further.diagnosis.numbers, further.diagnosis.tables, console)
        console.print(plain(further.diagnosis.note))


def _show_side_by_side(table: "pl.DataFrame", format_: str) -> None:
    """The comparison of boards, for people or programs."""
    from salon_ranking.report.terminal import comparison_table

    if format_ == "csv":
        _write_exactly(table.write_csv())
    elif format_ == "json":
        click.echo(table.write_json())
    else:
        _console().print(comparison_table(table))


def _write(request: "Request", ballot: "Ballot", answer: "Answer") -> None:
    """Every file that was asked for."""
    from salon_ranking.leaderboard.output import Background, write
    from salon_ranking.leaderboard.records import write_records
    from salon_ranking.table_files import write_table

    for path, found in ((request.differences, answer.differences), (request.contributions, answer.contributions)):
        if path is not None and found is not None:
            write_table(found.table, path)
            click.echo(visible(found.header), err=True)
    if request.output is not None:
        background = Background(answer.rated, answer.further, ballot.raters)
        write(answer.boards, request.output, title=f"Leaderboard: {request.battles.name}", background=background)
        click.echo(f"Wrote {request.output}", err=True)
    if request.records is not None:
        rows = write_records(answer.boards, request.records, board=request.board_name)
        click.echo(f"Wrote {rows:,} rows for the table leaderboards to {request.records}", err=True)


def _store(request: "Request", ballot: "Ballot", answer: "Answer", sink: "Sink") -> None:
    """Rows into a result store: the reasons first, so that no board stands there without them."""
    import polars as pl

    from salon_ranking.report.numbers import counted

    flags = 0 if ballot.exclusion is None else sink("rater_flags", ballot.exclusion.records, "rank")
    rows = pl.concat([board.records(request.board_name) for board in answer.boards])
    added = sink("leaderboards", rows, "rank")
    said = f"Added {counted(added, 'row')} to leaderboards and {counted(flags, 'row')} to rater_flags in {request.store}"
    click.echo(said, err=True)


def _write_exactly(text: str) -> None:
    """To a program, every character as it is; to a terminal, nothing that it could act on."""
    if sys.stdout.isatty():
        text = visible(text, prose=True)
    click.echo(text, nl=False, color=True)  # color: click takes nothing out of the text


def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    # Piped into a file or a program, a table keeps its columns.
    return Console(highlight=False, stderr=stderr, width=None if sys.stdout.isatty() else 120)


@contextmanager
def _progress() -> "Iterator[Stage]":
    """A progress bar on standard error that shows itself only when the work takes more than a second."""
    from time import monotonic

    from rich.console import Console
    from rich.progress import Progress

    began = monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)

    def stage(name: str) -> "Callable[[int, int], None]":
        task = bar.add_task(name, visible=False)

        def tell(done: int, total: int) -> None:
            if monotonic() - began > _QUIET_SECONDS:
                bar.start()
                bar.update(task, completed=done, total=total, visible=True)

        return tell

    try:
        yield stage
    finally:
        if bar.live.is_started:  # one that was never shown would still end with an empty line
            bar.stop()
