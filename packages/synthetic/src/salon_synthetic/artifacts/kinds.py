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


_Rows = Mapping[tuple[str, str | None, Subject], Mapping[str, str]]
"""By L2 label, L3 label and figure: the sentence of each kind by its name."""


def _kinds(rows: _Rows) -> Mapping[str, Kind]:
    return MappingProxyType(
        {
            name: Kind(name, Artifact(l2, (f"L3: {l3}",) if l3 else ()), subject, reason)
            for (l2, l3, subject), reasons in rows.items()
            for name, reason in reasons.items()
        }
    )


KINDS: Final = _kinds(
    {
        (_HUMAN, "Hand Structure Deformity", Subject.HAND): {
            "extra-finger": "The hand has too many fingers.",
            "missing-finger": "The hand has too few fingers.",
            "bent-finger": "A finger bends the wrong way.",
        },
        (_HUMAN, "Foot Structure Deformity", Subject.FOOT): {
            "extra-toe": "The foot has too many toes.",
            "missing-toe": "The foot has too few toes.",
        },
        (_HUMAN, "Facial Structure Deformity", Subject.FACE): {
            "extra-eye": "The face has an eye too many.",
            "missing-eye": "The face lacks an eye.",
            "uneven-face": "The face is not even.",
        },
        (_HUMAN, "Limb Structure Deformity", Subject.PERSON): {
            "extra-arm": "The person has an arm too many.",
            "missing-arm": "The person lacks an arm.",
            "extra-leg": "The person has a leg too many.",
            "missing-leg": "The person lacks a leg.",
            "long-arm": "One arm is far too long.",
        },
        (_HUMAN, "Trunk Structure Deformity", Subject.PERSON): {
            "kinked-trunk": "The trunk is kinked.",
        },
        (_HUMAN, "Abnormal and Uncoordinated Posture", Subject.PERSON): {
            "leaning-person": "The person leans without falling.",
        },
        (_HUMAN, "Abnormal Human Anatomy", Subject.PERSON): {
            "several-parts": "Several parts of the body are wrong.",
        },
        (_ANIMAL, "Abnormal Limb Structure", Subject.ANIMAL): {
            "animal-extra-leg": "The animal has legs too many.",
            "animal-missing-leg": "The animal lacks legs.",
        },
        (_ANIMAL, "Abnormal Head Structure", Subject.ANIMAL): {
            "animal-two-heads": "The animal has two heads.",
            "animal-no-head": "The animal lacks a head.",
            "animal-large-ear": "The ear is far too large.",
        },
        (_ANIMAL, "Abnormal Posture Presentation", Subject.ANIMAL): {
            "animal-handstand": "The animal is upside down.",
        },
        (_OBJECT, None, Subject.OBJECT): {
            "object-missing-part": "The object lacks a part.",
            "object-loose-part": "A part of the object hangs loose.",
            "object-extra-part": "The object has a part too many.",
            "object-bent-part": "The object is out of shape.",
        },
        (_INTERACTION, "Abnormal Element Overlap", Subject.TABLE): {
            "sunken": "One thing runs into another.",
        },
        (_INTERACTION, "Abnormal Spatial Position", Subject.TABLE): {
            "floating": "A thing floats in the air.",
        },
        (_INTERACTION, "Abnormal Light and Shadow Effect", Subject.TABLE): {
            "wrong-shadow": "The shadow falls wrong.",
        },
        (_ATTRIBUTES, "Abnormal Element Proportion", Subject.TABLE): {
            "wrong-size": "The sizes do not fit together.",
        },
    }
)
"""Every kind that is drawn, by its name; those of one L2 label stand together."""
