"""The rewards that a configuration names, as TRL calls them, with the judges that they ask.

A name is one of ``salon reward list``, ``source:name`` of an installed package (``suite:prism``), or ``module:name``: a
callable of your own, or a class of one, on Python's path.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from salon_rewards import REWARDS, Linear, Part, Schedule, Steps, compose, make_reward
from salon_rewards.catalog import source_names
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import Configuration, LinearWeight, RewardSection, StepWeight

TrlReward = Callable[..., Any]
"""``(completions, **columns) -> list[float | None]``; may be a coroutine function."""


@dataclass(frozen=True, slots=True)
class OpenRewards:
    """The rewards of a run.

    Attributes:
        rewards: as TRL calls them.
        weights: one for each.
        named: what people read of them: the weight of each configured reward, ``gate``, or ``changing``.
        versions: of the judges, scorers and suites that they ask; a reward of a user's own may have ``versions``, too.
    """

    rewards: list[TrlReward]
    weights: list[float]
    named: dict[str, float | str]
    versions: tuple[str, ...]


def open_rewards(configuration: Configuration, environment: Mapping[str, str]) -> OpenRewards:
    """Open the rewards that a configuration names, in its order; no judge is asked yet.

    With a gate or a weight that changes with the step, all of them become one reward, ``composed``
    (:func:`salon_rewards.compose`), whose parts are logged as ``composed/NAME``.

    Args:
        configuration: of the run. The option ``judge`` is a judge as ``salon bench run --judge`` takes it.
        environment: secrets of judges.

    Raises:
        InputError: for an unknown reward, option or judge, or two rewards of one name.
    """
    sections, reasoning = configuration.reward, configuration.data.reasoning
    rewards = [_reward(section, environment, reasoning=reasoning) for section in sections]
    names = [name_of(reward) for reward in rewards]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError("two rewards have one name:", key=f"reward.{number + 1}.name", value=name)
    versions = tuple(str(version) for reward in rewards for version in getattr(reward, "versions", ()))
    if not configuration.composed:
        weights = [each.weight for each in sections if isinstance(each.weight, float)]
        return OpenRewards(rewards, weights, dict(zip(names, weights, strict=True)), versions)
    about: dict[str, float | str] = {
        name: "gate" if each.gate else each.weight if isinstance(each.weight, float) else "changing"
        for name, each in zip(names, sections, strict=True)
    }
    parts = [
        Part(reward, _schedule(each.weight), gate=each.gate, least=each.least)
        for reward, each in zip(rewards, sections, strict=True)
    ]
    settings = configuration.composition
    composed = compose(parts, missing=settings.missing, missing_value=settings.missing_value)
    return OpenRewards([composed], [1.0], about, versions)


def _schedule(weight: float | LinearWeight | StepWeight) -> float | Schedule:
    if isinstance(weight, LinearWeight):
        return Linear(weight.start, weight.end, first=weight.first, last=weight.last)
    return Steps(weight.steps) if isinstance(weight, StepWeight) else weight


def name_of(reward: TrlReward) -> str:
    """Return what logs and tables call a reward."""
    return str(getattr(reward, "__name__", type(reward).__name__))


def judges_of(sections: Sequence[RewardSection]) -> list[str]:
    """Return the judges that the rewards ask, as they are specified."""
    return sorted({str(section.options["judge"]) for section in sections if "judge" in section.options})


def _reward(section: RewardSection, environment: Mapping[str, str], *, reasoning: bool) -> TrlReward:
    options: dict[str, Any] = dict(section.options)
    if "judge" in options:
        from salon_judges.clients import open_judge

        options["judge"] = open_judge(str(options["judge"]), environment)
    source, colon, _ = section.name.partition(":")
    if colon and source not in source_names():
        return _imported(section.name, options)
    if not reasoning and "reasoning" not in options and _takes(section.name, "reasoning"):
        options["reasoning"] = "optional"
    return cast("TrlReward", make_reward(section.name, **options))


def _takes(name: str, option: str) -> bool:
    """Return whether a reward by name has an option."""
    entry = next((entry for entry in REWARDS if entry.name == name), None)
    if entry is None:
        return False
    module, _, called = entry.made_by.partition(":")
    return option in inspect.signature(getattr(import_module(module), called)).parameters


def _imported(specification: str, options: Mapping[str, Any]) -> TrlReward:
    """Return a reward of the user's own.

    Raises:
        InputError: it cannot be imported, or is no callable.
    """
    module, _, name = specification.partition(":")
    try:
        known = find_spec(module) is not None
    except (ImportError, ValueError):
        known = False
    target = getattr(import_module(module), name, None) if known else None
    if target is None:
        hint = "`salon reward list` names Salon's own; MODULE:NAME is imported from Python's path."
        raise InputError("the reward cannot be imported:", key="reward.name", value=specification, hint=hint)
    reward = target(**options) if isinstance(target, type) else target
    if not callable(reward):
        raise InputError("the reward is no callable:", key="reward.name", value=specification)
    return cast("TrlReward", reward)
