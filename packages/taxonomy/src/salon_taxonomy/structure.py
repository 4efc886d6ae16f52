"""What makes a set of labels a tree: the checks, apart from where the labels came from.

A flaw names the label by its place in the list, so that a reader of files can say on which line it stands. The checks see
of a label only what the tree is made of, a :class:`Node`, so that they also run on labels that are wrong in other ways.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from salon_taxonomy.errors import Fault
from salon_taxonomy.label import Label

DEEPEST = 32
"""A label has at most so many labels from its root down to itself. The five published trees have at most four; exports and
pictures of deeper ones are unreadable."""

_MOST_TO_OFFER = 60
"""Maximum number of labels for which a message lists all allowed ones."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that keeps the labels from being a tree; ``index`` is the label's place, counted from 0."""

    fault: Fault
    index: int
    key: str
    problem: str
    value: object = None
    allowed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """The facts about one label from which the tree is built.

    Attributes:
        index: the label's place in the list, counted from 0.
        id: its id.
        parent: the id of its parent; None for a root.
        name: its name; None where it is invalid, so siblings are not checked against it.
        spelling: how it is answered; None where that is at fault.
        answer: whether the spelling is written under the key ``answer``.
        tier: the declared tier; None without one, or where it is at fault.
        placed: False where ``parent`` is invalid, so the label's place is unknown.
    """

    index: int
    id: str
    parent: str | None
    name: str | None
    spelling: str | None
    answer: bool
    tier: str | None
    placed: bool = True

    @classmethod
    def of(cls, index: int, label: Label) -> "Node":
        """Return the node of a whole label."""
        answer = bool(label.answer)
        return cls(index, label.id, label.parent, label.name, label.spelling, answer, label.tier)


def tree_flaws(nodes: Sequence[Node], tiers: Sequence[str]) -> list[Flaw]:
    """Return every flaw, in the order of the labels: ids, parents, cycles, depth, names among siblings, tiers.

    Time grows linearly.
    """
    first: dict[str, int] = {}
    for number, node in enumerate(nodes):
        first.setdefault(node.id, number)
    depths = _depths(nodes, first)
    flaws = [
        *_ids(nodes, first),
        *_parents(nodes, first),
        *_cycles(nodes, first),
        *_deep(nodes, first, depths),
        *_siblings(nodes),
        *_tiers(nodes, first, depths, tiers),
    ]
    return sorted(flaws, key=lambda flaw: flaw.index)


def _ids(nodes: Sequence[Node], first: Mapping[str, int]) -> list[Flaw]:
    flaws = []
    for number, node in enumerate(nodes):
        earlier = nodes[first[node.id]]
        if first[node.id] == number:
            continue
        if node.placed and earlier.placed and earlier.parent != node.parent:
            under = f"{earlier.parent or 'no parent'} and {node.parent or 'no parent'}"
            flaws.append(Flaw(Fault.TWO_PARENTS, node.index, "parent", f"label {node.id!r} occurs twice, under {under}"))
        else:
            flaws.append(Flaw(Fault.DUPLICATE_ID, node.index, "id", "a label before this one has the id", node.id))
    return flaws


def _parents(nodes: Sequence[Node], first: Mapping[str, int]) -> list[Flaw]:
    known = tuple(first) if len(first) <= _MOST_TO_OFFER else None
    return [
        Flaw(Fault.UNKNOWN_PARENT, node.index, "parent", f"label {node.id!r} has an unknown parent", node.parent, known)
        for node in nodes
        if node.parent is not None and node.parent not in first
    ]


def _cycles(nodes: Sequence[Node], first: Mapping[str, int]) -> list[Flaw]:
    """Return each cycle once, at its first label."""
    flaws = []
    settled: set[str] = set()
    for node in nodes:
        trail: dict[str, int] = {}
        at: str | None = node.id
        while at is not None and at in first and at not in settled and at not in trail:
            trail[at] = len(trail)
            at = nodes[first[at]].parent
        if at is not None and at in trail:
            ring = list(trail)[trail[at] :]
            start = min(ring, key=lambda id_: first[id_])
            turned = [*ring[ring.index(start) :], *ring[: ring.index(start)], start]
            circle = " → ".join(turned if len(turned) <= 8 else [*turned[:6], "…", start])
            index = nodes[first[start]].index
            flaws.append(Flaw(Fault.CYCLE, index, "parent", f"the parents run in a circle: {circle}"))
        settled.update(trail)
    return flaws


def _deep(nodes: Sequence[Node], first: Mapping[str, int], depths: Mapping[str, int]) -> list[Flaw]:
    """Return the topmost labels that are too deep; those below them follow from it."""
    problem = f"a label has at most {DEEPEST - 1} labels above it, and this one more: its parent is"
    return [
        Flaw(Fault.TOO_DEEP, node.index, "parent", problem, node.parent)
        for place, node in enumerate(nodes)
        if first[node.id] == place and depths[node.id] == DEEPEST
    ]


def _siblings(nodes: Sequence[Node]) -> list[Flaw]:
    flaws = []
    names: dict[tuple[str | None, str], str] = {}
    spellings: dict[tuple[str | None, str], str] = {}
    for node in nodes:
        if not node.placed:
            continue
        if node.name is not None:
            other = names.setdefault((node.parent, node.name), node.id)
            if other != node.id:
                problem = f"{other!r} beside {node.id!r} also has the name"
                flaws.append(Flaw(Fault.SAME_NAME, node.index, "name", problem, node.name))
                continue
        if node.spelling is not None:
            other = spellings.setdefault((node.parent, node.spelling), node.id)
            if other != node.id:
                problem = f"{other!r} beside {node.id!r} is also answered as"
                flaws.append(Flaw(Fault.SAME_NAME, node.index, "answer" if node.answer else "name", problem, node.spelling))
    return flaws


def _tiers(nodes: Sequence[Node], first: Mapping[str, int], depths: Mapping[str, int], tiers: Sequence[str]) -> list[Flaw]:
    """Check that a declared tier is one of ``tiers`` and lies below the parent's.

    The tier of a parent without a declared one is that of its depth.
    """
    if not tiers:
        return []
    flaws = []
    places = {tier: place for place, tier in enumerate(tiers)}
    for node in nodes:
        if node.tier is None:
            continue
        if node.tier not in places:
            flaws.append(Flaw(Fault.WRONG_TIER, node.index, "tier", "a tier that is not declared:", node.tier, tuple(tiers)))
            continue
        above = None if node.parent is None else first.get(node.parent)
        if above is None:
            continue
        depth = depths.get(nodes[above].id, -1)
        parent = nodes[above].tier or (tiers[depth] if 0 <= depth < len(tiers) else None)
        if parent in places and places[parent] >= places[node.tier]:
            problem = f"label {node.id!r} is not below the tier {parent!r} of its parent: tier"
            flaws.append(Flaw(Fault.WRONG_TIER, node.index, "tier", problem, node.tier, tuple(tiers[places[parent] + 1 :])))
    return flaws


def _depths(nodes: Sequence[Node], first: Mapping[str, int]) -> dict[str, int]:
    """Return the depth of each label, roots at 0; -1 for labels in or below a cycle."""
    depths: dict[str, int] = {}
    for node in nodes:
        trail: dict[str, None] = {}
        at: str | None = node.id
        while at is not None and at in first and at not in depths and at not in trail:
            trail[at] = None
            at = nodes[first[at]].parent
        above = -1 if at is None or at not in first else depths.get(at, -2)
        circles = at is not None and at in first and above < 0
        depths.update({id_: -1 if circles else above + 1 + step for step, id_ in enumerate(reversed(trail))})
    return depths
