"""The page of runs: numbers, differences of two subjects, and a gallery of the pictures."""

from collections.abc import Sequence
from typing import Unpack

from salon_bench.analysis.compare import compare
from salon_bench.report.gallery import column_names, gallery_fragment, plain
from salon_bench.report.gathering import PageLimits, RunColumn, SuiteGallery, gather
from salon_bench.runs.status import RunState
from salon_bench.runs.view import interval_text, number_text
from salon_ranking import numbers
from salon_ranking.report.page import Block, PageSection, Table, render_page
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

_LEAD = (
    "What was judged, picture by picture, with the judges' own words. A missing verdict is no score: it is "
    "counted as unscored, with its reason."
)


def run_page(
    store: StoreAddress,
    run_ids: Sequence[str],
    **limits: Unpack[PageLimits],
) -> str:
    """The page as one string of self-contained HTML; see :func:`~.gathering.gather` for the arguments and errors."""
    galleries = gather(store, run_ids, **limits)
    several = len(galleries) > 1
    sections = [
        section for each in galleries for section in _sections(store, each, f" · {plain(each.suite)}" if several else "")
    ]
    subjects = list(dict.fromkeys(plain(column.subject) for each in galleries for column in each.columns))
    title = f"{', '.join(plain(each.suite) for each in galleries)}: {', '.join(subjects)}"
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


def _numbers(gallery: SuiteGallery) -> list[Block]:
    names = column_names(gallery.columns)
    known = [(name, each.summary) for name, each in zip(names, gallery.columns, strict=True) if each.summary is not None]
    if not known:
        return [f"The suite {plain(gallery.suite)} is not installed here, so nothing is added up."]
    rows = {
        name: {(row["metric"], row.get("group")): row for row in summary.summary.table.to_dicts()} for name, summary in known
    }
    keys = list(dict.fromkeys(key for found in rows.values() for key in found))
    parts = ("", " 95 % interval", " scored / unscored")
    columns = ("Number", "Of", *(f"{name}{part}" for name, _ in known for part in parts))
    lines = []
    for metric, group in keys:
        cells = [plain(metric), plain(group or "all")]
        for name, _ in known:
            row = rows[name].get((metric, group), {})
            cells += [number_text(row.get("value")), interval_text(row.get("ci_low"), row.get("ci_high"))]
            cells.append(
                f"{row['scored']:,} / {row.get('unscored') or 0:,}" if row.get("scored") is not None else numbers.MISSING
            )
        lines.append(cells)
    blocks: list[Block] = [Table(columns, lines, frozenset(columns[2:]), "The suite's numbers")]
    for name, summary in known:
        said = " ".join(plain(note) for note in summary.summary.notes)
        blocks += [f"{name}: {said}"] if said else []
    return blocks


def _differences(store: StoreAddress, gallery: SuiteGallery) -> list[Block]:
    one, other = gallery.columns
    if one.judge_version != other.judge_version:
        return [
            f"The judge versions differ ({one.judge} {one.judge_version}, {other.judge} {other.judge_version}), so the two "
            "are not compared here: salon results compare --across-versions does it all the same."
        ]
    try:
        found = compare(store, one.run.run_id, other.run.run_id, subject_a=one.subject, subject_b=other.subject)
    except InputError as error:
        return [f"Not compared: {plain(str(error).splitlines()[0])}."]
    names = column_names(gallery.columns)
    return [f"A is {names[0]}, B is {names[1]}; each prompt counts once.", found.view().table, *map(plain, found.notes)]
