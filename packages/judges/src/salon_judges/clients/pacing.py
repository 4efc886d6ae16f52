"""Pace requests to a server: concurrency, requests and tokens per minute, and pauses that it asks for.

The number at once adapts as TCP does: halved when the server answers 429, 503 or 529, once for all requests that were under
way at that moment, and raised again by a thirty-second of its ceiling for every round of answered requests.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Return monotonic seconds since an arbitrary moment."""

    def wall(self) -> float:
        """Return seconds since 1970 in UTC, to compare with dates that a server names."""

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 or less returns at once."""


class SystemClock:
    """The machine's own clock.

    Example:
        >>> SystemClock().now() <= SystemClock().now()
        True
    """

    def now(self) -> float:
        """Return seconds of the monotonic clock."""
        return time.monotonic()

    def wall(self) -> float:
        """Return seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait without keeping others from working."""
        if seconds > 0:
            await asyncio.sleep(seconds)


_ROUNDS_TO_RECOVER = 32
_MINUTE_S = 60.0
_MEMORY = 0.1


class Congestion(Enum):
    """What a request says about how busy its server is."""

    ANSWERED = "answered"
    CONGESTED = "congested"
    UNKNOWN = "unknown"
    """A broken connection, a time-out, a cancellation."""


class AdaptiveLimit:
    """At most so many at once; first come, first served; safe to be cancelled while waiting.

    Args:
        most: the ceiling, from which it starts.

    Attributes:
        limit: how many are allowed at the moment; a fraction of a place counts when it becomes a whole one.
        in_flight: how many are under way.

    Example:
        >>> async def main() -> float:
        ...     places = AdaptiveLimit(64)
        ...     first, second = await places.acquire(), await places.acquire()
        ...     places.release(first, Congestion.CONGESTED)
        ...     places.release(second, Congestion.CONGESTED)  # was under way already: counts as the same storm
        ...     return places.limit
        >>> asyncio.run(main())
        32.0
    """

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self.in_flight = 0
        self._most = float(most)
        self._step = max(1.0, most / _ROUNDS_TO_RECOVER)
        self._storm = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> int:
        """Wait for a place; returns a ticket for :meth:`release`."""
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return self._storm
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the place was given just when its owner left
                self.in_flight -= 1
                self._admit()
            raise
        return self._storm

    def release(self, ticket: int, outcome: Congestion) -> None:
        """Give the place back and say what the server made of it."""
        self.in_flight -= 1
        if outcome is Congestion.ANSWERED:
            self.limit = min(self._most, self.limit + self._step / self.limit)
        elif outcome is Congestion.CONGESTED and ticket == self._storm:
            self.limit = max(1.0, self.limit / 2)
            self._storm += 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class Rate:
    """So much per minute, with one second's worth at once.

    A request reserves the next free moment and sleeps until then, so there is no polling, and the order of arrival is
    the order of service. What an amount really was can be settled afterwards.

    Args:
        per_minute: requests, or tokens.
        clock: tells the time.

    Example:
        >>> async def main() -> float:
        ...     rate = Rate(600, SystemClock())  # ten per second
        ...     return rate.reserve(10), round(rate.reserve(1), 1)
        >>> asyncio.run(main())
        (0.0, 0.1)
    """

    def __init__(self, per_minute: float, clock: Clock) -> None:
        self._seconds_each = _MINUTE_S / per_minute
        self._clock = clock
        self._burst_s = max(1.0, self._seconds_each)
        self._free_at = clock.now() - self._burst_s

    def reserve(self, amount: float) -> float:
        """Take ``amount`` and return how long to wait before using it, in seconds."""
        now = self._clock.now()
        self._free_at = max(self._free_at, now - self._burst_s) + amount * self._seconds_each
        return max(0.0, self._free_at - now)

    def settle(self, difference: float) -> None:
        """Take ``difference`` more (or give it back, when negative) without waiting for it."""
        self._free_at += difference * self._seconds_each

    async def take(self, amount: float) -> None:
        """Wait until ``amount`` may be used; a cancelled wait gives it back."""
        wait = self.reserve(amount)
        if wait <= 0:
            return
        try:
            await self._clock.sleep(wait)
        except asyncio.CancelledError:
            self.settle(-amount)
            raise


@dataclass(frozen=True, slots=True)
class Permit:
    """The right to send one request.

    Attributes:
        ticket: of :class:`AdaptiveLimit`.
        tokens: how many were reserved.
    """

    ticket: int
    tokens: float


class Pacing:
    """Everything that a request waits for before it is sent.

    Args:
        concurrency: requests at once, at most.
        requests_per_minute: None: no limit.
        tokens_per_minute: None: no limit. A request reserves what requests took lately, its reply settles the account.
        clock: tells the time.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self.places = AdaptiveLimit(concurrency)
        self._requests = None if requests_per_minute is None else Rate(requests_per_minute, self._clock)
        self._tokens = None if tokens_per_minute is None else Rate(tokens_per_minute, self._clock)
        self._usual_tokens: float | None = None
        self._rest_until: float | None = None

    async def acquire(self, most_tokens: int) -> Permit:
        """Wait for everything; ``most_tokens`` is reserved while the usual number is unknown."""
        ticket = await self.places.acquire()
        if self._rest_until is None and self._requests is None and self._tokens is None:
            return Permit(ticket, 0.0)
        tokens = float(most_tokens) if self._usual_tokens is None else self._usual_tokens
        try:
            await self._rested()
            if self._requests is not None:
                await self._requests.take(1)
            if self._tokens is not None:
                await self._tokens.take(tokens)
        except asyncio.CancelledError:
            self.places.release(ticket, Congestion.UNKNOWN)
            raise
        return Permit(ticket, tokens)

    def release(self, permit: Permit, outcome: Congestion, tokens: int | None = None) -> None:
        """Note the end of a request; ``tokens`` is the number it used, where the server reported it."""
        self.places.release(permit.ticket, outcome)
        if self._tokens is None or tokens is None:
            return
        self._tokens.settle(tokens - permit.tokens)
        usual = self._usual_tokens
        self._usual_tokens = float(tokens) if usual is None else usual + _MEMORY * (tokens - usual)

    def rest(self, seconds: float) -> None:
        """Send nothing for so long: the server asked for it."""
        self._rest_until = max(self._rest_until or 0.0, self._clock.now() + seconds)

    async def _rested(self) -> None:
        while self._rest_until is not None:
            wait = self._rest_until - self._clock.now()
            if wait <= 0:
                self._rest_until = None
                return
            await self._clock.sleep(wait)
