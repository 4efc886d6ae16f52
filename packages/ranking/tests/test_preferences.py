"""Votes as preference data: counts, splits that no prompt is in twice, and what must be refused."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from salon_console import main
from salon_ranking import Battles, preference_pairs
from salon_ranking.errors import BattleError
from salon_ranking.preferences import trl_rows
from salon_taxonomy.answers import parse_pair_verdict


def votes(count: int = 400, seed: int = 0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a = random.integers(0, 4, count)
    b = (a + random.integers(1, 4, count)) % 4
    prompt = random.integers(0, 30, count)
    names = np.array(["w", "x", "y", "z"])
    return pl.DataFrame(
        {
            "battle_id": [f"b{number}" for number in range(count)],
            "prompt_id": [f"p{number}" for number in prompt],
            "model_a": names[a],
            "model_b": names[b],
            "generation_a": [f"{p}/{m}" for p, m in zip(prompt, names[a], strict=True)],
            "generation_b": [f"{p}/{m}" for p, m in zip(prompt, names[b], strict=True)],
            "winner": random.choice(["model_a", "model_b", "tie", "both_bad"], count),
            "rater_id": [f"r{number % 7}" for number in range(count)],
        }
    )


def generations(frame: pl.DataFrame) -> pl.DataFrame:
    ids = pl.concat([frame["generation_a"], frame["generation_b"].alias("generation_a")]).unique().sort()
    return pl.DataFrame({"generation_id": ids, "uri": "pictures/" + ids + ".png"})


def test_every_vote_is_in_a_row_or_in_an_undecided_pair():
    frame = votes()
    found = preference_pairs(Battles.from_frame(frame), generations=generations(frame))
    counted: dict[frozenset[str], dict[str, int]] = {}
    for row in frame.iter_rows(named=True):
        pair = counted.setdefault(frozenset((row["generation_a"], row["generation_b"])), {})
        winner = {"model_a": row["generation_a"], "model_b": row["generation_b"]}.get(row["winner"], "tie")
        pair[winner] = pair.get(winner, 0) + 1
    rows = {}
    for pair, said in counted.items():
        one, other = sorted(pair)
        if said.get(one, 0) != said.get(other, 0):
            chosen, rejected = (one, other) if said.get(one, 0) > said.get(other, 0) else (other, one)
            rows[f"pictures/{chosen}.png", f"pictures/{rejected}.png"] = (
                said[chosen],
                said.get(rejected, 0),
                said.get("tie", 0),
            )
    table = found.table
    assert found.battles == 400 and found.undecided == len(counted) - len(rows) > 0
    assert {
        (row[0], row[1]): row[2:] for row in table.select("chosen", "rejected", "votes_chosen", "votes_rejected", "ties").rows()
    } == rows
    assert (table["margin"] > 0).all() and (table["margin"] <= 1).all()
    assert (table["chosen"] == "pictures/" + table["prompt_id"].str.slice(1) + "/" + table["chosen_model"] + ".png").all()


def test_order_sides_and_votes_without_weight_change_nothing():
    frame = votes()
    plain = preference_pairs(Battles.from_frame(frame), held_out=0.3)
    turned = frame.select(
        *("battle_id", "prompt_id", "rater_id"),
        model_a="model_b",
        model_b="model_a",
        generation_a="generation_b",
        generation_b="generation_a",
        winner=pl.col("winner").replace({"model_a": "model_b", "model_b": "model_a"}),
    ).sample(fraction=1.0, shuffle=True, seed=1)
    assert_frame_equal(preference_pairs(Battles.from_frame(turned), held_out=0.3).table, plain.table)
    others = votes(seed=5).with_columns(battle_id="other " + pl.col("battle_id"), weight=pl.lit(0.0))
    both = pl.concat([frame.with_columns(weight=pl.lit(1.0)), others])
    weighted = preference_pairs(Battles.from_frame(both, weight="weight"), held_out=0.3)
    assert_frame_equal(weighted.table, plain.table)
    assert (weighted.undecided, weighted.battles) == (plain.undecided, plain.battles)


def test_no_prompt_is_in_both_splits_and_a_split_does_not_depend_on_other_prompts():
    frame = votes()
    texts = pl.DataFrame(
        {"prompt_id": [f"p{number}" for number in range(30)], "text": [f"A  Cat {number // 2}" for number in range(30)]}
    )
    texts = texts.with_columns(
        pl.when(pl.int_range(30) % 2 == 1).then(pl.col("text").str.to_lowercase()).otherwise("text").alias("text")
    )
    found = preference_pairs(Battles.from_frame(frame), prompts=texts, held_out=0.5, seed=3).table
    by_text = found.group_by(pl.col("prompt").str.to_lowercase().str.replace_all(r"\s+", " ")).agg(pl.col("split").n_unique())
    assert by_text["split"].to_list() == [1] * by_text.height and set(found["split"]) == {"train", "test"}
    fewer = preference_pairs(
        Battles.from_frame(frame.filter(pl.col("prompt_id") < "p2")), prompts=texts, held_out=0.5, seed=3
    ).table
    assert dict(fewer.select("prompt_id", "split").rows()).items() <= dict(found.select("prompt_id", "split").rows()).items()
    for share, split in ((0.0, {"train"}), (1.0, {"test"})):
        assert set(preference_pairs(Battles.from_frame(frame), held_out=share).table["split"]) == split


def test_missing_pictures_and_ids_of_two_meanings_are_refused():
    frame = votes()
    places = generations(frame)
    with pytest.raises(BattleError, match=r"no place of 1 picture.*0/w"):
        preference_pairs(Battles.from_frame(frame), generations=places.filter(pl.col("generation_id") != "0/w"))
    twice = pl.concat([places, places.head(1).with_columns(uri=pl.lit("elsewhere.png"))])
    with pytest.raises(BattleError, match="an id means two things"):
        preference_pairs(Battles.from_frame(frame), generations=twice)
    texts = pl.DataFrame({"prompt_id": ["p1", "p1", "gone", "gone"], "text": ["a", "b", "c", "d"]})
    with pytest.raises(BattleError, match=r"an id means two things.*p1"):
        preference_pairs(Battles.from_frame(frame), prompts=texts)
    places = places.with_columns(uri=pl.when(pl.col("generation_id") != "0/w").then("uri"))
    with pytest.raises(BattleError, match="no place of 1 picture"):
        preference_pairs(Battles.from_frame(frame), generations=places)
    with pytest.raises(BattleError, match="missing column 'uri'"):
        preference_pairs(Battles.from_frame(frame), generations=places.drop("uri"))
    with pytest.raises(BattleError, match="is a text, not"):
        preference_pairs(Battles.from_frame(frame), prompts=pl.DataFrame({"prompt_id": ["p1"], "text": [["a"]]}))
    bare = frame.select("model_a", "model_b", "winner")
    with pytest.raises(BattleError, match="missing column 'prompt_id'"):
        preference_pairs(Battles.from_frame(bare))


def test_the_command_reads_a_store_and_leaves_out_flagged_raters(tmp_path: Path):
    frame = votes()
    lazy = pl.DataFrame(
        {
            "battle_id": [f"l{k}" for k in range(60)],
            "prompt_id": "p0",
            "model_a": "w",
            "model_b": "x",
            "generation_a": "0/w",
            "generation_b": "0/x",
        }
    ).with_columns(winner=pl.lit("model_a"), rater_id=pl.lit("lazy"))
    sides = np.random.default_rng(0).choice(["left", "right"], 400)
    whole = pl.concat([frame.with_columns(side_a_shown=pl.Series(sides)), lazy.with_columns(side_a_shown=pl.lit("left"))])
    whole.write_csv(tmp_path / "votes.csv")
    generations(frame).write_csv(tmp_path / "generations.csv")

    def run(*words: str):
        return CliRunner().invoke(main, ["votes", "pairs", str(tmp_path / "votes.csv"), *words])

    everything = run("--output", str(tmp_path / "all.jsonl"), "--generations", str(tmp_path / "generations.csv"))
    assert everything.exit_code == 0 and "460 votes" in everything.stderr, everything.output
    kept = run("--output", str(tmp_path / "kept.parquet"), "--exclude-flagged", "--held-out", "0")
    assert kept.exit_code == 0 and "400 votes" in kept.stderr, kept.output
    table = pl.read_parquet(tmp_path / "kept.parquet")
    assert table.filter(pl.col("votes_chosen") > 20).is_empty() and set(table["split"]) == {"train"}
    assert pl.read_ndjson(tmp_path / "all.jsonl")["chosen"].str.starts_with("pictures/").all()
    printed = run("--held-out", "0.5")
    assert printed.stdout.startswith("prompt_id,prompt,chosen,rejected,")
    assert run("--held-out", "2").exit_code == 2
    assert run("--output", str(tmp_path / "generations.csv"), "--generations", str(tmp_path / "generations.csv")).exit_code == 2


ROW = {"prompt_id": "p", "model_a": "x", "model_b": "y", "generation_a": "1", "generation_b": "2", "winner": "model_a"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ([{}, {"generation_a": None, "generation_b": None}], "1 vote of 2 without"),
        ([{}, {"generation_a": ""}], "1 vote of 2 without"),
        ([{"generation_b": "1"}], "a picture is compared with itself"),
        ([{}, {"prompt_id": "q"}], "two of prompt_id"),
        ([{}, {"model_a": "z"}], "two of first_model"),
        ([{"generation_a": None, "generation_b": None, "prompt_id": None}], "1 vote of 1 without"),
        ([{"generation_a": None, "generation_b": None, "prompt_id": ""}], "1 vote of 1 without"),
    ],
)
def test_votes_that_are_about_no_pair_or_about_two_are_refused(changes: list[dict[str, object]], problem: str):
    frame = pl.DataFrame([{**ROW, **change} for change in changes], schema=dict.fromkeys(ROW, pl.String))
    with pytest.raises(BattleError, match=problem):
        preference_pairs(Battles.from_frame(frame))


def test_equal_weights_are_undecided_and_prompts_of_two_suites_stay_apart():
    rows = [
        {**ROW, "winner": winner, "weight": weight} for winner, weight in (("model_a", 0.1), ("model_a", 0.2), ("model_b", 0.3))
    ]
    assert preference_pairs(Battles.from_frame(pl.DataFrame(rows), weight="weight")).undecided == 1
    suites = [{**ROW, "suite": suite, "winner": winner} for suite, winner in (("s1", "model_a"), ("s2", "model_b"))]
    frame = pl.DataFrame(suites).drop("generation_a", "generation_b")
    texts = pl.DataFrame({"suite": ["s1", "s2"], "prompt_id": ["p", "p"], "text": ["a cat", "a dog"]})
    table = preference_pairs(Battles.from_frame(frame), prompts=texts).table
    assert table.select("prompt", "chosen").rows() == [("a cat", "x"), ("a dog", "y")]


def test_a_share_needs_prompts_and_one_text_is_in_one_split_in_any_unicode_form():
    frame = pl.DataFrame([ROW]).drop("prompt_id")
    with pytest.raises(BattleError, match="cannot be held out"):
        preference_pairs(Battles.from_frame(frame), held_out=0.5)
    assert preference_pairs(Battles.from_frame(frame)).table["split"].to_list() == ["train"]
    for seed in range(8):
        rows = [{**ROW, "prompt_id": text, "prompt": text, "generation_a": text} for text in ("caf\u00e9", "Cafe\u0301  ")]
        split = preference_pairs(Battles.from_frame(pl.DataFrame(rows)), held_out=0.5, seed=seed).table["split"]
        assert split.n_unique() == 1


def test_messages_for_trl_name_the_side_of_the_chosen_picture(tmp_path: Path):
    frame = votes().with_columns(prompt=pl.col("prompt_id"))
    pairs = preference_pairs(Battles.from_frame(frame), generations=generations(frame), undecided=True).table
    rows = trl_rows(pairs, seed=1)
    decided = pairs.filter(pl.col("margin") > 0)
    assert len(rows) == decided.height < pairs.height
    lefts = 0
    for row, pair in zip(rows, decided.iter_rows(named=True), strict=True):
        said = {name: parse_pair_verdict(row[name][0]["content"]).answer for name in ("chosen", "rejected")}
        assert {str(side) for side in said.values()} == {"left", "right"}
        sides = dict(zip(("left", "right"), row["images"], strict=True))
        assert sides[str(said["chosen"])] == pair["chosen"] and sides[str(said["rejected"])] == pair["rejected"]
        assert pair["prompt"] in row["prompt"][0]["content"] and row["split"] == pair["split"]
        lefts += said["chosen"] == "left"
    assert 0.4 < lefts / len(rows) < 0.6, "always one side teaches nothing"
    exchanged = decided.rename({"chosen": "rejected", "rejected": "chosen"})
    assert [row["images"] for row in trl_rows(exchanged, seed=1)] == [row["images"] for row in rows], "sides betray no winner"


def test_messages_need_prompts_pictures_and_a_file_that_holds_lists(tmp_path: Path):
    frame = votes()
    frame.write_csv(tmp_path / "votes.csv")
    generations(frame).write_csv(tmp_path / "places.csv")

    def run(*words: str):
        return CliRunner().invoke(main, ["votes", "pairs", str(tmp_path / "votes.csv"), "--form", "trl", *words])

    assert "Give --prompts" in run("--generations", str(tmp_path / "places.csv")).stderr
    frame.drop("generation_a", "generation_b").with_columns(prompt=pl.col("prompt_id")).write_csv(tmp_path / "votes.csv")
    assert "not a picture" in run().stderr
    frame.with_columns(prompt=pl.col("prompt_id")).write_csv(tmp_path / "votes.csv")
    assert run("--output", str(tmp_path / "out.csv")).exit_code == 2 and not (tmp_path / "out.csv").exists()
    for ending in ("jsonl", "parquet", "json"):
        assert run("--generations", str(tmp_path / "places.csv"), "--output", str(tmp_path / f"out.{ending}")).exit_code == 0
    read = [
        pl.read_ndjson(tmp_path / "out.jsonl"),
        pl.read_parquet(tmp_path / "out.parquet"),
        pl.read_json(tmp_path / "out.json"),
    ]
    assert_frame_equal(read[0], read[1])
    assert_frame_equal(read[0], read[2])


def test_rows_that_count_votes_are_so_many_votes():
    """As of a released set: 12 and 7 for a pair; a row without numbers, or with wrong ones, is one vote by its winner."""
    rows = {"prompt_id": list("pqrst"), "model_a": ["x"] * 5, "model_b": ["y"] * 5, "winner": ["model_a"] * 4 + ["tie"]}
    rows |= {"votes_a": [12, 7, None, -3, 5], "votes_b": [7, 12, 2, 4, 5]}
    table = preference_pairs(Battles.from_frame(rows), undecided=True).table.sort("prompt_id")
    said = table.select("prompt_id", "chosen", "votes_chosen", "votes_rejected", "ties").rows()
    assert said[:4] == [("p", "x", 12, 7, 0), ("q", "y", 12, 7, 0), ("r", "x", 1, 0, 0), ("s", "x", 1, 0, 0)]
    assert said[4][2:] == (5, 5, 0)
    turned = {"model_a": "model_b", "model_b": "model_a", "votes_a": "votes_b", "votes_b": "votes_a"}
    swapped = {turned.get(name, name): column for name, column in rows.items()}
    swapped["winner"] = ["model_b"] * 4 + ["tie"]
    assert preference_pairs(Battles.from_frame(swapped), undecided=True).table.sort("prompt_id").equals(table)
