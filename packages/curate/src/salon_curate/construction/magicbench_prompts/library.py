"""The library that prompts are composed from: subjects by sub-category, scenes by place, styles and shots by class.

The bundled one is ``library.toml``, all in our own words; a file of the same form can take its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from salon_judges.formats.magicbench_subjects import SubCategory, SubjectClass
from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml

_PARTS = 3
_LONGEST = 300


class Place(StrEnum):
    """Where a subject can be met; scenes of another place are never joined with it."""

    INDOORS = "in"
    OUT_OF_DOORS = "out"
    UNDER_WATER = "water"


@dataclass(frozen=True, slots=True)
class Entity:
    """One subject.

    Attributes:
        category: the sub-category it belongs to.
        place: where it can be met.
        phrase: with its article or number: "a beekeeper", "two climbers".
        doing: what it does or how it stands, a verb first.
    """

    category: SubCategory
    place: Place
    phrase: str
    doing: str

    @property
    def subject(self) -> str:
        """What must be complete in the picture: the phrase without a leading article, unless it lists several things.

        Example:
            >>> Entity(SubCategory.HUMAN_SINGLE, Place.OUT_OF_DOORS, "an archer", "draws a bow").subject
            'archer'
        """
        article, _, rest = self.phrase.partition(" ")
        return rest if article in ("a", "an", "the") and rest and "," not in rest else self.phrase


@dataclass(frozen=True, slots=True)
class Library:
    """Everything that a prompt is joined from; every pool has at least one entry, and no entry occurs twice.

    Attributes:
        entities: by sub-category.
        scenes: by place.
        styles, shots: by class.
    """

    entities: Mapping[SubCategory, tuple[Entity, ...]]
    scenes: Mapping[Place, tuple[str, ...]]
    styles: Mapping[SubjectClass, tuple[str, ...]]
    shots: Mapping[SubjectClass, tuple[str, ...]]

    @classmethod
    def bundled(cls) -> "Library":
        """Return the library that ships with Salon.

        Example:
            >>> sum(len(entities) for entities in Library.bundled().entities.values())
            380
        """
        return cls.read(Path(__file__).with_name("library.toml"))

    @classmethod
    def read(cls, path: Path) -> "Library":
        """Read a library file.

        Raises:
            InputError: the file is missing or no TOML, a table or pool is missing or empty, or an entry is wrong or doubled.
        """
        document = read_toml(path)
        entities = {
            category: tuple(_entity(text, category, path) for text in _pool(document, "subjects", category, path))
            for category in SubCategory
        }
        for category, phrases in entities.items():
            _each_once([entity.phrase for entity in phrases], f"subjects.{category}", path)
        places = {entity.place for found in entities.values() for entity in found}
        return cls(
            entities,
            {place: _pool(document, "scenes", place, path) for place in Place if place in places},
            {each: _pool(document, "styles", each, path) for each in SubjectClass},
            {each: _pool(document, "shots", each, path) for each in SubjectClass},
        )


def _pool(document: Mapping[str, Any], table: str, name: str, path: Path) -> tuple[str, ...]:
    key = f"{table}.{name}"
    entries = document[table].get(name) if isinstance(document.get(table), dict) else None
    if not isinstance(entries, list) or not entries:
        raise InputError("needs a list of at least one text", source=path, key=key)
    for entry in entries:
        if not isinstance(entry, str) or not entry.strip() or len(entry) > _LONGEST or not entry.isprintable():
            raise InputError(f"must be one line of 1 to {_LONGEST} characters, not", source=path, key=key, value=entry)
    _each_once(entries, key, path)
    return tuple(entries)


def _each_once(entries: list[str], key: str, path: Path) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.casefold() in seen:
            raise InputError("occurs twice:", source=path, key=key, value=entry)
        seen.add(entry.casefold())


def _entity(text: str, category: SubCategory, path: Path) -> Entity:
    parts = [part.strip() for part in text.split("|")]
    key = f"subjects.{category}"
    if len(parts) != _PARTS or not all(parts):
        raise InputError("must read 'where | what | what it does', not", source=path, key=key, value=text)
    if parts[0] not in tuple(Place):
        raise InputError("unknown place", source=path, key=key, value=parts[0], allowed=Place)
    return Entity(category, Place(parts[0]), parts[1], parts[2])
