"""Released sets of pairs: numbers of their authors, rules as plain loops, sides that nothing hangs on, and hostile cells."""

import csv
import json
import math
import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from for_each import for_each
from salon_console import main
from salon_ranking.agreement import AgreementError, audit_judges, read_pairs, released_accuracy
from salon_ranking.agreement.pair_rows import PLAIN
from salon_ranking.agreement.pair_sets import FORMS, form_of
from salon_ranking.agreement.released_rules import RULES
from salon_ranking.errors import OptionError
from salon_taxonomy.errors import SalonError
from salon_taxonomy.testing import HOSTILE_REPLIES

Row = dict[str, Any]
RANKINGS = Path(__file__).with_name("data") / "imagerewarddb_rankings.txt"


def mmrb2(number: int = 0) -> Row:
    answers = {
        f"response_{side}": {"model_name": f"m{side}", "response_content": [["image", f"{number}{side}.jpg"]]} for side in "ab"
    }
    return {
        "id": f"pair{number}",
        **answers,
        "chosen": "A",
        "human_annotations": [6, 4, 3],
        "prompt_source": "wise",
        "prompt_metadata": {"id": number // 2},
        "prompt_content": [["text", "make it red"], ["image", "source.jpg"]],
    }


def imagerewarddb(number: int = 0) -> Row:
    names = [f"{number}{letter}.webp" for letter in "xyz"]
    return {"id": f"p{number}", "prompt": "a cat", "generations": names, "ranking": [1, 2, 2]}


def hpdv2(number: int = 0) -> Row:
    names = [f"{number}{letter}.jpg" for letter in "xyz"]
    return {"prompt": "a cat", "image_path": names, "rank": [3, 1, 2], "raw_annotations": []}


def imagerewarddb_metadata(number: int = 0) -> Row:
    ratings = {"overall_rating": 5, "image_text_alignment_rating": 4, "fidelity_rating": 6, "image_amount_in_total": 2}
    path = f"images/train/train_1/{number}.webp"
    return {"image_path": path, "prompt_id": f"p{number // 2}", "prompt": "a cat", "rank": 1 + number % 2, **ratings}


def hpdv3(number: int = 0) -> Row:
    paths = {"path1": f"images/{number}x.jpg", "path2": f"images/{number}y.jpg"}
    models = {"model1": "flux", "model2": "infinity"}
    return {"prompt": f"cat {number}", "choice_dist": [7, 12], "confidence": 0.99, **paths, **models}


def videoreward(number: int = 0) -> Row:
    facts = {"fps_A": 8.0, "num_frames_A": 49, "fps_B": 8.0, "num_frames_B": 49}
    paths = {"path_A": f"./videos/{number}_A.mp4", "path_B": f"./videos/{number}_B.mp4"}
    return {**paths, "prompt": f"p{number}", "VQ": "A", "MQ": "B", "TA": "same", **facts}


def mj_bench(number: int = 0) -> Row:
    return {
        "id": number,
        "caption": f"cat {number}",
        "image_0_path": f"{number}x.jpg",
        "image_1_path": f"{number}y.jpg",
        "score_0": 0.25,
        "score_1": 0.75,
        "label": "0",
        "pred": "1",
    }


def videogen(number: int = 0) -> Row:
    aspects = {"VQ": "A", "MQ": "B", "TA": "same", "Overall": "A"}
    rewards = {f"reward_{aspect}_{side}": 0.5 + number for aspect in aspects for side in "AB"}
    of_sides = {"path_A": f"{number}a.mp4", "path_B": f"{number}b.mp4", "A_model": "m", "B_model": "n"}
    return {"prompt": f"p{number}", **of_sides, **aspects, **rewards}


def editreward(number: int = 0) -> Row:
    group, order = divmod(number, 3)
    sides = ("AB", "AC", "BC")[order]
    return {
        "id": f"{group}_{order}",
        "dataset": "3pair",
        "instruction": "make it red",
        "comparison_type": "vs".join(sides),
        "ranking": ">".join(sides),
        "model_1": "m",
        "model_2": "n",
        "source_image": "s.png",
    }


def pick_a_pic(number: int = 0) -> Row:
    uids = {"image_0_uid": f"{number}x", "image_1_uid": f"{number}y"}
    return {"caption": f"cat {number}", **uids, "label_0": 1.0, "label_1": 0.0, "has_label": True, "jpg_0": b"\xff"}


def genai_bench(number: int = 0) -> Row:
    return {"idx": number, "prompt": f"cat {number}", "human_vote": "leftvote", "model_vote": "[[A>B]]", "response": "x"}


ROWS: dict[str, Callable[[int], Row]] = {
    "mmrb2": mmrb2,
    "imagerewarddb": imagerewarddb,
    "imagerewarddb-metadata": imagerewarddb_metadata,
    "hpdv3": hpdv3,
    "videoreward": videoreward,
    "mj-bench": mj_bench,
    "videogen-rewardbench": videogen,
    "editreward-bench": editreward,
    "hpdv2": hpdv2,
    "pick-a-pic": pick_a_pic,
    "genai-bench": genai_bench,
    "plain": lambda number: {"battle_id": f"b{number}", "winner": "model_a", "votes_a": 2, "score_a": 0.5, "score_b": 0.25},
}


def written(folder: Path, rows: list[Any], name: str = "pairs.json") -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        path.write_text(json.dumps(rows, default=lambda value: None))
    return path


def test_all_forms_are_in_these_tables():
    assert {*ROWS} == {*FORMS} == {*RULES}


@for_each("form", FORMS)
def test_the_columns_of_a_file_tell_its_form(form: str, tmp_path: Path):
    path = written(tmp_path, [ROWS[form](number) for number in range(3)])
    assert form_of(path) == form
    assert_frame_equal(read_pairs(path), read_pairs(path, form))


# --- Numbers of the authors


def test_imagerewarddb_has_6399_decided_pairs_of_466_prompts_and_831_ties(tmp_path: Path):
    rankings = [line.split() for line in RANKINGS.read_text().splitlines() if not line.startswith("#")]
    rows = [
        {
            "id": f"p{number}",
            "prompt": "x",
            "generations": [f"{number}/{place}" for place in range(len(ranks))],
            "ranking": ranks,
        }
        for number, ranks in enumerate([int(rank) for rank in word] for line in rankings for word in line)
    ]
    path = written(tmp_path, rows)
    pairs = read_pairs(path, "imagerewarddb")
    assert pairs["prompt_id"].n_unique() == 466
    assert pairs.filter(pl.col("winner") != "tie").height == 6_399 and pairs.filter(winner="tie").height == 831
    assert 0.47 < (pairs.filter(pl.col("winner") != "tie")["winner"] == "model_a").mean() < 0.53  # as released: 0.59
    random = np.random.default_rng(0)
    rewards = {picture: int(random.integers(6)) for row in rows for picture in row["generations"]}
    right = [
        rewards[better] > rewards[worse]
        for row in rows
        for (better, high), (worse, low) in combinations(zip(row["generations"], row["ranking"], strict=True), 2)
        for better, worse, high, low in [(better, worse, high, low) if high < low else (worse, better, low, high)]
        if high != low
    ]
    table = pl.DataFrame({"picture": rewards.keys(), "score": rewards.values()})
    table.write_csv(tmp_path / "rewards.csv")
    judged = read_pairs(path, "imagerewarddb", judged=tmp_path / "rewards.csv")
    row = released_accuracy(judged, "imagerewarddb").row(0, named=True)
    assert (row["judge"], row["rows"], row["released"]) == ("rewards", 6_399, pytest.approx(np.mean(right)))
    ties = sum(score_a == score_b for score_a, score_b in judged.filter(pl.col("winner") != "tie")["score_a", "score_b"].rows())
    assert row["ours"] == pytest.approx(row["released"] + ties / 2 / 6_399)
    assert row["ours"] == audit_judges(judged).table["accuracy"][0] and row["ours_low"] < row["ours"] < row["ours_high"]


def test_the_example_of_videogen_rewardbench_gives_its_numbers_in_every_order():
    people = [1, -1, 0, 1, -1, 0, 1, -1, 0]
    a, b = [0.9, -0.7, 0.1, 0.8, -0.6, 0.2, 0.7, -0.5, 0.3], [0.1, -0.8, 0.5, 0.5, -0.3, 0.3, 0.4, -0.4, 0.4]
    rows = scored(people, a, b)
    for seed in range(5):
        table = released_accuracy(rows.sample(fraction=1.0, shuffle=True, seed=seed), "videogen-rewardbench")
        assert table["released"].round(4).to_list() == [0.8333, 0.6667]
    equal = scored([0, 1, -1, 1], [1.0] * 4, [0.0] * 4)
    assert released_accuracy(equal, "videogen-rewardbench")["released"].round(4).to_list() == [0.6667, 0.25]
    three = released_accuracy(scored([1] * 3, [1.0, 2.0, 3.0], [0.0] * 3), "videogen-rewardbench")
    assert three["released"].round(3).to_list() == [1.0, 0.667] and three["ours"].to_list() == [1.0, 1.0]


def scored(people: list[int], a: list[float], b: list[float], **more: object) -> pl.DataFrame:
    words = {1: "model_a", -1: "model_b", 0: "tie"}
    rows = {"battle_id": range(len(people)), "winner": [words[one] for one in people], "score_a": a, "score_b": b}
    return pl.DataFrame({**rows, **more})


def test_rows_of_single_pictures_are_the_pairs_of_their_prompt_in_any_order(tmp_path: Path):
    group, alone = [{**imagerewarddb_metadata(n), "prompt_id": "p0", "rank": rank} for n, rank in enumerate([1, 2, 2])], []
    alone.append({**imagerewarddb_metadata(7), "prompt_id": "p1"})
    scattered = read_pairs(written(tmp_path, [group[0], *alone, *group[1:]]))
    names = [row["image_path"] for row in group]
    together = {"id": "p0", "prompt": "a cat", "generations": names, "ranking": [1, 2, 2]}
    assert_frame_equal(scattered, read_pairs(written(tmp_path, [together], "test.json"), "imagerewarddb"))
    assert form_of(written(tmp_path, group, "metadata-train.parquet")) == "imagerewarddb-metadata"


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hpdv3_prefers_path1_with_the_larger_count_on_drawn_sides(tmp_path: Path, votes: list[tuple[int, int]]):
    rows = [{**hpdv3(number), "choice_dist": [*both]} for number, both in enumerate(votes)]
    for row, pair in zip(rows, read_pairs(written(tmp_path, rows)).iter_rows(named=True), strict=True):
        if len({*row["choice_dist"]}) == 1:
            assert pair["winner"] == "tie" and [pair["votes_a"], pair["votes_b"]] == row["choice_dist"]
            continue
        side, other = ("a", "b") if pair["winner"] == "model_a" else ("b", "a")
        assert (pair[f"picture_{side}"], pair[f"model_{side}"], pair[f"model_{other}"]) == (row["path1"], "flux", "infinity")
        assert [pair[f"votes_{side}"], pair[f"votes_{other}"]] == sorted(row["choice_dist"], reverse=True)
    unknown = [{**hpdv3(number), "choice_dist": value} for number, value in enumerate([None, [], "null"])]
    assert read_pairs(written(tmp_path, unknown))["votes_a"].null_count() == 3
    many = read_pairs(written(tmp_path, [hpdv3(number) for number in range(400)]))
    assert 0.4 < (many["winner"] == "model_a").mean() < 0.6


def test_the_votes_of_a_released_set_become_battles_of_its_models(tmp_path: Path):
    rows = [hpdv3(0), {**hpdv3(1), "model2": "flux"}, hpdv3(2)]
    path = written(tmp_path, rows, "all.json")
    result = CliRunner().invoke(main, ["votes", "import", str(path), "--output", str(tmp_path / "votes.csv")])
    assert result.exit_code == 0 and "1 pair without two different models" in result.stderr, result.output
    ranked = CliRunner().invoke(main, ["votes", "pairs", str(tmp_path / "votes.csv"), "--held-out", "0"])
    assert "cat 0,cat 0,images/0x.jpg,images/0y.jpg,flux,infinity,12.0,7.0" in ranked.stdout, ranked.output


# --- Rules as plain loops

SCORES = st.lists(st.tuples(st.sampled_from([1, -1, 0]), st.integers(0, 8), st.integers(0, 8)), min_size=8, max_size=40)


@given(SCORES)
def test_rules_of_scores_are_those_of_plain_loops(drawn: list[tuple[int, int, int]]):
    people, a, b = ([one[part] for one in drawn] for part in range(3))
    rows = scored(people, [x / 8 for x in a], [x / 8 for x in b], category=["2pair"] * len(drawn))
    gaps = [(x - y) / 8 for x, y in zip(a, b, strict=True)]
    pairs = list(zip(people, gaps, strict=True))

    def credit(threshold: float, among: list[tuple[int, float]]) -> int:
        return sum(abs(gap) <= threshold if not one else abs(gap) > threshold and gap * one > 0 for one, gap in among)

    def accuracy(threshold: float) -> float:
        return credit(threshold, pairs) / len(pairs)

    def numbers(form: str) -> dict[str, float]:
        return {row["rule"]: row["released"] for row in released_accuracy(rows, form).iter_rows(named=True)}

    found = numbers("videogen-rewardbench")
    assert found["VideoGen-RewardBench, with ties"] == pytest.approx(max(accuracy(abs(gap)) for gap in gaps))
    decided = [gap * one > 0 for one, gap in pairs if one]
    assert found.get("VideoGen-RewardBench, without ties") == (pytest.approx(np.mean(decided)) if decided else None)
    found = numbers("editreward-bench")
    assert found["EditReward-Bench, with ties"] == pytest.approx(max(accuracy(abs(gap)) for gap in [0.0, *gaps]))
    assert found["EditReward-Bench, single"] == pytest.approx(np.mean([np.sign(gap) == one for one, gap in pairs]))
    ours = released_accuracy(rows, "videogen-rewardbench").filter(pl.col("rule").str.ends_with("with ties"))["ours"][0]
    names = sorted(map(str, range(len(pairs))))
    folds = [[pairs[int(name)] for name in names[start::5]] for start in range(5)]

    right = 0
    for fold in folds:
        others = [pair for other in folds if other is not fold for pair in other]
        right += credit(max(sorted({-1.0, *(abs(gap) for _, gap in others)}), key=lambda one: credit(one, others)), fold)
    assert ours == pytest.approx(right / len(pairs))


@given(SCORES)
def test_pick_a_pic_gives_half_for_a_tie_on_one_side(drawn: list[tuple[int, int, int]]):
    people, a, b = ([one[part] for one in drawn] for part in range(3))
    signs = [np.sign(x - y) for x, y in zip(a, b, strict=True)]
    wanted = np.mean(
        [1.0 if one == sign else 0.5 if not one or not sign else 0.0 for one, sign in zip(people, signs, strict=True)]
    )
    rows = scored(people, [x * 10.0 for x in a], [x * 10.0 for x in b])  # no probabilities: a threshold of 0
    if max(a + b) > 0:
        assert released_accuracy(rows, "pick-a-pic")["released"][0] == pytest.approx(wanted)
    probable = scored([1, 0] * 20, [0.9, 0.52] * 20, [0.1, 0.48] * 20)
    assert released_accuracy(probable, "pick-a-pic")["released"][0] == 1.0  # a threshold of 0.1, from the other prompts


@given(st.integers(0, 200))
def test_hpdv2_averages_inversions_over_prompts(seed: int):
    random = np.random.default_rng(seed)
    rows, wanted, scores = [], [], {}
    for number in range(6):
        count = int(random.integers(2, 6))
        names, ranks, rewards = [f"{number}/{k}" for k in range(count)], random.integers(1, 4, count), random.permutation(count)
        rows.append({"prompt": "x", "image_path": names, "rank": ranks.tolist()})
        scores |= dict(zip(names, rewards.tolist(), strict=True))
        inverted = sum((ranks[i] - ranks[j]) * (rewards[i] - rewards[j]) > 0 for i, j in combinations(range(count), 2))
        wanted.append(1 - inverted / math.comb(count, 2))
    pairs = pl.DataFrame(rows)
    with_tables = tables(pairs, pl.DataFrame({"picture": scores.keys(), "score": scores.values()}))
    row = released_accuracy(with_tables("hpdv2"), "hpdv2").row(0, named=True)
    assert (row["rows"], row["released"]) == (6, pytest.approx(np.mean(wanted)))


def tables(rows: pl.DataFrame, judged: pl.DataFrame) -> Callable[[str], pl.DataFrame]:
    """Return a reader of rows and verdicts by way of files."""
    from tempfile import TemporaryDirectory

    def read(form: str) -> pl.DataFrame:
        with TemporaryDirectory() as folder:
            rows.write_parquet(Path(folder, "rows.parquet"))
            judged.write_parquet(Path(folder, "judged.parquet"))
            return read_pairs(Path(folder, "rows.parquet"), form, judged=Path(folder, "judged.parquet"))

    return read


def test_a_group_of_editreward_bench_is_right_when_all_its_comparisons_are(tmp_path: Path):
    path = written(tmp_path, [editreward(number) for number in range(9)])
    pairs = read_pairs(path, "editreward-bench")
    verdicts = ["model_a"] * 3 + ["model_a", "model_b", "model_a"] + ["model_a", None, "model_a"]
    pairs.select("battle_id", verdict=pl.Series(verdicts)).write_csv(tmp_path / "critic.csv")
    table = released_accuracy(read_pairs(path, "editreward-bench", judged=tmp_path / "critic.csv"), "editreward-bench")
    numbers = {row["rule"]: (row["part"], row["rows"], row["released"], row["ours"]) for row in table.iter_rows(named=True)}
    assert numbers["EditReward-Bench, single"] == ("3pair", 9, pytest.approx(7 / 9), pytest.approx(7 / 8))
    assert numbers["EditReward-Bench, group"] == ("3pair", 3, pytest.approx(1 / 3), pytest.approx(7 / 8))
    assert len(numbers) == 2


def test_mmrb2_takes_each_order_as_an_observation(tmp_path: Path):
    rows = [mmrb2(number) for number in range(4)]
    said = {
        "pair0": {"forward": [{"judgement": "A", "evaluator": "critic"}], "reverse": [{"judgement": "B"}]},  # right in both
        "pair1": {"forward": [{"judgement": "A"}], "reverse": [{"judgement": "A"}]},  # always the first
        "pair2": {"forward": [{"judgement": None}], "reverse": [{"judgement": "tie"}]},
    }
    judged = tmp_path / "said.json"
    judged.write_text(json.dumps(said))
    pairs = read_pairs(written(tmp_path, {"pairs": rows}), "mmrb2", judged=judged)  # type: ignore[arg-type]
    assert pairs.select("judge", "prompt", "source", "votes_a", "votes_b").unique().rows() == [
        ("critic", "make it red", "source.jpg", 2, 1)
    ]
    row = released_accuracy(pairs, "mmrb2").row(0, named=True)
    assert (row["rows"], row["released"], row["ours"]) == (5, 3 / 5, 3.5 / 5)
    assert audit_judges(pairs).table.select("pairs", "missing", "same_in_both_orders").row(0) == (4, 2, 0.5)


# --- Sides


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(max_size=9), st.integers(0, 1)), min_size=1, max_size=9))
def test_sides_are_drawn_and_pictures_scores_and_winner_move_together(tmp_path: Path, drawn: list[tuple[str, int]]):
    rows = [{**mj_bench(number), "label": str(label), "caption": f"c{text}"} for number, (text, label) in enumerate(drawn)]
    turn = {"image_0_path": "image_1_path", "score_0": "score_1"}
    back = {new: old for old, new in turn.items()}
    turned = [
        {**{(turn | back).get(name, name): value for name, value in row.items()}, "label": str(1 - int(row["label"]))}
        for row in rows
    ]
    pairs, same = (read_pairs(written(tmp_path, some), "mj-bench") for some in (rows, turned))
    assert_frame_equal(pairs, same)
    for row, pair in zip(rows, pairs.iter_rows(named=True), strict=True):
        assert pair[f"picture_{pair['winner'][-1]}"] == row[f"image_{row['label']}_path"]
        assert pair[f"score_{pair['winner'][-1]}"] == row[f"score_{row['label']}"]


def test_always_first_earns_half_of_mj_bench(tmp_path: Path):
    for names in (("image_0_path", "image_1_path"), ("image0", "image1")):
        rows = [mj_bench(number) for number in range(900)]
        if names[0] == "image0":
            rows = [{"id": r["id"], "caption": "x", "image0": r["image_0_path"], "image1": "same", "label": 0} for r in rows]
        share = (read_pairs(written(tmp_path, rows), "mj-bench")["winner"] == "model_a").mean()
        assert 0.43 < share < 0.57
    alike = [{**mj_bench(number), "image_1_path": mj_bench(number)["image_0_path"]} for number in range(900)]
    pairs = read_pairs(written(tmp_path, alike), "mj-bench")
    assert 0.43 < (pairs["winner"] == "model_a").mean() < 0.57 and (pairs["picture_a"] != pairs["picture_b"]).all()


# --- All forms


@for_each("form", FORMS)
def test_every_form_has_the_plain_columns_and_survives_being_written(form: str, tmp_path: Path):
    suffix = ".parquet" if form in ("pick-a-pic", "editreward-bench") else ".json" if form != "plain" else ".parquet"
    rows = [ROWS[form](number) for number in range(6)]
    for row in rows if form == "editreward-bench" else []:
        row["source_image"] = {"bytes": b"\xff", "path": "s.png"}
    pairs = read_pairs(written(tmp_path, rows, f"pairs{suffix}"), form)
    assert pairs.columns[: len(PLAIN)] == [*PLAIN] and pairs["battle_id"].is_unique().all()
    assert pairs.schema == {**PLAIN, **{name: pairs.schema[name] for name in pairs.columns if name not in PLAIN}}
    pairs.write_csv(tmp_path / "plain.csv")
    assert_frame_equal(read_pairs(tmp_path / "plain.csv"), pairs)
    if form == "editreward-bench":
        assert pairs["source"].to_list() == ["s.png"] * 6


WRONG: list[tuple[str, str, Any]] = [
    *((form, name, value) for form in ("imagerewarddb", "mmrb2") for name in ("id",) for value in (None, " ", ["x"], True)),
    *(("mmrb2", "chosen", value) for value in ("a", None, "tie")),
    *(("mmrb2", "human_annotations", value) for value in ([], [7], [1.5], [True], [1, 2, 3], "6", 6)),
    *(("mmrb2", "response_a", value) for value in (None, "x", [])),
    *(("mmrb2", "prompt_content", value) for value in ("x", [["sound", "x"]], [["text", "\ud800"]])),
    *(("imagerewarddb", "ranking", value) for value in (None, [1], [1, 2, "3"], [1, 2, None], [1, 2, math.nan], [1, 2, True])),
    *(("imagerewarddb", "generations", value) for value in (None, [], ["x"], ["x", "y", 3], "xyz")),
    *(("hpdv2", "rank", value) for value in (None, [1, 2], [1, 2, math.inf])),
    *(("mj-bench", "label", value) for value in (None, "tie", 2, True, "")),
    *(("mj-bench", "score_0", value) for value in ("high", math.nan, math.inf, True, [0.5])),
    *(("mj-bench", "image_1_path", value) for value in (None, "", 0.5)),
    *(("videogen-rewardbench", "MQ", value) for value in (None, "a", "tie", 1)),
    ("videogen-rewardbench", "reward_TA_B", "x"),
    *(("videoreward", "VQ", value) for value in (None, "C", 1)),
    *(("hpdv3", "choice_dist", value) for value in ([12], [12, -1], [12, "7"], [12, 7, 1], "12, 7", [1.5, 2])),
    *(("hpdv3", "path1", value) for value in (None, " ", 0.5)),
    ("imagerewarddb-metadata", "prompt_id", None),
    *(("editreward-bench", "ranking", value) for value in (None, "A=B", "B>C", "A>B>C", "[[A>C]]")),
    *(("editreward-bench", "comparison_type", value) for value in (None, "CvsA", "AvsD")),
    *(("editreward-bench", "dataset", value) for value in (None, "5pair", 2)),
    *(("pick-a-pic", "label_0", value) for value in (None, 0.25, -1, "yes")),
    *(("pick-a-pic", "has_label", value) for value in (None, 2, "maybe")),
    *(("genai-bench", "human_vote", value) for value in (None, "", "[[A>B]]", 1)),
    *(("genai-bench", "idx", value) for value in (None, "", 0.5)),
    *(("plain", "winner", value) for value in ("a", "left")),
    *(("plain", "votes_a", value) for value in (-1, 0.5)),
    *(("plain", "battle_id", value) for value in (None,)),
]


@for_each(("form", "column", "value"), WRONG)
def test_a_wrong_cell_is_named_with_what_is_allowed(form: str, column: str, value: Any, tmp_path: Path):
    rows = [ROWS[form](0), {**ROWS[form](1), column: value}, ROWS[form](2)]
    path = written(tmp_path, rows)
    with pytest.raises(AgreementError) as caught:
        read_pairs(path, form)
    assert (caught.value.row, caught.value.column, caught.value.source) == (2, column, str(path))
    assert "allowed" in str(caught.value)


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**30) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("form", FORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_cell_is_read_or_refused(form: str, data: st.DataObject, tmp_path: Path):
    row = ROWS[form](1)
    column = data.draw(st.sampled_from([*row]))
    changed = {**row, column: data.draw(CELLS)}
    if data.draw(st.integers(0, 5)) == 0:
        changed.pop(column)
    path = written(tmp_path, [ROWS[form](0), changed])
    try:
        pairs = read_pairs(path, form)
    except SalonError as error:
        assert isinstance(error, AgreementError) and str(path) in str(error)
    else:
        assert pairs["battle_id"].null_count() == 0
        assert form == "plain" or pairs["winner"].null_count() == 0, "people answered about every pair of a released set"


NOT_A_CELL = (None, " ", "I prefer the first one.", -0.5, math.nan, [None, None], {"x": 1})


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv"])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "plain"])
def test_one_bad_row_costs_no_other_and_is_named(form: str, ending: str, tmp_path: Path):
    """Whatever a cell holds, its row is read or left out with file, row, column and value; all other rows stay."""
    good = [ROWS[form](number) for number in (0, 2, 4, 5)]
    if ending == ".csv" and any(isinstance(value, list | dict) for value in good[0].values()):
        pytest.skip("CSV holds no lists")
    for row in good:
        row.pop("jpg_0", None)

    path = tmp_path / f"pairs{ending}"

    def write(rows: list[Any]) -> None:
        if ending == ".csv":
            with path.open("w", newline="") as out:
                table = csv.writer(out)
                table.writerows([[*good[0]], *(row if isinstance(row, list) else [*row.values()] for row in rows)])
        else:
            lines = [json.dumps(row) for row in rows]
            path.write_text(f"[{', '.join(lines)}]" if ending == ".json" else "\n".join(lines))

    remarks: list[str] = []
    by_number = ("battle_id", "prompt_id")  # by the number of the row, in some sets
    write(good)
    alone = read_pairs(path, form, remarks=remarks).drop(by_number)
    refused = 0
    changes: list[tuple[str | None, Any]] = [(column, value) for column in good[0] for value in NOT_A_CELL]
    for column, value in [*changes, (None, ["one", "cell more"] * 9), (None, [])]:
        bad = value if column is None else {**ROWS[form](1), column: value}
        if column is None and ending == ".csv" and not value:
            continue  # an empty line is no row
        bad = bad if column is None else {name: bad[name] for name in good[0]}
        write([good[0], bad, *good[1:]])
        remarks.clear()
        try:
            strict = read_pairs(path, form)
        except AgreementError as error:
            refused += 1
            assert (error.source, error.row) == (str(path), 2) and (column is None or error.column is not None), error
            kept = read_pairs(path, form, remarks=remarks).drop(by_number)
            assert_frame_equal(kept, alone, check_row_order=False)
            assert remarks[0].startswith("1 of 5 rows of pairs"), remarks
            assert remarks[1].startswith("row 2: ") and (error.column is None or f"column '{error.column}'" in remarks[1])
        else:
            assert strict.height >= alone.height
    assert refused > len(NOT_A_CELL)
    write([bad, *good])
    assert form_of(path) == form, "the first row may be the bad one"
    write([bad] * 3)
    with pytest.raises(AgreementError):
        read_pairs(path, form, remarks=remarks)


@for_each("content", ["", "I prefer A.", '[{"id": 1', "[1, 2]", '{"pairs": 3}', "{}", "[]", "null", "[[]]", "[{}]", "\ud800"])
@for_each("form", [form for form in FORMS if form != "plain"])
def test_a_file_that_holds_no_rows_is_refused(form: str, content: str, tmp_path: Path):
    path = tmp_path / "pairs.json"
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(AgreementError, match=r"pairs\.json"):
        read_pairs(path, form)


def test_unknown_forms_and_missing_files_are_refused(tmp_path: Path):
    with pytest.raises(OptionError, match="unknown form"):
        read_pairs(tmp_path / "x.json", "mmrb3")
    with pytest.raises(OptionError, match="unknown form"):
        released_accuracy({"battle_id": [1], "winner": ["tie"], "verdict": ["tie"]}, "mmrb3")
    with pytest.raises(AgreementError):
        read_pairs(tmp_path / "x.json", "mmrb2")
    with pytest.raises(AgreementError, match="there are no pairs"):
        read_pairs(written(tmp_path, [{**pick_a_pic(), "has_label": False}]), "pick-a-pic")


# --- Files of verdicts


@for_each(
    ("rows", "problem"),
    [
        ([{"battle_id": "p9:0-1", "verdict": "model_a"}], "none of the pairs"),
        ([{"picture": "nowhere.jpg", "score": 1.0}], "none of the pairs"),
        ([{"picture": "0x.webp", "score": "high"}], "row 1, column 'score'.*a finite number"),
        ([{"picture": "0x.webp", "score": 1.0}, {"picture": "0x.webp", "score": 2.0}], "two scores of a judge"),
        ([{"picture": ["0x.webp"], "score": 1.0}], "no single values"),
        ([{"battle_id": "p0:0-1"}], "missing column"),
        ([{"name": "x"}], "missing column"),
    ],
)
def test_wrong_verdicts_are_named(rows: list[Row], problem: str, tmp_path: Path):
    judged = written(tmp_path, rows, "judged.parquet")
    with pytest.raises(AgreementError, match=problem):
        read_pairs(written(tmp_path, [imagerewarddb(0)]), "imagerewarddb", judged=judged)


@for_each(
    "said",
    [
        [],
        {},
        {"pair0": []},
        {"pair0": {"forward": 3}},
        {"pair0": {"forward": ["A"]}},
        {"pair0": {"forward": [{"judgement": "C"}]}},
    ],
)
def test_wrong_judgements_of_mmrb2_are_refused(said: Any, tmp_path: Path):
    with pytest.raises(AgreementError, match=r"said\.json"):
        read_pairs(written(tmp_path, [mmrb2()]), "mmrb2", judged=written(tmp_path, said, "said.json"))


def test_pairs_with_verdicts_take_no_others_and_a_judge_that_skips_a_pair_is_missing(tmp_path: Path):
    path = written(tmp_path, [imagerewarddb(number) for number in range(3)])
    pl.DataFrame({"picture": ["0x.webp", "0y.webp"], "score": ["1", "2"], "judge": "r"}).write_csv(tmp_path / "r.csv")
    pairs = read_pairs(path, "imagerewarddb", judged=tmp_path / "r.csv")
    assert audit_judges(pairs).table.select("judge", "pairs", "missing").row(0) == ("r", 9, 8)
    with pytest.raises(AgreementError, match="have verdicts already"):
        read_pairs(written(tmp_path, [mj_bench()]), "mj-bench", judged=tmp_path / "r.csv")


@for_each("value", ["x", math.nan, math.inf])
def test_a_score_that_is_no_number_is_named(value: object):
    rows = {"battle_id": ["x", "y"], "winner": ["tie"] * 2, "score_a": ["1", str(value)], "score_b": ["1", "2"]}
    with pytest.raises(AgreementError, match=r"row 2, column 'score_a'.*a finite number"):
        audit_judges(rows)
    rows["score_a"] = ["1", ""]
    assert audit_judges(rows).table["missing"].to_list() == [1]


def test_the_command_prints_the_released_rule_beside_ours(tmp_path: Path):
    path = written(tmp_path, [imagerewarddb(number) for number in range(8)])
    names = [f"{number}{letter}.webp" for number in range(8) for letter in "xyz"]
    pl.DataFrame({"picture": names, "score": [1, 1, 0] * 8}).write_csv(tmp_path / "rewards.csv")
    arguments = ["votes", "audit", str(path), "--judged", str(tmp_path / "rewards.csv")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "released rule" in result.output and "equal scores are wrong in theirs" in result.output
    document = json.loads(CliRunner().invoke(main, [*arguments, "--format", "json"]).output)
    assert [(row["released"], row["ours"]) for row in document["released_rule"]] == [(0.5, 0.75)]


def replies(folder: Path, rows: list[Row]) -> Path:
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps({"judge": "j", **row}) + "\n" for row in rows))
    pl.DataFrame({"battle_id": [f"{n}" for n in range(9)], "winner": ["model_a"] * 9}).write_csv(folder / "pairs.csv")
    return path


def test_replies_and_messages_are_read_as_verdicts_by_the_side_of_picture_a(tmp_path: Path) -> None:
    words = [
        ("left", "left", "model_a"),
        ("left", "right", "model_b"),
        ("right", "both good", "both_good"),
        ("right", "both_bad", "both_bad"),
    ]
    texts = [f'Well. {{"reason": "{side}", "verdict": "{word}"}}' for side, word, _ in words]
    alone = [
        {"battle_id": str(n), "side_a_shown": side, "reply": text}
        for n, ((side, *_), text) in enumerate(zip(words, texts, strict=True))
    ]
    expected = {("0", "left"): "model_a", ("0", "right"): "model_b", ("2", "right"): "both_good", ("3", "right"): "both_bad"}
    alone[1] |= {"battle_id": "0", "side_a_shown": "right", "reply": texts[0]}
    for part in (str, lambda text: [{"type": "text", "text": text}]):
        turns = [
            {**{k: v for k, v in row.items() if k != "reply"}, "messages": [
                {"role": "user", "content": part("Which?")}, {"role": "assistant", "content": part(row["reply"])},
                {"role": "user", "content": part('{"verdict": "left"}')}]}
            for row in alone
        ]  # fmt: skip
        for rows in (alone, turns):
            found = read_pairs(tmp_path / "pairs.csv", judged=replies(tmp_path, rows)).filter(pl.col("verdict").is_not_null())
            assert {tuple(row[:2]): row[2] for row in found.select("battle_id", "side_a_shown", "verdict").rows()} == expected
    shown = CliRunner().invoke(
        main, ["votes", "audit", str(tmp_path / "pairs.csv"), "--judged", str(tmp_path / "replies.jsonl"), "--format", "json"]
    )
    row = json.loads(shown.stdout)["rows"][0]
    assert (row["pairs"], row["missing"]) == (9, 6)


@for_each(
    "reply",
    [*(text for text in HOSTILE_REPLIES if "\ud800" not in text), '{"verdict": "a"}', '{"verdict": "left"', "left", None],
)
def test_a_reply_that_is_no_verdict_is_missing(tmp_path: Path, reply: str | None) -> None:
    rows = [
        {"battle_id": "0", "side_a_shown": "left", "reply": reply},
        {"battle_id": "1", "side_a_shown": "left", "reply": '{"reason": "", "verdict": "left"}'},
    ]
    found = read_pairs(tmp_path / "pairs.csv", judged=replies(tmp_path, rows))
    assert dict(found.select("battle_id", "verdict").rows())["0"] is None


@for_each(
    ("row", "words"),
    [
        ({"messages": []}, "missing column 'side_a_shown'"),
        ({"messages": [{"content": "x"}], "side_a_shown": "left"}, "row 1, column 'messages'"),
        ({"messages": "text", "side_a_shown": "left"}, "row 1, column 'messages'"),
        ({"reply": "x", "side_a_shown": "top"}, "row 1, column 'side_a_shown'"),
        ({"reply": 7.5, "side_a_shown": "left"}, "row 1, column 'reply'"),
    ],
)
def test_a_wrong_cell_of_replies_is_named(tmp_path: Path, row: Row, words: str) -> None:
    with pytest.raises(AgreementError, match=words):
        read_pairs(tmp_path / "pairs.csv", judged=replies(tmp_path, [{"battle_id": "0", **row}]))


# --- Users' own copies

GENAI = {
    "gpt4o": (45.59, 53.54, 48.46, 55.44, 72.17, 68.86),
    "gemini-1.5-pro": (44.67, 55.93, 46.21),
    "random": (25.36, 25.90, 25.16),
}
"""Of TIGER-AI-Lab/GenAI-Bench at f0b0334: accuracy in pictures, edits and videos, and over the pairs that people decided."""
MMRB2 = {
    ("t2i", "task1_image"): (53.20, 1_000),
    ("edit", "task2_edit"): (55.50, 1_000),
    ("interleaved", "task3_interleaved"): (57.50, 1_000),
    ("reasoning", "task4_reasoning"): (47.50, 1_000),
}
"""Of facebookresearch/MMRB2 at 7ff0552: accuracy of the released sample judgements, which are always A, and pairs."""
MJ_BENCH = {"blur": 0.9543, "human": 0.9500, "mpii": 0.7955, "nsfw": 0.5372, "object_indoor": 0.9900, "toxic": 0.8667}
"""Of MJ-Bench/MJ-Bench at eb269ad: accuracy of the released scores of pickscore_v1."""


def copy_of(variable: str) -> Path:
    folder = os.environ.get(variable)
    if folder is None:
        pytest.skip(f"name your clone in {variable}")
    return Path(folder)


@pytest.mark.study
@pytest.mark.parametrize("judge", GENAI)
def test_released_replies_of_genai_bench_give_its_released_board(judge: str) -> None:
    folder = copy_of("SALON_GENAI_BENCH") / "results"
    exact, decided = [], []
    for task in ("image_generation", "image_edition", "video_generation"):
        pairs = read_pairs(folder / task / judge / "pairwise.jsonl", "genai-bench")
        exact.append(round(100 * audit_judges(pairs).table["exact"].item(), 2))
        ruled = pairs.filter(pl.col("winner").is_in(["model_a", "model_b"]))
        decided.append(round(100 * (ruled["verdict"] == ruled["winner"]).fill_null(False).mean(), 2))
    assert (*exact, *decided)[: len(GENAI[judge])] == GENAI[judge]


@pytest.mark.study
def test_released_judgements_of_mmrb2_give_their_accuracies() -> None:
    folder, right = copy_of("SALON_MMRB2"), []
    for (name, sample), (accuracy, pairs) in MMRB2.items():
        judged = folder / "evaluate/generate_judgements/outputs" / f"sample_{sample}.json"
        frame = read_pairs(folder / "benchmark" / f"{name}_response_only.json", "mmrb2", judged=judged)
        row = released_accuracy(frame, "mmrb2").row(0, named=True)
        assert (round(100 * row["released"], 2), frame["battle_id"].n_unique()) == (accuracy, pairs), name
        right.append((row["released"] * row["rows"], row["rows"]))
    correct, seen = (sum(each) for each in zip(*right, strict=True))
    assert correct / seen == 0.53425


@pytest.mark.study
def test_released_scores_of_mj_bench_give_their_accuracies() -> None:
    folder = copy_of("SALON_MJ_BENCH") / "personal/result/pickscore_v1"
    for aspect, accuracy in MJ_BENCH.items():
        pairs = read_pairs(folder / f"{aspect}0.0.json", "mj-bench")
        assert released_accuracy(pairs, "mj-bench")["released"].round(4).to_list() == [accuracy], aspect


MJ_ALIGNMENT = {"actions": 117, "attributes": 229, "existence": 251, "other": 243, "spatial": 76}
"""Of the same commit: pairs of the aspects of alignment."""


@pytest.mark.study
def test_labels_of_mj_bench_nearly_always_name_the_first_picture() -> None:
    folder = copy_of("SALON_MJ_BENCH")
    first, pictures, counts = 0, set(), {}
    for aspect in MJ_ALIGNMENT:
        path = folder / "alignment/benchmark" / aspect / f"{aspect}_test.json"
        rows, pairs = json.loads(path.read_text()), read_pairs(path, "mj-bench")
        better = [row["picture_a" if row["winner"] == "model_a" else "picture_b"] for row in pairs.iter_rows(named=True)]
        assert better == [row[f"image{row['label']}"] for row in rows]
        counts[aspect] = pairs.height
        first += sum(row["label"] == 0 for row in rows)
        pictures |= {frozenset(pair) for pair in pairs.select("picture_a", "picture_b").iter_rows()}
    assert (counts, first, len(pictures)) == (MJ_ALIGNMENT, 816, 533)
    sets = sorted((folder / "personal/result").glob("*/*.json"))
    assert len(sets) == 36
    for path in sets:
        assert {str(row["label"]) for row in json.loads(path.read_text())} == {"0"}, path
        winners = read_pairs(path, "mj-bench")["winner"]
        assert 0.4 < (winners == "model_a").mean() < 0.6, "sides are drawn"
