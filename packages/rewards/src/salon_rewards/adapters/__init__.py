"""Salon's rewards in other trainers' signatures. TRL's GRPO needs no adapter: its signature is ours.

verl       VerlScore, VerlBatchScore     compute_score(data_source, solution_str, ground_truth, extra_info)
ms_swift   SwiftReward                   an ORM: __call__(self, completions, **kwargs)
pictures   FlowGRPOReward, DDPOReward    reward_fn(images, prompts, metadata)
           VerlImageScore                compute_score(data_source, solution_image, ground_truth, extra_info)
           flow_factory_reward           a class of Flow-Factory's reward models
"""

from salon_rewards.adapters.ms_swift import SwiftReward
from salon_rewards.adapters.pictures import DDPOReward, FlowGRPOReward, UnscoredError, VerlImageScore, flow_factory_reward
from salon_rewards.adapters.verl import VerlBatchScore, VerlScore

__all__ = [
    "DDPOReward",
    "FlowGRPOReward",
    "SwiftReward",
    "UnscoredError",
    "VerlBatchScore",
    "VerlImageScore",
    "VerlScore",
    "flow_factory_reward",
]
