"""Draw pictures from a rectified flow, with chance in some steps, and compute how likely each such step was.

A rectified flow leads from noise (time 1) to a picture (time 0): x = (1 - t) · picture + t · noise, and the network predicts
the velocity v, noise minus picture. So x - t · v predicts the picture, and x + (1 - t) · v the noise. Reinforcement learning
needs chance, which the ordinary differential equation (ODE) does not have. Two ways add it:

- ``sde``: the stochastic differential equation of Flow-GRPO (arXiv 2505.05470, its ODE-to-SDE conversion), which has the ODE's
  distribution at every time in the limit of many steps; σ = a · √(t / (1 - t)).
- ``cps``: coefficients-preserving sampling (Flow-CPS, arXiv 2509.05952): the next x has the shares of picture and noise that
  its time prescribes, and part of that noise is new. The distribution is the ODE's, in steps of any length, as far as the
  network predicts picture and noise exactly. Steps that end near the picture have no chance (:func:`chance_steps`).
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import torch
from torch import Tensor

Velocity = Callable[[Tensor, float], Tensor]
"""Noisy pictures and their time to velocities of the same shape, in float32."""
Noise = Literal["sde", "cps"]
_LEAST_TIME: Final = 0.05


@dataclass(frozen=True, slots=True)
class StepDistribution:
    """The distribution of the next noisy pictures: normal and independent, with one width for all pixels.

    Attributes:
        mean: shape (batch, channels, height, width).
        width: standard deviation; 0 for a step of the ODE.
    """

    mean: Tensor
    width: float

    def log_density(self, x: Tensor) -> Tensor:
        """Return the log density of each picture as a mean over its pixels: shape (batch,); ``width`` must not be 0.

        The mean in place of the sum is what Flow-GRPO's released code takes: sizes of gradients do not depend on resolution.
        """
        square = ((x - self.mean) ** 2).flatten(1).mean(1) / (2 * self.width**2)
        return -square - math.log(self.width) - math.log(2 * math.pi) / 2


@dataclass(frozen=True, slots=True)
class SampledStep:
    """A step with chance that was taken.

    Attributes:
        before: noisy pictures, shape (batch, channels, height, width).
        after: those that the step led to.
        time: of ``before``, above 0 and at most 1.
        next_time: of ``after``.
        log_density: of ``after`` when the step was taken, shape (batch,).
    """

    before: Tensor
    after: Tensor
    time: float
    next_time: float
    log_density: Tensor


def even_times(steps: int) -> list[float]:
    """Return the times of steps of equal length, from 1 to 0.

    Example:
        >>> even_times(4)
        [1.0, 0.75, 0.5, 0.25, 0.0]
    """
    return [1 - place / steps for place in range(steps + 1)]


def step_distribution(
    velocity: Tensor, x: Tensor, time: float, next_time: float, *, noise: Noise | None, level: float = 0.0
) -> StepDistribution:
    """Return the distribution of one step from ``time`` to ``next_time``.

    Args:
        velocity: predicted at ``x``.
        x: noisy pictures.
        time: above 0 and at most 1.
        next_time: at least 0 and below ``time``.
        noise: how chance is added; None for the step of the ODE.
        level: a of ``sde``; for ``cps`` the share of new noise as a part of a right angle, 0 to 1.
    """
    if noise is None:
        return StepDistribution(x + (next_time - time) * velocity, 0.0)
    old_noise = x + (1 - time) * velocity
    if noise == "cps":
        new, kept = (next_time * part(level * math.pi / 2) for part in (math.sin, math.cos))
        return StepDistribution((1 - next_time) * (x - time * velocity) + kept * old_noise, new)
    sigma, length = spread(time, next_time, level), time - next_time
    drift = velocity + sigma**2 / (2 * time) * old_noise
    return StepDistribution(x - length * drift, sigma * math.sqrt(length))


def spread(time: float, next_time: float, level: float) -> float:
    """Return Flow-GRPO's σ of a step: level · √(t / (1 - t)).

    At time 1, where it is infinite, 1 - t is that of the next time, as in Flow-GRPO's released code.

    Example:
        >>> round(spread(0.8, 0.6, 0.7), 3), round(spread(1.0, 0.5, 0.7), 3)
        (1.4, 0.99)
    """
    return level * math.sqrt(time / (1 - time if time < 1 else 1 - next_time))


def chance_steps(times: Sequence[float], noise: Noise) -> int:
    """Return how many steps, counted from the first, may have chance.

    A step of ``cps`` may if it ends at time 0.05 or before: one that ends nearer to the picture adds next to no noise, and its
    density would outweigh those of all other steps. Schedulers of diffusers end with such a step.

    Args:
        times: from 1 to 0.
        noise: how chance is added.

    Example:
        >>> chance_steps(even_times(8), "sde"), chance_steps(even_times(8), "cps"), chance_steps([1, 0.6, 0.009, 0], "cps")
        (8, 7, 1)
    """
    return sum(noise == "sde" or following >= _LEAST_TIME for following in times[1:])


def draw(
    velocity: Velocity,
    start: Tensor,
    *,
    times: Sequence[float],
    noise: Noise = "sde",
    level: float = 0.0,
    noisy: Collection[int] = (),
    generator: torch.Generator | None = None,
) -> tuple[Tensor, list[SampledStep]]:
    """Draw pictures from noise.

    Args:
        velocity: of the policy.
        start: standard normal noise, shape (batch, channels, height, width).
        times: from 1 to 0, as :func:`even_times` returns them.
        noise: how chance is added to the noisy steps.
        level: how much; as for :func:`step_distribution`.
        noisy: places, from 0, of the steps with chance; all below :func:`chance_steps`, others have none.
        generator: of the chance, on the processor, so that every device draws the same numbers.

    Returns:
        The pictures, and the noisy steps that led to them.
    """
    x, sampled, most = start, [], chance_steps(times, noise)
    for number, (time, next_time) in enumerate(pairwise(times)):
        chance = noise if number in noisy and number < most else None
        with torch.no_grad():
            step = step_distribution(velocity(x, time), x, time, next_time, noise=chance, level=level)
        after = step.mean
        if chance is not None:
            after = after + step.width * torch.randn(x.shape, generator=generator).to(x.device)
            sampled.append(SampledStep(x, after, time, next_time, step.log_density(after)))
        x = after
    return x, sampled
