"""Rewards for generators and for the models that judge them: pure functions on parsed answers.

    magicmirror_reward      MagicMirror's multi-level reward: format, L1, L2, L3, consistency
    label_score             the score of one set of labels that it is built from
    illusory                whether an edit instruction rewrites the prompt instead of the picture
    REWARDS                 what there is, with ranges and sources (``salon rewards list``)

A reward that could not be had is :class:`~salon_taxonomy.verdict.Unscored`, never 0; each result keeps its components.
"""

from salon_rewards.catalog import REWARDS, RewardEntry
from salon_rewards.illusory_edits import IllusoryFinding, illusory
from salon_rewards.magicmirror import (
    ConsistencyMode,
    MagicMirrorReward,
    MagicMirrorWeights,
    label_score,
    magicmirror_reward,
)

__all__ = [
    "REWARDS",
    "ConsistencyMode",
    "IllusoryFinding",
    "MagicMirrorReward",
    "MagicMirrorWeights",
    "RewardEntry",
    "illusory",
    "label_score",
    "magicmirror_reward",
]
