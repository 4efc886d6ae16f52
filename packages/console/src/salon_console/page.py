"""One self-contained HTML page of text, tables and charts: nothing is fetched, everything can be reached by keyboard.

Pages that commands write are rendered here, under one Content-Security-Policy without ``unsafe-inline`` and
``unsafe-eval``: only the page's own style and scripts run, each named by its hash, and nothing can be fetched or sent. Names
of models and benchmarks are data that strangers wrote: templates escape them, and
:func:`~salon_taxonomy.visible_text.visible` writes out what acts unseen. Charts follow the reader's light or dark mode, and
each has its numbers as a table beneath it.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import jinja2
from markupsafe import Markup

from salon_console.table_files import Table as Table
from salon_taxonomy.visible_text import visible

Specification: TypeAlias = dict[str, Any]
"""A chart of Vega-Lite, ready for ``json.dumps``."""
_VEGA_LITE: Final = "6.4"
_HERE: Final = "salon_console"


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
    """A piece of HTML from :func:`page_template`, with the style and the script it needs; a page contains each once."""

    html: str
    style: str = ""
    script: str = ""


Block: TypeAlias = str | Table | Figure | Code | Fragment
"""One piece of a section; a string is a paragraph."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading with what stands under it."""

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
    figures = [block for block in blocks if isinstance(block, Figure)]
    fragments = [block for block in blocks if isinstance(block, Fragment)]
    styles = [read_text(_HERE, "page.css"), *dict.fromkeys(block.style for block in fragments if block.style)]
    scripts = list(dict.fromkeys(block.script for block in fragments if block.script))
    if figures:
        scripts.append(_drawing())
    style = "\n".join(styles)
    numbered = {id(figure): number for number, figure in enumerate(figures)}
    return page_template(_HERE, "page.html.jinja").render(
        title=title,
        lead=lead,
        facts=facts,
        sections=sections,
        kind=_kind,
        number=lambda figure: numbered[id(figure)],
        specifications=_inline_json([figure.specification for figure in figures]) if figures else "",
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


@cache
def page_template(package: str, name: str) -> jinja2.Template:
    """Return a template whose every value is escaped and made visible; all pages and fragments are rendered with these.

    Args:
        package: the package that contains the file.
        name: the file.
    """
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=_shown
    )
    return environment.from_string(read_text(package, name))


@cache
def read_text(package: str, name: str) -> str:
    """Return the text of a file in a package: a template, a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8").strip()


def _shown(value: Any) -> Any:
    """Return the value as a template prints it; HTML of another template stays as it is."""
    return visible(value, prose=True) if isinstance(value, str) and not isinstance(value, Markup) else value


def _hashes(texts: Iterable[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _kind(block: Block) -> str:
    """Return the template's name for a block."""
    return "paragraph" if isinstance(block, str) else type(block).__name__.lower()


def _inline_json(value: object) -> str:
    """Return JSON that cannot close the script element around it."""
    text = json.dumps(_all_visible(value), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _all_visible(value: object) -> object:
    """Return a chart's specification with every text in it visible."""
    if isinstance(value, str):
        return visible(value, prose=True)
    if isinstance(value, dict):
        return {key: _all_visible(item) for key, item in value.items()}
    return [_all_visible(item) for item in value] if isinstance(value, list) else value


@cache
def _drawing() -> str:
    """Return one script: Vega, Vega-Lite and Vega-Embed, without the network, and what draws the charts of a page."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_VEGA_LITE)
    return f"{bundle}\n{read_text(_HERE, 'page.js')}"
