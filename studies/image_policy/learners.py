"""What learns in the study beside Flow-GRPO: the small U-Net, imitation of a teacher, and best-of-group fine-tuning.

DrawnPolicy      the small U-Net as a policy
Imitation        the flow's loss on the teacher's pictures
BestOfGroup      groups of pictures per prompt ──► rewards ──► the best of each ──► the flow's loss on all of those so far
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from salon_train.image_policy.flow import even_times
from salon_train.image_policy.policy import Condition, FlowPolicy, draw_with
from salon_train.image_policy.training import PolicyLearner, RewardFunction, RewardLearner, RewardSettings, mean_reward
from studies.image_policy.network import TinyUNet, words_of
from studies.image_policy.pictures import SIDE

_REMEMBERED: Final = 200
"""Steps over which the mean of an imitation's weights reaches back, about."""
_WARM_UP: Final = 0.05


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """Settings of imitation.

    Attributes:
        steps: steps of a run, each of ``updates`` of AdamW.
        updates: batches of a step.
        batch: pictures of a batch.
        learning_rate: at its highest, after 5% of the steps; falls to 0 along a cosine.
        lessons: different pictures of the teacher.
        wrong: share of them that do not show what their prompt says.
    """

    steps: int = 1500
    updates: int = 1
    batch: int = 64
    learning_rate: float = 2e-3
    lessons: int = 6000
    wrong: float = 0.4


class DrawnPolicy(FlowPolicy):
    """The small U-Net; all of its weights learn.

    Args:
        network: with these weights learning begins; changed in place.
    """

    shape = (3, SIDE, SIDE)
    device = torch.device("cpu")

    def __init__(self, network: TinyUNet) -> None:
        self.network = network
        self._reference = deepcopy(network).requires_grad_(False)

    def parameters(self) -> list[nn.Parameter]:
        """Return all weights."""
        return list(self.network.parameters())

    def times(self, steps: int) -> list[float]:
        """Return times of equal distance."""
        return even_times(steps)

    def encode(self, prompts: Sequence[str], *, guided: bool = True) -> Condition:
        """Return the places of colour and shape of each prompt."""
        return (words_of(prompts),)

    def velocity(self, x: Tensor, time: float | Tensor, condition: Condition, *, reference: bool = False) -> Tensor:
        """Predict noise minus picture; see :meth:`FlowPolicy.velocity`."""
        network = self._reference if reference else self.network
        velocity: Tensor = network(x, torch.as_tensor(time).expand(len(x)), *condition)
        return velocity

    def pictures(self, x: Tensor) -> Tensor:
        """Return pictures with values from -1 to 1 as adapters of rewards take them, from 0 to 1."""
        return x.clamp(-1, 1) / 2 + 0.5

    def encode_pictures(self, pictures: Tensor) -> Tensor:
        """Return pictures with values from -1 to 1."""
        return pictures * 2 - 1

    def state(self) -> dict[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue with saved weights."""
        self.network.load_state_dict(state)


def flow_loss(network: TinyUNet, pictures: Tensor, words: Tensor, generator: torch.Generator) -> Tensor:
    """Return the rectified flow's loss, with times of a logit-normal distribution.

    Args:
        network: predicts the velocity.
        pictures: shape (batch, 3, 16, 16), values from -1 to 1.
        words: of their prompts, shape (batch, 2).
        generator: of times and noise.
    """
    time = torch.sigmoid(torch.randn(len(pictures), generator=generator))
    noise = torch.randn(pictures.shape, generator=generator)
    share = time[:, None, None, None]
    predicted = network((1 - share) * pictures + share * noise, time, words)
    loss: Tensor = ((predicted - (noise - pictures)) ** 2).mean()
    return loss


class Imitation(PolicyLearner):
    """Learn the flow from a teacher's pictures.

    Args:
        network: begins with these weights.
        lessons: pictures, shape (pictures, 3, 16, 16), values from -1 to 1, and their prompts.
        settings: of the run.
        seed: of batches, times and noise.
    """

    def __init__(
        self, network: TinyUNet, lessons: tuple[Tensor, Sequence[str]], settings: ImitationSettings, *, seed: int
    ) -> None:
        self._mean = deepcopy(network).requires_grad_(False)
        super().__init__(DrawnPolicy(self._mean), list(network.parameters()), settings.learning_rate, seed=seed)
        self.network = network
        self._pictures, self._words = lessons[0], words_of(lessons[1])
        self._settings = settings

    def step(self, number: int) -> Mapping[str, float | None]:
        """Learn from the batches of one step; there is no reward."""
        settings, generator = self._settings, self._chance(number)
        for update in range(number * settings.updates, (number + 1) * settings.updates):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * _schedule(update / (settings.steps * settings.updates))
            chosen = torch.randint(len(self._pictures), (settings.batch,), generator=generator)
            self._update([flow_loss(self.network, self._pictures[chosen], self._words[chosen], generator)], number)
            share = 1 / min(update + 1, _REMEMBERED)
            for mean, now in zip(self._mean.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(now.detach(), share)
        return {}

    def state(self) -> dict[str, Any]:
        """Return what a learner needs to continue, and the weights that learn."""
        return super().state() | {"network": self.network.state_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        super().restore(state)
        self.network.load_state_dict(state["network"])


def _schedule(done: float) -> float:
    return min(1.0, (done + 1e-3) / _WARM_UP) * (1 + math.cos(math.pi * done)) / 2


class BestOfGroup(RewardLearner):
    """Learn from a reward by imitating the best picture of each group; of equal ones the first.

    Pictures are drawn by the ODE, and the best of all rounds so far are imitated: with those of the last round alone the policy
    soon draws few different ones. Arguments as for :class:`FlowGRPO`; ``noise``, ``level``, ``window`` and ``kl`` play no part.
    """

    def __init__(
        self, policy: DrawnPolicy, reward: RewardFunction, settings: RewardSettings, *, prompts: Sequence[str], seed: int
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
