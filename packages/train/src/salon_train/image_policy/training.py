"""Teach an image policy from a reward of its pictures: Flow-GRPO.

groups of pictures per prompt ──► rewards ──► advantages ──► steps become likelier or less likely

Every draw of a step depends on the seed and the number of the step alone, so a learner that continues from a saved state
computes the same bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from salon_taxonomy.errors import InputError
from salon_train.image_policy.flow import Noise, SampledStep, StepDistribution, chance_steps, draw, spread, step_distribution
from salon_train.image_policy.policy import FlowPolicy, PromptedBatch
from salon_train.run.early_abort import check_finite
from salon_train.seeds import generator_of

Drawn = Callable[[Tensor, Sequence[str], Tensor, int], object]
"""Called in each step with its pictures, their prompts and rewards, and the step's number."""
FlowReward = Callable[[Tensor, Sequence[str], Sequence[Mapping[str, Any]]], tuple[Mapping[str, Sequence[float]], Any]]
"""Flow-GRPO's ``reward_fn``: pictures from 0 to 1, prompts and metadata to scores under ``avg``; NaN where missing."""

_LONGEST: Final = 1_000_003
"""Seeds lie so far apart; more steps than a run has."""


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """Settings of learning from a reward.

    Attributes:
        steps: updates of AdamW.
        group: pictures of each prompt, every step.
        ways: steps from noise to a picture.
        window: how many of these have chance, in a row that begins at a random place; the others are the ODE's.
        noise: how chance is added.
        level: how much; see :func:`~salon_train.image_policy.flow.step_distribution`.
        learning_rate: of AdamW.
        kl: weight of the divergence from the policy that learning began with.
        shuffled: deal the rewards out to the pictures of a batch at random, for the control.
        updates: of a learner that updates several times after each round of drawing.
        prompts: different prompts of a step, which take turns in an order of the seed's; None: all of them.
        at_once: pictures that the network computes at once; None: all of a step.
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
    prompts: int | None = None
    at_once: int | None = None


class PolicyLearner(ABC):
    """A policy and its optimizer, which learn step by step.

    Args:
        policy: changed in place.
        parameters: what learns.
        learning_rate: of AdamW.
        seed: of every draw.

    Attributes:
        policy: to draw with.
        optimizer: of the weights that learn.
    """

    def __init__(self, policy: FlowPolicy, parameters: list[nn.Parameter], learning_rate: float, *, seed: int) -> None:
        self.policy = policy
        self.optimizer = torch.optim.AdamW(parameters, learning_rate, weight_decay=0.0)
        self._parameters = parameters
        self._seed = seed

    @abstractmethod
    def step(self, number: int) -> Mapping[str, float | None]:
        """Learn from one step's draws; return its numbers: ``reward`` is the mean reward, None where there was none.

        Args:
            number: from 0.
        """

    def state(self) -> dict[str, Any]:
        """Return what a learner needs to continue."""
        return {"policy": self.policy.state(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self.policy.restore(state["policy"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _chance(self, number: int) -> torch.Generator:
        return generator_of(self._seed * _LONGEST + number)

    def _turn(self, number: int, count: int) -> int:
        """Return whose turn it is among ``count``; each pass over them has its own order."""
        turn, within = divmod(number, count)
        return int(torch.randperm(count, generator=self._chance(turn))[within])

    def _update(self, losses: Iterable[Tensor], number: int) -> tuple[float, float]:
        """Update once along the gradient of a sum; each loss is computed when it is needed, and then forgotten.

        Returns:
            The sum, and the norm of its gradient.

        Raises:
            DegeneratedError: the norm is not finite; the weights are as before.
        """
        self.optimizer.zero_grad()
        whole = 0.0
        for loss in losses:
            loss.backward()  # type: ignore[no-untyped-call]
            whole += loss.item()
        norm = float(nn.utils.clip_grad_norm_(self._parameters, 1.0))
        check_finite("gradient", norm, step=number, hint="Lower the learning rate, or compute in float32.")
        self.optimizer.step()
        return whole, norm


class RewardLearner(PolicyLearner):
    """Draws groups of pictures of prompts and has them rewarded; arguments as for :class:`FlowGRPO`."""

    def __init__(
        self,
        policy: FlowPolicy,
        reward: FlowReward,
        settings: RewardSettings,
        *,
        prompts: Sequence[str],
        seed: int,
        sampled: Callable[[Sequence[Sequence[float]], int], object] = lambda groups, number: None,
        drawn: Drawn = lambda pictures, prompts, rewards, number: None,
    ) -> None:
        super().__init__(policy, policy.parameters(), settings.learning_rate, seed=seed)
        self._reward, self._settings, self._prompts, self._sampled = reward, settings, prompts, sampled
        self._drawn = drawn
        self._times = policy.times(settings.ways)
        self._places = chance_steps(self._times, settings.noise) - settings.window + 1
        if self._places < 1:
            problem = f"only {self._places + settings.window - 1} of {settings.ways} steps may have chance; the window is"
            hint = "Raise the steps from noise to picture, shorten the window, or take the noise sde."
            raise InputError(problem, column="window", value=settings.window, hint=hint)

    def _asked(self, number: int) -> list[str]:
        """Return the prompt of each picture of a step, group by group."""
        count = self._settings.prompts or len(self._prompts)
        if count >= len(self._prompts):
            chosen = list(self._prompts)
        else:
            turns = range(number * count, (number + 1) * count)
            chosen = [self._prompts[self._turn(turn, len(self._prompts))] for turn in turns]
        return [prompt for prompt in chosen for _ in range(self._settings.group)]

    def _start(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randn((count, *self.policy.shape), generator=generator).to(self.policy.device)

    def _paid(self, pictures: Tensor, prompts: Sequence[str], generator: torch.Generator) -> Tensor:
        scores, _ = self._reward(pictures, prompts, [{"prompt_id": prompt} for prompt in prompts])
        paid = torch.tensor(list(scores["avg"]))
        return paid[torch.randperm(len(paid), generator=generator)] if self._settings.shuffled else paid


class FlowGRPO(RewardLearner):
    """Learn from a reward by Flow-GRPO (arXiv 2505.05470) with steps of chance in a window only.

    The gradient is that of mean(t · σ · (KL - advantage · log p)): with one update on each set of pictures the ratio of
    likelihoods is 1, so its clipping never acts. The weights t · σ, with a = 1, make early and late steps count alike. A
    picture without a reward takes no part. Pictures of a group whose rewards are equal have the advantage 0, so only their KL
    counts; where all groups are so, nothing is learned.

    Args:
        policy: begins with its weights, and is changed in place.
        reward: pays a number for each picture, NaN where it is missing.
        settings: of the run.
        prompts: of the pictures.
        seed: of prompts, noise, windows and chance.
        sampled: called with the rewards of each group and the step's number, before anything is learned.
        drawn: called then, too, with the pictures, their prompts, their rewards and the step's number.

    Raises:
        InputError: the window is longer than the steps that may have chance.
    """

    def step(self, number: int) -> Mapping[str, float | None]:
        """Draw groups, have them rewarded, and update once.

        Returns:
            ``reward``, ``unscored`` and ``frac_reward_zero_std`` (shares of pictures and groups), ``diversity`` of the
            pictures; where there was something to learn ``loss``, ``kl``, ``grad_norm``, and ``ratio_error``, the largest
            distance from 1 of the ratio of densities with which steps are learned from and were taken.
        """
        settings, generator = self._settings, self._chance(number)
        prompts = self._asked(number)
        batch = PromptedBatch.of(self.policy, prompts, settings.at_once)
        first = int(torch.randint(self._places, (), generator=generator))
        drawn, sampled = draw(
            batch.velocity,
            self._start(len(prompts), generator),
            times=self._times,
            noise=settings.noise,
            level=settings.level,
            noisy=range(first, first + settings.window),
            generator=generator,
        )
        pictures = batch.pictures(drawn)
        paid = self._paid(pictures, prompts, generator)
        groups = paid.reshape(-1, settings.group)
        advantage = advantages(paid, settings.group)
        facts: dict[str, float | None] = {
            "reward": mean_reward(paid),
            "unscored": float(paid.isnan().float().mean()),
            "frac_reward_zero_std": float((advantage.reshape(groups.shape) == 0).all(1).float().mean()),
            "diversity": diversity(pictures * 2 - 1, prompts) if settings.group > 1 else None,
        }
        self._drawn(pictures, prompts, paid, number)
        self._sampled(groups.tolist(), number)
        if not advantage.any():
            return facts
        seen = _Seen()
        advantage, scored = advantage.to(drawn.device), ~paid.isnan().to(drawn.device)
        loss, norm = self._update(self._losses(batch, sampled, advantage, scored, seen), number)
        return facts | {"loss": loss, "kl": seen.kl, "grad_norm": norm, "ratio_error": seen.ratio_error}

    def _losses(
        self, batch: PromptedBatch, sampled: Sequence[SampledStep], advantage: Tensor, scored: Tensor, seen: "_Seen"
    ) -> Iterator[Tensor]:
        weights = [each.time * spread(each.time, each.next_time, 1.0) for each in sampled]
        for drawn, weight in zip(sampled, weights, strict=True):
            for part in batch.parts:
                among = scored[part]
                if not among.any():
                    continue
                share = float(among.sum() / scored.sum())
                far = self._distribution(batch, part, drawn, reference=True) if self._settings.kl else None
                now = self._distribution(batch, part, drawn)
                density = now.log_density(drawn.after[part])
                loss = -advantage[part] * density
                if far is not None:
                    square, twice = ((now.mean - far.mean) ** 2).flatten(1).mean(1), 2 * now.width**2
                    loss = loss + self._settings.kl * square / twice
                    seen.kl += float(square.detach()[among].mean()) / twice * share / len(sampled)
                change = (density.detach() - drawn.log_density[part]).exp() - 1
                seen.ratio_error = max(seen.ratio_error, float(change.abs().max()))
                yield loss[among].mean() * share * weight / sum(weights)

    def _distribution(
        self, batch: PromptedBatch, part: slice, step: SampledStep, *, reference: bool = False
    ) -> StepDistribution:
        before, settings = step.before[part], self._settings
        with torch.set_grad_enabled(not reference):
            velocity = batch.velocity_of(part, before, step.time, reference=reference)
        return step_distribution(velocity, before, step.time, step.next_time, noise=settings.noise, level=settings.level)


@dataclass(slots=True)
class _Seen:
    """What the loss of a step came across.

    Attributes:
        kl: mean divergence from the reference, per pixel.
        ratio_error: see :meth:`FlowGRPO.step`.
    """

    kl: float = 0.0
    ratio_error: float = 0.0


def advantages(rewards: Tensor, group: int) -> Tensor:
    """Return each reward less the mean of its group, by the group's standard deviation; 0 for none or no difference.

    Args:
        rewards: shape (groups · group,), NaN where missing.
        group: pictures of each prompt, which stand side by side.

    Example:
        >>> advantages(torch.tensor([0.0, 1.0, float("nan"), 1.0, 1.0, 1.0]), 3).tolist()
        [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    grouped = rewards.reshape(-1, group).double()  # in float32 the mean of equal rewards, such as 22.3, is another number
    centred = grouped - grouped.nanmean(1, keepdim=True)
    deviation = (centred**2).nanmean(1, keepdim=True).sqrt()
    return torch.where(deviation > 1e-6, centred / deviation, 0.0).nan_to_num(0.0).flatten().to(rewards.dtype)


def mean_reward(paid: Tensor) -> float | None:
    """Return the mean of the rewards that there are; None without any."""
    scored = paid[~paid.isnan()]
    return float(scored.mean()) if len(scored) else None


def diversity(pictures: Tensor, prompts: Sequence[str]) -> float:
    """Return the mean absolute difference of pixels between two pictures of one prompt: 0 (all alike) to 2.

    Args:
        pictures: shape (pictures, channels, height, width), values from -1 to 1.
        prompts: of the pictures; each stands at least twice.

    Example:
        >>> diversity(torch.tensor([-1.0, 1.0, 0.5, 0.5]).reshape(4, 1, 1, 1), ["a", "a", "b", "b"])
        1.0
    """
    means = []
    for prompt in dict.fromkeys(prompts):
        alike = pictures[[place for place, each in enumerate(prompts) if each == prompt]].flatten(1)
        count, pixels = alike.shape
        means.append(torch.cdist(alike, alike, p=1).sum() / (count * (count - 1) * pixels))
    return float(torch.stack(means).mean())
