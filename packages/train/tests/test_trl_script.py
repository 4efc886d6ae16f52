"""TRL trains a model with random weights on Salon's rewards: GRPO by the script of docs/rewards.md, online DPO too."""

import re
import sys
from pathlib import Path

import pytest

import salon_rewards
from salon_rewards import make_reward

PAGE = Path(__file__).parents[3] / "docs/rewards.md"


def tiny_llama(folder: Path) -> Path:
    """Write a language model of 20,000 random weights, with a tokenizer of single bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate([*special, *letters])}, merges=[]))
    words.pre_tokenizer, words.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), bos_token_id=1, eos_token_id=2, pad_token_id=0, **sizes)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_the_script_of_the_page_has_ten_lines_and_trains(tmp_path, monkeypatch):
    [script] = re.findall(
        r"```text not run: packages/train/tests/test_trl_script.py[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    assert len([line for line in script.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", str(tiny_llama(tmp_path / "model"))])
    paid: dict[str, list[float | None]] = {}

    def watched(name, **parameters):
        reward = make_reward(name, **parameters)

        def called(completions, **columns):
            found = reward(completions, **columns)
            paid.setdefault(name, []).extend(found)
            return found

        called.__name__ = name
        return called

    monkeypatch.setattr(salon_rewards, "make_reward", watched)
    exec(compile(script, "train.py", "exec"), {})
    assert {name: len(values) for name, values in paid.items()} == dict.fromkeys(("format", "l1", "length"), 24)
    assert all(value is not None for values in paid.values() for value in values)
    assert list((tmp_path / "trained").rglob("model.safetensors"))


@pytest.mark.slow
def test_online_dpo_takes_a_step_on_rewards_as_they_are(tmp_path):
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    paid: list[float | None] = []

    def length(completions, **columns):
        paid.extend(make_reward("length", longest=20, buffer=10)(completions, **columns))
        return paid[-len(completions) :]

    def missing(completions, truth, **columns):
        """Is paid for the first row alone: the truth of the other is null."""
        found = make_reward("l1")(completions, truth=truth, **columns)
        assert [each is None for each in found] == [value is None for value in truth]
        return found

    model = str(tiny_llama(tmp_path / "model"))
    sick = '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Human Anatomy": ["L3: Hand Structure Deformity"]}}'
    rows = Dataset.from_list([{"prompt": "Label it.", "truth": sick}, {"prompt": "And this.", "truth": None}])
    settings = OnlineDPOConfig(
        str(tmp_path / "trained"), per_device_train_batch_size=2, max_new_tokens=16, max_steps=2, use_cpu=True, bf16=False,
        report_to="none", logging_steps=1, learning_rate=1e-3,
    )  # fmt: skip
    trainer = OnlineDPOTrainer(
        model,
        reward_funcs=[length, missing],
        args=settings,
        train_dataset=rows,
        processing_class=AutoTokenizer.from_pretrained(model),
    )
    before = [each.detach().clone() for each in trainer.model.parameters()]
    trainer.train()
    assert len(paid) == 8 and None not in paid  # two completions of each of two rows, two steps
    assert any(not one.equal(other) for one, other in zip(before, trainer.model.parameters(), strict=True))
