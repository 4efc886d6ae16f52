"""``salon rank``: a leaderboard from a file of votes or a result store."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_ranking.pairwise.cli import model_options
from salon_taxonomy.errors import IncompleteError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from salon_ranking.battles import Battles
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
    help="When a battle_id stands in two rows: stop and name them, or count both.",
)
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
@click.option(
    "--interval",
    type=click.Choice(["percentile", "bca", "sandwich"]),
    default="percentile",
    show_default=True,
    help="Kind of interval: bootstrap percentiles, the same corrected for bias and skewness, or analytic.",
)
@click.option("--ranks", is_flag=True, help="Add the best and worst rank of each model, for all models at once.")
@click.option(
    "--listing", is_flag=True, help="Add whether each model may be listed: interval at most 20 wide, one match at most 3."
)
@click.option("--explain", metavar="MODEL", help="Say in sentences how this model was rated and what it still needs.")
@click.option("--differences", type=click.Path(dir_okay=False, path_type=Path), help="Write every pair's difference to a file.")
@click.option(
    "--contributions",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write what each prompt adds to each rating to a file.",
)
@click.option("--prompt", metavar="COLUMN", default="prompt_id", show_default=True, help="The column for --contributions.")
@click.option("--side-by-side", is_flag=True, help="With --by: all groups in one table, with the changes of rank.")
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
@model_options
def rank(
    battles: Path,
    baseline: str | None,
    by: str | None,
    replicates: int,
    seed: int,
    cluster: tuple[str, ...],
    repeated_ids: str,
    weight: str | None,
    confidence: float,
    prior_ties: float,
    components: str,
    interval: str,
    ranks: bool,
    listing: bool,
    explain: str | None,
    differences: Path | None,
    contributions: Path | None,
    prompt: str,
    side_by_side: bool,
    threads: int | None,
    output: Path | None,
    raters: Path | None,
    records: Path | None,
    format_: str,
    choice: Mapping[str, Any],
) -> None:
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
      salon rank votes.parquet --explain my-model-v2 --contributions prompts.csv
      salon rank votes.csv --ties davidson --both-bad own
      salon rank votes.csv --covariate length_a,length_b --position-bias
      salon rank votes.csv --method elo --k 4 --orders 100
      salon rank votes.csv --records rows.parquet && salon store import salon-results leaderboards rows.parquet
    """
    from salon_ranking.battles import Battles
    from salon_ranking.bradley_terry import fit
    from salon_ranking.explanation import explain as explain_model
    from salon_ranking.groups import rank_by
    from salon_ranking.listing_rule import with_listing
    from salon_ranking.output import check_ending, combined, to_json, write
    from salon_ranking.pairwise.both_bad import settle_both_bad
    from salon_ranking.pairwise.choice import Choice, ModelResult, check_choice, check_file, diagnosis, rank_with
    from salon_ranking.pairwise.cli import show_further, show_result
    from salon_ranking.ranking import rank as rank_battles
    from salon_ranking.records import check_records, write_records
    from salon_ranking.side_by_side import compare
    from salon_ranking.table_files import check_table_path

    chosen = Choice(**choice)
    check_choice(chosen)
    if output is not None:
        (check_ending if chosen.is_plain else check_file)(output)
    if records is not None:
        check_records(records)
    for path in (differences, contributions):
        if path is not None:
            check_table_path(path)
    _check_together(by, side_by_side, {"--listing": listing, "--explain": explain, "--differences": differences})
    _check_together(by, side_by_side, {"--contributions": contributions})
    if not chosen.is_plain:
        analyses = {"--listing": listing, "--explain": explain, "--differences": differences, "--contributions": contributions}
        kinds = {"--interval": interval != "percentile", "--ranks": ranks, "--side-by-side": side_by_side, **analyses}
        further = {"--records": records, "--raters": raters, **kinds}
        _refuse_unused({"--by": by, "--cluster": cluster, "--components": components == "separate", **further})
    ids = None if repeated_ids == "count" else "battle_id"
    found = Battles.read(battles, cluster_by=cluster, weight=weight, ids=ids)
    if not chosen.is_plain:
        with _progress() as progress:
            common = {"baseline": baseline, "prior_ties": prior_ties, "confidence": confidence, "seed": seed}
            result = rank_with(found, chosen, threads=threads, progress=progress, **common)  # type: ignore[arg-type]
        show_result(result, format_, output, _console())
        return
    found, acceptable = settle_both_bad(found, chosen.both_bad, confidence=confidence)
    with _progress() as progress:
        options = {
            "baseline": baseline,
            "replicates": replicates,
            "seed": seed,
            "confidence": confidence,
            "cluster": bool(cluster),
            "prior_ties": prior_ties,
            "components": components,
            "interval": interval,
            "ranks": ranks,
            "threads": threads,
            "progress": progress,
        }
        boards = (rank_battles(found, **options),) if by is None else rank_by(found, by, **options)  # type: ignore[arg-type]
        if listing:
            boards = (with_listing(boards[0], found),)
        if differences is not None:
            _write_differences(found, boards[0], differences, replicates, progress)
        if contributions is not None:
            _write_contributions(found, boards[0], prompt, contributions, progress)
    if explain is not None:
        for sentence in explain_model(boards[0], found, explain):
            click.echo(_printable(sentence))
    elif side_by_side:
        _show_side_by_side(compare(boards), format_)
    elif format_ == "json":
        click.echo(to_json(boards))
    elif format_ == "csv":
        _write_exactly(combined(boards).write_csv())
    else:
        _show(boards)
    beside = _console(stderr=format_ != "table")
    if acceptable is not None:
        show_further(ModelResult("", acceptable, {}, {"acceptability": acceptable}), beside)
    if chosen.diagnose:
        found_out = diagnosis(found, fit(found, baseline=baseline, prior_ties=prior_ties, components=components))  # type: ignore[arg-type]
        show_further(found_out, beside)
        beside.print(found_out.header)
    if output is not None:
        write(boards, output, title=f"Leaderboard: {battles.name}", battles=found, raters=raters)
        click.echo(f"Wrote {output}", err=True)
    if records is not None:
        rows = write_records(boards, records, board="overall" if by is None else f"by {by}")
        click.echo(f"Wrote {rows:,} rows for the table leaderboards to {records}", err=True)
    if not all(board.converged for board in boards):
        raise IncompleteError("the ratings did not converge; they are not the estimate")


def _write_exactly(text: str) -> None:
    """To a program, every character as it is; to a terminal, nothing that it could act on."""
    if sys.stdout.isatty():
        text = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    click.echo(text, nl=False, color=True)  # color: click takes nothing out of the text


def _refuse_unused(options: "dict[str, object]") -> None:
    """Options that only plain Bradley-Terry ratings know."""
    from salon_ranking.errors import OptionError

    for option, given in options.items():
        if given:
            hint = "Leave it out, or leave out --method, --ties, --covariate and --position-bias."
            raise OptionError(f"{option} needs plain Bradley-Terry ratings", hint=hint)


def _show(boards: "tuple[Leaderboard, ...]") -> None:
    """Each board as a table, with a header that says how it was made."""
    console = _console()
    for board in boards:
        console.print(_plain(board.header), style="dim")
        console.print(_table(board))


def _check_together(by: str | None, side_by_side: bool, of_one_board: "dict[str, object]") -> None:
    """Refuse options that exclude each other, before anything is read."""
    from salon_ranking.errors import OptionError

    if side_by_side and by is None:
        raise OptionError("--side-by-side sets groups beside each other; it needs", value="--by COLUMN")
    for name, value in of_one_board.items():
        if value and by is not None:
            hint = "Rank the battles of one group, or leave out --by."
            raise OptionError("is about one board and does not go with --by:", value=name, hint=hint)


def _write_differences(
    battles: "Battles", board: "Leaderboard", path: Path, replicates: int, progress: "Callable[[int, int], None]"
) -> None:
    from salon_ranking.model_differences import differences
    from salon_ranking.table_files import write_table

    found = differences(
        battles,
        interval="sandwich" if board.interval == "sandwich" else "percentile",
        replicates=replicates,
        seed=board.seed,
        confidence=board.confidence,
        cluster=board.cluster is not None,
        prior_ties=board.prior_ties,
        components="refuse" if board.components == 1 else "separate",
        progress=progress,
    )
    write_table(found.table, path)
    click.echo(_printable(found.header), err=True)


def _write_contributions(
    battles: "Battles", board: "Leaderboard", column: str, path: Path, progress: "Callable[[int, int], None]"
) -> None:
    from salon_ranking.prompt_contributions import contributions
    from salon_ranking.table_files import write_table

    baseline = board.baselines[0] if board.baselines else None
    found = contributions(battles, column, baseline=baseline, prior_ties=board.prior_ties, progress=progress)
    write_table(found.table, path)
    click.echo(_printable(found.header), err=True)


def _show_side_by_side(table: "pl.DataFrame", format_: str) -> None:
    """The comparison of boards, for people or programs."""
    if format_ == "csv":
        click.echo(table.write_csv(), nl=False)
        return
    if format_ == "json":
        click.echo(table.write_json())
        return
    from rich.table import Table

    from salon_ranking.report import numbers

    shown = Table(box=None)
    for column in table.columns:
        shown.add_column(_plain(column), justify="left" if column == "model" else "right", overflow="fold")
    for row in table.iter_rows(named=True):
        cells = [
            value if name == "model" else numbers.change(value) if name.startswith("change ") else numbers.rating(value)
            for name, value in row.items()
        ]
        shown.add_row(*map(_plain, cells))
    _console().print(shown)


def _console(stderr: bool = False) -> "Console":
    from rich.console import Console

    # Piped into a file or a program, a table keeps its columns.
    return Console(highlight=False, stderr=stderr, width=None if sys.stdout.isatty() else 120)


def _table(board: "Leaderboard") -> "Table":
    from rich.table import Table

    from salon_ranking.report import numbers

    table = Table(box=None)
    several = board.components > 1
    with_ranks, with_listing = "rank_low" in board.table.columns, "listed" in board.table.columns
    for heading in (
        *(["group"] if several else []),
        "rank",
        "model",
        "Elo",
        f"{100 * board.confidence:.4g} % CI",
        *(["ranks"] if with_ranks else []),
        "matches",
        "win rate",
        *(["width", "one match", "listed"] if with_listing else []),
    ):
        table.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for row in board.table.iter_rows(named=True):
        table.add_row(
            *([str(row["component"] + 1)] if several else []),
            str(row["rank"]),
            _plain(row["model"]),
            numbers.rating(row["rating"]),
            numbers.interval(row["ci_low"], row["ci_high"]),
            *([numbers.interval(row["rank_low"], row["rank_high"])] if with_ranks else []),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
            *(_listing_cells(row) if with_listing else []),
        )
    return table


def _listing_cells(row: "dict[str, Any]") -> list[str]:
    """Width, effect of one match, and whether the model is listed or how many matches are missing."""
    from salon_ranking.report import numbers

    missing = row["matches_needed"]
    verdict = "yes" if row["listed"] else "no" if missing is None else f"no: about {missing:,} more matches"
    return [numbers.points(row["width"]), numbers.points(row["match_effect"]), verdict]


def _plain(text: str) -> str:
    """Text as it is: no markup, and nothing that a terminal could act on."""
    from rich.markup import escape

    return escape(_printable(text))


def _printable(text: str) -> str:
    """Text with everything that a terminal could act on written out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
