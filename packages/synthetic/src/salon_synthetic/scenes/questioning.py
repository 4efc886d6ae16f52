"""Yes/no questions about a prompt, with the answers that a picture of it would get."""

import random
from collections.abc import Sequence
from enum import Enum
from typing import Any

from salon_synthetic.scenes.claims import ATTRIBUTES, Attributed, Claim, Description, Present, Related, holds
from salon_synthetic.scenes.scene import Scene
from salon_synthetic.scenes.vocabulary import Category, Colour, Shape, Size, Texture
from salon_synthetic.scenes.wording import question

_VALUES: dict[str, type[Enum]] = {"shape": Shape, "colour": Colour, "texture": Texture, "size": Size}
_SUBJECTS = {Category.SHAPE: "colour"}
"""By what objects are called while the rest is asked about; by their shape in other categories."""


def questions(
    claims: Sequence[Claim], scene: Scene, category: Category, generator: random.Random
) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Atomic questions about every claim, and one about something that was not asked for.

    Args:
        claims: of the prompt.
        scene: one that shows the prompt; the answers are true of it.
        category: of the prompt; objects of shape prompts are called by their colours.
        generator: draws what was not asked for.

    Returns:
        The questions, and the answers.
    """
    subject = _SUBJECTS.get(category, "shape")
    asked: list[Claim] = []
    for claim in claims:
        asked += _atoms(claim, subject) if isinstance(claim, Present) else [claim]
    asked.append(_unasked(claims, subject, generator))
    asked = list(dict.fromkeys(asked))
    return tuple(question(claim) for claim in asked), tuple(holds(claim, scene) for claim in asked)


def _called(kind: Description, subject: str) -> Description:
    """Return the description by its subject alone, where it has one."""
    value = getattr(kind, subject)
    return kind if value is None else Description(**{subject: value})


def _atoms(claim: Present, subject: str) -> list[Claim]:
    if claim.number != 1 or claim.exact:
        return [Present(claim.kind), claim]
    short = _called(claim.kind, subject)
    rest = [name for name in ATTRIBUTES if name != subject and getattr(claim.kind, name) is not None]
    return [Present(short), *(Attributed(short, Description(**{name: getattr(claim.kind, name)})) for name in rest)]


def _unasked(claims: Sequence[Claim], subject: str, generator: random.Random) -> Claim:
    """Return an attribute or a thing that no claim speaks of; the answer is mostly no, and always the scene's own."""
    kinds = [claim.kind for claim in claims if not isinstance(claim, Related)]
    kind = generator.choice(kinds)
    names = [name for name in ATTRIBUTES if name != subject and getattr(kind, name) is not None]
    name = generator.choice(names) if names else subject
    used = {getattr(other, name) for other in kinds}
    value = generator.choice([value for value in _VALUES[name] if value not in used] or list(_VALUES[name]))
    attributes: dict[str, Any] = {name: value}
    other = Description(**attributes)
    return Attributed(_called(kind, subject), other) if names else Present(other)
