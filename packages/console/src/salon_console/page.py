"""One self-contained HTML page of text, tables and charts: nothing is fetched, everything can be reached by keyboard.

Pages that commands write are rendered here, under one Content-Security-Policy without ``unsafe-inline`` and
``unsafe-eval``: only the page's own style and scripts run, each named by its hash, and nothing can be fetched or sent. Names
of models and benchmarks are data that strangers wrote: templates escape them, and
:func:`~salon_taxonomy.visible_text.visible` writes out what acts unseen. Charts are drawn without script, follow the reader's
light or dark mode, and tell their numbers where the pointer rests.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from markupsafe import Markup

from salon_console.forest_plot import ForestPlot
from salon_console.heat_table import HeatTable
from salon_console.line_chart import LineChart
from salon_console.table_files import Table as Table
from salon_console.templates import page_template, read_text

_HERE: Final = "salon_console"


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, a sentence on how to read it, and the numbers that it shows."""

    chart: ForestPlot | HeatTable | LineChart
    caption: str
    numbers: Table | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be copied into a terminal."""

    text: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of HTML from :func:`page_template`, with the style and the script it needs; a page contains each once."""

    html: str
    style: str = ""
    script: str = ""


Block: TypeAlias = str | Table | Figure | Code | Fragment
"""One piece of a section; a string is a paragraph."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and its content."""

    title: str
    blocks: tuple[Block, ...] = field(default=())


def render_page(title: str, *, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[PageSection]) -> str:
    """Return the whole page as one string of HTML.

    Args:
        title: the page's heading and window title.
        lead: one paragraph that says what the reader sees.
        facts: how it was made: pairs of a name and a value, shown above the sections.
        sections: in reading order.

    Example:
        >>> page = render_page("Votes", lead="Two models.", facts=[("Seed", "0")], sections=[PageSection("Empty")])
        >>> page.startswith("<!doctype html>")
        True
    """
    blocks = [block for section in sections for block in section.blocks]
    fragments = [block for block in blocks if isinstance(block, Fragment)]
    style = "\n".join([read_text(_HERE, "page.css"), *dict.fromkeys(block.style for block in fragments if block.style)])
    scripts = list(dict.fromkeys(block.script for block in fragments if block.script))
    return page_template(_HERE, "page.html.jinja").render(
        title=title,
        lead=lead,
        facts=facts,
        sections=sections,
        kind=_kind,
        style=style,
        scripts=scripts,
        policy=content_security_policy([style], scripts),
    )


def content_security_policy(styles: Iterable[str], scripts: Iterable[str]) -> Markup:
    """Return the one policy of all pages: these styles and scripts by their hashes, embedded pictures, nothing else.

    Example:
        >>> print(content_security_policy([], ["alert(1)"]))
        default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; style-src 'none'; ...
    """
    policy = f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
    return Markup(policy + "img-src data:; base-uri 'none'; form-action 'none'")  # noqa: S704 - holds hashes only


def _hashes(texts: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _kind(block: Block) -> str:
    """Return the template's name for a block."""
    return "paragraph" if isinstance(block, str) else type(block).__name__.lower()
