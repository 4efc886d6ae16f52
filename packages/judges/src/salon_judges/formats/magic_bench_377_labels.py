"""The labels of Magic-Bench-377, taken from the taxonomy ``mef``: capabilities, test points, scenarios, target shares.

MEF: capabilities and scenarios with their shares of prompts in Table 2, the 21 test points in Table 8.
"""

from functools import cache
from typing import Final

from salon_taxonomy import Label, Taxonomy

CHECK_COLUMNS: Final = ("prompt_id", "model", "sample", "picture", "prompt", "test_point", "demand", "satisfied", "rater_id")
"""Of a list of checks for people: one demand of one picture."""
_POINT_TAG = "test-point"
_CAPABILITY_TIERS = ("item", "point")


@cache
def taxonomy() -> Taxonomy:
    """Return the label tree ``mef``."""
    return Taxonomy.load("mef")


@cache
def points() -> dict[str, Label]:
    """Return the 21 test points of Table 8 by id, in the table's order.

    Example:
        >>> len(points()), list(points())[:3]
        (21, ['text', 'quantity', 'facial-expression'])
    """
    return {label.id: label for label in taxonomy().walk() if _POINT_TAG in label.tags}


@cache
def scenarios() -> dict[str, Label]:
    """Return the five application scenarios by id, in Table 2's order."""
    return {label.id: label for label in taxonomy().tier("scenario")}


@cache
def target_shares() -> dict[str, int]:
    """Return the percentages of the 377 prompts by label id (Table 2): 5 scenarios, 13 capabilities.

    Example:
        >>> shares = target_shares()
        >>> len(shares), shares["film"], shares["style"], sum(shares[name] for name in scenarios())
        (18, 20, 64, 100)
    """
    return {label.id: int(label.shares["prompts"]) for label in taxonomy().walk() if "prompts" in label.shares}


def capability(text: str) -> Label | None:
    """Return the capability or test point with this id, name or alias, in any case and punctuation.

    Example:
        >>> capability("layout and typography").name, capability("Hand Action").name, capability("Film")
        ('Layout & Typography', 'Partial Action', None)
    """
    return _only(text, _CAPABILITY_TIERS)


def point(text: str) -> Label | None:
    """Return the test point with this id, name or alias, or None."""
    label = capability(text)
    return label if label is not None and label.id in points() else None


def scenario(text: str) -> Label | None:
    """Return the scenario with this id or name, or None."""
    return _only(text, ("scenario",))


def _only(text: str, tiers: tuple[str, ...]) -> Label | None:
    labels = [label for tier in tiers for label in taxonomy().matches(text.strip(), tier=tier)]
    return labels[0] if len(labels) == 1 else None
