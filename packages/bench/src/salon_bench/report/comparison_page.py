"""The page of a comparison: differences with their intervals drawn to scale, and the biggest changes with both pictures."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from salon_bench.analysis.comparison import GAP_COLUMNS, ChangedPrompt, Comparison, Gap, gap_cells
from salon_bench.report.gallery import plain, value_text
from salon_bench.report.thumbnails import SIDE, NoThumbnail, Thumbnail, thumbnails
from salon_bench.runs.judged_files import JudgedFile, folders_of
from salon_bench.runs.view import RunView
from salon_console.page import Block, Fragment, PageSection, render_page
from salon_console.templates import page_macros, read_text
from salon_taxonomy.store_address import StoreAddress

_WIDTH, _MIDDLE = 160, 80


def comparison_page(store: StoreAddress, comparison: Comparison) -> str:
    """Return the page as one string of self-contained HTML.

    Args:
        store: where the pictures' rows are.
        comparison: what is shown.
    """
    a, b = comparison.a, comparison.b
    facts = [
        ("A", plain(f"{a} (run {a.run_id})")),
        ("B", plain(f"{b} (run {b.run_id})")),
        ("Prompts", f"{comparison.prompts:,}, {comparison.changed:,} with a difference"),
    ]
    lead = (
        "Two sets of verdicts, paired by prompt. A difference is A less B in the unit of the rows; where its interval leaves "
        "out 0, it is set in bold."
    )
    blocks: tuple[Block, ...] = (_drawn(comparison), *map(plain, comparison.notes))
    sections = [PageSection("Differences", blocks), PageSection("Biggest changes", (_changes(store, comparison),))]
    title = f"{plain(a.suite)}: {plain(a.model)} and {plain(b.model)}"
    if a.model == b.model:
        title = f"{plain(a.suite)}: {plain(a.model)} by {plain(a.judge)} and by {plain(b.judge)}"
    return render_page(title, lead=lead, facts=facts, sections=sections)


def move_names(change: ChangedPrompt) -> list[tuple[str, float, float]]:
    """Return the names of changed scores with both values; with the task where the prompt has several."""
    several = len(change.categories) > 1
    return [(f"{each.category}: {each.dimension}" if several else each.dimension, each.a, each.b) for each in change.moves]


def _drawn(comparison: Comparison) -> Fragment:
    """Return the table of differences with a drawing of every interval."""
    rows = [
        {"cells": gap_cells(gap), "bold": gap.significant, "bar": _bar(gap, _reach(comparison.gaps, gap.dimension))}
        for gap in comparison.gaps
    ]
    html = page_macros("salon_bench.report", "comparison.html.jinja").differences(GAP_COLUMNS, rows, _WIDTH, _MIDDLE)
    return Fragment(str(html), style=_style())


def _reach(gaps: Sequence[Gap], dimension: str) -> float:
    """Return the largest distance from 0 in one dimension, so that bars of a dimension have one scale."""
    ends = [
        abs(end)
        for gap in gaps
        if gap.dimension == dimension
        for end in (gap.ci_low, gap.ci_high, gap.difference)
        if end is not None
    ]
    return max(ends, default=0.0) or 1.0


def _bar(gap: Gap, reach: float) -> dict[str, float] | None:
    if gap.difference is None:
        return None
    low, high = (gap.difference if end is None else end for end in (gap.ci_low, gap.ci_high))
    return {
        name: round(_MIDDLE + (_MIDDLE - 6) * end / reach, 1)
        for name, end in (("low", low), ("dot", gap.difference), ("high", high))
    }


def _changes(store: StoreAddress, comparison: Comparison) -> Fragment:
    wanted = {each for change in comparison.changes for each in (*change.generations_a[:1], *change.generations_b[:1])}
    views = [RunView(store, each) for each in (comparison.a.run_id, comparison.b.run_id)]
    rows = views[0].read("generations")
    generations = rows.filter(pl.col("generation_id").is_in(sorted(wanted))).select("generation_id", "uri", "sha256").collect()
    sources = {generation_id: JudgedFile(uri, sha256) for generation_id, uri, sha256 in generations.iter_rows()}
    small = thumbnails(sources.values(), SIDE, folders_of(folder for view in views for folder in view.generation_folders))
    pictures = {generation_id: small[source] for generation_id, source in sources.items()}
    names = (plain(f"A: {comparison.a.model}"), plain(f"B: {comparison.b.model}"))
    changes = [_change(each, pictures, names) for each in comparison.changes]
    html = page_macros("salon_bench.report", "comparison.html.jinja").changes(changes, comparison.changed)
    return Fragment(str(html), style=_style())


def _change(change: ChangedPrompt, pictures: dict[str, Thumbnail | NoThumbnail], names: tuple[str, str]) -> dict[str, Any]:
    sides = [
        {"name": name, "picture": _picture(ids, pictures), "more": len(ids) - 1}
        for name, ids in zip(names, (change.generations_a, change.generations_b), strict=True)
    ]
    return {
        "id": plain(change.prompt_id),
        "category": plain(", ".join(change.categories)),
        "text": "(the store holds no text of this prompt)" if change.text is None else plain(change.text),
        "verdict": "A is higher" if change.balance > 0 else "B is higher" if change.balance < 0 else "they weigh the same",
        "moves": [(plain(name), value_text(a), value_text(b)) for name, a, b in move_names(change)],
        "sides": sides,
    }


def _picture(ids: Sequence[str], pictures: dict[str, Thumbnail | NoThumbnail]) -> dict[str, Any]:
    thumbnail = pictures.get(ids[0]) if ids else None
    if isinstance(thumbnail, Thumbnail):
        return {"url": thumbnail.url, "width": thumbnail.width, "height": thumbnail.height}
    return {"url": None, "why": "there is no picture" if thumbnail is None else plain(thumbnail.why)}


def _style() -> str:
    return "\n".join(read_text("salon_bench.report", name) for name in ("gallery.css", "comparison.css"))
