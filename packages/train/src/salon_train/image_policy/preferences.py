"""Teach an image policy from preferences: Diffusion-DPO (arXiv 2311.12908) for rectified flows.

pairs of a chosen and a rejected picture ──► both noised alike ──► errors of policy and reference ──► loss of the pair

No reward and no drawing of pictures: the policy learns to predict the velocity of chosen pictures better, and that of rejected
ones worse, than the model that learning began with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from salon_taxonomy.errors import InputError
from salon_train.image_policy.policy import FlowPolicy, PromptedBatch
from salon_train.image_policy.training import PolicyLearner


@dataclass(frozen=True, slots=True)
class PreferredPair:
    """Two pictures of one prompt, and how many of their votes are for the chosen one.

    Attributes:
        prompt: of both.
        chosen, rejected: pictures at time 0 in the policy's space (:meth:`FlowPolicy.encode_pictures`), shape
            (channels, height, width).
        share: votes for the chosen picture and half of the ties, as a share of all votes: 0 to 1.

    Raises:
        InputError: the share is outside [0, 1], or the pictures differ in shape.

    Example:
        >>> PreferredPair("a cat", torch.zeros(3, 8, 8), torch.ones(3, 8, 8), share=1.5)
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: column 'share': must be between 0 and 1, not 1.5
    """

    prompt: str
    chosen: Tensor
    rejected: Tensor
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InputError("must be between 0 and 1, not", column="share", value=self.share)
        if self.chosen.shape != self.rejected.shape:
            problem = f"has the shape {tuple(self.rejected.shape)} and the chosen picture {tuple(self.chosen.shape)}"
            raise InputError(problem, column="rejected")


@dataclass(frozen=True, slots=True)
class PreferenceSettings:
    """Settings of learning from preferences.

    Attributes:
        steps: updates of AdamW.
        pairs: of a step; they take turns in an order of the seed's.
        beta: β of the loss: the larger, the nearer the policy stays to the reference. It multiplies mean squared errors of a
            pixel's velocity, with the half and the number of time steps that the paper has in front of them.
        learning_rate: of AdamW.
        shuffled: exchange the pictures of half of the pairs at random, for the control.
        at_once: pairs that the network computes at once; None: all of a step.
    """

    steps: int = 120
    pairs: int = 64
    beta: float = 20.0
    learning_rate: float = 1e-4
    shuffled: bool = False
    at_once: int | None = None


class DiffusionDPO(PolicyLearner):
    """Learn from pairs of pictures by Diffusion-DPO, with the velocity's error in place of the noise's.

    The logit of a pair is -β · (chosen's error of the policy - that of the reference - the same of rejected), with the same
    time and noise for both pictures; the loss is the cross-entropy of the votes, -log σ(logit) where all are for the chosen.
    Velocities are predicted without guidance.

    Args:
        policy: begins with its weights, which are the reference, and is changed in place.
        pairs: to learn from; each is read when its turn comes.
        settings: of the run.
        seed: of the order of pairs, times and noise.

    Raises:
        InputError: there is no pair.
    """

    def __init__(self, policy: FlowPolicy, pairs: Sequence[PreferredPair], settings: PreferenceSettings, *, seed: int) -> None:
        super().__init__(policy, policy.parameters(), settings.learning_rate, seed=seed)
        if not len(pairs):
            raise InputError("no pair to learn from")
        self._pairs, self._settings = pairs, settings
        self._exchanged = torch.randint(2, (len(pairs),), generator=self._chance(-1)) * settings.shuffled

    def step(self, number: int) -> Mapping[str, float | None]:
        """Learn from the pairs whose turn it is, at times and with noise of the step's.

        Returns:
            ``loss``; ``accuracy``, the share of pairs whose logit is on the side of the votes, half for equal ones;
            ``margin``, the mean logit; ``grad_norm``.
        """
        count, generator = self._settings.pairs, self._chance(number)
        places = [self._turn(turn, len(self._pairs)) for turn in range(number * count, (number + 1) * count)]
        pairs = [self._pairs[place] for place in places]
        chosen, rejected = (torch.stack([getattr(pair, side) for pair in pairs]) for side in ("chosen", "rejected"))
        time, noise = torch.rand(count, generator=generator), torch.randn(chosen.shape, generator=generator)
        share = (torch.tensor([pair.share for pair in pairs]) - self._exchanged[places]).abs()
        batch = PromptedBatch.of(self.policy, [pair.prompt for pair in pairs], self._settings.at_once, guided=False)
        moved = (each.to(self.policy.device) for each in (chosen, rejected, time, noise, share))
        seen: list[Tensor] = []
        loss, norm = self._update(self._losses(batch, *moved, seen=seen), number)
        logits, share = torch.cat(seen), share.to(self.policy.device)
        right = (logits.sign() * (share - 0.5).sign() + 1) / 2
        return {"loss": loss, "accuracy": float(right.mean()), "margin": float(logits.mean()), "grad_norm": norm}

    def _losses(
        self,
        batch: PromptedBatch,
        chosen: Tensor,
        rejected: Tensor,
        time: Tensor,
        noise: Tensor,
        share: Tensor,
        *,
        seen: list[Tensor],
    ) -> Iterator[Tensor]:
        """Compute the loss of each part, and append the part's logits to ``seen``."""
        for part in batch.parts:
            better, worse = (
                self._excess(batch, part, pictures[part], time[part], noise[part]) for pictures in (chosen, rejected)
            )
            logits = -self._settings.beta * (better - worse)
            seen.append(logits.detach())
            yield functional.binary_cross_entropy_with_logits(logits, share[part], reduction="sum") / len(share)

    def _excess(self, batch: PromptedBatch, part: slice, pictures: Tensor, time: Tensor, noise: Tensor) -> Tensor:
        """Return how much larger the policy's squared error is than the reference's, as a mean over pixels: (pairs,)."""
        x = torch.lerp(pictures, noise, time[:, None, None, None])
        with torch.no_grad():
            reference = batch.velocity_of(part, x, time, reference=True)
        velocity, wanted = batch.velocity_of(part, x, time), noise - pictures
        return ((velocity - wanted) ** 2 - (reference - wanted) ** 2).flatten(1).mean(1)
