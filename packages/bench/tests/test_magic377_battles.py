"""Battles by a judge: both orders, what contradictions come to, which rows follow, and how a preferred side shows."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites import Suite, dry_run, suite_named
from salon_bench.suites.contract.suite import SuitePrompt
from salon_bench.suites.magic_bench_377 import (
    MagicBench377Battles,
    OrderRule,
    Pair,
    battles,
    battles_each,
    battles_strict,
    combined,
    draft,
    read_prompts,
    save_draft,
)
from salon_judges.formats.generations import Generated, Generations
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Battle, Prompt, Score, Winner
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Scored, Unscored

NOWHERE = Path("nowhere")
RULES = {OrderRule.TIE: battles, OrderRule.UNSCORED: battles_strict, OrderRule.EACH: battles_each}
EVERY = st.sampled_from(list(Winner))


def prompts(count=1, **facts):
    return [
        SuitePrompt(Prompt(prompt_id=f"p{n}", suite="s", text=f"text {n}", scenario="Art"), {"test_points": [], **facts})
        for n in range(count)
    ]


def pictures(samples, count=1):
    """Pictures of each model for each prompt: model → how many."""
    return Generations(
        Generated(f"p{n}", model, sample, NOWHERE / "x.png", NOWHERE)
        for model, number in samples.items()
        for n in range(count)
        for sample in range(number)
    )


def the_case(suite=battles):
    [case] = suite.cases(prompts(), pictures({"x": 1, "y": 1}))
    return case


def verdict(word):
    return json.dumps({"reason": "seen", "verdict": word})


def played(first, second, suite=battles):
    """The rows when the two showings came to this: "x", "y", "both good", "both bad", or a whole reply."""
    left = _x_stands_left_first(suite)
    return dry_run(suite, the_case(suite), [_reply(first, x_is_left=left), _reply(second, x_is_left=not left)]).records


def _reply(what, *, x_is_left):
    if what in ("x", "y"):
        return verdict("left" if (what == "x") == x_is_left else "right")
    return verdict(what) if what in ("both good", "both bad") else what


def _x_stands_left_first(suite):
    rows = dry_run(suite, the_case(suite), [verdict("left"), verdict("right")]).records
    return next(row for row in rows if isinstance(row, Battle)).winner == Winner.MODEL_A


def battle_rows(rows):
    return [row for row in rows if isinstance(row, Battle)]


def values(rows, model="x"):
    mine = [row for row in rows if isinstance(row, Score) and row.subject_model == model]
    return {row.dimension: row.unscored_reason or row.value for row in mine}


@for_each("reply", HOSTILE_REPLIES)
@pytest.mark.parametrize("suite", RULES.values(), ids=[str(rule) for rule in RULES])
def test_a_hostile_judge_decides_no_battle(suite, reply):
    rows = dry_run(suite, the_case(suite), [reply, reply]).records
    assert battle_rows(rows) == []
    assert len(rows) == 6
    assert all(row.value is None for row in rows)


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ("x", "x", Winner.MODEL_A),
        ("y", "y", Winner.MODEL_B),
        ("both good", "both good", Winner.BOTH_GOOD),
        ("both bad", "both bad", Winner.BOTH_BAD),
        ("both good", "both bad", Winner.TIE),
        ("x", "y", Winner.TIE),
        ("x", "both good", Winner.TIE),
    ],
)
def test_two_showings_make_one_battle(first, second, winner):
    rows = played(first, second)
    [battle] = battle_rows(rows)
    assert (battle.model_a, battle.model_b, battle.winner, battle.mode) == ("x", "y", winner, "judge")
    assert (battle.scenario, battle.weight, battle.side_a_shown) == ("Art", 1.0, None)
    reward = {Winner.MODEL_A: 1.0, Winner.MODEL_B: 0.0}.get(winner, 0.5)
    assert values(rows)["win"] == reward
    assert values(rows, "y")["win"] == 1.0 - reward


def test_the_strict_rule_decides_nothing_where_orders_contradict_each_other():
    for first, second in (("x", "y"), ("x", "both good"), ("both bad", "y")):
        rows = played(first, second, battles_strict)
        assert battle_rows(rows) == []
        assert values(rows)["win"] == values(rows, "y")["win"] == "abstained"
    assert battle_rows(played("both good", "both bad", battles_strict))[0].winner == Winner.TIE
    assert battle_rows(played("x", "x", battles_strict))[0].winner == Winner.MODEL_A


def test_each_showing_can_be_a_battle_of_half_the_weight_with_its_side():
    rows = played("x", "y", battles_each)
    found = battle_rows(rows)
    assert [(row.winner, row.weight) for row in found] == [(Winner.MODEL_A, 0.5), (Winner.MODEL_B, 0.5)]
    assert {row.side_a_shown for row in found} == {"left", "right"}
    assert len({row.battle_id for row in found}) == 2
    assert values(rows)["win"] == 0.5


def test_one_lost_showing_leaves_no_battle_but_the_other_showing_counts_where_each_does():
    outage = "no verdict here"
    for suite in (battles, battles_strict):
        rows = played("x", outage, suite)
        assert battle_rows(rows) == []
        assert values(rows)["win"] == values(rows)["second"] == "malformed"
        assert values(rows)["first"] in (0.0, 1.0)
    rows = played(outage, "y", battles_each)
    assert [row.winner for row in battle_rows(rows)] == [Winner.MODEL_B]
    assert values(rows)["win"] == "malformed"


def test_the_second_showing_exchanges_the_pictures_and_nothing_else():
    case = replace(the_case(), media=(Media.from_bytes(b"x"), Media.from_bytes(b"y")), generation_ids=("gx", "gy"))
    found = dry_run(battles, case, [verdict("left"), verdict("right")])
    first, second = (each.question for each in found.inquiries)
    assert first.media == tuple(reversed(second.media)) != second.media
    x_is_left = first.media[0].data == b"x"
    [battle] = battle_rows(found.records)
    assert battle.winner == (Winner.MODEL_A if x_is_left else Winner.MODEL_B)
    assert (battle.generation_a, battle.generation_b) == ("gx", "gy")
    assert {row.generation_id for row in found.records if isinstance(row, Score) and row.subject_model == "y"} == {"gy"}
    assert [part for part in first.parts if isinstance(part, str)] == [part for part in second.parts if isinstance(part, str)]


def test_models_whose_names_end_like_samples_stay_apart():
    rows = rows_of([(1.0, 0.0), (0.0, 1.0)])
    rows = rows.with_columns(
        task=pl.when(pl.col("prompt_id") == "p0").then(pl.lit("against y #0")).otherwise(pl.lit("against y #3 #0"))
    )
    groups = battles.aggregate(rows, rows).table.filter(pl.col("metric") == "win rate")["group"]
    assert groups.to_list() == [None, "y", "y #3"]


def test_which_model_is_shown_left_first_is_drawn_by_lot_from_the_pair():
    cases = list(battles.cases(prompts(400), pictures({"x": 1, "y": 1}, 400)))
    won = [dry_run(battles, case, [verdict("left"), verdict("right")]).records for case in cases]
    left = sum(battle_rows(rows)[0].winner == Winner.MODEL_A for rows in won)
    assert 150 < left < 250


@given(EVERY, EVERY, st.sampled_from(list(OrderRule)))
def test_the_order_of_the_showings_does_not_matter(first, second, rule):
    assert combined(first, second, rule) == combined(second, first, rule)
    if first == second:
        assert combined(first, second, rule) == Scored(first)


def test_all_pairs_meet_sample_by_sample_whoever_is_named_first():
    def names(order):
        found = battles.cases(prompts(), pictures(order))
        return {(case.case_id, tuple((each.model, each.sample) for each in case.pictures)) for case in found}

    expected = {(("x", 0), ("y", 0)), (("x", 1), ("y", 1)), (("x", 0), ("z", 0)), (("y", 0), ("z", 0))}
    assert {pair for _, pair in names({"x": 2, "y": 3, "z": 1})} == expected
    assert names({"z": 1, "y": 3, "x": 2}) == names({"x": 2, "y": 3, "z": 1})


def test_a_missing_picture_leaves_the_battle_without_a_verdict():
    cases = list(battles.cases(prompts(2), Generations([*_files("p0", "x", "y"), *_files("p1", "x")])))
    assert [case.problem is not None for case in cases] == [False, True]
    rows = dry_run(battles, cases[1], [verdict("left")] * 2).records
    assert cases[1].problem.reason is Reason.BAD_MEDIA
    assert set(values(rows).values()) == set(values(rows, "y").values()) == {"bad_media"}


def _files(prompt_id, *models):
    return [Generated(prompt_id, model, 0, NOWHERE / "x.png", NOWHERE) for model in models]


def test_listed_battles_are_judged_once_each_and_those_of_absent_models_are_not():
    listed = [["y", 1, "x", 0], ["x", 0, "y", 1], ["x", 0, "absent", 0]]
    [case] = battles.cases(prompts(battles=listed), pictures({"x": 1, "y": 2}))
    assert [(each.model, each.sample) for each in case.pictures] == [("x", 0), ("y", 1)]
    rows = [row for row in dry_run(battles, case, [verdict("left")] * 2).records if isinstance(row, Score)]
    assert {row.task for row in rows} == {"against y #1", "against x #0"}


def test_a_comparison_needs_two_models_that_meet():
    with pytest.raises(InputError, match="two models or more"):
        battles.cases(prompts(), pictures({"x": 1}))
    with pytest.raises(InputError, match="no battle between"):
        battles.cases(prompts(battles=[["a", 0, "b", 0]]), pictures({"x": 1, "y": 1}))
    with pytest.raises(InputError, match="unknown rule"):
        MagicBench377Battles("coin")


def test_every_row_of_a_run_has_a_key_of_its_own():
    found = pictures({"x": 2, "y": 3, "z": 3}, 3)
    listed = [["x", 0, "y", 0], ["x", 0, "y", 1], ["x", 1, "y", 0], ["y", 2, "z", 2]]
    for items in (prompts(3), prompts(3, battles=listed)):
        cases = battles.cases(items, found)
        rows = [row for case in cases for row in dry_run(battles, case, [verdict("left"), Unscored(Reason.TIMEOUT)]).records]
        keys = {(row.task, row.subject_model, row.prompt_id, row.generation_id, row.dimension) for row in rows}
        assert len(keys) == len(rows) > 0


def test_the_three_suites_are_installed_with_versions_of_their_own():
    for suite in RULES.values():
        assert isinstance(suite, Suite)
        assert suite_named(suite.name) is suite
    assert len({suite.version for suite in RULES.values()}) == 3


# ------------------------------------------------------------------------------------------------------------- summaries


def rows_of(outcomes):
    """Rows of battles of x against y, one prompt each; an outcome is what the left picture got in the two showings."""
    rows = []
    for n, (first, second) in enumerate(outcomes):
        scored = first is not None and second is not None
        won = (first + 1.0 - second) / 2.0 if scored else None
        for dimension, value in (("win", won), ("first", first), ("second", second)):
            rows.append(
                {"task": "against y #0", "prompt_id": f"p{n}", "generation_id": None, "dimension": dimension, "value": value}
            )
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64, "generation_id": pl.String}).with_columns(
        unscored_reason=pl.when(pl.col("value").is_null()).then(pl.lit("timeout"))
    )


def test_the_summary_has_win_rates_agreement_and_the_preferred_side():
    wins, losses = [(1.0, 0.0)] * 6, [(0.0, 1.0)] * 2
    lefts, lost = [(1.0, 1.0)] * 2, [(None, 1.0)]
    summary = battles.aggregate(rows_of(wins + losses + lefts + lost), pl.DataFrame())
    table = {(row["metric"], row["group"]): row for row in summary.table.to_dicts()}
    whole = table["win rate", None]
    assert (whole["value"], whole["scored"], whole["unscored"]) == (0.7, 10, 1)
    assert whole["ci_low"] < 0.7 < whole["ci_high"]
    assert table["win rate", "y"] == {**whole, "group": "y"}
    agree = table["orders agree", None]
    assert (agree["value"], agree["scored"], agree["unscored"]) == (0.8, 10, 1)
    left = table["left wins", None]
    assert (left["value"], left["scored"], left["unscored"]) == (13 / 21, 21, 1)
    assert any("2 pairs lean to the left" in note and "p 0.5" in note for note in summary.notes)
    assert any("2 timeout" in note for note in summary.notes)


def test_a_judge_that_always_prefers_the_left_is_found_out_and_decides_nothing():
    summary = battles.aggregate(rows_of([(1.0, 1.0)] * 20), pl.DataFrame())
    table = {(row["metric"], row["group"]): row["value"] for row in summary.table.to_dicts()}
    assert table == {("win rate", None): 0.5, ("win rate", "y"): 0.5, ("orders agree", None): 0.0, ("left wins", None): 1.0}
    assert "20 pairs lean to the left, whichever picture it is, 0 to the right; exact binomial p 1.91e-06." in summary.notes[1]


def test_the_summary_is_the_same_whatever_the_order_of_the_rows():
    rows = rows_of([(1.0, 0.0), (0.0, 0.5), (0.5, 0.5), (None, 1.0), (0.0, 1.0)])
    assert battles.aggregate(rows, rows).table.equals(battles.aggregate(rows.reverse(), rows).table)


def test_a_summary_of_nothing_has_no_values():
    for rows in (rows_of([(None, None)]), rows_of([(None, None)]).clear()):
        table = battles.aggregate(rows, rows).table
        assert table["value"].null_count() == table.height


# --------------------------------------------------------------------------------------------------------------- drafts


@pytest.fixture
def prompt_list(tmp_path):
    lines = [{"prompt_id": f"p{n}", "prompt": f"text {n}", "labels": ["Text"], "scenario": "Art"} for n in range(6)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_prompts(tmp_path / "p.jsonl")


def test_a_draft_is_read_back_as_the_battles_that_were_drawn(tmp_path, prompt_list):
    found = pictures({"x": 2, "y": 2, "z": 2}, 6)
    drawn = draft(prompt_list, found, 40, seed=3)
    assert drawn.count + drawn.repeats == 40
    save_draft(prompt_list, drawn, tmp_path / "drawn.jsonl")
    again = read_prompts(tmp_path / "drawn.jsonl")
    assert [item.prompt for item in again] == [item.prompt for item in prompt_list]
    cases = list(battles.cases(again, found))
    met = {}
    for case in cases:
        met.setdefault(case.prompt.prompt_id, []).append(
            Pair(*(part for each in case.pictures for part in (each.model, each.sample)))
        )
    assert met == drawn.pairs
    assert draft(prompt_list, found, 40, seed=3) == drawn
    assert draft(prompt_list, found, 40, seed=4) != drawn


def test_a_draft_without_a_partner_is_refused(tmp_path, prompt_list):
    with pytest.raises(InputError, match="no picture belongs"):
        draft(prompt_list, Generations([*_files("other", "x", "y")]), 3)
    with pytest.raises(SalonError, match="no two models"):
        draft(prompt_list, Generations([*_files("p0", "x"), *_files("p1", "y")]), 3)
    with pytest.raises(SalonError, match="2 to"):
        draft(prompt_list, pictures({"x": 1}, 6), 3)
    with pytest.raises(InputError, match="JSON Lines"):
        save_draft(prompt_list, draft(prompt_list, pictures({"x": 1, "y": 1}, 6), 3), tmp_path / "drawn.csv")
    with pytest.raises(InputError, match="cannot be written"):
        save_draft(prompt_list, draft(prompt_list, pictures({"x": 1, "y": 1}, 6), 3), tmp_path / "none" / "drawn.jsonl")
