"""``salon ratings mos | pass-rates`` and ``salon votes drivers``: absolute marks, and what they are worth in battles."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.forest_plot import ForestPlot
from salon_console.numbers import plot_rows, share
from salon_console.options import output_option
from salon_console.output import deliver
from salon_console.shown_result import ResultView
from salon_console.table_files import RESULT_ENDINGS, Maker, Table
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP, seed_option, show
from salon_ranking.cli.vote_options import WEIGHT, table_options, weight_of
from salon_ranking.extras import drawing

if TYPE_CHECKING:
    import polars as pl

    from salon_ranking.opinion.checks import Checks
    from salon_ranking.opinion.design import Level
    from salon_ranking.opinion.significance import Test
    from salon_ranking.opinion.summary import MosSummary
    from salon_ranking.opinion.weights import Ties, Weights

_MOST_COLUMNS = 8

_prompts = click.option(
    "--prompts",
    type=InputPath(tables=True),
    help="Prompts with their scenario. Default: those of the store, if INPUT is one.",
)


@click.command(context_settings=HELP)
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
    "--scale",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="The lowest and the highest mark, for a file without scale_min and scale_max; it may then lack rating_id, dimension "
    "and generation_id, too.",
)
@table_options("score=value,rater=rater_id")
@CONFIDENCE
@click.option(
    "--bootstrap",
    "replicates",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="Resamples of prompts, for models without a second evaluation of any prompt.",
)
@seed_option("resamples")
@output_option(RESULT_ENDINGS)
@FORMAT
def mos(
    ratings: Path,
    prompts: Path | None,
    test: "Test | Literal['none']",
    alpha: float,
    by_scenario: bool,
    scale: tuple[float, float] | None,
    confidence: float,
    replicates: int,
    seed: int,
    output: Path | None,
    format_: str,
    spelled: Mapping[str, Any],
) -> None:
    """Mean opinion scores per model, dimension and scenario, with intervals, comparisons and checks of the raters.

    INPUT is a CSV, JSON Lines or Parquet file with the columns rating_id, prompt_id, generation_id, model, dimension, value,
    scale_min, scale_max and rater_id (and scenario, if known), or the directory of a result store. CSV and Parquet output
    hold the scores; JSON holds every table.

    \b
    Example:
      salon ratings mos ratings.csv
      salon ratings mos salon-results --output mos.html
      salon ratings mos marks.csv --columns score=value,rater=rater_id,prompt=prompt_id --scale 1 5
      salon ratings mos ratings.parquet --test wilcoxon --by-scenario --format json
    """
    from salon_ranking.opinion.ratings import MosRatings
    from salon_ranking.opinion.summary import summarise

    mos_ratings = MosRatings.read(ratings, prompts=prompts, scale=scale, **spelled)
    summary = summarise(
        mos_ratings,
        test=test,
        alpha=alpha,
        by_scenario=by_scenario,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
    )

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import mos_page
        return mos_page(summary, title=f"Mean opinion scores: {ratings.name}")

    _deliver(summary, summary.view(), summary.scores, output, format_, page=page)


@click.command(context_settings=HELP)
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
@CONFIDENCE
@output_option(RESULT_ENDINGS)
@FORMAT
@WEIGHT
def drivers(
    battles: Path,
    ratings: Path,
    prompts: Path | None,
    persona: str | None,
    by_scenario: bool,
    interactions: bool,
    ties: "Ties",
    cluster: str | None,
    level: "Level",
    confidence: float,
    output: Path | None,
    format_: str,
    weight: str | None,
) -> None:
    """Estimate what voters weigh: the rise of the win rate for one standard deviation more in a dimension, all else equal.

    BATTLES has the columns model_a, model_b, winner and prompt_id; RATINGS is what `salon ratings mos` reads. Each may be a
    file or the directory of a result store. CSV and Parquet output hold the rises; JSON holds the coefficients too.

    \b
    Example:
      salon votes drivers votes.csv ratings.csv
      salon votes drivers salon-results salon-results --by-scenario --output weights.html
      salon votes drivers votes.csv ratings.csv --persona occupation --cluster prompt_id --ties drop
    """
    from salon_ranking.battles import Battles
    from salon_ranking.opinion.ratings import MosRatings
    from salon_ranking.opinion.weights import dimension_weights

    cast = Battles.read(battles, weight=weight_of(weight))
    has_mode = "mode" in cast.frame.collect_schema()
    weights = dimension_weights(
        cast,
        MosRatings.read(ratings, prompts=prompts),
        persona=persona or ("mode" if has_mode else None),
        by_scenario=by_scenario,
        interactions=interactions,
        ties=ties,
        cluster=cluster,
        level=level,
        confidence=confidence,
    )

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import weights_page
        return weights_page(weights, title=f"Weights: {battles.name}")

    _deliver(weights, weights.view(), weights.table, output, format_, page=page)


@click.command("pass-rates", context_settings=HELP)
@click.argument("checks", metavar="INPUT", type=InputPath(tables=True))
@click.option("--task", metavar="NAME", help="Only rows whose column task is this; for the scores of a store.")
@table_options("category=test_point,met=satisfied")
@CONFIDENCE
@output_option(RESULT_ENDINGS)
@FORMAT
def pass_rates(
    checks: Path, task: str | None, confidence: float, output: Path | None, format_: str, spelled: Mapping[str, Any]
) -> None:
    """Report the share of yes/no checks that each model passes, per test point, with Wilson intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model, test_point and satisfied (true, false, 1 or 0), or the
    directory of a result store, whose scores must be 0 or 1.

    \b
    Example:
      salon ratings pass-rates checks.csv
      salon ratings pass-rates checks.csv --output test-points.html
      salon ratings pass-rates salon-results --task test_points --format csv
    """
    from salon_ranking.opinion.checks import Checks

    read_checks = Checks.read(checks, task=task, **spelled)
    shares = read_checks.shares(confidence=confidence)

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import checks_page
        return checks_page(read_checks, title=f"Test points: {checks.name}", confidence=confidence)

    chart = ForestPlot("Share of checks passed", plot_rows(shares, "share"))
    view = ResultView(read_checks.header, _share_cells(shares), chart)
    _deliver(read_checks, view, shares, output, format_, page=page, confidence=confidence)


def _deliver(
    result: "MosSummary | Weights | Checks",
    view: ResultView,
    table: "pl.DataFrame",
    output: Path | None,
    format_: str,
    *,
    page: Callable[[], str],
    confidence: float = 0.95,
) -> None:
    """Print a result in the wanted format, and write it to the file that was named."""
    from salon_ranking.opinion.output import to_json

    def print_view() -> None:
        show(view.header, view.table, *view.notes)

    makers: dict[str, Maker] = {**view.makers(), ".html": page}
    json = partial(to_json, result, confidence=confidence)
    deliver(view.table, table, form=format_, output=output, show=print_view, json=json, made=makers)


def _share_cells(shares: "pl.DataFrame") -> Table:
    """Return one row per test point and a column per model; with many models, one row per pair."""
    from salon_ranking.opinion.checks import wide_shares

    if shares["model"].n_unique() < _MOST_COLUMNS:
        wide = wide_shares(shares)
        rows = [[row[0], *map(share, row[1:])] for row in wide.iter_rows()]
        return Table(tuple(wide.columns), rows, frozenset(wide.columns[1:]))
    checks = shares.select("test_point", "model", "share").iter_rows()
    cells = [[point or "all checks", model, share(value)] for point, model, value in checks]
    return Table(("test_point", "model", "share"), cells, frozenset({"share"}))
