"""The ledger as one self-contained page: boards, models with every number, progress, agreement of benchmarks and sources."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.line_chart import Curve, LegendEntry, LineChart
from salon_console.page import Block, Code, Figure, Fragment, PageSection, Table, render_page
from salon_console.templates import page_template, read_text
from salon_published.benchmark_agreement import agreement
from salon_published.ledger import (
    board_name,
    capabilities,
    compared_scores,
    ledger_battles,
    ledger_board,
    ledger_scores,
    rank_by_sources,
    sourced_tables,
    sources,
)
from salon_published.ledger_consistency import (
    agreement_of_judges,
    agreement_of_sources,
    lead_of_self_reports,
    separation_of_best,
)
from salon_published.manifest import GenerationTask
from salon_published.registry import registry
from salon_ranking import Leaderboard

_HERE: Final = "salon_published"
_REPORTED: Final = pl.coalesce(pl.format("{} as {}", "reported", "quoted"), "reported")
_TOP: Final = 25
"""Models in a chart of a board."""
_FEWEST_MODELS: Final = 8
"""Of a board by capability, of a benchmark in the table of agreement, of one in the table of saturation."""
_BENCHMARKS: Final = 14
"""In the table of agreement."""
_PEOPLE: Final = "all, by people's votes and marks"
_MEASURED: Final = "all, without makers' reports"
_LEAD: Final = (
    "Generators of pictures, edits and videos, by what benchmarks, makers and voters publish about them. Every number has its "
    "source. Ratings come from comparisons that are derived from printed numbers; no votes were cast for this page."
)
_HOW: Final = (
    "Points are ratings, bars their 95% intervals by sources. A hollow point has no interval: one source knows the model, or "
    "its few sources do not bound it. Every column of every table compares its models once; a pair of numbers that a table "
    "quotes from another counts once."
)


_FILES: Final = (
    "The two files of the queries, for DuckDB or anything else that reads Parquet. `board.parquet` is of one task; with "
    "--capability, --people or --measured it is another of its boards:"
)
_COMMANDS: Final = (
    "salon papers scores --output scores.parquet\nsalon papers board text-to-image --output board.parquet\n"
    'salon store sql salon-results "SELECT board, rank, model, rating FROM leaderboards"   # after salon quickstart: all tasks'
)
_PAIRS: Final = """\
WITH numbers AS (
  SELECT * REPLACE (overall OR track = 'overall' AS overall), date || ' ' || source AS age,
         max(abs(value)) OVER (PARTITION BY benchmark, track) AS scale FROM 'scores.parquet'),
pairs AS (
  SELECT a.*, b.source AS other, b.reported AS other_reported, (b.value - a.value) / a.scale AS difference,
         (abs(b.value - a.value) / a.scale <= 0.005)::INT AS equal,
         least(a.reported, b.reported) || ' and ' || greatest(a.reported, b.reported) AS kinds
  FROM numbers AS a JOIN numbers AS b USING (task, benchmark, track, model)
  WHERE a.source <> b.source AND a.age < b.age AND coalesce(a.judge = b.judge, true))"""
"""Every two numbers that two sources print of one model on one track."""
_JUDGED: Final = """\
numbers AS (
  SELECT *, max(abs(value)) OVER (PARTITION BY benchmark, track) AS scale FROM 'scores.parquet' WHERE judge IS NOT NULL),
judged AS (
  SELECT task, benchmark, track, model, a.judge, b.judge AS other, a.value, b.value AS theirs,
         (b.value - a.value) / a.scale AS difference
  FROM numbers AS a JOIN numbers AS b USING (task, benchmark, track, model) WHERE a.judge < b.judge)"""
"""Every two numbers of two judges of one model on one track."""


def _with_error(rows: str, *, by: str, unit: str, value: str) -> str:
    """Return the end of a query: a mean with its standard error and degrees of freedom over units."""
    return f"""\
units AS (SELECT {by}, sum({value}) AS total, count(*) AS n FROM {rows} GROUP BY {by}, {unit}),
parts AS (
  SELECT *, n / sum(n) OVER w AS share, total - share * sum(total) OVER w AS rest, share ** 2 / nullif(1 - share, 0) AS pull
  FROM units WINDOW w AS (PARTITION BY {by}))
SELECT {by}, sum(n) AS pairs, count(*) AS units, sum(total) / sum(n) AS {value},
       sqrt(sum(rest ** 2 / nullif(1 - share, 0))) / sum(n) AS error,
       1 / (sum(share ** 2) + sum(pull) ** 2 - sum(pull ** 2)) AS degrees
FROM parts GROUP BY {by}"""  # noqa: S608  # of texts of this file


STATEMENTS: Final = {
    "leaders": "SELECT rank, model, rating, ci_low, ci_high FROM 'board.parquet' ORDER BY rank",
    "model": """\
SELECT benchmark, track, printed, reported, quoted, source, date FROM 'scores.parquet' WHERE model = 'qwen-image'""",
    "progress": """\
SELECT weights, released, model, rating, max(rating) OVER (PARTITION BY weights ORDER BY released) AS best
FROM 'board.parquet' JOIN (SELECT DISTINCT model, released, weights FROM 'scores.parquet') USING (model)
WHERE ci_low IS NOT NULL AND released IS NOT NULL AND weights IS NOT NULL ORDER BY weights, released""",
    "agreement": """\
WITH columns AS (
  SELECT benchmark, track, model, CASE direction WHEN 'higher' THEN value ELSE -value END AS merit
  FROM 'scores.parquet' WHERE direction <> 'none' AND task = 'text-to-image' AND kind = 'generator'),
standardised AS (
  SELECT benchmark, model, (merit - avg(merit) OVER one) / nullif(stddev_samp(merit) OVER one, 0) AS z
  FROM columns WINDOW one AS (PARTITION BY benchmark, track)),
means AS (SELECT benchmark, model, avg(z) AS z FROM standardised WHERE z IS NOT NULL GROUP BY ALL),
pairs AS (
  SELECT a.benchmark AS one, b.benchmark AS other, round(a.z, 9) AS x, round(b.z, 9) AS y
  FROM means AS a JOIN means AS b USING (model) WHERE a.benchmark < b.benchmark),
ranks AS (  -- equal models share the mean of their ranks
  SELECT one, other,
         rank() OVER (PARTITION BY one, other ORDER BY x) + count(*) OVER (PARTITION BY one, other, x) / 2 AS rank_in_one,
         rank() OVER (PARTITION BY one, other ORDER BY y) + count(*) OVER (PARTITION BY one, other, y) / 2 AS rank_in_other
  FROM pairs)
SELECT one, other, count(*) AS common, corr(rank_in_one, rank_in_other) AS spearman
FROM ranks GROUP BY ALL HAVING count(*) >= 4 ORDER BY common DESC, one, other""",
    "saturation": f"""\
{_PAIRS},
noise AS (
  SELECT task, benchmark, track, sqrt(avg(difference ** 2)) AS noise, count(DISTINCT (source, other)) AS pairs
  FROM pairs WHERE equal = 0 AND overall AND kind = 'generator' AND direction = 'higher' GROUP BY ALL),
overall AS (
  SELECT *, CASE WHEN count(DISTINCT judge) OVER (PARTITION BY task, benchmark, track) > 1 THEN judge END AS marked_by
  FROM numbers WHERE overall AND kind = 'generator' AND direction = 'higher'),
best AS (SELECT task, benchmark, track, marked_by, model, max(value) AS value FROM overall GROUP BY ALL),
sorted AS (SELECT task, benchmark, track, marked_by, list(value ORDER BY value DESC) AS best FROM best GROUP BY ALL)
SELECT benchmark, track, marked_by, task, len(best) AS models, best[1] AS best, best[10] AS tenth,
       (best[1] - best[10]) / best[1] AS gap, noise, pairs
FROM sorted LEFT JOIN noise USING (task, benchmark, track) WHERE len(best) > 10 AND best[1] > 0 ORDER BY gap""",  # noqa: S608
    "sources agree": f"""\
{_PAIRS},
{_with_error("pairs", by="task, benchmark", unit="source, other", value="equal")} ORDER BY pairs DESC, benchmark DESC""",
    "kinds agree": f"""\
{_PAIRS},
{_with_error("pairs", by="task, kinds", unit="source, other", value="equal")} ORDER BY pairs DESC, kinds DESC""",
    "self-reports": f"""\
{_PAIRS},
own AS (
  SELECT task, CASE WHEN other_reported = 'self' THEN other ELSE source END AS maker,
         if(direction = 'higher', difference, -difference) * if(other_reported = 'self', 1, -1) AS lead
  FROM pairs WHERE direction <> 'none' AND (reported = 'self') <> (other_reported = 'self')),
{_with_error("own", by="task", unit="maker", value="lead")} ORDER BY task""",  # noqa: S608
    "judges agree": f"""\
WITH {_JUDGED},
{_with_error("judged", by="task, benchmark, judge, other", unit="model", value="difference")} ORDER BY ALL""",
    "order of judges": f"""\
WITH {_JUDGED},
ranks AS (  -- equal models share the mean of their ranks
  SELECT *, rank() OVER (w ORDER BY round(value, 9)) + count(*) OVER (w ORDER BY round(value, 9) GROUPS CURRENT ROW) / 2 AS x,
         rank() OVER (w ORDER BY round(theirs, 9)) + count(*) OVER (w ORDER BY round(theirs, 9) GROUPS CURRENT ROW) / 2 AS y
  FROM judged WINDOW w AS (PARTITION BY task, benchmark, track, judge, other)),
orders AS (SELECT task, benchmark, judge, other, track, corr(x, y) AS rho FROM ranks GROUP BY ALL)
SELECT task, benchmark, judge, other, avg(rho) AS spearman, stddev_samp(rho) / sqrt(count(*)) AS error, count(*) - 1 AS degrees
FROM orders WHERE NOT isnan(rho) GROUP BY ALL ORDER BY ALL""",  # noqa: S608
    "sources": "SELECT source, date, count(*) AS numbers, count(DISTINCT model) AS models FROM 'scores.parquet' GROUP BY ALL",
    "facts": """\
SELECT count(*) AS numbers, count(DISTINCT model) FILTER (kind = 'generator') AS generators, count(DISTINCT source) AS sources,
       max(date) AS newest, count(*) FILTER (reported = 'self') AS self, count(*) FILTER (quoted IS NOT NULL) AS quoted
FROM 'scores.parquet'""",
}
"""What each section of the page says, as a query over the two files of the last section."""


def ledger_page(boards: Mapping[GenerationTask, Leaderboard] | None = None) -> str:
    """Return the page as one string of HTML; its script only filters what it holds.

    Args:
        boards: the board of each task, where they are at hand.
    """
    scores = ledger_scores()
    boards = boards or {task: ledger_board(compared_scores(task)) for task in GenerationTask}
    by_capability = dict(_by_capability())
    listed, kinds = sources(), scores["reported"].value_counts(sort=True)
    facts = [
        ("Numbers", f"{scores.height:,} of {scores.filter(kind='generator')['model'].n_unique()} generators"),
        ("Sources", f"{listed.height}, the oldest read on {min(listed['read'])}"),
        ("Newest source", str(max(listed["date"]))),
        ("Reported by", ", ".join(f"{kind} {count:,}" for kind, count in kinds.iter_rows())),
        ("Of the rivals' numbers", f"{scores['quoted'].count():,} are printed in the source that is quoted"),
    ]
    sections = [
        PageSection("Who leads?", (*_leaders(boards), *_in_sql("leaders"))),
        PageSection("Find a model", (_explorer(scores, boards, by_capability), *_in_sql("model"))),
        PageSection("Progress", (*_progress(boards), *_in_sql("progress"))),
        PageSection("Do benchmarks agree?", (*_agreement(), *_in_sql("agreement"))),
        PageSection("Which benchmarks still separate the best?", (*_saturation(scores), *_in_sql("saturation"))),
        PageSection("Do sources agree?", tuple(_consistency(scores))),
        PageSection("Do judges agree?", (*_judges(scores), *_in_sql("judges agree"), *_in_sql("order of judges"))),
        PageSection(
            "Sources", (_sources(listed), *_in_sql("sources"), "The numbers at the top of the page:", Code(STATEMENTS["facts"]))
        ),
        PageSection("Ask it yourself", (_FILES, Code(_COMMANDS))),
    ]
    return render_page("Salon: the field's ledger", lead=_LEAD, facts=facts, sections=sections)


def _by_capability() -> Iterator[tuple[tuple[str, str], Leaderboard]]:
    """Yield the boards of each capability, then that of people's numbers alone and that without what makers report.

    Their battles are derived in one go: a board's number stands before its tracks.
    """
    chosen: dict[tuple[GenerationTask, str], pl.DataFrame] = {}
    for task in GenerationTask:
        chosen |= {(task, name): compared_scores(task, capability=name) for name in capabilities()}
        chosen |= {(task, _PEOPLE): compared_scores(task, people=True), (task, _MEASURED): compared_scores(task, measured=True)}
    chosen = {key: scores for key, scores in chosen.items() if scores["model"].n_unique() >= _FEWEST_MODELS}
    numbered = [
        scores.with_columns(pl.format("{}\0{}", pl.lit(number), name).alias(name) for name in ("track", "measures"))
        for number, scores in enumerate(chosen.values())
    ]
    battles = ledger_battles(pl.concat(numbered)).with_columns(
        board=pl.col("scenario").str.split("\0").list.first().cast(pl.Int64)
    )
    of_board = battles.partition_by("board", as_dict=True, include_key=False)
    for number, (task, name) in enumerate(chosen):
        if (number,) in of_board:  # else no two of its models are in one column
            yield (str(task), name), rank_by_sources(of_board[number,], board_name(f"{task}, {name}"))


def _name(model: str) -> str:
    return registry().get(model).name


def _leaders(boards: Mapping[GenerationTask, Leaderboard]) -> Iterator[Block]:
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
            f"of the highest without. {_name(board.baselines[0])} is 1,000."
        )
        yield Figure(ForestPlot(f"Rating, {task}", rows, 1000.0, board.header), caption)


def _explorer(
    scores: pl.DataFrame, boards: Mapping[GenerationTask, Leaderboard], by_capability: dict[tuple[str, str], Leaderboard]
) -> Fragment:
    """Return boards with filters, and the page of one model or of two side by side."""
    everywhere = {(task, ""): board for task, board in boards.items()} | by_capability
    models = sorted({*scores["model"], *(model for board in everywhere.values() for model in board.table["model"])})
    model_index = {model: number for number, model in enumerate(models)}
    known = registry()
    facts = [known.get(model) for model in models]
    listed = sources().to_dicts()
    sheets = scores.select("source", "table", "task").unique(maintain_order=True)
    at = {table: number for number, table in enumerate(sheets["table"])}
    source_of = {row["source"]: number for number, row in enumerate(listed)}
    links = {table.id: table.spec.link for table in sourced_tables()}
    content = {
        "models": [
            [model.name, model.maker or "", model.released or "", model.weights or "", model.size or 0] for model in facts
        ],
        "sources": [[row["title"], row["link"], str(row["date"])] for row in listed],
        "tables": [[source_of[source], task, links.get(table) or ""] for source, table, task in sheets.iter_rows()],
        "boards": [
            {"task": task, "capability": capability, "header": board.header, "rows": _board_rows(board, model_index)}
            for (task, capability), board in everywhere.items()
        ],
        "cells": [
            [model_index[model], at[table], benchmark, track.replace("_", " "), printed, reported, judge or ""]
            for model, table, benchmark, track, printed, reported, judge in scores.select(
                "model", "table", "benchmark", "track", "printed", _REPORTED, "judge"
            ).iter_rows()
        ],
    }
    html = page_template(_HERE, "ledger.html.jinja").render(
        tasks=list(boards),
        capabilities=[*capabilities(), _PEOPLE, _MEASURED],
        names=sorted((model.name for model in facts), key=str.casefold),
        content=_embedded(content),
    )
    return Fragment(html, style=read_text(_HERE, "ledger.css"), script=read_text(_HERE, "ledger.js"))


def _board_rows(board: Leaderboard, model_index: dict[str, int]) -> list[list[float | None]]:
    columns = board.table.select("model", "rating", "ci_low", "ci_high", "matches")
    return [
        [model_index[model], *(None if value is None else round(value) for value in values)]
        for model, *values in columns.iter_rows()
    ]


def _embedded(content: object) -> str:
    """Return JSON that can stand within a script element: no sign in it ends the element or begins a comment."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _in_sql(statement: str) -> Iterator[Block]:
    yield "The same in SQL:"
    yield Code(STATEMENTS[statement])


def _progress(boards: Mapping[GenerationTask, Leaderboard]) -> Iterator[Block]:
    yield "The best rating so far of generators with open and with closed weights, by month of release."
    for task, board in boards.items():
        curves = [
            Curve(f"{weights} weights", dict(_best_so_far(board, weights)), colour=colour)
            for colour, weights in enumerate(("open", "closed"))
        ]
        keys = [LegendEntry(curve.label, curve.colour) for curve in curves]
        chart = LineChart(f"Best rating so far, {task}", curves, keys, across="Year of release, 20…")
        yield Figure(chart, f"{task}; models without an interval are left out, and those whose month of release is not known.")


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
    for one, other, common, rho in pairs.iter_rows():
        if rho is not None:
            hint = f"{one} and {other}: ρ = {rho:.2f} over {common} models"
            cells[one][other] = cells[other][one] = HeatCell(f"{rho:.2f}", rho, hint)
    return HeatTable(f"Spearman's ρ, {task}", chosen, [(name, cells[name]) for name in chosen])


def _saturation(scores: pl.DataFrame) -> Iterator[Block]:
    yield (
        "How far the best and the tenth best generator lie apart on each benchmark's overall number, in percent of the best. "
        "Noise is by how much two sources differ (root mean square) that print different numbers of one model there; the "
        "interval is the gap plus and minus the noise times Student's t of the pairs of sources, less one. It is empty below "
        "five pairs. Where it has 0, the benchmark no longer separates the best ten."
    )
    header = ("benchmark", "task", "models", "best", "tenth", "gap", "noise", "95% CI", "separates")
    rows = []
    for row in separation_of_best(scores).iter_rows(named=True):
        name = ", ".join([row["benchmark"], row["track"].replace("_", " "), *([row["judge"]] if row["judge"] else [])])
        verdict = numbers.MISSING if row["ci_low"] is None else "yes" if row["ci_low"] > 0 else "no"
        cells = [
            str(row["models"]),
            f"{row['best']:g}",
            f"{row['tenth']:g}",
            numbers.share(row["gap"]),
            numbers.share(row["noise"]),
        ]
        rows.append([name, row["task"], *cells, numbers.share_interval(row["ci_low"], row["ci_high"]), verdict])
    yield Table(header, rows, frozenset(header[2:7]))


def _consistency(scores: pl.DataFrame) -> Iterator[Block]:
    yield (
        "Where two sources print a number of one model on one track: how often they print the same one (to half a percent of "
        "the scale). Equality is mostly quoting. Intervals are the share plus and minus Student's t times its error over pairs "
        "of sources; the queries give error and degrees of freedom. They are empty below five pairs."
    )
    for by, statement in (("benchmark", "sources agree"), ("kinds", "kinds agree")):
        header = (by, "task", "pairs", "equal", "95% CI", "median difference of the others")
        rows = [
            [name, task, str(pairs), numbers.share(equal), numbers.share_interval(low, high), numbers.share(median)]
            for task, name, pairs, equal, low, high, median in agreement_of_sources(scores, by=by).iter_rows()
        ]
        yield Table(header, rows, frozenset({"pairs", "equal", "median difference of the others"}))
        yield from _in_sql(statement)
    for task, pairs, makers, lead, low, high in lead_of_self_reports(scores).iter_rows():
        yield (
            f"{task}: makers' numbers of their own models lie {100 * lead:+.1f}% of the scale from those of others "
            f"({numbers.counted(pairs, 'pair')} of {numbers.counted(makers, 'source')}; 95% CI "
            f"{numbers.share_interval(low, high)})."
        )
    yield from _in_sql("self-reports")


def _judges(scores: pl.DataFrame) -> Iterator[Block]:
    yield (
        "Where two judges, or two versions of one, mark the same models on the same tracks: the second's number less the "
        "first's, in percent of the track's largest, with its interval over models, and Spearman's ρ of the two orders, the "
        "mean over tracks with its interval over them."
    )
    header = ("benchmark", "task", "judge", "other judge", "pairs", "models", "difference", "95% CI", "ρ", "95% CI of ρ")
    rows = []
    for row in agreement_of_judges(scores).iter_rows(named=True):
        ends = numbers.share_interval(row["ci_low"], row["ci_high"])
        order = [row["spearman"], row["spearman_low"], row["spearman_high"]]
        of_order = numbers.MISSING if order[1] is None else f"{order[1]:.2f} – {order[2]:.2f}"
        who = [row["benchmark"], row["task"], row["judge"], row["other_judge"], str(row["pairs"]), str(row["models"])]
        rows.append([*who, f"{100 * row['difference']:+.1f}%", ends, f"{order[0]:.2f}", of_order])
    yield Table(header, rows, frozenset({"pairs", "models", "difference", "ρ"}))


def _sources(listed: pl.DataFrame) -> Table:
    header = ("source", "date", "read", "measured by", "licence", "numbers", "models", "link")
    columns = ("title", "date", "read", "measured_by", "licence", "numbers", "models", "link")
    return Table(
        header, [[str(cell) for cell in row] for row in listed.select(columns).iter_rows()], frozenset({"numbers", "models"})
    )
