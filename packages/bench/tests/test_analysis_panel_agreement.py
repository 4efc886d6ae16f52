"""Agreement of a panel's members beyond chance, against counts made by hand."""

import polars as pl
import pytest

from salon_bench.analysis.panel_agreement import label_agreement, score_agreement
from salon_bench.suites.contract.tables import interval_over_prompts, words_of_intervals

SCORE = {"suite": "s", "task": "t", "subject_model": "m", "generation_id": None, "dimension": "d"}


def scores(*values: float | None) -> pl.DataFrame:
    rows = [{**SCORE, "prompt_id": str(n), "value": value} for n, value in enumerate(values)]
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def labels(**given: bool) -> pl.DataFrame:
    rows = [{"taxonomy": "x", "label": "hand", "generation_id": name, "present": present} for name, present in given.items()]
    return pl.DataFrame(rows)


def test_alpha_is_that_of_the_definition_and_unscored_items_are_left_out() -> None:
    # Observed disagreement 1/3; expected 82/30, over the six values 1 1 2 2 3 4.
    (found,) = score_agreement({"a": scores(1.0, 2.0, 3.0, None), "b": scores(1.0, 2.0, 4.0, 9.0)})
    assert found.items == 3
    assert found.alpha == pytest.approx(1 - (1 / 3) / (82 / 30))


def test_an_alpha_that_does_not_exist_has_a_reason() -> None:
    (same,) = score_agreement({"a": scores(1.0, 1.0), "b": scores(1.0, 1.0)})
    (alone,) = score_agreement({"a": scores(1.0, None), "b": scores(None, 2.0)})
    assert (same.alpha, alone.alpha, alone.items) == (None, None, 0)
    assert same.reason
    assert alone.reason
    assert score_agreement({"a": scores(None), "b": scores(None)}) == []


def test_kappa_of_labels_counts_what_is_not_mentioned_as_withheld() -> None:
    one = labels(p=True, q=True, r=False, s=False)
    foot = labels(r=True, s=False).with_columns(label=pl.lit("foot"))
    mentioned = pl.concat([labels(p=True, q=False), foot])
    found = {each.label: each for each in label_agreement({"a": one, "b": mentioned})}
    # Hand: a gives p q, b gives p, of four: 3/4 agree, by chance (2·1 + 2·3)/16 = 1/2.
    assert found["hand"].kappa == pytest.approx((0.75 - 0.5) / 0.5)
    assert (found["hand"].generations, found["foot"].kappa) == (4, pytest.approx(0.0))


def test_kappa_does_not_exist_where_all_was_given_by_both() -> None:
    (found,) = label_agreement({"a": labels(p=True, q=True), "b": labels(p=True, q=True)})
    assert found.kappa is None


def test_a_share_of_a_panel_is_the_mean_of_its_values() -> None:
    rows = pl.DataFrame({"prompt_id": [*"abcdef"], "value": [1.0, 1.0, 0.5, 1.0, 0.5, 0.5], "dimension": "there"})
    share, (low, high) = interval_over_prompts("there", rows, shares={"there"})
    assert share == 0.75 and low is not None and high is not None and low < 0.75 < high <= 1.0
    [words] = words_of_intervals(rows, {"there"})
    assert words == "95% intervals: Student's t over prompts; none from fewer than 5 or from equal values."
    [words] = words_of_intervals(rows, {"there"}, confidence=0.99)
    assert "99%" in words and "fewer than 6" in words
    few, equal = rows.head(4), rows.with_columns(value=pl.lit(0.5))
    assert all(interval_over_prompts("there", each, shares={"there"})[1] == (None, None) for each in (few, equal))
