"""Several rewards as one: a weighted sum behind gates, with every component kept.

    total = Σ weight · reward     where every gate is open
          = min(that sum, 0)      where one is closed: nothing is earned, and a penalty stays a penalty

A composed reward is a reward like any other, so it can be a part again: R³-Refiner's stages are α₁ · (a sum) + α₂ · (a sum).
:class:`Missing` decides what happens where a part gives no reward. The parts read each completion once, together.
"""

import asyncio
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, TypeAlias, overload

from salon_rewards.batch import Batch
from salon_rewards.callables.reward import (
    AskingReward,
    LogMetric,
    RewardFunction,
    RuleReward,
    as_many,
    name_of,
    paid_values,
    report,
)
from salon_rewards.group_mask import Component, Paid, plain, together
from salon_rewards.schedules import Schedule
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.plugins import no_exit
from salon_taxonomy.records import Reward as RewardRow
from salon_taxonomy.verdict import Reason, Unscored

Sink: TypeAlias = Callable[[Sequence[RewardRow]], object]
"""Takes the rows of one batch: ``lambda rows: store.append("rewards", rows, run_id=…)``, a list's ``extend``, …"""

TOTAL: Final = "total"
"""The name of the sum in rows of components."""


class Missing(StrEnum):
    """What a composed reward does where a part gives none."""

    ABSTAIN = "abstain"
    """The whole group has no total; GRPO learns nothing from it. The default."""
    RENORMALISE = "renormalise"
    """The weights of the parts that are there are raised so that they sum up to what all would have: totals of one group may
    then rest on different parts. A missing gate is left open; where no part is there, the group abstains."""
    VALUE = "value"
    """The part counts as ``missing_value``, for sums and gates alike."""


@dataclass(frozen=True)
class Part:
    """One reward of a composition.

    Attributes:
        reward: what is asked; a rule, one that asks a judge, another composition, or any function with TRL's signature.
        weight: what it is worth in the sum, a number or a schedule; negative ones turn a reward into a penalty. Of a gate
            it says nothing.
        gate: the reward is no term of the sum: the sum is earned only where the reward is at least ``least``.
        least: see ``gate``.
        name: what the component is called; None: what the reward is called.

    Raises:
        InputError: for a reward that cannot be called, a weight that is neither a finite number nor a schedule, or a
            ``least`` that is not finite.
    """

    reward: RewardFunction
    weight: float | Schedule = 1.0
    gate: bool = False
    least: float = 0.5
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.reward):
            hint = 'make_reward("…") makes one by its name; compose({"…": 1.0}) does so, too.'
            raise InputError("a part needs a reward, not", column="reward", value=self.reward, hint=hint)
        if not (math.isfinite(self.weight) if isinstance(self.weight, int | float) else isinstance(self.weight, Schedule)):
            raise InputError("a weight must be a finite number, or a schedule", column="weight", value=self.weight)
        if not math.isfinite(self.least):
            raise InputError("must be a finite number", column="least", value=self.least)

    @property
    def called(self) -> str:
        """The component's name."""
        return self.name or name_of(self.reward)

    def weight_at(self, step: int | None) -> float:
        """Return the weight at a step.

        Raises:
            InputError: when it depends on the step and no step is given, or its schedule gives no finite number.
        """
        if isinstance(self.weight, int | float):
            return float(self.weight)
        if step is None:
            hint = "Trainers pass trainer_state, whose global_step it is; elsewhere pass global_step=…."
            raise InputError("the weight has a schedule, and there is no step", column=self.called, hint=hint)
        weight = self.weight.at(step)
        problem = f"the schedule's weight at step {step} must be a finite number, not"
        try:
            number = math.nan if isinstance(weight, str) else float(weight)
        except (TypeError, ValueError) as error:
            raise InputError(problem, column=self.called, value=weight) from error
        if not math.isfinite(number):
            raise InputError(problem, column=self.called, value=weight)
        return number


@dataclass(frozen=True)
class Composition(Sequence[Paid]):
    """What one batch earned, part by part; as a sequence, the totals.

    Attributes:
        step: the trainer's step; None when not given.
        components: parts in their order, gates among them, and the total at the end.
    """

    step: int | None
    components: tuple[Component, ...]

    @property
    def total(self) -> list[Paid]:
        """The sums."""
        return list(self.components[-1].paid)

    def as_rows(self) -> list[dict[str, float | None]]:
        """Return one mapping for each completion, from a component's name to its value; None where missing."""
        columns = {component.name: plain(component.paid) for component in self.components}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]

    @overload
    def __getitem__(self, index: int) -> Paid: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Paid, ...]: ...

    def __getitem__(self, index: int | slice) -> Paid | tuple[Paid, ...]:
        """Return the total of a completion."""
        return self.components[-1].paid[index]

    def __len__(self) -> int:
        """Return the number of completions."""
        return len(self.components[-1].paid)


@dataclass(eq=False)
class _Composed:
    """What both kinds of composed rewards share.

    Attributes:
        last: what the latest batch that a trainer had scored earned, part by part; None before the first.
    """

    parts: tuple[Part, ...]
    missing: Missing = Missing.ABSTAIN
    missing_value: float = 0.0
    sink: Sink | None = field(default=None, repr=False)
    run_id: str = "run"
    group_size: int | None = None
    called: str = "composed"
    last: Composition | None = field(default=None, init=False, repr=False)
    _of_last: "_Identity | None" = field(default=None, init=False, repr=False)
    _step: int | None = field(default=None, init=False, repr=False)
    _number: int = field(default=-1, init=False, repr=False)
    compares: ClassVar[bool] = True
    """Rows of a batch decide together: groups abstain."""

    def __post_init__(self) -> None:
        setattr(self, "__name__", self.called)  # noqa: B010 - a name of its own, where its class has one for all

    def terms(self, batch: Batch) -> tuple[Component, ...]:
        """Return the parts of the latest batch; none when that was another one."""
        return self.last.components[:-1] if self.last is not None and self._of_last == _identity(batch) else ()

    def _settle(self, batch: Batch, results: Sequence[Sequence[Paid]]) -> Composition:
        """Return the totals of the parts' rewards, and hand them to the sink."""
        step = _step(batch.columns)
        weights = [part.weight_at(step) for part in self.parts]
        if any(part.gate for part in self.parts) or any(Unscored in set(map(type, each)) for each in results):
            paid = [self._one(weights, values) for values in zip(*results, strict=True)]
            if Unscored in set(map(type, paid)):
                paid = together(paid, batch.groups(self.group_size))
        else:
            paid = _sums(weights, results, len(batch))
        components: list[Component] = []
        for part, weight, result in zip(self.parts, weights, results, strict=True):
            if isinstance(result, Composition):
                inner = result.components[:-1]
                components += [Component(f"{part.called}/{one.name}", one.weight, one.paid) for one in inner]
            components.append(Component(part.called, 1.0 if part.gate else weight, tuple(result)))
        composition = Composition(step, (*components, Component(TOTAL, 1.0, tuple(paid))))
        self._number = self._number + 1 if self._number >= 0 and self._step == step else 0
        self._step = step
        if self.sink is not None:
            self.sink(reward_rows(composition, batch, run_id=self.run_id, number=self._number))
        return composition

    def keep(self, batch: Batch, paid: Sequence[Paid]) -> None:
        """Keep the parts of a trainer's batch as ``last``."""
        if isinstance(paid, Composition):
            self.last, self._of_last = paid, _identity(batch)

    def _as_trainers_take_it(self, batch: Batch, composition: Composition, columns: dict[str, Any]) -> list[float | None]:
        """Return the totals, None where missing; remember the parts, and report each as a metric."""
        self.keep(batch, composition)
        report(self.called, composition, columns)
        log_metric: LogMetric | None = columns.get("log_metric")
        if log_metric is not None:
            for component in composition.components[:-1]:
                numbers = [paid for paid in component.paid if not isinstance(paid, Unscored)]
                if numbers:
                    log_metric(f"{self.called}/{component.name}", sum(numbers) / len(numbers))
                if component.paid:
                    log_metric(f"{self.called}/{component.name}/abstained", 1 - len(numbers) / len(component.paid))
        return plain(composition)

    def _one(self, weights: Sequence[float], values: Sequence[Paid]) -> Paid:
        """Return the total of one completion."""
        earned = present = wanted = 0.0
        open_ = True
        for part, weight, paid in zip(self.parts, weights, values, strict=True):
            value = paid
            if isinstance(value, Unscored):
                if self.missing is Missing.ABSTAIN:
                    return value
                value = self.missing_value
                if self.missing is Missing.RENORMALISE:
                    wanted += 0.0 if part.gate else abs(weight)
                    continue
            if part.gate:
                open_ = open_ and value >= part.least
                continue
            earned += weight * value
            present += abs(weight)
            wanted += abs(weight)
        if self.missing is Missing.RENORMALISE and wanted > present:
            if not present:
                return Unscored(Reason.ABSTAINED, "no part has a reward")
            earned *= wanted / present
        return earned if open_ else min(earned, 0.0)

    def __getstate__(self) -> dict[str, object]:
        """Return everything but the latest batch."""
        return {**self.__dict__, "last": None, "_of_last": None, "_step": None, "_number": -1}


class ComposedReward(_Composed, RuleReward):
    """A composition of rewards by rule; made by :func:`compose`."""

    __name__: ClassVar[str] = "composed"

    def score(self, batch: Batch) -> Composition:
        """Return the total of each completion, with all components."""
        return self._settle(batch, [_scored(part.reward, batch) for part in self.parts])

    def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return the total of each completion, as trainers take it; None where missing. Each component is a metric."""
        batch = Batch(completions, columns)
        return self._as_trainers_take_it(batch, self.score(batch), columns)


class ComposedAskingReward(_Composed, AskingReward):
    """A composition in which at least one part asks a judge or an editor; made by :func:`compose`."""

    __name__: ClassVar[str] = "composed"

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of what its parts ask."""
        return tuple(version for part in self.parts for version in getattr(part.reward, "versions", ()))

    async def verdicts(self, batch: Batch) -> Composition:
        """As :meth:`score`; groups are settled."""
        return await self.score(batch)

    async def score(self, batch: Batch) -> Composition:
        """Return the total of each completion, with all components. Parts that ask run beside each other."""
        return self._settle(batch, await asyncio.gather(*(_awaited(part.reward, batch) for part in self.parts)))

    async def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return the total of each completion, as trainers take it; None where missing. Each component is a metric."""
        batch = Batch(completions, columns)
        return self._as_trainers_take_it(batch, await self.score(batch), columns)


def compose(
    parts: Sequence[Part | RewardFunction] | Mapping[str, float],
    *,
    missing: Missing | str = Missing.ABSTAIN,
    missing_value: float = 0.0,
    sink: Sink | None = None,
    run_id: str = "run",
    group_size: int | None = None,
    name: str = "composed",
) -> "ComposedReward | ComposedAskingReward":
    r"""Return one reward out of several.

    Args:
        parts: rewards, with weight 1 or as :class:`Part`; or names of :data:`~salon_rewards.catalog.REWARDS` with weights.
        missing: what happens where a part gives no reward.
        missing_value: with ``Missing.VALUE``: what it counts as then.
        sink: takes a row of every component of every completion, for the store's table ``rewards``.
        run_id: of those rows.
        group_size: how many completions each group has; None: told by the columns, see ``Batch.groups``.
        name: what trainers and tables call it.

    Raises:
        InputError: for no parts, two of one name, an unknown policy, or a value that is not finite.

    Returns:
        A callable for trainers; a coroutine function when a part is one.

    Example:
        >>> from salon_rewards import FormatReward, L1Reward, LengthPenalty
        >>> reward = compose([Part(FormatReward(), gate=True), Part(L1Reward(), 4.0), LengthPenalty(longest=80, buffer=40)])
        >>> normal = '{"Whether Normal": true}'
        >>> reward(["<think>Fine.</think>\\boxed{" + normal + "}", "Fine." * 20], truth=[normal, normal])
        [3.7, -1.0]
        >>> reward.last.as_rows()[0]
        {'format': 1.0, 'l1': 1.0, 'length': -0.3, 'total': 3.7}
    """
    if isinstance(parts, Mapping):
        from salon_rewards.catalog import make_reward

        parts = [Part(make_reward(each), weight) for each, weight in parts.items()]
    settled = tuple(each if isinstance(each, Part) else Part(each) for each in parts)
    names = [name for part in settled for name in _component_names(part)]
    if not settled or len(set(names)) < len(names) or TOTAL in names:
        problem = "needs rewards with different names" if settled else "needs at least one reward"
        raise InputError(problem, column="parts", value=names, hint="Part(…, name=…) renames one.")
    missing = member_of(Missing, missing, "policy", column="missing")
    if not math.isfinite(missing_value):
        raise InputError("must be a finite number", column="missing_value", value=missing_value)
    kind = ComposedAskingReward if any(_asks(part.reward) for part in settled) else ComposedReward
    return kind(settled, missing, missing_value, sink, run_id, group_size, name)


def _component_names(part: Part) -> list[str]:
    """Return the names of a part's components: its own, and those of the parts of a composition."""
    inner = part.reward.parts if isinstance(part.reward, _Composed) else ()
    return [part.called, *(f"{part.called}/{name}" for each in inner for name in _component_names(each))]


def reward_rows(composition: Composition, batch: Batch, *, run_id: str, number: int = 0) -> list[RewardRow]:
    """Return a composition as rows of the store's table ``rewards``, component by component.

    Completions are named by the column ``completion_id`` if there is one, else by run, step, ``number`` (of the batch within
    its step), position, prompt and text, so that a step that is done again after a crash gives the same names (a store then
    takes them with ``on_duplicate="skip"``), and two processes of one run hardly ever do. Prompts are named by ``prompt_id``
    or ``example_id``.

    Args:
        composition: what the batch earned.
        batch: the completions and columns.
        run_id: of the rows.
        number: which batch of the step it is.

    Example:
        >>> from salon_rewards import ThinkReward
        >>> reward = compose([ThinkReward()])
        >>> _ = reward(["<think>Two.</think>No."])
        >>> batch = Batch(["<think>Two.</think>No."], {"completion_id": ["a"]})
        >>> [(row.completion_id, row.reward, row.value) for row in reward_rows(reward.last, batch, run_id="run")]
        [('a', 'think', 1.0), ('a', 'total', 1.0)]
    """
    step = composition.step or 0
    own, prompts = (_column(batch, names) for names in (("completion_id",), ("prompt_id", "example_id")))
    name: dict[str, Digestible] = {"run": run_id, "step": step, "batch": number}
    named = [None] * len(batch) if prompts is None else prompts
    prompt_ids = [None if each is None else str(each) for each in named]
    keys = [
        digest("completion", {**name, "row": row, "prompt": prompt_ids[row], "text": said})
        if own is None or own[row] is None
        else str(own[row])
        for row, said in enumerate(batch.texts)
    ]
    return [
        RewardRow(
            run_id=run_id,
            step=step,
            completion_id=keys[row],
            prompt_id=prompt_ids[row],
            reward=component.name,
            value=None if isinstance(paid, Unscored) else paid,
            unscored_reason=str(paid.reason) if isinstance(paid, Unscored) else None,
            weight=component.weight,
        )
        for component in composition.components
        for row, paid in enumerate(component.paid)
    ]


def _sums(weights: Sequence[float], results: Sequence[Sequence[Paid]], count: int) -> list[Paid]:
    """Return weighted sums where nothing is missing, part by part in their order."""
    sums = [0.0] * count
    for weight, paid in zip(weights, results, strict=True):
        sums = [sum_ + weight * each for sum_, each in zip(sums, paid, strict=True)]  # type: ignore[operator]
    return list(sums)


def _column(batch: Batch, names: Sequence[str]) -> Sequence[object] | None:
    return next((batch.column(name) for name in names if batch.columns.get(name) is not None), None)


def _step(columns: Mapping[str, Any]) -> int | None:
    """Return the trainer's step: of ``trainer_state``, or as it was passed."""
    step = getattr(columns.get("trainer_state"), "global_step", columns.get("global_step"))
    return None if step is None else int(step)


def _asks(reward: RewardFunction) -> bool:
    while isinstance(reward, functools.partial):
        reward = reward.func
    return inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(type(reward).__call__)


_Identity: TypeAlias = tuple[object, ...]


def _identity(batch: Batch) -> _Identity:
    """Return what tells a batch from others: its texts, and the ids of completions and prompts."""
    ids = (_column(batch, (name,)) for name in ("completion_id", "prompt_id", "example_id"))
    return tuple(batch.texts), *(None if values is None else tuple(map(str, values)) for values in ids)


def _scored(reward: RewardFunction, batch: Batch) -> Sequence[Paid]:
    """Return the rewards of a batch, with reasons where the reward gives any."""
    if isinstance(reward, RuleReward):
        return as_many(reward.score(batch), len(batch), reward.__name__)
    with no_exit():
        values = reward(batch.completions, **batch.columns)
    return paid_values(values, len(batch), name_of(reward))


async def _awaited(reward: RewardFunction, batch: Batch) -> Sequence[Paid]:
    if isinstance(reward, AskingReward):
        return as_many(await reward.score(batch), len(batch), reward.__name__)
    if not _asks(reward):
        return _scored(reward, batch)
    with no_exit():
        values = await reward(batch.completions, **batch.columns)
    return paid_values(values, len(batch), name_of(reward))
