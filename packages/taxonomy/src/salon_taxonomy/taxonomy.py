"""Label trees: what can be wrong with a generation, or what a prompt demands, as data with methods.

Five published taxonomies come with the package as TOML files (``taxonomies/``); a user's own has the same shape and is read
by ``taxonomy_file.py``. A taxonomy that exists is valid: ids are unique, every parent is known, there are no cycles, and
no branch is longer than 32 labels.
"""

import difflib
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import Field, PrivateAttr, model_validator

from salon_taxonomy.errors import AmbiguousLabelError, InputError, TaxonomyError, UnknownLabelError
from salon_taxonomy.label import Label, TaxonomyHeader
from salon_taxonomy.structure import Node, tree_flaws
from salon_taxonomy.taxonomy_file import parse_taxonomy, read_text

_FOLDER = "taxonomies"


class Taxonomy(TaxonomyHeader):
    """A tree of labels (or several: a taxonomy may have more than one root). Frozen; look-ups take constant time.

    Wherever a method takes a label it takes the :class:`Label`, or a text that :meth:`find` understands.

    Raises:
        TaxonomyError: when the labels are not a tree; see :class:`~salon_taxonomy.errors.Fault` for the ways.

    Example:
        >>> magicmirror = Taxonomy.load("magicmirror")
        >>> [label.name for label in magicmirror.children("Abnormal Animal Anatomy")]
        ['Abnormal Limb Structure', 'Abnormal Posture Presentation', 'Abnormal Head Structure']
        >>> " > ".join(label.name for label in magicmirror.path("hand structure deformity"))
        'Artifact > Abnormal Human Anatomy > Hand Structure Deformity'
        >>> magicmirror.find("Abnormal Posture Presentation").counts
        {'all': 234, 'train': 162, 'test': 72, 'cot': 101}
    """

    labels: tuple[Label, ...] = Field(min_length=1)

    _by_id: dict[str, Label] = PrivateAttr(default_factory=dict)
    _children: dict[str | None, tuple[Label, ...]] = PrivateAttr(default_factory=dict)
    _exact: dict[str, tuple[Label, ...]] = PrivateAttr(default_factory=dict)
    _folded: dict[str, tuple[Label, ...]] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _is_a_tree(self) -> "Taxonomy":
        for flaw in tree_flaws([Node.of(index, label) for index, label in enumerate(self.labels)], self.tiers):
            raise TaxonomyError(
                flaw.fault, flaw.problem, source=self.name, key=flaw.key, value=flaw.value, allowed=flaw.allowed
            )
        return self

    def model_post_init(self, context: object, /) -> None:
        """Build the indices, once."""
        children: dict[str | None, list[Label]] = {}
        exact: dict[str, dict[str, Label]] = {}
        folded: dict[str, dict[str, Label]] = {}
        for label in self.labels:
            children.setdefault(label.parent, []).append(label)
            for text in (label.name, label.spelling, *label.aliases):
                exact.setdefault(text, {})[label.id] = label
            for text in (label.id, label.name, label.spelling, *label.aliases):
                folded.setdefault(_fold(text), {})[label.id] = label
        folded.pop("", None)
        self._by_id = {label.id: label for label in self.labels}
        self._children = {parent: tuple(found) for parent, found in children.items()}
        self._exact = {text: tuple(found.values()) for text, found in exact.items()}
        self._folded = {text: tuple(found.values()) for text, found in folded.items()}

    # ------------------------------------------------------------------ finding
    def matches(self, text: str, *, tier: str | None = None) -> tuple[Label, ...]:
        """Return every label that ``text`` may mean, possibly none; never fails, whatever the text.

        An id wins over names; the exact spelling of a name, answer or alias wins over one that differs in case, spaces,
        hyphens or other punctuation. ``tier`` leaves only the labels of that tier.
        """
        by_id = self._by_id.get(text)
        ways = ((by_id,) if by_id else (), self._exact.get(text, ()), self._folded.get(_fold(text), ()))
        for labels in ways:
            kept = tuple(label for label in labels if tier is None or self.tier_of(label) == tier)
            if kept:
                return kept
        return ()

    def find(self, text: str | Label, *, tier: str | None = None) -> Label:
        """Return the one label with this id, name, answer spelling or alias, ignoring case and spacing.

        Raises:
            UnknownLabelError: no label matches; the message suggests the nearest.
            AmbiguousLabelError: several labels match; give an id, or the ``tier``.

        Example:
            >>> taxonomy = Taxonomy.load("magicmirror")
            >>> taxonomy.find("L3: Abnormal Human Anatomy").id
            'abnormal-human-anatomy-multiple'
            >>> taxonomy.find("abnormal  HUMAN anatomy", tier="L2").id
            'abnormal-human-anatomy'
        """
        if isinstance(text, Label):
            text = text.id
        labels = self.matches(text, tier=tier)
        if len(labels) == 1:
            return labels[0]
        if labels:
            ids = [label.id for label in labels]
            raise AmbiguousLabelError(
                "several labels are called", source=self.name, value=text, allowed=ids, hint="Say its id."
            )
        near = difflib.get_close_matches(_fold(text)[:200], list(self._folded), n=3)
        ids = list(dict.fromkeys(label.id for key in near for label in self._folded[key]))
        hint = f"Did you mean {' or '.join(ids)}?" if ids else f"`salon taxonomy show {self.name}` lists the labels."
        raise UnknownLabelError("no such label", source=self.name, value=text, hint=hint)

    def __contains__(self, item: object) -> bool:
        """Return whether the label, or a label of this id, is in the taxonomy."""
        return self._by_id.get(item.id) == item if isinstance(item, Label) else item in self._by_id

    def __len__(self) -> int:
        """Return the number of labels, inner ones included."""
        return len(self.labels)

    # ------------------------------------------------------------------ walking
    def roots(self) -> tuple[Label, ...]:
        """Return the labels without a parent, in file order."""
        return self._children.get(None, ())

    def children(self, label: str | Label) -> tuple[Label, ...]:
        """Return the labels directly under ``label``, in file order; empty for a leaf."""
        return self._children.get(self.find(label).id, ())

    def parent(self, label: str | Label) -> Label | None:
        """Return the label above, None for a root."""
        above = self.find(label).parent
        return None if above is None else self._by_id[above]

    def ancestors(self, label: str | Label) -> tuple[Label, ...]:
        """Return the labels above ``label``, nearest first; empty for a root."""
        return tuple(reversed(self.path(label)[:-1]))

    def path(self, label: str | Label) -> tuple[Label, ...]:
        """From the root down to and including ``label``."""
        at: Label | None = self.find(label)
        steps: list[Label] = []
        while at is not None:
            steps.append(at)
            at = None if at.parent is None else self._by_id[at.parent]
        return tuple(reversed(steps))

    def walk(self, label: str | Label | None = None) -> Iterator[Label]:
        """``label`` and everything under it (without one, the whole taxonomy), parents before their children."""
        stack = list(reversed(self.roots() if label is None else (self.find(label),)))
        while stack:
            at = stack.pop()
            yield at
            stack.extend(reversed(self._children.get(at.id, ())))

    def leaves(self, label: str | Label | None = None) -> tuple[Label, ...]:
        """Return the labels without children, in tree order; with ``label`` those under it (a leaf's leaves are itself)."""
        return tuple(at for at in self.walk(label) if at.id not in self._children)

    # ------------------------------------------------------------------ kinds of labels
    def tier_of(self, label: str | Label) -> str:
        """Return the label's tier: as declared, else the name of its level in ``tiers``, else ``level N`` with roots at 1."""
        known = self._by_id[label.id] if isinstance(label, Label) and label.id in self._by_id else self.find(label)
        if known.tier is not None:
            return known.tier
        depth = len(self.path(known.id)) - 1
        return self.tiers[depth] if depth < len(self.tiers) else f"level {depth + 1}"

    def tier(self, name: str) -> tuple[Label, ...]:
        """Return the labels of one tier, in tree order; empty when nothing is of that tier."""
        return tuple(label for label in self.walk() if self.tier_of(label) == name)

    def tagged(self, tag: str) -> tuple[Label, ...]:
        """Return the labels that carry ``tag``, in tree order."""
        return tuple(label for label in self.walk() if tag in label.tags)

    def answers(self) -> tuple[Label, ...]:
        """Return the labels that a judge may answer with: those of ``answer_tiers``, or the leaves."""
        if not self.answer_tiers:
            return self.leaves()
        return tuple(label for label in self.walk() if self.tier_of(label) in self.answer_tiers)

    # ------------------------------------------------------------------ getting one
    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the taxonomies that come with the package, in alphabetical order."""
        return _names()

    @staticmethod
    def load(name: str) -> "Taxonomy":
        """Return a bundled taxonomy; it is read once per process.

        Raises:
            InputError: there is none of that name.
        """
        return _load(name)

    @staticmethod
    def parse(text: str, *, source: str | Path = "taxonomy") -> "Taxonomy":
        """Return the taxonomy in a TOML text; ``source`` is how errors call it.

        Raises:
            TaxonomyError: the first fault, in the order of lines; its hint says how many more there are.

        Example:
            >>> Taxonomy.parse('name = "mine"\\ntitle = "Mine"\\n[[label]]\\nid = "a"\\nname = "A"\\n', source="mine.toml")
            Traceback (most recent call last):
            ...
            salon_taxonomy.errors.TaxonomyError: mine.toml, line 3, key 'definition': the key is missing from label 'a'
        """
        header, labels = parse_taxonomy(text, source)
        return Taxonomy(labels=labels, **{name: getattr(header, name) for name in TaxonomyHeader.model_fields})

    @staticmethod
    def read(path: str | Path) -> "Taxonomy":
        """Return a taxonomy from a TOML file of one's own.

        Raises:
            TaxonomyError: the file is not a taxonomy; the first fault is named with file, line and key.
                ``taxonomy_file.check_taxonomy`` returns all of them.
        """
        return Taxonomy.parse(read_text(path), source=path)

    @staticmethod
    def open(name_or_path: str | Path) -> "Taxonomy":
        """:meth:`read` for what looks like a file (ends in ``.toml`` or has a folder), else :meth:`load`."""
        path = Path(name_or_path)
        is_file = path.suffix == ".toml" or len(path.parts) > 1 or isinstance(name_or_path, Path)
        return Taxonomy.read(path) if is_file else Taxonomy.load(str(name_or_path))


def _fold(text: str) -> str:
    """Return a text without case, white space, punctuation and symbols; "&" is "and". Letters of all scripts are kept."""
    wide = unicodedata.normalize("NFKC", text.replace("&", " and ")).casefold()
    return "".join(c for c in wide if unicodedata.category(c)[0] in "LMN")


@cache
def _names() -> tuple[str, ...]:
    folder = resources.files("salon_taxonomy") / _FOLDER
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


@cache
def _load(name: str) -> Taxonomy:
    if name not in _names():
        hint = "Give a name from the list, or the path of a TOML file."
        raise InputError("no such taxonomy", value=name, allowed=_names(), hint=hint)
    file = resources.files("salon_taxonomy") / _FOLDER / f"{name}.toml"
    return Taxonomy.parse(file.read_text(encoding="utf-8"), source=f"{name}.toml")
