"""What makes a set of labels a tree: the checks, apart from where the labels came from.

A flaw names the label by its place in the list, so that a reader of files can say on which line it stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from salon_taxonomy.errors import Fault
from salon_taxonomy.label import Label

_MOST_TO_OFFER = 60
"""Beyond so many labels a list of all that would be allowed helps nobody."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that keeps the labels from being a tree; ``index`` is the label's place, counted from 0."""

    fault: Fault
    index: int
    key: str
    problem: str
    value: object = None
    allowed: tuple[str, ...] | None = None


def tree_flaws(labels: Sequence[Label], tiers: Sequence[str]) -> list[Flaw]:
    """Every flaw, in the order of the labels: ids, parents, cycles, names among siblings, tiers. Time grows linearly."""
    first: dict[str, int] = {}
    for index, label in enumerate(labels):
        first.setdefault(label.id, index)
    flaws = [
        *_ids(labels, first),
        *_parents(labels, first),
        *_cycles(labels, first),
        *_siblings(labels),
        *_tiers(labels, first, tiers),
    ]
    return sorted(flaws, key=lambda flaw: flaw.index)


def _ids(labels: Sequence[Label], first: Mapping[str, int]) -> list[Flaw]:
    flaws = []
    for index, label in enumerate(labels):
        earlier = labels[first[label.id]]
        if first[label.id] == index:
            continue
        if earlier.parent != label.parent:
            under = f"{earlier.parent or 'no parent'} and {label.parent or 'no parent'}"
            flaws.append(Flaw(Fault.TWO_PARENTS, index, "parent", f"label {label.id!r} stands twice, under {under}"))
        else:
            flaws.append(Flaw(Fault.DUPLICATE_ID, index, "id", "a label before this one has the id", label.id))
    return flaws


def _parents(labels: Sequence[Label], first: Mapping[str, int]) -> list[Flaw]:
    known = tuple(first) if len(first) <= _MOST_TO_OFFER else None
    return [
        Flaw(Fault.UNKNOWN_PARENT, index, "parent", f"label {label.id!r} has an unknown parent", label.parent, known)
        for index, label in enumerate(labels)
        if label.parent is not None and label.parent not in first
    ]


def _cycles(labels: Sequence[Label], first: Mapping[str, int]) -> list[Flaw]:
    """Each cycle once, at its first label."""
    flaws = []
    settled: set[str] = set()
    for label in labels:
        trail: dict[str, int] = {}
        at: str | None = label.id
        while at is not None and at in first and at not in settled and at not in trail:
            trail[at] = len(trail)
            at = labels[first[at]].parent
        if at is not None and at in trail:
            ring = list(trail)[trail[at] :]
            start = min(ring, key=lambda id_: first[id_])
            turned = [*ring[ring.index(start) :], *ring[: ring.index(start)], start]
            shown = " → ".join(turned if len(turned) <= 8 else [*turned[:6], "…", start])
            flaws.append(Flaw(Fault.CYCLE, first[start], "parent", f"the parents run in a circle: {shown}"))
        settled.update(trail)
    return flaws


def _siblings(labels: Sequence[Label]) -> list[Flaw]:
    flaws = []
    names: dict[tuple[str | None, str], str] = {}
    spellings: dict[tuple[str | None, str], str] = {}
    for index, label in enumerate(labels):
        other = names.setdefault((label.parent, label.name), label.id)
        if other != label.id:
            flaws.append(Flaw(Fault.SAME_NAME, index, "name", f"{other!r} beside {label.id!r} also has the name", label.name))
            continue
        other = spellings.setdefault((label.parent, label.spelling), label.id)
        if other != label.id:
            key = "answer" if label.answer else "name"
            problem = f"{other!r} beside {label.id!r} is also answered as"
            flaws.append(Flaw(Fault.SAME_NAME, index, key, problem, label.spelling))
    return flaws


def _tiers(labels: Sequence[Label], first: Mapping[str, int], tiers: Sequence[str]) -> list[Flaw]:
    """A declared tier must be one of ``tiers`` and lie below the parent's, which without a declaration is that of its depth."""
    if not tiers:
        return []
    flaws = []
    places = {tier: place for place, tier in enumerate(tiers)}
    depths = _depths(labels, first)
    for index, label in enumerate(labels):
        if label.tier is None:
            continue
        if label.tier not in places:
            flaws.append(Flaw(Fault.WRONG_TIER, index, "tier", "a tier that is not declared:", label.tier, tuple(tiers)))
            continue
        above = None if label.parent is None else first.get(label.parent)
        if above is None:
            continue
        depth = depths.get(labels[above].id, -1)
        parent = labels[above].tier or (tiers[depth] if 0 <= depth < len(tiers) else None)
        if parent in places and places[parent] >= places[label.tier]:
            problem = f"label {label.id!r} is not below the tier {parent!r} of its parent: tier"
            flaws.append(Flaw(Fault.WRONG_TIER, index, "tier", problem, label.tier, tuple(tiers[places[parent] + 1 :])))
    return flaws


def _depths(labels: Sequence[Label], first: Mapping[str, int]) -> dict[str, int]:
    """How far each label is below its root, roots at 0; -1 for those that hang in or on a circle, a flaw of its own."""
    depths: dict[str, int] = {}
    for label in labels:
        trail: dict[str, None] = {}
        at: str | None = label.id
        while at is not None and at in first and at not in depths and at not in trail:
            trail[at] = None
            at = labels[first[at]].parent
        above = -1 if at is None or at not in first else depths.get(at, -2)
        circles = at is not None and at in first and above < 0
        depths.update({id_: -1 if circles else above + 1 + step for step, id_ in enumerate(reversed(trail))})
    return depths
