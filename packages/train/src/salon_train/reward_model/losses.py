"""How likely votes are, given two rewards: the losses of a reward model.

    bradley-terry  P(first) = σ(r₁ - r₂); a tie is half a vote for either
    davidson       P(tie) is in proportion to ν · √(e^r₁ e^r₂)    Davidson 1970
    rao-kupper     P(first) = σ(r₁ - r₂ - η), likewise second      Rao and Kupper 1967
    unsure         Bradley-Terry of two normal rewards             HPSv3 (Ma et al. 2025, arXiv 2508.03789), by quadrature

Of every chance P of a vote for one picture, a share ``rater_noise`` is given to the other.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import torch
from torch import Tensor, nn

from salon_train.configuration.reward_model import Loss

_NODES: Final = 20
_LEAST: Final = 1e-12
_LEAST_TIES: Final = 1e-3


class VoteModel(nn.Module):
    """The chances of votes; of ties with a parameter that learns.

    Args:
        loss: which.
        rater_noise: see above.

    Attributes:
        tie: the logarithm of ν, or of η; None without ties.
    """

    def __init__(self, loss: Loss, rater_noise: float = 0.0) -> None:
        super().__init__()
        self._loss, self._noise = loss, rater_noise
        self.tie = nn.Parameter(torch.tensor(0.0)) if loss in ("davidson", "rao-kupper") else None
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        self._nodes, self._weights = torch.tensor(nodes).float(), torch.tensor(weights / weights.sum()).float()

    def begin_tie(self, votes: Sequence[Sequence[float]]) -> None:
        """Begin the parameter of ties as what gives equal pictures the share of ties among votes.

        Args:
            votes: for the first, the second and for neither, of each pair.

        Example:
            >>> model = VoteModel("davidson")
            >>> model.begin_tie([(3.0, 1.0, 2.0), (2.0, 0.0, 0.0)])
            >>> [round(each, 3) for each in model.chances(torch.tensor([0.0]))[0].tolist()]
            [0.375, 0.375, 0.25]
        """
        if self.tie is None:
            return
        first, second, ties = np.asarray(votes, np.float64).sum(axis=0)
        share = min(max(ties / (first + second + ties), _LEAST_TIES), 1.0 - _LEAST_TIES)
        begin = 2.0 * share / (1.0 - share) if self._loss == "davidson" else math.log((1.0 + share) / (1.0 - share))
        with torch.no_grad():
            self.tie.fill_(math.log(begin))

    def chances(self, gap: Tensor, deviation: Tensor | None = None) -> Tensor:
        """Return the chances of the first, the second and a tie, shape (pairs, 3).

        Args:
            gap: the first reward less the second, shape (pairs,).
            deviation: of the gap, shape (pairs,); for ``unsure``.

        Example:
            >>> VoteModel("bradley-terry").chances(torch.tensor([0.0, 100.0])).tolist()
            [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
            >>> [round(each, 3) for each in VoteModel("davidson").chances(torch.tensor([0.0]))[0].tolist()]
            [0.333, 0.333, 0.333]
        """
        tied = torch.zeros_like(gap)
        if self._loss == "unsure":
            if deviation is None:
                raise ValueError("this loss needs a deviation")
            at = gap[:, None] + deviation[:, None] * self._nodes.to(gap.device)
            first = (torch.sigmoid(at) * self._weights.to(gap.device)).sum(1)
            second = 1.0 - first
        elif self.tie is None:
            first, second = torch.sigmoid(gap), torch.sigmoid(-gap)
        elif self._loss == "davidson":
            first, second, tied = torch.stack([gap / 2, -gap / 2, self.tie.expand_as(gap)], 1).softmax(1).unbind(1)
        else:
            apart = self.tie.exp()
            first, second = torch.sigmoid(gap - apart), torch.sigmoid(-gap - apart)
            tied = 1.0 - first - second
        noise = self._noise
        return torch.stack([(1 - noise) * first + noise * second, (1 - noise) * second + noise * first, tied], 1)

    def forward(self, gap: Tensor, votes: Tensor, deviation: Tensor | None = None) -> Tensor:
        """Return the mean over pairs of the mean negative log-likelihood of a pair's votes.

        Args:
            gap: the first reward less the second, shape (pairs,).
            votes: for the first, the second and for neither, shape (pairs, 3); each pair has some.
            deviation: of the gap.
        """
        if self.tie is None:
            votes = torch.stack([votes[:, 0] + votes[:, 2] / 2, votes[:, 1] + votes[:, 2] / 2, torch.zeros_like(gap)], 1)
        told = self.chances(gap, deviation).clamp_min(_LEAST).log()
        return -((votes * told).sum(1) / votes.sum(1)).mean()
