"""The study of the gate (`python -m studies.gate`) in small, and at its whole size."""

import pytest

from studies.gate import KINDS, caught, errors, pictures, refusal


@pytest.mark.parametrize("kind", KINDS)
def test_equal_builds_pass_as_planned_and_worse_ones_seldom(kind: str):
    found = errors(kind, 60)
    assert abs(found["equal"] - found["power"]) <= 0.16 and found["worse"] <= 0.14  # three standard errors


def test_a_quantised_generator_is_caught_and_a_better_one_is_not():
    judged = pictures(96)
    rows = caught(judged, 10, prompts=90).rows_by_key("build", named=True, unique=True)
    assert rows["quantised"]["passes"] == 0.0 and rows["better"]["worse"] == 0.0
    assert judged["quantised"].mean() < judged["base"].mean() < judged["better"].mean()
    assert "lacks samples of 48 of 96 prompts, such as 'p1" in refusal(judged)


@pytest.mark.study
def test_the_whole_study():
    for kind in KINDS:
        found = errors(kind, 1_000)
        assert abs(found["equal"] - found["power"]) <= 0.05, kind
        assert found["worse"] <= 0.05 + 3 * (0.05 * 0.95 / 1_000) ** 0.5, kind
    judged = pictures(1_000)
    shares = caught(judged, 100).select("build", "passes", "better").rows()
    assert shares[0] == ("base", 1.0, 0.0)
    assert shares[1][1] <= 0.05 and shares[2][2] >= 0.95
    assert "lacks samples of 500 of 1,000 prompts" in refusal(judged)
