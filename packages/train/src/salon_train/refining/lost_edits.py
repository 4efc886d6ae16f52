"""When stage II has stopped to pay: the editor or the judge of its pictures fails, and only the verdict is learned.

R_reason goes on giving numbers then, so no other check sees it.
"""

from typing import TYPE_CHECKING, Final

from salon_train.trainers.degeneration import degenerated

if TYPE_CHECKING:
    from salon_train.trainers.policy import SampledCompletions

REWARD: Final = "rectification"
_WHAT: Final = "the reward of stage II abstained and paid for nothing"
_HINT: Final = "Look at the editor (and at refine.judge): log.jsonl counts rewards/rectification/abstained."


class LostEdits:
    """A listener that ends a run when, for some generation batches in a row, stage II abstained and paid for nothing.

    Args:
        most: how many are too many; 0: never.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lost = 0

    def __call__(self, sampled: "SampledCompletions") -> None:
        """Look at one generation batch.

        Raises:
            DegeneratedError: when it is one lost batch too many.
        """
        paid = any((each.rewards.get(REWARD) or 0.0) > 0 for each in sampled.completions)
        self._lost = self._lost + 1 if sampled.abstained.get(REWARD) and not paid else 0
        if self._most and self._lost >= self._most:
            raise degenerated("unscored", sampled.step, self._lost, _WHAT, _HINT)
