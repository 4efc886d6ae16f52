"""Judges beside people and beside each other: the printed numbers of two papers, and what has no coefficient."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from salon_bench.analysis.agreement import agreement
from salon_bench.cli.results import results
from salon_bench.runs.score_rows import frame_of, read_marks, read_scores
from salon_bench.suites.prism import Track
from salon_published import load
from salon_published.tables import table as published
from salon_ranking.agreement import kendall, spearman
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score

PRINTED = {
    "imagination": (0.861, 0.720),
    "entity": (0.872, 0.704),
    "text-rendering": (0.978, 0.903),
    "style": (0.973, 0.888),
    "affection": (0.872, 0.739),
    "composition": (0.935, 0.806),
    "long-text": (0.982, 0.947),
}
"""The last row of Table 3 of paper 003."""


def score(model, prompt, axis, value, *, track="style", judge="j", generation=True):
    return Score(
        run_id=f"run-{model}-{judge}",
        suite="prism",
        task=track,
        subject_model=model,
        prompt_id=prompt,
        generation_id=f"{model}/{prompt}" if generation else None,
        dimension=axis,
        value=value,
        unscored_reason=None if value is not None else "malformed",
        judge=judge,
    )


def scores_of(values, **how):
    """Rows from {(model, prompt): (alignment, aesthetic)}."""
    return frame_of(
        [
            score(model, prompt, axis, value, **how)
            for (model, prompt), both in values.items()
            for axis, value in zip(("alignment", "aesthetic"), both, strict=True)
        ]
    )


def marks_of(values):
    rows = [(prompt, model, rater, float(mark)) for (model, prompt), marks in values.items() for rater, mark in marks.items()]
    return pl.DataFrame(rows, schema=["prompt_id", "model", "rater_id", "value"], orient="row")


AXES = ("alignment", "aesthetic")


def rows_of(found, task="style"):
    return list(found.table.filter(pl.col("task").eq_missing(pl.lit(task))).iter_rows(named=True))


def beside(scores, other, level="models", **how):
    """The only pair of PRISM-Bench's style track: a picture's score is the mean of alignment and aesthetics."""
    frames = {"scores": scores, "ratings": other} if "rater_id" in other.columns else {"scores": pl.concat([scores, other])}
    found = agreement(**frames, level=level, by_task=True, dimensions=AXES, **how)
    [row] = rows_of(found)
    return row


def test_the_inter_judge_row_of_prism_table_3_comes_out_of_tables_1_and_4_to_the_printed_digit():
    judges = []
    for number in ("prism:1", "prism:4"):
        table = load(number)
        values = [
            score(model, "p", axis, float(row[f"{track.column}.average"]) / 10, track=str(track), judge=number)
            for row in table.iter_rows(named=True)
            for model in [row["model"]]
            for track in Track
            for axis in AXES
        ]
        judges.append(frame_of(values))
    table = agreement(pl.concat(judges), by_task=True, dimensions=AXES, replicates=50).table
    assert {
        row["task"]: (round(row["spearman"], 3), round(row["kendall"], 3)) for row in table.iter_rows(named=True)
    } == PRINTED
    assert table["items"].to_list() == [19] * 7
    assert (table["spearman_low"] <= table["spearman"]).all()


def test_the_ranks_under_both_judges_of_r3_table_8_come_out_as_printed():
    table = published("r3:8")
    scores = [
        score(name, "p", "s_rect", float(text), judge=judge)
        for judge in ("gpt", "qwen")
        for name, text in zip(table.names, table.printed[f"{judge}.s_rect"], strict=True)
    ]
    found = agreement(frame_of(scores), replicates=0)
    for judge in ("gpt", "qwen"):
        printed = dict(zip(table.names, map(int, table.printed[f"{judge}.rank"]), strict=True))
        assert dict(found.models.select("model", f"{judge} rank").iter_rows()) == printed
    [row] = found.table.iter_rows(named=True)
    assert (row["first"], row["second"], row["same_rank"]) == ("gpt", "qwen", pytest.approx(8 / 9))
    assert row["kendall"] > 0.98


def test_the_judge_is_compared_with_the_mean_of_the_raters_picture_by_picture():
    random = np.random.default_rng(0)
    keys = [(f"m{model}", f"p{prompt}") for model in range(4) for prompt in range(8)]
    judged = {key: tuple(map(float, random.integers(0, 11, 2))) for key in keys}
    people = {key: dict(zip("abc", random.integers(1, 11, 3), strict=True)) for key in keys}
    row = beside(scores_of(judged), marks_of(people), "pictures", replicates=400)
    first, second = [np.mean(judged[key]) for key in keys], [np.mean(list(people[key].values())) for key in keys]
    assert (row["spearman"], row["kendall"]) == pytest.approx((spearman(first, second), kendall(first, second)))
    assert (row["items"], row["left_out"], row["second"]) == (32, 0, "people")
    assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
    over_models = beside(scores_of(judged), marks_of(people), replicates=0)
    by_picture = (
        {key: np.mean(values) for key, values in judged.items()},
        {k: np.mean([*v.values()]) for k, v in people.items()},
    )
    means = [[np.mean([of[key] for key in keys if key[0] == f"m{model}"]) for model in range(4)] for of in by_picture]
    assert over_models["spearman"] == pytest.approx(spearman(*means))


def test_pictures_without_both_scores_are_left_out_and_counted_and_those_that_nobody_rated_are_not():
    judged = {("m", f"p{number}"): (float(number), 5.0) for number in range(5)} | {
        ("m", "p5"): (None, 5.0),
        ("m", "p6"): (1.0, None),
    }
    people = {key: {"ann": number, "bob": number} for number, key in enumerate(judged)} | {("m", "nobody"): {"ann": 3}}
    judged |= {("m", "unrated"): (9.0, 9.0)}
    row = beside(scores_of(judged), marks_of(people), "pictures", replicates=0)
    assert (row["items"], row["left_out"], row["spearman"]) == (5, 2, pytest.approx(1.0))


def test_people_are_counted_and_how_far_they_agree_is_noted_or_why_it_is_not_known():
    judged = scores_of({("m", f"p{number}"): (float(number), 5.0) for number in range(4)})
    opinions = {("m", "p0"): [1, 1, 1], ("m", "p1"): [1, 1, 0], ("m", "p2"): [1, 0, 0], ("m", "p3"): [0, 0, 0]}
    people = marks_of({key: dict(zip("abc", values, strict=True)) for key, values in opinions.items()})
    [note] = agreement(judged, people, dimensions=AXES, replicates=0).notes
    assert note.startswith("4 rated pictures, 12 marks by 3 raters: Krippendorff's alpha (ordinal) ")
    assert note.endswith("Fleiss' kappa 0.333.")
    [uneven] = agreement(judged, people[:-1], dimensions=AXES, replicates=0).notes
    assert "Fleiss' kappa none" in uneven and "number of raters" in uneven


def test_an_interval_of_few_models_ends_where_coefficients_do():
    for orders in (((0, 1, 2, 3, 4, 5), (0, 2, 1, 4, 3, 5)), ((0, 1, 2, 3, 4, 5, 6), (1, 0, 2, 3, 4, 6, 5))):
        values = [{(f"m{place}", "p"): (float(value), 0.0) for place, value in enumerate(order)} for order in orders]
        scores = pl.concat([scores_of(each, judge=judge) for judge, each in zip("jk", values, strict=True)])
        [row] = agreement(scores, dimensions=["alignment"]).table.iter_rows(named=True)
        assert -1 <= row["spearman_low"] < row["spearman"] <= row["spearman_high"] <= 1
        assert -1 <= row["kendall_low"] < row["kendall"] <= row["kendall_high"] <= 1


def test_what_does_not_exist_is_null_with_its_reason():
    judged = scores_of({("m", f"p{number}"): (5.0, 5.0) for number in range(5)})
    people = marks_of({("m", f"p{number}"): {"ann": number} for number in range(5)})
    row = beside(judged, people, "pictures")
    assert row["spearman"] is None and "all values are the same" in row["reason"]
    assert beside(judged, people)["reason"] == "fewer than 3 on both sides"


def test_a_coefficient_without_an_interval_says_in_how_many_resamples_it_does_not_exist():
    judged = scores_of({("m", f"p{number}"): (float(number == 0),) * 2 for number in range(12)})
    other = scores_of({("m", f"p{number}"): (float(number), float(number)) for number in range(12)}, judge="k")
    row = beside(judged, other, "pictures")
    assert (row["spearman"] is not None, row["spearman_low"]) == (True, None)
    lost = int(row["reason"].split("all the same in ")[1].split(" of 1,000 resamples")[0])
    assert 250 < lost < 450  # (11 / 12) ** 12 of them lack the one picture that differs
    assert beside(other, other.with_columns(judge=pl.lit("l")), "pictures")["reason"] is None


def test_pictures_of_one_prompt_are_drawn_together():
    judged = {(f"m{model}", f"p{prompt}"): (float(prompt), float(prompt)) for model in range(10) for prompt in range(8)}
    noisy = {key: {"ann": prompt + model % 2} for key in judged for model, prompt in [(int(key[0][1:]), int(key[1][1:]))]}
    whole = beside(scores_of(judged), marks_of(noisy), "pictures", replicates=200)
    alone = {(model, f"{prompt}-{model}"): value for (model, prompt), value in judged.items()}
    single = {(model, f"{prompt}-{model}"): value for (model, prompt), value in noisy.items()}
    apart = beside(scores_of(alone), marks_of(single), "pictures", replicates=200)
    assert whole["kendall"] == pytest.approx(apart["kendall"])
    assert whole["kendall_high"] - whole["kendall_low"] > apart["kendall_high"] - apart["kendall_low"]


def test_two_judges_are_compared_over_pictures_of_one_model():
    one = {("m", f"p{number}"): (float(number), float(number)) for number in range(6)}
    other = {key: (10.0 - first, 10.0 - second) for key, (first, second) in one.items()} | {("m", "p0"): (None, 3.0)}
    row = beside(scores_of(one), scores_of(other, judge="k"), "pictures", replicates=20)
    assert (row["kendall"], row["items"], row["left_out"]) == (pytest.approx(-1.0), 5, 1)


def test_every_pair_of_judges_is_compared_and_each_with_people_dimension_by_dimension():
    values = {(f"m{model}", f"p{prompt}"): (float(model), float(-model)) for model in range(4) for prompt in range(2)}
    judges = [scores_of(values, judge=name) for name in "kj"]
    later = judges[0].with_columns(judge_version=pl.lit("2"))
    people = marks_of({key: {"ann": both[0]} for key, both in values.items()})
    found = agreement(pl.concat([*judges, later.with_columns(run_id=pl.lit("again"))]), people, replicates=0)
    pairs = [("j", "k"), ("j", "k 2"), ("j", "people"), ("k", "k 2"), ("k", "people"), ("k 2", "people")]
    assert list(found.table.select("first", "second").iter_rows()) == pairs * 2
    assert found.table["dimension"].to_list() == ["aesthetic"] * 6 + ["alignment"] * 6
    beside_people = found.table.filter(second="people").select("dimension", "kendall").unique().sort("dimension").rows()
    assert beside_people == [("aesthetic", -1.0), ("alignment", 1.0)]
    assert found.models.filter(dimension="alignment")["people rank"].to_list() == [1, 2, 3, 4]


def test_ratings_of_several_dimensions_are_those_of_the_same_name():
    values = {(f"m{model}", "p"): (float(model), float(-model)) for model in range(3)}
    marks = marks_of({key: {"ann": both[0]} for key, both in values.items()})
    named = [
        marks.with_columns(dimension=pl.lit(name), value=pl.col("value") * sign)
        for name, sign in zip(AXES, (1, -1), strict=True)
    ]
    found = agreement(scores_of(values), pl.concat(named), replicates=0)
    assert found.table["kendall"].to_list() == [1.0, 1.0]
    with pytest.raises(InputError, match="none is called 'alignment'"):
        agreement(scores_of(values), pl.concat([named[1], marks.with_columns(dimension=pl.lit("beauty"))]), replicates=0)


def test_missing_pictures_of_several_models_are_no_repetition():
    rows = [score(f"m{n}", "p", axis, None, generation=False, judge=j) for n in range(3) for axis in AXES for j in "ab"]
    found = agreement(frame_of(rows), level="pictures", by_task=True, dimensions=AXES)
    assert found.table["left_out"].to_list() == [3]


def test_the_order_of_rows_does_not_matter():
    random = np.random.default_rng(5)
    keys = [(f"m{model}", f"p{prompt}") for model in range(3) for prompt in range(6)]
    scores = scores_of({key: tuple(map(float, random.integers(0, 11, 2))) for key in keys})
    marks = marks_of({key: dict(zip("abc", random.integers(1, 11, 3), strict=True)) for key in keys})
    mixed = scores.sample(fraction=1, shuffle=True, seed=1), marks.sample(fraction=1, shuffle=True, seed=2)
    for level in ("models", "pictures"):
        one, other = (agreement(*frames, level=level, replicates=30) for frames in ((scores, marks), mixed))
        assert one.table.equals(other.table) and one.models.equals(other.models) and one.notes == other.notes


def test_rows_that_contradict_each_other_are_refused():
    scores = scores_of({("m", f"p{number}"): (5.0, 5.0) for number in range(3)})
    marks = marks_of({("m", "p0"): {"ann": 3}})
    for problem, frames, how in (
        ("a rater has marked a picture twice", (scores, pl.concat([marks, marks])), {}),
        ("several scores of one dimension", (pl.concat([scores, scores]), marks), {}),
        ("no other judges or raters to compare with", (scores,), {}),
        ("unknown level 'prompts'", (scores, marks), {"level": "prompts"}),
        ("the ratings lack the column 'rater_id'", (scores, marks.drop("rater_id")), {}),
        ("no such dimension: 'beauty'", (scores, marks), {"dimensions": ["beauty"]}),
        ("0 or more", (scores, marks), {"seed": -1}),
    ):
        with pytest.raises(InputError, match=problem):
            agreement(*frames, **how)


def test_the_command_prints_pairs_models_and_people(tmp_path):
    values = {(f"m{model}", f"p{prompt}"): (float(model), float(model)) for model in range(4) for prompt in range(3)}
    pl.concat([scores_of(values, judge=name) for name in "jk"]).write_csv(tmp_path / "scores.csv")
    marks_of({key: {"ann": both[0], "bob": both[0]} for key, both in values.items()}).write_csv(tmp_path / "marks.csv")
    words = [
        str(tmp_path / "scores.csv"),
        "--ratings",
        str(tmp_path / "marks.csv"),
        "--bootstrap",
        "20",
        "--dimension",
        "alignment",
    ]

    def call(*more):
        done = CliRunner().invoke(results, ["agreement", *words, "--dimension", "alignment", *more])
        assert done.exit_code == 0, done.output
        return done.stdout

    shown = call()
    for text in ("j rank", "people rank", "12 rated pictures, 24 marks by 2 raters", "percentile bootstrap over models, 20"):
        assert text in shown
    document = json.loads(call("--level", "pictures", "--by", "task", "--format", "json"))
    assert [(pair["task"], pair["first"], pair["second"], pair["kendall"]) for pair in document["pairs"]] == [
        ("style", "j", "k", 1.0), ("style", "j", "people", 1.0), ("style", "k", "people", 1.0),
    ]  # fmt: skip
    assert document["models"] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prompt_id,rater_id,value\np,ann,3\n", "column 'model': the column is missing"),
        ("prompt_id,model,value\np,m,3\n", "column 'rater_id': the column is missing"),
        ("prompt_id,model,rater_id\np,m,ann\n", "column 'value': the column is missing"),
        ("prompt_id,model,rater_id,value\np,m,ann,good\n", "row 1, column 'value': must be a finite number, not 'good'"),
        ("prompt_id,model,rater_id,value\n", "there is no mark"),
    ],
)
def test_a_wrong_table_of_marks_is_named_with_its_place(tmp_path, text, problem):
    path = tmp_path / "marks.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_marks(path)


def test_scores_are_read_from_a_file_and_from_a_store(tmp_path):
    from salon_store import ResultStore

    rows = [score("m", "p", "aesthetic", None), score("m", "p", "alignment", 5.0)]  # the order in which runs are read
    store = ResultStore.open(tmp_path / "results")
    store.append("scores", rows, run_id="run-m-j")
    frame_of(rows).write_csv(tmp_path / "scores.csv")
    from_file = read_scores([str(tmp_path / "scores.csv")], tmp_path)
    from_store = read_scores(["run-m-j"], tmp_path / "results")
    assert from_file.select(frame_of([]).columns).equals(from_store.select(frame_of([]).columns))
    with pytest.raises(InputError, match="no scores of the run 'another'"):
        read_scores(["another"], tmp_path / "results")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="there is no score"):
        read_scores([str(tmp_path / "empty.csv")], tmp_path)
    (tmp_path / "bad.csv").write_text("run_id,suite\nr,s\n")
    with pytest.raises(InputError, match="row 1, column 'task': the column is missing"):
        read_scores([str(tmp_path / "bad.csv")], tmp_path)


def test_marks_are_read_from_a_store(tmp_path):
    from salon_store import ResultStore
    from salon_taxonomy.records import Rating

    names = {"prompt_id": "p", "generation_id": "g", "model": "m", "dimension": "whole", "rater_id": "ann"}
    ResultStore.open(tmp_path).append(
        "ratings", [Rating(rating_id="r", value=7, scale_min=1, scale_max=10, **names)], run_id="r"
    )
    assert read_marks(tmp_path).row(0, named=True) == names | {"value": 7.0}
