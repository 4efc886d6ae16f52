"""The private hook of TRL and transformers is as it was; real trainers draw from buckets, and resume in the same order."""

import inspect
from collections import Counter

import pytest
import torch
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, skip_first_batches
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch.utils.data import BatchSampler
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Trainer, TrainerCallback, TrainerState
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from trl.trainer.utils import RepeatSampler

from salon_taxonomy.errors import InputError
from salon_train.sampling import DEFAULT_RATIO, MultiBucketPlan, MultiBucketSampler, Ratio, attach_multi_bucket
from salon_train.sampling.attaching import EpochTeller, batch_shape

BUCKETS = [["normal"]] * 24 + [[bucket] for bucket in DEFAULT_RATIO.buckets[1:]] * 6
WORDS = ["<pad>", "<eos>", "<unk>", "yes", "no", *map(str, range(len(BUCKETS)))]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def language() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", bos_token="<eos>", unk_token="<unk>"
    )
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    torch.manual_seed(0)
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes, **ends)), tokenizer


def rows(**columns) -> Dataset:
    return Dataset.from_dict({"prompt": [str(number) for number in range(len(BUCKETS))], "buckets": BUCKETS, **columns})


def settings(folder, **more) -> dict:
    plain = {"use_cpu": True, "bf16": False, "activation_checkpointing": False, "report_to": "none", "seed": 5}
    quiet = {"disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no", "learning_rate": 1e-2}
    return {"output_dir": str(folder), **plain, **quiet, **more}


class Seen:
    """A reward that remembers the prompts it was asked about."""

    __name__ = "seen"

    def __init__(self):
        self.batches = []

    def __call__(self, prompts, completions, **columns):
        self.batches.append([int(prompt) for prompt in prompts])
        return [float(len(completion) % 3) for completion in completions]


class StopAt(TrainerCallback):
    def __init__(self, steps):
        self.steps = steps

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step >= self.steps


def grpo(language, folder, reward=None, **more) -> GRPOTrainer:
    model, tokenizer = language
    sizes = {
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 2,
        "num_generations": 2,
        "max_completion_length": 3,
    }
    arguments = GRPOConfig(**settings(folder, **(sizes | more)))
    return GRPOTrainer(model, reward or Seen(), args=arguments, train_dataset=rows(), processing_class=tokenizer)


def in_ratio(indices) -> bool:
    counts = Counter(BUCKETS[index][0] for index in indices)
    return {counts[bucket] / part for bucket, part in DEFAULT_RATIO.parts.items()} == {len(indices) / 8}


def test_the_hook_is_where_it_was():
    """Fails when TRL or transformers rename the method, or its callers stop asking for it by name."""
    for trainer in (Trainer, SFTTrainer, GRPOTrainer):
        assert len(inspect.signature(trainer._get_train_sampler).parameters) == 2
        assert "sampler_fn=self._get_train_sampler" in inspect.getsource(trainer.get_train_dataloader)
    names = inspect.signature(RepeatSampler.__init__).parameters
    assert {"mini_repeat_count", "batch_size", "repeat_count", "seed"} <= set(names)


def test_grpos_own_sampler_repeats_as_ours_was_written_for(language, tmp_path):
    trainer = grpo(language, tmp_path, num_iterations=3)
    own = trainer._get_train_sampler()
    assert isinstance(own, RepeatSampler)
    assert (own.batch_size, own.mini_repeat_count, own.repeat_count) == (8, 2, 6)
    assert batch_shape(trainer).chunk_size == 8
    sampler = attach_multi_bucket(trainer)
    assert (sampler.plan.chunk_size, sampler.mini_repeat_count, sampler.repeat_count) == (8, 2, 6)
    assert len(sampler) == len(own)


def test_grpo_generates_for_batches_in_the_ratio_with_whole_groups(language, tmp_path):
    reward = Seen()
    trainer = grpo(language, tmp_path, reward, max_steps=4)
    sampler = attach_multi_bucket(trainer)
    trainer.train()
    assert len(reward.batches) == 4
    for batch in reward.batches:
        assert in_ratio(batch)
        assert batch[::2] == batch[1::2]
    assert [index for batch in reward.batches for index in batch[::2]] == [
        i for c in list(sampler.plan.chunks())[:4] for i in c
    ]


def test_grpo_resumed_in_a_later_epoch_sees_the_prompts_of_an_uninterrupted_run(language, tmp_path):
    whole, first, second = Seen(), Seen(), Seen()

    def trained(reward, folder, steps, **more):
        trainer = grpo(language, tmp_path / folder, reward, max_steps=8, save_steps=1, **more)
        attach_multi_bucket(trainer, chunks_per_epoch=3)
        if steps < 8:
            trainer.add_callback(StopAt(steps))
        trainer.train(resume_from_checkpoint=steps == 8 and folder == "b")

    trained(whole, "a", 8)
    trained(first, "b", 5, save_strategy="steps")
    trained(second, "b", 8, save_strategy="steps")
    assert len(whole.batches) == 8
    assert first.batches + second.batches == whole.batches


def test_sft_learns_from_the_ratio_in_every_optimizer_step(language, tmp_path):
    model, tokenizer = language
    arguments = SFTConfig(**settings(tmp_path, per_device_train_batch_size=4, gradient_accumulation_steps=4, max_steps=3))
    data = rows(completion=[" yes"] * len(BUCKETS))
    trainer = SFTTrainer(model, args=arguments, train_dataset=data, processing_class=tokenizer)
    sampler = attach_multi_bucket(trainer)
    assert (sampler.plan.chunk_size, sampler.mini_repeat_count, sampler.repeat_count) == (16, 1, 1)
    firsts = [int(tokenizer.decode(ids[0])) for batch in trainer.get_train_dataloader() for ids in batch["input_ids"]]
    assert firsts == list(sampler)
    assert all(in_ratio(firsts[start : start + 16]) for start in range(0, len(firsts), 16))
    assert trainer.train().global_step == 3


def test_marks_of_hard_positives_come_from_the_column(language, tmp_path):
    trainer = grpo(language, tmp_path)
    trainer.train_dataset = rows(hard_positive=[index < 6 for index in range(len(BUCKETS))])
    sampler = attach_multi_bucket(trainer, positive_factor=3, chunks_per_epoch=90)
    used = Counter(index for chunk in sampler.plan.chunks() for index in chunk)
    assert sum(used[index] for index in range(6)) == pytest.approx(360 * 18 / 36, abs=6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"buckets": [["normal"]]}, "must be as many as the 48 rows of the data, not 1"),
        ({"ratio": Ratio({"normal": 2, "no such": 1}), "uneven": True}, "'no such' has 0 examples"),
        ({"ratio": Ratio({"normal": 2, "a": 1})}, "must be a multiple of 3"),
    ],
    ids=str,
)
def test_what_cannot_be_attached_is_refused_and_leaves_the_trainer_alone(language, tmp_path, arguments, said):
    trainer = grpo(language, tmp_path)
    with pytest.raises(InputError, match=said):
        attach_multi_bucket(trainer, **arguments)
    assert isinstance(trainer._get_train_sampler(), RepeatSampler)


def test_data_without_buckets_or_without_numbers_is_refused(language, tmp_path):
    trainer = grpo(language, tmp_path)
    trainer.train_dataset = trainer.train_dataset.remove_columns("buckets")
    with pytest.raises(InputError, match="column 'buckets': the column is missing"):
        attach_multi_bucket(trainer)
    trainer.train_dataset = rows().to_iterable_dataset()
    with pytest.raises(InputError, match="whose rows can be had by number"):
        attach_multi_bucket(trainer)


def test_rows_that_vanish_after_the_buckets_were_sorted_are_noticed(language, tmp_path):
    trainer = grpo(language, tmp_path)
    attach_multi_bucket(trainer)
    with pytest.raises(InputError, match="the training data had 48 rows when its buckets were sorted, and has now 10"):
        trainer._get_train_sampler(trainer.train_dataset.select(range(10)))


def test_a_trainer_without_the_hook_is_refused_with_the_versions_that_have_it(language, tmp_path, monkeypatch):
    monkeypatch.delattr(GRPOTrainer, "_get_train_sampler")
    monkeypatch.delattr(Trainer, "_get_train_sampler")
    trainer = grpo(language, tmp_path)
    with pytest.raises(InputError, match=r"the trainer has no method '_get_train_sampler'\n.*trl>=1.16,<2"):
        attach_multi_bucket(trainer)


def test_after_a_resume_on_several_ranks_the_epoch_comes_by_the_callback_because_no_loader_passes_it_on():
    buckets = [tuple(names) for names in BUCKETS]
    sampler = MultiBucketSampler(MultiBucketPlan.of(buckets, chunk_size=8))
    shard = BatchSamplerShard(BatchSampler(sampler, 4, False), 2, 1)
    resumed = skip_first_batches(DataLoaderShard(range(48), batch_sampler=shard), 1)
    resumed.set_epoch(3)
    assert sampler.epoch == 0
    state = TrainerState(epoch=3.4)
    EpochTeller(sampler).on_epoch_begin(None, state, None)
    assert sampler.epoch == 3
    expected = list(MultiBucketSampler(sampler.plan).plan.chunks(3))
    assert [batch.tolist() for batch in resumed] == [list(chunk[4:]) for chunk in expected[1:]]
