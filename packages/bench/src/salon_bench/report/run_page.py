"""The page of runs: numbers, differences of two models, and a gallery of the pictures."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Unpack

from salon_bench.analysis.compare import compare
from salon_bench.report.gallery import column_names, gallery_fragment, plain
from salon_bench.report.gathering import PageLimits, RunColumn, SuiteGallery, gather
from salon_bench.runs.status import RunState
from salon_bench.runs.view import interval_text, number_text
from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.page import Block, Figure, PageSection, Table, render_page
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

_LEAD = (
    "What was judged, picture by picture, with the judges' own words. A missing verdict is no score: it is "
    "counted as unscored, with its reason."
)


def run_page(
    store: StoreAddress,
    run_ids: Sequence[str],
    *,
    title: str | None = None,
    **limits: Unpack[PageLimits],
) -> str:
    """Return the page as one string of self-contained HTML.

    Args:
        store: the results' directory.
        run_ids: which runs.
        title: of a page of pictures alone; None: the suites and models, with their numbers.
        limits: as for :func:`~.gathering.gather`, which also names the errors.
    """
    galleries = gather(store, run_ids, **limits)
    several = len(galleries) > 1
    sections = [
        section for each in galleries for section in _sections(store, each, f" · {plain(each.suite)}" if several else "")
    ]
    if title is not None:
        alone = [PageSection(plain(each.suite), (gallery_fragment(each),)) for each in galleries]
        return render_page(plain(title), lead=_LEAD, facts=_facts(galleries)[1:], sections=alone)
    models = list(dict.fromkeys(plain(column.model) for each in galleries for column in each.columns))
    title = f"{', '.join(plain(each.suite) for each in galleries)}: {', '.join(models)}"
    return render_page(title, lead=_LEAD, facts=_facts(galleries), sections=sections)


def _facts(galleries: Sequence[SuiteGallery]) -> list[tuple[str, str]]:
    columns = [column for each in galleries for column in each.columns]
    scored, unscored = sum(each.scored for each in columns), sum(each.unscored for each in columns)
    facts = [("Rows", f"{scored:,} scored, {unscored:,} unscored")]
    runs = {each.run.run_id: each for each in columns}
    facts += [("Run", _about_run(each)) for each in runs.values()]
    return facts


def _about_run(column: RunColumn) -> str:
    run = column.run
    when = "" if run.started_at is None else f", {run.started_at:%Y-%m-%d}"
    left = run.state in (RunState.RUNNING, RunState.UNFINISHED)
    state = f", {run.state.value} ({run.cases_done or 0} of {run.cases_total or '?'} cases)" if left else ""
    return plain(f"{run.run_id}: {run.suite}, judged by {column.judge} {column.judge_version}{when}{state}")


def _sections(store: StoreAddress, gallery: SuiteGallery, ending: str) -> list[PageSection]:
    sections = [PageSection(f"Numbers{ending}", tuple(_numbers(gallery)))]
    if len(gallery.columns) == 2:
        sections.append(PageSection(f"Differences{ending}", tuple(_differences(store, gallery))))
    return [*sections, PageSection(f"Pictures{ending}", (gallery_fragment(gallery),))]


_Numbers: TypeAlias = Mapping[str, Mapping[tuple[str, str | None], Mapping[str, Any]]]
"""The rows of a suite's numbers by the name of the model, then by metric and group (None: everything)."""


def _numbers(gallery: SuiteGallery) -> list[Block]:
    names = column_names(gallery.columns)
    known = [(name, each.summary) for name, each in zip(names, gallery.columns, strict=True) if each.summary is not None]
    if not known:
        return [f"The suite {plain(gallery.suite)} is not installed here, so nothing is added up."]
    rows: _Numbers = {
        name: {(row["metric"], row.get("group")): row for row in summary.summary.table.to_dicts()} for name, summary in known
    }
    keys = list(dict.fromkeys(key for model_numbers in rows.values() for key in model_numbers))
    interval_name = known[0][1].summary.interval_name  # one suite
    parts = ("", f" {interval_name}", " scored / unscored")
    columns = ("Number", "Of", *(f"{name}{part}" for name in rows for part in parts))
    lines = []
    for metric, group in keys:
        cells = [plain(metric), plain(group or "all")]
        for model_numbers in rows.values():
            row = model_numbers.get((metric, group), {})
            cells += [number_text(row.get("value")), interval_text(row.get("ci_low"), row.get("ci_high"))]
            cells.append(
                f"{row['scored']:,} / {row.get('unscored') or 0:,}" if row.get("scored") is not None else numbers.MISSING
            )
        lines.append(cells)
    blocks: list[Block] = [*_pivot(rows, keys), *_charts(rows, keys, interval_name)]
    blocks.append(Table(columns, lines, frozenset(columns[2:]), "Every number of the suite"))
    for name, summary in known:
        notes = " ".join(plain(note) for note in summary.summary.notes)
        blocks += [f"{name}: {notes}"] if notes else []
    return blocks


def _pivot(rows: _Numbers, keys: Sequence[tuple[str, str | None]]) -> list[Block]:
    """Return a table with a row for each group (track, category) and a column for each metric of each model."""
    groups = list(dict.fromkeys(group for _, group in keys if group is not None))
    metrics = [
        metric for metric in dict.fromkeys(metric for metric, _ in keys) if any((metric, each) in keys for each in groups)
    ]
    if len(groups) < 2:
        return []
    several = len(rows) > 1
    columns = ("Of", *(f"{name}: {plain(metric)}" if several else plain(metric) for name in rows for metric in metrics))
    places = [(model_numbers, metric) for model_numbers in rows.values() for metric in metrics]
    lines = [[plain(group), *(_value(model_numbers, metric, group) for model_numbers, metric in places)] for group in groups]
    lines.append(["all", *(_value(model_numbers, metric, None) for model_numbers, metric in places)])
    return [Table(columns, lines, frozenset(columns[1:]), "Groups and numbers")]


def _value(model_numbers: Mapping[tuple[str, str | None], Mapping[str, Any]], metric: str, group: str | None) -> str:
    return number_text(model_numbers.get((metric, group), {}).get("value"))


def _charts(rows: _Numbers, keys: Sequence[tuple[str, str | None]], interval_name: str) -> list[Block]:
    """Return a chart of the groups of each metric; a lone number without an interval is in the table."""
    drawn: dict[str, list[PlotRow]] = {}
    for metric, group in keys:
        for name, model_numbers in rows.items():
            row = model_numbers.get((metric, group), {})
            if row.get("value") is not None:
                ends = (row.get("ci_low"), row.get("ci_high"))
                drawn.setdefault(metric, []).append(PlotRow(group or "all", row["value"], *ends, name if len(rows) > 1 else ""))
    return [
        Figure(
            ForestPlot(plain(metric), points),
            f"{plain(metric)}: points are values, bars are {interval_name}s; the numbers are in the table below.",
        )
        for metric, points in drawn.items()
        if len(points) > 1 or points[0].low is not None
    ]


def _differences(store: StoreAddress, gallery: SuiteGallery) -> list[Block]:
    one, other = gallery.columns
    if one.judge_version != other.judge_version:
        return [
            f"The judge versions differ ({one.judge} {one.judge_version}, {other.judge} {other.judge_version}), so the two "
            "are not compared here: salon results compare --across-versions does it all the same."
        ]
    try:
        comparison = compare(store, one.run.run_id, other.run.run_id, model_a=one.model, model_b=other.model)
    except InputError as error:
        return [f"Not compared: {plain(str(error).splitlines()[0])}."]
    names = column_names(gallery.columns)
    return [
        f"A is {names[0]}, B is {names[1]}; each prompt counts once.",
        comparison.view().table,
        *map(plain, comparison.notes),
    ]
