"""Train a small U-Net as an image policy on one processor: for demonstrations and studies.

SmallUNet     predicts the velocity from noisy pictures, their time and what a prompt encoder returns
SmallPolicy   the network as a policy; all of its weights learn
Imitation     the flow's loss on pictures of a teacher
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from salon_train.image_policy.flow import even_times
from salon_train.image_policy.policy import Condition, FlowPolicy
from salon_train.image_policy.training import PolicyLearner

CONDITION: Final = 64
"""Numbers of a condition."""
_FREQUENCIES: Final = 16
_FASTEST: Final = 200.0
_GROUPS: Final = 8
_PATCH: Final = 2
_REMEMBERED: Final = 200
"""Steps over which the mean of an imitation's weights reaches back, about."""
_WARM_UP: Final = 0.05


class ConditionedBlock(nn.Module):
    """Two convolutions with a residual path; the condition scales and shifts what lies between them."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(_GROUPS, before), nn.GroupNorm(_GROUPS, after)])
        self.condition = nn.Linear(CONDITION, 2 * after)
        self.skip = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return hidden pictures of the same size, with ``after`` channels."""
        hidden = self.first(functional.silu(self.norms[0](x)))
        scale, shift = self.condition(condition)[:, :, None, None].chunk(2, 1)
        hidden = self.second(functional.silu(self.norms[1](hidden) * (1 + scale) + shift))
        return torch.add(self.skip(x), hidden)


class SmallUNet(nn.Module):
    """Predict the velocity, noise minus picture, from patches of 2 by 2 pixels.

    Args:
        prompts: a module that takes the codes of prompts and the condition of their times, shape (batch, 64), and returns the
            condition of both, and what is added to the patches, shape (batch, width, height / 2, width / 2), or None.
        width: channels of the patches, a multiple of 8.
        channels: of a picture.
    """

    def __init__(self, prompts: nn.Module, width: int, channels: int) -> None:
        super().__init__()
        self.prompts = prompts
        self.time = nn.Sequential(nn.Linear(2 * _FREQUENCIES, CONDITION), nn.SiLU(), nn.Linear(CONDITION, CONDITION))
        patch, wide = channels * _PATCH**2, 2 * width
        self.first = nn.Conv2d(patch, width, 3, padding=1)
        self.down = nn.ModuleList([ConditionedBlock(width, width), ConditionedBlock(width, wide)])
        self.up = nn.ModuleList([ConditionedBlock(wide, wide), ConditionedBlock(wide + width, width)])
        self.last = nn.Sequential(nn.GroupNorm(_GROUPS, width), nn.SiLU(), nn.Conv2d(width, patch, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor, codes: Tensor) -> Tensor:
        """Return the velocity, of the shape of ``x``.

        Args:
            x: noisy pictures, shape (batch, channels, height, width); sides are multiples of 4.
            time: of each picture, 0 (picture) to 1 (noise): shape (batch,).
            codes: of their prompts, as the prompt encoder takes them.
        """
        angles = time[:, None] * torch.exp(torch.linspace(0, math.log(_FASTEST), _FREQUENCIES))
        condition, added = self.prompts(codes, self.time(torch.cat([angles.sin(), angles.cos()], 1)))
        condition = functional.silu(condition)
        patches = self.first(functional.pixel_unshuffle(x, _PATCH))
        whole = self.down[0](patches if added is None else patches + added, condition)
        half = self.up[0](self.down[1](functional.avg_pool2d(whole, 2), condition), condition)
        whole = self.up[1](torch.cat([whole, functional.interpolate(half, scale_factor=2.0)], 1), condition)
        return functional.pixel_shuffle(self.last(whole), _PATCH)


class SmallPolicy(FlowPolicy):
    """A small network as a policy; all of its weights learn.

    Args:
        network: with these weights learning begins; changed in place.
        shape: of a picture: 1 (grey) or 3 channels, height, width.
        codes: returns the codes of prompts, of which the first dimension is the prompts'.
    """

    device = torch.device("cpu")

    def __init__(self, network: SmallUNet, shape: tuple[int, int, int], codes: Callable[[Sequence[str]], Tensor]) -> None:
        self.network, self.shape, self.codes = network, shape, codes
        self._reference = deepcopy(network).requires_grad_(False)

    def parameters(self) -> list[nn.Parameter]:
        """Return all weights."""
        return list(self.network.parameters())

    def times(self, steps: int) -> list[float]:
        """Return times of equal distance."""
        return even_times(steps)

    def encode(self, prompts: Sequence[str], *, guided: bool = True) -> Condition:
        """Return the codes of prompts."""
        return (self.codes(prompts),)

    def velocity(self, x: Tensor, time: float | Tensor, condition: Condition, *, reference: bool = False) -> Tensor:
        """Predict noise minus picture; see :meth:`FlowPolicy.velocity`."""
        network = self._reference if reference else self.network
        velocity: Tensor = network(x, torch.as_tensor(time).expand(len(x)), *condition)
        return velocity

    def pictures(self, x: Tensor) -> Tensor:
        """Return pictures with values from -1 to 1 as adapters of rewards take them, from 0 to 1 and in three channels."""
        return (x.clamp(-1, 1) / 2 + 0.5).expand(-1, 3, -1, -1)

    def encode_pictures(self, pictures: Tensor) -> Tensor:
        """Return pictures with values from -1 to 1; of a grey policy their first channel."""
        return pictures[:, : self.shape[0]] * 2 - 1

    def state(self) -> dict[str, Tensor]:
        """Return all weights."""
        return self.network.state_dict()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue with saved weights."""
        self.network.load_state_dict(state)


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """Settings of imitation.

    Attributes:
        steps: steps of a run, each of ``updates`` of AdamW.
        updates: batches of a step.
        batch: pictures of a batch.
        learning_rate: at its highest, after 5% of the steps; falls to 0 along a cosine.
        lessons: different pictures of the teacher.
        wrong: share of what the teacher draws that differs from its prompt.
    """

    steps: int = 1500
    updates: int = 1
    batch: int = 64
    learning_rate: float = 2e-3
    lessons: int = 6000
    wrong: float = 0.4


def flow_loss(network: SmallUNet, pictures: Tensor, codes: Tensor, generator: torch.Generator) -> Tensor:
    """Return the rectified flow's loss, with times of a logit-normal distribution.

    Args:
        network: predicts the velocity.
        pictures: shape (batch, channels, height, width), values from -1 to 1.
        codes: of their prompts.
        generator: of times and noise.
    """
    time = torch.sigmoid(torch.randn(len(pictures), generator=generator))
    noise = torch.randn(pictures.shape, generator=generator)
    share = time[:, None, None, None]
    predicted = network((1 - share) * pictures + share * noise, time, codes)
    loss: Tensor = ((predicted - (noise - pictures)) ** 2).mean()
    return loss


class Imitation(PolicyLearner):
    """Learn the flow from a teacher's pictures.

    Args:
        policy: begins with its weights, and is changed in place; the learner's own policy has their mean over late steps.
        lessons: pictures, shape (pictures, channels, height, width), values from -1 to 1, and their prompts.
        settings: of the run.
        seed: of batches, times and noise.
    """

    def __init__(
        self, policy: SmallPolicy, lessons: tuple[Tensor, Sequence[str]], settings: ImitationSettings, *, seed: int
    ) -> None:
        mean = SmallPolicy(deepcopy(policy.network).requires_grad_(False), policy.shape, policy.codes)
        super().__init__(mean, policy.parameters(), settings.learning_rate, seed=seed)
        self.network, self._mean = policy.network, mean.network
        self._pictures, self._codes = lessons[0], policy.codes(lessons[1])
        self._settings = settings

    def step(self, number: int) -> Mapping[str, float | None]:
        """Learn from the batches of one step; there is no reward."""
        settings, generator = self._settings, self._chance(number)
        for update in range(number * settings.updates, (number + 1) * settings.updates):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * _schedule(update / (settings.steps * settings.updates))
            chosen = torch.randint(len(self._pictures), (settings.batch,), generator=generator)
            self._update([flow_loss(self.network, self._pictures[chosen], self._codes[chosen], generator)], number)
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
