"""Judges beside people and beside each other: the published row, and what has no coefficient."""

import numpy as np
import polars as pl
import pytest

from salon_bench.suites.prism import Track
from salon_bench.suites.prism.agreement import judge_beside_judge, judge_beside_people
from salon_bench.suites.prism.score_rows import frame_of, read_marks, read_scores
from salon_published import load
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


def row_of(agreement, track="style"):
    [row] = agreement.table.filter(pl.col("track") == track).iter_rows(named=True)
    return row


def test_the_inter_judge_row_of_table_3_comes_out_of_tables_1_and_4_to_the_printed_digit():
    judges = []
    for number in ("prism:1", "prism:4"):
        table = load(number)
        values = [
            score(model, "p", axis, float(row[f"{track.column}.average"]) / 10, track=str(track), judge=number)
            for row in table.iter_rows(named=True)
            for model in [row["model"]]
            for track in Track
            for axis in ("alignment", "aesthetic")
        ]
        judges.append(frame_of(values))
    table = judge_beside_judge(*judges, replicates=50).table
    assert {
        row["track"]: (round(row["spearman"], 3), round(row["kendall"], 3)) for row in table.iter_rows(named=True)
    } == PRINTED
    assert table["items"].to_list() == [19] * 7
    assert (table["spearman_low"] <= table["spearman"]).all()


def test_the_judge_is_compared_with_the_mean_of_the_raters_picture_by_picture():
    random = np.random.default_rng(0)
    keys = [(f"m{model}", f"p{prompt}") for model in range(4) for prompt in range(8)]
    judged = {key: tuple(map(float, random.integers(0, 11, 2))) for key in keys}
    people = {key: dict(zip("abc", random.integers(1, 11, 3), strict=True)) for key in keys}
    found = judge_beside_people(scores_of(judged), marks_of(people), replicates=400)
    first, second = [np.mean(judged[key]) for key in keys], [np.mean(list(people[key].values())) for key in keys]
    row = row_of(found)
    assert (row["spearman"], row["kendall"]) == pytest.approx((spearman(first, second), kendall(first, second)))
    assert (row["items"], row["left_out"]) == (32, 0)
    assert row["spearman_low"] < row["spearman"] < row["spearman_high"]
    assert found.notes[0] == "32 rated pictures, 96 marks; 0 have fewer than 3 raters."


def test_pictures_without_both_scores_are_left_out_and_counted():
    judged = {("m", f"p{number}"): (float(number), 5.0) for number in range(5)} | {
        ("m", "p5"): (None, 5.0),
        ("m", "p6"): (1.0, None),
    }
    people = {key: {"ann": number, "bob": number} for number, key in enumerate(judged)} | {("m", "nobody"): {"ann": 3}}
    found = judge_beside_people(scores_of(judged), marks_of(people), replicates=0)
    assert (row_of(found)["items"], row_of(found)["left_out"], row_of(found)["spearman"]) == (5, 2, pytest.approx(1.0))
    assert found.notes == (
        "8 rated pictures, 15 marks; 8 have fewer than 3 raters.",
        "1 rated pictures have no row of the judge and so no track.",
    )


def test_what_does_not_exist_is_null_with_its_reason():
    judged = scores_of({("m", f"p{number}"): (5.0, 5.0) for number in range(5)})
    people = marks_of({("m", f"p{number}"): {"ann": number} for number in range(5)})
    found = judge_beside_people(judged, people)
    assert row_of(found)["spearman"] is None
    assert "all values are the same" in row_of(found)["reason"]
    assert row_of(found, "entity")["reason"] == "fewer than 3 on both sides"


def test_pictures_of_one_prompt_are_drawn_together():
    judged = {(f"m{model}", f"p{prompt}"): (float(prompt), float(prompt)) for model in range(10) for prompt in range(8)}
    noisy = {key: {"ann": prompt + model % 2} for key in judged for model, prompt in [(int(key[0][1:]), int(key[1][1:]))]}
    whole = row_of(judge_beside_people(scores_of(judged), marks_of(noisy), replicates=200))
    alone = {(model, f"{prompt}-{model}"): value for (model, prompt), value in judged.items()}
    single = {(model, f"{prompt}-{model}"): value for (model, prompt), value in noisy.items()}
    apart = row_of(judge_beside_people(scores_of(alone), marks_of(single), replicates=200))
    assert whole["kendall"] == pytest.approx(apart["kendall"])
    assert whole["kendall_high"] - whole["kendall_low"] > apart["kendall_high"] - apart["kendall_low"]


def test_two_judges_are_compared_over_pictures_of_one_model():
    one = {("m", f"p{number}"): (float(number), float(number)) for number in range(6)}
    other = {key: (10.0 - first, 10.0 - second) for key, (first, second) in one.items()} | {("m", "p0"): (None, 3.0)}
    found = judge_beside_judge(scores_of(one), scores_of(other, judge="k"), "pictures", replicates=20)
    assert (row_of(found)["kendall"], row_of(found)["items"], row_of(found)["left_out"]) == (pytest.approx(-1.0), 5, 1)
    assert row_of(judge_beside_judge(scores_of(one), scores_of(other)))["reason"] == "fewer than 3 on both sides"


def test_missing_pictures_of_several_models_are_no_repetition():
    rows = [score(f"m{n}", "p", axis, None, generation=False) for n in range(3) for axis in ("alignment", "aesthetic")]
    assert row_of(judge_beside_judge(frame_of(rows), frame_of(rows), "pictures"))["left_out"] == 3


def test_the_order_of_rows_does_not_matter():
    random = np.random.default_rng(5)
    keys = [(f"m{model}", f"p{prompt}") for model in range(3) for prompt in range(6)]
    scores = scores_of({key: tuple(map(float, random.integers(0, 11, 2))) for key in keys})
    marks = marks_of({key: dict(zip("abc", random.integers(1, 11, 3), strict=True)) for key in keys})
    other = judge_beside_people(scores.sample(fraction=1, shuffle=True, seed=1), marks.sample(fraction=1, shuffle=True, seed=2))
    assert judge_beside_people(scores, marks).table.equals(other.table)


def test_rows_that_contradict_each_other_are_refused():
    scores = scores_of({("m", f"p{number}"): (5.0, 5.0) for number in range(3)})
    marks = marks_of({("m", "p0"): {"ann": 3}})
    with pytest.raises(InputError, match="a rater has marked a picture twice"):
        judge_beside_people(scores, pl.concat([marks, marks]))
    with pytest.raises(InputError, match="several scores of one dimension"):
        judge_beside_people(pl.concat([scores, scores]), marks)
    with pytest.raises(InputError, match="several judges or versions: \\['j v1', 'j v2'\\]"):
        judge_beside_people(pl.concat([scores.with_columns(judge_version=pl.lit(name)) for name in ("v1", "v2")]), marks)
    with pytest.raises(InputError, match="the ratings hold several dimensions"):
        judge_beside_people(scores, pl.concat([marks.with_columns(dimension=pl.lit(name)) for name in ("a", "b")]))
    with pytest.raises(InputError, match="unknown level 'prompts'"):
        judge_beside_judge(scores, scores, "prompts")
    with pytest.raises(InputError, match="the ratings lack the column 'rater_id'"):
        judge_beside_people(scores, marks.drop("rater_id"))


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


def test_marks_of_one_dimension_are_taken_by_name(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("generation_id,rater_id,value,dimension\ng,ann,3,whole\ng,ann,9,beauty\n")
    assert read_marks(path, "whole")["value"].to_list() == [3.0]
    with pytest.raises(InputError, match=r"no mark has the dimension 'style' \(allowed: beauty, whole\)"):
        read_marks(path, "style")


def test_scores_are_read_from_a_file_and_from_a_store(tmp_path):
    from salon_store import ResultStore

    rows = [score("m", "p", "aesthetic", None), score("m", "p", "alignment", 5.0)]  # the order in which runs are read
    store = ResultStore.open(tmp_path / "results")
    store.append("scores", rows, run_id="run-m-j")
    frame_of(rows).write_csv(tmp_path / "scores.csv")
    from_file = read_scores(str(tmp_path / "scores.csv"), tmp_path)
    from_store = read_scores("run-m-j", tmp_path / "results")
    assert from_file.select(frame_of([]).columns).equals(from_store.select(frame_of([]).columns))
    with pytest.raises(InputError, match="no score of the run 'another'"):
        read_scores("another", tmp_path / "results")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="there is no score"):
        read_scores(str(tmp_path / "empty.csv"), tmp_path)
    (tmp_path / "bad.csv").write_text("run_id,suite\nr,s\n")
    with pytest.raises(InputError, match="row 1, column 'task': is no score"):
        read_scores(str(tmp_path / "bad.csv"), tmp_path)


def test_marks_are_read_from_a_store(tmp_path):
    from salon_store import ResultStore
    from salon_taxonomy.records import Rating

    names = {"prompt_id": "p", "generation_id": "g", "model": "m", "dimension": "whole", "rater_id": "ann"}
    ResultStore.open(tmp_path).append(
        "ratings", [Rating(rating_id="r", value=7, scale_min=1, scale_max=10, **names)], run_id="r"
    )
    assert read_marks(tmp_path).row(0, named=True) == names | {"value": 7.0}
    with pytest.raises(InputError, match="no mark has the dimension 'beauty'"):
        read_marks(tmp_path, "beauty")
