"""Measures of two sets of features: their definitions, what leaves them as they are, small sets, and how often ends hold."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from for_each import for_each
from salon_bench.analysis.set_measures import NEAREST, SET_MEASURES, set_measures, vendi_score
from salon_taxonomy.errors import InputError

ALL = list(SET_MEASURES)


def sets(seed: int, n: int = 60, m: int = 70, width: int = 4, shift: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(0.0, 1.0, (n, width)), random.normal(shift, 1.2, (m, width))


def values(base: np.ndarray, new: np.ndarray, *names: str, **options: object) -> list[float]:
    return set_measures(base, new, names or ALL, **options)["value"].to_list()


def test_fid_is_the_formula_with_the_square_root_of_a_matrix():
    base, new = sets(1)
    one, two = np.cov(base.T), np.cov(new.T)
    expected = ((base.mean(0) - new.mean(0)) ** 2).sum() + np.trace(one + two - 2 * np.real(sqrtm(one @ two)))
    assert values(base, new, "fid") == [pytest.approx(expected, rel=1e-9)]


@for_each("name", ["kid", "cmmd"])
def test_discrepancies_are_means_over_pairs_of_two_rows(name):
    base, new = sets(2, 15, 12)
    kernels = {
        "kid": lambda a, b: (a @ b / len(a) + 1) ** 3,
        "cmmd": lambda a, b: 1000 * math.exp(-((a - b) ** 2).sum() / 200),
    }
    kernel = kernels[name]
    within = [np.mean([kernel(a, b) for i, a in enumerate(s) for j, b in enumerate(s) if i != j]) for s in (base, new)]
    expected = sum(within) - 2 * np.mean([kernel(a, b) for a in base for b in new])
    assert values(base, new, name) == [pytest.approx(expected, rel=1e-9)]


def test_precision_recall_density_and_coverage_are_counts_of_balls():
    base, new = sets(3, 40, 50, 2)

    def radii(side):
        return [sorted(np.linalg.norm(side - row, axis=1))[NEAREST] for row in side]

    inside = np.array(
        [[np.linalg.norm(row - other) < radius for other in new] for row, radius in zip(base, radii(base), strict=True)]
    )
    of_new = np.array(
        [[np.linalg.norm(row - other) < radius for other in base] for row, radius in zip(new, radii(new), strict=True)]
    )
    expected = [inside.any(0).mean(), of_new.any(0).mean(), inside.sum(0).mean() / NEAREST, inside.any(1).mean()]
    assert values(base, new, "precision", "recall", "density", "coverage") == pytest.approx(expected)


def test_the_vendi_score_counts_how_many_kinds_of_rows_there_are():
    kinds = np.eye(3)[np.arange(30) % 3] * np.linspace(1, 5, 30)[:, None]
    assert values(kinds, np.ones((30, 3)), "vendi", "vendi_base") == [pytest.approx(1.0), pytest.approx(3.0)]
    halves = np.concatenate([np.tile([1.0, 0.0], (15, 1)), np.tile([0.0, 2.0], (5, 1))])
    assert values(halves, halves, "vendi") == [pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))]


@pytest.mark.slow  # importing torchmetrics takes many seconds
def test_fid_and_kid_equal_those_of_torchmetrics_with_a_tiny_network():
    import torch
    from torchmetrics.image.fid import FrechetInceptionDistance
    from torchmetrics.image.kid import KernelInceptionDistance

    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())

    class Net(torch.nn.Module):
        num_features = 6

        def forward(self, pictures):
            return net(pictures.float() / 255)

    base, new = (torch.randint(0, high, (50, 3, 12, 12), dtype=torch.uint8) for high in (256, 200))
    with torch.no_grad():
        rows = [Net()(side).double().numpy() for side in (base, new)]
    fid, kid = FrechetInceptionDistance(Net()), KernelInceptionDistance(Net(), subsets=1, subset_size=50)
    for metric in (fid, kid):
        metric.update(base, real=True)
        metric.update(new, real=False)
    found = values(*rows, "fid", "kid")
    assert found == [pytest.approx(float(fid.compute()), abs=1e-6), pytest.approx(float(kid.compute()[0]), abs=1e-6)]


@for_each("seed", range(2))
def test_order_and_rotation_change_nothing_and_swapped_sets_swap_what_they_should(seed):
    width = 2 + seed
    base, new = sets(seed, width=width)
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(width, width)))[0]
    labels = [f"p{k % 50}" for k in range(70)]
    plain = dict(zip(ALL, values(base, new, base_prompts=labels[:60], new_prompts=labels), strict=True))
    order = random.permutation(60)
    shuffled = values(base[order], new, base_prompts=[labels[k] for k in order], new_prompts=labels)
    assert shuffled == pytest.approx(list(plain.values()))
    turned = values(base @ turn, new @ turn, base_prompts=labels[:60], new_prompts=labels)
    assert turned == pytest.approx(list(plain.values()), rel=1e-6, abs=1e-9)
    swapped = dict(zip(ALL, values(new, base, base_prompts=labels, new_prompts=labels[:60]), strict=True))
    assert [swapped[name] for name in ("fid", "kid", "cmmd")] == pytest.approx([plain[name] for name in ("fid", "kid", "cmmd")])
    assert (swapped["precision"], swapped["vendi"]) == pytest.approx((plain["recall"], plain["vendi_base"]))


def test_fid_grows_in_small_sets_and_its_extrapolation_does_not():
    draws = [sets(seed, 64, 64, 8, 0.0) for seed in range(24)]  # made one distribution: the distance is 0
    biased, extrapolated = np.array([values(base, new / 1.2, "fid", "fid_infinity") for base, new in draws]).T
    assert biased.mean() > 0.4
    assert abs(extrapolated.mean()) < 4 * extrapolated.std() / math.sqrt(24) + 0.1 * biased.mean()


def test_pictures_of_the_same_prompts_do_not_bring_kid_down():
    random = np.random.default_rng(9)
    found = []
    for _ in range(16):
        base = random.normal(size=(40, 3))
        new = 1.3 * base + 0.2  # each picture near its twin
        prompts = [str(k) for k in range(40)]
        found.append([*values(base, new, "kid", base_prompts=prompts, new_prompts=prompts), *values(base, new, "kid")])
    independent = values(random.normal(size=(2000, 3)), 1.3 * random.normal(size=(2000, 3)) + 0.2, "kid")[0]
    with_prompts, without = np.mean(found, 0)
    error = np.std(found, 0)[0] / 4.0
    assert abs(with_prompts - independent) < 4 * error and without < independent - 4 * error


@pytest.mark.slow
@for_each("name", ["fid_infinity", "kid", "recall"])
def test_ends_hold_about_as_often_as_they_should(name):
    found = pl.concat([set_measures(*sets(seed, 100, 100, 3, 0.5), [name], seed=seed) for seed in range(100)])
    truth = values(*sets(0, 4000, 4000, 3, 0.5), "kid")[0] if name == "kid" else found["value"].mean()
    if name == "fid_infinity":
        truth = 3 * 0.5**2 + 3 * 0.2**2
    assert (found["low"] <= truth).mean() >= 0.85 and (found["high"] >= truth).mean() >= 0.85


def test_builds_of_the_same_prompts_have_narrower_ends_where_they_agree():
    random = np.random.default_rng(5)
    base = np.repeat(random.normal(size=(60, 3)), 2, axis=0)
    new = 1.1 * base + 0.1
    prompts = [f"p{k // 2}" for k in range(120)]
    paired = set_measures(base, new, ["fid"], base_prompts=prompts, new_prompts=prompts)
    apart = set_measures(base, new, ["fid"], base_prompts=prompts, new_prompts=[f"other {prompt}" for prompt in prompts])
    widths = [(found["high"] - found["low"]).item() for found in (paired, apart)]
    assert paired["value"].item() == pytest.approx(apart["value"].item()) and widths[0] < 0.5 * widths[1]


def test_sets_that_are_too_small_have_a_reason_and_no_value():
    base, new = sets(6, 20, 30, 20)
    rows = {row["measure"]: row for row in set_measures(base, new, ["fid", "fid_infinity", "kid"]).iter_rows(named=True)}
    assert rows["fid"]["value"] is None and rows["fid_infinity"]["value"] is None and rows["kid"]["value"] is not None
    assert rows["fid"]["reason"] == "fid of 20 features needs 21 pictures and 1 prompt or more on each side"
    few = [str(k % 9) for k in range(30)]
    row = set_measures(new, new + 1, ["kid"], base_prompts=few, new_prompts=few).row(0, named=True)
    assert row["value"] is not None and row["low"] is None and row["high"] is None
    narrow = set_measures(new[:, :2], new[:, :2], ["fid_infinity"], base_prompts=few, new_prompts=few)
    assert narrow["reason"][0].endswith("needs 8 pictures and 10 prompts or more on each side")


@for_each(
    "wrong",
    [
        (np.full((20, 3), np.nan), "has a number that is not finite"),
        (np.zeros(20), "must have one row per picture"),
        (np.zeros((0, 3)), "must have one row per picture"),
        (np.zeros((20, 4)), "features of two widths: '3 and 4'"),
        ([["a"] * 3] * 20, "must be numbers"),
        ([[1.0], [1.0, 2.0]], "must be numbers"),
    ],
)
def test_what_are_no_features_is_refused(wrong):
    features, message = wrong
    with pytest.raises(InputError, match=message):
        set_measures(np.zeros((20, 3)), features, ["kid"])


def test_wrong_options_are_refused():
    base, new = sets(7)
    for options, message in (
        ({"measures": ["is"]}, "no such measure: 'is'"),
        ({"level": 0.5}, "between 0 and 0.5"),
        ({"base_prompts": ["a"]}, "one prompt for each of 60 rows"),
    ):
        with pytest.raises(InputError, match=message):
            set_measures(base, new, **options)


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 9))
def test_order_length_and_repetition_of_all_rows_change_no_vendi_score(seed: int, count: int, width: int):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, width))
    score = vendi_score(rows)
    assert 1.0 - 1e-9 <= score <= min(count, width) + 1e-9
    for same in (rows[random.permutation(count)], rows * random.uniform(0.1, 9.0, (count, 1)), np.concatenate([rows, rows])):
        assert vendi_score(same) == pytest.approx(score, rel=1e-6)
