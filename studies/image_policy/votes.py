"""Simulate votes about pairs of a policy's pictures, and make preference data of them as ``salon votes pairs`` does."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from salon_ranking import Battles, preference_pairs
from salon_train.demo.shapes import LEARNED
from salon_train.image_policy.policy import FlowPolicy, draw_with
from salon_train.image_policy.preferences import PreferredPair
from salon_train.image_policy.training import FlowReward
from salon_train.seeds import generator_of

_SEED: Final = 2**41
"""Of pictures and votes, apart from the seeds of learning and of measurements."""


@dataclass(frozen=True, slots=True)
class VoteSettings:
    """Settings of the votes.

    Attributes:
        count: votes, each about a pair of its own; the prompts that earn a reward take turns.
        sharpness: a vote is for the first picture with chance σ(sharpness · difference of their true scores): equal pictures
            get the votes of a coin, and with 4 one vote in eight is wrong about a difference of 0.5, one in 55 about 1.
    """

    count: int = 1000
    sharpness: float = 4.0


def voted_pairs(policy: FlowPolicy, truth: FlowReward, settings: VoteSettings, *, steps: int, seed: int) -> list[PreferredPair]:
    """Draw two pictures for each vote, vote, and return the pairs of chosen and rejected pictures.

    Args:
        policy: draws the pictures, without chance after the first noise.
        truth: the true score of each picture.
        settings: of the votes.
        steps: from noise to picture.
        seed: of pictures and votes.
    """
    generator = generator_of(_SEED + seed)
    asked = [LEARNED[vote % len(LEARNED)] for vote in range(settings.count)]
    start = torch.randn((2 * settings.count, *policy.shape), generator=generator)
    _, pictures = draw_with(policy, asked * 2, start, steps=steps, at_once=250)
    scores, _ = truth(pictures, asked * 2, [{}] * len(pictures))
    first, second = torch.tensor(list(scores["avg"])).chunk(2)
    wins = torch.rand(settings.count, generator=generator) < torch.sigmoid(settings.sharpness * (first - second))
    battles = Battles.from_frame(
        {
            "prompt": asked,
            "model_a": ["first"] * settings.count,
            "model_b": ["second"] * settings.count,
            "generation_a": [f"{vote:06d}" for vote in range(settings.count)],
            "generation_b": [f"{vote + settings.count:06d}" for vote in range(settings.count)],
            "winner": ["model_a" if won else "model_b" for won in wins.tolist()],
        }
    )
    encoded: Tensor = policy.encode_pictures(pictures)
    return [
        PreferredPair(row["prompt"], encoded[int(row["chosen"])], encoded[int(row["rejected"])])
        for row in preference_pairs(battles).table.iter_rows(named=True)
    ]
