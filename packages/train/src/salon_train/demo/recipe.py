"""How large the experiments are: pictures, model, steps, rates. Every number that a result depends on, but the seed."""

from dataclasses import dataclass, field
from typing import Final

from salon_taxonomy.errors import InputError
from salon_train.models import TinyShape

QUESTION: Final = "Is anything wrong?"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Sizes of the experiments.

    Attributes:
        pictures: drawn to learn from.
        reasoned: so many of them, the first ones, have reasoning: the chain-of-thought set, which the cold start imitates.
        held_out: drawn to measure with, never learned from; the four labels equally often.
        difficulty: of the drawing, 0 to 1.
        right_hands: how often a right hand, foot or face is kept in the pictures to learn from (see ``Balance``); 1 in the
            held-out ones.
        shape: of the tiny model.
        sft_steps, sft_rate: of the cold start; the rate falls linearly to 0.
        teacher_misses: share of the artifacts that the under-reporting teacher calls normal.
        bias_steps, bias_rate: of the imitation of that teacher, after the cold start.
        grpo_steps, grpo_rate: of GRPO.
        prompts: pictures per step, a multiple of 8.
        group: answers per picture.
        resampled: how many times more often a hard positive is shown with positive resampling.
        consistency: weight of the consistency reward, beside the 15 of the labels.
        every: steps between two measurements.

    Raises:
        InputError: for more pictures with reasoning than pictures.
    """

    pictures: int = 3000
    reasoned: int = 3000
    held_out: int = 400
    difficulty: float = 0.0
    right_hands: float = 0.3
    shape: TinyShape = field(default_factory=lambda: TinyShape(image_size=64, patch_size=16))
    sft_steps: int = 300
    sft_rate: float = 1.5e-3
    teacher_misses: float = 0.6
    bias_steps: int = 30
    bias_rate: float = 5e-4
    grpo_steps: int = 100
    grpo_rate: float = 1e-4
    prompts: int = 8
    group: int = 8
    resampled: float = 2.0
    consistency: float = 4.0
    every: int = 20

    def __post_init__(self) -> None:
        if self.reasoned > self.pictures:
            raise InputError(f"must be at most the {self.pictures} pictures", column="reasoned", value=self.reasoned)


QUICK: Final = Recipe(pictures=400, reasoned=400, held_out=80, sft_steps=60, bias_steps=8, grpo_steps=8, every=4)
"""So small that nothing is learned; to see that everything runs."""
QUICK_WARNING: Final = "--quick trains for a few steps only: these numbers say nothing about the method."
"""What a run of :data:`QUICK` prints and its page begins with."""
