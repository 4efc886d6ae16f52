"""Faults and latencies that the mock server produces on purpose."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from salon_taxonomy.errors import InputError


class ServerFault(StrEnum):
    """One way in which a request ends badly. The value is its name in scripts and on the command line."""

    TOO_MANY = "429"
    """HTTP 429, with ``Retry-After`` when the script says how long."""
    SERVER_ERROR = "500"
    """HTTP 500."""
    UNAVAILABLE = "503"
    """HTTP 503, with ``Retry-After`` when the script says how long."""
    HANG = "hang"
    """Never answers; the client has to lose its patience."""
    SLOW_LORIS = "slow_loris"
    """Answers one byte at a time, so slowly that it will not be done."""
    CUT = "cut"
    """Closes the connection without a word."""
    CUT_REPLY = "cut_reply"
    """Closes the connection in the middle of the reply."""
    TRUNCATED_JSON = "truncated_json"
    """A whole HTTP reply whose JSON breaks off."""
    WRONG_TYPE = "wrong_type"
    """An HTML page with status 200, as proxies send it."""
    EMPTY = "empty"
    """A completion without text."""
    MALFORMED = "malformed"
    """A completion that does not follow the grammar it was asked for."""
    REFUSAL = "refusal"
    """The model declines."""
    LENGTH = "length"
    """Half of the text, and ``finish_reason`` says that it was cut off."""


_RATE_HINT = "Write NAME=RATE: 429=0.05."
_LATENCY_HINT = "Write milliseconds: 5 (always), 2-10 (evenly between), or exp:5 (exponential with that mean)."
ANSWERED = frozenset({ServerFault.EMPTY, ServerFault.MALFORMED, ServerFault.REFUSAL, ServerFault.LENGTH})
"""Faults of a reply that was delivered whole: a real server would be paid for it."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each fault happens, drawn again for each request.

    Attributes:
        rates: shares of all requests, each from 0 to 1, together at most 1.

    Raises:
        InputError: for a rate out of its range, or rates that add up to more than 1.

    Example:
        >>> FaultRates({ServerFault.TOO_MANY: 0.05, ServerFault.CUT: 0.05}).draw(random.Random(4))
        >>> FaultRates({ServerFault.CUT: 1.0}).draw(random.Random(4))
        <ServerFault.CUT: 'cut'>
    """

    rates: Mapping[ServerFault, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for fault, rate in self.rates.items():
            if not 0 <= rate <= 1:
                raise InputError("a rate of faults lies from 0 to 1", key=fault.value, value=rate)
        if sum(self.rates.values()) > 1 + 1e-9:
            raise InputError("rates of faults add up to 1 at most", value=sum(self.rates.values()))

    @classmethod
    def parse(cls, texts: tuple[str, ...]) -> "FaultRates":
        """Read ``NAME=RATE`` texts: ``429=0.05``.

        Raises:
            InputError: the name is unknown, or the rate is not a number.

        Example:
            >>> FaultRates.parse(("429=0.05", "cut=0.1")).rates[ServerFault.CUT]
            0.1
        """
        rates: dict[ServerFault, float] = {}
        for text in texts:
            name, _, rate = text.partition("=")
            if name not in set(ServerFault):
                raise InputError("unknown fault", value=name, allowed=list(ServerFault), hint=_RATE_HINT)
            try:
                rates[ServerFault(name)] = float(rate)
            except ValueError as error:
                raise InputError("a rate of faults is a number", key=name, value=rate, hint=_RATE_HINT) from error
        return cls(rates)

    def draw(self, generator: random.Random) -> ServerFault | None:
        """Return the fault that the next request meets; None: it is served."""
        if not self.rates:
            return None
        drawn = generator.random()
        for fault, rate in self.rates.items():
            drawn -= rate
            if drawn < 0:
                return fault
        return None


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
            raise InputError("not a latency", key="latency", value=text, hint=_LATENCY_HINT) from error

    def draw_s(self, generator: random.Random) -> float:
        """Return one waiting time, in seconds."""
        wait = self.low_ms if self.low_ms == self.high_ms else generator.uniform(self.low_ms, self.high_ms)
        return (wait + generator.expovariate(1 / self.mean_ms) if self.mean_ms else wait) / 1000
