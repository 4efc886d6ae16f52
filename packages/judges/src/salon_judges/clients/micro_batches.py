"""Questions that are asked at the same time are answered together: for models that run faster in batches.

ask ──► group of equal ``key`` ──► full, or ``wait_s`` after the first ──► one call in the one worker thread
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class MicroBatches(Generic[Q, A]):
    """Gathers questions into batches and has them answered, one batch after the other, in a thread of its own.

    Belongs to one event loop at a time. Close it.

    Args:
        answer: answers a batch, in order; runs in the thread. What it raises, every asker of the batch gets.
        most: questions in one batch.
        wait_s: how long the first question of a batch waits for company, in seconds. While the thread is busy, batches
            fill in any case.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]], *, most: int, wait_s: float) -> None:
        self._answer = answer
        self._most = most
        self._wait_s = wait_s
        self._waiting: dict[Hashable, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._timers: dict[Hashable, asyncio.TimerHandle] = {}
        self._batches: set[asyncio.Task[None]] = set()
        self._pool: ThreadPoolExecutor | None = None

    async def ask(self, key: Hashable, question: Q) -> A:
        """Return the answer to one question; only questions of equal ``key`` are answered together."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[A] = loop.create_future()
        group = self._waiting.setdefault(key, [])
        group.append((question, answer))
        if len(group) >= self._most:
            self._depart(key)
        elif len(group) == 1:
            self._timers[key] = loop.call_later(self._wait_s, self._depart, key)
        return await answer

    async def close(self) -> None:
        """Wait for the batches under way, and end the thread; the next question starts another one."""
        for key in list(self._waiting):
            self._depart(key)
        await asyncio.gather(*self._batches, return_exceptions=True)
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _depart(self, key: Hashable) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        group = [(question, answer) for question, answer in self._waiting.pop(key, []) if not answer.done()]
        if group:  # those that were cancelled meanwhile are not computed
            batch = asyncio.get_running_loop().create_task(self._run(group))
            self._batches.add(batch)
            batch.add_done_callback(self._batches.discard)

    async def _run(self, group: Sequence[tuple[Q, "asyncio.Future[A]"]]) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="salon-model")
        loop = asyncio.get_running_loop()
        answers = await asyncio.gather(
            loop.run_in_executor(self._pool, self._answer, [question for question, _ in group]), return_exceptions=True
        )
        outcome = answers[0]
        for row, (_, answer) in enumerate(group):
            if answer.done():
                continue
            if isinstance(outcome, BaseException):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome[row])
