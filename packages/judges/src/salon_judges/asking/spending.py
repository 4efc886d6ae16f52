"""Limits of a run, its spending so far, and the reason to stop asking."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply

_INSTANT = 1e-3


@dataclass(frozen=True, slots=True)
class RunLimits:
    """How far a run may go; None sets no limit.

    When a limit is reached no new question is asked; those in flight are waited for and count, so a cost or a number of
    tokens can be passed by as much as they cost. Calls are counted before they are made and never passed.

    Attributes:
        cost_usd: US dollars for all judges' replies since this start of the run.
        tokens: tokens read and written, since this start.
        calls: questions asked, since this start (a judge's own retries are not counted).
        seconds: from the start to the last question, on a monotonic clock.

    Raises:
        InputError: for a limit that is not above 0.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError("a limit must be a number above 0, not", column=name, value=value)


class CallCounts(Protocol):
    """Counts of other calls: another run's progress, or another :class:`Spending`."""

    @property
    def calls(self) -> int:
        """Return the questions asked."""

    @property
    def attempts(self) -> int:
        """Return the requests made for them."""

    @property
    def prompt_tokens(self) -> int:
        """Return the tokens read."""

    @property
    def completion_tokens(self) -> int:
        """Return the tokens written."""

    @property
    def cost_usd(self) -> float | None:
        """Return the US dollars; None where no reply had a price."""


@dataclass(slots=True)
class Spending:
    """The spending so far, compared with the limits.

    Attributes:
        stopped: why nothing more may be asked, whatever the limits.
        re_asked: questions asked again because the reply could not be parsed.
        extracted: replies given to the extractor.

    Example:
        >>> spending = Spending(RunLimits(calls=1))
        >>> spending.begin_call(), spending.begin_call()
        (None, 'the limit of 1 calls is reached')
    """

    limits: RunLimits = RunLimits()
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    attempts: int = 0
    cached: int = 0
    re_asked: int = 0
    extracted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    uncounted: int = 0
    unpriced: int = 0
    stopped: str | None = None
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.began

    def refusal(self) -> str | None:
        """Return why no further question may be asked; None while one may."""
        limits = self.limits
        if self.stopped is not None:
            return self.stopped
        if limits.calls is not None and self.calls >= limits.calls:
            return f"the limit of {limits.calls} calls is reached"
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"the deadline of {limits.seconds:g} s has passed"
        if limits.tokens is not None:
            if self.uncounted:
                return "a limit on tokens was set, but the judge reports no tokens (limit calls, cost or time)"
            if self.prompt_tokens + self.completion_tokens >= limits.tokens:
                return f"the limit of {limits.tokens} tokens is reached"
        if limits.cost_usd is not None:
            if self.unpriced:
                return "a limit on cost was set, but the judge reports no cost (give it prices)"
            if (self.cost_usd or 0.0) >= limits.cost_usd:
                return f"the limit of {limits.cost_usd:g} USD is reached"
        return None

    def begin_call(self) -> str | None:
        """Count a question that is about to be asked; returns why it must not be, when a limit is reached."""
        refusal = self.refusal()
        self.calls += refusal is None
        return refusal

    def add(self, progress: CallCounts) -> None:
        """Count what a run has spent that shares these limits with others."""
        self.calls += progress.calls
        self.attempts += progress.attempts
        self.prompt_tokens += progress.prompt_tokens
        self.completion_tokens += progress.completion_tokens
        if progress.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + progress.cost_usd

    def left(self) -> RunLimits:
        """Return the limits left for the next run; call it only while :meth:`refusal` is None.

        Example:
            >>> spending = Spending(RunLimits(calls=10, cost_usd=1.0))
            >>> spending.add(Spending(calls=4, cost_usd=0.25))
            >>> spending.left().calls, spending.left().cost_usd
            (6, 0.75)
        """
        limits, tokens = self.limits, self.prompt_tokens + self.completion_tokens
        return RunLimits(
            None if limits.cost_usd is None else limits.cost_usd - (self.cost_usd or 0.0),
            None if limits.tokens is None else limits.tokens - tokens,
            None if limits.calls is None else limits.calls - self.calls,
            None if limits.seconds is None else max(limits.seconds - self.seconds, _INSTANT),
        )

    def end_call(self, reply: Reply, *, metered: bool = True) -> None:
        """Count what a reply, and the attempts that failed before it, cost.

        Args:
            reply: the last attempt.
            metered: whether a reply without tokens or cost breaks a limit on them; not that of an editor, which has none.
        """
        for attempt in (*reply.earlier, reply):
            self.attempts += 1
            self.cached += attempt.cached
            self.prompt_tokens += attempt.usage.prompt_tokens or 0
            self.completion_tokens += attempt.usage.completion_tokens or 0
            if attempt.usage.cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + attempt.usage.cost_usd
        asked = metered and reply.answered and not reply.cached
        self.uncounted += asked and None in (reply.usage.prompt_tokens, reply.usage.completion_tokens)
        self.unpriced += asked and reply.usage.cost_usd is None
