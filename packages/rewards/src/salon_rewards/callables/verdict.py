"""Is the verdict right: does the picture show what its prompt asks for, as the completion says?"""

from dataclasses import dataclass
from typing import ClassVar

from salon_rewards.abstaining import NO_TRUTH, Paid
from salon_rewards.batch import Batch
from salon_rewards.callables.reward import RuleReward
from salon_taxonomy.answers import Parsed


@dataclass(frozen=True)
class VerdictReward(RuleReward):
    """1 when the completion's verdict on the picture (R³) is the annotated one, else 0; 0 too when there is none.

    Source: paper 002, Equation 4, the term with λ_acc. Range: 0 or 1. Column: ``matches``.

    Attributes:
        truth: the column that says whether the picture matches its prompt: true or false; a row with None has no reward.

    Example:
        >>> reply = '{"answer": false, "explanation": "Two lemons.", "edit_prompt": "Add a lemon."}'
        >>> VerdictReward()([reply, reply, "It does not match."], matches=[False, True, False])
        [1.0, 0.0, 0.0]
    """

    truth: str = "matches"
    __name__: ClassVar[str] = "verdict"

    def score(self, batch: Batch) -> list[Paid]:
        """1.0 or 0.0 for each completion."""
        return [
            NO_TRUTH if true is None else float(isinstance(said, Parsed) and said.answer.matches is true)
            for said, true in zip(batch.said("r3"), batch.verdicts(self.truth), strict=True)
        ]
