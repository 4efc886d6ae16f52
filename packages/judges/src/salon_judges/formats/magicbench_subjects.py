"""What MagicBench's prompts are about: three classes of subject, eight sub-categories, and the label that counts for each.

MagicMirror, section 3.3 and Table 7; the names of the sub-categories are those of the released prompt file.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class SubjectClass(StrEnum):
    """What the main subject of a prompt is (the column ``class``)."""

    HUMAN = "human"
    ANIMAL = "animal"
    OBJECT = "object"


class SubCategory(StrEnum):
    """How many of it, and how they stand together (the column ``detail_class``); the paper has 100 prompts of each."""

    HUMAN_SINGLE = "human_single"
    HUMAN_DOUBLE = "human_double"
    HUMAN_MULTI = "human_multi"
    ANIMAL_SINGLE = "animal_single"
    ANIMAL_MULTI = "animal_multi"
    OBJECT_SINGLE = "object_single"
    OBJECT_MULTI = "object_multi"
    OBJECT_COMPO = "object_compo"

    @property
    def subject_class(self) -> SubjectClass:
        """The class that it belongs to."""
        return SubjectClass(self.value.partition("_")[0])


class Dimension(StrEnum):
    """What the rows of one picture say; a value of 1 is good news, 0 bad news."""

    SUBJECT = "subject"
    """The complete subject is in the picture (stage A)."""
    NORMAL = "normal"
    """The assessor calls the picture normal (stage B)."""
    INTERACTION = "interaction"
    """The assessor did not give ``L2: Irrational Element Interaction``."""
    HUMAN = "human"
    """The assessor did not give ``L2: Abnormal Human Anatomy``."""
    ANIMAL = "animal"
    """The assessor did not give ``L2: Abnormal Animal Anatomy``."""
    OBJECT = "object"
    """The assessor did not give ``L2: Abnormal Object Morphology``."""
    OVERALL = "overall"
    """Both stages together: the subject is there and the assessor calls the picture normal."""


COUNTED_LABELS: Mapping[Dimension, str] = MappingProxyType(
    {
        Dimension.INTERACTION: "L2: Irrational Element Interaction",
        Dimension.HUMAN: "L2: Abnormal Human Anatomy",
        Dimension.ANIMAL: "L2: Abnormal Animal Anatomy",
        Dimension.OBJECT: "L2: Abnormal Object Morphology",
    }
)
"""The four labels that have a score of their own. The other two L2 labels count towards ``overall`` alone."""

CLASS_NAMES: Mapping[str, SubjectClass] = MappingProxyType(
    {**{each.value: each for each in SubjectClass}, "person": SubjectClass.HUMAN}
)
"""How prompt files spell a class; the released scorer takes ``person`` for ``human`` as well."""
