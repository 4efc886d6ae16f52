"""The page of a refinement: per item its pictures, the verdicts and the instructions.

One self-contained file: pictures are embedded small, nothing is fetched, all text is escaped.
"""

import base64
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from salon_bench.refine.loop import Round, Stopped, Trace
from salon_judges.media import Encoding, PicturePolicy, prepare_picture
from salon_taxonomy.verdict import Scored, Unscored, Verdict
from salon_taxonomy.whole_files import write_whole

MOST_ITEMS: Final = 200
"""Items that are shown; the others are only counted."""
_THUMBNAIL: Final = PicturePolicy(longest_side=360, encoding=Encoding.JPEG, quality=82)

_ENDED: Final = {
    Stopped.MATCHES: "the judge sees nothing left to change",
    Stopped.MAX_ROUNDS: "all rounds were used",
    Stopped.NO_VERDICT: "the verdict is missing",
    Stopped.NO_EDIT: "the editor gave no picture",
    Stopped.CHOSEN: "the scorer chose",
}


def write_trace_page(path: Path, title: str, traces: Sequence[Trace]) -> None:
    """Write the page.

    Raises:
        InputError: when it cannot be written.
    """
    write_whole(path, trace_page(title, traces), parents=True)


def trace_page(title: str, traces: Sequence[Trace]) -> str:
    """Return the page as HTML."""
    from salon_console.page import Fragment, PageSection, render_page
    from salon_console.templates import page_template, read_text

    ends = Counter(trace.stopped for trace in traces)
    counts = [("Items", len(traces)), ("Pictures made", sum(trace.edits for trace in traces))]
    counts += [("Instructions that rewrite the prompt", sum(trace.illusory for trace in traces))]
    counts += [(_ENDED[stopped].capitalize(), ends[stopped]) for stopped in Stopped if ends[stopped]]
    html = page_template("salon_bench.report", "trace.html.jinja").render(
        traces=[_trace(trace) for trace in traces[:MOST_ITEMS]],
        left_out=max(0, len(traces) - MOST_ITEMS),
    )
    return render_page(
        title,
        lead="Each row begins with the picture that was given. The one with a green frame is the final one.",
        facts=[(name, f"{count:,}") for name, count in counts],
        sections=[PageSection("Items", (Fragment(html, style=read_text("salon_bench.report", "trace.css")),))],
    )


def _trace(trace: Trace) -> dict[str, Any]:
    checked = ""
    if trace.checked is not None:
        before, after = map(_number, trace.checked)
        checked = f"checked: {before} before, {after} after"
    return {
        "item": trace.item.item_id,
        "prompt": trace.item.prompt,
        "stopped": _ENDED[trace.stopped],
        "checked": checked,
        "rounds": [_round(each, trace) for each in trace.rounds],
    }


def _round(round_: Round, trace: Trace) -> dict[str, Any]:
    small = prepare_picture(round_.picture, _THUMBNAIL, round_.picture.parent)
    picture, missing = "", ""
    if isinstance(small, Unscored):
        missing = small.detail
    else:
        picture = f"data:image/jpeg;base64,{base64.b64encode(small.media.data or b'').decode()}"
    answer = round_.verdict.value if isinstance(round_.verdict, Scored) else None
    verdict = "" if answer is None else "matches the prompt" if answer.matches else "does not match the prompt"
    if round_.score is not None:
        verdict += f"{'; ' if verdict else ''}score {_number(round_.score)}"
    return {
        "name": "Given picture" if round_.number == 0 else f"Picture {round_.number}",
        "picture": picture,
        "missing": missing,
        "final": round_.number == trace.final_round,
        "verdict": verdict,
        "matches": answer.matches if answer is not None else isinstance(round_.score, Scored),
        "explanation": answer.explanation if answer is not None and not answer.matches else "",
        "instruction": round_.instruction or "",
        "trouble": _trouble(round_),
    }


def _trouble(round_: Round) -> str:
    parts = [
        f"{who}: {verdict.reason}{f' ({verdict.detail})' if verdict.detail else ''}"
        for who, verdict in (("no verdict", round_.verdict), ("no score", round_.score), ("no picture", round_.edit))
        if isinstance(verdict, Unscored)
    ]
    return "; ".join(parts)


def _number(verdict: Verdict[float]) -> str:
    return f"{verdict.value:.2f}" if isinstance(verdict, Scored) else f"none ({verdict.reason})"
