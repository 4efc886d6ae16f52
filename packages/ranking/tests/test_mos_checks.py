"""Test points: shares, Wilson intervals, and what is no answer."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from salon_ranking.errors import OptionError
from salon_ranking.opinion import CheckError, Checks, wide_shares, wilson_interval

# MEF paper (004), Table 8: three test points of two models.
TABLE_8 = {
    "GPT-4o": {"Text": 0.95, "Negation": 0.98, "Quantity": 0.65},
    "Seedream 3.0": {"Text": 0.82, "Negation": 0.28, "Quantity": 0.69},
}


def test_a_hundred_checks_each_give_the_papers_shares_back():
    rows = [(m, t, n < round(100 * s)) for m, points in TABLE_8.items() for t, s in points.items() for n in range(100)]
    shares = Checks.from_frame(pl.DataFrame(rows, schema=["model", "test_point", "satisfied"], orient="row")).shares()
    wide = wide_shares(shares)
    assert wide["test_point"].to_list() == ["all checks", "Text", "Negation", "Quantity"]
    for model, points in TABLE_8.items():
        assert wide[model].to_list() == pytest.approx([np.mean(list(points.values())), *points.values()])
    assert shares["model"].to_list()[:2] == ["GPT-4o", "Seedream 3.0"]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_intervals_are_those_of_scipy(satisfied: int, more: int, confidence: float):
    trials = satisfied + more - 1 or 1
    low, high = wilson_interval(np.array([satisfied]), np.array([trials]), confidence)
    expected = binomtest(satisfied, trials).proportion_ci(confidence, method="wilson")
    assert (low[0], high[0]) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))


def test_wilson_intervals_cover_at_their_nominal_rate_on_average():
    rng = np.random.default_rng(0)
    truth = rng.random(20_000)
    low, high = wilson_interval(rng.binomial(30, truth), np.full(20_000, 30))
    assert 0.94 <= ((low <= truth) & (truth <= high)).mean() <= 0.965


def test_no_answers_are_counted_and_no_failures():
    frame = pl.DataFrame(
        {
            "subject_model": ["x", "x", "y"],
            "dimension": ["Text", "Text", "Text"],
            "value": [1.0, None, None],
            "unscored_reason": [None, "timeout", "refused"],
            "task": ["points", "points", "points"],
        }
    )
    checks = Checks.from_frame(frame, task="points")
    assert checks.unscored == {"refused": 1, "timeout": 1}
    assert "1 checks scored, 2 unscored" in checks.header
    text = checks.shares().filter(test_point="Text").select("model", "satisfied", "checks", "unscored", "share", "ci_low")
    assert text.row(0)[:5] == ("x", 1, 1, 1, 1.0)
    assert text.row(1) == ("y", 0, 0, 1, None, None)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pl.DataFrame({"model": ["x"], "satisfied": [1]}), "missing column 'test_point'"),
        (
            pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": ["maybe"]}),
            "row 1, column 'satisfied': is neither true nor false: 'maybe'",
        ),
        (pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [0.5]}), "neither true nor false: 0.5"),
        (pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [float("nan")]}), "neither true nor false"),
        (pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [None]}), "row 1, column 'satisfied': is not given"),
        (pl.DataFrame({"model": [""], "test_point": ["t"], "satisfied": [1]}), "row 1, column 'model': is blank"),
        (pl.DataFrame({"model": ["x"], "test_point": [None], "satisfied": [1]}), "column 'test_point': is not given"),
        (pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [[1]]}), "must hold true, false"),
        (pl.DataFrame({"model": [], "test_point": [], "satisfied": []}), "holds no checks"),
        (
            pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [None], "unscored_reason": [None]}),
            "is missing without an unscored_reason",
        ),
    ],
)
def test_a_wrong_check_is_named(frame: pl.DataFrame, said: str):
    with pytest.raises(CheckError) as caught:
        Checks.from_frame(frame)
    assert said in str(caught.value)


def test_a_task_that_nobody_has_is_refused():
    frame = pl.DataFrame({"model": ["x"], "test_point": ["t"], "satisfied": [1]})
    with pytest.raises(CheckError, match="missing column 'task'"):
        Checks.from_frame(frame, task="points")
    with pytest.raises(CheckError, match="holds no checks of the task 'points'"):
        Checks.from_frame(frame.with_columns(task=pl.lit("other")), task="points")


def test_all_spellings_of_an_answer_are_read(tmp_path: Path):
    path = tmp_path / "checks.csv"
    path.write_text("model,test_point,satisfied\nx,t,TRUE\nx,t,0\nx,t,1.0\nx,t,false\n", encoding="utf-8")
    assert Checks.read(path).shares()["share"].to_list() == [0.5, 0.5]
    with pytest.raises(OptionError, match="confidence"):
        Checks.read(path).shares(confidence=0.0)
