"""The ledger as one self-contained page: boards, models with every number, progress, agreement of benchmarks and sources."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.line_chart import Curve, LegendEntry, LineChart
from salon_console.page import Block, Code, Figure, Fragment, PageSection, Table, render_page
from salon_console.templates import page_template, read_text
from salon_published.benchmark_agreement import agreement
from salon_published.ledger import capabilities, compared_scores, ledger_board, ledger_scores, sources
from salon_published.ledger_consistency import agreement_of_sources, lead_of_self_reports
from salon_published.manifest import GenerationTask
from salon_published.registry import registry
from salon_ranking import Leaderboard
from salon_taxonomy.errors import InputError

_HERE: Final = "salon_published"
_TOP: Final = 25
"""Models in a chart of a board."""
_FEWEST_MODELS: Final = 8
"""Of a board by capability, of a benchmark in the table of agreement, of one in the table of saturation."""
_BENCHMARKS: Final = 14
"""In the table of agreement."""
_LEAD: Final = (
    "Generators of pictures, edits and videos, by what benchmarks, makers and voters publish about them. Every number has its "
    "source. Ratings come from comparisons that are derived from printed numbers; no votes were cast for this page."
)
_HOW: Final = (
    "Points are ratings, bars their 95% intervals by sources. A hollow point has no interval: one source knows the model. "
    "Every column of every table compares its models once; a pair of numbers that a table quotes from another counts once."
)


def ledger_page() -> str:
    """Return the page as one string of HTML; its script only filters what it holds."""
    scores = ledger_scores()
    boards = {str(task): ledger_board(compared_scores(task)) for task in GenerationTask}
    by_capability = dict(_by_capability())
    listed, kinds = sources(), scores["reported"].value_counts(sort=True)
    facts = [
        ("Numbers", f"{scores.height:,} of {scores.filter(kind='generator')['model'].n_unique()} generators"),
        ("Sources", f"{listed.height}, the oldest read on {min(listed['read'])}"),
        ("Newest source", str(max(listed["date"]))),
        ("Reported by", ", ".join(f"{kind} {count:,}" for kind, count in kinds.iter_rows())),
    ]
    sections = [
        PageSection("Who leads?", tuple(_leaders(boards))),
        PageSection("Find a model", (_explorer(scores, boards, by_capability), *_all_in_sql())),
        PageSection("Progress", tuple(_progress(boards))),
        PageSection("Do benchmarks agree?", tuple(_agreement())),
        PageSection("Which benchmarks still separate the best?", tuple(_saturation(scores))),
        PageSection("Do sources agree?", tuple(_consistency(scores))),
        PageSection("Sources", (_sources(listed),)),
    ]
    return render_page("Salon: the field's ledger", lead=_LEAD, facts=facts, sections=sections)


def _by_capability() -> Iterator[tuple[tuple[str, str], Leaderboard]]:
    for task in GenerationTask:
        for capability in capabilities():
            scores = compared_scores(task, capability=capability)
            if scores["model"].n_unique() < _FEWEST_MODELS:
                continue
            try:
                yield (str(task), capability), ledger_board(scores)
            except InputError:  # no two of its models are in one column
                continue


def _name(model: str) -> str:
    return registry().get(model).name


def _leaders(boards: dict[str, Leaderboard]) -> Iterator[Block]:
    yield _HOW
    for task, board in boards.items():
        table = board.table
        known = table.filter(pl.col("ci_low").is_not_null()).head(_TOP)
        alone = table.filter(pl.col("ci_low").is_null()).head(_TOP // 3)
        rows = [
            PlotRow(_name(row["model"]), row["rating"], row["ci_low"], row["ci_high"]) for row in known.iter_rows(named=True)
        ]
        rows += [PlotRow(_name(row["model"]), row["rating"]) for row in alone.iter_rows(named=True)]
        caption = (
            f"{task}: {numbers.counted(table.height, 'generator')}. First {known.height} with intervals, then {alone.height} "
            f"of the highest that one source knows. {_name(_baseline(board))} is 1,000."
        )
        yield Figure(ForestPlot(f"Rating, {task}", rows, 1000.0, board.header), caption)


def _baseline(board: Leaderboard) -> str:
    return str(board.table.sort((pl.col("rating") - 1000.0).abs())["model"][0])


def _explorer(
    scores: pl.DataFrame, boards: dict[str, Leaderboard], by_capability: dict[tuple[str, str], Leaderboard]
) -> Fragment:
    """Return boards with filters, and the page of one model or of two side by side."""
    everywhere = {(task, ""): board for task, board in boards.items()} | by_capability
    models = sorted({*scores["model"], *(model for board in everywhere.values() for model in board.table["model"])})
    place = {model: number for number, model in enumerate(models)}
    known = registry()
    facts = [known.get(model) for model in models]
    listed = sources().to_dicts()
    sheets = scores.select("source", "table", "task").unique(maintain_order=True)
    at = {table: number for number, table in enumerate(sheets["table"])}
    source_of = {row["source"]: number for number, row in enumerate(listed)}
    content = {
        "models": [[model.name, model.maker or "", model.released or "", model.weights or "", model.kind] for model in facts],
        "sources": [[row["title"], row["link"], str(row["date"])] for row in listed],
        "tables": [[source_of[source], task] for source, _, task in sheets.iter_rows()],
        "boards": [
            {"task": task, "capability": capability, "rows": _board_rows(board, place)}
            for (task, capability), board in everywhere.items()
        ],
        "cells": [
            [place[model], at[table], benchmark, track.replace("_", " "), printed, reported, judge or ""]
            for model, table, benchmark, track, printed, reported, judge in scores.select(
                "model", "table", "benchmark", "track", "printed", "reported", "judge"
            ).iter_rows()
        ],
    }
    html = page_template(_HERE, "ledger.html.jinja").render(
        tasks=list(boards),
        capabilities=list(capabilities()),
        names=sorted((model.name for model in facts), key=str.casefold),
        content=_embedded(content),
    )
    return Fragment(html, style=read_text(_HERE, "ledger.css"), script=read_text(_HERE, "ledger.js"))


def _board_rows(board: Leaderboard, place: dict[str, int]) -> list[list[float | None]]:
    columns = board.table.select("model", "rating", "ci_low", "ci_high", "matches")
    return [
        [place[model], *(None if value is None else round(value) for value in values)] for model, *values in columns.iter_rows()
    ]


def _embedded(content: object) -> str:
    """Return JSON that can stand within a script element: no sign in it ends the element or begins a comment."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _all_in_sql() -> Iterator[Block]:
    yield "The same in SQL:"
    yield Code(
        "salon papers scores --output scores.parquet\n"
        "duckdb -c \"SELECT benchmark, track, printed, reported, source FROM 'scores.parquet' WHERE model = 'qwen-image'\""
    )


def _progress(boards: dict[str, Leaderboard]) -> Iterator[Block]:
    yield "The best rating so far of generators with open and with closed weights, by month of release."
    for task, board in boards.items():
        curves = [
            Curve(f"{weights} weights", dict(_best_so_far(board, weights)), colour=colour)
            for colour, weights in enumerate(("open", "closed"))
        ]
        keys = [LegendEntry(curve.label, curve.colour) for curve in curves]
        chart = LineChart(f"Best rating so far, {task}", curves, keys, across="Year of release, 20…")
        yield Figure(chart, f"{task}; models of one source are left out, and those whose month of release is not known.")


def _best_so_far(board: Leaderboard, weights: str) -> Iterator[tuple[float, float]]:
    known = registry()
    dated = []
    for model, rating in board.table.filter(pl.col("ci_low").is_not_null()).select("model", "rating").iter_rows():
        about = known.get(model)
        if about.weights == weights and about.released is not None:
            year, month = about.released.split("-")
            dated.append((int(year) - 2000 + (int(month) - 1) / 12, rating))
    best = -float("inf")
    for at, rating in sorted(dated):
        best = max(best, rating)
        yield round(at, 3), best


def _agreement() -> Iterator[Block]:
    yield (
        "Spearman's ρ of the orders in which two benchmarks put the models that they share; empty below four. A benchmark's "
        "order is that of its models' mean standardised score over its columns."
    )
    for task in GenerationTask:
        z = (pl.col("merit") - pl.col("merit").mean()) / pl.col("merit").std()
        merit = pl.when(pl.col("direction") == "higher").then("value").otherwise(-pl.col("value"))
        means = (
            ledger_scores()
            .filter(pl.col("direction") != "none", task=str(task), kind="generator")
            .with_columns(merit=merit)
            .with_columns(z=z.over("benchmark", "track"))
            .filter(pl.col("z").is_finite())
            .group_by("benchmark", "model")
            .agg(pl.col("z").mean())
            .sort("benchmark", "model")
        )
        sizes = means["benchmark"].value_counts().filter(pl.col("count") >= _FEWEST_MODELS)
        chosen = sizes.sort("count", "benchmark", descending=[True, False])["benchmark"].head(_BENCHMARKS).to_list()
        if len(chosen) < 2:
            continue
        ratings = {name: dict(means.filter(benchmark=name).select("model", "z").iter_rows()) for name in chosen}
        yield Figure(_heat(agreement(ratings), chosen, str(task)), f"{task}, the benchmarks of most models.")


def _heat(pairs: pl.DataFrame, chosen: Sequence[str], task: str) -> HeatTable:
    cells: dict[str, dict[str, HeatCell]] = {name: {} for name in chosen}
    for one, other, common, rho, _ in pairs.iter_rows():
        if rho is not None:
            hint = f"{one} and {other}: ρ = {rho:.2f} over {common} models"
            cells[one][other] = cells[other][one] = HeatCell(f"{rho:.2f}", rho, hint)
    return HeatTable(f"Spearman's ρ, {task}", chosen, [(name, cells[name]) for name in chosen])


def _saturation(scores: pl.DataFrame) -> Iterator[Block]:
    yield (
        "How far the best and the tenth best generator lie apart on each benchmark's overall number, in percent of the best; "
        "benchmarks with a small gap no longer separate the best."
    )
    rows = []
    overall = scores.filter(pl.col("overall") | (pl.col("track") == "overall"), kind="generator", direction="higher")
    for (task, benchmark, track), group in overall.group_by("task", "benchmark", "track", maintain_order=True):
        best = group.group_by("model").agg(pl.col("value").max()).sort("value", descending=True)["value"]
        if len(best) > 10 and best[0] > 0:
            gap = (best[0] - best[9]) / best[0]
            name = f"{benchmark}, {str(track).replace('_', ' ')}"
            cells = [name, str(task), str(len(best)), f"{best[0]:g}", f"{best[9]:g}", numbers.share(gap)]
            rows.append((gap, cells))
    header = ("benchmark", "task", "models", "best", "tenth", "gap")
    yield Table(header, [row for _, row in sorted(rows, key=lambda pair: pair[0])], frozenset(header[2:]))


def _consistency(scores: pl.DataFrame) -> Iterator[Block]:
    yield (
        "Where two sources print a number of one model on one track: how often they print the same one (to half a percent of "
        "the scale). Equality is mostly quoting; intervals are by pairs of sources."
    )
    header = ("benchmark", "task", "pairs", "equal", "95% CI", "median difference of the others")
    rows = [
        [benchmark, task, str(pairs), numbers.share(equal), _share_ends(low, high), numbers.share(median)]
        for task, benchmark, pairs, equal, low, high, median in agreement_of_sources(scores).iter_rows()
    ]
    yield Table(header, rows, frozenset({"pairs", "equal", "median difference of the others"}))
    for task, pairs, makers, lead, low, high in lead_of_self_reports(scores).iter_rows():
        yield (
            f"{task}: makers' numbers of their own models lie {100 * lead:+.1f}% of the scale from those of others "
            f"({numbers.counted(pairs, 'pair')} of {numbers.counted(makers, 'source')}; 95% CI {_share_ends(low, high)})."
        )


def _share_ends(low: float | None, high: float | None) -> str:
    return numbers.MISSING if low is None or high is None else f"{100 * low:.1f}% – {100 * high:.1f}%"


def _sources(listed: pl.DataFrame) -> Table:
    header = ("source", "date", "read", "measured by", "licence", "numbers", "models", "link")
    columns = ("title", "date", "read", "measured_by", "licence", "numbers", "models", "link")
    return Table(
        header, [[str(cell) for cell in row] for row in listed.select(columns).iter_rows()], frozenset({"numbers", "models"})
    )
