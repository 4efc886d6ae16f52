"""A small U-Net that predicts the velocity of a rectified flow: 16 by 16 pixels, a prompt of two words."""

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from studies.image_policy.pictures import COLOURS, SHAPES, PromptedShape

_CONDITION: Final = 64
_FREQUENCIES: Final = 16
_FASTEST: Final = 200.0
_GROUPS: Final = 8
_PATCH: Final = 2


class ConditionedBlock(nn.Module):
    """Two convolutions with a residual path; the condition scales and shifts what lies between them."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, padding=1)
        self.second = nn.Conv2d(after, after, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(_GROUPS, before), nn.GroupNorm(_GROUPS, after)])
        self.condition = nn.Linear(_CONDITION, 2 * after)
        self.skip = nn.Identity() if before == after else nn.Conv2d(before, after, 1)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return hidden pictures of the same size, with ``after`` channels."""
        hidden = self.first(functional.silu(self.norms[0](x)))
        scale, shift = self.condition(condition)[:, :, None, None].chunk(2, 1)
        hidden = self.second(functional.silu(self.norms[1](hidden) * (1 + scale) + shift))
        return torch.add(self.skip(x), hidden)


class TinyUNet(nn.Module):
    """Predict the velocity, noise minus picture, from patches of 2 by 2 pixels.

    Args:
        width: channels of the patches, a multiple of 8.

    Example:
        >>> sum(each.numel() for each in TinyUNet().parameters())
        229516
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.colours = nn.Embedding(len(COLOURS), _CONDITION)
        self.shapes = nn.Embedding(len(SHAPES), _CONDITION)
        self.time = nn.Sequential(nn.Linear(2 * _FREQUENCIES, _CONDITION), nn.SiLU(), nn.Linear(_CONDITION, _CONDITION))
        patch, wide = 3 * _PATCH**2, 2 * width
        self.first = nn.Conv2d(patch, width, 3, padding=1)
        self.down = nn.ModuleList([ConditionedBlock(width, width), ConditionedBlock(width, wide)])
        self.up = nn.ModuleList([ConditionedBlock(wide, wide), ConditionedBlock(wide + width, width)])
        self.last = nn.Sequential(nn.GroupNorm(_GROUPS, width), nn.SiLU(), nn.Conv2d(width, patch, 3, padding=1))

    def forward(self, x: Tensor, time: Tensor, words: Tensor) -> Tensor:
        """Return the velocity, of the shape of ``x``.

        Args:
            x: noisy pictures, shape (batch, 3, 16, 16).
            time: of each picture, 0 (picture) to 1 (noise): shape (batch,).
            words: what :func:`words_of` returns for their prompts.
        """
        angles = time[:, None] * torch.exp(torch.linspace(0, math.log(_FASTEST), _FREQUENCIES))
        condition = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        condition = functional.silu(condition + self.colours(words[:, 0]) + self.shapes(words[:, 1]))
        whole = self.down[0](self.first(functional.pixel_unshuffle(x, _PATCH)), condition)
        half = self.up[0](self.down[1](functional.avg_pool2d(whole, 2), condition), condition)
        whole = self.up[1](torch.cat([whole, functional.interpolate(half, scale_factor=2.0)], 1), condition)
        return functional.pixel_shuffle(self.last(whole), _PATCH)


def words_of(prompts: Sequence[str]) -> Tensor:
    """Return the places of colour and shape of each prompt: shape (prompts, 2).

    Example:
        >>> words_of(["a red square"]).tolist()
        [[0, 1]]
    """
    wanted = [PromptedShape.of(prompt) for prompt in prompts]
    return torch.tensor([[COLOURS.index(each.colour), SHAPES.index(each.shape)] for each in wanted])
