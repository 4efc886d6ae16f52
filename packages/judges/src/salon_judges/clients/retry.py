"""Retries of one call: attempts at the server's pace, with exponential waits and full jitter.

bytes ── pacing ──► endpoint ──► Attempt ── retry? ──► Reply

Each wait is drawn evenly between zero and a bound that doubles, so that clients which failed together do not return
together; ``Retry-After`` is added.
"""

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TypeAlias

from salon_judges.clients.pacing import Clock, Congestion, Pacing, Permit
from salon_judges.clients.settings import ServerLimits
from salon_taxonomy.protocols import Reply, Usage

RETRIED_STATUSES = frozenset({408, 409, 425, 429, *range(500, 600)})
"""HTTP statuses that another attempt may mend."""
CONGESTED_STATUSES = frozenset({429, 503, 529})
"""HTTP statuses that say that the server has too much to do."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one request.

    Attributes:
        reply: as the caller gets it if this is the last attempt.
        retry: whether another attempt may mend it.
        outcome: what it says about how busy the server is.
        retry_after_s: how long the server asked to be left alone, in seconds.
    """

    reply: Reply
    retry: bool = False
    outcome: Congestion = Congestion.UNKNOWN
    retry_after_s: float | None = None


Post: TypeAlias = Callable[[Sequence[bytes], float], Awaitable[Attempt]]
"""Sends a body and waits for its reply, at most so many seconds."""


class Calls:
    """The calls to one endpoint, which share its pace.

    Args:
        limits: pacing, patience and retries.
        post: sends a body and waits for its reply, at most so many seconds; raises nothing but a cancellation.
        clock: tells the time; a test's need not wait.

    Attributes:
        pacing: how fast the server is asked.
    """

    def __init__(self, limits: ServerLimits, post: Post, clock: Clock) -> None:
        self.pacing = Pacing(
            limits.concurrency,
            requests_per_minute=limits.requests_per_minute,
            tokens_per_minute=limits.tokens_per_minute,
            clock=clock,
        )
        self._limits = limits
        self._post = post
        self._clock = clock
        self._backoff = Backoff.of(limits)
        self._calls = 0

    async def reply(self, pieces: Sequence[bytes], most_tokens: int = 0, *, post: Post | None = None) -> Reply:
        """Send a body, with retries; ``most_tokens`` are reserved where tokens are paced, ``post`` sends another request.

        Raises nothing but a cancellation.
        """
        self._calls += 1
        call = self._calls
        permit: Permit | None = await self.pacing.acquire(most_tokens)
        gives_up_at = self._clock.now() + self._limits.deadline_s
        failed: list[Reply] = []
        while permit is not None:
            attempt = await self._attempt(pieces, permit, gives_up_at, post or self._post)
            if not attempt.retry or len(failed) + 1 >= self._limits.attempts:
                return replace(attempt.reply, earlier=tuple(failed)) if failed else attempt.reply
            failed.append(attempt.reply)
            permit = await self._next_permit(attempt, call, len(failed), gives_up_at, most_tokens)
        last = failed.pop()
        late = f"{last.error}; no time was left for another attempt"
        return replace(last, error=late, earlier=tuple(failed))

    async def _attempt(self, pieces: Sequence[bytes], permit: Permit, gives_up_at: float, post: Post) -> Attempt:
        limits = self._limits
        outcome, tokens = Congestion.UNKNOWN, None
        try:
            # The first attempt begins when the deadline does, so it has its whole time.
            timeout_s = min(limits.timeout_s, max(0.001, gives_up_at - self._clock.now()))
            attempt = await post(pieces, timeout_s)
            outcome, tokens = attempt.outcome, _tokens(attempt.reply.usage)
        finally:
            self.pacing.release(permit, outcome, tokens)
        if attempt.retry and attempt.retry_after_s is not None:
            self.pacing.rest(min(attempt.retry_after_s, limits.longest_wait_s))
        return attempt

    async def _next_permit(
        self, attempt: Attempt, call: int, number: int, gives_up_at: float, most_tokens: int
    ) -> Permit | None:
        """Wait for the next attempt; None when it would begin after the deadline."""
        wait = self._backoff.wait_s(call, number, attempt.retry_after_s)
        if self._clock.now() + wait >= gives_up_at:
            return None
        await self._clock.sleep(wait)
        try:
            async with asyncio.timeout(gives_up_at - self._clock.now()):
                return await self.pacing.acquire(most_tokens)
        except TimeoutError:
            return None


def _tokens(usage: Usage) -> int | None:
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits between attempts.

    Attributes:
        first_s: the bound before the second attempt.
        longest_s: the bound never grows beyond.
        seed: of the draws.

    Example:
        >>> backoff = Backoff(first_s=0.5, longest_s=60, seed=1)
        >>> 0 <= backoff.wait_s(call=7, attempt=3) <= 2.0
        True
        >>> backoff.wait_s(call=7, attempt=3) == backoff.wait_s(call=7, attempt=3)
        True
    """

    first_s: float
    longest_s: float
    seed: int = 0

    @classmethod
    def of(cls, limits: ServerLimits) -> "Backoff":
        """Return the waits of these settings."""
        return cls(limits.first_wait_s, limits.longest_wait_s, limits.seed)

    def wait_s(self, call: int, attempt: int, retry_after_s: float | None = None) -> float:
        """Return how long to wait after ``attempt`` (from 1) of the call with that number has failed, in seconds.

        With ``Retry-After`` the wait is at least that long, and at most ``first_s`` longer.
        """
        drawn = random.Random(f"{self.seed} {call} {attempt}").random()  # noqa: S311 - spreads load, hides nothing
        if retry_after_s is not None:
            return retry_after_s + drawn * self.first_s
        return drawn * min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 60))


def retry_after_s(headers: Mapping[str, str], wall_s: float) -> float | None:
    """Return the server's requested pause in seconds; None without a readable one.

    Args:
        headers: of the reply, whose names are looked up without regard to case.
        wall_s: the time now, in seconds since 1970.

    Example:
        >>> retry_after_s({"Retry-After": "2"}, 0.0)
        2.0
        >>> retry_after_s({"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
        10.0
        >>> retry_after_s({"Retry-After": "soon"}, 0.0)
    """
    milliseconds = _number(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("Retry-After")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - wall_s)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None and len(text) < 40 else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
