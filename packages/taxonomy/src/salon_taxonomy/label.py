"""The parts of a taxonomy file: its header, its labels, and their kinds of text and number.

Every model here is frozen. Texts are free of control characters, so they can be shown on a terminal and written to XML.
"""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)


def _plain(text: str) -> str:
    """Refuse what neither a terminal nor XML may be given: control characters, surrogates, non-characters."""
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs"} or ord(character) & 0xFFFE == 0xFFFE:
            raise ValueError(f"the character {character!a} is not allowed")
    return text


def _one_line(value: object) -> object:
    """Return the text with one space for every run of white space, line ends included; the ends are trimmed."""
    return " ".join(value.split()) if isinstance(value, str) else value


Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]
"""A stable id: lower-case letters, digits and single hyphens. It never changes once it is published; names may."""
Name = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(_one_line), AfterValidator(_plain)]
"""What people and judges call something; one line."""
Text = Annotated[str, Field(min_length=1, max_length=4000), BeforeValidator(_one_line), AfterValidator(_plain)]
"""Prose; written over several lines it becomes one."""
Counts = Annotated[Mapping[Name, Annotated[StrictInt, Field(ge=0)]], Field(default_factory=dict)]
"""Published counts by what was counted: ``{"train": 162, "test": 72}``."""
Percentage = Annotated[StrictFloat | StrictInt, Field(ge=0, le=100, allow_inf_nan=False)]


class Frozen(BaseModel):
    """The base of the models: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Deduction(Frozen):
    """The points that a judge takes off for one kind of failure: from ``low`` to ``high``, both 0 or more."""

    name: Name
    low: Annotated[StrictInt, Field(ge=0)]
    high: Annotated[StrictInt, Field(ge=0)]
    definition: Text

    @model_validator(mode="after")
    def _ordered(self) -> "Deduction":
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self


class Label(Frozen):
    """A node of a taxonomy.

    ``name`` is the published spelling and need not be unique in the tree (MagicMirror has two labels called *Abnormal Human
    Anatomy*); ``id`` is. ``answer`` is how a judge spells the label in its answers where that is not the name. ``counts`` and
    ``shares`` (percent) are published figures; an absent figure was not published. ``criterion`` and ``deductions`` say how a
    judge scores what falls under the label, where the taxonomy is one of scoring tracks.

    Example:
        >>> label = Label(id="hand", name="Hand", definition="A hand with the wrong number of fingers.", counts={"test": 3})
        >>> label.spelling, label.counts["test"], label.parent
        ('Hand', 3, None)
    """

    id: Slug
    name: Name
    definition: Text
    parent: Slug | None = None
    tier: Name | None = None
    source: Name | None = Field(default=None, description="the table or section of the taxonomy's source")
    answer: Name | None = None
    aliases: tuple[Name, ...] = ()
    tags: tuple[Slug, ...] = ()
    counts: Counts
    shares: Annotated[Mapping[Name, Percentage], Field(default_factory=dict)]
    criterion: Text | None = None
    deductions: tuple[Deduction, ...] = ()

    @property
    def spelling(self) -> str:
        """How a judge is asked to spell this label: ``answer``, or the name."""
        return self.answer or self.name

    def __hash__(self) -> int:
        """By id; labels are equal only if everything about them is."""
        return hash(self.id)


class Grammar(StrEnum):
    """In which form a judge answers in a taxonomy; ``schema.py`` turns it into a JSON Schema."""

    TREE = "tree"
    """MagicMirror: normal or not, and the labels by their parents."""
    LETTERS = "letters"
    """Artifact-Bench: the letters of those options that hold, or the labels themselves."""
    REFINE = "refine"
    """R³: verdict, explanation and edit instruction."""
    SCORE = "score"
    """PRISM: justification and a score from 0 to 10."""
    LABELS = "labels"
    """A list of labels."""


class Source(Frozen):
    """Where a taxonomy comes from: the title of a paper, and where in it."""

    title: Name
    where: Name | None = None


class TaxonomyHeader(Frozen):
    """What a taxonomy says of itself before its labels.

    ``tiers`` names the levels from the root down; a label may skip levels but never climb. ``answer_tiers`` are the tiers
    whose labels a judge may answer with; without it those are the leaves.
    """

    name: Slug
    title: Name
    description: Text | None = None
    media: Literal["image", "video", "text"] = "image"
    grammar: Grammar = Grammar.LABELS
    tiers: tuple[Name, ...] = ()
    answer_tiers: tuple[Name, ...] = ()
    source: Source | None = None
    counts: Counts
    guidelines: tuple[Text, ...] = ()

    @field_validator("tiers")
    @classmethod
    def _each_tier_once(cls, tiers: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(tiers)) < len(tiers):
            raise ValueError("a tier is named twice in")
        return tiers

    @field_validator("answer_tiers")
    @classmethod
    def _tiers_are_declared(cls, wanted: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not set(wanted) <= set(info.data.get("tiers", wanted)):
            raise ValueError("every answer tier must be one of the tiers, unlike")
        return wanted
