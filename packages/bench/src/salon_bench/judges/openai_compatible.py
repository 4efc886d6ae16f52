"""A judge behind an OpenAI-compatible server: vLLM, SGLang, llama.cpp, or a hosted API.

Question ── chat_request ──► bytes ── pacing ──► endpoint ──► Attempt ── retry? ──► Reply
                                         ▲                        │
                                         └────── retrying ────────┘
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from salon_bench.judges.chat_request import ChatRequests
from salon_bench.judges.clock import Clock, SystemClock
from salon_bench.judges.endpoint import Attempt, Endpoint
from salon_bench.judges.pacing import Outcome, Pacing, Permit
from salon_bench.judges.pictures import PictureParts
from salon_bench.judges.retrying import Backoff
from salon_bench.judges.secrets import Secrets
from salon_bench.judges.settings import ChatSettings
from salon_taxonomy.protocols import Question, Reply, Usage


class OpenAICompatibleJudge:
    """Asks ``POST {base_url}/chat/completions``; every failure is a :class:`~salon_taxonomy.protocols.Reply`.

    Args:
        settings: everything but the secrets.
        environment: where the secrets are found that the settings name.
        pictures: encoded pictures, to be shared with other judges; its own by default.
        clock: tells the time; a test's need not wait.

    Attributes:
        settings: as given.
        pacing: how fast the server is asked; ``pacing.places.limit`` is the number at once at the moment.

    Raises:
        InputError: when a secret that the settings name is not in the environment.

    Example:
        >>> from salon_bench.mock_server import MockServer
        >>> async def main() -> str:
        ...     async with MockServer() as server:
        ...         settings = ChatSettings(model="mock", base_url=server.url)
        ...         async with OpenAICompatibleJudge(settings) as judge:
        ...             return (await judge.ask(Question(("Is this AI-generated?",)))).text
        >>> asyncio.run(main())
        'ok'
    """

    def __init__(
        self,
        settings: ChatSettings,
        environment: Mapping[str, str] | None = None,
        *,
        pictures: PictureParts | None = None,
        clock: Clock | None = None,
    ) -> None:
        limits = settings.limits
        self.settings = settings
        self._version = settings.version
        self._clock = clock or SystemClock()
        self.pacing = Pacing(
            limits.concurrency,
            requests_per_minute=limits.requests_per_minute,
            tokens_per_minute=limits.tokens_per_minute,
            clock=self._clock,
        )
        self._requests = ChatRequests(settings, pictures or PictureParts())
        self._endpoint = Endpoint(settings, Secrets.of(settings, environment or {}), self._version, self._clock)
        self._backoff = Backoff.of(limits)
        self._calls = 0

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.title

    @property
    def version(self) -> str:
        """See :attr:`ChatSettings.version`."""
        return self._version

    def __repr__(self) -> str:
        """Name, place and version; no secrets."""
        return f"OpenAICompatibleJudge({self.name!r} at {self.settings.base_url}, version {self._version})"

    async def __aenter__(self) -> Self:
        """The judge itself; its connections open when they are needed."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close all connections."""
        await self.close()

    async def close(self) -> None:
        """Close all connections; the next question opens new ones."""
        await self._endpoint.close()

    async def ask(self, question: Question) -> Reply:
        """Answer one question, in as many attempts as it takes and the limits allow.

        Raises:
            InputError: for a question with media that this judge cannot be shown.
        """
        pieces = await self._requests.write(question)
        most_tokens = self._requests.decoding(question).max_tokens if self.settings.limits.tokens_per_minute else 0
        self._calls += 1
        call = self._calls
        permit: Permit | None = await self.pacing.acquire(most_tokens)
        gives_up_at = self._clock.now() + self.settings.limits.deadline_s
        failed: list[Reply] = []
        while permit is not None:
            attempt = await self._attempt(pieces, permit, gives_up_at)
            if not attempt.retry or len(failed) + 1 >= self.settings.limits.attempts:
                return replace(attempt.reply, earlier=tuple(failed)) if failed else attempt.reply
            failed.append(attempt.reply)
            permit = await self._next_permit(attempt, call, len(failed), gives_up_at, most_tokens)
        last = failed.pop()
        late = f"{last.error}; no time was left for another attempt"
        return replace(last, error=late, earlier=tuple(failed))

    async def _attempt(self, pieces: list[bytes], permit: Permit, gives_up_at: float) -> Attempt:
        limits = self.settings.limits
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
