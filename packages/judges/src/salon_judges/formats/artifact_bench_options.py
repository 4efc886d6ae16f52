"""The options of an AID question: the labels that hold, and others that are easily taken for them, shuffled.

Artifact-Bench, section 3.3: wrong options come from the same family as a right one, or from an adjacent family.
"""

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from salon_judges.formats.artifact_bench import LETTERS, TAXONOMY
from salon_taxonomy import Label, Taxonomy
from salon_taxonomy.errors import InputError

OPTIONS = 6
"""How many options a question has (Artifact-Bench, section 3.2)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The options of one question.

    Attributes:
        leaves: ids of labels, in the order of their letters.
        answer: the letters of the right ones in alphabetical order: ``BEF``.
    """

    leaves: tuple[str, ...]
    answer: str

    @property
    def texts(self) -> tuple[str, ...]:
        """As rows write them: "Name: definition", in the words of the label tree."""
        labels = [Taxonomy.load(TAXONOMY).find(leaf) for leaf in self.leaves]
        return tuple(f"{label.name}: {label.definition}" for label in labels)


def offer(correct: Collection[str], *, seed: int, sample_id: str, options: int = OPTIONS) -> Offer:
    """Draw the wrong options of one question, and shuffle.

    Siblings of the right labels are drawn first, then labels of the families next to theirs in the same domain, nearest first,
    then of the rest of the domain, then of other domains. The same seed and name give the same options on every machine; the
    draw of one question does not depend on the others.

    Args:
        correct: names or ids of the labels that hold.
        seed: another seed draws other options.
        sample_id: the question.
        options: how many in all, up to 26.

    Raises:
        InputError: for no label, one that is no leaf, or as many as there are options.

    Example:
        >>> drawn = offer(["Flickering and Noise"], seed=0, sample_id="1")
        >>> len(drawn.leaves), drawn.leaves["ABCDEF".index(drawn.answer)]
        (6, 'flickering-and-noise')
    """
    tree = Taxonomy.load(TAXONOMY)
    right = list(dict.fromkeys(tree.find(name, tier="leaf").id for name in correct))
    if not right:
        raise InputError("a question needs at least one label that holds", value=sample_id)
    if not len(right) < options <= len(LETTERS):
        problem = f"with {len(right)} right labels there must be {len(right) + 1} to {len(LETTERS)} options, not"
        raise InputError(problem, column="options", value=options)
    drawing = random.Random(f"salon/options/{seed}/{sample_id}")  # noqa: S311  (no secret)
    wrong: list[str] = []
    for ring in _rings(tree, right):
        drawing.shuffle(ring)
        wrong += ring
    menu = [*right, *wrong[: options - len(right)]]
    drawing.shuffle(menu)
    return Offer(tuple(menu), "".join(letter for letter, leaf in zip(LETTERS, menu, strict=False) if leaf in right))


def _rings(tree: Taxonomy, right: list[str]) -> Iterator[list[str]]:
    """Yield the other labels in groups, the most easily confused first."""
    families = list(dict.fromkeys(_parent(tree, leaf).id for leaf in right))
    order = [label.id for label in tree.tier("family")]
    domains = {family: _parent(tree, family).id for family in order}
    inside = [family for family in order if domains[family] in {domains[each] for each in families}]

    def distance(family: str) -> int:
        """Return families between this one and the nearest of a right label in the same domain; far for another domain."""
        same = [abs(order.index(family) - order.index(each)) for each in families if domains[each] == domains[family]]
        return min(same, default=len(order))

    for step in sorted({distance(family) for family in inside}):
        near = [family for family in inside if distance(family) == step]
        yield [leaf.id for family in near for leaf in tree.leaves(family) if leaf.id not in right]
    yield [leaf.id for family in order if family not in inside for leaf in tree.leaves(family)]


def _parent(tree: Taxonomy, label: str) -> Label:
    return tree.ancestors(label)[0]
