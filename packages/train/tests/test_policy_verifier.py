"""P(verdict = true): a probability, equal to the analytic value on a stub, and to what the policy's own logits say."""

import math

import pytest
import torch

from salon_synthetic.scenes.drawing import drawn, png
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_train.configuration.schema import ModelSection
from salon_train.models import load_model
from salon_train.refiner import PolicyVerifier, build_tiny_policy, draw_small_scenes, verdict_probabilities

ITEMS = list(draw_small_scenes(4, seed=4))


class Inputs(dict):
    def to(self, device):
        return self


class StubProcessor:
    """A token for each character."""

    def __call__(self, *, text, images, padding, padding_side, return_tensors):
        longest = max(map(len, text))
        ids = torch.tensor([[ord(c) for c in each.ljust(longest, "\0")] for each in text])
        return Inputs(input_ids=ids, attention_mask=(ids != 0).long())


class StubModel:
    """After any character, ``t`` has logit ``lean``; the rest of both words is certain."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, lean: float) -> None:
        self.lean = lean

    def __call__(self, *, input_ids, attention_mask):
        logits = torch.full((*input_ids.shape, 128), -1e4)
        certain = {"t": "r", "r": "u", "u": "e", "f": "a", "a": "l", "l": "s", "s": "e"}
        for row, ids in enumerate(input_ids.tolist()):
            for place, token in enumerate(ids):
                follows = certain.get(chr(token))
                if follows:
                    logits[row, place, ord(follows)] = 0.0
                else:
                    logits[row, place, ord("t")], logits[row, place, ord("f")] = self.lean, 0.0
        return type("Output", (), {"logits": logits})


@pytest.mark.parametrize("lean", [-800.0, -2.0, 0.0, 0.5, 3.0, 800.0])
def test_the_share_of_true_is_the_analytic_one_over_several_tokens(lean):
    [found] = verdict_probabilities(StubModel(lean), StubProcessor(), ["Match: "], [None])
    assert found == pytest.approx(1 / (1 + math.exp(-max(min(lean, 700), -700))), abs=1e-6)
    assert 0.0 <= found <= 1.0


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("policy")
    build_tiny_policy(folder, seed=0)
    loaded = load_model(ModelSection(name=str(folder), device="cpu"))
    return loaded.model, loaded.processor


def test_a_policys_probability_is_that_of_its_own_logits(policy):
    model, processor = policy
    model.eval()
    opening = f'<|user|><image>{ITEMS[0].prompt}\n<think>\nA.\n</think>\n{{"answer": '
    [found] = verdict_probabilities(model, processor, [opening], [drawn(ITEMS[0].shown)])
    read = processor(text=[opening], images=[[drawn(ITEMS[0].shown)]], return_tensors="pt")
    with torch.inference_mode():
        last = model(**read).logits[0, -1].softmax(-1)
    true, false = (last[processor.tokenizer.convert_tokens_to_ids(word)].item() for word in ("true", "false"))
    assert found == pytest.approx(true / (true + false), abs=1e-4)


def test_every_pair_gets_a_probability_whatever_the_policy_thinks_and_however_pairs_are_batched(policy):
    model, processor = policy
    model.train()
    prompts, pictures = [item.prompt for item in ITEMS], [Media.from_bytes(png(item.shown)) for item in ITEMS]
    together = PolicyVerifier(model, processor, most_thought=4, batch=8)(prompts, pictures)
    alone = PolicyVerifier(model, processor, most_thought=4, batch=1)(prompts, pictures)
    assert all(0.0 <= value <= 1.0 for value in together)
    assert together == pytest.approx(alone, abs=1e-4)
    assert model.training  # as it was


def test_equal_pairs_are_looked_at_once(policy, monkeypatch):
    verifier = PolicyVerifier(*policy, most_thought=2, batch=8)
    looked = []
    monkeypatch.setattr(verifier, "_looked", lambda pairs: looked.extend(pairs) or [0.5] * len(pairs))
    picture = Media.from_bytes(png(ITEMS[0].shown))
    assert verifier(["A star."] * 3 + ["A cross."], [picture] * 4) == [0.5] * 4
    assert len(looked) == 2


def test_numbers_below_one_are_refused(policy):
    with pytest.raises(InputError, match="most_thought"):
        PolicyVerifier(*policy, most_thought=0)
