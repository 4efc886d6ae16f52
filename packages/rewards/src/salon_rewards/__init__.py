"""Rewards for generators and for the models that judge them: callables for trainers, and the pure functions beneath them.

    make_reward             a reward by its name, with parameters
    FormatReward …          rewards as trainers call them: ``(completions, **columns) -> list[float | None]``
    compose                 several rewards as one: weights, gates, stages, schedules, and what happens to None
    magicmirror_reward      MagicMirror's multi-level reward of one answer: format, L1, L2, L3, consistency
    label_score             the score of one set of labels that it is built from
    illusory                whether an edit instruction rewrites the prompt instead of the picture
    REWARDS                 what there is, with ranges and sources (``salon reward list``)

A missing reward is :class:`~salon_taxonomy.verdict.Unscored` or None, never 0; each result keeps its components.
Nothing is imported before its first use (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_rewards.callables.magicmirror import (
        ConsistencyReward,
        FormatReward,
        L1Reward,
        L2Reward,
        L3Reward,
        MagicMirrorJudged,
        MagicMirrorTotal,
    )
    from salon_rewards.callables.penalties import LengthPenalty, RepetitionPenalty
    from salon_rewards.callables.prism import JudgedScoreReward
    from salon_rewards.callables.r3 import (
        HierarchicalReward,
        JsonReward,
        ReasoningReward,
        RectificationReward,
        ThinkReward,
        VerdictReward,
    )
    from salon_rewards.callables.reward import RewardFunction
    from salon_rewards.catalog import REWARDS, RewardEntry, make_reward
    from salon_rewards.composition import Composition, Missing, Part, compose
    from salon_rewards.group_mask import Abstention
    from salon_rewards.illusory_edits import IllusoryFinding, illusory
    from salon_rewards.magicmirror import (
        REASONING_RULES,
        ConsistencyMode,
        MagicMirrorReward,
        MagicMirrorWeights,
        label_score,
        magicmirror_reward,
    )
    from salon_rewards.schedules import Linear, Schedule, Steps

__all__ = [
    "REASONING_RULES",
    "REWARDS",
    "Abstention",
    "Composition",
    "ConsistencyMode",
    "ConsistencyReward",
    "FormatReward",
    "HierarchicalReward",
    "IllusoryFinding",
    "JsonReward",
    "JudgedScoreReward",
    "L1Reward",
    "L2Reward",
    "L3Reward",
    "LengthPenalty",
    "Linear",
    "MagicMirrorJudged",
    "MagicMirrorReward",
    "MagicMirrorTotal",
    "MagicMirrorWeights",
    "Missing",
    "Part",
    "ReasoningReward",
    "RectificationReward",
    "RepetitionPenalty",
    "RewardEntry",
    "RewardFunction",
    "Schedule",
    "Steps",
    "ThinkReward",
    "VerdictReward",
    "compose",
    "illusory",
    "label_score",
    "magicmirror_reward",
    "make_reward",
]

__getattr__, __dir__ = lazy_names(
    globals(),
    {
        "callables.magicmirror": [
            "ConsistencyReward",
            "FormatReward",
            "L1Reward",
            "L2Reward",
            "L3Reward",
            "MagicMirrorJudged",
            "MagicMirrorTotal",
        ],
        "callables.penalties": ["LengthPenalty", "RepetitionPenalty"],
        "callables.prism": ["JudgedScoreReward"],
        "callables.r3": [
            "HierarchicalReward",
            "JsonReward",
            "ReasoningReward",
            "RectificationReward",
            "ThinkReward",
            "VerdictReward",
        ],
        "callables.reward": ["RewardFunction"],
        "catalog": ["REWARDS", "RewardEntry", "make_reward"],
        "composition": ["Composition", "Missing", "Part", "compose"],
        "group_mask": ["Abstention"],
        "illusory_edits": ["IllusoryFinding", "illusory"],
        "magicmirror": [
            "ConsistencyMode",
            "MagicMirrorReward",
            "MagicMirrorWeights",
            "REASONING_RULES",
            "label_score",
            "magicmirror_reward",
        ],
        "schedules": ["Linear", "Schedule", "Steps"],
    },
)
