"""What the training commands show at each step: the ratio in every batch, whole groups, each chunk as often as TRL asks."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.answers import Artifact, MagicMirrorAnswer
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import MAIN_BUCKETS, NORMAL, TrainingExample
from salon_train.configuration import read_configuration
from salon_train.configuration.schema import SamplingSection, SftSection

pytestmark = pytest.mark.usefixtures("one_thread")
PARTS = {bucket: 4 if bucket == NORMAL else 1 for bucket in MAIN_BUCKETS}


def example(number: int, bucket: str, *, hard: bool = False) -> TrainingExample:
    truth = MagicMirrorAnswer(True) if bucket == NORMAL else MagicMirrorAnswer(False, (Artifact(bucket),))
    return TrainingExample(str(number), b"", truth, hard_positive=hard)


EXAMPLES = [
    example(number, bucket, hard=number < 4) for number, bucket in enumerate([NORMAL] * 30 + list(MAIN_BUCKETS[1:]) * 5)
]


@given(st.integers(1, 3), st.integers(1, 9), st.integers(0, 2**31))
def test_every_chunk_of_a_plan_holds_the_ratio_and_no_example_twice(multiple: int, chunks: int, seed: int) -> None:
    from salon_train.sampling.prompt_order import prompt_plan

    plan = prompt_plan(EXAMPLES, SamplingSection(), chunk=8 * multiple, chunks=chunks, seed=seed)
    assert len(plan) == 8 * multiple * chunks
    for start in range(0, len(plan), 8 * multiple):
        chunk = plan[start : start + 8 * multiple]
        assert len(set(chunk)) == len(chunk)
        counted = Counter(EXAMPLES[place].buckets[0] for place in chunk)
        assert counted == {bucket: part * multiple for bucket, part in PARTS.items()}


def test_seeds_give_other_plans_and_a_longer_run_begins_with_the_same_prompts() -> None:
    from salon_train.sampling.prompt_order import prompt_plan

    for sampling in (SamplingSection(), SamplingSection(strategy="shuffled")):
        plans = [prompt_plan(EXAMPLES, sampling, chunk=8, chunks=6, seed=seed) for seed in (0, 0, 1)]
        assert plans[0] == plans[1] != plans[2]
        assert prompt_plan(EXAMPLES, sampling, chunk=8, chunks=9, seed=0)[:48] == plans[0]


@pytest.mark.parametrize("factor", [1.0, 2.0, 2.5])
def test_hard_positives_come_up_as_often_as_the_configuration_says(factor: float) -> None:
    from salon_train.sampling.prompt_order import prompt_plan

    plan = prompt_plan(EXAMPLES, SamplingSection(hard_positives=factor), chunk=8, chunks=600, seed=3)
    normal = Counter(place for place in plan if place < 30)
    hard, plain = (sum(normal[place] for place in places) / len(places) for places in (range(4), range(4, 30)))
    assert hard / plain == pytest.approx(factor, rel=0.02)
    shuffled = prompt_plan(EXAMPLES, SamplingSection(strategy="shuffled", hard_positives=factor), chunk=50, chunks=60, seed=3)
    assert len(set(shuffled[:80])) == len(EXAMPLES) or factor > 1
    assert Counter(shuffled)[0] / Counter(shuffled)[29] == pytest.approx(round(factor), abs=1)


def test_another_ratio_is_held_and_a_bucket_that_is_too_small_is_refused() -> None:
    from salon_train.sampling.prompt_order import prompt_plan

    human = MAIN_BUCKETS[2]
    plan = prompt_plan(EXAMPLES, SamplingSection(ratio={NORMAL: 1, human: 1}), chunk=4, chunks=5, seed=0)
    assert Counter(EXAMPLES[place].buckets[0] for place in plan) == {NORMAL: 10, human: 10}
    with pytest.raises(InputError, match="has 5 examples; a chunk takes 6 different ones of it"):
        prompt_plan(EXAMPLES, SamplingSection(), chunk=48, chunks=1, seed=0)
    with pytest.raises(InputError, match="10 prompts at once cannot hold the ratio"):
        prompt_plan(EXAMPLES, SamplingSection(), chunk=10, chunks=1, seed=0)


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_the_sampler_repeats_as_trls_own_does(chunk: int, chunks: int, together: int, repeats: int) -> None:
    from trl.trainer.utils import RepeatSampler

    from salon_train.sampling.prompt_order import PlannedSampler

    plan = list(range(chunk * chunks))
    own = RepeatSampler(plan, mini_repeat_count=together, batch_size=chunk, repeat_count=repeats, shuffle=False)
    sampler = PlannedSampler(plan, chunk=chunk, together=together, repeats=repeats)
    assert list(sampler) == list(own)
    assert len(sampler) == len(own)


# Two optimizer steps learn from each generation batch, each with two passes, twice: chunks of sixteen come four times.
GRPO = """
[grpo]
steps = 8
batch = 16
device_batch = 8
generation_batch = 32
iterations = 2
generations = 2
longest = 4
learning_rate = 1e-3
[degeneration]
invalid_answers = 0
[monitors]
on = false
"""


def test_grpo_samples_the_planned_prompts_in_whole_groups_and_the_ratio_in_every_batch(
    training_ground: Path, written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from salon_train.assessor import stages
    from salon_train.assessor.rows import stage_rows
    from salon_train.sampling.prompt_order import prompt_plan
    from salon_train.trl.grpo import SampledCompletions

    monkeypatch.syspath_prepend(str(training_ground))
    seen: list[SampledCompletions] = []
    monkeypatch.setattr(stages, "add_recorders", lambda setting, watch, metric: setting.listeners.append(seen.append))
    file = written("ratio", reward="own_rewards:varied", more=GRPO)
    configuration = read_configuration(file, changes={"data.held_out": [], "run.seed": 7})
    stages.train_grpo(configuration)

    examples = stage_rows(configuration, "grpo").examples
    plan = prompt_plan(examples, configuration.sampling, chunk=16, chunks=2, seed=7)
    assert [batch.step for batch in seen] == [0, 4]
    for place, batch in enumerate(seen):
        names = [each.example_id for each in batch.completions]
        planned = [examples[index].example_id for index in plan[16 * place : 16 * place + 16]]
        assert names == [name for name in planned for _ in range(2)]
        assert [each.group for each in batch.completions] == [number for number in range(16) for _ in range(2)]
        counted = Counter(each.bucket for each in batch.completions)
        assert counted == {bucket: 4 * part for bucket, part in PARTS.items()}
        for each in batch.completions:  # the truth that rewards are given is the example's own
            assert each.truth is not None
            assert (each.bucket in each.truth) == (each.bucket != NORMAL)


def test_the_cold_start_holds_the_ratio_in_every_step_where_the_configuration_wants_it(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from salon_train.assessor import stages
    from salon_train.assessor.rows import stage_rows
    from salon_train.trl.sft import WarmUpTrainer

    taken: list[list[int]] = []
    own = WarmUpTrainer._get_train_sampler

    def spied(self: WarmUpTrainer, *rows: object) -> object:
        sampler = own(self, *rows)
        taken.append(list(sampler))
        return sampler

    monkeypatch.setattr(WarmUpTrainer, "_get_train_sampler", spied)
    more = "[sft]\nsteps = 3\nbatch = 8\ndevice_batch = 2\n[sampling]\nsft = {}\n"
    for wanted in ("true", "false"):
        configuration = read_configuration(written(f"cold-{wanted}", more=more.format(wanted)), changes={"data.held_out": []})
        stages.train_sft(configuration)
        examples = stage_rows(configuration, "sft").examples
        steps = [taken[-1][start : start + 8] for start in range(0, 24, 8)]
        held = [Counter(examples[index].buckets[0] for index in step) == PARTS for step in steps]
        assert all(held) == (wanted == "true")


def test_epochs_are_counted_in_completions_also_where_a_step_is_less_than_a_group() -> None:
    from salon_train.configuration.schema import GrpoSection

    assert SftSection(epochs=0.5, batch=8).steps_for(100) == 7
    assert GrpoSection(epochs=1, batch=4, generation_batch=8, generations=8).steps_for(10) == 20
    assert GrpoSection(epochs=1, batch=12, generation_batch=24, generations=8).steps_for(9) == 6
    assert GrpoSection(epochs=0.1, batch=8, generations=8, iterations=2).steps_for(100) == 20
