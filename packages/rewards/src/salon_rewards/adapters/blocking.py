"""Runs a reward that has to be awaited where a trainer wants the answer at once.

All such rewards of a process run in one event loop, in a thread of its own that lives as long as the process: a judge's
client keeps its connections in the loop that it first answered in, and trainers call from one batch to the next, and from
many threads at once.
"""

import asyncio
import inspect
import os
from collections.abc import Coroutine, Sequence
from functools import cache
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from salon_rewards.callables.reward import RewardFunction

T = TypeVar("T")

_ONE_AT_A_TIME: Final = Lock()


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
    Thread(target=loop.run_forever, name=f"rewards-{process}", daemon=True).start()
    return loop
