"""HTML that the pages of ``salon view`` share: the shell, cards with filters above them, and the page of one card."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from salon_bench.report.gallery import value_text
from salon_console.templates import page_template
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

HERE: Final = "salon_bench.viewer"
ON_A_PAGE: Final = 60
MOST_CHIPS: Final = 40
_MOST_TEXT: Final = 400
"""Characters of a prompt on a card."""
MOST_RAW: Final = 20_000
"""Characters of a reply, or of a prompt, on its page."""
Query = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Select:
    """A filter with a list of values, each with its text and how many cards have it."""

    label: str
    name: str
    options: Sequence[tuple[str, str, int | None]]
    chosen: str


@dataclass(frozen=True, slots=True)
class Checkbox:
    """A filter that is on or off."""

    label: str
    name: str
    value: str
    count: int
    chosen: bool


def shell(title: str, body: str, *, crumbs: Sequence[tuple[str, str]] = (), live: bool = False) -> str:
    """Return a whole page around its body.

    Args:
        title: of the window and the page.
        body: HTML.
        crumbs: names and addresses of the pages above it.
        live: whether the page asks for itself again every two seconds.
    """
    html: str = page_template(HERE, "shell.html.jinja").render(title=title, body=Markup(body), crumbs=crumbs, live=live)  # noqa: S704 - made by templates
    return html


def card_page(
    action: str,
    *,
    same: Query,
    fixed: Query,
    about: Sequence[str],
    columns: Sequence[str] = (),
    selects: Sequence[Select],
    checks: Sequence[Checkbox] = (),
    where: tuple[str, str],
    search: str,
    problem: str,
    counts: str,
    page: int,
    pages: int,
    cards: Sequence[Mapping[str, Any]],
    beside: Mapping[str, Any] | None = None,
    toggle: tuple[str, str] = ("", ""),
) -> str:
    """Return the body of a page of cards with its form of filters.

    Args:
        action: the page's name in its address.
        same: the page's own query, without the number of the page.
        fixed: the part of the query that the form keeps.
        about: lines above the form.
        columns: names that a condition in SQL may use.
        selects: filters with values.
        checks: filters that are on or off.
        where: the label and the placeholder of the condition in SQL.
        search: the label of the words that are searched.
        problem: of the condition in SQL; empty without one.
        counts: how many cards there are.
        page: from 0.
        pages: how many there are.
        cards: of this page.
        beside: columns and rows of a table of cards instead of ``cards``.
        toggle: address and text of the link to the same cards in the other form.
    """
    html: str = page_template(HERE, "cards.html.jinja").render(
        action=action,
        fixed=[(name, value) for name, values in fixed.items() for value in values],
        text=last(same, "text"),
        where=last(same, "where"),
        where_label=where[0],
        placeholder=where[1],
        about=about,
        columns=columns,
        selects=selects,
        checks=checks,
        search=search,
        problem=problem,
        counts=counts,
        page=page + 1,
        pages=pages,
        cards=cards,
        beside=beside,
        toggle=toggle,
        clear=address(action, **fixed),
        before=address(action, **{**same, "page": [str(page)]}) if page else "",
        after=address(action, **{**same, "page": [str(page + 2)]}) if page + 1 < pages else "",
        visible=visible,
    )
    return html


def one_page(**content: Any) -> str:
    """Return the body of the page of one card; what is not named is left out."""
    empty = dict.fromkeys(("labels", "calls", "verdicts", "cut", "chips", "pictures"), ())
    html: str = page_template(HERE, "case.html.jinja").render({**empty, **content})
    return html


def page_number(query: Query, count: int, on_a_page: int = ON_A_PAGE) -> tuple[int, int]:
    """Return the number of the page from 0, and how many there are.

    Raises:
        InputError: the address has no number.
    """
    text = last(query, "page") or "1"
    pages = max(1, -(-count // on_a_page))
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise InputError("is no number of a page", source="address", column="page", value=text[:40])
    return min(max(int(text), 1), pages) - 1, pages


def last(query: Query, name: str) -> str:
    """Return the last value of a name in an address; empty without one."""
    return (query.get(name) or [""])[-1]


CLIP: Final = "clip"
"""In the place of a picture's size: the video itself."""


def picture(identifier: str | None, size: str, name: str = "", *, chosen: bool = False, video: bool = False) -> dict[str, Any]:
    """Return a picture of a card, or a video that is played; without an identifier, the place where it would be."""
    of = identifier and address("picture", id=[identifier], size=[size])
    clip = address("picture", id=[identifier], size=[CLIP]) if identifier and video else ""
    return {"address": of, "name": name, "chosen": chosen, "clip": clip}


def chip(name: str, value: float | str | None, title: str = "", *, green: str | None = None) -> dict[str, Any]:
    """Return a chip: green is yes (1), orange is no (0), dashed is a missing value.

    Args:
        name: in front of the value.
        value: a number, a truth or a text.
        title: shown under the pointer.
        green: the text that is a yes; every other one is a no. None: texts are neither.
    """
    if value is None:
        kind, text = "missing", "–"
    elif isinstance(value, str):
        kind, text = "label" if green is None else "yes" if value == green else "no", value
    else:
        kind, text = "yes" if value == 1 else "no" if value == 0 else "number", value_text(float(value))
    return {"kind": kind, "text": cut(text, 120), "name": name, "title": title, "address": ""}


def cut(text: str | None, most: int = _MOST_TEXT) -> str:
    """Return the beginning of a text."""
    return "" if text is None else text if len(text) <= most else f"{text[:most]}…"


def address(page: str, /, **query: Iterable[str]) -> str:
    """Return a relative address with its query; empty values are left out.

    Example:
        >>> address("run", run=["a b"], task=[""], model=["x", "y"])
        'run?run=a+b&model=x&model=y'
    """
    pairs = [(name, value) for name, values in query.items() for value in values if value not in ("", None)]
    return f"{page}?{urlencode(pairs)}" if pairs else page


def filters(query: Query) -> dict[str, list[str]]:
    """Return the filter of the page that led to a card."""
    return {name.removeprefix("f_"): list(values) for name, values in query.items() if name.startswith("f_")}


def prefixed(query: Query) -> dict[str, list[str]]:
    """Return the filter of a page as the addresses of its cards have it."""
    return {f"f_{name}": list(values) for name, values in query.items()}


def problem(text: str) -> str:
    """Return the body of a page that reports a problem."""
    html: str = page_template(HERE, "problem.html.jinja").render(text=text)
    return html


def no_picture(why: str) -> str:
    """Return an SVG in place of a missing picture, with the reason in words."""
    html: str = page_template(HERE, "no_picture.svg.jinja").render(why=why)
    return html
