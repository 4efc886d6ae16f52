"""Audits of judges: a released benchmark's numbers, a plain loop as oracle, what must change nothing, and hostile tables."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from salon_console import main
from salon_ranking import Battles
from salon_ranking.agreement import AgreementError, audit_judges, pairs_of_votes, read_pairs
from studies.audits import held

WORDS = ["model_a", "model_b", "tie", "both_good", "both_bad"]
HUMAN = ("leftvote", "rightvote", "tievote", "bothbad_vote")
VERDICTS = ("[[A>B]]", "[[B>A]]", "[[A=B=Good]]", "[[A=B=Bad]]", None)
GPT4O = {
    "image_generation": [[397, 103, 106, 31, 6], [144, 327, 151, 37, 4], [56, 48, 46, 6, 0], [120, 96, 35, 21, 1]],
    "image_edition": [[154, 37, 6, 43, 0], [34, 209, 5, 15, 0], [8, 11, 5, 0, 0], [105, 159, 4, 124, 0]],
    "video_generation": [[190, 87, 32, 16, 0], [56, 292, 15, 12, 0], [52, 69, 15, 2, 0], [66, 132, 12, 21, 0]],
}
"""How often GPT-4o said what, by what people said (GenAI-Bench, its released results at f0b0334)."""


def table(count: int, seed: int = 0, judges: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    winner = random.choice(WORDS, count, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    frames = []
    for judge in range(judges):
        right = random.random(count) < 0.7
        verdict = np.where(right, winner, random.choice(WORDS, count))
        towards = np.where(verdict == "model_a", 0.8, np.where(verdict == "model_b", 0.2, 0.5))
        rows = {
            "battle_id": [f"b{number}" for number in range(count)],
            "prompt_id": [f"p{number // 3}" for number in range(count)],
            "winner": winner,
            "verdict": [None if lost else word for lost, word in zip(random.random(count) < 0.1, verdict, strict=True)],
            "side_a_shown": random.choice(["left", "right"], count),
            "chance": np.clip(towards + random.normal(0, 0.1, count), 0, 1),
            "kind": random.choice(["people", "scenes"], count),
            "judge": [f"judge {judge}"] * count,
        }
        frames.append(pl.DataFrame(rows))
    return pl.concat(frames)


@pytest.mark.parametrize(
    ("task", "released"), [("image_generation", 45.59), ("image_edition", 53.54), ("video_generation", 48.46)]
)
def test_genai_bench_gives_the_released_numbers(task: str, released: float, tmp_path: Path):
    """Table of genaibench_results.txt; over pairs that people decided the same verdicts give 55, 72 and 69%."""
    said = [
        {"human_vote": human, "model_vote": verdict}
        for human, row in zip(HUMAN, GPT4O[task], strict=True)
        for verdict, count in zip(VERDICTS, row, strict=True)
        for _ in range(count)
    ]
    (tmp_path / "gpt4o").mkdir()
    path = tmp_path / "gpt4o" / "pairwise.jsonl"
    path.write_text(
        "".join(json.dumps({"idx": number, "prompt": f"p{number}", **row}) + "\n" for number, row in enumerate(said))
    )
    row = audit_judges(read_pairs(path, "genai-bench")).table.row(0, named=True)
    assert row["judge"] == "gpt4o" and round(100 * row["exact"], 2) == released
    decided = sum(sum(counts) for counts in GPT4O[task][:2])
    assert row["pairs"] == len(said) and row["decided"] == pytest.approx(decided / len(said))


def test_a_reply_of_genai_bench_that_is_no_verdict_is_missing_and_a_bare_tie_is_right_for_both_kinds(tmp_path: Path):
    said = [
        ("leftvote", "[[A>>B]]"),
        ("tievote", "[[A=B]]"),
        ("bothbad_vote", "[[A=B]]"),
        ("rightvote", "[[100, 100]]"),
        ("leftvote", ""),
    ]
    path = tmp_path / "pairwise.jsonl"
    rows = [
        {"idx": number, "instruct_prompt": "x", "human_vote": human, "model_vote": vote}
        for number, (human, vote) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    row = audit_judges(read_pairs(path, "genai-bench")).table.row(0, named=True)
    assert (row["pairs"], row["missing"], row["exact"], row["accuracy"]) == (5, 2, 0.6, 1.0)


@given(st.integers(5, 60), st.integers(0, 100))
def test_numbers_are_those_of_a_plain_loop(count: int, seed: int):
    frame = table(count, seed)
    row = audit_judges(frame, chance_of_a="chance").table.row(0, named=True)
    right, exact, first, squares = [], [], [], []
    bins: dict[int, list[tuple[float, float]]] = {}
    for one in frame.iter_rows(named=True):
        people, judge, ties = one["winner"], one["verdict"], {"tie", "both_good", "both_bad"}
        if judge is not None and people not in ties:
            right.append(0.5 if judge in ties else float(judge == people))
        exact.append(judge is not None and (judge == people or ({judge, people} <= ties and "tie" in (judge, people))))
        if judge in ("model_a", "model_b"):
            first.append((judge == "model_a") == (one["side_a_shown"] == "left"))
        if people not in ties:
            squares.append((one["chance"] - (people == "model_a")) ** 2)
            bins.setdefault(min(int(one["chance"] * 10), 9), []).append((one["chance"], float(people == "model_a")))
    assert row["missing"] == frame["verdict"].null_count() and row["same_in_both_orders"] is None
    for name, values in (("accuracy", right), ("exact", exact), ("first", first), ("brier", squares)):
        assert row[name] == (pytest.approx(float(np.mean(values))) if values else None)
        assert row[f"{name}_low"] is None or 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1
    if squares:
        gaps = sum(abs(sum(p - y for p, y in pairs)) for pairs in bins.values())
        assert row["ece"] == pytest.approx(gaps / len(squares))


def test_order_and_sides_and_other_judges_change_nothing():
    frame = table(90, judges=2)
    audit = audit_judges(frame, split="kind", chance_of_a="chance")
    shuffled = audit_judges(frame.sample(fraction=1.0, shuffle=True, seed=1), split="kind", chance_of_a="chance")
    assert_frame_equal(shuffled.table, audit.table, rel_tol=1e-12)
    other = {"model_a": "model_b", "model_b": "model_a"}
    turned = frame.with_columns(
        pl.col("winner", "verdict").replace(other),
        pl.col("side_a_shown").replace({"left": "right", "right": "left"}),
        chance=1 - pl.col("chance"),
    )
    assert_frame_equal(
        audit_judges(turned, split="kind", chance_of_a="chance").table.drop("ece"), audit.table.drop("ece"), rel_tol=1e-9
    )
    alone = audit_judges(frame.filter(judge="judge 0"), split="kind", chance_of_a="chance").table
    assert_frame_equal(alone, audit.table.filter(judge="judge 0"), rel_tol=1e-12)
    assert audit.table["part"].to_list() == [None, "people", "scenes"] * 2
    assert audit.agreement["statistic"].to_list() == ["Cohen κ"]
    decided = frame.filter(pl.col("winner").is_in(["model_a", "model_b"]))
    assert audit.calibration["pairs"].sum() == decided.height


def test_both_orders_of_a_pair_say_how_steady_a_judge_is():
    rows = {"battle_id": ["x", "x", "y", "y", "z"], "winner": ["model_a"] * 5, "side_a_shown": ["left", "right"] * 2 + ["left"]}
    row = audit_judges({**rows, "verdict": ["model_a", "model_a", "model_a", "model_b", "model_a"]}).table.row(0, named=True)
    assert (row["pairs"], row["same_in_both_orders"], row["first"], row["accuracy"]) == (3, 0.5, 0.8, 0.8)


def test_wrong_pairs_come_with_the_surest_first():
    rows = {
        "battle_id": ["x", "y", "z"],
        "winner": ["model_a"] * 3,
        "verdict": ["model_b"] * 2 + ["model_a"],
        "p": [0.4, 0.1, 0.9],
    }
    assert audit_judges(rows, chance_of_a="p").wrong["battle_id"].to_list() == ["y", "x"]


def test_wrong_pairs_begin_where_most_people_agreed():
    rows = {
        "battle_id": ["few", "torn", "many", "sure", "none"],
        "winner": ["model_a"] * 5,
        "verdict": ["model_b"] * 5,
        "p": [0.2, 0.0, 0.2, 0.1, 0.0],
        "votes_a": [1, 3, 5, 5, None],
        "votes_b": [0, 2, 0, 0, None],
    }
    assert audit_judges(rows, chance_of_a="p").wrong["battle_id"].to_list() == ["sure", "many", "few", "torn", "none"]


def test_the_chance_of_a_pair_is_the_mean_of_both_orders():
    rows = {"battle_id": ["x", "x", "y"], "winner": ["model_a"] * 3, "verdict": ["model_a", "model_b", "model_a"]}
    rows |= {"side_a_shown": ["left", "right", "left"], "p": [0.9, 0.3, 0.5]}
    audit = audit_judges(rows, chance_of_a="p")
    assert audit.table["brier"][0] == pytest.approx((0.4**2 + 0.5**2) / 2)
    assert audit.calibration["pairs"].sum() == 2


def test_the_pairs_that_are_needed_shrink_the_interval_as_said():
    def drawn(count: int, seed: int) -> pl.DataFrame:
        random = np.random.default_rng(seed)
        right = {"good": random.random(count) < 0.8, "fair": random.random(count) < 0.7}
        rows = {"battle_id": np.arange(count), "winner": ["model_a"] * count}
        words = {judge: np.where(hit, "model_a", "model_b") for judge, hit in right.items()}
        return pl.concat([pl.DataFrame({**rows, "judge": judge, "verdict": said}) for judge, said in words.items()])

    audit = audit_judges(drawn(400, 0))
    [difference] = audit.differences.to_dicts()
    table = dict(audit.table.select("judge", "needed").iter_rows())
    assert difference["difference"] == pytest.approx(audit.table["accuracy"][0] - audit.table["accuracy"][1])
    row = audit_judges(drawn(table["good"], 1)).table.filter(judge="good").row(0, named=True)
    assert (row["accuracy_high"] - row["accuracy_low"]) / 2 == pytest.approx(0.05, abs=0.006)
    spread = 0.8 * 0.2 + 0.7 * 0.3
    assert difference["needed"] == pytest.approx(spread * (1.96 + 0.842) ** 2 / difference["difference"] ** 2, rel=0.15)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"verdict": ["left", None]}, "row 1.*verdict"),
        ({"winner": ["model_a", None]}, "row 2.*winner"),
        ({"winner": ["model_a", ""]}, "row 2.*winner"),
        ({"p": [0.5, 1.5]}, "row 2.*p"),
        ({"p": [0.5, float("nan")]}, "row 2.*p"),
        ({"p": ["often", "never"]}, "row 1.*p"),
        ({"side_a_shown": ["left", "top"]}, "row 2.*side_a_shown"),
        ({"battle_id": ["x", "x"]}, "two verdicts about one pair"),
        ({"battle_id": ["x", None]}, "row 2.*battle_id"),
        ({"battle_id": ["x", "x"], "side_a_shown": ["left", "right"], "winner": ["model_a", "tie"]}, "two choices"),
    ],
)
def test_a_wrong_row_is_named(change: dict[str, list[object]], problem: str):
    rows = {"battle_id": ["x", "y"], "winner": ["model_a", "tie"], "verdict": ["tie", None], "p": [0.5, None], **change}
    with pytest.raises(AgreementError, match=problem):
        audit_judges(rows, chance_of_a="p")


def test_a_judge_that_never_answers_has_no_accuracy_and_nothing_exact():
    row = audit_judges({"battle_id": range(9), "winner": ["model_a"] * 9, "verdict": [None] * 9}).table.row(0, named=True)
    assert (row["missing"], row["accuracy"], row["exact"], row["first"], row["exact_low"]) == (9, None, 0.0, None, None)
    with pytest.raises(AgreementError, match="no pairs"):
        audit_judges({"battle_id": [], "winner": [], "verdict": []})
    with pytest.raises(AgreementError, match="missing column 'verdict'"):
        audit_judges({"battle_id": [1], "winner": ["tie"]})


def test_votes_and_verdicts_meet_whatever_their_sides_are():
    votes = pl.DataFrame(
        {
            "prompt_id": ["p", "p", "p", "q", "r"],
            "model_a": ["y", "x", "x", "x", "x"],
            "model_b": ["x", "y", "y", "y", "y"],
            "winner": ["model_b", "model_a", "model_b", "tie", "model_b"],
        }
    )
    verdicts = pl.DataFrame(
        {
            "prompt_id": ["p", "p", "q", "s"],
            "model_a": ["x", "y", "y", "x"],
            "model_b": ["y", "x", "x", "y"],
            "winner": ["model_a", "model_a", "both_bad", "model_a"],
            "rater_id": ["critic"] * 4,
            "side_a_shown": ["left", "left", "right", "left"],
            "p": [0.9, 0.7, 0.5, 0.5],
        }
    )
    pairs = pairs_of_votes(Battles.from_frame(votes), Battles.from_frame(verdicts), chance_of_a="p")
    assert pairs.select("prompt_id", "winner", "verdict", "side_a_shown", pl.col("p").round(9), "judge").rows() == [
        ("p", "model_a", "model_a", "left", 0.9, "critic"),
        ("p", "model_a", "model_b", "right", 0.3, "critic"),
        ("q", "tie", "both_bad", "left", 0.5, "critic"),
        ("r", "model_b", None, None, None, "critic"),
    ]
    row = audit_judges(pairs, chance_of_a="p").table.row(0, named=True)
    assert (row["pairs"], row["missing"], row["accuracy"], row["same_in_both_orders"], row["first"]) == (3, 1, 0.5, 0.0, 1.0)


def test_the_command_prints_writes_and_refuses(tmp_path: Path):
    table(120, judges=2).write_csv(tmp_path / "pairs.csv")

    def run(*words: str):
        return CliRunner().invoke(main, ["votes", "audit", *words])

    options = ["--by", "kind", "--chance-of-a", "chance", "--wrong", str(tmp_path / "wrong.csv")]
    assert "Cohen κ" in run(str(tmp_path / "pairs.csv"), *options).output
    shown = run(str(tmp_path / "pairs.csv"), *options, "--output", str(tmp_path / "audit.html"))
    assert shown.exit_code == 0, shown.output
    assert "Cohen κ" not in shown.output and "judge 1" in (tmp_path / "audit.html").read_text()
    assert pl.read_csv(tmp_path / "wrong.csv").height > 5
    document = json.loads(run(str(tmp_path / "pairs.csv"), *options, "--format", "json").stdout)
    assert [row["part"] for row in document["rows"]] == [None, "people", "scenes"] * 2
    assert {row["judge"] for row in document["calibration"]} == {"judge 0", "judge 1"}
    refused = run(str(tmp_path / "pairs.csv"), "--wrong", str(tmp_path / "wrong.txt"))
    assert refused.exit_code == 2 and "wrong.txt" in refused.stderr
    pl.read_csv(tmp_path / "pairs.csv").drop("winner").write_csv(tmp_path / "verdicts.csv")
    refused = run(str(tmp_path / "pairs.csv"), "--judged", str(tmp_path / "verdicts.csv"))
    assert refused.exit_code == 2 and "have verdicts already" in refused.stderr


def battles(rows: list[tuple[str, str, str]], **more: object) -> Battles:
    """Battles of x and y by battle, rater and winner."""
    frame = pl.DataFrame(rows, schema=["battle_id", "rater_id", "winner"], orient="row")
    return Battles.from_frame(frame.with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"), **more), ids=None, weight=None)


def test_people_choose_what_most_of_them_say_and_kinds_of_tie_are_kept():
    said = {"1": "at", "2": "att", "3": "tttb", "4": "ab", "5": "aab", "6": "ddd", "7": "gd"}
    words = {"a": "model_a", "b": "model_b", "t": "tie", "g": "both_good", "d": "both_bad"}
    votes = battles([(key, f"r{k}", words[sign]) for key, signs in said.items() for k, sign in enumerate(signs)])
    verdicts = battles([(key, judge, "both_good") for key in said for judge in ("one", "two")])
    pairs = pairs_of_votes(votes, verdicts)
    chosen = dict(pairs.select("battle_id", "winner").unique().rows())
    assert chosen == {"1": "tie", "2": "tie", "3": "tie", "4": "tie", "5": "model_a", "6": "both_bad", "7": "tie"}
    table = audit_judges(pairs).table
    assert table["judge"].to_list() == ["one", "two"] and table["exact"].to_list() == pytest.approx([5 / 7] * 2)


def test_a_pair_that_a_judge_did_not_decide_is_missing_for_that_judge_alone():
    votes = battles([(str(k), "r", "model_a") for k in range(8)])
    verdicts = battles([(str(k), judge, "model_a") for judge, count in (("all", 8), ("few", 5)) for k in range(count)])
    table = audit_judges(pairs_of_votes(votes, verdicts)).table
    assert table.select("judge", "pairs", "missing", "exact").rows() == [("all", 8, 0, 1.0), ("few", 8, 3, 0.625)]


def test_wrong_chances_weights_and_second_votes_are_refused_with_their_file():
    votes, verdict = battles([("1", "r", "model_a")]), ("1", "j", "model_a")
    for value in ("often", "1.7"):
        with pytest.raises(AgreementError, match=r"row 1, column 'p'"):
            pairs_of_votes(votes, battles([verdict], p=pl.lit(value)), chance_of_a="p")
    with pytest.raises(AgreementError, match="a name of our own"):
        pairs_of_votes(votes, battles([verdict]), chance_of_a="score")
    with pytest.raises(AgreementError, match="voted twice"):
        pairs_of_votes(battles([("1", "r", "model_a"), ("1", "r", "tie")]), battles([verdict]))
    frame = pl.DataFrame({"battle_id": ["1"], "model_a": ["x"], "model_b": ["y"], "winner": ["tie"], "weight": [2.0]})
    with pytest.raises(AgreementError, match="weights"):
        pairs_of_votes(Battles.from_frame(frame, weight="weight"), battles([verdict]))


def test_columns_of_the_user_keep_their_values_whatever_they_are_called():
    rows = table(120).rename({"kind": "cluster", "chance": "of file"}).with_columns(chance=pl.lit("mine"))
    audit = audit_judges(rows, split="cluster", chance_of_a="of file")
    assert audit.table["part"].to_list() == [None, "people", "scenes"]
    assert set(audit.wrong["chance"]) == {"mine"} and set(audit.wrong["cluster"]) <= {"people", "scenes"}
    with pytest.raises(AgreementError, match="column 'winner'"):
        audit_judges(rows.with_columns(winner=pl.lit("x")))
    with pytest.raises(AgreementError, match="no single values"):
        audit_judges(table(6).with_columns(kind=pl.concat_list("kind")), split="kind")


def test_agreement_of_judges_compares_one_order_with_itself_and_draws_whole_prompts():
    rows = pl.concat(
        [
            table(60, judges=2),
            table(60, judges=2).with_columns(side_a_shown=pl.col("side_a_shown").replace({"left": "right", "right": "left"})),
        ]
    )
    audit, backwards = audit_judges(rows), audit_judges(rows.reverse())
    assert audit.agreement["value"].to_list() == backwards.agreement["value"].to_list()
    assert audit.agreement.equals(backwards.agreement)
    assert audit.agreement["ci_low"][0] < audit.agreement["value"][0] < audit.agreement["ci_high"][0]
    alone = audit_judges(rows.drop("prompt_id"))
    assert alone.agreement["ci_low"].null_count() == 0


def test_an_empty_verdict_is_missing_and_a_wrong_vote_of_genai_bench_is_named(tmp_path: Path):
    rows = {"battle_id": range(5), "winner": ["model_a"] * 5, "verdict": ["model_a"] * 3 + ["", None]}
    assert audit_judges(rows).table["missing"].to_list() == [2]
    path = tmp_path / "pairwise.jsonl"
    path.write_text(
        '{"idx": 0, "human_vote": "leftvote", "model_vote": ""}\n{"idx": 1, "human_vote": "foo", "model_vote": ""}\n'
    )
    with pytest.raises(AgreementError, match=r"row 2, column 'human_vote'.*foo"):
        read_pairs(path, "genai-bench")


def test_verdicts_beside_people_s_choices_are_the_verdicts(tmp_path: Path) -> None:
    """A file of verdicts that also has people's choices is not taken for votes."""
    pairs = pl.DataFrame({"battle_id": ["1", "2", "3", "4"], "model_a": "x", "model_b": "y", "winner": ["model_a"] * 4})
    pairs.write_csv(tmp_path / "people.csv")
    wrong = pl.Series("verdict", ["model_b"] * 3 + ["model_a"])
    pairs.with_columns(wrong, judge=pl.lit("j")).write_csv(tmp_path / "judged.csv")
    words = ["votes", "audit", str(tmp_path / "people.csv"), "--judged", str(tmp_path / "judged.csv"), "--format", "json"]
    shown = CliRunner().invoke(main, words)
    row = json.loads(shown.stdout)["rows"][0]
    assert (row["judge"], row["accuracy"]) == ("j", 0.25)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_prompt_or_judge_is_one_that_is_missing(blank: str) -> None:
    rows = table(60, seed=1)
    unknown = {name: pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise(name) for name in ("prompt_id", "judge")}
    found = audit_judges(rows.with_columns(**{name: value.fill_null(blank) for name, value in unknown.items()}))
    assert_frame_equal(found.table, audit_judges(rows.with_columns(**unknown)).table)
    nobody = rows.with_columns(prompt_id=pl.lit(blank))
    assert audit_judges(nobody).clusters == audit_judges(rows.drop("prompt_id")).clusters == "battle_id"


def test_rows_without_a_part_have_a_part_of_their_own() -> None:
    rows = {"battle_id": range(4), "winner": ["model_a"] * 4, "verdict": ["model_a"] * 4, "kind": ["x", None, "x", None]}
    table = audit_judges(rows, split="kind").table
    assert dict(table.select("part", "pairs").iter_rows()) == {None: 4, "(not given)": 2, "x": 2}


def test_a_scorer_agrees_with_a_judge_that_saw_both_orders() -> None:
    rows = [(f"p{n}", "judge", side, "model_a" if n % 2 else "model_b") for n in range(20) for side in ("left", "right")]
    rows += [(f"p{n}", "scorer", None, "model_a" if n % 2 or n == 0 else "model_b") for n in range(20)]
    frame = pl.DataFrame(rows, ["battle_id", "judge", "side_a_shown", "verdict"], orient="row")
    found = audit_judges(frame.with_columns(winner=pl.lit("model_a"))).agreement
    assert found["value"][0] == pytest.approx(0.9)
    assert found["things"][0] == 40


def test_intervals_of_kappa_draw_clusters_not_rows() -> None:
    """A prompt's pairs asked about again, with the same answers, say nothing new."""
    rng = np.random.default_rng(3)
    winner = rng.integers(0, 2, 120)
    words = np.array(["model_b", "model_a"])
    rows = []
    for judge, share in (("one", 0.2), ("two", 0.4)):
        says = np.where(rng.random(120) < share, 1 - winner, winner)
        rows.append(
            pl.DataFrame(
                {
                    "battle_id": [f"p{n}" for n in range(120)],
                    "prompt_id": [f"q{n // 3}" for n in range(120)],
                    "judge": judge,
                    "winner": words[winner],
                    "verdict": words[says],
                    "p": np.where(says == 1, 0.8, 0.3),
                }
            )
        )
    once = pl.concat(rows)
    again = pl.concat([once, once.with_columns(battle_id=pl.col("battle_id") + "'")])
    audits = [audit_judges(frame, chance_of_a="p") for frame in (once, again)]
    columns = ("ece", "accuracy", "accuracy_low", "accuracy_high")
    assert np.allclose(*(audit.table.select(columns).to_numpy() for audit in audits))
    ends = [audit.agreement.select("value", "ci_low", "ci_high").to_numpy() for audit in audits]
    assert np.allclose(*ends)
    assert ends[0][0][1] < ends[0][0][0] < ends[0][0][2]


def test_kappa_s_intervals_hold_in_the_study():
    assert held(30, 60) > 0.85
