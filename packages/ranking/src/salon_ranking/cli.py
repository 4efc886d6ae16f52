"""``salon rank``: a leaderboard from a file of votes or a result store."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from salon_ranking.leaderboard import Leaderboard

_QUIET_SECONDS = 1.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("battles", metavar="INPUT", type=click.Path(path_type=Path))
@click.option("--baseline", metavar="NAME", help="Fix this model at 1000. Default: the lowest rated well-played model.")
@click.option("--by", metavar="COLUMN", help="One leaderboard per value of this column, such as scenario.")
@click.option(
    "--bootstrap", "replicates", type=int, default=1000, show_default=True, help="Replicates for the intervals; 0: none."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same intervals.")
@click.option("--cluster", metavar="COLUMN", help="Resample the values of this column (a prompt, a rater) as a whole.")
@click.option("--weight", metavar="COLUMN", help="Each battle's weight. Default: every battle weighs 1.")
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
@click.option("--threads", type=int, help="Default: all processors. The result does not depend on it.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Also write .csv, .parquet, .json or .html.")
@click.option("--raters", type=click.Path(path_type=Path), help="Table of raters to show at the end of an HTML page.")
@click.option(
    "--records",
    type=click.Path(dir_okay=False, path_type=Path),
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
def rank(
    battles: Path,
    baseline: str | None,
    by: str | None,
    replicates: int,
    seed: int,
    cluster: str | None,
    weight: str | None,
    confidence: float,
    prior_ties: float,
    components: str,
    threads: int | None,
    output: Path | None,
    raters: Path | None,
    records: Path | None,
    format_: str,
) -> None:
    """Rank models by their battles: Bradley-Terry ratings on the Elo scale with bootstrap intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model_a, model_b and winner (model_a, model_b, both_good,
    both_bad or tie), or the directory of a result store.

    \b
    Example:
      salon rank votes.csv
      salon rank votes.parquet --baseline my-model-v1 --output board.html
      salon rank salon-results --by scenario --cluster suite --format json
      salon rank votes.csv --records rows.parquet && salon store import salon-results leaderboards rows.parquet
    """
    from salon_ranking.battles import Battles
    from salon_ranking.groups import rank_by
    from salon_ranking.output import check_ending, combined, to_json, write
    from salon_ranking.ranking import rank as rank_battles
    from salon_ranking.records import check_records, write_records

    if output is not None:
        check_ending(output)
    if records is not None:
        check_records(records)
    found = Battles.read(battles, cluster_by=cluster, weight=weight)
    with _progress() as progress:
        options = {
            "baseline": baseline,
            "replicates": replicates,
            "seed": seed,
            "confidence": confidence,
            "cluster": cluster is not None,
            "prior_ties": prior_ties,
            "components": components,
            "threads": threads,
            "progress": progress,
        }
        boards = (rank_battles(found, **options),) if by is None else rank_by(found, by, **options)  # type: ignore[arg-type]
    if format_ == "json":
        click.echo(to_json(boards))
    elif format_ == "csv":
        click.echo(combined(boards).write_csv(), nl=False)
    else:
        _show(boards)
    if output is not None:
        write(boards, output, title=f"Leaderboard: {battles.name}", battles=found, raters=raters)
        click.echo(f"Wrote {output}", err=True)
    if records is not None:
        rows = write_records(boards, records, board="overall" if by is None else f"by {by}")
        click.echo(f"Wrote {rows:,} rows for the table leaderboards to {records}", err=True)


def _show(boards: "tuple[Leaderboard, ...]") -> None:
    """Each board as a table, with a header that says how it was made."""
    console = _console()
    for board in boards:
        console.print(_plain(board.header), style="dim")
        console.print(_table(board))


def _console() -> "Console":
    from rich.console import Console

    # Piped into a file or a program, a table keeps its columns.
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def _table(board: "Leaderboard") -> "Table":
    from rich.table import Table

    from salon_ranking.report import numbers

    table = Table(box=None)
    several = board.components > 1
    for heading in (
        *(["group"] if several else []),
        "rank",
        "model",
        "Elo",
        f"{100 * board.confidence:.4g} % CI",
        "matches",
        "win rate",
    ):
        table.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for row in board.table.iter_rows(named=True):
        table.add_row(
            *([str(row["component"] + 1)] if several else []),
            str(row["rank"]),
            _plain(row["model"]),
            numbers.rating(row["rating"]),
            numbers.interval(row["ci_low"], row["ci_high"]),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
        )
    return table


def _plain(text: str) -> str:
    """Text as it is: no markup, and nothing that a terminal could act on."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


@contextmanager
def _progress() -> "Iterator[Callable[[int, int], None]]":
    """A progress bar on standard error that shows itself only when the work takes more than a second."""
    from time import monotonic

    from rich.console import Console
    from rich.progress import Progress

    began = monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task("bootstrap")

    def tell(done: int, total: int) -> None:
        if monotonic() - began > _QUIET_SECONDS:
            bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        bar.stop()
