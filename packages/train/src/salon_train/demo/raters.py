"""Simulated raters of drawn pictures, who like ink beside what they are asked about."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RaterSettings:
    """Simulated raters.

    Attributes:
        count: raters, who take turns at random.
        sharpness: what a difference of 1 in truth adds to the logit of a vote.
        bias: what a difference of 1 in ink adds, in the mean of the raters; ink is 0 (white) to 1 (black).
        spread: standard deviation of the bias over raters.
    """

    count: int = 20
    sharpness: float = 4.0
    bias: float = 8.0
    spread: float = 4.0

    def utility(self, pictures: Tensor, truth: Tensor) -> Tensor:
        """Return what the mean rater gives each picture, shape (pictures,)."""
        return self.sharpness * truth + self.bias * ink(pictures)

    def vote(self, first: Tensor, second: Tensor, gap: Tensor, generator: torch.Generator) -> Tensor:
        """Return whether each vote is for the first picture, shape (pairs,).

        Args:
            first, second: pictures, shape (pairs, 3, height, width), values from 0 to 1.
            gap: the truth of the first less that of the second, shape (pairs,).
            generator: of raters and votes.

        Example:
            >>> black, white = torch.zeros(50, 3, 2, 2), torch.ones(50, 3, 2, 2)
            >>> chance = torch.Generator().manual_seed(0)
            >>> RaterSettings(bias=50.0).vote(black, white, torch.zeros(50), chance).float().mean().item()
            1.0
        """
        biases = self.bias + self.spread * torch.randn(self.count, generator=generator)
        of = biases[torch.randint(self.count, (len(gap),), generator=generator)]
        chance = torch.sigmoid(self.sharpness * gap + of * (ink(first) - ink(second)))
        return torch.rand(len(gap), generator=generator) < chance


def ink(pictures: Tensor) -> Tensor:
    """Return how dark each picture is, 0 (white) to 1 (black): shape (pictures,)."""
    return 1 - pictures.flatten(1).mean(1)
