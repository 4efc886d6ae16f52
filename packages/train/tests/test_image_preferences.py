"""Diffusion-DPO: its loss and gradient against numpy, what a step moves, and that a kill changes nothing."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

from salon_taxonomy.errors import InputError
from salon_train.image_policy.flow import even_times
from salon_train.image_policy.policy import Condition, FlowPolicy
from salon_train.image_policy.preferences import DiffusionDPO, PreferenceSettings, PreferredPair
from salon_train.run.early_abort import DegeneratedError

SETTINGS = PreferenceSettings(pairs=4, beta=3.0, learning_rate=1e-3)


class Affine(FlowPolicy):
    """v = a · x + b · t + c · length of the prompt, for each channel; it remembers what the network was asked."""

    shape = (3, 2, 2)
    device = torch.device("cpu")

    def __init__(self, weights: Sequence[Sequence[float]], reference: Sequence[Sequence[float]]) -> None:
        self.weights, self.reference = nn.Parameter(torch.tensor(weights)), torch.tensor(reference)
        self.asked: list[tuple[Tensor, Tensor]] = []

    def parameters(self) -> list[nn.Parameter]:
        return [self.weights]

    def times(self, steps: int) -> list[float]:
        return even_times(steps)

    def encode(self, prompts: Sequence[str], *, guided: bool = True) -> Condition:
        return (torch.tensor([float(len(prompt)) for prompt in prompts]),)

    def velocity(self, x: Tensor, time: float | Tensor, condition: Condition, *, reference: bool = False) -> Tensor:
        time = torch.as_tensor(time).expand(len(x))
        if not reference:
            self.asked.append((x, time))
        a, b, c = (self.reference if reference else self.weights)[:, None, :, None, None]
        return a * x + b * time[:, None, None, None] + c * condition[0][:, None, None, None]

    def pictures(self, x: Tensor) -> Tensor:
        return x / 2 + 0.5

    def encode_pictures(self, pictures: Tensor) -> Tensor:
        return pictures * 2 - 1

    def state(self) -> dict[str, Tensor]:
        return {"weights": self.weights.detach().clone()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.weights.data.copy_(state["weights"])


REFERENCE = [[0.3, -0.2, 0.5], [0.1, 0.0, -0.4], [0.05, 0.02, -0.03]]
WEIGHTS = [[0.1, 0.2, 0.7], [-0.3, 0.2, -0.1], [0.0, 0.1, -0.02]]


def policy(weights: Sequence[Sequence[float]] = WEIGHTS) -> Affine:
    return Affine(weights, REFERENCE)


def pairs(count: int = 4, shares: Sequence[float] = (1.0, 0.0, 0.75, 0.5)) -> list[PreferredPair]:
    """Chosen pictures are bright, rejected ones dark; both are noisy."""
    pictures = torch.randn((2, count, 3, 2, 2), generator=torch.Generator().manual_seed(5))
    sides = zip(pictures[0] + 0.7, pictures[1] - 0.7, strict=True)
    return [PreferredPair("p" * (place + 1), *each, shares[place % len(shares)]) for place, each in enumerate(sides)]


def swapped(given: Sequence[PreferredPair]) -> list[PreferredPair]:
    return [PreferredPair(pair.prompt, pair.rejected, pair.chosen, pair.share) for pair in given]


def gradient(learner: DiffusionDPO, number: int = 0) -> Tensor:
    learner.step(number)
    [weights] = learner.policy.parameters()
    assert weights.grad is not None
    return weights.grad.clone()


# -------------------------------------------------------------------------------------------------------------- the loss


def by_numpy(weights: np.ndarray, drawn: Sequence[tuple[PreferredPair, Any, Any, Any]], beta: float) -> float:
    """The loss as the paper writes it, pair by pair, with the velocity in place of the noise."""
    losses = []
    for pair, time, noise, _ in drawn:
        errors = {}
        for side, picture in (("chosen", pair.chosen.double().numpy()), ("rejected", pair.rejected.double().numpy())):
            x = (1 - time) * picture + time * noise
            for name, (a, b, c) in (("policy", weights), ("reference", np.array(REFERENCE))):
                column = (slice(None), None, None)
                velocity = a[column] * x + b[column] * time + c[column] * len(pair.prompt)
                errors[name, side] = np.mean((velocity - (noise - picture)) ** 2)
        chosen, rejected = (errors["policy", side] - errors["reference", side] for side in ("chosen", "rejected"))
        logit = -beta * (chosen - rejected)
        losses.append(pair.share * math.log1p(math.exp(-logit)) + (1 - pair.share) * math.log1p(math.exp(logit)))
    return float(np.mean(losses))


def test_loss_and_gradient_are_those_that_numpy_computes_by_finite_differences() -> None:
    given, learned = pairs(), policy()
    learner = DiffusionDPO(learned, given, SETTINGS, seed=3)
    facts = learner.step(0)
    (x, times), (other, same) = learned.asked
    assert torch.equal(times, same), "both pictures of a pair are noised alike"
    assert len(set(times.tolist())) == len(given)
    order = [given[learner._turn(place, 4)] for place in range(4)]
    assert {len(pair.prompt) for pair in order} == {1, 2, 3, 4}
    drawn = []
    for pair, time, noisy, noisy_other in zip(order, times.double().numpy(), x.double().numpy(), other.double(), strict=True):
        noise = (noisy - (1 - time) * pair.chosen.double().numpy()) / time
        np.testing.assert_allclose(noisy_other, (1 - time) * pair.rejected.double().numpy() + time * noise, atol=1e-4)
        drawn.append((pair, time, noise, noisy))
    at = np.array(WEIGHTS)
    assert facts["loss"] == pytest.approx(by_numpy(at, drawn, SETTINGS.beta), rel=1e-4)
    expected = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-5
        expected[place] = (by_numpy(at + step, drawn, 3.0) - by_numpy(at - step, drawn, 3.0)) / 2e-5
    norm = np.linalg.norm(expected)
    assert facts["grad_norm"] == pytest.approx(norm, rel=1e-3)
    np.testing.assert_allclose(learned.weights.grad, expected / max(1.0, norm), atol=1e-4)


def test_at_the_reference_the_loss_is_that_of_a_coin_and_swapped_pairs_pull_the_other_way() -> None:
    decided = pairs(shares=(1.0,))
    learner = DiffusionDPO(policy(REFERENCE), decided, SETTINGS, seed=0)
    facts = learner.step(0)
    assert (facts["loss"], facts["accuracy"], facts["margin"]) == (pytest.approx(math.log(2)), 0.5, 0.0)
    forward = gradient(DiffusionDPO(policy(REFERENCE), decided, SETTINGS, seed=0))
    assert float(forward.norm()) > 1e-3
    lost = pairs(shares=(0.0,))
    torch.testing.assert_close(gradient(DiffusionDPO(policy(REFERENCE), lost, SETTINGS, seed=0)), -forward)
    torch.testing.assert_close(gradient(DiffusionDPO(policy(REFERENCE), swapped(decided), SETTINGS, seed=0)), -forward)
    even = pairs(shares=(0.5,))
    assert float(gradient(DiffusionDPO(policy(REFERENCE), even, SETTINGS, seed=0)).norm()) == 0


@pytest.mark.parametrize("at_once", [1, 3])
def test_how_many_pairs_are_computed_at_once_changes_nothing(at_once: int) -> None:
    whole = gradient(DiffusionDPO(policy(), pairs(), SETTINGS, seed=1))
    parts = PreferenceSettings(pairs=4, beta=3.0, learning_rate=1e-3, at_once=at_once)
    torch.testing.assert_close(gradient(DiffusionDPO(policy(), pairs(), parts, seed=1)), whole)


# -------------------------------------------------------------------------------------------------------------- learning


def learned_accuracy(given: Sequence[PreferredPair], *, shuffled: bool = False) -> float:
    settings = PreferenceSettings(pairs=32, beta=3.0, learning_rate=1e-2, shuffled=shuffled)
    learner = DiffusionDPO(policy(REFERENCE), given, settings, seed=0)
    last = [learner.step(number)["accuracy"] for number in range(60)][-10:]
    return sum(each or 0.0 for each in last) / len(last)


def test_the_policy_learns_which_pictures_are_preferred_and_nothing_from_exchanged_ones() -> None:
    given = pairs(200, shares=(1.0,))
    assert learned_accuracy(given) > 0.9
    assert learned_accuracy(given, shuffled=True) < 0.65


def test_the_control_exchanges_half_of_the_pairs() -> None:
    learner = DiffusionDPO(policy(), pairs(1000), PreferenceSettings(shuffled=True), seed=2)
    assert 450 < int(learner._exchanged.sum()) < 550
    assert not DiffusionDPO(policy(), pairs(1000), PreferenceSettings(), seed=2)._exchanged.any()


def test_every_pass_has_all_pairs_in_another_order() -> None:
    learner = DiffusionDPO(policy(), pairs(10), SETTINGS, seed=0)
    turns = [learner._turn(place, 10) for place in range(20)]
    assert sorted(turns[:10]) == sorted(turns[10:]) == list(range(10))
    assert turns[:10] != turns[10:]


def test_a_learner_that_is_killed_at_any_step_ends_with_the_same_bytes() -> None:
    def saved(learner: DiffusionDPO) -> bytes:
        stream = io.BytesIO()
        torch.save(learner.state(), stream)
        return stream.getvalue()

    whole = DiffusionDPO(policy(), pairs(7), SETTINGS, seed=4)
    states = []
    for number in range(6):
        states.append(saved(whole))
        whole.step(number)
    for killed, state in enumerate(states):
        learner = DiffusionDPO(policy(), pairs(7), SETTINGS, seed=4)
        learner.restore(torch.load(io.BytesIO(state), weights_only=True))
        for number in range(killed, 6):
            learner.step(number)
        assert saved(learner) == saved(whole)


# ------------------------------------------------------------------------------------------------------------- bad input


def test_pairs_that_cannot_be_learned_from_are_refused() -> None:
    with pytest.raises(InputError, match="no pair to learn from"):
        DiffusionDPO(policy(), [], SETTINGS, seed=0)
    picture = torch.zeros(3, 2, 2)
    for share in (-0.1, 1.1, math.nan):
        with pytest.raises(InputError, match="share"):
            PreferredPair("p", picture, picture, share)
    with pytest.raises(InputError, match=r"\(3, 4, 4\).*\(3, 2, 2\)"):
        PreferredPair("p", picture, torch.zeros(3, 4, 4))
    learner = DiffusionDPO(policy(), [PreferredPair("p", picture * math.nan, picture)], SETTINGS, seed=0)
    before = learner.policy.state()["weights"]
    with pytest.raises(DegeneratedError):
        learner.step(0)
    assert torch.equal(learner.policy.state()["weights"], before)
