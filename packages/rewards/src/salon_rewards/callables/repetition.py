"""A price for saying the same thing again and again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from salon_rewards.abstaining import Paid
from salon_rewards.batch import Batch
from salon_rewards.callables.reward import RuleReward
from salon_taxonomy.errors import InputError

_SIGNS: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD_OR_SIGN: Final = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")


@dataclass(frozen=True)
class RepetitionPenalty(RuleReward):
    """−(1 − different n-grams / all n-grams) · ``most``: 0 when no n words in a row stand twice, towards −``most`` when all do.

    A completion of fewer than ``size`` words costs nothing.

    Source: "Demystifying Long Chain-of-Thought Reasoning in LLMs" (arXiv 2502.03373), appendix C.2, whose n-grams are
    of tokens. Range: −``most`` to 0.

    Attributes:
        size: n.
        most: the price of nothing but repetition.
        unit: ``words`` (apart by white space; of Chinese, Japanese and Korean every sign) or ``tokens``, which takes the
            column ``completion_ids`` that trainers pass.

    Raises:
        InputError: for a size below 1, a price that is negative or not finite, or another unit.

    Example:
        >>> RepetitionPenalty(size=2)(["one two three four", "no no no no no"])
        [0.0, -0.75]
    """

    size: int = 3
    most: float = 1.0
    unit: Literal["words", "tokens"] = "words"
    __name__: ClassVar[str] = "repetition"
    lowest: ClassVar[float] = -1.0
    highest: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError("must be 1 or more", column="size", value=self.size)
        if not 0 <= self.most < float("inf"):
            raise InputError("must be a finite number of 0 or more", column="most", value=self.most)
        if self.unit not in ("words", "tokens"):
            raise InputError("unknown unit", column="unit", value=self.unit, allowed=("words", "tokens"))

    def score(self, batch: Batch) -> list[Paid]:
        """The price of each completion, 0 or below."""
        if self.unit == "tokens":
            return [self._price(ids) for ids in batch.column("completion_ids")]
        return [self._price(text.split() if text.isascii() else _WORD_OR_SIGN.findall(text)) for text in batch.texts]

    def _price(self, units: Sequence[Any]) -> float:
        count = len(units) - self.size + 1
        if count < 2:
            return 0.0
        different = len(set(zip(*[units[start:] for start in range(self.size)], strict=False)))
        return -self.most * (count - different) / count if different < count else 0.0
