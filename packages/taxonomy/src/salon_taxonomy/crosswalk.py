"""Which labels of one taxonomy correspond to which of another, how, and why; and which have no counterpart.

A crosswalk is a TOML file (``crosswalks/<left>--<right>.toml``) with one ``[[link]]`` per pair and one ``[[unmatched]]`` per
leaf that is knowingly left out. Nothing is hidden: :meth:`Crosswalk.unmatched` counts every leaf without a link, whether
the file speaks of it or not.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, Field

from salon_taxonomy.errors import Fault, InputError, TaxonomyError
from salon_taxonomy.label import Frozen, Label, Slug, Text
from salon_taxonomy.taxonomy import Taxonomy
from salon_taxonomy.taxonomy_file import Places, parse_toml, read_text

_FOLDER = "crosswalks"
_Model = TypeVar("_Model", bound=BaseModel)


class LinkKind(StrEnum):
    """How the right label stands to the left one, as in SKOS's mapping properties."""

    EXACT = "exact"
    """They mean the same flaw."""
    BROADER = "broader"
    """The right label covers the left one and more."""
    NARROWER = "narrower"
    """The right label covers a part of the left one."""
    RELATED = "related"
    """They overlap, or have a cause in common, and neither covers the other."""

    @property
    def inverse(self) -> "LinkKind":
        """The same relation read from right to left."""
        return {LinkKind.BROADER: LinkKind.NARROWER, LinkKind.NARROWER: LinkKind.BROADER}.get(self, self)


class Link(Frozen):
    """One correspondence. In files and JSON the first key is ``from``."""

    from_: Slug = Field(alias="from")
    to: Slug
    relation: LinkKind
    rationale: Text


class Unmatched(Frozen):
    """A label that has no counterpart, and why."""

    taxonomy: Slug
    label: Slug
    rationale: Text | None = None


class CrosswalkHeader(Frozen):
    """Which two taxonomies a crosswalk joins."""

    left: Slug
    right: Slug
    description: Text | None = None


class Crosswalk(CrosswalkHeader):
    """Links between the labels of two taxonomies, read from ``left`` to ``right``.

    Example:
        >>> walk = Crosswalk.load("magicmirror", "artifact-bench")
        >>> [(link.to, link.relation.value) for link in walk.of("abnormal-spatial-position")]
        [('spatial-coherence', 'exact'), ('reflection-inconsistency', 'related')]
        >>> [link.to for link in Crosswalk.load("artifact-bench", "magicmirror").of("spatial-clipping")]
        ['abnormal-element-overlap']
    """

    links: tuple[Link, ...]
    reasons: tuple[Unmatched, ...] = ()

    def of(self, label: str | Label) -> tuple[Link, ...]:
        """Return the links that start at a label of the left taxonomy (by id), in file order."""
        id_ = label.id if isinstance(label, Label) else label
        return tuple(link for link in self.links if link.from_ == id_)

    def inverted(self) -> "Crosswalk":
        """Return the same crosswalk read from right to left: broader becomes narrower."""
        links = tuple(
            Link(**{"from": link.to}, to=link.from_, relation=link.relation.inverse, rationale=link.rationale)
            for link in self.links
        )
        return Crosswalk(left=self.right, right=self.left, description=self.description, links=links, reasons=self.reasons)

    def unmatched(self, left: Taxonomy, right: Taxonomy) -> tuple[Unmatched, ...]:
        """Return every leaf of either taxonomy that no link touches, left ones first, in tree order.

        ``rationale`` is None where the crosswalk does not say why.
        """
        reason_of = {(reason.taxonomy, reason.label): reason for reason in self.reasons}
        linked = {left.name: {link.from_ for link in self.links}, right.name: {link.to for link in self.links}}
        return tuple(
            reason_of.get((taxonomy.name, leaf.id), Unmatched(taxonomy=taxonomy.name, label=leaf.id))
            for taxonomy in (left, right)
            for leaf in taxonomy.leaves()
            if leaf.id not in linked[taxonomy.name]
        )

    @staticmethod
    def names() -> tuple[tuple[str, str], ...]:
        """Return the pairs that come with the package; each can be loaded in both directions."""
        return _names()

    @staticmethod
    def load(left: str, right: str) -> "Crosswalk":
        """Return a bundled crosswalk, in either direction.

        Raises:
            InputError: no crosswalk exists between these two.
        """
        return _load(left, right)

    @staticmethod
    def read(path: str | Path, left: Taxonomy, right: Taxonomy) -> "Crosswalk":
        """Return a crosswalk from a TOML file of one's own, checked against its two taxonomies.

        Raises:
            TaxonomyError: the first fault, with file, line and key.
        """
        return parse_crosswalk(read_text(path), left, right, source=path)


def parse_crosswalk(text: str, left: Taxonomy, right: Taxonomy, *, source: str | Path = "crosswalk") -> Crosswalk:
    """Return the crosswalk in a TOML text.

    Raises:
        TaxonomyError: the first fault: broken TOML, a wrong key or type, a label that is not in its taxonomy, two links
            between the same labels, two exact links of one label, or a linked label listed as unmatched.
    """
    document = parse_toml(text, source=source)
    places = Places(text, source)
    rest = {key: value for key, value in document.items() if key not in ("link", "unmatched")}
    header = places.model(CrosswalkHeader, rest)
    links = _tables(document.get("link", []), "link", Link, places)
    reasons = _tables(document.get("unmatched", []), "unmatched", Unmatched, places)
    if header is not None and not places.found:
        for key, name, taxonomy in (("left", header.left, left), ("right", header.right, right)):
            if name != taxonomy.name:
                places.add(
                    Fault.BAD_VALUE, "the crosswalk is for another taxonomy", key=key, value=name, allowed=(taxonomy.name,)
                )
        _check_links(links, left, right, places)
        _check_reasons(reasons, links, left, right, places)
    for fault in places.faults():
        raise fault
    if header is None:
        raise TaxonomyError(Fault.MISSING, "the crosswalk has no header", source=source)
    return Crosswalk(left=header.left, right=header.right, description=header.description, links=links, reasons=reasons)


def _tables(entries: object, table: str, kind: type[_Model], places: Places) -> tuple[_Model, ...]:
    if not isinstance(entries, list):
        places.add(Fault.WRONG_TYPE, f"these are written as [[{table}]] tables, with two brackets", key=table)
        return ()
    parsed = [places.model(kind, entry, table=table, index=index) for index, entry in enumerate(entries)]
    return tuple(item for item in parsed if item is not None)


def _check_links(links: Sequence[Link], left: Taxonomy, right: Taxonomy, places: Places) -> None:
    pairs: set[tuple[str, str]] = set()
    exact: set[tuple[str, str]] = set()
    for index, link in enumerate(links):
        for key, id_, taxonomy in (("from", link.from_, left), ("to", link.to, right)):
            if id_ not in taxonomy:
                problem = f"{taxonomy.name} has no label"
                places.add(Fault.UNKNOWN_LABEL, problem, table="link", index=index, key=key, value=id_)
        if (link.from_, link.to) in pairs:
            places.add(Fault.DUPLICATE_ID, f"{link.from_} and {link.to} are linked twice", table="link", index=index, key="to")
        pairs.add((link.from_, link.to))
        if link.relation is LinkKind.EXACT:
            for key, id_ in (("from", link.from_), ("to", link.to)):
                if (key, id_) in exact:
                    problem = "a label is exactly one other, not two:"
                    places.add(Fault.CONTRADICTION, problem, table="link", index=index, key=key, value=id_)
                exact.add((key, id_))


def _check_reasons(
    reasons: Sequence[Unmatched], links: Sequence[Link], left: Taxonomy, right: Taxonomy, places: Places
) -> None:
    linked = {left.name: {link.from_ for link in links}, right.name: {link.to for link in links}}
    taxonomies = {left.name: left, right.name: right}
    for index, reason in enumerate(reasons):
        taxonomy = taxonomies.get(reason.taxonomy)
        if taxonomy is None:
            problem, allowed = "neither side of the crosswalk is", tuple(taxonomies)
            places.add(
                Fault.BAD_VALUE, problem, table="unmatched", index=index, key="taxonomy", value=reason.taxonomy, allowed=allowed
            )
        elif reason.label not in taxonomy:
            problem = f"{taxonomy.name} has no label"
            places.add(Fault.UNKNOWN_LABEL, problem, table="unmatched", index=index, key="label", value=reason.label)
        elif reason.label in linked[taxonomy.name]:
            problem = "a label that has links is listed as unmatched:"
            places.add(Fault.CONTRADICTION, problem, table="unmatched", index=index, key="label", value=reason.label)


@cache
def _names() -> tuple[tuple[str, str], ...]:
    folder = resources.files("salon_taxonomy") / _FOLDER
    stems = sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))
    pairs = [stem.split("--") for stem in stems]
    return tuple((left, right) for left, right in pairs)


@cache
def _load(left: str, right: str) -> Crosswalk:
    if (right, left) in _names():
        return _load(right, left).inverted()
    if (left, right) not in _names():
        allowed = [f"{a} {b}" for a, b in _names()]
        hint = "Write one as TOML, and read it with Crosswalk.read."
        raise InputError("there is no crosswalk between", value=f"{left} {right}", allowed=allowed, hint=hint)
    file = resources.files("salon_taxonomy") / _FOLDER / f"{left}--{right}.toml"
    text = file.read_text(encoding="utf-8")
    return parse_crosswalk(text, Taxonomy.load(left), Taxonomy.load(right), source=file.name)
