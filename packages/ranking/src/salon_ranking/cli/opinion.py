"""``salon ratings mos | pass-rates`` and ``salon votes drivers``: absolute marks, and what they are worth in battles."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP, seed_option, show
from salon_ranking.cli.vote_options import table_options, vote_options
from salon_ranking.extras import drawing
from salon_taxonomy.cli.options import output_option
from salon_taxonomy.cli.output import deliver
from salon_taxonomy.file_options import InputPath
from salon_taxonomy.forest_plot import ForestPlot, PlotRow
from salon_taxonomy.table_files import RESULT_ENDINGS, Maker, Table

if TYPE_CHECKING:
    import polars as pl

    from salon_ranking.opinion.checks import Checks
    from salon_ranking.opinion.summary import MosSummary
    from salon_ranking.opinion.weights import Weights

_MOST_COLUMNS = 8
_VALUES = (("Mean opinion score", "mean"), ("Rise of the win rate", "rise"), ("Share of checks passed", "share"))
"""The axis of a chart, and the column with its values."""

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
    "--unit",
    type=click.Choice(["generation", "rating"]),
    default="generation",
    show_default=True,
    help="One evaluation is a picture (mean over its raters), or a single rating.",
)
@click.option(
    "--gap",
    type=float,
    default=0.1,
    show_default=True,
    help="Difference in marks that counts as a disagreement when a model is compared with itself.",
)
@click.option(
    "--limit",
    type=float,
    default=0.3,
    show_default=True,
    help="Flag a rater whose two dimensions correlate at least this much.",
)
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
    test: str,
    alpha: float,
    by_scenario: bool,
    unit: str,
    gap: float,
    limit: float,
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

    found = MosRatings.read(ratings, prompts=prompts, scale=scale, **spelled)
    summary = summarise(
        found,
        test=test,  # type: ignore[arg-type]
        alpha=alpha,
        by_scenario=by_scenario,
        confidence=confidence,
        unit=unit,  # type: ignore[arg-type]
        threshold=gap,
        correlation_limit=limit,
        replicates=replicates,
        seed=seed,
    )

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import mos_page
        return mos_page(summary, title=f"Mean opinion scores: {ratings.name}")

    _deliver(summary, summary.scores, output, format_, page=page, cells=_mos_cells(summary), show=lambda: _show_mos(summary))


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
@vote_options
def drivers(
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

    cast = Battles.read(battles, **votes)
    has_mode = "mode" in cast.frame.collect_schema()
    found = dimension_weights(
        cast,
        MosRatings.read(ratings, prompts=prompts),
        persona=persona or ("mode" if has_mode else None),
        by_scenario=by_scenario,
        interactions=interactions,
        ties=ties,  # type: ignore[arg-type]
        cluster=cluster,
        level=level,  # type: ignore[arg-type]
        confidence=confidence,
    )

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import weights_page
        return weights_page(found, title=f"Weights: {battles.name}")

    _deliver(found, found.table, output, format_, page=page, cells=_weight_cells(found), show=lambda: _show_weights(found))


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
    """The share of yes/no checks that each model passes, per test point, with Wilson intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model, test_point and satisfied (true, false, 1 or 0), or the
    directory of a result store, whose scores must be 0 or 1.

    \b
    Example:
      salon ratings pass-rates checks.csv
      salon ratings pass-rates checks.csv --output test-points.html
      salon ratings pass-rates salon-results --task test_points --format csv
    """
    from salon_ranking.opinion.checks import Checks

    found = Checks.read(checks, task=task, **spelled)
    shares = found.shares(confidence=confidence)

    def page() -> str:
        with drawing():
            from salon_ranking.report.mos_page import checks_page
        return checks_page(found, title=f"Test points: {checks.name}", confidence=confidence)

    _deliver(
        found,
        shares,
        output,
        format_,
        page=page,
        cells=_share_cells(shares),
        show=lambda: show(found.header, _share_cells(shares)),
        confidence=confidence,
    )


def _deliver(
    result: "MosSummary | Weights | Checks",
    table: "pl.DataFrame",
    output: Path | None,
    format_: str,
    *,
    page: Callable[[], str],
    cells: Table,
    show: Callable[[], None],
    confidence: float = 0.95,
) -> None:
    """Print a result in the wanted format, and write it to the file that was named."""
    from salon_ranking.opinion.output import to_json

    chart = _chart(table, result)
    made: dict[str, Maker] = {".html": page, ".svg": chart.svg, ".png": chart.png}
    json = partial(to_json, result, confidence=confidence)
    deliver(cells, table, form=format_, output=output, show=show, json=json, made=made)


def _chart(table: "pl.DataFrame", result: "MosSummary | Weights | Checks") -> ForestPlot:
    """Return the values of all rows with their intervals; a row is named by its columns of text that say more than "all"."""
    title, value = next(each for each in _VALUES if each[1] in table.columns)
    names = [
        name
        for name in ("persona", "scenario", "dimension", "test_point", "model")
        if name in table.columns and table[name].count()
    ]
    rows = [
        PlotRow(", ".join(row[name] or "all" for name in names), row[value], row["ci_low"], row["ci_high"])
        for row in table.iter_rows(named=True)
    ]
    return ForestPlot(title, rows, 0.0 if value == "rise" else None)


def _mos_cells(summary: "MosSummary") -> Table:
    """Return one row per dimension and model over all scenarios; the means of scenarios are columns."""
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
    interval = f"{100 * summary.confidence:.4g}% CI"
    heads = ("dimension", "model", "MOS", interval, "prompts", "missing", "evaluations", "unscored", *scenarios)
    return Table(heads, rows, frozenset(heads[2:]))


def _show_mos(summary: "MosSummary") -> None:
    import polars as pl

    from salon_ranking.numbers import share

    show(summary.header, _mos_cells(summary))
    compared, flagged = summary.comparisons, summary.correlations.filter("flagged")
    if compared.height:
        significant = int(compared["significant"].sum())
        show(f"{significant:,} of {compared.height:,} comparisons differ at p < {summary.alpha:g} ({summary.test}, Holm).")
    for samples, probability in (
        summary.stability.group_by("samples").agg(pl.col("probability").mean()).sort("samples").iter_rows()
    ):
        word = "sample" if samples == 1 else "samples"
        show(f"{samples} {word} per prompt: a model differs from itself by over {summary.threshold:g}: {share(probability)}")
    pairs = summary.correlations.height
    if pairs:
        show(f"{flagged.height:,} of {pairs:,} correlations between dimensions reach {summary.correlation_limit:g}.")
    for row in flagged.iter_rows(named=True):
        show(f"  {row['rater_id']}: {row['dimension_a']} and {row['dimension_b']}, r = {row['pearson']:+.2f}")


def _weight_cells(found: "Weights") -> Table:
    """Return one row per persona, scenario and dimension."""
    heads = ("persona", "scenario", "dimension", "rise", f"{100 * found.confidence:.4g}% CI", "battles", "ties")
    rows = [
        [
            row["persona"] or "all",
            row["scenario"] or "all",
            row["dimension"],
            f"{100 * row['rise']:+.1f}%",
            f"{100 * row['ci_low']:+.1f} – {100 * row['ci_high']:+.1f}",
            f"{row['battles']:,}",
            f"{row['ties']:,}",
        ]
        for row in found.table.iter_rows(named=True)
    ]
    return Table(heads, rows, frozenset(heads[3:]))


def _show_weights(found: "Weights") -> None:
    show(found.header, _weight_cells(found))
    for row in found.unfitted.iter_rows(named=True):
        group = f"{row['persona'] or 'all'}, {row['scenario'] or 'all'}"
        show(f"No weights for {group} ({row['battles']:,} battles): {row['reason']}")


def _share_cells(shares: "pl.DataFrame") -> Table:
    """Return one row per test point and a column per model; with many models, one row per pair."""
    from salon_ranking.numbers import share
    from salon_ranking.opinion.checks import wide_shares

    if shares["model"].n_unique() < _MOST_COLUMNS:
        wide = wide_shares(shares)
        rows = [[row[0], *map(share, row[1:])] for row in wide.iter_rows()]
        return Table(tuple(wide.columns), rows, frozenset(wide.columns[1:]))
    found = shares.select("test_point", "model", "share").iter_rows()
    cells = [[point or "all checks", model, share(value)] for point, model, value in found]
    return Table(("test_point", "model", "share"), cells, frozenset({"share"}))


def _mark(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
