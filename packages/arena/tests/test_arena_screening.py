"""Screening of opinion scores: planted careless and biased raters are found, and a loop in plain Python agrees."""

import random

import numpy as np
import polars as pl
import pytest

from salon_arena.screening import FAR_ELSE, screen_raters


def drawn(raters: int, files: int, seed: int, careless: int = 0, biased: float = 0.0) -> pl.DataFrame:
    """Marks of the additive model on 1 to 5; the first raters answer at random, the last one is biased."""
    generator = random.Random(seed)
    rows = []
    for file in range(files):
        level = generator.uniform(2.6, 3.4)
        for rater in range(raters):
            mark = level + generator.gauss(0, 0.45) + (biased if rater == raters - 1 else 0.0)
            if rater < careless:
                mark = generator.choice([1, 5])
            rows.append((f"r{rater:02d}", f"f{file}", "looks", float(min(5, max(1, round(mark))))))
    return pl.DataFrame(rows, schema=["rater_id", "file", "dimension", "value"], orient="row")


def twin(marks: pl.DataFrame) -> dict[str, bool]:
    """The rule of BT.500, mark by mark."""
    counts: dict[str, list[int]] = {}
    total: dict[str, int] = {}
    for _, part in marks.group_by("file"):
        values = part["value"].to_numpy()
        mean, spread = values.mean(), values.std(ddof=1)
        if len(values) < 6:
            continue
        for rater, value in zip(part["rater_id"], values, strict=True):
            total[rater] = total.get(rater, 0) + 1
            counted = counts.setdefault(rater, [0, 0])
            if spread == 0:
                continue
            moments = [np.mean((values - mean) ** power) for power in (2, 4)]
            limit = 2.0 if 2 <= moments[1] / moments[0] ** 2 <= 4 else FAR_ELSE
            counted[0] += value >= mean + limit * spread
            counted[1] += value <= mean - limit * spread
    found = {}
    for rater, (above, below) in counts.items():
        far = above + below
        found[rater] = far / total[rater] > 0.05 and abs(above - below) / far < 0.3
    return found


@pytest.mark.parametrize("seed", range(4))
def test_careless_raters_are_rejected_as_by_the_rule_itself_and_a_biased_one_is_not(seed: int) -> None:
    marks = drawn(20, 120, seed, careless=1, biased=0.8)
    found = {row["rater_id"]: row for row in screen_raters(marks).to_dicts()}
    assert {rater for rater, row in found.items() if row["rejected"]} == {"r00"}
    assert {rater: row["rejected"] for rater, row in found.items()} == twin(marks)
    honest = [found[f"r{number:02d}"] for number in range(1, 19)]
    assert found["r19"]["bias"] - np.mean([row["bias"] for row in honest]) == pytest.approx(0.8, abs=0.2)
    assert found["r00"]["inconsistency"] > 2 * max(row["inconsistency"] for row in honest)


def test_two_raters_per_file_give_bias_but_no_rejection_and_unbalanced_sharing_is_accounted_for() -> None:
    generator = random.Random(0)
    biases = {"a": 0.0, "b": 0.5, "c": -0.5}
    rows = []
    for file in range(300):
        level = 2.0 + file % 3 * 0.5
        two = (["a", "b"], ["b", "c"], ["a", "c"])[file % 3]
        rows += [(rater, f"f{file}", "looks", level + biases[rater] + generator.gauss(0, 0.2)) for rater in two]
    marks = pl.DataFrame(rows, schema=["rater_id", "file", "dimension", "value"], orient="row")
    found = {row["rater_id"]: row for row in screen_raters(marks).to_dicts()}
    assert all(row["rejected"] is None for row in found.values())
    for rater, bias in biases.items():
        assert found[rater]["bias"] == pytest.approx(bias, abs=0.05)
        assert 0.1 < found[rater]["inconsistency"] < 0.25


def test_equal_marks_and_single_raters_are_screened_without_a_fault() -> None:
    same = pl.DataFrame({"rater_id": [f"r{n}" for n in range(8)], "file": "f", "dimension": "looks", "value": 3.0})
    assert screen_raters(same)["rejected"].to_list() == [False] * 8
    one = same.head(1)
    assert screen_raters(one).to_dicts()[0]["rejected"] is None
