"""Runs a reward that has to be awaited where a trainer wants the answer at once.

All such rewards of a process run in one event loop, in a thread of its own that lives as long as the process: a judge's
client keeps its connections in the loop that it first answered in, and trainers call from one batch to the next, and from
many threads at once.
"""

import asyncio
import atexit
import inspect
import os
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import cache
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from salon_rewards.callables.reward import RewardFunction

T = TypeVar("T")

_ONE_AT_A_TIME: Final = Lock()
_PATIENCE_S: Final = 5.0
"""Seconds that the end of a process waits for connections to be closed."""


def called(reward: RewardFunction, completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """Return what the reward pays; a coroutine is run to its end, in the thread for those."""
    rewards = reward(completions, **columns)
    return list(waited(rewards) if inspect.iscoroutine(rewards) else rewards)


def waited(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in the thread of this process for those."""
    with _ONE_AT_A_TIME:
        loop = _loop(os.getpid())
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


@cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """Return the loop of a process; a fork has no threads of its parent's, so it gets its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name=f"rewards-{process}", daemon=True)
    thread.start()
    atexit.register(_end, process, loop, thread)
    return loop


def _end(process: int, loop: asyncio.AbstractEventLoop, thread: Thread) -> None:
    """Close what the loop's clients have open, as ``asyncio.run`` does at its end; a fork's parent does it for its own loop."""
    if process != os.getpid():
        return
    with suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result(_PATIENCE_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_PATIENCE_S)
    if not loop.is_running():
        loop.close()
