"""A watcher that remembers what it was told."""

from salon_bench.runs.progress import RunProgress
from salon_taxonomy.records import RunEvent


class Moments:
    """Keeps the last moment of a run, and every event."""

    def __init__(self) -> None:
        self.last = RunProgress()
        self.events: list[RunEvent] = []

    def progressed(self, progress: RunProgress) -> None:
        self.last = progress

    def happened(self, event: RunEvent) -> None:
        self.events.append(event)
