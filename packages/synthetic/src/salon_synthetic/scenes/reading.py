"""English about scenes to claims, by a small grammar. A text that it does not cover is not guessed at: None.

prompt    ::= clause ((", and" | "," | "and" | ".") clause)*        clause ::= phrase (relation phrase)?
question  ::= "is/are there" phrase | "is/are" phrase relation phrase | "is/are" phrase predicate
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from salon_synthetic.scenes.claims import Attributed, Claim, Description, Present, Related
from salon_synthetic.scenes.vocabulary import (
    COLOUR_WORDS,
    NUMBER_WORDS,
    SHAPE_WORDS,
    SIZE_WORDS,
    TEXTURE_WORDS,
    Relation,
)

LONGEST_TEXT: Final = 4000
"""Longer texts are not read."""

_RELATIONS: Final = (
    (Relation.LEFT, r"(?:to|on|at) the left(?: (?:hand )?side)? of|left of"),
    (Relation.RIGHT, r"(?:to|on|at) the right(?: (?:hand )?side)? of|right of"),
    (Relation.ABOVE, r"above|over|on top of"),
    (Relation.BELOW, r"below|under|beneath|underneath"),
    (
        Relation.TIED,
        r"(?:tied|connected|linked|attached|fastened|joined)(?: (?:by|with) (?:a |the )?(?:string|rope|line))? (?:to|with)",
    ),
)
RELATION: Final = re.compile(
    r"\b(?:" + "|".join(f"(?P<{relation.value}>{pattern})" for relation, pattern in _RELATIONS) + r")\b"
)
"""A relation between two phrases; the group that matched is the relation's name."""
_FILLERS: Final = frozenset(
    {"the", "of", "in", "with", "and", "that", "which", "is", "are", "colour", "color", "coloured", "colored"}
    | {"shape", "shaped", "size", "sized", "pattern", "texture", "textured"}
)
_NOUNS: Final = frozenset({"object", "thing", "item", "figure", "it", "them"})
_ARTICLES: Final = {"a": 1, "an": 1, "another": 1, "some": 1}
_NUMBERS: Final = {word: number for number, word in enumerate(NUMBER_WORDS)}
_PICTURE: Final = re.compile(r"\b(?:in|of|on) (?:the|this) (?:image|picture|photo|scene|drawing)\b")
_OPENING: Final = re.compile(r"^(?:a |an |the )?(?:photo|picture|image|drawing|scene) (?:of|with|showing) ")
_CLAUSES: Final = re.compile(r"\s*(?:[.;\n]|,\s*and\b|,|\band\b)\s*")
_WORDS: Final = re.compile(r"[a-z]+|\d+|[^\sa-z\d-]")
_THERE: Final = re.compile(r"^(?:is|are) there (?P<exactly>exactly |only |just )?(?P<least>at least )?(?P<rest>.+)$")
_SHOWN: Final = re.compile(
    r"^(?:does (?:the|this) (?:image|picture) (?:show|contain|have)|can you see|do you see) (?P<rest>.+)$"
)
_LARGEST = 1000


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase.

    Attributes:
        kind: what it describes.
        number: None where it says none ("the circles", "circles"); "a" says 1.
        exact: the number is a number word or digits, not "a".
        plural: its noun is in the plural.
        named: it has a noun, so it can stand alone; "red" has none.
    """

    kind: Description
    number: int | None
    exact: bool
    plural: bool
    named: bool


def read_phrase(text: str) -> Phrase | None:
    """Parse a noun phrase or a predicate; None if a word is unknown or two words contradict.

    Example:
        >>> phrase = read_phrase("three small red circles")
        >>> phrase.number, phrase.kind.colour, phrase.kind.size, phrase.plural
        (3, <Colour.RED: 'red'>, <Size.SMALL: 'small'>, True)
        >>> read_phrase("a red horse")
    """
    attributes: dict[str, Any] = {}
    number, exact, plural, named = None, False, False, False
    for word in _WORDS.findall(text.lower()):
        known = _attribute(word)
        if known is not None:
            name, value, many = known
            if attributes.get(name, value) != value:
                return None
            attributes[name] = value
            plural, named = plural or many, named or name == "shape"
        elif word in _NUMBERS or (word.isascii() and word.isdecimal()):
            if number is not None:
                return None
            number, exact = _NUMBERS[word] if word in _NUMBERS else min(int(word[:4]), _LARGEST), True
        elif word in _ARTICLES:
            number = _ARTICLES[word] if number is None else number
        elif word in _NOUNS or word.removesuffix("s") in _NOUNS:
            plural, named = plural or (word.endswith("s") and word not in _NOUNS), True
        elif word not in _FILLERS:
            return None
    if not attributes and not named:
        return None
    return Phrase(Description(**attributes), number, exact, plural, named)


def read_prompt(text: str) -> tuple[Claim, ...] | None:
    """Return the claims of a prompt, in its order; None when any of it is not understood.

    "A circle" is at least one; number words and digits are exact.

    Example:
        >>> for claim in read_prompt("A red circle to the left of a blue square, and three stars."):
        ...     print(type(claim).__name__, claim.kind.shape)
        Present circle
        Present square
        Related circle
        Present star
    """
    if len(text) > LONGEST_TEXT:
        return None
    claims: list[Claim] = []
    for clause in _CLAUSES.split(_OPENING.sub("", text.strip().lower())):
        if clause:
            clause_claims = _clause(clause)
            if clause_claims is None:
                return None
            claims += clause_claims
    return tuple(claims) or None


def read_question(text: str) -> Claim | None:
    """Return the claim that a yes/no question asks about; None when it is not understood.

    Example:
        >>> read_question("Is the circle red?").predicate.colour
        <Colour.RED: 'red'>
        >>> read_question("Is the mood cheerful?")
    """
    if len(text) > LONGEST_TEXT:
        return None
    asked = _PICTURE.sub(" ", text.strip().lower().rstrip("?").strip())
    there = _THERE.match(asked)
    match = _SHOWN.match(asked)
    if there or match:
        return _asked_presence(there, match["rest"] if match else "")
    verb, _, rest = asked.partition(" ")
    if verb not in ("is", "are"):
        return None
    relation = RELATION.search(rest)
    if relation is not None:
        return _related(rest, relation)
    return _asked_predicate(rest)


def _attribute(word: str) -> tuple[str, Any, bool] | None:
    """Return which attribute a word names, its value, and whether the word is a plural."""
    for name, words in (("colour", COLOUR_WORDS), ("texture", TEXTURE_WORDS), ("size", SIZE_WORDS), ("shape", SHAPE_WORDS)):
        if word in words:
            return name, words[word], False
    for ending in ("es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and stem in SHAPE_WORDS:
            return "shape", SHAPE_WORDS[stem], True
    return None


def _present(phrase: Phrase) -> Present:
    if phrase.number is None:
        return Present(phrase.kind, 2 if phrase.plural else 1)
    return Present(phrase.kind, phrase.number, exact=phrase.exact)


def _clause(text: str) -> list[Claim] | None:
    relation = RELATION.search(text)
    if relation is None:
        phrase = read_phrase(text)
        return [_present(phrase)] if phrase is not None and phrase.named else None
    first, second = read_phrase(text[: relation.start()]), read_phrase(text[relation.end() :])
    if first is None or second is None or not (first.named and second.named):
        return None
    return [_present(first), _present(second), Related(first.kind, _relation(relation), second.kind)]


def _related(text: str, relation: re.Match[str]) -> Related | None:
    first, second = read_phrase(text[: relation.start()]), read_phrase(text[relation.end() :])
    return None if first is None or second is None else Related(first.kind, _relation(relation), second.kind)


def _relation(match: re.Match[str]) -> Relation:
    return Relation(next(name for name, text in match.groupdict().items() if text is not None))


def _asked_presence(there: re.Match[str] | None, rest: str) -> Claim | None:
    text = there["rest"] if there else rest
    relation = RELATION.search(text)
    if relation is not None:
        return _related(text, relation)
    phrase = read_phrase(text)
    if phrase is None:
        return None
    exact = there is not None and not there["least"] and (phrase.exact or bool(there["exactly"]))
    return Present(phrase.kind, 1 if phrase.number is None else phrase.number, exact=exact)


def _asked_predicate(text: str) -> Claim | None:
    """``the circle red``: the longest first part with a noun that leaves a description behind it."""
    words = text.split()
    for cut in range(len(words) - 1, 0, -1):
        subject, predicate = read_phrase(" ".join(words[:cut])), read_phrase(" ".join(words[cut:]))
        if subject is not None and subject.named and predicate is not None and predicate.kind != Description():
            return Attributed(subject.kind, predicate.kind)
    return None
