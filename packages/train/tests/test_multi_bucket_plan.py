"""Chunks hold the ratio and no example twice, use up a pool before it begins again, and follow from seed, epoch, position."""

import subprocess
import sys
from collections import Counter
from itertools import chain, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_taxonomy.errors import InputError
from salon_train.sampling import DEFAULT_RATIO, MultiBucketPlan, Ratio

NAMES = ("a", "b", "c")
RATIOS = st.lists(st.integers(1, 3), min_size=3, max_size=3).map(lambda parts: Ratio(dict(zip(NAMES, parts, strict=True))))
ENOUGH = [(name,) for name in NAMES for _ in range(6)]
"""So many of each that two periods of any of the ratios can be drawn."""
DISJOINT = st.lists(st.sampled_from(NAMES).map(lambda name: (name,)), max_size=40).map(lambda more: ENOUGH + more)
OVERLAPPING = st.lists(
    st.lists(st.sampled_from((*NAMES, "other")), unique=True, max_size=3).map(tuple), min_size=3, max_size=40
)


def imbalanced(normal=400) -> list[tuple[str, ...]]:
    """About as Table 5: half normal, most artifacts human, some with two labels, a few of no main kind."""
    _, interaction, human, animal, thing = DEFAULT_RATIO.buckets
    rare = [(interaction,)] * 80 + [(human,)] * 150 + [(interaction, human)] * 60 + [(animal,)] * 40 + [(thing,)] * 60
    return [("normal",)] * normal + rare + [("other",)] * 5


@given(DISJOINT, RATIOS, st.integers(1, 2), st.integers(0, 3))
def test_every_chunk_has_the_exact_ratio_and_no_example_twice(buckets, ratio, multiple, epoch):
    plan = MultiBucketPlan.of(buckets, ratio=ratio, chunk_size=multiple * ratio.period)
    for chunk in plan.chunks(epoch):
        assert len(set(chunk)) == len(chunk) == plan.chunk_size
        assert Counter(buckets[index][0] for index in chunk) == plan.quotas(0)


@given(OVERLAPPING, st.integers(0, 2), RATIOS, st.integers(1, 2))
def test_pictures_with_several_labels_stand_in_a_chunk_once_and_every_bucket_gets_its_quota(more, place, ratio, multiple):
    buckets = [(*each, NAMES[place]) if each[0] != NAMES[place] else each for each in ENOUGH] + more
    plan = MultiBucketPlan.of(buckets, ratio=ratio, chunk_size=multiple * ratio.period)
    stream = plan.stream()
    for number in range(10):
        held = stream.draw(plan.quotas(number))
        assert Counter(held.values()) == plan.quotas(number)
        assert all(bucket in buckets[index] for index, bucket in held.items())


@given(OVERLAPPING, RATIOS)
@settings(max_examples=60)
def test_a_plan_is_refused_exactly_when_some_buckets_have_fewer_examples_between_them_than_a_chunk_takes(buckets, ratio):
    """Hall's theorem, by brute force."""
    size = ratio.period
    quotas = ratio.quotas(size, 0)
    sets = [{name for bit, name in enumerate(NAMES) if mask >> bit & 1} for mask in range(1, 8)]
    possible = all(sum(bool(each & set(names)) for names in buckets) >= sum(quotas[name] for name in each) for each in sets)
    try:
        plan = MultiBucketPlan.of(buckets, ratio=ratio, chunk_size=size)
    except InputError as error:
        assert not possible
        assert "a chunk takes" in str(error)
    else:
        assert possible
        assert all(len(set(chunk)) == size for chunk in islice(plan.chunks(), 5))


@given(DISJOINT, RATIOS, st.integers(1, 2), st.integers(1, 4))
def test_every_example_of_a_pool_is_used_before_any_is_used_again_also_across_epochs(buckets, ratio, multiple, epochs):
    plan = MultiBucketPlan.of(buckets, ratio=ratio, chunk_size=multiple * ratio.period)
    used = Counter[int]()
    for epoch in range(epochs):
        for chunk in plan.chunks(epoch):
            used.update(chunk)
            for pool in plan.pools.values():
                counts = [used[index] for index in pool]
                assert max(counts) - min(counts) <= 1


@given(st.integers(0, 2**40), st.integers(0, 3), st.integers(0, 20))
def test_a_resume_at_any_position_goes_on_with_the_same_order(seed, epoch, start):
    plan = MultiBucketPlan.of(imbalanced(), chunk_size=8, seed=seed, chunks_per_epoch=25)
    again = MultiBucketPlan.of(imbalanced(), chunk_size=8, seed=seed, chunks_per_epoch=25)
    assert list(plan.chunks(epoch))[start:] == list(again.chunks(epoch, start))


def test_epochs_and_seeds_differ():
    orders = {
        tuple(MultiBucketPlan.of(imbalanced(), chunk_size=8, seed=seed).chunks(epoch))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(orders) == 9


def test_the_order_is_the_same_in_another_process_whatever_its_hash_seed():
    code = (
        "from salon_train.sampling import DEFAULT_RATIO as R, MultiBucketPlan\n"
        "buckets = [('normal',)] * 40 + [(b,) for b in R.buckets[1:]] * 10\n"
        "print(list(MultiBucketPlan.of(buckets, chunk_size=16, seed=3).chunks(1)))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    buckets = [("normal",)] * 40 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]] * 10
    assert runs[0] == f"{list(MultiBucketPlan.of(buckets, chunk_size=16, seed=3).chunks(1))}\n"


def test_the_order_is_pinned_so_that_old_runs_can_be_resumed():
    buckets = [("normal",)] * 8 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]] * 2
    assert list(chain.from_iterable(MultiBucketPlan.of(buckets, chunk_size=8, seed=0).chunks(0))) == PINNED


def test_blocks_of_a_period_have_the_ratio_so_that_ranks_with_whole_blocks_have_it():
    buckets = imbalanced()
    plan = MultiBucketPlan.of([names[:1] for names in buckets], chunk_size=32)
    for chunk in plan.chunks():
        for start in range(0, 32, 8):
            block = Counter(buckets[index][0] for index in chunk[start : start + 8])
            assert block == plan.ratio.quotas(8, 0)


def test_rare_buckets_are_shown_far_more_often_than_they_occur():
    plan = MultiBucketPlan.of(imbalanced(), chunk_size=8, chunks_per_epoch=100)
    used = Counter(index for chunk in plan.chunks() for index in chunk)
    animals = plan.pools["L2: Abnormal Animal Anatomy"]
    assert sum(used[index] for index in animals) == 100
    assert {used[index] for index in animals} == {2, 3}
    assert all(used[index] == 1 for index in plan.pools["normal"])
    assert not any(index in used for index in range(790, 795))


@given(st.integers(2, 7), st.sampled_from([1, 1.5, 2, 3, 2.25]), st.integers(0, 5), st.integers(1, 40))
def test_hard_positives_are_drawn_as_often_as_the_factor_says(hard, factor, seed, cycles):
    buckets = [("normal",)] * 30 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]] * 3
    marks = [index < hard for index in range(len(buckets))]
    entries = round(cycles * (30 - hard + hard * factor))
    plan = MultiBucketPlan.of(
        buckets, chunk_size=8, seed=seed, hard_positives=marks, positive_factor=factor, chunks_per_epoch=entries // 4 + 1
    )
    used = Counter([index for chunk in plan.chunks() for index in chunk if index < 30][:entries])
    assert abs(sum(used[index] for index in range(hard)) - cycles * hard * factor) <= 2 * hard
    assert all(abs(used[index] - cycles * (factor if index < hard else 1)) <= (3 if index < hard else 1) for index in range(30))


def test_a_factor_that_no_chunk_of_different_examples_can_hold_is_refused():
    buckets = [("normal",)] * 5 + [(bucket,) for bucket in DEFAULT_RATIO.buckets[1:]]
    marks = [index == 0 for index in range(len(buckets))]
    with pytest.raises(
        InputError, match="4 different examples of 'normal', so 1 hard positives among 5 cannot be shown so often: 3"
    ):
        MultiBucketPlan.of(buckets, chunk_size=8, hard_positives=marks, positive_factor=3)
    plan = MultiBucketPlan.of(buckets, chunk_size=8, hard_positives=marks, positive_factor=1.25, chunks_per_epoch=2100)
    used = Counter(index for chunk in plan.chunks() for index in chunk)
    assert used[0] / used[1] == pytest.approx(1.25, abs=0.002)


def test_a_picture_that_another_bucket_takes_in_every_chunk_does_not_pile_up():
    plan = MultiBucketPlan.of([("a", "b"), ("b",)], ratio=Ratio({"a": 1, "b": 1}), chunk_size=2)
    stream = plan.stream()
    plan.advance(stream, 3000)
    assert sorted(plan.next_chunk(stream)) == [0, 1]
    assert len(stream._pools["b"]._queue) < 20


def test_one_bucket_with_everything_in_it_is_a_shuffle_without_buckets_and_still_resamples():
    marks = [index < 10 for index in range(100)]
    plan = MultiBucketPlan.of(
        [("all",)] * 100,
        ratio=Ratio({"all": 1}),
        chunk_size=7,
        chunks_per_epoch=110 * 7,
        hard_positives=marks,
        positive_factor=2,
    )
    used = Counter(index for chunk in plan.chunks() for index in chunk)
    assert {used[index] for index in range(10, 100)} == {49}
    assert all(abs(used[index] - 98) <= 1 for index in range(10))


def test_a_plan_whose_factor_is_one_is_the_plan_without_marks():
    plain = MultiBucketPlan.of(imbalanced(), chunk_size=8)
    marked = MultiBucketPlan.of(imbalanced(), chunk_size=8, hard_positives=[index < 9 for index in range(795)])
    assert list(plain.chunks()) == list(marked.chunks())


def test_a_chunk_that_is_no_multiple_is_refused_with_the_sizes_that_would_do():
    with pytest.raises(InputError, match=r"must be a multiple of 8 for the ratio 4:1:1:1:1, not 20\nTake 16 or 24, or allow"):
        MultiBucketPlan.of(imbalanced(), chunk_size=20)
    with pytest.raises(InputError, match="Take 8, or allow"):
        MultiBucketPlan.of(imbalanced(), chunk_size=3)


@given(st.integers(1, 40))
def test_uneven_chunks_hold_the_ratio_in_the_long_run(size):
    plan = MultiBucketPlan.of([names[:1] for names in imbalanced()], chunk_size=size, uneven=True, chunks_per_epoch=8)
    drawn = Counter(bucket for number in range(8) for bucket in plan.stream().draw(plan.quotas(number)).values())
    assert drawn == {bucket: size * part for bucket, part in DEFAULT_RATIO.parts.items()}


def test_an_empty_bucket_is_refused_by_name_and_says_what_to_do():
    with pytest.raises(
        InputError, match=r"the bucket 'L2: Irrational Element Interaction' has 0 examples; a chunk takes 1 .*\nAdd"
    ):
        MultiBucketPlan.of([("normal",)] * 8, chunk_size=8)


def test_buckets_that_share_too_few_pictures_are_refused_together():
    ratio = Ratio({"a": 1, "b": 1, "c": 1})
    with pytest.raises(InputError, match="the buckets 'a' and 'b' have 1 examples between them; a chunk takes 2"):
        MultiBucketPlan.of([("a", "b"), ("c",), ("c",)], ratio=ratio, chunk_size=3)


def test_pools_that_only_fit_together_in_one_way_are_filled_in_that_way():
    """Whoever draws first must give up what the last one needs."""
    buckets = [("a", "c"), ("b", "a"), ("c", "b")]
    ratio = Ratio({"a": 1, "b": 1, "c": 1})
    for seed in range(30):
        plan = MultiBucketPlan.of(buckets, ratio=ratio, chunk_size=3, seed=seed, chunks_per_epoch=20)
        assert all(sorted(chunk) == [0, 1, 2] for chunk in plan.chunks())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"chunk_size": 0}, "chunk_size"),
        ({"chunk_size": -8}, "chunk_size"),
        ({"chunk_size": 8, "seed": -1}, "seed"),
        ({"chunk_size": 8, "chunks_per_epoch": 0}, "chunks_per_epoch"),
        ({"chunk_size": 8, "hard_positives": [True]}, "as many as the 795 examples, not 1"),
        ({"chunk_size": 8, "positive_factor": 0.5}, "positive_factor"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(InputError, match=said):
        MultiBucketPlan.of(imbalanced(), **options)


def test_planning_imports_no_torch():
    code = "from salon_train.sampling import MultiBucketPlan, Ratio; import sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


PINNED = [0, 9, 14, 6, 12, 2, 7, 11, 1, 4, 13, 15, 8, 5, 10, 3]
