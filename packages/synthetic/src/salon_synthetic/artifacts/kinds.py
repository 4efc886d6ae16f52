"""Define every kind of drawn artifact: its MagicMirror label, its figure, and its sentence.

One row a kind. A sentence names exactly one label, so that reasoning can be held against an answer by rule; a figure that is
drawn right has a sentence too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from salon_taxonomy.answers import Artifact

_ATTRIBUTES = "L2: Irrational Element Attributes"
_INTERACTION = "L2: Irrational Element Interaction"
_HUMAN = "L2: Abnormal Human Anatomy"
_ANIMAL = "L2: Abnormal Animal Anatomy"
_OBJECT = "L2: Abnormal Object Morphology"


class Subject(StrEnum):
    """What a picture shows. The value is the word in prompts and identifiers."""

    HAND = "hand"
    FOOT = "foot"
    FACE = "face"
    PERSON = "person"
    ANIMAL = "animal"
    OBJECT = "object"
    TABLE = "table"


HARD_SUBJECTS: Final = frozenset({Subject.HAND, Subject.FOOT, Subject.FACE})
"""Drawn right, these are hard positives: generators often fail at them (MagicMirror, section 3.1, names hands)."""

SOUND: Mapping[Subject, str] = MappingProxyType(
    {
        Subject.HAND: "The hand has five fingers.",
        Subject.FOOT: "The foot has five toes.",
        Subject.FACE: "The face is even.",
        Subject.PERSON: "The person is built right.",
        Subject.ANIMAL: "The animal is built right.",
        Subject.OBJECT: "The object is whole.",
        Subject.TABLE: "The things stand right.",
    }
)
"""What reasoning says about a figure that was drawn right."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of planted artifact.

    Attributes:
        name: in code, options and data sets.
        artifact: its L2 label and, where that has some, its one L3 label.
        subject: the figure that shows it.
        reason: the sentence that names it.
    """

    name: str
    artifact: Artifact
    subject: Subject
    reason: str


def _kind(name: str, l2: str, l3: str | None, subject: Subject, reason: str) -> Kind:
    return Kind(name, Artifact(l2, (f"L3: {l3}",) if l3 else ()), subject, reason)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _kind("extra-finger", _HUMAN, "Hand Structure Deformity", Subject.HAND, "The hand has too many fingers."),
            _kind("missing-finger", _HUMAN, "Hand Structure Deformity", Subject.HAND, "The hand has too few fingers."),
            _kind("bent-finger", _HUMAN, "Hand Structure Deformity", Subject.HAND, "A finger bends the wrong way."),
            _kind("extra-toe", _HUMAN, "Foot Structure Deformity", Subject.FOOT, "The foot has too many toes."),
            _kind("missing-toe", _HUMAN, "Foot Structure Deformity", Subject.FOOT, "The foot has too few toes."),
            _kind("extra-eye", _HUMAN, "Facial Structure Deformity", Subject.FACE, "The face has an eye too many."),
            _kind("missing-eye", _HUMAN, "Facial Structure Deformity", Subject.FACE, "The face lacks an eye."),
            _kind("uneven-face", _HUMAN, "Facial Structure Deformity", Subject.FACE, "The face is not even."),
            _kind("extra-arm", _HUMAN, "Limb Structure Deformity", Subject.PERSON, "The person has an arm too many."),
            _kind("missing-arm", _HUMAN, "Limb Structure Deformity", Subject.PERSON, "The person lacks an arm."),
            _kind("extra-leg", _HUMAN, "Limb Structure Deformity", Subject.PERSON, "The person has a leg too many."),
            _kind("missing-leg", _HUMAN, "Limb Structure Deformity", Subject.PERSON, "The person lacks a leg."),
            _kind("long-arm", _HUMAN, "Limb Structure Deformity", Subject.PERSON, "One arm is far too long."),
            _kind("kinked-trunk", _HUMAN, "Trunk Structure Deformity", Subject.PERSON, "The trunk is kinked."),
            _kind(
                "leaning-person",
                _HUMAN,
                "Abnormal and Uncoordinated Posture",
                Subject.PERSON,
                "The person leans without falling.",
            ),
            _kind("several-parts", _HUMAN, "Abnormal Human Anatomy", Subject.PERSON, "Several parts of the body are wrong."),
            _kind("animal-extra-leg", _ANIMAL, "Abnormal Limb Structure", Subject.ANIMAL, "The animal has legs too many."),
            _kind("animal-missing-leg", _ANIMAL, "Abnormal Limb Structure", Subject.ANIMAL, "The animal lacks legs."),
            _kind("animal-two-heads", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The animal has two heads."),
            _kind("animal-no-head", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The animal lacks a head."),
            _kind("animal-large-ear", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The ear is far too large."),
            _kind("animal-handstand", _ANIMAL, "Abnormal Posture Presentation", Subject.ANIMAL, "The animal is upside down."),
            _kind("object-missing-part", _OBJECT, None, Subject.OBJECT, "The object lacks a part."),
            _kind("object-loose-part", _OBJECT, None, Subject.OBJECT, "A part of the object hangs loose."),
            _kind("object-extra-part", _OBJECT, None, Subject.OBJECT, "The object has a part too many."),
            _kind("object-bent-part", _OBJECT, None, Subject.OBJECT, "The object is out of shape."),
            _kind("sunken", _INTERACTION, "Abnormal Element Overlap", Subject.TABLE, "One thing runs into another."),
            _kind("floating", _INTERACTION, "Abnormal Spatial Position", Subject.TABLE, "A thing floats in the air."),
            _kind(
                "wrong-shadow",
                _INTERACTION,
                "Abnormal Light and Shadow Effect",
                Subject.TABLE,
                "The shadow falls wrong.",
            ),
            _kind("wrong-size", _ATTRIBUTES, "Abnormal Element Proportion", Subject.TABLE, "The sizes do not fit together."),
        )
    }
)
"""Every kind that is drawn, by its name; those of one L2 label stand together."""

PHOTOGRAPH_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            _kind("animal-extra-eye", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The animal has an eye too many."),
            _kind("animal-missing-eye", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The animal lacks an eye."),
            _kind("animal-twisted-head", _ANIMAL, "Abnormal Head Structure", Subject.ANIMAL, "The head is twisted."),
        )
    }
)
"""Kinds that only photographs show."""

ALL_KINDS: Mapping[str, Kind] = MappingProxyType({**KINDS, **PHOTOGRAPH_KINDS})
"""Every kind by its name."""
