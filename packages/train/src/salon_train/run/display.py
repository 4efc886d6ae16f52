"""A training run on a console: a bar while a person looks, and a line for what matters."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from salon_console.output import continues
from salon_train.run.events import Fact, TrainingEvent

if TYPE_CHECKING:
    from rich.console import Console

HELD_OUT: Final = (
    *("f1_macro", "f1_micro", "f1_binary", "normal", "helpful", "verdict", "matches", "illusory", "invalid"),
    *("reward", "unscored", "diversity"),
    *("accuracy", "accuracy_low", "accuracy_high", "ece", "log_loss"),
)
"""Numbers of an evaluation that fit on a line, of assessors, refiners and image policies."""
_SHOWN = {
    "learned": ("loss", "accuracy", "reward", "unscored", "diversity", "answers/invalid", "answers/normal", "answers/matches"),
    "evaluated": HELD_OUT,
    "warned": ("monitor", "verdict", "value", "detail"),
    "degenerated": ("reason",),
    "stopped": ("reason",),
    "noted": ("note",),
}


@contextmanager
def spinner(console: "Console", doing: str) -> Iterator[None]:
    """Print what is being done in one line; on a terminal with a spinner until it is done."""
    if console.is_terminal:
        with console.status(doing):
            yield
    else:
        console.print(doing, markup=False, highlight=False, soft_wrap=True)
        yield


class ConsoleWatcher:
    """Draws a bar on a terminal, and prints evaluations and the like above it; use it as a context manager."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("training"), BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.fields[facts]}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=None, facts="reading the rows, loading the model")
        self._console = console

    def __enter__(self) -> Self:
        """Begin to draw."""
        if not self._console.is_terminal:
            self._console.print("reading the rows, loading the model", markup=False, highlight=False)
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Remove the bar."""
        self._bar.stop()

    def happened(self, event: TrainingEvent) -> None:
        """Draw and print."""
        facts = facts_of(event.facts, _SHOWN.get(event.what, ()))
        if event.what == "learned":
            self._bar.update(self._task, completed=event.step, total=event.steps, facts=facts)
            return
        if event.what == "resumed":
            self._console.print(continues(event.step, event.steps, "steps"), markup=False, highlight=False)
        elif event.what not in ("saved", "watched"):
            line = f"{event.what} {event.step}/{event.steps}  {facts}"
            self._console.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)


def facts_of(facts: Mapping[str, Fact], names: tuple[str, ...]) -> str:
    """Return some numbers in a few words; missing ones are left out.

    Example:
        >>> facts_of({"loss": 0.123456, "reward": None}, ("loss", "reward", "normal"))
        'loss 0.1235  reward –'
    """
    parts = []
    for name in names:
        if name in facts:
            value = facts[name]
            text = "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
            parts.append(f"{name.rpartition('/')[2]} {text}")
    return "  ".join(parts)
