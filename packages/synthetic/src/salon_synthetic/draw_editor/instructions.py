"""English instructions to commands, by a small grammar. What it does not cover is an error that says so, never a guess.

add | remove | change (colour, shape, texture, size) | move | swap | set the count | tie | untie
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from salon_synthetic.scenes.claims import Description
from salon_synthetic.scenes.reading import LONGEST_TEXT, RELATION, Phrase, read_phrase
from salon_synthetic.scenes.vocabulary import Relation
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class Add:
    """Draw new objects, beside another one where ``relation`` is given."""

    kind: Description
    number: int
    relation: Relation | None = None
    other: Description | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take objects away; ``number`` None: all of the kind."""

    kind: Description
    number: int | None


@dataclass(frozen=True, slots=True)
class ChangeAttributes:
    """Give objects of a kind other attributes; ``number`` None: all of them. ``larger`` steps the size up (1) or down (-1)."""

    kind: Description
    number: int | None
    to: Description
    larger: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """Put an object on a side of another one, or, without another, towards a side of the picture."""

    kind: Description
    relation: Relation
    other: Description | None


@dataclass(frozen=True, slots=True)
class Swap:
    """Two objects change places."""

    kind: Description
    other: Description


@dataclass(frozen=True, slots=True)
class SetCount:
    """Add or remove objects until there are so many of a kind."""

    kind: Description
    number: int


@dataclass(frozen=True, slots=True)
class Tie:
    """A string from one object to another."""

    kind: Description
    other: Description


@dataclass(frozen=True, slots=True)
class Untie:
    """No string between two objects; ``other`` None: no string at the object at all."""

    kind: Description
    other: Description | None


Command: TypeAlias = Add | Remove | ChangeAttributes | Move | Swap | SetCount | Tie | Untie

_VERBS: Final = (
    "add|draw|put|insert|place|create|include|remove|delete|erase|take|get rid|make|turn|change|paint|recolou?r|repaint|"
    "colou?r|replace|move|shift|bring|slide|swap|exchange|switch|tie|connect|link|attach|untie|disconnect|detach|enlarge|shrink|"
    "set|increase|reduce|there should|ensure"
)
_SENTENCES: Final = re.compile(rf"[.;!\n]+|,?\s*\b(?:and\s+)?then\b\s*|,?\s+and\s+(?=(?:{_VERBS})\b)|,\s*(?=(?:{_VERBS})\b)")
_POLITE: Final = re.compile(
    r"^(?:please|kindly|now|also|next|first|finally|can you|could you|edit the (?:image|picture) to)\s+"
)
_PICTURE: Final = re.compile(r"\s*\b(?:in|to|into|on|from|of) the (?:image|picture|scene|canvas|drawing|photo)\b")
_SIDES: Final = {
    "left": Relation.LEFT,
    "right": Relation.RIGHT,
    "up": Relation.ABOVE,
    "upward": Relation.ABOVE,
    "upwards": Relation.ABOVE,
    "top": Relation.ABOVE,
    "down": Relation.BELOW,
    "downward": Relation.BELOW,
    "downwards": Relation.BELOW,
    "bottom": Relation.BELOW,
}
_MOST_COMMANDS: Final = 20
_HINT: Final = (
    "Say it like: Make the blue star red. Add two small circles above the star. Move the star to the left of the cross."
)


def read_instruction(text: str) -> tuple[Command, ...]:
    """Return the commands of an instruction, in its order.

    Raises:
        InputError: when any part of it is not understood, is too long, or says nothing.

    Example:
        >>> read_instruction("Make the blue star red, then remove one circle.")[1]
        Remove(kind=Description(shape=<Shape.CIRCLE: 'circle'>, colour=None, texture=None, size=None), number=1)
        >>> read_instruction("Change the prompt.")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: column 'instruction': is not understood 'change the prompt'
        Say it like: Make the blue star red. Add two small circles above the star. Move the star to the left of the cross.
    """
    if len(text) > LONGEST_TEXT:
        raise InputError(f"is longer than {LONGEST_TEXT} characters", column="instruction")
    parts = [part.strip(" ,") for part in _SENTENCES.split(text.lower())]
    parts = [part for part in parts if part]
    if not 0 < len(parts) <= _MOST_COMMANDS:
        raise InputError(f"holds {len(parts)} commands, not 1 to {_MOST_COMMANDS}", column="instruction", hint=_HINT)
    return tuple(_command(part) for part in parts)


def _command(part: str) -> Command:
    text = _PICTURE.sub("", part)
    while (shorter := _POLITE.sub("", text)) != text:
        text = shorter
    for pattern, build in _PATTERNS:
        match = pattern.fullmatch(text.strip())
        command = build(match) if match is not None else None
        if command is not None:
            return command
    raise InputError("is not understood", column="instruction", value=part, hint=_HINT)


def _phrase(text: str) -> Phrase | None:
    """Return a phrase that names a thing, without what English adds to numbers."""
    phrase = read_phrase(re.sub(r"\b(?:more|extra|additional|new|exactly|only|just|all|every|each)\b", " ", text))
    return phrase if phrase is not None and phrase.named else None


def _number(phrase: Phrase, text: str) -> int | None:
    """Return how many objects a phrase means; None: all."""
    if re.search(r"\b(?:all|every|each)\b", text) or (phrase.plural and phrase.number is None):
        return None
    return 1 if phrase.number is None else phrase.number


def _pair(text: str) -> tuple[Phrase, Relation, Phrase] | None:
    relation = RELATION.search(text)
    if relation is None:
        return None
    first, second = _phrase(text[: relation.start()]), _phrase(text[relation.end() :])
    return None if first is None or second is None else (first, Relation(str(relation.lastgroup)), second)


def _add(match: re.Match[str]) -> Command | None:
    text = match["rest"]
    pair = _pair(text)
    if pair is not None:
        return None if pair[1] == Relation.TIED else Add(pair[0].kind, _number(pair[0], text) or 2, pair[1], pair[2].kind)
    phrase = _phrase(text)
    return None if phrase is None else Add(phrase.kind, _number(phrase, text) or 2)


def _remove(match: re.Match[str]) -> Command | None:
    phrase = _phrase(match["rest"])
    return None if phrase is None else Remove(phrase.kind, _number(phrase, match["rest"]))


def _change(match: re.Match[str]) -> Command | None:
    """``the blue star red``: the longest first part that names a thing and leaves something to say about it."""
    words = match["rest"].split()
    for cut in range(len(words) - 1, 0, -1):
        subject, wanted = " ".join(words[:cut]), " ".join(words[cut:])
        command = _changed(re.sub(r"\s(?:into|to|to be|be)$", "", subject), re.sub(r"^(?:into|to|to be|be)\s", "", wanted))
        if command is not None:
            return command
    return None


def _changed_to(match: re.Match[str]) -> Command | None:
    return _changed(match["subject"], match["said"])


def _changed(subject: str, wanted: str) -> Command | None:
    target = _phrase(subject)
    if target is None:
        return None
    step = {"larger": 1, "bigger": 1, "smaller": -1}.get(wanted.strip())
    if step is not None:
        return ChangeAttributes(target.kind, _number(target, subject), Description(), step)
    look = read_phrase(wanted)
    if look is None or look.kind == Description() or (look.exact and look.number != 1):
        return None
    return ChangeAttributes(target.kind, _number(target, subject), look.kind)


def _resize(match: re.Match[str]) -> Command | None:
    return _changed(match["rest"], "larger" if match["verb"] == "enlarge" else "smaller")


def _move(match: re.Match[str]) -> Command | None:
    pair = _pair(match["rest"])
    if pair is None or pair[1] == Relation.TIED:
        return None
    return Move(pair[0].kind, pair[1], pair[2].kind)


def _move_to_side(match: re.Match[str]) -> Command | None:
    phrase = _phrase(match["subject"])
    return None if phrase is None else Move(phrase.kind, _SIDES[match["side"]], None)


def _two(build: Callable[[Description, Description], Command]) -> Callable[[re.Match[str]], Command | None]:
    def read(match: re.Match[str]) -> Command | None:
        first, second = _phrase(match["first"]), _phrase(match["second"])
        return None if first is None or second is None else build(first.kind, second.kind)

    return read


def _untie_all(match: re.Match[str]) -> Command | None:
    phrase = _phrase(match["rest"])
    return None if phrase is None else Untie(phrase.kind, None)


def _count(match: re.Match[str]) -> Command | None:
    phrase = _phrase(f"{match['number']} {match['rest']}")
    return None if phrase is None or phrase.number is None else SetCount(phrase.kind, phrase.number)


_PATTERNS: Final = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (r"(?:remove|delete|erase) the (?:string|rope|line) between (?P<first>.+?) and (?P<second>.+)", _two(Untie)),
        (r"(?:add|draw|put) a (?:string|rope|line) between (?P<first>.+?) and (?P<second>.+)", _two(Tie)),
        (r"(?:untie|disconnect|detach) (?P<first>.+?) (?:from|and) (?P<second>.+)", _two(Untie)),
        (r"(?:untie|disconnect|detach) (?P<rest>.+)", _untie_all),
        (r"(?:tie|connect|link|attach) (?P<first>.+?) (?:to|with|and) (?P<second>.+)", _two(Tie)),
        (r"(?:swap|exchange|switch)(?: the (?:positions?|places?) of)? (?P<first>.+?) (?:and|with) (?P<second>.+)", _two(Swap)),
        (
            r"(?:change|set|increase|reduce) the number of (?P<rest>.+?)(?: from \w+)? to (?:exactly )?(?P<number>\w+)",
            _count,
        ),
        (
            r"(?:make sure|ensure|make it so)?(?: that)? ?there (?:are|is|should be) "
            r"(?:exactly |only )?(?P<number>\w+) (?P<rest>.+)",
            _count,
        ),
        (
            r"(?:change|set) the (?:colou?r|shape|texture|pattern|size) of "
            r"(?P<subject>.+?)(?: from [\w ]+?)? (?:in)?to (?P<said>.+)",
            _changed_to,
        ),
        (r"replace (?P<subject>.+?) (?:with|by) (?P<said>.+)", _changed_to),
        (r"(?P<verb>enlarge|shrink) (?P<rest>.+)", _resize),
        (r"(?:move|shift|put|place|bring|slide) (?P<rest>the .+)", _move),
        (
            rf"(?:move|shift|slide) (?P<subject>the .+?) (?:to the |towards? the )?"
            rf"(?P<side>{'|'.join(_SIDES)})(?: side| edge)?",
            _move_to_side,
        ),
        (r"(?:add|draw|put|insert|place|create|include) (?P<rest>.+)", _add),
        (r"(?:remove|delete|erase|take away|get rid of) (?P<rest>.+)", _remove),
        (r"(?:change|turn|make|paint|recolou?r|repaint|colou?r) (?P<subject>.+?) (?:into|to|to be) (?P<said>.+)", _changed_to),
        (r"(?:make|turn|paint|recolou?r|repaint|colou?r) (?P<rest>.+)", _change),
    )
)
"""Patterns in the order in which they are tried, and the meaning of each; None tries the next."""
