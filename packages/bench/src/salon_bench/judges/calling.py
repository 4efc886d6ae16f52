"""One call: as many attempts as it takes and the limits allow, at the server's pace.

bytes ── pacing ──► endpoint ──► Attempt ── retry? ──► Reply
            ▲                        │
            └────── retrying ────────┘
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from salon_bench.judges.clock import Clock
from salon_bench.judges.endpoint import Attempt, Endpoint
from salon_bench.judges.pacing import Outcome, Pacing, Permit
from salon_bench.judges.retrying import Backoff
from salon_bench.judges.settings import Limits
from salon_taxonomy.protocols import Reply, Usage


class Calls:
    """The calls to one endpoint, which share its pace.

    Args:
        limits: pacing, patience and retries.
        endpoint: where the bodies go.
        clock: tells the time; a test's need not wait.

    Attributes:
        pacing: how fast the server is asked.
    """

    def __init__(self, limits: Limits, endpoint: Endpoint, clock: Clock) -> None:
        self.pacing = Pacing(
            limits.concurrency,
            requests_per_minute=limits.requests_per_minute,
            tokens_per_minute=limits.tokens_per_minute,
            clock=clock,
        )
        self._limits = limits
        self._endpoint = endpoint
        self._clock = clock
        self._backoff = Backoff.of(limits)
        self._calls = 0

    async def reply(self, pieces: Sequence[bytes], most_tokens: int = 0) -> Reply:
        """Send a body, with retries; ``most_tokens`` are reserved where tokens are paced.

        Raises nothing but a cancellation.
        """
        self._calls += 1
        call = self._calls
        permit: Permit | None = await self.pacing.acquire(most_tokens)
        gives_up_at = self._clock.now() + self._limits.deadline_s
        failed: list[Reply] = []
        while permit is not None:
            attempt = await self._attempt(pieces, permit, gives_up_at)
            if not attempt.retry or len(failed) + 1 >= self._limits.attempts:
                return replace(attempt.reply, earlier=tuple(failed)) if failed else attempt.reply
            failed.append(attempt.reply)
            permit = await self._next_permit(attempt, call, len(failed), gives_up_at, most_tokens)
        last = failed.pop()
        late = f"{last.error}; no time was left for another attempt"
        return replace(last, error=late, earlier=tuple(failed))

    async def _attempt(self, pieces: Sequence[bytes], permit: Permit, gives_up_at: float) -> Attempt:
        limits = self._limits
        outcome, tokens = Outcome.UNKNOWN, None
        try:
            # The first attempt begins when the deadline does, so it has its whole time.
            timeout_s = min(limits.timeout_s, max(0.001, gives_up_at - self._clock.now()))
            attempt = await self._endpoint.post(pieces, timeout_s)
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
