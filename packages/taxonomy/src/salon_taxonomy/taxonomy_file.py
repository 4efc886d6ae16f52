"""Read header and labels from a TOML file, or every fault in it with its line and key.

The file has the header's keys first (``name``, ``title``, …), then one ``[[label]]`` table per label. A hostile file (huge,
deeply nested, not UTF-8, a device) gives a typed error like any other.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from salon_taxonomy import toml_files
from salon_taxonomy.errors import Fault, InputError, TaxonomyError
from salon_taxonomy.label import Label, TaxonomyHeader
from salon_taxonomy.structure import Node, tree_flaws
from salon_taxonomy.toml_files import TomlLines

Model = TypeVar("Model", bound=BaseModel)

_LABEL = "label"


def check_taxonomy(path: str | Path) -> list[TaxonomyError]:
    """Return every fault in a TOML file in the order of lines; empty when it is a taxonomy."""
    try:
        text = read_text(path)
    except TaxonomyError as error:
        return [error]
    return _parse(text, path)[2]


def parse_taxonomy(text: str, source: str | Path) -> tuple[TaxonomyHeader, tuple[Label, ...]]:
    """Return header and labels of a TOML text, checked as a tree; ``source`` is how errors call it.

    Raises:
        TaxonomyError: the first fault, in the order of lines; its hint says how many more there are.
    """
    header, labels, faults = _parse(text, source)
    if header is not None:
        return header, labels
    first = faults[0]
    if len(faults) > 1:
        first.hint = f"{len(faults) - 1} more; `salon taxonomy validate` lists all."
    raise first


def read_text(path: str | Path) -> str:
    """Return the text of a file, as :func:`salon_taxonomy.toml_files.read_text`.

    Raises:
        TaxonomyError: with ``Fault.UNREADABLE``.
    """
    try:
        return toml_files.read_text(path)
    except InputError as error:
        raise _fault(Fault.UNREADABLE, error) from error


def parse_toml(text: str, *, source: str | Path) -> dict[str, object]:
    """Return the values of a TOML text.

    Raises:
        TaxonomyError: with ``Fault.BROKEN_TOML`` and the line.
    """
    try:
        return toml_files.parse_toml(text, source=source)
    except InputError as error:
        raise _fault(Fault.BROKEN_TOML, error) from error


def _fault(fault: Fault, error: InputError) -> TaxonomyError:
    return TaxonomyError(fault, error.problem, source=error.source, line=error.line, value=error.value, hint=error.hint)


class Places:
    """Turns faults of one file into typed errors with lines, and sorts them."""

    def __init__(self, text: str, source: str | Path) -> None:
        self.lines = TomlLines.scan(text)
        self.source = source
        self.found: list[TaxonomyError] = []

    def add(
        self,
        fault: Fault,
        problem: str,
        *,
        table: str | None = None,
        index: int = 0,
        key: str | None = None,
        value: object = None,
        allowed: tuple[str, ...] | None = None,
    ) -> None:
        """Note one fault; its line is the key's, or its table's where the key is absent."""
        line = self.lines.of(table, index, key)
        self.found.append(TaxonomyError(fault, problem, source=self.source, line=line, key=key, value=value, allowed=allowed))

    def model(self, kind: type[Model], values: object, *, table: str | None = None, index: int = 0) -> Model | None:
        """``values`` as a ``kind``, or None with every fault noted."""
        if not isinstance(values, Mapping):
            self.add(Fault.WRONG_TYPE, f"[[{table}]] must be a table", table=table, index=index, value=values)
            return None
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            name = values.get("id")
            whose = f" {table} {name!r}" if isinstance(name, str) else f" this {table}" if table else " the file"
            for detail in error.errors(include_url=False):
                self._add_detail(detail, kind, whose, table, index)
            return None

    def _add_detail(self, detail: ErrorDetails, kind: type[BaseModel], whose: str, table: str | None, index: int) -> None:
        key = ".".join(str(part) for part in detail["loc"]) or None
        first = str(detail["loc"][0]) if detail["loc"] else None
        fault, problem, value, allowed = _explain(detail, kind, whose)
        line = self.lines.of(table, index, first)
        error = TaxonomyError(fault, problem, source=self.source, line=line, key=key, value=value, allowed=allowed)
        self.found.append(error)

    def faults(self) -> list[TaxonomyError]:
        """Return what was noted, in the order of lines."""
        return sorted(self.found, key=lambda error: error.line or 0)


def _explain(detail: ErrorDetails, kind: type[BaseModel], whose: str) -> tuple[Fault, str, object, tuple[str, ...] | None]:
    """Return the kind of fault, what to say, the value to show and what would be allowed."""
    type_, value = detail["type"], detail.get("input")
    if type_ == "missing":
        return Fault.MISSING, f"the key is missing from{whose}", None, None
    if type_ == "extra_forbidden":
        known = tuple(field.alias or name for name, field in kind.model_fields.items())
        return Fault.UNKNOWN_KEY, f"a key that{whose} cannot have", None, known if len(detail["loc"]) == 1 else None
    if type_ == "string_too_short":
        return Fault.MISSING, f"the text is empty in{whose}", None, None
    if detail["loc"] == ("parent",) and isinstance(value, list) and len(value) > 1:
        return Fault.TWO_PARENTS, "a label stands under one parent, not", value, None
    wrong_type = type_.endswith("_type") or type_ == "int_from_float"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    problem = f"should be {message}, not" if detail["msg"].startswith("Input should be ") else f"{message}:"
    return (Fault.WRONG_TYPE if wrong_type else Fault.BAD_VALUE), problem, value, None


def _parse(text: str, source: str | Path) -> tuple[TaxonomyHeader | None, tuple[Label, ...], list[TaxonomyError]]:
    """Return header, labels and no faults, or None, no labels and at least one fault."""
    try:
        document = parse_toml(text, source=source)
    except TaxonomyError as error:
        return None, (), [error]
    places = Places(text, source)
    values = {key: value for key, value in document.items() if key != _LABEL}
    header = places.model(TaxonomyHeader, values)
    entries = _entries(document.get(_LABEL), places)
    labels = [places.model(Label, entry, table=_LABEL, index=index) for index, entry in enumerate(entries)]
    nodes = [node for index, label in enumerate(labels) if (node := _node(index, label, entries[index])) is not None]
    for flaw in tree_flaws(nodes, header.tiers if header else _tiers(values)):
        places.add(
            flaw.fault, flaw.problem, table=_LABEL, index=flaw.index, key=flaw.key, value=flaw.value, allowed=flaw.allowed
        )
    if header is None or places.found:
        return None, (), places.faults()
    return header, tuple(label for label in labels if label is not None), []


def _entries(entries: object, places: Places) -> list[object]:
    """Return what the file has as labels; empty, with the fault noted, where that is no list of any."""
    if entries is None or entries == []:
        places.add(Fault.MISSING, "there is not one [[label]] table", key=_LABEL)
        return []
    if not isinstance(entries, list):
        places.add(Fault.WRONG_TYPE, "labels are written as [[label]] tables, with two brackets", key=_LABEL)
        return []
    return entries


def _node(index: int, label: Label | None, entry: object) -> Node | None:
    """Return the label's place in the tree as far as its table gives it; None without a usable id."""
    if label is not None:
        return Node.of(index, label)
    if not isinstance(entry, Mapping):
        return None
    faulty = _faulty_keys(Label, entry)
    if "id" in faulty:
        return None
    kept = {key: entry[key] for key in ("id", "parent", "name", "answer", "tier") if key in entry and key not in faulty}
    node = Node.of(index, Label.model_validate({"name": "-", "definition": "-", **kept}))
    name = None if "name" in faulty else node.name
    spelling = None if {"name", "answer"} & faulty else node.spelling
    return replace(node, name=name, spelling=spelling, placed="parent" not in faulty)


def _tiers(values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the tiers of a faulty header; none where they are at fault themselves."""
    if "tiers" not in values or "tiers" in _faulty_keys(TaxonomyHeader, values):
        return ()
    return TaxonomyHeader.model_validate({"name": "stand-in", "title": "-", "tiers": values["tiers"]}).tiers


def _faulty_keys(kind: type[BaseModel], values: Mapping[str, object]) -> set[str]:
    try:
        kind.model_validate(values)
    except ValidationError as error:
        return {str(detail["loc"][0]) for detail in error.errors(include_url=False) if detail["loc"]}
    return set()
