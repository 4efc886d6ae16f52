"""A taxonomy as Markdown for people, as a Label Studio configuration for annotators, as JSON for programs.

All three are deterministic: the same taxonomy gives the same bytes.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from xml.etree import ElementTree

from salon_taxonomy.errors import member_of
from salon_taxonomy.label import Deduction, Label
from salon_taxonomy.taxonomy import Taxonomy

_MARKDOWN_SIGN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")


class Format(StrEnum):
    """What a taxonomy can be exported to."""

    MARKDOWN = "markdown"
    LABEL_STUDIO = "label-studio"
    JSON = "json"


def export(taxonomy: Taxonomy, format: str | Format) -> str:  # noqa: A002 -- the word of the command line
    """Return the taxonomy in one of the formats, ending in a line break.

    Raises:
        InputError: an unknown format.

    Example:
        >>> print(export(Taxonomy.load("r3"), "label-studio").splitlines()[3].strip())
        <Taxonomy name="labels" toName="media" showFullPath="true" pathSeparator=" &gt; " leafsOnly="true">
    """
    return _EXPORTS[member_of(Format, format, "format")](taxonomy)


def to_json(taxonomy: Taxonomy) -> str:
    """JSON from which ``Taxonomy.model_validate_json`` makes the same taxonomy; absent values are left out."""
    header = taxonomy.model_dump(mode="json", exclude_none=True, exclude={"labels"})
    labels = [label.model_dump(mode="json", exclude_defaults=True) for label in taxonomy.labels]
    return json.dumps({**header, "labels": labels}, indent=2, ensure_ascii=False) + "\n"


def to_markdown(taxonomy: Taxonomy) -> str:
    """Return a page: title, guidelines, the tree as a nested list with definitions, published figures and sources."""
    lines = [f"# {_escape(taxonomy.title)}", ""]
    if taxonomy.description:
        lines += [_escape(taxonomy.description), ""]
    if taxonomy.source:
        parts = (taxonomy.source.title, taxonomy.source.where)
        lines += [f"Source: {_escape(', '.join(part for part in parts if part))}.", ""]
    if taxonomy.counts:
        lines += [f"Counts: {_figures(taxonomy.counts, '{:,}')}.", ""]
    if taxonomy.guidelines:
        lines += ["## Guidelines", "", *(f"{n}. {_escape(text)}" for n, text in enumerate(taxonomy.guidelines, 1)), ""]
    lines += ["## Labels", ""]
    for label in taxonomy.walk():
        indent = "  " * (len(taxonomy.path(label)) - 1)
        lines.append(f"{indent}- **{_escape(label.name)}** (`{label.id}`): {_escape(label.definition)}{_remarks(label)}")
        if label.criterion:
            lines.append(f"{indent}  - Criterion: {_escape(label.criterion)}")
        lines += [f"{indent}  - {_deduction(deduction)}" for deduction in label.deductions]
    return "\n".join(lines) + "\n"


def to_label_studio(taxonomy: Taxonomy) -> str:
    """Return a Label Studio labelling configuration: the medium, its prompt, and the tree as a nested ``Taxonomy`` tag.

    Tasks need the fields ``media`` (URL or text) and ``prompt``. Annotations come back as label ids (the ``alias`` of each
    choice); definitions are shown as hints. Only leaves can be chosen unless the taxonomy lets inner labels be answers.
    """
    view = ElementTree.Element("View")
    media = {"image": "Image", "video": "Video", "text": "Text"}[taxonomy.media]
    ElementTree.SubElement(view, media, {"name": "media", "value": "$media"})
    ElementTree.SubElement(view, "Text", {"name": "prompt", "value": "$prompt"})
    leaves_only = all(label in taxonomy.leaves() for label in taxonomy.answers())
    settings = {"name": "labels", "toName": "media", "showFullPath": "true", "pathSeparator": " > "}
    settings["leafsOnly"] = "true" if leaves_only else "false"
    parents: dict[str | None, ElementTree.Element] = {None: ElementTree.SubElement(view, "Taxonomy", settings)}
    for label in taxonomy.walk():
        choice = {"value": label.name, "alias": label.id, "hint": label.definition}
        parents[label.id] = ElementTree.SubElement(parents[label.parent], "Choice", choice)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _remarks(label: Label) -> str:
    """Return everything published about a label, in one italic parenthesis; empty when there is nothing."""
    parts = [
        f"also called {_escape(', '.join(label.aliases))}" if label.aliases else "",
        _figures(label.counts, "{:,}"),
        _figures(label.shares, "{}%"),
        _escape(label.source or ""),
    ]
    remarks = "; ".join(part for part in parts if part)
    return f" *({remarks})*" if remarks else ""


def _figures(figures: Mapping[str, int | float], pattern: str) -> str:
    return ", ".join(f"{_escape(name.replace('_', ' '))} {pattern.format(value)}" for name, value in figures.items())


def _deduction(deduction: Deduction) -> str:
    points = f"−{deduction.low}" if deduction.low == deduction.high else f"−{deduction.low} to −{deduction.high}"
    return f"{_escape(deduction.name)} ({points}): {_escape(deduction.definition)}"


def _escape(text: str) -> str:
    """The text with everything that Markdown or HTML would act on escaped; a leading number or dash is harmless here."""
    return _MARKDOWN_SIGN.sub(r"\\\1", text)


_EXPORTS: Mapping[Format, Callable[[Taxonomy], str]] = {
    Format.MARKDOWN: to_markdown,
    Format.LABEL_STUDIO: to_label_studio,
    Format.JSON: to_json,
}
