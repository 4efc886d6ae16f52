"""The progress of a run as values, and the watchers that receive it."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TextIO

from salon_taxonomy.records import RunEvent
from salon_taxonomy.verdict import Reason


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The counts of one moment of a run.

    Attributes:
        done: cases that have their rows, those of earlier starts included.
        open: cases with a question that got no reply; a resume asks again.
        total: all cases; None until they are counted.
        calls: questions asked since this start.
        attempts: requests that the judge made for them, its retries included.
        cached: replies from a cache.
        re_asked: questions asked again because the reply could not be parsed.
        extracted: replies given to the extractor.
        prompt_tokens: tokens read, since this start.
        completion_tokens: tokens written, since this start.
        cost_usd: since this start; None while no reply had a price.
        reasons: missing verdicts by reason.
        first_lost: why the first of the open cases got no reply, in one line; None while every case got one.
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
    first_lost: str | None = None
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Cases per second since this start."""
        return (self.done + self.open) / self.seconds if self.seconds > 0 else 0.0

    def fields(self) -> dict[str, object]:
        """Return every count as a plain value for JSON, with the rate."""
        plain = {name: getattr(self, name) for name in type(self).__slots__ if name != "reasons"}
        plain["reasons"] = {reason.value: count for reason, count in sorted(self.reasons.items())}
        return {**plain, "rate": round(self.rate, 3), "seconds": round(self.seconds, 3)}


class Watcher(Protocol):
    """Receives the progress of a run, on the thread of its event loop; its methods must be quick."""

    def progressed(self, progress: RunProgress) -> None:
        """Receive the counts, every fifth of a second and at the end."""

    def happened(self, event: RunEvent) -> None:
        """Receive an event: started, resumed, stopped or finished."""


class NoWatcher:
    """A watcher that ignores everything."""

    def progressed(self, progress: RunProgress) -> None:
        """Ignore the counts."""

    def happened(self, event: RunEvent) -> None:
        """Ignore the event."""


class JsonLog:
    """Write one JSON object per line: every event, and progress at most once per ``every_seconds``.

    Example:
        >>> import io
        >>> text = io.StringIO()
        >>> JsonLog(text).progressed(RunProgress(done=3, total=10, calls=6, seconds=1.5))
        >>> json.loads(text.getvalue())["done"]
        3
    """

    def __init__(self, stream: TextIO, every_seconds: float = 1.0) -> None:
        self._stream = stream
        self._every = every_seconds
        self._last: float | None = None

    def progressed(self, progress: RunProgress) -> None:
        """Write a line of counts, if the last one is old enough."""
        if self._last is None or progress.seconds - self._last >= self._every:
            self._last = progress.seconds
            self._write({"what": "progress", **progress.fields()})

    def happened(self, event: RunEvent) -> None:
        """Write a line with the event."""
        self._write({"what": event.kind.value, **event.model_dump(mode="json", exclude={"kind", "event_id"})})

    def _write(self, line: dict[str, object]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._stream.flush()


@dataclass(frozen=True, slots=True)
class Watchers:
    """Several watchers as one."""

    all: Sequence[Watcher]

    def progressed(self, progress: RunProgress) -> None:
        """Pass the counts to each."""
        for watcher in self.all:
            watcher.progressed(progress)

    def happened(self, event: RunEvent) -> None:
        """Pass the event to each."""
        for watcher in self.all:
            watcher.happened(event)
