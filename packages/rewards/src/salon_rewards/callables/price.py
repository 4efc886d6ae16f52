"""What a completion costs: rewards of 0 or less that count its tokens, or parts of its text."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from salon_rewards.abstaining import Paid
from salon_rewards.batch import Batch
from salon_rewards.callables.reward import RuleReward
from salon_taxonomy.errors import InputError

TOKENS: Final = "tokens"
"""The unit for which a trainer's column ``completion_ids`` is taken, a list of token ids for each completion."""


class Price(RuleReward):
    """A reward of 0 or less, told from a completion's parts.

    Attributes:
        unit: which parts, one of ``units``.
        units: how a text can be taken apart.
    """

    unit: str
    units: ClassVar[tuple[str, ...]]
    lowest: ClassVar[float] = -1.0
    highest: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if self.unit not in self.units:
            raise InputError("unknown unit", column="unit", value=self.unit, allowed=self.units)

    def score(self, batch: Batch) -> list[Paid]:
        """The price of each completion, 0 or below."""
        if self.unit == TOKENS:
            return [self.price(ids) for ids in batch.column("completion_ids")]
        return [self.price(self.parts(text)) for text in batch.texts]

    @abstractmethod
    def parts(self, text: str) -> Sequence[Any]:
        """The parts of a text."""

    @abstractmethod
    def price(self, parts: Sequence[Any]) -> float:
        """What so many parts, or these, cost."""
