"""Define one picture to learn from, with its true labels: readers and generators of data return it, trainers take it.

drawn pictures, MagicData340K ──► TrainingExample ──► chat messages ──► SFT, GRPO
                                      └── buckets ──► the multi-bucket sampler
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError

NORMAL: Final = "normal"
"""The bucket of pictures without artifacts."""
MAIN_BUCKETS: Final = (
    NORMAL,
    "L2: Irrational Element Interaction",
    "L2: Abnormal Human Anatomy",
    "L2: Abnormal Animal Anatomy",
    "L2: Abnormal Object Morphology",
)
"""The buckets of multi-bucket sampling (MagicMirror, section 3.1): normal, then the four main L2 labels, in Table 2's order."""
OTHER: Final = "other"
"""The bucket of artifacts that are none of the four main kinds; the paper's sampler draws none of them."""


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """One picture, its prompt, and its artifact labels.

    Attributes:
        example_id: stable and unique within a data set.
        image: the path of an encoded picture, or its bytes (PNG, JPEG).
        truth: the labels.
        prompt: the generator's prompt; None when unknown.
        reasoning: what a chain-of-thought row says before its answer; None in others.
        hard_positive: a normal picture of something that often goes wrong and was drawn right, such as a hand; positive
            resampling shows it more often (section 3.1).

    Raises:
        InputError: for an empty id, or a hard positive that is not normal.

    Example:
        >>> TrainingExample("0", b"...", MagicMirrorAnswer(normal=True)).buckets
        ('normal',)
    """

    example_id: str
    image: Path | bytes = field(repr=False)
    truth: MagicMirrorAnswer
    prompt: str | None = None
    reasoning: str | None = None
    hard_positive: bool = False

    def __post_init__(self) -> None:
        if not self.example_id:
            raise InputError("must not be empty", column="example_id", value=self.example_id)
        if self.hard_positive and not self.truth.normal:
            raise InputError("a hard positive is a normal picture", column="hard_positive", value=self.example_id)

    @property
    def buckets(self) -> tuple[str, ...]:
        """The buckets that it belongs to, in :data:`MAIN_BUCKETS`' order; a picture with two main labels is in two."""
        if self.truth.normal:
            return (NORMAL,)
        main = tuple(bucket for bucket in MAIN_BUCKETS if bucket in self.truth.labels)
        return main or (OTHER,)
