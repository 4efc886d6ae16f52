"""Plans for programs: CSV, Parquet, JSON, JSON Lines; a chart as SVG; a page for people in HTML."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from salon_ranking.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from salon_ranking.scheduling.planning import Plan

FRAME_ENDINGS = (".csv", ".parquet", ".json", ".jsonl")
"""The kinds of file that a table can become."""


def check_ending(path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a path that cannot be written, before any work is done for it.

    Raises:
        OptionError: the ending is not among ``endings``, or the folder does not exist.
    """
    if path.suffix not in endings:
        raise OptionError("unknown kind of output", source=path, value=path.suffix, allowed=endings)
    if not path.absolute().parent.is_dir():
        raise OptionError("there is no such folder", source=path.absolute().parent)


def write(path: Path, frame: pl.DataFrame, *, texts: dict[str, Callable[[], str]] | None = None) -> None:
    """Write ``frame``, or for an ending in ``texts`` that text; an existing file is replaced whole or not at all.

    Raises:
        OptionError: the ending is unknown, or the file cannot be written.
        MissingExtraError: a chart or a page is wanted and the extra ``salon-ranking[report]`` is not installed.
    """
    texts = texts or {}
    check_ending(path, (*dict.fromkeys([*FRAME_ENDINGS, *texts]),))
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix in texts:
            unfinished.write_text(_charted(texts[path.suffix]), encoding="utf-8")
        elif path.suffix == ".csv":
            frame.write_csv(unfinished)
        elif path.suffix == ".parquet":
            frame.write_parquet(unfinished)
        elif path.suffix == ".json":
            frame.write_json(unfinished)
        else:
            frame.write_ndjson(unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise OptionError("cannot be written:", source=path, value=error.strerror or str(error)) from error
    finally:
        unfinished.unlink(missing_ok=True)


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


def _charted(text: Callable[[], str]) -> str:
    try:
        return text()
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("salon_"):  # not an extra: our own mistake
            raise
        hint = "Install it: pip install 'salon-ranking[report]'"
        raise MissingExtraError("charts and pages need the extra 'report', which lacks", value=error.name, hint=hint) from error
