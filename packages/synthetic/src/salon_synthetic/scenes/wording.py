"""English for descriptions and claims; :mod:`salon_synthetic.scenes.reading` reads it back."""

from collections.abc import Sequence

from salon_synthetic.scenes.claims import ATTRIBUTES, Claim, Description, Present, Related
from salon_synthetic.scenes.scene import Scene
from salon_synthetic.scenes.vocabulary import NUMBER_WORDS, Relation

_PHRASES = {
    Relation.LEFT: "to the left of",
    Relation.RIGHT: "to the right of",
    Relation.ABOVE: "above",
    Relation.BELOW: "below",
    Relation.TIED: "tied to",
}


def relation_phrase(relation: Relation) -> str:
    """Return the phrase for a relation between two objects."""
    return _PHRASES[relation]


def noun(kind: Description, *, plural: bool = False) -> str:
    """Return a description without an article.

    Example:
        >>> from salon_synthetic.scenes.vocabulary import Colour, Shape, Size
        >>> noun(Description(Shape.CROSS, Colour.RED, size=Size.SMALL), plural=True), noun(Description())
        ('small red crosses', 'object')
    """
    words = [str(value) for name in ATTRIBUTES[:-1] if (value := getattr(kind, name)) is not None]
    head = "object" if kind.shape is None else kind.shape.value
    if plural:
        head += "es" if head.endswith("s") else "s"
    return " ".join([*words, head])


def counted(kind: Description, number: int) -> str:
    """Return a description with a number word: ``three red circles``; digits above ten."""
    word = NUMBER_WORDS[number] if number < len(NUMBER_WORDS) else str(number)
    return f"{word} {noun(kind, plural=number != 1)}"


def indefinite(text: str) -> str:
    """Return the text with ``a`` or ``an``."""
    return f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


def described(scene: Scene, index: int) -> Description:
    """Return the shortest description that fits only this object, if one exists.

    Colour and shape come first, then texture and size.
    """
    item = scene.items[index]
    kind = Description(item.shape, item.colour)
    for longer in (
        kind,
        Description(item.shape, item.colour, item.texture),
        Description(item.shape, item.colour, size=item.size),
    ):
        if longer.places(scene) == (index,):
            return longer
    whole = Description(item.shape, item.colour, item.texture, item.size)
    return whole if len(whole.places(scene)) < len(kind.places(scene)) else kind


def question(claim: Claim) -> str:
    """Return a yes/no question that asks whether a claim is true.

    Example:
        >>> from salon_synthetic.scenes.vocabulary import Shape
        >>> question(Present(Description(Shape.STAR), 3, exact=True))
        'Are there exactly three stars?'
    """
    if isinstance(claim, Present):
        verb = "Is" if claim.number == 1 else "Are"
        if claim.exact:
            return f"{verb} there exactly {counted(claim.kind, claim.number)}?"
        return (
            f"Is there {indefinite(noun(claim.kind))}?" if claim.number == 1 else f"Are there {noun(claim.kind, plural=True)}?"
        )
    if isinstance(claim, Related):
        return f"Is the {noun(claim.kind)} {relation_phrase(claim.relation)} the {noun(claim.other)}?"
    return f"Is the {noun(claim.kind)} {predicate(claim.predicate)}?"


def predicate(kind: Description) -> str:
    """Return a description after ``is``: ``red``, ``striped``, ``a circle``, ``a red circle``."""
    words = [str(value) for name in ATTRIBUTES[:-1] if (value := getattr(kind, name)) is not None]
    return " and ".join(words) if kind.shape is None else indefinite(noun(kind))


def listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence, with commas and ``and``.

    Example:
        >>> listed(["a star", "a cross", "two circles"])
        'a star, a cross and two circles'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
