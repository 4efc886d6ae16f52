"""PRISM-Bench's numbers: the paper's rules, the released script's, their intervals, and the two languages side by side."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_bench.suites.prism import Track
from salon_bench.suites.prism.bilingual import side_by_side
from salon_bench.suites.prism.scoring import summarize
from salon_taxonomy.errors import InputError

COLUMNS = ("prompt_id", "generation_id", "task", "dimension", "value", "unscored_reason")
SCHEMA = dict.fromkeys(COLUMNS, pl.String) | {"value": pl.Float64}


def rows_of(verdicts):
    """Rows as the suite makes them, from {track: [(alignment, aesthetic), …]}; None for what could not be had."""
    rows = []
    for track, pictures in verdicts.items():
        for number, both in enumerate(pictures):
            for axis, value in zip(("alignment", "aesthetic"), both, strict=True):
                reason = "malformed" if value is None else None
                rows.append((f"{track}-{number}", f"{track}-{number}-g", str(track), axis, value, reason))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def everywhere(*pictures):
    return rows_of({track: list(pictures) for track in Track})


def number(summary, metric, group=None, column="value"):
    [row] = summary.table.filter(pl.col("metric") == metric, pl.col("group").eq_missing(group)).iter_rows(named=True)
    return row[column]


def test_a_track_is_the_mean_of_its_axes_and_overall_the_mean_of_the_tracks():
    verdicts = {track: [(place + 1, 3.0), (place + 2, 4.0)] for place, track in enumerate(Track)}
    summary = summarize(rows_of(verdicts))
    assert number(summary, "alignment", "imagination") == 15.0
    assert number(summary, "aesthetic", "imagination") == 35.0
    assert number(summary, "average", "imagination") == 25.0
    assert number(summary, "alignment") == pytest.approx(np.mean([15.0 + 10 * place for place in range(7)]))
    assert number(summary, "average") == pytest.approx(np.mean([25.0 + 5 * place for place in range(7)]))


def test_overall_comes_first_and_tracks_in_the_papers_order():
    table = summarize(everywhere((5.0, 5.0))).table
    assert table["group"].to_list() == [None] * 3 + [str(track) for track in Track for _ in range(3)]
    assert table["metric"].to_list() == ["average", "alignment", "aesthetic"] * 8


def test_what_could_not_be_had_is_counted_and_is_no_zero():
    summary = summarize(everywhere((8.0, None), (None, 6.0), (10.0, 6.0)))
    assert number(summary, "alignment", "style") == 90.0
    assert number(summary, "aesthetic", "style") == 60.0
    assert (number(summary, "average", "style", "scored"), number(summary, "average", "style", "unscored")) == (4, 2)
    assert number(summary, "average", column="unscored") == 14
    assert "Missing verdicts: 14 malformed." in summary.notes


def test_the_script_pools_verdicts_where_the_paper_averages_means():
    verdicts = {track: [(8.0, 2.0), (8.0, None)] for track in Track}
    verdicts[Track.STYLE] = [(1.0, 1.0)] * 6
    paper, script = (summarize(rows_of(verdicts), fidelity) for fidelity in ("paper", "released"))
    assert number(paper, "average", "entity") == 50.0
    assert number(script, "average", "entity") == 60.0
    assert number(paper, "average") == pytest.approx((6 * 50.0 + 10.0) / 7)
    assert number(script, "average") == pytest.approx(10 * (6 * 18.0 + 12.0) / (6 * 3 + 12))
    assert number(script, "alignment") == pytest.approx(10 * (6 * 16.0 + 6.0) / (6 * 2 + 6))


def test_a_track_without_scores_is_null_and_so_is_overall_by_the_paper_alone():
    verdicts = {track: [(6.0, 4.0)] * 2 for track in Track if track is not Track.ENTITY}
    verdicts[Track.ENTITY] = [(None, None)]
    paper, script = (summarize(rows_of(verdicts), fidelity) for fidelity in ("paper", "released"))
    for summary in (paper, script):
        assert number(summary, "average", "entity") is None
        assert number(summary, "average", "entity", "ci_low") is None
        assert any("entity" in note for note in summary.notes)
    assert number(paper, "average") is None
    assert number(script, "average") == 50.0


def test_no_rows_at_all_give_an_empty_summary():
    for fidelity in ("paper", "released"):
        table = summarize(everywhere().clear(), fidelity).table
        assert table.height == 24
        assert table["value"].null_count() == table["ci_low"].null_count() == 24
        assert table["scored"].sum() == 0


def test_other_dimensions_are_left_alone():
    frame = everywhere((5.0, 5.0))
    ocr = frame.with_columns(dimension=pl.lit("ocr"), value=pl.lit(0.0))
    assert summarize(pl.concat([frame, ocr])).table.equals(summarize(frame).table)


def test_an_unknown_track_or_a_missing_column_is_refused():
    with pytest.raises(InputError, match="column 'task': unknown track 'portrait'"):
        summarize(rows_of({"portrait": [(5.0, 5.0)]}))
    with pytest.raises(InputError, match="the scores lack the column 'dimension'"):
        summarize(everywhere((5.0, 5.0)).drop("dimension"))


def test_one_scored_prompt_among_many_has_no_interval():
    several = [(6.0, 4.0), (7.0, 5.0), (5.0, 5.0), (6.0, 7.0), (8.0, 4.0)]
    style = [(6.0, 4.0), *((None, aesthetic) for _, aesthetic in several)]
    verdicts = dict.fromkeys(Track, several) | {Track.STYLE: style}
    summary = summarize(rows_of(verdicts))
    assert number(summary, "alignment", "style", "ci_low") is None
    assert number(summary, "aesthetic", "style", "ci_low") is not None
    assert number(summary, "average", "entity", "ci_low") is not None
    assert number(summary, "average", column="ci_low") is None


def test_single_few_and_equal_prompts_have_no_interval():
    assert number(summarize(everywhere((5.0, 7.0))), "average", "style", "ci_low") is None
    assert number(summarize(everywhere((5.0, 7.0), (6.0, 7.0), (7.0, 5.0))), "average", "style", "ci_low") is None
    same = summarize(everywhere(*[(5.0, 7.0)] * 10))
    assert (number(same, "average", column="ci_low"), number(same, "average", column="ci_high")) == (None, None)


verdict = st.none() | st.integers(0, 20).map(lambda half: half / 2)
tracks = st.fixed_dictionaries({track: st.lists(st.tuples(verdict, verdict), min_size=1, max_size=5) for track in Track})


@settings(max_examples=40)
@given(tracks, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter_and_numbers_stay_on_the_scale(verdicts, random):
    frame = rows_of(verdicts)
    order = list(range(frame.height))
    random.shuffle(order)
    for fidelity in ("paper", "released"):
        table = summarize(frame, fidelity, replicates=50).table
        assert table.equals(summarize(frame[order], fidelity, replicates=50).table)
        assert table["value"].drop_nulls().is_between(0, 100).all()
        assert table["ci_low"].drop_nulls().is_between(0, 100).all()
        assert (table["scored"] + table["unscored"])[0] == frame.height


@settings(max_examples=40)
@given(tracks)
def test_both_rules_agree_on_every_track_when_every_verdict_was_had(verdicts):
    full = {
        track: [tuple(5.0 if value is None else value for value in both) for both in each] for track, each in verdicts.items()
    }
    paper, script = (
        summarize(rows_of(full), fidelity, replicates=0).table.filter(pl.col("group").is_not_null())
        for fidelity in ("paper", "released")
    )
    assert paper["value"].to_numpy() == pytest.approx(script["value"].to_numpy())


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    random = np.random.default_rng(1)
    frame = everywhere(*(tuple(map(float, pair)) for pair in random.integers(0, 11, (30, 2))))
    assert summarize(frame).table.equals(summarize(frame).table)
    assert not summarize(frame).table.equals(summarize(frame, seed=1).table)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(60):
        pictures = random.binomial(10, 0.6, (25, 2)).astype(float)
        summary = summarize(everywhere(*map(tuple, pictures)), replicates=200)
        hits += number(summary, "alignment", "style", "ci_low") <= 60.0 <= number(summary, "alignment", "style", "ci_high")
    assert hits >= 50


def test_prompts_that_are_hard_in_both_languages_cancel_in_the_difference():
    random = np.random.default_rng(3)
    scores = random.integers(0, 9, (40, 2)).astype(float)
    english = everywhere(*map(tuple, scores))
    chinese = everywhere(*map(tuple, scores + 1.0)).with_columns(pl.col("prompt_id") + "-zh")
    found = side_by_side(english, chinese)
    first = found.table.row(0, named=True)
    assert first["difference"] == pytest.approx(10.0)
    assert (first["ci_low"], first["ci_high"]) == (None, None), "a difference that is the same everywhere"
    noisy = everywhere(*map(tuple, scores + random.normal(1.0, 0.1, scores.shape)))
    first = side_by_side(english, noisy.with_columns(pl.col("prompt_id") + "-zh")).table.row(0, named=True)
    assert 9.8 < first["ci_low"] < first["ci_high"] < 10.2
    assert "280 prompts are in both languages" in found.notes[0]


def test_without_shared_ids_the_difference_has_a_wide_interval():
    random = np.random.default_rng(3)
    scores = random.integers(0, 9, (40, 2)).astype(float)
    english = everywhere(*map(tuple, scores))
    chinese = everywhere(*map(tuple, scores + 1.0)).with_columns(pl.col("prompt_id") + "-other")
    first = side_by_side(english, chinese).table.row(0, named=True)
    assert first["difference"] == pytest.approx(10.0)
    assert first["ci_high"] - first["ci_low"] > 1.0


def test_a_language_without_scores_has_no_difference():
    found = side_by_side(everywhere((5.0, 5.0)).clear(), everywhere((5.0, 5.0), (6.0, 6.0))).table
    assert found["difference"].null_count() == found["ci_low"].null_count() == 24
    assert found["chinese_scored"][0] == 28
