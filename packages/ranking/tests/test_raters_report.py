"""Who is flagged, by which check, and in which words: arenas with planted faults, and hand-made cases."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_console import main
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.raters import RaterPolicy, RaterReason, RaterReport, Votes, check_raters, exclude_flagged
from salon_ranking.raters.rater_report import to_csv, to_json
from salon_taxonomy.records import Winner
from studies.raters import SimulatedRaters

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def answers(rater: str, winners: list[str], **columns: object) -> pl.DataFrame:
    """Battles of one rater between x and y; a column's single value holds for all."""
    frame = pl.DataFrame({"winner": winners}).with_columns(rater_id=pl.lit(rater), model_a=pl.lit("x"), model_b=pl.lit("y"))
    for name, value in columns.items():
        column = pl.Series(value) if isinstance(value, list) else pl.lit(value)
        frame = frame.with_columns(column.alias(name))
    return frame


def timed(rater: str, seconds: float, count: int = 10) -> pl.DataFrame:
    ends = [BEGIN + timedelta(minutes=n, seconds=seconds) for n in range(count)]
    starts = [BEGIN + timedelta(minutes=n) for n in range(count)]
    return answers(rater, ["model_a"] * count, started_at=starts, answered_at=ends, mode="public")


def line(report: RaterReport, rater: str) -> dict:
    return report.table.filter(pl.col("rater_id") == rater).row(0, named=True)


@pytest.fixture(scope="module")
def arena() -> pl.DataFrame:
    return SimulatedRaters(models=6, attentive=20, careless=3, votes=150, prompts=10).battles()


@pytest.fixture(scope="module")
def report(arena: pl.DataFrame) -> RaterReport:
    return check_raters(arena)


def test_every_planted_careless_rater_is_flagged_and_no_attentive_one(report: RaterReport):
    assert {name.split("-")[0] for name in report.flagged} == {"random", "left", "fast"}
    assert len(report.flagged) == 9


def test_each_kind_is_flagged_for_its_own_reason(report: RaterReport):
    kinds: dict[str, set[str]] = {}
    for rater, reason in report.findings.select("rater_id", "reason").iter_rows():
        kinds.setdefault(rater.split("-")[0], set()).add(reason)
    assert {"one_sided", "repeated_option"} <= kinds["left"]
    assert "too_fast" in kinds["fast"]
    assert "too_fast" not in kinds["random"] | kinds["left"]
    assert {"missed_anchors", "against_consensus"} & kinds["random"]


def test_flagged_raters_come_first_and_every_flag_has_a_reason_in_words(report: RaterReport):
    assert report.table["flagged"].to_list() == sorted(report.table["flagged"].to_list(), reverse=True)
    for row in report.table.iter_rows(named=True):
        assert row["flagged"] == bool(row["reasons"]) == bool(row["explanation"])
    assert report.findings["explanation"].null_count() == 0


def test_the_order_of_the_rows_does_not_matter_when_times_are_known(arena: pl.DataFrame, report: RaterReport):
    shuffled = check_raters(arena.sample(fraction=1.0, shuffle=True, seed=1))
    assert shuffled.table.equals(report.table)


def test_text_columns_of_a_csv_file_give_the_same_report(arena: pl.DataFrame, report: RaterReport, tmp_path: Path):
    arena.write_csv(tmp_path / "votes.csv")
    arena.write_ndjson(tmp_path / "votes.jsonl")
    for name in ("votes.csv", "votes.jsonl"):
        assert check_raters(Votes.read(tmp_path / name)).table.equals(report.table)


def test_anchors_flag_only_when_the_whole_interval_is_below():
    expected = {"expected_winner": "model_a", "is_anchor": True}
    battles = pl.concat(
        [
            answers("all", ["model_a"] * 10, **expected),
            answers("half", ["model_a"] * 5 + ["tie"] * 5, **expected),
            answers("three", ["model_b"] * 3 + ["model_a"] * 7, **expected),
            answers("two anchors", ["model_b"] * 2, **expected),
        ]
    )
    found = check_raters(battles, RaterPolicy(checks=(RaterReason.MISSED_ANCHORS,)))
    flags = dict(found.table.select("rater_id", "missed_anchors").iter_rows())
    # Wilson's upper end for 5 of 10 is 0.763, for 7 of 10 it is 0.892; two anchors decide nothing.
    assert flags == {"all": False, "half": False, "three": False, "two anchors": None}
    strict = check_raters(battles, RaterPolicy(checks=(RaterReason.MISSED_ANCHORS,), anchor_share=0.77))
    assert strict.flagged == ("half",)
    assert strict.findings["explanation"][0] == "5 of 10 anchors as expected (50%, at most 76%; wanted 77%)"


def test_an_expected_tie_is_met_by_every_kind_of_tie_and_an_expected_kind_by_itself_alone():
    kinds = ["both_good", "both_bad", "tie"]
    battles = pl.concat([answers("any", kinds, expected_winner="tie"), answers("one", kinds, expected_winner="both_good")])
    found = check_raters(battles).table
    assert dict(found.select("rater_id", "anchors_met").iter_rows()) == {"any": 3, "one": 1}


def test_three_deviations_below_the_cohort_is_too_fast():
    others = [timed(f"r{n}", seconds) for n, seconds in enumerate([8, 9, 10, 10, 11, 12, 13, 14])]
    found = check_raters(pl.concat([*others, timed("quick", 1.0)]))
    assert found.flagged == ("quick",)
    assert line(found, "quick")["typical_seconds"] == pytest.approx(1.0)
    assert line(found, "quick")["cohort_seconds"] == pytest.approx(10.0)
    assert "typically 1.0 s where the public cohort takes 10.0 s" in line(found, "quick")["explanation"]


def test_many_bots_do_not_make_themselves_the_norm_but_do_under_the_classic_rule():
    people = [timed(f"r{n}", 8 + n % 5) for n in range(20)]
    bots = [timed(f"bot{n}", 0.5) for n in range(8)]
    robust = check_raters(pl.concat(people + bots))
    classic = check_raters(pl.concat(people + bots), RaterPolicy(speed_scale="classic"))
    assert len(robust.flagged) == 8
    assert classic.flagged == ()


def test_a_small_cohort_decides_nothing_and_modes_are_cohorts_of_their_own():
    seven = check_raters(pl.concat([timed(f"r{n}", 10) for n in range(6)] + [timed("quick", 0.2)]))
    assert seven.flagged == ()
    assert line(seven, "quick")["too_fast"] is None
    machines = [timed(f"m{n}", 0.3).with_columns(mode=pl.lit("judge")) for n in range(9)]
    both = check_raters(pl.concat([timed(f"r{n}", 9 + n % 3) for n in range(30)] + machines))
    assert both.flagged == ()


def test_a_cohort_like_clockwork_flags_nobody_over_a_second():
    steady = [timed(f"r{n}", 10) for n in range(9)]
    assert check_raters(pl.concat([*steady, timed("bit faster", 8)])).flagged == ()
    assert check_raters(pl.concat([*steady, timed("bot", 0.0)])).flagged == ("bot",)


def test_a_run_is_of_the_option_on_the_screen_and_not_of_the_model():
    alternating = ["left", "right"] * 15
    screen = answers("screen", ["model_a", "model_b"] * 15, side_a_shown=alternating)
    model = answers("model", ["model_a"] * 30, side_a_shown=alternating)
    found = check_raters(pl.concat([screen, model]))
    assert (line(found, "screen")["repeated_option_value"], line(found, "screen")["run_option"]) == (30, "left")
    assert line(found, "model")["repeated_option_value"] == 1
    assert found.flagged == ("screen",)


@pytest.mark.parametrize("winners", [["model_a"] * 47, ["model_a"] * 47 + ["tie"] * 3, ["tie"] * 3])
def test_a_check_that_reads_sides_is_named_where_decisive_answers_have_none(winners):
    votes = pl.concat([answers("one", winners), answers("other", ["model_b", *winners])])
    reasons = dict(check_raters(votes).not_checked)
    for check in (RaterReason.ONE_SIDED, RaterReason.REPEATED_OPTION):
        assert "no column side_a_shown" in reasons[check], check
    assert "add it with left in every row" in reasons[RaterReason.ONE_SIDED]
    sided = dict(check_raters(votes.with_columns(side_a_shown=pl.lit("left"))).not_checked)
    assert not {RaterReason.ONE_SIDED, RaterReason.REPEATED_OPTION} & sided.keys()


def test_a_decisive_answer_without_a_side_ends_a_run_and_ties_need_no_side():
    winners = ["tie"] * 12 + ["model_a"] + ["tie"] * 15
    found = check_raters(answers("r", winners))
    assert line(found, "r")["repeated_option_value"] == 15


def test_without_a_fixed_length_the_share_of_the_option_decides():
    policy = RaterPolicy(run_length=None)
    ties = [answers(f"t{n}", ["tie"] * 9 + ["both_good"], side_a_shown="left") for n in range(10)]
    often = pl.concat([*ties, answers("r", ["tie"] * 20 + ["both_bad"] * 20, side_a_shown="left")])
    found = check_raters(often, policy)
    assert line(found, "r")["run_option"] == "both_bad"
    assert line(found, "r")["repeated_option_threshold"] == 4  # nobody else says so, which counts as 1%: 40·0.01⁴ < 1e-6
    assert "r" in found.flagged
    assert line(found, "t0")["repeated_option"] is False


def test_a_side_needs_both_significance_and_size():
    sides = ["left", "right"] * 1000
    leaning = ["model_a"] * 9 + ["model_b"]  # left, right, left, …, and left once more
    slight = answers("slight", leaning * 200, side_a_shown=sides)
    found = check_raters(pl.concat([slight, answers("few", ["model_a"] * 6, side_a_shown="left")]))
    assert line(found, "slight")["side_p"] < 1e-9
    assert line(found, "slight")["left_share"] == pytest.approx(0.6)
    assert line(found, "few")["left_share"] == 1.0
    assert found.flagged == ()


def test_the_majority_is_that_of_the_others():
    things = [f"p{n}" for n in range(30)]
    winners = ["model_a"] * 20 + ["tie"] * 10
    contrary = ["model_b"] * 20 + ["model_a"] * 10
    frames = [answers(name, winners, prompt_id=things) for name in ("a", "b", "c")]
    found = check_raters(pl.concat([*frames, answers("contrary", contrary, prompt_id=things)]))
    assert found.flagged == ("contrary",)
    assert line(found, "contrary")["against_consensus_value"] == 0.0
    assert line(found, "a")["against_consensus_value"] == 1.0
    assert line(found, "a")["shared"] == 30


def test_swapping_a_and_b_changes_no_consensus():
    things = [f"p{n}" for n in range(30)]
    frames = [answers(name, ["model_a"] * 15 + ["model_b"] * 15, prompt_id=things) for name in "abc"]
    swap = {"model_a": "model_b", "model_b": "model_a"}
    swapped = frames[2].with_columns(pl.col("winner").replace(swap), model_a=pl.lit("y"), model_b=pl.lit("x"))
    found = check_raters(pl.concat([*frames[:2], swapped.select(frames[0].columns)]))
    assert found.table["against_consensus_value"].to_list() == [1.0, 1.0, 1.0]


def test_different_pictures_of_the_same_pair_are_different_things():
    made = {rater: [f"{rater}{n}" for n in range(25)] for rater in "abc"}
    alike = {"prompt_id": "p", "generation_b": "g"}
    frames = [answers(rater, ["model_a"] * 25, generation_a=pictures, **alike) for rater, pictures in made.items()]
    found = check_raters(pl.concat(frames))
    assert dict(found.not_checked)[RaterReason.AGAINST_CONSENSUS].startswith("no pair of pictures")


@pytest.mark.parametrize("blank", ["", " "])
def test_answers_about_blank_prompts_are_not_about_one_prompt(blank: str):
    winners = {"ann": "model_a", "bob": "model_a", "eve": "model_b"}
    rows = pl.concat([answers(name, [winner] * 40) for name, winner in winners.items()])
    unknown = check_raters(rows.with_columns(prompt_id=pl.lit(None, dtype=pl.String)))
    found = check_raters(rows.with_columns(prompt_id=pl.lit(blank)))
    assert (found.flagged, found.not_checked) == (unknown.flagged, unknown.not_checked)


def test_the_model_is_the_other_consensus(arena: pl.DataFrame):
    found = check_raters(arena, RaterPolicy(consensus="model", checks=(RaterReason.AGAINST_CONSENSUS,)))
    assert found.flagged != ()
    assert not any(name.startswith("attentive") for name in found.flagged)
    assert "favourite by the ratings" in found.findings["explanation"][0]


def test_what_cannot_be_checked_is_said(arena: pl.DataFrame):
    bare = arena.select("rater_id", "model_a", "model_b", "winner")
    found = check_raters(bare)
    reasons = dict(found.not_checked)
    assert set(reasons) == {"missed_anchors", "too_fast", "one_sided", "repeated_option", "against_consensus"}
    assert reasons[RaterReason.TOO_FAST] == "no column started_at or answered_at"
    assert "not checked: missed_anchors (no column expected_winner)" in found.header
    assert set(found.table.columns) == set(check_raters(arena).table.columns)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("winner", "left", "row 1, column 'winner': unknown winner 'left'"),
        ("rater_id", None, "row 1, column 'rater_id': no rater"),
        ("rater_id", " ", "no rater"),
        ("model_b", "x", "a model against itself"),
        ("side_a_shown", "top", r"unknown value 'top' \(allowed: left, right\)"),
        ("mode", "robot", "unknown value 'robot'"),
        ("expected_winner", "A", "unknown value 'A'"),
        ("is_anchor", "perhaps", "cannot be read: 'perhaps'"),
        ("started_at", "yesterday", "cannot be read: 'yesterday'"),
        ("started_at", "2026-01-01T00:00:09Z", "answered before it was started"),
        ("started_at", 5, "must hold times"),
        ("is_anchor", 0.5, "must hold truth values"),
        ("rater_id", [1], "must hold text"),
    ],
)
def test_a_wrong_row_is_named(column: str, value: object, message: str):
    good = {"side_a_shown": "left", "started_at": "2026-01-01 00:00:01", "answered_at": "2026-01-01T00:00:02.5+00:00"}
    row = {"rater_id": "r", "model_a": "x", "model_b": "y", "winner": "tie", **good}
    assert check_raters(pl.DataFrame([row])).battles == 1
    with pytest.raises(BattleError, match=message):
        check_raters(pl.DataFrame([{**row, column: value}], strict=False))


def test_times_of_other_zones_and_anchors_as_numbers_are_understood(arena: pl.DataFrame, report: RaterReport):
    berlin = pl.col("started_at", "answered_at").dt.convert_time_zone("Europe/Berlin")
    found = check_raters(arena.with_columns(berlin, pl.col("is_anchor").cast(pl.Int8)))
    assert found.table.equals(report.table)
    naive = check_raters(arena.with_columns(pl.col("started_at", "answered_at").dt.replace_time_zone(None)))
    assert naive.table.equals(report.table)


def test_no_battles_and_no_raters_are_refused():
    empty = answers("r", ["tie"]).clear()
    with pytest.raises(BattleError, match="there are no battles"):
        check_raters(empty)
    with pytest.raises(BattleError, match="missing column 'rater_id'"):
        check_raters(answers("r", ["tie"]).drop("rater_id"))


names = st.text(min_size=1, max_size=5).filter(lambda text: text.strip() != "")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(names, st.sampled_from(list(Winner)), st.sampled_from(["left", "right", None]), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_any_names_and_answers_make_a_report_that_can_be_written(rows):
    columns = ["rater_id", "winner", "side_a_shown", "is_anchor"]
    same = {"model_a": "x", "model_b": "y", "expected_winner": "tie", "prompt_id": "p"}
    times = {name: pl.lit(BEGIN) for name in ("started_at", "answered_at")}
    frame = pl.DataFrame([(name, str(winner), *rest) for name, winner, *rest in rows], schema=columns, orient="row")
    frame = frame.with_columns(pl.col("side_a_shown").cast(pl.String), **{k: pl.lit(v) for k, v in same.items()}, **times)
    for policy in (RaterPolicy(), RaterPolicy(consensus="model", run_length=None)):
        found = check_raters(frame, policy)
        assert found.table["battles"].sum() == len(rows)
        assert json.loads(to_json(found))["battles"] == len(rows)
        assert to_csv(found).count("flagged") >= 1


@pytest.mark.parametrize(
    "options",
    [
        {"anchor_share": 1.5},
        {"confidence": 1.0},
        {"speed_sigmas": 0.0},
        {"speed_sigmas": float("nan")},
        {"run_length": 1},
        {"consensus": "mood"},
        {"speed_scale": "warp"},
        {"speed_cohort": 0},
        {"checks": ("charm",)},
    ],
)
def test_a_policy_out_of_range_is_refused(options):
    with pytest.raises(OptionError):
        RaterPolicy(**options)


def test_a_run_of_two_dozen_is_too_long_unless_the_policy_says_otherwise():
    runs = pl.concat([answers(f"r{length}", ["tie"] * length) for length in (2, 3, 23, 24, 25)])
    assert check_raters(runs).flagged == ("r24", "r25")
    assert check_raters(runs, RaterPolicy(run_length=2)).flagged == ("r2", "r23", "r24", "r25", "r3")
    assert check_raters(runs, RaterPolicy(run_length=3)).flagged == ("r23", "r24", "r25", "r3")


def test_of_runs_of_one_length_the_earliest_is_told():
    sides = ["model_a"] * 5 + ["model_b"] * 5
    turned = [answers(f"r{n}", sides if n % 2 else sides[::-1], side_a_shown="left") for n in range(40)]
    found = check_raters(pl.concat(turned))
    for n in range(40):
        assert line(found, f"r{n}")["run_option"] == ("left" if n % 2 else "right")


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(0, 30), st.integers(0, 30))
def test_a_run_is_too_long_where_the_answers_of_others_make_it_less_likely_than_the_policy_says(own, lefts, rights):
    others = answers("others", ["model_a"] * lefts + ["model_b"] * rights, side_a_shown="left")
    found = check_raters(
        pl.concat([answers("r", ["model_a"] * own, side_a_shown="left"), others]), RaterPolicy(run_length=None)
    )
    share = min(0.95, max(0.01, lefts / (lefts + rights))) if lefts + rights else 0.5
    longest = next(length for length in range(2, 2000) if own * share**length < 1e-6 * (1 + 1e-9))
    assert line(found, "r")["repeated_option_threshold"] == longest
    assert line(found, "r")["repeated_option"] == (own >= longest)


def test_a_side_is_told_with_its_share_and_lines_stand_by_name_below_those_that_are_flagged():
    leaning = ["model_a"] * 75 + ["model_b"] * 25
    sides = {"b": "left", "a": "right", "d": "left", "c": "right"}
    battles = [answers(name, leaning, side_a_shown=side) for name, side in sides.items()]
    even = [answers(name, ["model_a", "model_b"] * 6, side_a_shown="left") for name in ("f", "e", "g")]
    found = check_raters(pl.concat([*battles, *even]), RaterPolicy(run_length=None, checks=(RaterReason.ONE_SIDED,)))
    assert found.table["rater_id"].to_list() == list("abcdefg")
    for name, side in sides.items():
        assert line(found, name)["explanation"].startswith(f"{side} in 75% of 100 decisive answers")


def test_a_rater_of_the_usual_agreement_is_at_the_threshold_where_the_usual_is_wanted(arena: pl.DataFrame):
    policy = RaterPolicy(consensus_skill=1.0, consensus_minimum=1, checks=(RaterReason.AGAINST_CONSENSUS,))
    apart = check_raters(arena, policy).table.select(
        gap=pl.col("against_consensus_value") - pl.col("against_consensus_threshold")
    )
    gaps = sorted(apart["gap"])
    assert len(gaps) == 29
    assert gaps[14] == pytest.approx(0, abs=1e-6)  # the median of the raters' kappas is that of the middle one
    assert gaps[13] < -1e-6 < 1e-6 < gaps[15]
    chance = check_raters(arena, replace(policy, consensus_skill=0.0)).table["against_consensus_threshold"]
    half = check_raters(arena, replace(policy, consensus_skill=0.5)).table["against_consensus_threshold"]
    whole = check_raters(arena, policy).table["against_consensus_threshold"]
    assert (half - (chance + whole) / 2).abs().max() < 1e-6
    usual = (whole - chance) / (1 - chance)  # one kappa for all
    assert usual.max() - usual.min() < 1e-6 and 0 < usual.max() < 1


@pytest.mark.parametrize("missing", [["winner"], ["model_b", "winner"], ["rater_id", "model_a", "winner"]])
def test_every_missing_column_is_named(missing: list[str]):
    with pytest.raises(BattleError) as caught:
        check_raters(answers("r", ["tie"]).drop(missing))
    text = str(caught.value)
    assert all(f"'{name}'" in text for name in missing)
    assert ("Missing too" in text) == (len(missing) > 1)


def test_flagged_raters_are_left_out_and_counted_by_reason(arena: pl.DataFrame, report: RaterReport):
    found = exclude_flagged(arena, report)
    kept = found.kept.collect()
    assert kept["rater_id"].n_unique() == 20
    assert found.left_out.row(0) == ("(any)", 9, 9 * 150)
    assert kept.height + 9 * 150 == arena.height
    assert set(found.left_out["reason"][1:]) == set(report.findings["reason"])
    assert found.why.columns == ["rater_id", "reason", "value", "threshold"]
    assert found.header.startswith("1,350 battles of 9 flagged raters left out (")


def test_nobody_flagged_leaves_everything(arena: pl.DataFrame):
    attentive = arena.filter(pl.col("rater_id").str.starts_with("attentive"))
    found = exclude_flagged(attentive, check_raters(attentive))
    assert found.kept.collect().equals(attentive)
    assert found.left_out.rows() == [("(any)", 0, 0)]
    assert found.header == "No rater was flagged."
    with pytest.raises(BattleError, match="missing column 'rater_id'"):
        exclude_flagged(attentive.drop("rater_id"), check_raters(attentive))


def test_reports_are_written_as_tables_json_and_a_page(arena: pl.DataFrame, report: RaterReport, tmp_path: Path):
    (tmp_path / "votes").mkdir()
    votes = tmp_path / "votes" / "votes.parquet"
    arena.write_parquet(votes)

    def written(ending: str) -> Result:
        return CliRunner().invoke(main, ["votes", "raters", str(votes), "--output", str(tmp_path / f"raters{ending}")])

    for ending in (".csv", ".parquet", ".json", ".html"):
        assert written(ending).exit_code == 0
    assert pl.read_parquet(tmp_path / "raters.parquet").equals(report.table)
    assert pl.read_csv(tmp_path / "raters.csv").height == report.table.height
    assert json.loads((tmp_path / "raters.json").read_text())["flagged"] == list(report.flagged)
    page = (tmp_path / "raters.html").read_text()
    assert "times in a row" in page
    assert "Thresholds" in page
    assert sorted(path.suffix for path in tmp_path.glob("*.*")) == [".csv", ".html", ".json", ".parquet"]
    assert "unknown kind of output" in written(".xls").stderr
