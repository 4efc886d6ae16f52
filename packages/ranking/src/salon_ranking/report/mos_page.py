"""The pages of mean opinion scores, of the weights of dimensions, and of test points."""

from collections.abc import Iterable, Sequence

import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.page import Block, Figure, PageSection, Table, render_page
from salon_ranking.opinion.checks import Checks
from salon_ranking.opinion.summary import MosSummary
from salon_ranking.opinion.weights import Weights

_SHARES = "Share of satisfied checks; models by their share of all checks, best first."
ALL = "all"
"""How a null group is written for people."""


def mos_page(summary: MosSummary, *, title: str) -> str:
    """Return one self-contained HTML page: scores per dimension, comparisons, stability and raters."""
    lead = (
        "Points are mean opinion scores, bars their intervals. The intervals take the prompts as they are: they tell what "
        "other pictures for the same prompts would have changed, not what other prompts would."
    )
    sections = [PageSection(dimension, tuple(_dimension(summary, dimension))) for dimension in summary.scales]
    if summary.comparisons.height:
        sections.append(PageSection("Which models differ", (_compared(summary),)))
    if summary.stability.height:
        sections.append(PageSection("How many samples per prompt are enough", (_stability(summary),)))
    if summary.correlations.height:
        sections.append(PageSection("Do raters keep the dimensions apart", tuple(_raters(summary))))
    return render_page(title, lead=lead, facts=[("How", summary.header)], sections=sections)


def weights_page(weights: Weights, *, title: str) -> str:
    """Return one self-contained HTML page: rises per group, and the coefficients behind them."""
    lead = (
        "Two pictures are equal in every dimension but one, and in that one the first is a standard deviation better. "
        "The chart shows by how much its win rate is above 50%."
    )
    rows = weights.table.with_columns(
        pl.Series("group", [group_name(*names) for names in weights.table.select("persona", "scenario").iter_rows()]),
        pl.col("rise", "ci_low", "ci_high") * 100.0,
    )
    caption = "Rise of the win rate above 50%, in percentage points; groups as rows, dimensions as colours."
    figure = Figure(
        ForestPlot("Rise of the win rate (points)", _plot_rows(rows, "group", "rise", "dimension"), 0.0),
        caption,
        _table(
            ("Group", "Dimension", "Rise", _interval_name(weights.confidence), "Battles", "Ties", "Prompts"),
            [
                (
                    row["group"],
                    row["dimension"],
                    numbers_signed(row["rise"]),
                    numbers.MISSING
                    if row["ci_low"] is None
                    else f"{numbers_signed(row['ci_low'])} – {numbers_signed(row['ci_high'])}",
                    *(numbers.count(row[name]) for name in ("battles", "ties", "prompts")),
                )
                for row in rows.iter_rows(named=True)
            ],
            {"Group", "Dimension"},
        ),
    )
    standards = _table(
        ("Dimension", "Mean", "Standard deviation"),
        [(name, f"{mean:.2f}", f"{deviation:.2f}") for name, mean, deviation in weights.standards.iter_rows()],
        {"Dimension"},
    )
    sections = [
        PageSection("Weights", (figure,)),
        PageSection("What one standard deviation is", ("In marks, over all rated pictures.", standards)),
        PageSection("Coefficients", ("Logits per standard deviation.", _coefficients(weights))),
    ]
    if weights.unfitted.height:
        left = [
            (group_name(*row[:2]), numbers.count(row[2]), str(row[3]))
            for row in weights.unfitted.select("persona", "scenario", "battles", "reason").iter_rows()
        ]
        sections.append(PageSection("Groups without weights", (_table(("Group", "Battles", "Why"), left, {"Group", "Why"}),)))
    return render_page(title, lead=lead, facts=[("How", weights.header)], sections=sections)


def checks_page(points: Checks, *, title: str, confidence: float = 0.95) -> str:
    """Return one self-contained HTML page: a map of model × test point, a wheel of two models, every interval."""
    shares = points.shares(confidence=confidence)
    named = shares.with_columns(pl.col("test_point").fill_null("all checks"))
    rows = [
        (
            row["test_point"],
            row["model"],
            numbers.share(row["share"]),
            f"{numbers.share(row['ci_low'])} – {numbers.share(row['ci_high'])}",
            *(numbers.count(row[name]) for name in ("satisfied", "checks", "unscored")),
        )
        for row in named.iter_rows(named=True)
    ]
    columns = ("Test point", "Model", "Share", _interval_name(confidence), "Satisfied", "Checks", "Unscored")
    table = _table(columns, rows, {"Test point", "Model"})
    grid = _grid(named, "test_point", "model", "share", title="Share of satisfied checks", ends=(0.0, 1.0))
    return render_page(
        title,
        lead="A check asks one thing of one picture; it is fully met or not.",
        facts=[("How", points.header)],
        sections=[PageSection("Test points", (Figure(grid, _SHARES, table),))],
    )


def group_name(persona: str | None, scenario: str | None) -> str:
    """Return how a group of voters is called: ``expert · Art``; all of them are ``all``."""
    return " · ".join(name for name in (persona, scenario) if name is not None) or ALL


def numbers_signed(points: float) -> str:
    """Return percentage points with one digit and their sign.

    Example:
        >>> numbers_signed(37.66)
        '+37.7'
    """
    return f"{points:+.1f}"


def _dimension(summary: MosSummary, dimension: str) -> Iterable[Block]:
    rows = summary.scores.filter(dimension=dimension)
    whole = rows.filter(pl.col("scenario").is_null() & pl.col("mean").is_not_null())
    low, high = summary.scales[dimension]
    caption = f"Mean over {whole['prompts'].sum() // max(whole.height, 1):,} prompts, on a scale from {low:g} to {high:g}."
    chart = ForestPlot("Mean opinion score", _plot_rows(whole, "model", "mean"))
    yield Figure(chart, caption, _scores(rows, summary.confidence))
    scenarios = rows.filter(pl.col("scenario").is_not_null())
    if scenarios.height:
        ranked = {name: number for number, name in enumerate(whole["model"])}
        cells = scenarios.filter(pl.col("model").is_in(list(ranked))).sort(
            pl.col("model").replace_strict(ranked, return_dtype=pl.Int64), "scenario"
        )
        grid = _grid(cells, "model", "scenario", "mean", title="Mean opinion score", ends=(low, high))
        yield Figure(grid, f"{dimension} by scenario.")


def _scores(rows: pl.DataFrame, confidence: float) -> Table:
    columns = ("Scenario", "Model", "Mean", _interval_name(confidence), "Prompts", "Missing", "Evaluations", "Raters")
    return _table(
        columns,
        [
            (
                row["scenario"] or ALL,
                row["model"],
                numbers.mark(row["mean"]),
                f"{numbers.mark(row['ci_low'])} – {numbers.mark(row['ci_high'])}"
                if row["ci_low"] is not None
                else numbers.MISSING,
                *(numbers.count(row[name]) for name in ("prompts", "missing_prompts", "evaluations", "raters")),
            )
            for row in rows.iter_rows(named=True)
        ],
        {"Scenario", "Model"},
    )


def _compared(summary: MosSummary) -> Table:
    columns = ("Scenario", "Dimension", "Higher", "Lower", "Difference", "Prompts", "p (Holm)", f"p < {summary.alpha:g}")
    return _table(
        columns,
        [
            (
                row["scenario"] or ALL,
                row["dimension"],
                row["model_a"],
                row["model_b"],
                numbers.mark(row["difference"]),
                numbers.count(row["prompts"]),
                p_value(row["p_holm"]),
                {True: "yes", False: "no", None: numbers.MISSING}[row["significant"]],
            )
            for row in summary.comparisons.iter_rows(named=True)
        ],
        {"Scenario", "Dimension", "Higher", "Lower", f"p < {summary.alpha:g}"},
    )


def _stability(summary: MosSummary) -> Figure:
    order = pl.col("dimension").replace_strict({name: number for number, name in enumerate(summary.scales)})
    mean = summary.stability.group_by("dimension", "samples").agg(pl.col("probability").mean()).sort("samples", order)
    rows = mean.select(
        "dimension",
        "probability",
        label=pl.format("{} per prompt", "samples"),
        ci_low=pl.lit(None, pl.Float64),
        ci_high=pl.lit(None, pl.Float64),
    )
    title = f"Probability of a gap above {summary.threshold:g}"
    caption = f"{title} when a model is compared with itself, mean over models."
    table = _table(
        ("Dimension", "Model", "Samples", "Probability", "Mean gap"),
        [
            (dimension, model, str(samples), numbers.share(probability), f"{gap:.3f}")
            for dimension, model, samples, probability, gap in summary.stability.iter_rows()
        ],
        {"Dimension", "Model"},
    )
    return Figure(ForestPlot(title, _plot_rows(rows, "label", "probability", "dimension")), caption, table)


def _plot_rows(frame: pl.DataFrame, name: str, value: str, series: str | None = None) -> list[PlotRow]:
    """Return the rows of a plot; those of one name stand together."""
    order = frame[name].unique(maintain_order=True).to_list()
    columns = [name, value, "ci_low", "ci_high", *([series] if series else [])]
    rows = [PlotRow(*row) for row in frame.select(columns).iter_rows()]
    return sorted(rows, key=lambda row: order.index(row.name))


def _grid(frame: pl.DataFrame, row: str, column: str, value: str, *, title: str, ends: tuple[float, float]) -> HeatTable:
    """Return numbers in a grid, bluer the larger; rows and columns keep their order.

    Args:
        frame: a row for each cell.
        row, column, value: its columns with the names and the number; null: the cell stays empty.
        title: what the number is.
        ends: the numbers of the lightest and the darkest blue.
    """
    cells: dict[str, dict[str, HeatCell]] = {}
    for name, across, number in frame.select(row, column, value).iter_rows():
        row_cells = cells.setdefault(name, {})
        if number is not None:
            row_cells[across] = HeatCell(f"{number:.2f}", (number - ends[0]) / (ends[1] - ends[0]))
    return HeatTable(title, frame[column].unique(maintain_order=True).to_list(), list(cells.items()))


def _raters(summary: MosSummary) -> Iterable[Block]:
    flagged = int(summary.correlations["flagged"].sum())
    yield f"Pearson's r between dimensions; {flagged:,} of {summary.correlations.height:,} reach {summary.correlation_limit:g}."
    rows = [
        (who, one, other, numbers.count(count), numbers.correlation(r), "look" if flag else "")
        for who, one, other, count, r, flag in summary.correlations.iter_rows()
    ]
    columns = ("Rater", "Dimension", "Dimension 2", "Generations", "r", "Flag")
    yield _table(columns, rows, {"Rater", "Dimension", "Dimension 2", "Flag"})


def _coefficients(weights: Weights) -> Table:
    rows = [
        (
            group_name(persona, scenario),
            term,
            f"{estimate:+.3f}",
            f"{error:.3f}",
            numbers.MISSING if low is None else f"{low:+.3f} – {high:+.3f}",
        )
        for persona, scenario, term, estimate, error, low, high, _ in weights.coefficients.iter_rows()
    ]
    columns = ("Group", "Term", "Estimate", "Standard error", _interval_name(weights.confidence))
    return _table(columns, rows, {"Group", "Term"})


def _table(columns: tuple[str, ...], rows: Sequence[Sequence[str]], words: set[str]) -> Table:
    return Table(columns, rows, frozenset(columns) - words)


def _interval_name(confidence: float) -> str:
    return f"{100 * confidence:.4g}% interval"


def p_value(value: float | None) -> str:
    """Return a p-value with two significant digits.

    Example:
        >>> p_value(0.0312), p_value(1e-9), p_value(None)
        ('0.031', '< 0.0001', '–')
    """
    if value is None:
        return numbers.MISSING
    return "< 0.0001" if value < 0.0001 else f"{value:.2g}"
