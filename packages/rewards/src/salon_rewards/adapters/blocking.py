"""Runs a reward that has to be awaited where a trainer wants the answer at once."""

import asyncio
import inspect
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from salon_rewards.callables.reward import RewardFunction


def called(reward: RewardFunction, completions: Sequence[Any], **columns: Any) -> list[float | None]:
    """What the reward pays; a coroutine is run to its end, in a thread of its own where a loop is running already."""
    given = reward(completions, **columns)
    if not inspect.iscoroutine(given):
        return list(given)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return list(asyncio.run(given))
    with ThreadPoolExecutor(max_workers=1) as thread:
        return list(thread.submit(_run, given).result())


def _run(coroutine: Coroutine[Any, Any, Sequence[float | None]]) -> Sequence[float | None]:
    return asyncio.run(coroutine)
