"""One self-contained HTML page of text, tables and charts: nothing is fetched, everything can be reached by keyboard.

The page carries the Vega runtime inside and forbids itself the network by a Content-Security-Policy. All text is
escaped; names of models and benchmarks are data that strangers wrote. Charts follow the reader's light or dark mode,
and each has its numbers as a table beneath it. The words of the template are in ``page.html.jinja``.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import jinja2
import vl_convert

from salon_ranking.report.charts import Specification

_VEGA_LITE = "6.4"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header; ``numeric`` names the columns that are set flush right."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[str] = frozenset()
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, a sentence on how to read it, and the numbers that it shows."""

    specification: Specification
    caption: str
    numbers: Table | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be copied into a terminal."""

    text: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of HTML that its maker has escaped, with the rules and the script it needs; both stand on the page once.

    A page without charts allows its scripts by their hashes, so nothing that slipped into the HTML can run.
    """

    html: str
    style: str = ""
    script: str = ""


Block: TypeAlias = str | Table | Figure | Code | Fragment
"""One piece of a section; a string is a paragraph."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it."""

    title: str
    blocks: tuple[Block, ...] = field(default=())


def render_page(title: str, *, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The whole page as one string of HTML.

    Args:
        title: the page's heading and window title.
        lead: one paragraph that says what the reader sees.
        facts: how it was made: pairs of a name and a value, shown above the sections.
        sections: in reading order.

    Example:
        >>> page = render_page("Votes", lead="Two models.", facts=[("Seed", "0")], sections=[Section("Empty")])
        >>> page.startswith("<!doctype html>")
        True
    """
    blocks = [block for section in sections for block in section.blocks]
    figures = [block for block in blocks if isinstance(block, Figure)]
    fragments = [block for block in blocks if isinstance(block, Fragment)]
    scripts = list(dict.fromkeys(block.script for block in fragments if block.script))
    numbered = {id(figure): number for number, figure in enumerate(figures)}
    return _template().render(
        title=title,
        lead=lead,
        facts=facts,
        sections=sections,
        kind=_kind,
        number=lambda figure: numbered[id(figure)],
        specifications=_inline_json([figure.specification for figure in figures]),
        runtime=_runtime() if figures else "",
        styles=list(dict.fromkeys(block.style for block in fragments if block.style)),
        scripts=scripts,
        allowed=_allowed(scripts, charts=bool(figures)),
    )


def _allowed(scripts: Sequence[str], *, charts: bool) -> str:
    """What the page may run: with charts anything inline, else the scripts of fragments and nothing more."""
    if charts:
        return "'unsafe-inline' 'unsafe-eval'"
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    return " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"


def _kind(block: Block) -> str:
    """The template's name for a block."""
    return "paragraph" if isinstance(block, str) else type(block).__name__.lower()


def _inline_json(value: object) -> str:
    """JSON that cannot close the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _runtime() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, without the network; the snippet hands the last to the page."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VEGA_LITE)
    return bundle


@cache
def _template() -> jinja2.Template:
    source = files("salon_ranking.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(source)
