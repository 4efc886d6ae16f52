"""How long the mock server thinks before it answers."""

import random
from dataclasses import dataclass

from salon_taxonomy.errors import InputError

_HINT = "Write milliseconds: 5 (always), 2-10 (evenly between), or exp:5 (exponential with that mean)."


@dataclass(frozen=True, slots=True)
class Latency:
    """A distribution of waiting times.

    Attributes:
        low_ms: the shortest, in milliseconds.
        high_ms: the longest of an even distribution; equal to ``low_ms`` for a fixed time.
        mean_ms: of an exponential distribution that is added to ``low_ms``; 0: none.

    Example:
        >>> Latency.parse("5").draw_s(random.Random(0))
        0.005
        >>> Latency.parse("2-10")
        Latency(low_ms=2.0, high_ms=10.0, mean_ms=0.0)
    """

    low_ms: float = 0.0
    high_ms: float = 0.0
    mean_ms: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.low_ms <= self.high_ms < float("inf") and 0 <= self.mean_ms < float("inf")):
            raise InputError("latencies are 0 or more, the lower one first", key="latency", value=(self.low_ms, self.high_ms))

    @classmethod
    def fixed(cls, milliseconds: float) -> "Latency":
        """Always the same."""
        return cls(milliseconds, milliseconds)

    @classmethod
    def parse(cls, text: str) -> "Latency":
        """Read ``5``, ``2-10`` or ``exp:5``, in milliseconds.

        Raises:
            InputError: for anything else.
        """
        try:
            if text.startswith("exp:"):
                return cls(mean_ms=float(text.removeprefix("exp:")))
            low, dash, high = text.partition("-")
            return cls(float(low), float(high if dash else low))
        except ValueError as error:
            raise InputError("not a latency", key="latency", value=text, hint=_HINT) from error

    def draw_s(self, generator: random.Random) -> float:
        """One waiting time, in seconds."""
        wait = self.low_ms if self.low_ms == self.high_ms else generator.uniform(self.low_ms, self.high_ms)
        return (wait + generator.expovariate(1 / self.mean_ms) if self.mean_ms else wait) / 1000
