"""Many questions to one judge: side by side, each once, with a time limit, and remembered.

Whatever a judge does comes back as a value: a time-out, a refusal or a reply in no grammar is ``Unscored``, so that a lost
answer never ends a training run. A judge's client owns retries; what it answers in the end is what counts.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.protocols import Judge, Question
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

A = TypeVar("A")
T = TypeVar("T")

_UNTOLD: Final = Unscored(Reason.ABSTAINED, "no judge was asked")
_LONG: Final = 1 << 15


async def in_time(call: Awaitable[T], timeout_s: float | None, what: str) -> T | Unscored:
    """What a judge or an editor gives, or why it gives nothing.

    Args:
        call: the question, under way.
        timeout_s: how long it may take, in seconds; None: as long as it likes.
        what: is waited for.

    Example:
        >>> async def sleepy() -> str:
        ...     await asyncio.sleep(60)
        ...     return "awake"
        >>> asyncio.run(in_time(sleepy(), 0.01, "answer")).detail
        'no answer in 0.01 s'
    """
    try:
        return await asyncio.wait_for(call, timeout_s)
    except TimeoutError:
        # The one who was asked may give up by itself, also where it was given all the time it likes.
        return Unscored(Reason.TIMEOUT, f"no {what} in time" if timeout_s is None else f"no {what} in {timeout_s:g} s")
    except InputError as error:
        return Unscored(Reason.BAD_MEDIA, str(error))
    except (SalonError, OSError) as error:
        return Unscored(Reason.UNREACHABLE, f"{type(error).__name__}: {error}")


def check_judge(judge: object) -> None:
    """Refuse what cannot be asked.

    Raises:
        InputError: for an object without a method ``ask``, such as the text that names a judge.
    """
    if not callable(getattr(judge, "ask", None)):
        hint = (
            'Give make_reward(…, judge="vllm:MODEL@URL") a text, or open it: salon_judges.clients.open_judge("vllm:MODEL@URL").'
        )
        shown = judge if isinstance(judge, str) else type(judge).__name__
        raise InputError("a judge is an object with a method ask, not", column="judge", value=shown, hint=hint)


async def parse_reply(parse: Callable[[str], T], text: str) -> T:
    """Parse the text of a reply; more than 32,768 characters in a worker thread, so that the event loop continues.

    Args:
        parse: the parser; it must not depend on the thread.
        text: what a judge or a policy wrote.
    """
    return parse(text) if len(text) <= _LONG else await asyncio.to_thread(parse, text)


def check_limits(**limits: float | None) -> None:
    """Refuse numbers of questions or seconds that allow nothing; None is no limit.

    Raises:
        InputError: for a number that is not above 0 and finite.
    """
    for name, value in limits.items():
        if value is not None and not 0 < value < float("inf"):
            raise InputError("must be above 0 and finite", column=name, value=value)


class Answers(Generic[A]):
    """A judge's answers, by question: equal questions are asked once, and what was answered is not asked again.

    A missing verdict is not remembered, so the next batch asks again. Pickled without what it remembers.

    Args:
        judge: answers the questions.
        read: a reply's text as a verdict; called for whole replies only.
        concurrency: how many questions are open at once.
        timeout_s: how long one may take, in seconds; None: as long as the judge likes.
        most_kept: how many answers are remembered; the ones used longest ago go first.

    Raises:
        InputError: for a number that is not above 0.
    """

    def __init__(
        self,
        judge: Judge,
        read: Callable[[str], Verdict[A]],
        *,
        concurrency: int = 16,
        timeout_s: float | None = 120.0,
        most_kept: int = 20_000,
    ) -> None:
        check_judge(judge)
        check_limits(concurrency=concurrency, timeout_s=timeout_s, most_kept=most_kept)
        self._judge = judge
        self._read = read
        self._concurrency = concurrency
        self._timeout_s = timeout_s
        self._most_kept = most_kept
        self._kept: OrderedDict[tuple[str, str], Scored[A]] = OrderedDict()

    async def ask(self, questions: Sequence[Question | None]) -> list[Verdict[A]]:
        """Return a verdict for every question, in order; ``ABSTAINED`` where the question is None."""
        slots = asyncio.Semaphore(self._concurrency)
        open_: dict[tuple[str, str], asyncio.Task[Verdict[A]]] = {}
        keys: list[tuple[str, str] | None] = []
        for question in questions:
            key = None if question is None else (self._judge.version, question.request_sha256())
            keys.append(key)
            if question is not None and key is not None and key not in self._kept and key not in open_:
                open_[key] = asyncio.ensure_future(self._one(question, slots))
        try:
            await asyncio.gather(*open_.values())
        finally:  # an error or a cancellation ends here with no question open
            for task in open_.values():
                task.cancel()
            await asyncio.gather(*open_.values(), return_exceptions=True)
        verdicts: list[Verdict[A]] = [
            _UNTOLD if key is None else self._kept[key] if key in self._kept else open_[key].result() for key in keys
        ]
        self._keep({key: verdict for key, verdict in zip(keys, verdicts, strict=True) if key is not None})
        return verdicts

    async def _one(self, question: Question, slots: asyncio.Semaphore) -> Verdict[A]:
        async with slots:
            reply = await in_time(self._judge.ask(question), self._timeout_s, "answer")
        if isinstance(reply, Unscored):
            return reply
        problem = reply.problem()
        return await parse_reply(self._read, reply.text) if problem is None else problem

    def _keep(self, verdicts: dict[tuple[str, str], Verdict[A]]) -> None:
        for key, verdict in verdicts.items():
            if isinstance(verdict, Scored):
                self._kept[key] = verdict
                self._kept.move_to_end(key)
        while len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)

    def __getstate__(self) -> dict[str, object]:
        """Everything but the answers."""
        return {**self.__dict__, "_kept": OrderedDict()}
