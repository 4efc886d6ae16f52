"""Plans for programs: CSV, Parquet, JSON, JSON Lines; a chart as SVG; a page for people in HTML."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from salon_ranking.extras import drawing
from salon_ranking.table_files import check_path, replacing, write_frame

if TYPE_CHECKING:
    from salon_ranking.scheduling.planning import Plan

FRAME_ENDINGS = (".csv", ".parquet", ".json", ".jsonl")
"""The kinds of file that a table can become."""


def write(path: Path, frame: pl.DataFrame, *, texts: dict[str, Callable[[], str]] | None = None) -> None:
    """Write ``frame``, or for an ending in ``texts`` that text; an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
        MissingExtraError: a chart or a page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """
    texts = texts or {}
    check_path(path, tuple(dict.fromkeys([*FRAME_ENDINGS, *texts])))
    with replacing(path) as unfinished:
        if path.suffix not in texts:
            write_frame(frame, unfinished, path.suffix)
            return
        with drawing("charts and pages need"):
            text = texts[path.suffix]()
        unfinished.write_text(text, encoding="utf-8")


def page(found: "Plan", title: str) -> str:
    """The page of a plan."""
    from salon_ranking.report.plan_page import plan_page

    return plan_page(found, title=title)


def chart_svg(found: "Plan") -> str:
    """The curves of a plan as a picture."""
    import vl_convert

    from salon_ranking.report.plan_page import plan_chart

    specification = {**plan_chart(found), "width": 640, "background": "white"}
    picture: str = vl_convert.vegalite_to_svg(specification, vl_version="6.4")
    return picture
