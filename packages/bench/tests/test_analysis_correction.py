"""``salon results correct``: scores of a run and people's marks of some of its pictures."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from salon_bench.analysis.correction import draw_pictures, marks_and_scores, with_chances
from salon_bench.cli.results import results
from salon_bench.runs.score_rows import frame_of, read_marks, read_scores
from salon_ranking import correct_means
from salon_store import ResultStore
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Generation, Score


def score(number: int, value: float | None, **names: str | None) -> Score:
    fields = {"run_id": "run", "suite": "own", "task": "all", "dimension": "beauty", "judge": "judge"} | names
    fields |= {"subject_model": f"m{number % 2}", "prompt_id": f"p{number // 2}", "generation_id": f"g{number}"} | names
    return Score(value=value, unscored_reason="refused" if value is None else None, **fields)


def scores_and_marks(folder: Path) -> tuple[list[Score], Path]:
    """Scores of 120 pictures, one of them unscored, and marks of 40."""
    rng = np.random.default_rng(1)
    people = rng.integers(1, 11, 120)
    judge = people + rng.integers(-1, 2, 120)
    rows = [score(number, None if number == 7 else float(judge[number])) for number in range(120)]
    shown = np.sort(rng.choice(120, 40, replace=False))
    marks = pl.DataFrame(
        {
            "prompt_id": [f"p{number // 2}" for number in shown],
            "model": [f"m{number % 2}" for number in shown],
            "rater_id": [f"r{number % 5}" for number in range(40)],
            "value": people[shown],
            "chance": [0.25] * 40,
        }
    )
    marks.write_csv(folder / "marks.csv")
    return rows, folder / "marks.csv"


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(results, ["correct", *map(str, arguments)])
    return result.exit_code, result.output if result.exception is None or result.exit_code == 2 else str(result.exception)


def test_a_run_of_the_store_and_a_table_give_what_the_function_gives(tmp_path: Path) -> None:
    rows, marks = scores_and_marks(tmp_path)
    whole_model = score(0, 5.0, prompt_id=None, generation_id=None)
    missing = score(3, None, generation_id=None, prompt_id="gone")
    store = tmp_path / "results"
    ResultStore.open(store).append("scores", [*rows, whole_model, missing], run_id="run")
    frame_of(rows).write_csv(tmp_path / "scores.csv")
    expected = correct_means(*marks_and_scores(frame_of(rows), read_marks(marks)))
    assert "1 picture left out, not scored by the judge" in expected.warnings
    for source in ("run", tmp_path / "scores.csv"):
        code, printed = call(source, "--people", marks, "--store", store, "--format", "json")
        assert code == 0, printed
        document = json.loads(printed)
        assert document["factor"] == pytest.approx(expected.factor)
        assert document["rows"] == [pytest.approx(row) for row in expected.table.to_dicts()]
        assert document["warnings"] == list(expected.warnings)
    code, printed = call("run", "--people", marks, "--store", store, "--probability", "chance", "--baseline", "m0")
    assert code == 0
    assert "weigh the inverse of chance" in " ".join(printed.split())
    assert "difference" in printed
    for ending in ("html", "svg", "csv", "parquet"):
        output = tmp_path / f"means.{ending}"
        assert call("run", "--people", marks, "--store", store, "--output", output)[0] == 0
        assert output.stat().st_size > 100


def test_judges_and_dimensions_are_named_where_there_are_several(tmp_path: Path) -> None:
    rows, path = scores_and_marks(tmp_path)
    marks = read_marks(path)
    expected = marks_and_scores(frame_of(rows), marks)
    other = [score(number, 1.0, judge="other", dimension="detail") for number in range(120)]
    scores = frame_of([*rows, *other])
    with pytest.raises(InputError, match=r"scores of several.*judge, other"):
        marks_and_scores(scores, marks)
    with pytest.raises(InputError, match=r"no such judge.*'nobody'"):
        marks_and_scores(scores, marks, judge="nobody")
    for people, judged in (
        marks_and_scores(scores, marks, judge="judge"),
        marks_and_scores(scores.with_columns(judge=pl.lit("judge")), marks, dimension="beauty"),
    ):
        assert people.equals(expected[0])
        assert judged.equals(expected[1])
    with pytest.raises(InputError, match=r"scores of several.*beauty, detail"):
        marks_and_scores(scores.with_columns(judge=pl.lit("judge")), marks)
    with pytest.raises(InputError, match=r"no such dimension.*'mood'"):
        marks_and_scores(frame_of(rows), marks, dimension="mood")
    versions = frame_of([*rows, score(200, 1.0, judge_version="2")])
    with pytest.raises(InputError, match="scores of several"):
        marks_and_scores(versions, marks)


def test_marks_of_several_dimensions_are_those_of_the_scores(tmp_path: Path) -> None:
    rows, path = scores_and_marks(tmp_path)
    marks = read_marks(path)
    both = pl.concat([marks.with_columns(dimension=pl.lit(name)) for name in ("beauty", "detail")])
    people, _ = marks_and_scores(frame_of(rows), both)
    assert people.drop("dimension").equals(marks)
    with pytest.raises(InputError, match="the marks name no dimension of the scores"):
        marks_and_scores(frame_of(rows), both.with_columns(pl.col("dimension") + "?"))
    with pytest.raises(InputError, match="the marks have no such dimension"):
        marks_and_scores(frame_of(rows), both.filter(dimension="detail"), dimension="beauty")


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path) -> None:
    rows, marks = scores_and_marks(tmp_path)
    frame_of(rows).write_csv(tmp_path / "scores.csv")
    output = tmp_path / "means.html"

    def refused(word: str, *arguments: object, people: Path = marks) -> None:
        code, printed = call(tmp_path / "scores.csv", "--people", people, "--output", output, *arguments)
        assert code != 0
        assert word in printed, printed
        assert not output.exists()

    refused("'nobody'", "--baseline", "nobody")
    refused("'mood'", "--dimension", "mood")
    refused("'luck'", "--probability", "luck")
    refused("there is no such file", people=tmp_path / "no.csv")
    (tmp_path / "twice.csv").write_text(marks.read_text() + marks.read_text().splitlines()[1] + "\n")
    refused("marked a picture twice", people=tmp_path / "twice.csv")
    again = marks.read_text().splitlines()[1].removesuffix("0.25") + "0.5"
    (tmp_path / "twice.csv").write_text(f"{marks.read_text()}{again}\n")
    refused("marked a picture twice", "--probability", "chance", people=tmp_path / "twice.csv")
    (tmp_path / "empty.csv").write_text("prompt_id,model,rater_id,value\n")
    refused("there is no mark", people=tmp_path / "empty.csv")
    (tmp_path / "few.csv").write_text("\n".join(marks.read_text().splitlines()[:11]) + "\n")
    refused("20 marks or more", people=tmp_path / "few.csv")


# ---------------------------------------------------------------------------------------------------- what people should mark


def test_drawn_pictures_come_back_with_their_chances(tmp_path: Path) -> None:
    rows, marks = scores_and_marks(tmp_path)
    frame_of(rows).write_parquet(tmp_path / "scores.parquet")
    drawing = ["draw", str(tmp_path / "scores.parquet"), "--count", "60", "--output", str(tmp_path / "drawn.csv")]
    assert CliRunner().invoke(results, drawing).exit_code == 0
    drawn = pl.read_csv(tmp_path / "drawn.csv")
    assert drawn["drawn"].sum() == 60
    assert drawn["drawn"][:60].all()
    assert drawn.height == 119, "the picture without a score is not drawn"
    everyone = (
        frame_of(rows).rename({"subject_model": "model"}).with_columns(pl.col("value").fill_null(1.0), rater_id=pl.lit("r"))
    )
    people = everyone.join(drawn.filter("drawn").select("generation_id"), on="generation_id", how="semi")
    people.select("prompt_id", "model", "rater_id", "value").write_csv(marks)
    code, output = call(tmp_path / "scores.parquet", "--people", marks, "--drawn", tmp_path / "drawn.csv", "--format", "json")
    assert code == 0, output
    assert "marks weigh the inverse of probability" in json.loads(output)["header"]
    everyone.select("prompt_id", "model", "rater_id", "value").write_csv(marks)
    code, output = call(tmp_path / "scores.parquet", "--people", marks, "--drawn", tmp_path / "drawn.csv")
    assert code != 0
    assert "60 of 120 marks are of pictures that were not drawn" in output
    code, output = call(tmp_path / "scores.parquet", "--people", marks, "--drawn", marks, "--probability", "p")
    assert "give either --probability or --drawn" in output


def test_drawn_pictures_of_several_stores_have_their_samples(tmp_path: Path) -> None:
    runs = []
    for number, name in enumerate(("one", "two")):
        own = {"run_id": name, "judge": name, "generation_id": f"g-{name}", "prompt_id": f"p-{name}", "subject_model": name}
        named = {"generation_id": f"g-{name}", "prompt_id": f"p-{name}", "model": name, "uri": "a.png", "sha256": "0" * 64}
        picture = Generation(sample=number, **named)
        with ResultStore.open(tmp_path / name) as store:
            store.append("scores", [score(number, 1.0, **own)], run_id=name)
            store.append("generations", [picture], run_id=name)
        runs.append(f"{tmp_path / name}#{name}")
    words = ["draw", *runs, "--count", "2", "--store", str(tmp_path / "none"), "--output", str(tmp_path / "drawn.csv")]
    done = CliRunner().invoke(results, words)
    assert done.exit_code == 0, done.output
    drawn = pl.read_csv(tmp_path / "drawn.csv")
    assert sorted(drawn.select("model", "sample").rows()) == [("one", 0), ("two", 1)]


def test_doubt_is_how_far_judges_lie_apart_or_a_chance_near_a_half() -> None:
    rows = [score(number, number / 39) for number in range(40)]
    of_one = draw_pictures(frame_of(rows), 10, by_doubt=True).sort("value")["probability"].to_list()
    assert of_one[19] == pytest.approx(of_one[20])
    assert of_one[0] < of_one[10] < of_one[20]
    assert sum(of_one) == pytest.approx(10)
    others = [score(number, number / 39 + (3.0 if number == 5 else 0.0), judge="other") for number in range(40)]
    of_two = draw_pictures(frame_of([*rows, *others]), 10, by_doubt=True)
    assert of_two.height == 40
    assert of_two.filter(pl.col("probability") == pl.col("probability").max())["generation_id"].to_list() == ["g5"]
    with pytest.raises(InputError, match=r"chances of yes, not 3\.0"):
        draw_pictures(frame_of([score(0, 3.0)]), 1, by_doubt=True)
    with pytest.raises(InputError, match="fewer scored pictures"):
        draw_pictures(frame_of([score(0, 3.0), score(1, None)]), 2)


def test_pictures_are_drawn_alike_whatever_the_order_of_rows() -> None:
    frame = frame_of([score(number, number / 39) for number in range(40)])
    for by_doubt in (False, True):
        one, other = (draw_pictures(rows, 7, by_doubt=by_doubt, seed=2) for rows in (frame, frame.reverse()))
        assert one.equals(other)


def test_marks_with_ids_that_the_scores_lack_are_matched_as_without_chances() -> None:
    rows = frame_of([score(number, float(number), generation_id=None) for number in range(40)])
    drawn = draw_pictures(rows, 20)
    marks = drawn.filter("drawn").select(
        "prompt_id", "model", generation_id=pl.lit("other"), rater_id=pl.lit("r"), value=pl.lit(1.0)
    )
    assert with_chances(marks, drawn)["probability"].to_list() == [0.5] * 20


def test_rows_about_a_whole_model_are_not_drawn_and_a_picture_of_one_judge_is_as_doubtful_as_the_others() -> None:
    rows = [score(number, number / 39) for number in range(40)]
    whole = [score(0, 0.5, generation_id=None, prompt_id=None)]
    assert draw_pictures(frame_of([*rows, *whole]), 5).height == 40
    others = [score(number, number / 39 + 0.1 * (number % 2), judge="other") for number in range(39)]
    chances = draw_pictures(frame_of([*rows, *others]), 10, by_doubt=True).sort("generation_id")
    alone = chances.filter(generation_id="g39")["probability"][0]
    assert chances["probability"].min() < alone < chances["probability"].max()


def test_a_table_of_something_else_is_told_which_column_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"row 1, column 'run_id': the column is missing\n.*the row has 'a', 'b'"):
        read_scores([str(tmp_path / "other.csv")], tmp_path)
