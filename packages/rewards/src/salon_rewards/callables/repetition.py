"""A price for saying the same thing again and again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from salon_rewards.callables.price import TOKENS, Price
from salon_taxonomy.errors import InputError

_SIGNS: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD_OR_SIGN: Final = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")


@dataclass(frozen=True)
class RepetitionPenalty(Price):
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
    units: ClassVar[tuple[str, ...]] = ("words", TOKENS)
    __name__: ClassVar[str] = "repetition"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise InputError("must be 1 or more", column="size", value=self.size)
        if not 0 <= self.most < float("inf"):
            raise InputError("must be a finite number of 0 or more", column="most", value=self.most)

    def parts(self, text: str) -> Sequence[Any]:
        """Its words, and signs of scripts that part no words."""
        return text.split() if text.isascii() else _WORD_OR_SIGN.findall(text)

    def price(self, parts: Sequence[Any]) -> float:
        """What the repetitions among the parts cost."""
        count = len(parts) - self.size + 1
        if count < 2:
            return 0.0
        different = len(set(zip(*[parts[start:] for start in range(self.size)], strict=False)))
        return -self.most * (count - different) / count if different < count else 0.0
