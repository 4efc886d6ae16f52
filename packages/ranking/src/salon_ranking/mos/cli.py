"""``salon mos``, ``salon weights`` and ``salon test-points``: absolute marks, and what they are worth in battles."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_ranking.vote_options import vote_options
from salon_taxonomy.file_options import InputPath, OutputPath
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from salon_ranking.mos.summary import MosSummary
    from salon_ranking.mos.weights import Weights

_HELP = {"help_option_names": ["-h", "--help"]}
_MOST_COLUMNS = 8

_output = click.option("--output", type=OutputPath(), help="Also write .csv, .parquet, .json or .html.")
_format = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
_confidence = click.option("--confidence", type=float, default=0.95, show_default=True, help="Coverage of the intervals.")
_prompts = click.option(
    "--prompts",
    type=InputPath(tables=True),
    help="Prompts with their scenario. Default: those of the store, if INPUT is one.",
)


@click.command(context_settings=_HELP)
@click.argument("ratings", metavar="INPUT", type=InputPath(tables=True))
@_prompts
@click.option(
    "--test",
    type=click.Choice(["t", "wilcoxon", "within-prompts", "none"]),
    default="t",
    show_default=True,
    help="How models are compared, paired by prompt.",
)
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significant below this, after Holm's correction.")
@click.option("--by-scenario", is_flag=True, help="Compare models within each scenario too.")
@click.option(
    "--unit",
    type=click.Choice(["generation", "rating"]),
    default="generation",
    show_default=True,
    help="One evaluation is a picture (mean over its raters), or a single rating.",
)
@click.option(
    "--gap", type=float, default=0.1, show_default=True, help="Marks that count as a difference in the self-comparison."
)
@click.option("--limit", type=float, default=0.3, show_default=True, help="Raters are flagged from this correlation on.")
@_confidence
@_output
@_format
def mos(
    ratings: Path,
    prompts: Path | None,
    test: str,
    alpha: float,
    by_scenario: bool,
    unit: str,
    gap: float,
    limit: float,
    confidence: float,
    output: Path | None,
    format_: str,
) -> None:
    """Mean opinion scores per model, dimension and scenario, with intervals, comparisons and checks of the raters.

    INPUT is a CSV, JSON Lines or Parquet file with the columns rating_id, prompt_id, generation_id, model, dimension, value,
    scale_min, scale_max and rater_id (and scenario, if known), or the directory of a result store. CSV and Parquet output
    hold the scores; JSON holds every table.

    \b
    Example:
      salon mos ratings.csv
      salon mos salon-results --output mos.html
      salon mos ratings.parquet --test wilcoxon --by-scenario --format json
    """
    from salon_ranking.mos.ratings import Ratings
    from salon_ranking.mos.summary import summarise

    _check(output)
    found = Ratings.read(ratings, prompts=prompts)
    summary = summarise(
        found,
        test=test,  # type: ignore[arg-type]
        alpha=alpha,
        by_scenario=by_scenario,
        confidence=confidence,
        unit=unit,  # type: ignore[arg-type]
        threshold=gap,
        correlation_limit=limit,
    )
    _deliver(summary, summary.scores, output, format_, title=f"Mean opinion scores: {ratings.name}", show=lambda: _mos(summary))


@click.command(context_settings=_HELP)
@click.argument("battles", metavar="BATTLES", type=InputPath(tables=True))
@click.argument("ratings", metavar="RATINGS", type=InputPath(tables=True))
@_prompts
@click.option("--persona", metavar="COLUMN", help="Who voted: a column of the battles. Default: mode, where there is one.")
@click.option("--by-scenario", is_flag=True, help="Weights per scenario too.")
@click.option("--interactions/--no-interactions", default=True, show_default=True, help="With the terms x·x and x·Δx.")
@click.option(
    "--ties", type=click.Choice(["half", "drop"]), default="half", show_default=True, help="A tie is half a win, or left out."
)
@click.option(
    "--cluster", metavar="COLUMN", help="Votes with the same value here (a prompt, a rater) may depend on each other."
)
@click.option(
    "--level",
    type=click.Choice(["prompt", "generation"]),
    default="prompt",
    show_default=True,
    help="A picture's marks: its model's mean for the prompt, or its own.",
)
@_confidence
@_output
@_format
@vote_options
def weights(
    battles: Path,
    ratings: Path,
    prompts: Path | None,
    persona: str | None,
    by_scenario: bool,
    interactions: bool,
    ties: str,
    cluster: str | None,
    level: str,
    confidence: float,
    output: Path | None,
    format_: str,
    votes: Mapping[str, Any],
) -> None:
    """What voters weigh: the rise of the win rate for one standard deviation more in a dimension, all else equal.

    BATTLES has the columns model_a, model_b, winner and prompt_id; RATINGS is what `salon mos` reads. Each may be a file or
    the directory of a result store. CSV and Parquet output hold the rises; JSON holds the coefficients too.

    \b
    Example:
      salon weights votes.csv ratings.csv
      salon weights salon-results salon-results --by-scenario --output weights.html
      salon weights votes.csv ratings.csv --persona occupation --cluster prompt_id --ties drop
    """
    from salon_ranking.battles import Battles
    from salon_ranking.mos.ratings import Ratings
    from salon_ranking.mos.weights import dimension_weights

    _check(output)
    cast = Battles.read(battles, **votes)
    has_mode = "mode" in cast.frame.collect_schema()
    found = dimension_weights(
        cast,
        Ratings.read(ratings, prompts=prompts),
        persona=persona or ("mode" if has_mode else None),
        by_scenario=by_scenario,
        interactions=interactions,
        ties=ties,  # type: ignore[arg-type]
        cluster=cluster,
        level=level,  # type: ignore[arg-type]
        confidence=confidence,
    )
    _deliver(found, found.table, output, format_, title=f"Weights: {battles.name}", show=lambda: _weights(found))


@click.command("test-points", context_settings=_HELP)
@click.argument("checks", metavar="INPUT", type=InputPath(tables=True))
@click.option("--task", metavar="NAME", help="Only rows whose column task is this; for the scores of a store.")
@_confidence
@_output
@_format
def test_points(checks: Path, task: str | None, confidence: float, output: Path | None, format_: str) -> None:
    """The share of yes/no checks that each model passes, per test point, with Wilson intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model, test_point and satisfied (true, false, 1 or 0), or the
    directory of a result store, whose scores must be 0 or 1.

    \b
    Example:
      salon test-points checks.csv
      salon test-points checks.csv --output test-points.html
      salon test-points salon-results --task test_points --format csv
    """
    from salon_ranking.mos.checks import Checks, wide_shares

    _check(output)
    found = Checks.read(checks, task=task)
    shares = found.shares(confidence=confidence)

    def show() -> None:
        wide = wide_shares(shares)
        rows = [[row[0], *(_share(value) for value in row[1:])] for row in wide.iter_rows()]
        models = shares["model"].n_unique()
        _print(found.header)
        if models < _MOST_COLUMNS:
            _print(_table(wide.columns, rows, words=1))
        else:  # too wide for a terminal
            _print(_table(("test_point", "model", "share"), _long(shares), words=2))

    _deliver(found, shares, output, format_, title=f"Test points: {checks.name}", show=show, confidence=confidence)


def _check(output: Path | None) -> None:
    from salon_ranking.leaderboard.output import check_ending

    if output is not None:
        check_ending(output)


def _deliver(
    result: Any,
    table: "pl.DataFrame",
    output: Path | None,
    format_: str,
    *,
    title: str,
    show: Callable[[], None],
    confidence: float = 0.95,
) -> None:
    """Print a result as asked for, and write it to the file that was named."""
    from salon_ranking.mos.output import html, to_json, write

    if format_ == "json":
        click.echo(to_json(result, confidence=confidence))
    elif format_ == "csv":
        click.echo(table.write_csv(), nl=False)
    else:
        show()
    if output is not None:
        write(
            output,
            table=table,
            text=lambda: to_json(result, confidence=confidence),
            page=lambda: html(result, title=title, confidence=confidence),
        )
        click.echo(f"Wrote {output}", err=True)


def _mos(summary: "MosSummary") -> None:
    import polars as pl

    _print(summary.header)
    scenarios = [name for name in summary.scores["scenario"].unique().sort() if name is not None]
    means = summary.scores.select("scenario", "dimension", "model", "mean")
    there = {tuple(names): mean for *names, mean in means.iter_rows()}
    rows = [
        [
            row["dimension"],
            row["model"],
            _mark(row["mean"]),
            f"{_mark(row['ci_low'])} – {_mark(row['ci_high'])}" if row["ci_low"] is not None else "–",
            *(f"{row[name]:,}" for name in ("prompts", "missing_prompts", "evaluations", "unscored")),
            *(_mark(there.get((scenario, row["dimension"], row["model"]))) for scenario in scenarios),
        ]
        for row in summary.scores.iter_rows(named=True)
        if row["scenario"] is None
    ]
    interval = f"{100 * summary.confidence:.4g} % CI"
    heads = ("dimension", "model", "MOS", interval, "prompts", "missing", "evaluations", "unscored", *scenarios)
    _print(_table(heads, rows, words=2))
    compared, flagged = summary.comparisons, summary.correlations.filter("flagged")
    if compared.height:
        significant = int(compared["significant"].sum())
        _print(f"{significant:,} of {compared.height:,} comparisons differ at p < {summary.alpha:g} ({summary.test}, Holm).")
    for samples, probability in (
        summary.stability.group_by("samples").agg(pl.col("probability").mean()).sort("samples").iter_rows()
    ):
        word = "sample" if samples == 1 else "samples"
        _print(f"{samples} {word} per prompt: a model differs from itself by over {summary.threshold:g}: {_share(probability)}")
    pairs = summary.correlations.height
    if pairs:
        _print(f"{flagged.height:,} of {pairs:,} correlations between dimensions reach {summary.correlation_limit:g}.")
    for row in flagged.iter_rows(named=True):
        _print(f"  {row['rater_id']}: {row['dimension_a']} and {row['dimension_b']}, r = {row['pearson']:+.2f}")


def _weights(found: "Weights") -> None:
    _print(found.header)
    heads = ("persona", "scenario", "dimension", "rise", f"{100 * found.confidence:.4g} % CI", "battles", "ties")
    rows = [
        [
            row["persona"] or "all",
            row["scenario"] or "all",
            row["dimension"],
            f"{100 * row['rise']:+.1f} %",
            f"{100 * row['ci_low']:+.1f} – {100 * row['ci_high']:+.1f}",
            f"{row['battles']:,}",
            f"{row['ties']:,}",
        ]
        for row in found.table.iter_rows(named=True)
    ]
    _print(_table(heads, rows, words=3))
    for row in found.unfitted.iter_rows(named=True):
        group = f"{row['persona'] or 'all'}, {row['scenario'] or 'all'}"
        _print(f"No weights for {group} ({row['battles']:,} battles): {row['reason']}")


def _long(shares: "pl.DataFrame") -> list[list[str]]:
    return [
        [point or "all checks", model, _share(share)]
        for point, model, share in shares.select("test_point", "model", "share").iter_rows()
    ]


def _mark(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    from salon_ranking.report.numbers import share

    return share(value)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, words: int) -> "Table":
    """A table whose first columns hold words and the others numbers."""
    from rich.table import Table

    table = Table(box=None)
    for number, head in enumerate(heads):
        table.add_column(_plain(head), justify="left" if number < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    return table


def _print(what: "Table | str") -> None:
    from rich.console import Console

    # Piped into a file or a program, a table keeps its columns.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    console.print(_plain(what) if isinstance(what, str) else what)


def _plain(text: str) -> str:
    """Text as it is: no markup, and nothing that a terminal could act on."""
    from rich.markup import escape

    return escape(visible(text))
