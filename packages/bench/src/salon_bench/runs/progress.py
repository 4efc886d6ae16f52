"""How far a run is: values for whoever watches, without a word about how they are shown."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from salon_taxonomy.records import RunEvent
from salon_taxonomy.verdict import Reason


@dataclass(frozen=True, slots=True)
class Progress:
    """A moment of a run.

    Attributes:
        done: cases examined to the end, those of earlier starts included.
        open: cases of which a question got no reply; a resume asks again.
        total: all cases; None until they are counted.
        calls: questions asked since this start.
        attempts: requests that the judge made for them, its retries included.
        cached: replies from a cache.
        re_asked: questions asked again because the reply could not be read.
        extracted: replies given to the extractor.
        prompt_tokens: tokens read, since this start.
        completion_tokens: tokens written, since this start.
        cost_usd: since this start; None while no reply had a price.
        reasons: verdicts that could not be had, by reason.
        seconds: since this start.
    """

    done: int = 0
    open: int = 0
    total: int | None = None
    calls: int = 0
    attempts: int = 0
    cached: int = 0
    re_asked: int = 0
    extracted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    reasons: Mapping[Reason, int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Cases per second since this start."""
        return (self.done + self.open) / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At the rate so far; None while nobody can say."""
        if self.total is None or not self.rate:
            return None
        return max(self.total - self.done - self.open, 0) / self.rate


class Watcher(Protocol):
    """Whoever wants to know how a run goes on. Called on the run's own thread: it must be quick."""

    def progressed(self, progress: Progress) -> None:
        """Some time has passed, or the run has ended."""

    def happened(self, event: RunEvent) -> None:
        """The run was started, resumed, stopped or finished."""


class Nobody:
    """Watches nothing."""

    def progressed(self, progress: Progress) -> None:
        """Looks away."""

    def happened(self, event: RunEvent) -> None:
        """Looks away."""
