"""Watchers of a run: a log in JSON lines, and several watchers as one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from salon_bench.runs.progress import Progress, Watcher
from salon_taxonomy.records import RunEvent


class JsonLog:
    """Writes one JSON object per line: events as they happen, progress not more often than every so many seconds.

    Example:
        >>> import io
        >>> text = io.StringIO()
        >>> JsonLog(text).progressed(Progress(done=3, total=10, calls=6, seconds=1.5))
        >>> json.loads(text.getvalue())["done"]
        3
    """

    def __init__(self, stream: TextIO, every_seconds: float = 1.0) -> None:
        self._stream = stream
        self._every = every_seconds
        self._last: float | None = None

    def progressed(self, progress: Progress) -> None:
        """A line of counts, if the last one is old enough."""
        if self._last is None or progress.seconds - self._last >= self._every:
            self._last = progress.seconds
            self._write({"what": "progress", **progress_fields(progress)})

    def happened(self, event: RunEvent) -> None:
        """A line with the event."""
        self._write({"what": event.kind.value, **event.model_dump(mode="json", exclude={"kind", "event_id"})})

    def _write(self, line: dict[str, object]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._stream.flush()


@dataclass(frozen=True, slots=True)
class Watchers:
    """Tells several."""

    all: Sequence[Watcher]

    def progressed(self, progress: Progress) -> None:
        """Tell each."""
        for watcher in self.all:
            watcher.progressed(progress)

    def happened(self, event: RunEvent) -> None:
        """Tell each."""
        for watcher in self.all:
            watcher.happened(event)


def progress_fields(progress: Progress) -> dict[str, object]:
    """Everything of a :class:`Progress` as plain values for JSON."""
    plain = {name: getattr(progress, name) for name in Progress.__slots__ if name != "reasons"}
    plain["reasons"] = {reason.value: count for reason, count in sorted(progress.reasons.items())}
    plain["rate"] = round(progress.rate, 3)
    plain["seconds"] = round(progress.seconds, 3)
    return plain
