"""Salon's rewards as ms-swift takes them: a class ("ORM") that is registered by name and called with completions.

ms-swift makes the object itself and calls it with ``(completions, **columns)``; a missing reward is None there as in TRL, and
counts as little. A plugin file of one's own (``--external_plugins plugin.py --reward_funcs salon_magicmirror``) registers it:

    from swift.rewards import orms          # swift.plugin in older releases

    class MagicMirrorORM(SwiftReward):
        reward = make_reward("magicmirror")

    orms["salon_magicmirror"] = MagicMirrorORM

Tried with ms-swift 4.6.0. Its rows have a ``prompt_id``, which identifies a group.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from salon_rewards.adapters.blocking import called
from salon_rewards.callables.reward import RewardFunction
from salon_taxonomy.errors import InputError


class SwiftReward:
    r"""The base of a class for ``orms``; a subclass names its reward.

    Attributes:
        reward: any of Salon's.
        columns: what columns of the data set are called there, by what the reward calls them, where the two differ:
            ``{"truth": "solution"}``.

    Raises:
        InputError: when the class names no reward.

    Example:
        >>> from salon_rewards import make_reward
        >>> class MagicMirrorORM(SwiftReward):
        ...     reward = make_reward("magicmirror")
        ...     columns = {"truth": "solution"}
        >>> normal = '{"Whether Normal": true}'
        >>> MagicMirrorORM()(["<think>Fine.</think>\\boxed{" + normal + "}"], solution=[normal], images=[["a.png"]])
        [12.0]
    """

    reward: ClassVar[RewardFunction]
    columns: ClassVar[dict[str, str]] = {}

    def __init__(self, args: object = None, **settings: Any) -> None:
        if not callable(getattr(type(self), "reward", None)):
            raise InputError("the class names no reward", value=type(self).__name__, hint='Write reward = make_reward("…").')

    def __call__(self, completions: Sequence[Any], **kwargs: Any) -> list[float | None]:
        """Return one reward for each completion; None where missing."""
        named = {ours: kwargs[theirs] for ours, theirs in self.columns.items() if theirs in kwargs}
        return called(type(self).reward, completions, **kwargs | named)
