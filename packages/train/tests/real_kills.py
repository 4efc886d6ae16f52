"""Runs in a process of their own that SIGKILL ends at any moment, also in the middle of a file."""

import multiprocessing
import random
import signal
from collections.abc import Callable, Sequence

_SERVER = multiprocessing.get_context("forkserver")  # its processes have imported what they need, and run no threads yet


def ended(run: Callable[..., object], arguments: Sequence[object], after_s: float | None = None) -> bool:
    """Call in a new process, which is killed after so many seconds; return whether it ended by itself."""
    _SERVER.set_forkserver_preload([run.__module__])
    child = _SERVER.Process(target=run, args=arguments)
    child.start()
    child.join(after_s)
    child.kill()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL), "the run failed; its traceback is on standard error"
    return child.exitcode == 0


def killed_often(
    run: Callable[..., object], arguments: Sequence[object], *, kills: int, longest_s: float, again: Callable[[], object]
) -> None:
    """Kill runs that go on in one place so many times, then end them; call ``again`` when one ends by itself."""
    chance, done = random.Random(0), 0
    while done < kills:
        if ended(run, arguments, chance.uniform(0.0, longest_s)):
            again()
        else:
            done += 1
    assert ended(run, arguments)
