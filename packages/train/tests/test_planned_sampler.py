"""The sampler repeats as TRL's own does; over processes, accumulation steps and resumes the ratio of the buckets holds."""

import inspect
from collections import Counter

import pytest
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, skip_first_batches
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader
from transformers import Trainer
from trl import GRPOTrainer, SFTTrainer
from trl.trainer.utils import RepeatSampler

from salon_taxonomy.errors import InputError
from salon_train.sampling import DEFAULT_RATIO, MultiBucketPlan, PlannedSampler

BUCKETS = [("normal",)] * 80 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]] * 20


def planned(chunk: int, *, chunks: int = 12, together: int = 1, repeats: int = 1) -> PlannedSampler:
    plan = MultiBucketPlan.of(BUCKETS, chunk_size=chunk, chunks_per_epoch=chunks)
    return PlannedSampler([i for some in plan.chunks() for i in some], chunk=chunk, together=together, repeats=repeats)


def in_ratio(indices: list[int]) -> bool:
    counts = Counter(BUCKETS[index][0] for index in indices)
    return {counts[bucket] / part for bucket, part in DEFAULT_RATIO.parts.items()} == {len(indices) / 8}


def ranks(sampler: PlannedSampler, per_rank: int, count: int) -> list[list[list[int]]]:
    """The batches of every process, as accelerate divides a loader of that batch size."""
    return [list(BatchSamplerShard(BatchSampler(sampler, per_rank, False), count, rank)) for rank in range(count)]


def test_the_private_hook_is_where_it_was() -> None:
    """Fails when TRL or transformers rename the method, or its callers stop asking for it by name."""
    for trainer in (Trainer, SFTTrainer, GRPOTrainer):
        assert len(inspect.signature(trainer._get_train_sampler).parameters) == 2
        assert "sampler_fn=self._get_train_sampler" in inspect.getsource(trainer.get_train_dataloader)
    names = inspect.signature(RepeatSampler.__init__).parameters
    assert {"mini_repeat_count", "batch_size", "repeat_count", "seed"} <= set(names)


@given(st.sampled_from([8, 16, 24]), st.integers(1, 4), st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_the_form_is_that_of_trls_repeat_sampler(size: int, group: int, repeats: int) -> None:
    chunks = len(BUCKETS) // size
    ours = planned(size, chunks=chunks, together=group, repeats=repeats)
    theirs = RepeatSampler(BUCKETS, mini_repeat_count=group, batch_size=size, repeat_count=repeats, shuffle=False)
    drawn, model = list(ours), list(theirs)
    assert len(ours) == len(theirs) == len(drawn) == len(model)
    whole = size * group * repeats
    for start in range(0, len(drawn), whole):
        place = dict(zip(model[start : start + whole], drawn[start : start + whole], strict=True))
        assert [place[index] for index in model[start : start + whole]] == drawn[start : start + whole]
        assert len(set(place.values())) == size


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("group", "per_device", "steps"), [(8, 8, 4), (4, 16, 2), (8, 4, 8), (16, 32, 2)])
def test_over_all_processes_every_generation_batch_has_the_ratio_and_whole_groups(count, group, per_device, steps):
    completions = per_device * count * steps
    chunk = completions // group
    if chunk % 8:
        with pytest.raises(InputError, match="must be a multiple of 8"):
            planned(chunk)
        return
    parts = ranks(planned(chunk, together=group, repeats=steps), per_device * steps, count)
    assert len({len(part) for part in parts}) == 1
    for step in zip(*parts, strict=True):
        together = [index for part in step for index in part]
        assert len(together) == completions
        assert set(Counter(together).values()) == {group}
        assert in_ratio(together)
        if chunk % (8 * count) == 0:  # whole blocks with the exact ratio on each process
            assert all(in_ratio(part) for part in step)
    for part in parts:  # a generation batch is used for as many steps as it was made for
        assert all(part[start] == part[start + step] for start in range(0, len(part), steps) for step in range(steps))


def test_a_group_may_be_spread_over_two_processes_and_is_still_whole():
    parts = ranks(planned(8, together=8), 4, 16)
    for step in zip(*parts, strict=True):
        assert set(Counter(index for part in step for index in part).values()) == {8}


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("accumulation", [1, 2, 4])
def test_for_sft_every_optimizer_step_has_the_ratio(count, accumulation):
    per_device = 16 // count
    parts = ranks(planned(16 * accumulation), per_device, count)
    assert len(parts[0]) >= accumulation
    for step in range(len(parts[0]) // accumulation):
        own = [part[step * accumulation : (step + 1) * accumulation] for part in parts]
        assert in_ratio([index for batches in own for batch in batches for index in batch])


@given(st.integers(0, 3), st.integers(0, 19), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=20)
def test_a_resumed_loader_goes_on_with_the_order_of_an_uninterrupted_one(epoch, skipped, repeats):
    def loader() -> DataLoaderShard:
        made = DataLoader(range(len(BUCKETS)), batch_size=8, sampler=planned(8, chunks=20, repeats=repeats))
        found = DataLoaderShard(made.dataset, batch_sampler=made.batch_sampler)
        found.set_epoch(epoch)
        return found

    expected = [batch.tolist() for batch in loader()]
    assert [batch.tolist() for batch in skip_first_batches(loader(), skipped)] == expected[skipped:]


@pytest.mark.parametrize("options", [{"chunk": 0}, {"chunk": 1, "together": 0}, {"chunk": 1, "repeats": -1}], ids=str)
def test_counts_below_one_are_refused(options):
    with pytest.raises(InputError, match="must be 1 or more"):
        PlannedSampler([1, 2], **options)
