"""Agreement of frames: groups, nulls, and what is refused."""

import polars as pl
import pytest

from salon_ranking.agreement import (
    AgreementError,
    UndefinedError,
    alpha,
    correlations,
    fleiss_counts,
    fleiss_kappa,
    kappas,
    kendall,
    krippendorff_alpha,
)

LABELS = pl.DataFrame(
    {
        "prompt": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4],
        "who": ["x", "y", "z"] * 3 + ["x"],
        "says": ["ok", "ok", "bad", "bad", "bad", "bad", "ok", "bad", None, "ok"],
        "score": [4, 4, 2, 1, 1, 1, 3, 2, None, 5],
    }
)


def test_each_group_has_its_correlations_or_the_reason_for_none():
    frame = pl.DataFrame({"g": ["b", "a", "a", "a", "b"], "x": [1, 1, 2, 3, 2], "y": [5.0, 1.0, 3.0, 2.0, float("nan")]})
    rows = correlations(frame, "x", "y", by="g", methods=["kendall"]).rows(named=True)
    assert [(row["g"], row["pairs"], row["left_out"]) for row in rows] == [("a", 3, 0), ("b", 1, 1)]
    assert rows[0]["value"] == kendall([1, 2, 3], [1, 3, 2])
    assert rows[1]["value"] is None
    assert "at least two pairs" in rows[1]["reason"]


def test_every_pair_of_raters_has_a_kappa_over_what_both_labelled():
    found = kappas(LABELS, thing="prompt", rater="who", label="says").rows()
    assert [(a, b, things) for a, b, things, *_ in found] == [("x", "y", 3), ("x", "z", 2), ("y", "z", 2)]
    assert found[0][4] == pytest.approx(0.4)
    assert found[0][3] == pytest.approx(2 / 3)


def test_raters_without_a_common_thing_have_null_and_a_reason():
    apart = pl.DataFrame({"prompt": [1, 2], "who": ["x", "y"], "says": ["ok", "ok"]})
    row = kappas(apart, thing="prompt", rater="who", label="says").row(0, named=True)
    assert (row["kappa"], row["agreement"], row["things"]) == (None, None, 0)
    assert "nothing" in row["reason"]


def test_counts_feed_fleiss():
    complete = LABELS.filter(pl.col("prompt") < 3)
    counts = fleiss_counts(complete, thing="prompt", label="says")
    assert counts.rows() == [(1, 1, 2), (2, 3, 0)]
    assert fleiss_kappa(counts.drop("thing")) == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_of_a_frame_is_that_of_its_table(level):
    n = None
    table = [[4, 1, 3, 5], [4, 1, 2, n], [2, 1, n, n]]
    found = alpha(LABELS, thing="prompt", rater="who", value="score", level=level)
    assert found.value == pytest.approx(krippendorff_alpha(table, level=level))
    assert (found.things, found.ratings, found.left_out) == (3, 8, 1)


def test_text_is_nominal_only():
    assert -1 < alpha(LABELS, thing="prompt", rater="who", value="says").value < 1
    with pytest.raises(AgreementError, match="needs numbers"):
        alpha(LABELS, thing="prompt", rater="who", value="says", level="ordinal")


def test_an_empty_frame_has_no_alpha():
    with pytest.raises(UndefinedError):
        alpha(LABELS.clear(), thing="prompt", rater="who", value="score")


def test_bad_frames_are_refused_with_row_and_column():
    twice = pl.concat([LABELS, LABELS.head(1)])
    with pytest.raises(AgreementError, match="row 11, column 'prompt': rater 'x' rated the same thing twice: 1"):
        kappas(twice, thing="prompt", rater="who", label="says")
    with pytest.raises(AgreementError, match="missing column 'nobody'"):
        alpha(LABELS, thing="prompt", rater="nobody", value="says")
    with pytest.raises(AgreementError, match="column 'says': must hold numbers"):
        correlations(LABELS, "score", "says")
    with pytest.raises(AgreementError, match="unknown method"):
        correlations(LABELS, "score", "prompt", methods=["cosine"])


def test_a_column_correlates_with_itself_and_group_names_may_not_collide():
    assert correlations(LABELS, "score", "score", methods=["pearson"])["value"].to_list() == [1.0]
    with pytest.raises(AgreementError, match="column 'value': the result has a column of that name"):
        correlations(LABELS.with_columns(value=pl.lit(1)), "score", "prompt", by="value")


def test_things_may_be_of_any_kind_but_not_nested():
    kinds = LABELS.with_columns(category=pl.col("prompt").cast(pl.String).cast(pl.Categorical), truth=pl.col("prompt") > 2)
    by_number = alpha(kinds, thing="prompt", rater="who", value="score")
    assert alpha(kinds, thing="category", rater="who", value="score") == by_number
    assert alpha(kinds, thing="prompt", rater="who", value="category").things == 3
    assert alpha(kinds.unique(["truth", "who"]), thing="truth", rater="who", value="prompt").things == 2
    with pytest.raises(AgreementError, match="one value per row"):
        alpha(LABELS.with_columns(prompt=pl.concat_list("prompt")), thing="prompt", rater="who", value="score")
