"""The sampler repeats as TRL's does, and the ratio holds over ranks, accumulation steps and resumes."""

from collections import Counter

import pytest
from accelerate.data_loader import BatchSamplerShard, DataLoaderShard, skip_first_batches
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader
from trl.trainer.utils import RepeatSampler

from salon_taxonomy.errors import InputError
from salon_train.sampling import DEFAULT_RATIO, BatchShape, MultiBucketPlan, MultiBucketSampler, Ratio, RatioScope

BUCKETS = [("normal",)] * 80 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]] * 20


def plan(chunk_size=8, **options) -> MultiBucketPlan:
    return MultiBucketPlan.of(BUCKETS, chunk_size=chunk_size, **options)


def mixture(indices) -> Counter:
    return Counter(BUCKETS[index][0] for index in indices)


def in_ratio(indices) -> bool:
    counts = mixture(indices)
    return {counts[bucket] / part for bucket, part in DEFAULT_RATIO.parts.items()} == {len(indices) / 8}


def ranks(sampler, per_rank: int, count: int, **options) -> list[list[list[int]]]:
    """The batches of every rank, as accelerate shards a loader of that batch size."""
    shards = [BatchSamplerShard(BatchSampler(sampler, per_rank, False), count, rank, **options) for rank in range(count)]
    return [list(shard) for shard in shards]


@given(st.sampled_from([8, 16, 24]), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3))
@settings(deadline=None)
def test_the_form_is_that_of_trls_repeat_sampler(size, group, repeats, epoch):
    ours = MultiBucketSampler(plan(size), mini_repeat_count=group, repeat_count=repeats)
    ours.set_epoch(epoch)
    theirs = RepeatSampler(BUCKETS, mini_repeat_count=group, batch_size=size, repeat_count=repeats, shuffle=False)
    drawn, model = list(ours), list(theirs)
    assert len(ours) == len(theirs) == len(drawn) == len(model)
    for start in range(0, len(drawn), size * group):
        place = {theirs_: ours_ for ours_, theirs_ in zip(drawn[start:], model[start : start + size * group], strict=False)}
        assert [place[index] for index in model[start : start + size * group]] == drawn[start : start + size * group]
        assert len(set(place.values())) == size
    chunk = size * group
    for start in range(0, len(drawn), chunk * repeats):
        whole = drawn[start : start + chunk * repeats]
        assert whole == whole[:chunk] * repeats


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize(("group", "per_device", "steps"), [(8, 8, 4), (4, 16, 2), (8, 4, 8), (16, 32, 2)])
def test_over_all_ranks_every_generation_batch_has_the_ratio_and_whole_groups(count, group, per_device, steps):
    shape = BatchShape(per_device, count, accumulation=steps, group=group, steps_per_generation=steps)
    if shape.chunk_size % 8:
        assert not shape.scope(DEFAULT_RATIO).chunk
        return
    sampler = MultiBucketSampler(plan(shape.chunk_size), mini_repeat_count=group, repeat_count=steps)
    parts = ranks(sampler, per_device * steps, count)
    assert len({len(part) for part in parts}) == 1
    for step in zip(*parts, strict=True):
        together = [index for part in step for index in part]
        assert len(together) == shape.completions
        assert set(Counter(together).values()) == {group}
        assert in_ratio(together)
        if shape.scope(DEFAULT_RATIO).rank:
            assert all(in_ratio(part) for part in step)
    for part in parts:  # a generation batch is used for as many steps as it was made for
        assert all(part[start] == part[start + step] for start in range(0, len(part), steps) for step in range(steps))


def test_a_rank_has_the_ratio_when_it_gets_whole_periods_and_cannot_when_it_gets_fewer_prompts_than_buckets():
    whole = BatchShape(per_device=16, ranks=2, accumulation=4, group=8, steps_per_generation=4)
    assert whole.scope(DEFAULT_RATIO) == RatioScope(chunk=True, optimizer_step=True, rank=True)
    parts = ranks(MultiBucketSampler(plan(16), mini_repeat_count=8, repeat_count=4), 64, 2)
    assert all(in_ratio(batch) for part in parts for batch in part)

    half = BatchShape(per_device=8, ranks=2, accumulation=4, group=8, steps_per_generation=4)
    assert half.scope(DEFAULT_RATIO) == RatioScope(chunk=True, optimizer_step=True, rank=False)
    parts = ranks(MultiBucketSampler(plan(8), mini_repeat_count=8, repeat_count=4), 32, 2)
    assert not any(in_ratio(batch) for part in parts for batch in part)


def test_a_group_may_be_spread_over_two_ranks_and_is_still_whole():
    shape = BatchShape(per_device=4, ranks=16, accumulation=1, group=8, steps_per_generation=1)
    assert shape.examples_per_rank == 0.5
    parts = ranks(MultiBucketSampler(plan(8), mini_repeat_count=8), 4, 16)
    for step in zip(*parts, strict=True):
        assert set(Counter(index for part in step for index in part).values()) == {8}


@pytest.mark.parametrize("count", [2, 4])
def test_with_split_batches_a_batch_that_is_a_chunk_has_the_ratio_over_its_ranks(count):
    parts = ranks(MultiBucketSampler(plan(16)), 16, count, split_batches=True)
    assert all(in_ratio([index for part in step for index in part]) for step in zip(*parts, strict=True))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("accumulation", [1, 2, 4])
def test_for_sft_every_optimizer_step_has_the_ratio(count, accumulation):
    per_device = 16 // count
    shape = BatchShape(per_device, count, accumulation, steps_per_generation=accumulation)
    parts = ranks(MultiBucketSampler(plan(shape.chunk_size)), per_device, count)
    steps = len(parts[0]) // accumulation
    assert steps >= 1
    for step in range(steps):
        own = [part[step * accumulation : (step + 1) * accumulation] for part in parts]
        assert in_ratio([index for batches in own for batch in batches for index in batch])


@given(st.integers(0, 3), st.integers(0, 19), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=30)
def test_a_resumed_loader_goes_on_with_the_order_of_an_uninterrupted_one(epoch, skipped, repeats):
    def loader() -> DataLoader:
        return DataLoader(range(len(BUCKETS)), batch_size=8, sampler=MultiBucketSampler(plan(), repeat_count=repeats))

    whole = DataLoaderShard(loader().dataset, batch_sampler=loader().batch_sampler)
    whole.set_epoch(epoch)
    expected = [batch.tolist() for batch in whole]
    fresh = DataLoaderShard(loader().dataset, batch_sampler=loader().batch_sampler)
    resumed = skip_first_batches(fresh, skipped)
    resumed.set_epoch(epoch)
    assert [batch.tolist() for batch in resumed] == expected[skipped:]


@given(st.lists(st.integers(0, 6), max_size=8))
@settings(deadline=None, max_examples=30)
def test_epochs_in_any_order_give_what_a_fresh_sampler_gives(epochs):
    sampler = MultiBucketSampler(plan())
    for epoch in epochs:
        sampler.set_epoch(epoch)
        fresh = MultiBucketSampler(plan())
        fresh.set_epoch(epoch)
        assert list(sampler) == list(fresh)


def test_an_iteration_that_was_broken_off_leaves_no_trace():
    sampler = MultiBucketSampler(plan())
    sampler.set_epoch(2)
    first = iter(sampler)
    begun = [next(first) for _ in range(5)]
    assert list(sampler)[:5] == begun


@pytest.mark.parametrize("options", [{"mini_repeat_count": 0}, {"repeat_count": -1}], ids=str)
def test_counts_below_one_are_refused(options):
    with pytest.raises(InputError, match="must be 1 or more"):
        MultiBucketSampler(plan(), **options)


@pytest.mark.parametrize("name", ["per_device", "ranks", "accumulation", "group", "steps_per_generation"])
def test_a_shape_with_a_size_below_one_is_refused(name):
    with pytest.raises(InputError, match=name):
        BatchShape(**{"per_device": 8, name: 0})


def test_a_generation_batch_that_groups_do_not_divide_is_refused():
    with pytest.raises(InputError, match="must divide the generation batch of 8: 3"):
        BatchShape(8, group=3)


def test_an_optimizer_step_that_uses_a_part_of_a_generation_batch_has_the_ratio_on_average_alone():
    """TRL shuffles a rank's completions before it cuts them into slices."""
    shape = BatchShape(per_device=16, accumulation=2, group=8, steps_per_generation=4)
    assert shape.scope(DEFAULT_RATIO) == RatioScope(chunk=True, optimizer_step=False, rank=True)
    assert BatchShape(8, group=8).scope(Ratio({"a": 1, "b": 1})) == RatioScope(False, False, False)
