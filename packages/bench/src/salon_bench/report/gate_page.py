"""The page of a gate: each measure with its margin, and the prompts that fell most with the pictures of both builds."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from salon_bench.analysis.gate.builds import HeldBuilds
from salon_bench.report.gallery import plain, value_text
from salon_bench.report.thumbnails import SIDE, NoThumbnail, Thumbnail, thumbnails
from salon_bench.runs.judged_files import JudgedFile
from salon_console.page import Figure, Fragment, PageSection, render_page
from salon_console.templates import page_macros, read_text

_CHART: Final = "The new build less the base, in margins, with both ends; left of −1 is worse."


def gate_page(held: HeldBuilds) -> str:
    """Return the page as one string of self-contained HTML."""
    gate = held.gate
    view = gate.view()
    blocks = (view.table,) if view.chart is None else (view.table, Figure(view.chart, _CHART))
    sections = [PageSection("Measures", blocks)]
    if gate.worst.height:
        sections.append(PageSection("Where it fell most", (_worst(held),)))
    facts = [("Base", plain(gate.base)), ("New", plain(gate.new)), ("Level", f"{gate.level:g}, one-sided")]
    for row in held.speed.iter_rows(named=True):
        times = f"{row['base_seconds']:.3g} s to {row['new_seconds']:.3g} s per picture"
        facts.append(("Speed", f"{row['faster']:.3g} times the base's ({row['low']:.3g} to {row['high']:.3g}); {times}"))
    return render_page("Did this build get worse?", lead=plain(gate.header), facts=facts, sections=sections)


def _worst(held: HeldBuilds) -> Fragment:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in held.gate.worst.iter_rows(named=True):
        rows.setdefault(row["prompt_id"], []).append(row)
    wanted = {name: (held.base.of(name), held.new.of(name)) for name in rows}
    files = [file for sides in wanted.values() for each in sides for file in each]
    small = thumbnails(files, SIDE)
    prompts = [_prompt(name, rows[name], wanted[name], small, held.new.texts.get(name)) for name in rows]
    html = page_macros("salon_bench.report", "gate.html.jinja").worst(prompts)
    style = "\n".join(read_text("salon_bench.report", name) for name in ("gallery.css", "gate.css"))
    return Fragment(str(html), style=style)


def _prompt(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    files: tuple[Sequence[JudgedFile], Sequence[JudgedFile]],
    small: Mapping[JudgedFile, Thumbnail | NoThumbnail],
    text: str | None,
) -> dict[str, Any]:
    pairs = [[_picture(small[each]) for each in pair] for pair in zip(*files, strict=False)]
    cells = [
        (plain(row["measure"]), *("–" if row[key] is None else value_text(row[key]) for key in ("base", "new", "difference")))
        for row in rows
    ]
    return {"id": plain(name), "text": None if text is None else plain(text), "pairs": pairs, "rows": cells}


def _picture(small: Thumbnail | NoThumbnail) -> dict[str, Any]:
    if isinstance(small, Thumbnail):
        return {"url": small.url, "width": small.width, "height": small.height}
    return {"url": None, "why": plain(small.why)}
