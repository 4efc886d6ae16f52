"""Rewards by name, as TRL calls them."""

from collections.abc import Callable, Sequence
from typing import Any

from salon_rewards import magicmirror_reward
from salon_taxonomy.answers import Unparsed, parse_magicmirror, parse_magicmirror_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Scored
from salon_train.configuration.schema import RewardSection

TrlReward = Callable[..., list[float | None]]


class MagicMirrorTotal:
    """The multi-level reward's total."""

    __name__ = "magicmirror"

    def __init__(self, *, require_reasoning: bool = True) -> None:
        self.require_reasoning = require_reasoning

    def __call__(self, completions: Sequence[Any], truth: Sequence[str], **_: Any) -> list[float | None]:
        paid: list[float | None] = []
        for completion, labels in zip(completions, truth, strict=True):
            text = completion if isinstance(completion, str) else completion[-1]["content"]
            true = parse_magicmirror_json(labels)
            if isinstance(true, Unparsed):
                raise InputError("are no labels", column="truth", value=labels)
            total = magicmirror_reward(parse_magicmirror(text), true.answer, require_reasoning=self.require_reasoning).total
            paid.append(total.value if isinstance(total, Scored) else None)
        return paid


def open_rewards(sections: Sequence[RewardSection], *, reasoning: bool) -> list[TrlReward]:
    """The rewards that a configuration names, in its order."""
    made: list[TrlReward] = []
    for section in sections:
        if section.name != "magicmirror":
            raise InputError("there is no such reward:", key="reward.name", value=section.name, allowed=["magicmirror"])
        made.append(MagicMirrorTotal(require_reasoning=reasoning))
    return made
