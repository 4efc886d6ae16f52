"""The progress bar of a run: cases, rate, cost, errors by reason and the time that is left."""

from typing import TYPE_CHECKING

from salon_bench.runs.progress import RunProgress
from salon_taxonomy.records import RunEvent

if TYPE_CHECKING:
    from rich.console import Console


class Bar:
    """A watcher that draws on a console; use it as a context manager."""

    def __init__(self, console: "Console", label: str = "judging") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Drawn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn())
        self._drawn = Drawn(
            *columns, TextColumn("{task.fields[facts]}"), TimeRemainingColumn(), console=console, transient=True
        )
        self._task = self._drawn.add_task(label, total=None, facts="")

    def __enter__(self) -> "Bar":
        """Begin to draw."""
        self._drawn.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self._drawn.stop()

    def progressed(self, progress: RunProgress) -> None:
        """Draw the new state."""
        done = progress.done + progress.open
        self._drawn.update(self._task, completed=done, total=progress.total, facts=facts_of(progress))

    def counted(self, done: int, total: int) -> None:
        """Draw how many of something are done."""
        self._drawn.update(self._task, completed=done, total=total)

    def happened(self, event: RunEvent) -> None:
        """Ignore the event: a bar does not draw it."""


def facts_of(progress: RunProgress) -> str:
    """Rate, cost and errors in a few words.

    Example:
        >>> from salon_taxonomy.verdict import Reason
        >>> facts_of(RunProgress(done=30, calls=60, seconds=2.0, cost_usd=0.5, reasons={Reason.TIMEOUT: 2}))
        '15.0/s  $0.50  2 timeout'
    """
    parts = [f"{progress.rate:.1f}/s"]
    if progress.cost_usd is not None:
        parts.append(f"${progress.cost_usd:.2f}")
    parts += [f"{count} {reason.value}" for reason, count in sorted(progress.reasons.items(), key=lambda pair: -pair[1])]
    return "  ".join(parts)
