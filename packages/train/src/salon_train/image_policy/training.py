"""Teach a small image policy: imitation of a teacher, Flow-GRPO from a reward, and best-of-group fine-tuning as its rival.

    Imitation        the flow's loss on the teacher's pictures
    FlowGRPO         groups of pictures per prompt ──► rewards ──► advantages ──► steps become likelier or less likely
    BestOfGroup      groups of pictures per prompt ──► rewards ──► the best of each ──► the flow's loss on all of those so far

Every draw of a step depends on the seed and the number of the step alone, so a learner that continues from a saved state
computes the same bits.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from salon_train.image_policy.flow import Noise, SampledStep, StepDistribution, draw, even_times, spread, step_distribution
from salon_train.image_policy.network import TinyUNet, words_of
from salon_train.image_policy.pictures import LEARNED, SIDE

RewardFunction = Callable[[Tensor, Sequence[str], Sequence[Mapping[str, Any]]], tuple[Mapping[str, Sequence[float]], Any]]
"""Flow-GRPO's ``reward_fn``: pictures from 0 to 1, prompts and metadata to scores under ``avg``; NaN where missing."""

_REMEMBERED: Final = 200
"""Steps over which the mean of an imitation's weights reaches back, about."""
_WARM_UP: Final = 0.05
_LONGEST: Final = 1_000_003
"""Seeds lie so far apart; more steps than a run has."""


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


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """Settings of learning from a reward.

    Attributes:
        steps: updates of AdamW (of ``BestOfGroup``: rounds of drawing, each with ``updates``).
        group: pictures of each prompt, every step.
        ways: steps from noise to a picture.
        window: how many of these have chance, in a row that begins at a random place; the others are the ODE's.
        noise: how chance is added.
        level: how much; see :func:`~salon_train.image_policy.flow.step_distribution`.
        learning_rate: of AdamW.
        kl: weight of the divergence from the policy that learning began with.
        shuffled: deal the rewards out to the pictures of a batch at random, for the control.
        updates: of ``BestOfGroup`` after each round of drawing.
    """

    steps: int = 120
    group: int = 8
    ways: int = 8
    window: int = 3
    noise: Noise = "cps"
    level: float = 0.7
    learning_rate: float = 6e-4
    kl: float = 0.03
    shuffled: bool = False
    updates: int = 4


class PolicyLearner(ABC):
    """A network and its optimizer, which learn step by step.

    Attributes:
        network: what learns; changed in place.
        policy: the network to draw with; for an imitation the mean of the last weights.
    """

    def __init__(self, network: TinyUNet, learning_rate: float, *, seed: int) -> None:
        self.network = self.policy = network
        self.optimizer = torch.optim.AdamW(network.parameters(), learning_rate, weight_decay=0.0)
        self._seed = seed

    @abstractmethod
    def step(self, number: int) -> float | None:
        """Learn from one step's draws; return the mean reward, None where there was none.

        Args:
            number: from 0.
        """

    def state(self) -> dict[str, Any]:
        """Return what a learner needs to continue."""
        return {
            "network": self.network.state_dict(),
            "policy": self.policy.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self.network.load_state_dict(state["network"])
        self.policy.load_state_dict(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _chance(self, number: int) -> torch.Generator:
        return torch.Generator().manual_seed(self._seed * _LONGEST + number)

    def _update(self, losses: Iterable[Tensor]) -> None:
        """Update once along the gradient of a sum; each loss is computed when it is needed, and then forgotten."""
        self.optimizer.zero_grad()
        for loss in losses:
            loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()

    def _flow_loss(self, pictures: Tensor, words: Tensor, generator: torch.Generator) -> Tensor:
        """Return the rectified flow's loss, with times of a logit-normal distribution."""
        time = torch.sigmoid(torch.randn(len(pictures), generator=generator))
        noise = torch.randn(pictures.shape, generator=generator)
        share = time[:, None, None, None]
        predicted = self.network((1 - share) * pictures + share * noise, time, words)
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
        super().__init__(network, settings.learning_rate, seed=seed)
        self.policy = deepcopy(network).requires_grad_(False)
        self._pictures, self._words = lessons[0], words_of(lessons[1])
        self._settings = settings

    def step(self, number: int) -> None:
        """Learn from the batches of one step."""
        settings, generator = self._settings, self._chance(number)
        for update in range(number * settings.updates, (number + 1) * settings.updates):
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * _schedule(update / (settings.steps * settings.updates))
            chosen = torch.randint(len(self._pictures), (settings.batch,), generator=generator)
            self._update([self._flow_loss(self._pictures[chosen], self._words[chosen], generator)])
            share = 1 / min(update + 1, _REMEMBERED)
            for mean, now in zip(self.policy.parameters(), self.network.parameters(), strict=True):
                mean.lerp_(now.detach(), share)


def _schedule(done: float) -> float:
    return min(1.0, (done + 1e-3) / _WARM_UP) * (1 + math.cos(math.pi * done)) / 2


class _LearnsFromReward(PolicyLearner):
    """Draws groups of pictures of the prompts :data:`LEARNED` and has them rewarded."""

    def __init__(self, network: TinyUNet, reward: RewardFunction, settings: RewardSettings, *, seed: int) -> None:
        super().__init__(network, settings.learning_rate, seed=seed)
        self._reward, self._settings = reward, settings
        self._prompts = [prompt for prompt in LEARNED for _ in range(settings.group)]
        self._words = words_of(self._prompts)

    def _start(self, generator: torch.Generator) -> Tensor:
        return torch.randn((len(self._prompts), 3, SIDE, SIDE), generator=generator)

    def _paid(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        scores, _ = self._reward(shown(pictures), self._prompts, [{"prompt_id": prompt} for prompt in self._prompts])
        paid = torch.tensor(list(scores["avg"]))
        return paid[torch.randperm(len(paid), generator=generator)] if self._settings.shuffled else paid


class FlowGRPO(_LearnsFromReward):
    """Learn from a reward by Flow-GRPO (arXiv 2505.05470) with steps of chance in a window only.

    The gradient is that of mean(t · σ · (KL - advantage · log p)): with one update on each set of pictures the ratio of
    likelihoods is 1, so its clipping never acts. The weights t · σ, with a = 1, make early and late steps count alike. A
    picture without a reward takes no part, nor does a group whose rewards are equal.

    Args:
        network: begins with these weights.
        reward: pays a number for each picture, NaN where it is missing.
        settings: of the run.
        seed: of noise, windows and chance.
    """

    def __init__(self, network: TinyUNet, reward: RewardFunction, settings: RewardSettings, *, seed: int) -> None:
        super().__init__(network, reward, settings, seed=seed)
        self._before = deepcopy(network).requires_grad_(False)

    def step(self, number: int) -> float | None:
        """Draw groups, have them rewarded, and update once; return the mean reward."""
        settings, generator = self._settings, self._chance(number)
        places = settings.ways - settings.window + (settings.noise == "sde")
        first = int(torch.randint(places, (), generator=generator))
        pictures, sampled = draw(
            lambda x, time: self._velocity(self.network, x, time),
            self._start(generator),
            times=even_times(settings.ways),
            noise=settings.noise,
            level=settings.level,
            noisy=range(first, first + settings.window),
            generator=generator,
        )
        paid = self._paid(pictures, generator)
        advantage = advantages(paid, settings.group)
        if not advantage.any():
            return _mean(paid)
        self._update(self._losses(sampled, advantage, ~paid.isnan()))
        return _mean(paid)

    def _losses(self, sampled: Sequence[SampledStep], advantage: Tensor, scored: Tensor) -> Iterator[Tensor]:
        weights = [each.time * spread(each.time, each.next_time, 1.0) for each in sampled]
        for each, weight in zip(sampled, weights, strict=True):
            now = self._distribution(self.network, each)
            loss = -advantage * now.log_density(each.after)
            if self._settings.kl:
                far = self._distribution(self._before, each)
                loss = loss + self._settings.kl * ((now.mean - far.mean) ** 2).flatten(1).mean(1) / (2 * now.width**2)
            yield loss[scored].mean() * weight / sum(weights)

    def _distribution(self, network: TinyUNet, step: SampledStep) -> StepDistribution:
        velocity = self._velocity(network, step.before, step.time)
        noise, level = self._settings.noise, self._settings.level
        return step_distribution(velocity, step.before, step.time, step.next_time, noise=noise, level=level)

    def _velocity(self, network: TinyUNet, x: Tensor, time: float) -> Tensor:
        velocity: Tensor = network(x, torch.full((len(x),), time), self._words)
        return velocity


class BestOfGroup(_LearnsFromReward):
    """Learn from a reward by imitating the best picture of each group; of equal ones the first.

    Pictures are drawn by the ODE, and the best of all rounds so far are imitated: with those of the last round alone the policy
    soon draws few different ones. Arguments as for :class:`FlowGRPO`; ``noise``, ``level``, ``window`` and ``kl`` play no part.
    """

    def __init__(self, network: TinyUNet, reward: RewardFunction, settings: RewardSettings, *, seed: int) -> None:
        super().__init__(network, reward, settings, seed=seed)
        self._best = torch.empty((0, 3, SIDE, SIDE)), self._words[:0]

    def step(self, number: int) -> float | None:
        """Draw groups, have them rewarded, keep the best of each, and learn from what was kept; return the mean reward."""
        settings, generator = self._settings, self._chance(number)
        pictures = draw_with(self.network, self._words, self._start(generator), steps=settings.ways)
        paid = self._paid(pictures, generator)
        grouped = paid.reshape(-1, settings.group).nan_to_num(-math.inf)
        best = grouped.argmax(1) + settings.group * torch.arange(len(grouped))
        best = best[paid[best].isfinite()]
        self._best = torch.cat([self._best[0], pictures[best].clamp(-1, 1)]), torch.cat([self._best[1], self._words[best]])
        if len(self._best[0]):
            for _ in range(settings.updates):
                chosen = torch.randint(len(self._best[0]), (len(paid),), generator=generator)
                self._update([self._flow_loss(self._best[0][chosen], self._best[1][chosen], generator)])
        return _mean(paid)

    def state(self) -> dict[str, Any]:
        """Return what a learner needs to continue, and the pictures that were kept."""
        return super().state() | {"best": self._best}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        super().restore(state)
        self._best = state["best"]


def advantages(rewards: Tensor, group: int) -> Tensor:
    """Return each reward less the mean of its group, by the group's standard deviation; 0 for none or no difference.

    Args:
        rewards: shape (groups · group,), NaN where missing.
        group: pictures of each prompt, which stand side by side.

    Example:
        >>> advantages(torch.tensor([0.0, 1.0, float("nan"), 1.0, 1.0, 1.0]), 3).tolist()
        [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    grouped = rewards.reshape(-1, group)
    centred = grouped - grouped.nanmean(1, keepdim=True)
    deviation = (centred**2).nanmean(1, keepdim=True).sqrt()
    return torch.where(deviation > 1e-6, centred / deviation, 0.0).nan_to_num(0.0).flatten()


def shown(pictures: Tensor) -> Tensor:
    """Return pictures with values from -1 to 1 as adapters of rewards take them, from 0 to 1."""
    return pictures.clamp(-1, 1) / 2 + 0.5


def draw_with(network: TinyUNet, words: Tensor, start: Tensor, *, steps: int) -> Tensor:
    """Return the pictures to which the ODE of a network leads.

    Args:
        network: of the policy.
        words: of their prompts, shape (pictures, 2).
        start: standard normal noise, shape (pictures, 3, 16, 16).
        steps: from noise to picture.
    """
    return draw(lambda x, time: network(x, torch.full((len(x),), time), words), start, times=even_times(steps))[0]


def _mean(paid: Tensor) -> float | None:
    scored = paid[~paid.isnan()]
    return float(scored.mean()) if len(scored) else None
