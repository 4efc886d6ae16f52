"""Votes as preference data: counts, splits that no prompt is in twice, and what must be refused."""

import json
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from for_each import for_each
from salon_console import main
from salon_ranking import Battles, preference_pairs
from salon_ranking.agreement.pair_sets import form_of, read_pairs
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.near_prompts import near_groups
from salon_ranking.preferences import RELEASED, released_rows, trl_rows
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
    same = generations(frame).with_columns(uri=pl.col("uri").replace("pictures/0/w.png", "pictures/0/x.png"))
    with pytest.raises(BattleError, match=r"generations.*a picture is compared with itself: 'pictures/0/x.png'"):
        preference_pairs(Battles.from_frame(frame), generations=same)
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


WORDS = ["a", "cat", "red", "on", "the", "table", "in", "rain", "two", "dogs", "blue", "car"]
PROMPTS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join),
        st.permutations(WORDS).map(lambda words: " ".join(words[:-1])),
        st.permutations(WORDS).map(" ".join),
    ),
    min_size=1,
    max_size=12,
)


def share(one: str, other: str) -> float:
    first, second = set(one.split()), set(other.split())
    return len(first & second) / len(first | second)


@given(PROMPTS)
def test_groups_of_prompts_are_those_of_comparing_every_two(prompts: list[str]):
    groups = near_groups(prompts)
    names = dict(zip(prompts, prompts, strict=True))
    for _ in prompts:
        for one, other in combinations(prompts, 2):
            if share(one, other) >= 0.9:
                names[one] = names[other] = min(names[one], names[other])
    assert groups == names
    shuffled = [prompts[place] for place in np.random.default_rng(0).permutation(len(prompts))]
    assert near_groups(shuffled) == groups, "no order changes a group"
    assert near_groups([*prompts, "something quite different"]).items() >= groups.items()


@given(PROMPTS, st.integers(0, 9), st.randoms(use_true_random=False))
def test_no_split_divides_prompts_that_are_nearly_one_or_share_a_picture(prompts: list[str], seed: int, random: Random):
    names = ("prompt_id", "prompt", "generation_a", "generation_b")
    pictures = [(f"{place}", f"x{random.randrange(9)}") for place in range(len(prompts))]
    rows = [ROW | dict(zip(names, (prompt, prompt, *two), strict=True)) for prompt, two in zip(prompts, pictures, strict=True)]
    table = preference_pairs(Battles.from_frame(pl.DataFrame(rows)), held_out=0.5, seed=seed).table
    tested, learned = (table.filter(split=split) for split in ("test", "train"))
    assert not {*tested["rejected"]} & {*learned["rejected"]}
    assert not [1 for one in tested["prompt"] for other in learned["prompt"] if share(one, other) >= 0.9]


@given(st.integers(1, 60), st.integers(0, 6), st.integers(0, 6))
def test_words_more_here_and_there_are_counted_at_every_length(alike: int, here: int, there: int):
    one, other = (
        " ".join([*(f"w{number}" for number in range(alike)), *own])
        for own in ([f"x{number}" for number in range(here)], [f"y{number}" for number in range(there)])
    )
    groups = near_groups([one, other, "nothing like it"])
    assert (groups[one] == groups[other]) == (10 * alike >= 9 * (alike + here + there))


def test_order_of_words_and_punctuation_make_no_other_prompt_and_one_place_is_one_picture():
    rows = [
        {**ROW, "prompt_id": text, "prompt": text, "generation_a": text, "generation_b": text + "!"}
        for text in ("A red cat, on the table.", "on the table: a red cat", "a dog", "a bird")
    ]
    ids = [row[side] for row in rows for side in ("generation_a", "generation_b")]
    places = pl.DataFrame({"generation_id": ids, "uri": [*"123456", "5", "8"]})
    for seed in range(8):
        table = preference_pairs(Battles.from_frame(pl.DataFrame(rows)), generations=places, held_out=0.5, seed=seed).table
        split = dict(table.select("prompt", "split").rows())
        assert split[rows[0]["prompt"]] == split[rows[1]["prompt"]] and split["a dog"] == split["a bird"]


def test_one_picture_at_two_places_is_in_one_split():
    own = [{"generation_a": f"{one}a", "generation_b": f"{one}b", "prompt_id": one, "prompt": one} for one in WORDS[:8]]
    ids = [each[side] for each in own for side in ("generation_a", "generation_b")]
    digests = ["the same" if name.endswith("a") else name for name in ids]
    places = pl.DataFrame({"generation_id": ids, "uri": ids, "sha256": digests})
    for seed in range(8):
        battles = Battles.from_frame(pl.DataFrame([ROW | each for each in own]))
        table = preference_pairs(battles, generations=places, held_out=0.5, seed=seed).table
        assert table["split"].n_unique() == 1


@for_each("hidden", ["\u200b", "\u200d", "\u00ad", "\u2060", "\ufeff", "\ufe0f", "\u202e", "\U000e0061"])
def test_characters_that_nobody_sees_make_no_other_prompt(hidden: str):
    seen = "a red cat on a mat"
    for place in range(len(seen) + 1):
        unseen = seen[:place] + hidden + seen[place:]
        assert near_groups([seen, unseen])[unseen] == seen


@for_each(
    ("one", "other", "near"),
    [
        ("一只红色的猫在垫子上", "一只红色的猫在垫子上跑", True),
        ("一只红色的猫在垫子上", "三辆蓝色的车停在路边", False),
        ("赤い猫がマットの上で静かに眠る", "赤い猫がマットの上で静かに眠る。", True),
        ("แมวสีแดงนอนอยู่บนเสื่อ", "แมวสีแดงนอนอยู่บนเสื่อๆ", True),
        ("लाल बिल्ली चटाई पर", "लाल बालू चटाई पर", False),
        ("red cat 红色的猫在垫子上睡觉", "red cat, 红色的猫在垫子上睡觉!", True),
    ],
)
def test_prompts_are_compared_in_scripts_without_spaces_and_with_marks(one: str, other: str, near: bool):
    groups = near_groups([one, other])
    assert (groups[one] == groups[other]) == near


@given(st.lists(st.sampled_from(["a.png", "b.png", "c.png", "d.png"]), min_size=2, max_size=8), st.integers(0, 9))
def test_no_split_divides_the_edits_of_one_source(sources: list[str], seed: int):
    own = [{"prompt": f"{WORDS[place]} it", "source": source} for place, source in enumerate(sources)]
    sides = [{"generation_a": f"{place}a", "generation_b": f"{place}b"} for place in range(len(sources))]
    rows = [ROW | facts | two | {"prompt_id": facts["prompt"]} for facts, two in zip(own, sides, strict=True)]
    table = preference_pairs(Battles.from_frame(pl.DataFrame(rows)), held_out=0.5, seed=seed).table
    assert table.group_by("source").agg(pl.col("split").n_unique())["split"].to_list() == [1] * len({*sources})


def test_a_row_has_the_digests_of_its_pictures_where_the_generations_do():
    places = {"generation_id": ["1", "2"], "uri": ["1.png", "2.png"], "sha256": ["one", None]}
    battles = Battles.from_frame(pl.DataFrame([ROW | {"generation_a": "2", "generation_b": "1", "winner": "model_b"}]))
    row = preference_pairs(battles, generations=pl.DataFrame(places)).table.row(0, named=True)
    assert (row["chosen"], row["chosen_sha256"], row["rejected"], row["rejected_sha256"]) == ("1.png", "one", "2.png", None)
    without = [pl.DataFrame(places | {"sha256": [None, None]}), pl.DataFrame(places).drop("sha256")]
    for generations in without:
        assert "chosen_sha256" not in preference_pairs(battles, generations=generations).table.columns
    twice = pl.DataFrame(
        {"generation_id": ["1", "1", "2"], "uri": ["1.png", "1.png", "2.png"], "sha256": ["one", "other", "two"]}
    )
    with pytest.raises(BattleError, match=r"column 'sha256': an id means two things: '?1"):
        preference_pairs(battles, generations=twice)


def test_a_row_says_who_decided_and_what_was_edited_where_the_votes_do():
    rows = [{**ROW, "source": "sofa.png", "mode": mode} for mode in ("public", "judge", "public")]
    table = preference_pairs(Battles.from_frame(pl.DataFrame(rows))).table
    assert table.select("source", "mode", "votes_chosen").rows() == [("sofa.png", "judge+public", 3.0)]
    assert {"source", "mode"}.isdisjoint(preference_pairs(Battles.from_frame(pl.DataFrame([ROW]))).table.columns)
    with pytest.raises(BattleError, match="two of source"):
        preference_pairs(Battles.from_frame(pl.DataFrame([*rows, rows[0] | {"source": "other.png"}])))


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


@pytest.mark.parametrize("form", ["trl", *RELEASED])
def test_a_written_row_depends_neither_on_other_rows_nor_on_their_order_nor_on_further_columns(form: str):
    def rows(pairs: pl.DataFrame) -> set[str]:
        made = trl_rows(pairs, seed=3) if form == "trl" else released_rows(pairs, form, seed=3)
        numbered = ("id", "ranking_id")  # of a row in its file
        return {json.dumps({name: value for name, value in row.items() if name not in numbered}) for row in made}

    frame = votes().with_columns(prompt=pl.concat_str(pl.lit("a cat "), pl.col("prompt_id")))
    pairs = preference_pairs(Battles.from_frame(frame), generations=generations(frame), undecided=True).table
    whole = rows(pairs)
    assert len(whole) > 20
    assert rows(pairs.sample(fraction=1.0, shuffle=True, seed=1).with_columns(note=pl.lit("x"))) == whole
    assert rows(pairs.head(9)) | rows(pairs.tail(-9)) == whole


@pytest.mark.parametrize("form", RELEASED)
def test_pairs_in_the_columns_of_a_released_set_are_read_back_as_they_were(form: str, tmp_path: Path):
    frame = votes().with_columns(prompt=pl.concat_str(pl.lit("a cat "), pl.col("prompt_id")))
    pairs = preference_pairs(Battles.from_frame(frame), generations=generations(frame), undecided=True).table
    (tmp_path / "all.json").write_text(json.dumps(released_rows(pairs, form)))
    assert form_of(tmp_path / "all.json") == form
    questions = [own.drop("battle_id", "category") for own in read_pairs(tmp_path / "all.json").partition_by("category")]
    assert len(questions) == (3 if form == "videoreward" else 1) and all(own.equals(questions[0]) for own in questions)
    read = questions[0].with_columns(model_a=pl.coalesce("model_a", pl.lit("a")), model_b=pl.coalesce("model_b", pl.lit("b")))
    read = read.rename({"picture_a": "generation_a", "picture_b": "generation_b"}).drop("votes_a", "votes_b")
    again = preference_pairs(Battles.from_frame(read), undecided=True).table
    columns = ["prompt", "chosen", "rejected"]
    decided = pairs.filter(pl.col("margin") > 0)
    assert_frame_equal(again.filter(pl.col("margin") > 0).select(columns).sort(columns), decided.select(columns).sort(columns))
    assert again.height == (decided if form == "hpdv3" else pairs).height < len(votes())
    if form == "hpdv3":
        counts = read_pairs(tmp_path / "all.json").select(pl.max_horizontal("votes_a", "votes_b").sum()).item()
        assert counts == decided["votes_chosen"].sum()
    with pytest.raises(OptionError, match="unknown form"):
        released_rows(pairs, "hpdv4")
    with pytest.raises(BattleError, match="a prompt is missing"):
        released_rows(pairs.with_columns(prompt=pl.lit(None, pl.String)), form)
    frame.write_csv(tmp_path / "votes.csv")
    words = ["votes", "pairs", str(tmp_path / "votes.csv"), "--form", form, "--held-out", "0", "--output"]
    assert CliRunner().invoke(main, [*words, str(tmp_path / "told.json")]).exit_code == 0
    assert form_of(tmp_path / "told.json") == form
    told = CliRunner().invoke(main, [*words, str(tmp_path / "told.csv")])
    assert told.exit_code == (2 if form in ("hpdv3", "imagerewarddb") else 0), told.output
    if told.exit_code == 0:
        assert_frame_equal(read_pairs(tmp_path / "told.csv"), read_pairs(tmp_path / "told.json"))


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


def test_a_pair_that_nobody_voted_about_is_no_pair():
    rows = [ROW | {"votes_a": 0, "votes_b": 0}, ROW | {"votes_a": 2, "votes_b": 2, "generation_b": "3", "model_b": "z"}]
    found = preference_pairs(Battles.from_frame(pl.DataFrame(rows)), undecided=True)
    assert found.table.select("votes_chosen", "votes_rejected", "margin").rows() == [(2.0, 2.0, 0.0)] and found.undecided == 1
    assert trl_rows(found.table.with_columns(prompt=pl.lit("a"))) == []
