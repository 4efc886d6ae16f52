"""Many questions to one judge: side by side, each once, with a time limit, and remembered.

Whatever a judge does comes back as a value: a time-out, a refusal or a reply in no grammar is ``Unscored``, so that a lost
answer never ends a training run. A judge's client owns retries; what it answers in the end is what counts.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from salon_judges.asking.asker import Asker, AskPolicy, Memory
from salon_judges.asking.inquiry import Inquiry
from salon_taxonomy.answers import Parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

A = TypeVar("A")

_UNTOLD: Final = Unscored(Reason.ABSTAINED, "no judge was asked")


def check_judge(judge: object) -> None:
    """Refuse what cannot be asked.

    Raises:
        InputError: for an object without a method ``ask``, such as the text that names a judge.
    """
    if not callable(getattr(judge, "ask", None)):
        hint = (
            'Give make_reward(…, judge="vllm:MODEL@URL") a text, or open it: salon_judges.clients.open_judge("vllm:MODEL@URL").'
        )
        kind = judge if isinstance(judge, str) else type(judge).__name__
        raise InputError("a judge is an object with a method ask, not", column="judge", value=kind, hint=hint)


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
        self._policy = AskPolicy(judge, 0, tolerant=True, timeout_s=timeout_s)
        self._parse: Callable[[str], Any] = partial(_parsed, read)
        self._concurrency = int(concurrency)
        self._memory = Memory(most_kept)

    async def ask(self, questions: Sequence[Question | None]) -> list[Verdict[A]]:
        """Return a verdict for every question, in order; ``ABSTAINED`` where the question is None."""
        asker = Asker(self._policy, concurrency=self._concurrency)
        tasks = [None if question is None else asyncio.ensure_future(self._one(asker, question)) for question in questions]
        open_ = [task for task in tasks if task is not None]
        try:
            await asyncio.gather(*open_)
        finally:  # an error or a cancellation ends here with no question open
            for task in open_:
                task.cancel()
            await asyncio.gather(*open_, return_exceptions=True)
        return [_UNTOLD if task is None else task.result() for task in tasks]

    async def _one(self, asker: Asker, question: Question) -> Verdict[A]:
        return (await asker.answer(Inquiry("reward", question, self._parse), self._memory)).verdict

    def __getstate__(self) -> dict[str, object]:
        """Return everything but the answers."""
        return {**self.__dict__, "_memory": Memory(self._memory.most)}


def _parsed(read: Callable[[str], Verdict[A]], text: str) -> Parsed[A] | Unscored:
    """Read a reply; what a reward cannot read it does not ask again."""
    verdict = read(text)
    return Parsed(verdict.value) if isinstance(verdict, Scored) else verdict
