"""Salon's rewards in other trainers' signatures. TRL needs no adapter: its signature is ours.

verl       VerlScore, VerlBatchScore     compute_score(data_source, solution_str, ground_truth, extra_info)
ms_swift   SwiftReward                   an ORM: __call__(self, completions, **kwargs)
"""

from salon_rewards.adapters.ms_swift import SwiftReward
from salon_rewards.adapters.verl import VerlBatchScore, VerlScore

__all__ = ["SwiftReward", "VerlBatchScore", "VerlScore"]
