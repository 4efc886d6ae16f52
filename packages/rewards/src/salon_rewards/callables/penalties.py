"""Penalties, rewards of 0 or less: for length, and for repetition."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from salon_rewards.batch import Batch
from salon_rewards.callables.reward import RuleReward
from salon_rewards.group_mask import Paid
from salon_taxonomy.errors import InputError

TOKENS: Final = "tokens"
"""The unit for which a trainer's column ``completion_ids`` is taken, a list of token ids for each completion."""


class Penalty(RuleReward):
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
        """Return the penalty of each completion, 0 or below."""
        if self.unit == TOKENS:
            return [self.cost(ids) for ids in batch.column("completion_ids")]
        return [self.cost(self.parts(text)) for text in batch.texts]

    @abstractmethod
    def parts(self, text: str) -> Sequence[Any]:
        """Return the parts of a text."""

    @abstractmethod
    def cost(self, parts: Sequence[Any]) -> float:
        """Return what so many parts, or these, cost."""


@dataclass(frozen=True)
class LengthPenalty(Penalty):
    """0 up to ``longest`` − ``buffer``, then falling in a straight line to −1 at ``longest``, and −1 beyond.

    Source: DAPO (arXiv 2503.14476), Equation 13, soft overlong punishment, which counts tokens: ``unit="tokens"``. The default
    counts characters, which every caller has; its numbers are ours. DAPO's own are ``longest=20_480, buffer=4_096`` tokens.
    Range: −1 to 0.

    Attributes:
        longest: the length that costs everything, in ``unit``.
        buffer: how far before it the penalty begins, in ``unit``.
        unit: ``characters``, or ``tokens``, which needs the column ``completion_ids`` that trainers pass.

    Raises:
        InputError: for a length below 1, a buffer that is not between 0 and it, or another unit.

    Example:
        >>> LengthPenalty(longest=10, buffer=4)(["x" * count for count in (6, 7, 10, 11)])
        [0.0, -0.25, -1.0, -1.0]
        >>> LengthPenalty(longest=10, buffer=4, unit="tokens")(["…", "…"], completion_ids=[range(7), range(10)])
        [-0.25, -1.0]
    """

    longest: int = 4096
    buffer: int = 1024
    unit: Literal["characters", "tokens"] = "characters"
    units: ClassVar[tuple[str, ...]] = ("characters", TOKENS)
    __name__: ClassVar[str] = "length"
    pays_for: ClassVar[str] = "a penalty for coming close to the longest completion, in characters, or in tokens as in DAPO"
    published_in: ClassVar[str] = "DAPO (arXiv 2503.14476), Eq. 13"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest < 1:
            raise InputError("must be 1 or more", column="longest", value=self.longest)
        if not 0 <= self.buffer <= self.longest:
            raise InputError(f"must lie between 0 and {self.longest}", column="buffer", value=self.buffer)

    def parts(self, text: str) -> Sequence[Any]:
        """Return its characters."""
        return text

    def cost(self, parts: Sequence[Any]) -> float:
        """Return what a completion of that length costs."""
        over = len(parts) - (self.longest - self.buffer)
        if over <= 0:
            return 0.0
        return -1.0 if len(parts) > self.longest or not self.buffer else -over / self.buffer


_SIGNS: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD_OR_SIGN: Final = re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]+")


@dataclass(frozen=True)
class RepetitionPenalty(Penalty):
    """Pay −(1 − different n-grams / all n-grams) · ``most``: 0 without repetition, towards −``most`` with nothing else.

    A completion of fewer than ``size`` words costs nothing.

    Source: "Demystifying Long Chain-of-Thought Reasoning in LLMs" (arXiv 2502.03373), appendix C.2, whose n-grams are
    of tokens. Range: −``most`` to 0.

    Attributes:
        size: n.
        most: the penalty for nothing but repetition.
        unit: ``words`` (apart by white space; of Chinese, Japanese and Korean every sign) or ``tokens``, which takes the
            column ``completion_ids`` that trainers pass.

    Raises:
        InputError: for a size below 1, a penalty that is negative or not finite, or another unit.

    Example:
        >>> RepetitionPenalty(size=2)(["one two three four", "no no no no no"])
        [0.0, -0.75]
    """

    size: int = 3
    most: float = 1.0
    unit: Literal["words", "tokens"] = "words"
    units: ClassVar[tuple[str, ...]] = ("words", TOKENS)
    __name__: ClassVar[str] = "repetition"
    pays_for: ClassVar[str] = "a penalty for repeated n-grams"
    published_in: ClassVar[str] = "Demystifying Long Chain-of-Thought Reasoning in LLMs (arXiv 2502.03373), appendix C.2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise InputError("must be 1 or more", column="size", value=self.size)
        if not 0 <= self.most < float("inf"):
            raise InputError("must be a finite number of 0 or more", column="most", value=self.most)

    def parts(self, text: str) -> Sequence[Any]:
        """Return its words, and signs of scripts that part no words."""
        return text.split() if text.isascii() else _WORD_OR_SIGN.findall(text)

    def cost(self, parts: Sequence[Any]) -> float:
        """Return what the repetitions among the parts cost."""
        count = len(parts) - self.size + 1
        if count < 2:
            return 0.0
        different = len(set(zip(*[parts[start:] for start in range(self.size)], strict=False)))
        return -self.most * (count - different) / count if different < count else 0.0
