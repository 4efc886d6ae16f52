"""Reliability of scores: differences, ranks, other judges and people; and the tables of paper 002 that print them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from salon_bench.analysis.reliability import compare, competition_ranks, score_tables
from salon_console import main
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score


def scores(values, judge="judge", version="1", dimension="s_rect"):
    """Rows for {subject: [value per item]}; None is unscored."""
    return [
        Score(
            run_id=f"run-{subject}-{judge}",
            suite="r3-images",
            task=("color", "shape")[item % 2],
            subject_model=subject,
            prompt_id=f"{item:03d}",
            dimension=dimension,
            value=value,
            unscored_reason=None if value is not None else "timeout",
            judge=judge,
            judge_version=version,
        )
        for subject, row in values.items()
        for item, value in enumerate(row)
    ]


def frame(rows):
    return pl.DataFrame([row.model_dump() for row in rows], infer_schema_length=None)


def drawn(seed, items=120):
    """Three subjects: one clearly better, two alike."""
    random = np.random.default_rng(seed)
    hard = random.normal(0, 1, items)
    quality = {"good": 1.0, "fair": 0.0, "like": 0.01}
    return {name: (hard + value + random.normal(0, 0.5, items)).tolist() for name, value in quality.items()}


def test_the_known_order_comes_out_with_its_intervals_and_its_tie():
    [table] = score_tables(frame(scores(drawn(2))), "s_rect")
    found = compare(table, sizes=[40, 80, 120], rounds=100)
    assert found.standings[0].model == "good"
    assert [each.rank_with_ties for each in found.standings] == [1, 2, 2]
    assert [each.significant for each in found.differences] == [True, True, False]
    assert all(each.value >= 0 and each.ci_low <= each.value <= each.ci_high for each in found.differences)
    whole = found.stability.sizes[-1]
    assert (whole.tau, whole.exact, whole.exact_significant) == (1.0, 1.0, 1.0)
    assert found.stability.sizes[0].tau_significant == 1.0, "with the tie taken as one, 40 items rank as all do"
    assert found.stability.sizes[0].tau < 1.0


def test_the_same_seed_gives_the_same_intervals():
    [table] = score_tables(frame(scores(drawn(2))), "s_rect")
    assert compare(table, sizes=[30], rounds=20) == compare(table, sizes=[30], rounds=20)


def test_an_item_without_a_verdict_is_left_out_for_all_or_counts_zero_and_is_counted():
    rows = frame(scores({"a": [1.0, None, 0.5], "b": [0.5, 0.5, 0.5]}))
    [left] = score_tables(rows, "s_rect")
    assert (left.items, left.left_out, left.unscored) == (("000", "002"), 1, {"a": 1, "b": 0})
    [zero] = score_tables(rows, "s_rect", missing="zero")
    assert (zero.means["a"], zero.left_out, zero.unscored["a"]) == (0.5, 0, 1)


def test_the_order_of_rows_changes_nothing_where_a_prompt_is_in_several_tasks():
    rows = frame(scores(drawn(3, items=40)))
    other = rows.with_columns(task=pl.lit("count"), value=pl.col("value") * pl.col("prompt_id").cast(pl.Float64) / 7.0)
    both = pl.concat([rows, other.filter(pl.col("prompt_id") < "020")])
    [found, turned] = [score_tables(each, "s_rect")[0] for each in (both, both.reverse())]
    assert found.strata == turned.strata
    assert (found.values == turned.values).all()
    assert compare(found, rounds=20, replicates=20) == compare(turned, rounds=20, replicates=20)


def test_subjects_that_are_all_equal_have_no_ranking_to_be_stable():
    [table] = score_tables(frame(scores({"a": [0.5] * 4, "b": [0.5] * 4})), "s_rect")
    found = compare(table)
    assert found.stability is None
    assert [each.rank for each in found.standings] == [1, 1]


def test_two_versions_of_a_judge_are_never_mixed():
    rows = frame([*scores({"a": [1.0, 0.0]}), *scores({"b": [1.0, 0.0]}, version="2")])
    with pytest.raises(InputError, match="two versions"):
        score_tables(rows, "s_rect")


def test_a_dimension_that_nobody_scored_names_those_there_are():
    with pytest.raises(InputError, match="allowed: s_rect"):
        score_tables(frame(scores({"a": [1.0, 0.0], "b": [1.0, 0.0]})), "beauty")
    with pytest.raises(InputError, match="1 models"):
        score_tables(frame(scores({"a": [1.0, 0.0]})), "s_rect")


def test_ranks_share_the_better_place():
    assert competition_ranks({"a": 1.0, "b": 2.0, "c": 2.0, "d": 0.0}) == {"a": 3, "b": 1, "c": 1, "d": 4}


# ----------------------------------------------------------------------------------------------------------- the command


@pytest.fixture
def store(tmp_path: Path) -> Path:
    values = drawn(2, items=40)
    rows = [*scores(values), *scores({name: [v + 1 for v in row] for name, row in values.items()}, judge="other")]
    opened = ResultStore.open(tmp_path / "results")
    for run in sorted({row.run_id for row in rows}):
        table = pl.DataFrame([row.model_dump() for row in rows if row.run_id == run], infer_schema_length=None)
        opened.append("scores", table, run_id=run)
    return tmp_path / "results"


def salon(*words):
    return CliRunner().invoke(main, ["results", "reliability", *map(str, words)])


def test_the_command_prints_differences_and_stability_for_each_judge(store):
    runs = [f"run-{name}-{judge}" for name in ("good", "fair", "like") for judge in ("judge", "other")]
    how = ["--dimension", "s_rect", "--store", store, "--rounds", 20, "--replicates", 100]
    shown = salon(*runs, *how)
    assert shown.exit_code == 0, shown.output
    for words in ("paired bootstrap, 100 replicates", "Rank stability: 20"):
        assert shown.stdout.count(words) == 2
    document = json.loads(salon(*runs, *how, "--format", "json").stdout)
    assert [each["judge"] for each in document["judges"]] == ["judge", "other"]
    assert document["judges"][0]["standings"][0]["model"] == "good"


def test_a_wrong_run_size_or_dimension_is_a_typed_error(store):
    good = ["run-good-judge", "run-fair-judge", "--store", store]
    for words, said in (
        (["no-such-run", *good[1:], "--dimension", "s_rect"], "no scores"),
        ([*good, "--dimension", "beauty"], "no scores of this dimension"),
        ([*good, "--dimension", "s_rect", "--sizes", "ten"], "whole numbers"),
        ([*good, "--dimension", "s_rect", "--sizes", "4000"], "4000"),
    ):
        shown = salon(*words)
        assert (shown.exit_code, said in shown.output) == (2, True), shown.output
