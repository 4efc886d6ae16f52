"""The options of ``salon rank`` that choose a model, and the tables beside a board on a terminal."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from salon_ranking.leaderboard.score_table import ScoreTable

_OPTIONS: tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...] = (
    click.option(
        "--method",
        type=click.Choice(["bradley-terry", "firth", "elo", "newman", "pagerank", "rank-centrality"]),
        default="bradley-terry",
        show_default=True,
        help="firth: Bradley-Terry with less bias when battles are few or were planned. elo: online Elo in the order of the "
        "battles, or averaged over --orders. The others are for comparison.",
    ),
    click.option(
        "--ties",
        type=click.Choice(["half", "davidson", "rao-kupper"]),
        default="half",
        show_default=True,
        help="Half a win for each side, or a model with a parameter for ties.",
    ),
    click.option(
        "--both-bad",
        type=click.Choice(["tie", "drop", "own"]),
        default="tie",
        show_default=True,
        help="both_bad is a tie, is left out, or is left out and shown as each model's acceptability.",
    ),
    click.option(
        "--covariate",
        "covariates",
        metavar="COLUMN[,COLUMN]",
        multiple=True,
        help="Rate at equal values of a column, or of the difference of a pair like length_a,length_b. Repeatable.",
    ),
    click.option("--position-bias", is_flag=True, help="Test whether one side of the screen wins more (needs side_a_shown)."),
    click.option(
        "--standardize/--no-standardize",
        default=True,
        show_default=True,
        help="Divide covariates that are numbers by their standard deviation.",
    ),
    click.option(
        "--ridge", type=float, default=0.0, show_default=True, help="Penalty ridge/2 · Σ β² on the coefficients of covariates."
    ),
    click.option(
        "--equal-pairs",
        type=click.IntRange(1),
        metavar="N",
        help="Weigh battles by 1 / max(battles of their pair, N): all pairs with N battles or more count alike.",
    ),
    click.option("--k", type=float, default=4.0, show_default=True, help="Online Elo: most points that one battle moves."),
    click.option("--orders", type=int, default=0, show_default=True, help="Online Elo: average over so many random orders."),
    click.option(
        "--order-by", metavar="COLUMN", help="Online Elo: the time that rows must follow. Default: rows as they stand."
    ),
    click.option("--sort", is_flag=True, help="Online Elo: sort rows by --order-by instead of refusing disorder."),
    click.option("--diagnose", is_flag=True, help="Also say how well the model fits: deviance, worst pairs, cycles."),
)
_NAMES = (
    "method",
    "ties",
    "both_bad",
    "covariates",
    "position_bias",
    "standardize",
    "ridge",
    "equal_pairs",
    "k",
    "orders",
    "order_by",
    "sort",
    "diagnose",
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets them as one argument ``choice``, a mapping of the fields of ``Choice``."""

    @wraps(command)
    def called(**arguments: Any) -> None:
        command(choice={name: arguments.pop(name) for name in _NAMES}, **arguments)

    decorated: Callable[..., None] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def show_scores(
    scores: "ScoreTable",
    format_: str,
    output: Path | None,
    console: "Console",
    *,
    quiet: bool = False,
    plain: bool = False,
) -> None:
    """Print a table of scores, and write it to ``output``; ``quiet`` leaves out the table, ``plain`` shows all its columns."""
    from salon_ranking.leaderboard.score_table import write_scores

    if format_ == "json":
        click.echo(scores.document())
    elif format_ == "csv":
        click.echo(scores.table.write_csv(), nl=False)
    else:
        from rich.text import Text

        from salon_ranking.report.terminal import MOST_SHOWN, more_rows

        console.print(Text(visible(scores.header), style="dim"))
        if not quiet:
            top = scores.table.head(MOST_SHOWN)
            console.print(_grid(top) if plain or "score" in top.columns else _board(top))
            more = more_rows(scores.table.height)
            if more is not None:
                console.print(more)
        for said in scores.warnings:
            console.print(Text(f"Warning: {visible(said)}"))
        show_tables({}, scores.further, console)
    if output is not None:
        write_scores(scores, output)
        click.echo(f"Wrote {output}", err=True)


def show_tables(numbers: Mapping[str, float | None], tables: "Mapping[str, pl.DataFrame]", console: "Console") -> None:
    """Print single numbers, then tables with rows."""
    for name, value in numbers.items():
        console.print(f"{name.replace('_', ' ')}: {'–' if value is None else f'{value:.4g}'}")
    for name, table in tables.items():
        if table.height:
            console.print(f"\n{name.replace('_', ' ')}")
            console.print(_grid(table))


def _board(table: "pl.DataFrame") -> "Table":
    from rich.table import Table

    from salon_ranking.report import numbers

    grid = Table(box=None)
    for heading in ("rank", "model", "rating", "spread", "matches", "win rate"):
        grid.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for row in table.iter_rows(named=True):
        reach = "–" if row["spread"] is None else f"{row['spread']:.1f}"
        cells = (numbers.rating(row["rating"]), reach, numbers.count(row["matches"]), numbers.share(row["win_rate"]))
        grid.add_row(str(row["rank"]), _escaped(row["model"]), *cells)
    return grid


def _grid(table: "pl.DataFrame") -> "Table":
    from rich.table import Table

    grid = Table(box=None)
    for name, dtype in table.schema.items():
        grid.add_column(name.replace("_", " "), justify="right" if dtype.is_numeric() else "left", overflow="fold")
    for row in table.iter_rows():
        grid.add_row(*(_cell(value) for value in row))
    return grid


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else _escaped(str(value))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(visible(text))
