"""What learns: a generator of pictures that is a rectified flow, with any network.

FlowPolicy     velocity, prompts to conditions, noisy pictures to pictures, the weights that learn
               of a pipeline of diffusers: :class:`~salon_train.image_policy.diffusers_policy.DiffusersPolicy`
PromptedBatch  pictures of some prompts, a few of which the network computes at once

Noise, densities, advantages and the loss are in :mod:`~salon_train.image_policy.flow` and
:mod:`~salon_train.image_policy.training`, once, for all policies; the loss of pairs is in
:mod:`~salon_train.image_policy.preferences`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from salon_train.image_policy.flow import draw

Condition: TypeAlias = tuple[Tensor, ...]
"""What the network reads of prompts: tensors whose first dimension is the prompts'."""


class FlowPolicy(ABC):
    """A rectified flow that draws pictures of prompts, and learns.

    Attributes:
        shape: of one noisy picture: channels, height, width.
        device: of the network; noisy pictures are float32 tensors there.
    """

    shape: tuple[int, int, int]
    device: torch.device

    @abstractmethod
    def parameters(self) -> list[nn.Parameter]:
        """Return the weights that learn."""

    @abstractmethod
    def times(self, steps: int) -> list[float]:
        """Return the times of the steps from noise to picture, from 1 to 0: ``steps`` + 1 of them."""

    @abstractmethod
    def encode(self, prompts: Sequence[str], *, guided: bool = True) -> Condition:
        """Return the condition of each prompt.

        Args:
            prompts: texts.
            guided: with what classifier-free guidance needs, if the policy draws with guidance.
        """

    @abstractmethod
    def velocity(self, x: Tensor, time: float | Tensor, condition: Condition, *, reference: bool = False) -> Tensor:
        """Predict noise minus picture, in float32 and of the shape of ``x``.

        Args:
            x: noisy pictures, shape (batch, channels, height, width).
            time: of all of them, or of each, shape (batch,): 0 (picture) to 1 (noise).
            condition: of their prompts.
            reference: predict with the weights that learning began with.
        """

    @abstractmethod
    def pictures(self, x: Tensor) -> Tensor:
        """Return the pictures at time 0: shape (batch, 3, height, width), values from 0 to 1, on the processor."""

    @abstractmethod
    def encode_pictures(self, pictures: Tensor) -> Tensor:
        """Return pictures in the policy's space, at time 0: the inverse of :meth:`pictures`, as far as there is one.

        Args:
            pictures: shape (batch, 3, height, width), values from 0 to 1.

        Returns:
            On the processor, of the shape (batch, :attr:`shape`).
        """

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Return the weights that learn, by name."""

    @abstractmethod
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue with saved weights."""


@dataclass(frozen=True, slots=True)
class PromptedBatch:
    """Pictures of some prompts, of which the network computes a few at once.

    Attributes:
        policy: draws them.
        condition: of the different prompts.
        owners: the row of ``condition`` of each picture, shape (pictures,).
        parts: pictures that are computed at once.
    """

    policy: FlowPolicy
    condition: Condition
    owners: Tensor
    parts: Sequence[slice]

    @classmethod
    def of(
        cls, policy: FlowPolicy, prompts: Sequence[str], at_once: int | None = None, *, guided: bool = True
    ) -> "PromptedBatch":
        """Encode each different prompt once.

        Args:
            policy: draws the pictures.
            prompts: one for each picture.
            at_once: pictures that the network computes at once; None: all of them.
            guided: predict velocities with the policy's guidance.
        """
        different = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        with torch.no_grad():
            condition = policy.encode(list(different), guided=guided)
        owners = torch.tensor([different[prompt] for prompt in prompts], device=policy.device)
        step = at_once or len(prompts)
        return cls(policy, condition, owners, [slice(first, first + step) for first in range(0, len(prompts), step)])

    def velocity(self, x: Tensor, time: float) -> Tensor:
        """Predict noise minus picture for all pictures."""
        return torch.cat([self.velocity_of(part, x[part], time) for part in self.parts])

    def velocity_of(self, part: slice, x: Tensor, time: float | Tensor, *, reference: bool = False) -> Tensor:
        """Predict noise minus picture for the pictures of a part; see :meth:`FlowPolicy.velocity`."""
        condition = tuple(each[self.owners[part]] for each in self.condition)
        return self.policy.velocity(x, time, condition, reference=reference)

    def pictures(self, x: Tensor) -> Tensor:
        """Return the pictures at time 0 as :meth:`FlowPolicy.pictures` does."""
        with torch.no_grad():
            return torch.cat([self.policy.pictures(x[part]) for part in self.parts])


def draw_with(
    policy: FlowPolicy, prompts: Sequence[str], start: Tensor, *, steps: int, at_once: int | None = None
) -> tuple[Tensor, Tensor]:
    """Draw pictures by the ODE of a policy.

    Args:
        policy: draws.
        prompts: one for each picture.
        start: standard normal noise, shape (pictures, channels, height, width).
        steps: from noise to picture.
        at_once: pictures that the network computes at once; None: all of them.

    Returns:
        What the ODE leads to at time 0, of the shape of ``start``, and the pictures of it as :meth:`FlowPolicy.pictures` has
        them.
    """
    batch = PromptedBatch.of(policy, prompts, at_once)
    drawn, _ = draw(batch.velocity, start.to(policy.device), times=policy.times(steps))
    return drawn, batch.pictures(drawn)
