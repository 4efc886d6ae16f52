"""Bases of all rewards: callables ``(completions, **columns) -> list[float | None]`` with a name, a range and a source.

A reward by rule answers at once; one that asks a judge or an editor is a coroutine function, which trainers run beside each
other. Both are frozen dataclasses, so that they pickle and say what they are.
"""

import functools
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from salon_rewards.batch import Batch
from salon_rewards.group_mask import Abstention, Component, Paid, plain, together
from salon_rewards.judge_batching import Answers
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.plugins import no_exit
from salon_taxonomy.protocols import Judge, Question
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_ABSENT: Final = Unscored(Reason.ABSTAINED, "the reward is None")

T = TypeVar("T")
LogMetric: TypeAlias = Callable[[str, float], None]


@runtime_checkable
class RewardFunction(Protocol):
    """What trainers call: TRL's ``reward_funcs``, ms-swift's ORM. The result may have to be awaited."""

    __name__: str

    def __call__(self, completions: Sequence[Any], **columns: Any) -> Any:
        """Return one reward for each completion; None where missing."""


class Described:
    """What the registry of rewards reads from a class (:data:`~salon_rewards.REWARDS`).

    Attributes:
        pays_for: in a few words, for ``salon reward list``.
        published_in: paper, section, table or equation.
        lowest: its lowest value with default parameters.
        highest: its highest value with default parameters.
        columns: of the data set, which it needs.
        asks: ``judge``, ``editor``, or empty; a reward that asks has to be awaited.
    """

    __name__: ClassVar[str]
    pays_for: ClassVar[str] = ""
    published_in: ClassVar[str] = ""
    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0
    columns: ClassVar[tuple[str, ...]] = ()
    asks: ClassVar[str] = ""

    def terms(self, batch: Batch) -> tuple[Component, ...]:
        """Return the parts of the reward that are known without asking, for tables; empty for one that is no sum."""
        return ()

    def keep(self, batch: Batch, paid: Sequence[Paid]) -> None:
        """Keep what a trainer's batch earned, where the reward has such an attribute (a composition's ``last``)."""


class RuleReward(Described, ABC):
    """A reward that needs nothing but the completion and the columns beside it."""

    @abstractmethod
    def score(self, batch: Batch) -> Sequence[Paid]:
        """Return what each completion of a batch earned, or why that is unknown.

        Raises:
            InputError: for a column that is missing or holds something else; names column and row.
        """

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return one reward for each completion; None where there is no truth to hold it against.

        Args:
            completions: texts, or lists of chat messages.
            columns: the columns of the data set, and whatever else the trainer passes.

        Raises:
            InputError: as :meth:`score`.
        """
        paid = self.score(Batch(completions, columns))
        report(self.__name__, paid, columns)
        return plain(paid)


class AskingReward(Described, ABC):
    """A reward that asks a judge or an editor. Without an answer the whole group abstains, by default.

    Attributes:
        abstention: who abstains when there is no answer for a completion.
        group_size: how many completions each group has; None: told by the columns, see ``Batch.groups``.
    """

    abstention: Abstention
    group_size: int | None

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of what it asks: judge, editor, scorer, suite. A training run that continues compares them."""
        asked = (getattr(self, name, None) for name in ("judge", "editor"))
        return tuple(each.version for each in asked if each is not None)

    @abstractmethod
    async def verdicts(self, batch: Batch) -> Sequence[Paid]:
        """Return what each completion earned for itself, or why that is unknown."""

    async def score(self, batch: Batch) -> Sequence[Paid]:
        """Return what each completion of a batch earned, groups settled."""
        paid = await self.verdicts(batch)
        if self.abstention == Abstention.ALONE or not any(isinstance(each, Unscored) for each in paid):
            return paid
        return together(paid, batch.groups(self.group_size))

    async def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return one reward for each completion; None where there is no answer for it or for another of its group.

        Args:
            completions: texts, or lists of chat messages.
            columns: the columns of the data set, and whatever else the trainer passes.

        Raises:
            InputError: for a column that is missing or holds something else.
        """
        paid = await self.score(Batch(completions, columns))
        report(self.__name__, paid, columns)
        return plain(paid)


@dataclass(frozen=True)
class JudgedReward(AskingReward):
    """A reward that asks a judge one question about each completion; equal questions are asked once.

    Attributes:
        judge: answers the questions.
        concurrency: how many questions are open at once.
        timeout_s: how long one may take, in seconds.
        abstention: who abstains when the judge does.
        group_size: how many completions each group has; None: told by the columns, see ``Batch.groups``.

    Raises:
        InputError: for an unknown mode of abstention, or a number that is not above 0.
    """

    judge: Judge = field(repr=False)
    _: KW_ONLY
    concurrency: int = 16
    timeout_s: float | None = 120.0
    abstention: Abstention = Abstention.GROUP
    group_size: int | None = None
    _answers: Answers[float] = field(init=False, repr=False, compare=False)
    asks: ClassVar[str] = "judge"

    def __post_init__(self) -> None:
        object.__setattr__(self, "abstention", member_of(Abstention, self.abstention, "abstention", column="abstention"))
        answers = Answers(self.judge, type(self).read, concurrency=self.concurrency, timeout_s=self.timeout_s)
        object.__setattr__(self, "_answers", answers)

    @staticmethod
    @abstractmethod
    def read(text: str) -> Verdict[float]:
        """Return what the text of a judge's reply pays, 0 to 1, or why it pays nothing known."""

    @abstractmethod
    def question(self, batch: Batch, row: int) -> Question | None:
        """Return the question about one completion; None: it earns 0 unasked."""

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """Return what the judge's reply pays for each completion."""
        questions = [self.question(batch, row) for row in range(len(batch))]
        return [
            0.0 if question is None else verdict.value if isinstance(verdict, Scored) else verdict
            for question, verdict in zip(questions, await self._answers.ask(questions), strict=True)
        ]


async def each_paid(reward: RewardFunction, completions: Sequence[Any], columns: Mapping[str, Any]) -> list[Paid]:
    """Return what each completion earns for itself, without its group, or why that is unknown.

    For trainers and servers that have a policy of their own for missing rewards.

    Args:
        reward: Salon's, or a function of a user's own (:func:`paid_values`).
        completions: texts, or lists of chat messages.
        columns: lists with one value for each completion, by name.

    Raises:
        InputError: for a column that is missing or holds something else, or as :func:`paid_values`.
    """
    if isinstance(reward, AskingReward | RuleReward):
        batch = Batch(completions, columns)
        paid = await reward.verdicts(batch) if isinstance(reward, AskingReward) else reward.score(batch)
        reward.keep(batch, paid)
        return list(as_many(paid, len(completions), reward.__name__))
    with no_exit():
        returned = reward(completions, **columns)
        values = await returned if inspect.isawaitable(returned) else returned
    return paid_values(values, len(completions), name_of(reward))


def paid_values(values: Any, count: int, name: str) -> list[Paid]:
    """Read what a reward function of a user returned for ``count`` completions.

    Args:
        values: a list, tuple, array or tensor of numbers and None.
        count: of the completions.
        name: of the reward, for messages.

    Returns:
        Floats; ``Unscored`` with the reason ``abstained`` for None, ``off_menu`` for NaN and infinities.

    Raises:
        InputError: it is no list, has another number of values, or one that is neither a number nor None.

    Example:
        >>> [getattr(each, "reason", each) for each in paid_values([1, None], 2, "mine")]
        [1.0, <Reason.ABSTAINED: 'abstained'>]
    """
    listed = values.tolist() if callable(getattr(values, "tolist", None)) else values
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence):
        raise InputError(f"must return a list of {count} rewards, not", column=name, value=type(values).__name__)
    return [_paid(value, row, name) for row, value in enumerate(as_many(listed, count, name), start=1)]


def as_many(values: Sequence[T], count: int, name: str) -> Sequence[T]:
    """Return the rewards of ``count`` completions.

    Raises:
        InputError: there are more or fewer; names the reward.
    """
    if len(values) != count:
        raise InputError(f"must return {count} rewards, one for each completion, not", column=name, value=len(values))
    return values


def _paid(value: Any, row: int, name: str) -> Paid:
    if value is None:
        return _ABSENT
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError("a reward must be a number or None, not", row=row, column=name, value=value) from error
    return number if math.isfinite(number) else Unscored(Reason.OFF_MENU, f"{number:g} is no reward")


def name_of(reward: RewardFunction) -> str:
    """Return a reward's name: a partial function's is that of the function, a nameless object's its class's."""
    while isinstance(reward, functools.partial):
        reward = reward.func
    return str(getattr(reward, "__name__", type(reward).__name__))


def report(name: str, paid: Sequence[Paid], columns: dict[str, Any]) -> None:
    """Tell a trainer that takes metrics (TRL's ``log_metric``) which share of the completions has no reward."""
    log_metric: LogMetric | None = columns.get("log_metric")
    if log_metric is not None and paid:
        log_metric(f"{name}/abstained", sum(isinstance(each, Unscored) for each in paid) / len(paid))
