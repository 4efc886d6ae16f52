"""What learns in the study beside Flow-GRPO and imitation: best-of-group fine-tuning.

BestOfGroup      groups of pictures per prompt ──► rewards ──► the best of each ──► the flow's loss on all of those so far
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from salon_train.demo.shapes import DrawnPolicy, words_of
from salon_train.image_policy.policy import draw_with
from salon_train.image_policy.small import flow_loss
from salon_train.image_policy.training import FlowReward, RewardLearner, RewardSettings, mean_reward


class BestOfGroup(RewardLearner):
    """Learn from a reward by imitating the best picture of each group; of equal ones the first.

    Pictures are drawn by the ODE, and the best of all rounds so far are imitated: with those of the last round alone the policy
    soon draws few different ones. Arguments as for :class:`FlowGRPO`; ``noise``, ``level``, ``window`` and ``kl`` play no part.
    """

    def __init__(
        self, policy: DrawnPolicy, reward: FlowReward, settings: RewardSettings, *, prompts: Sequence[str], seed: int
    ) -> None:
        super().__init__(policy, reward, settings, prompts=prompts, seed=seed)
        self._network = policy.network
        self._best = torch.empty((0, *policy.shape)), torch.empty((0, 2), dtype=torch.long)

    def step(self, number: int) -> Mapping[str, float | None]:
        """Draw groups, have them rewarded, keep the best of each, and learn from what was kept; return ``reward``."""
        settings, generator, prompts = self._settings, self._chance(number), self._asked(number)
        drawn, pictures = draw_with(self.policy, prompts, self._start(len(prompts), generator), steps=settings.ways)
        paid = self._paid(pictures, prompts, generator)
        grouped = paid.reshape(-1, settings.group).nan_to_num(-math.inf)
        best = grouped.argmax(1) + settings.group * torch.arange(len(grouped))
        best = best[paid[best].isfinite()]
        kept, words = self._best
        self._best = torch.cat([kept, drawn[best].clamp(-1, 1)]), torch.cat([words, words_of(prompts)[best]])
        if len(self._best[0]):
            for _ in range(settings.updates):
                chosen = torch.randint(len(self._best[0]), (len(paid),), generator=generator)
                loss = flow_loss(self._network, self._best[0][chosen], self._best[1][chosen], generator)
                self._update([loss], number)
        return {"reward": mean_reward(paid)}

    def state(self) -> dict[str, Any]:
        """Return what a learner needs to continue, and the pictures that were kept."""
        return super().state() | {"best": self._best}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        super().restore(state)
        self._best = state["best"]
