"""Ctrl-C while a run is at work: the first one stops asking, the second one stops at once."""

import asyncio
import signal
from collections.abc import Callable
from typing import Protocol


class Stoppable(Protocol):
    """A run that can be asked to end early: a runner, or the book of a run."""

    def stop(self, why: str) -> None:
        """Ask nothing more; what is in flight is waited for."""


def stop_on_signals(runner: Stoppable, said: Callable[[str], None]) -> None:
    """Catch SIGINT and SIGTERM for as long as the running event loop lives; call it in the task that runs the run.

    Args:
        runner: what is to be stopped.
        said: told what will happen now, in a sentence.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    caught = 0

    def stop(name: str) -> None:
        nonlocal caught
        caught += 1
        if caught == 1:
            runner.stop(f"stopped by {name}")
            said("Stopping: questions in flight are waited for. Ctrl-C again stops at once.")
        elif task is not None:
            task.cancel()

    for number, name in ((signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")):
        loop.add_signal_handler(number, stop, name)
