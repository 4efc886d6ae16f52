"""What can go wrong with a model's server, as the mock server does it on purpose."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from salon_taxonomy.errors import InputError


class Fault(StrEnum):
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


_HINT = "Write NAME=RATE: 429=0.05."
ANSWERED = frozenset({Fault.EMPTY, Fault.MALFORMED, Fault.REFUSAL, Fault.LENGTH})
"""Faults of a reply that was delivered whole: a real server would be paid for it."""


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each fault happens, drawn again for each request.

    Attributes:
        rates: shares of all requests, each from 0 to 1, together at most 1.

    Raises:
        InputError: for a rate out of its range, or rates that add up to more than 1.

    Example:
        >>> FaultRates({Fault.TOO_MANY: 0.05, Fault.CUT: 0.05}).draw(random.Random(4))
        >>> FaultRates({Fault.CUT: 1.0}).draw(random.Random(4))
        <Fault.CUT: 'cut'>
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)

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
            >>> FaultRates.parse(("429=0.05", "cut=0.1")).rates[Fault.CUT]
            0.1
        """
        rates: dict[Fault, float] = {}
        for text in texts:
            name, _, rate = text.partition("=")
            if name not in set(Fault):
                raise InputError("unknown fault", value=name, allowed=list(Fault), hint=_HINT)
            try:
                rates[Fault(name)] = float(rate)
            except ValueError as error:
                raise InputError("a rate of faults is a number", key=name, value=rate, hint=_HINT) from error
        return cls(rates)

    def draw(self, generator: random.Random) -> Fault | None:
        """The fault that the next request meets; None: it is served."""
        if not self.rates:
            return None
        drawn = generator.random()
        for fault, rate in self.rates.items():
            drawn -= rate
            if drawn < 0:
                return fault
        return None
