"""Test points answered by people, and the commands of ``salon bench magic-bench-377``."""

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_bench.suites.contract.suite import SuitePrompt
from salon_bench.suites.magic_bench_377 import read_prompts
from salon_bench.suites.magic_bench_377.people import read_list, write_list
from salon_console import main
from salon_judges.formats.generations import Generated, Generations
from salon_taxonomy.errors import InputError

ANSWER = {"prompt_id": "gems", "model": "x", "test_point": "Quantity", "satisfied": 1, "rater_id": "ann"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two prompts, and empty pictures of two models."""
    header = "prompt_id,prompt,labels,scenario,test_points\n"
    rows = "gems,Three gems.,Quantity,Art,Quantity: =3 gems; State\npond,A pond.,Style,Film,\n"
    (tmp_path / "prompts.csv").write_text(header + rows)
    for model in "xy":
        (tmp_path / model).mkdir()
        for name in ("gems.0.png", "gems.1.png", "pond.png"):
            (tmp_path / model / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def prompts(folder: Path) -> list[SuitePrompt]:
    return read_prompts(folder / "prompts.csv")


def write(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps({**ANSWER, **row}) + "\n" for row in rows))
    return path


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def bench(*words: object) -> Result:
    return salon("bench", "magic-bench-377", *words)


SUBJECTS = ("--model", "x", "--generations", "x", "--model", "y", "--generations", "y")


def test_a_list_goes_to_people_and_back_into_test_points(folder: Path) -> None:
    made = bench("checklist", "--prompts", "prompts.csv", *SUBJECTS, "--output", "list.csv")
    assert made.output == "8 checks in list.csv.\n"
    answers = pl.read_csv("list.csv", infer_schema=False)
    assert answers["demand"].to_list() == ["'=3 gems", None] * 4
    met = pl.when(pl.col("model") == "x").then(pl.lit("1")).otherwise(pl.lit("0"))
    answers.with_columns(satisfied=met, rater_id=pl.lit("ann")).write_csv("list.csv")
    for _ in range(2):
        done = bench("import-checks", "list.csv", "--prompts", "prompts.csv", "--store", "results")
        assert "8 checks scored, 0 unscored." in done.output
    table = pl.read_csv(salon("ratings", "pass-rates", "results", "--task", "test_points", "--format", "csv").stdout.encode())
    pooled = table.filter(pl.col("test_point").is_null())
    assert pooled.select("model", "satisfied", "checks").rows() == [("x", 4, 4), ("y", 0, 4)]


def test_answers_are_true_false_one_zero_or_a_reason(folder: Path, prompts: list[SuitePrompt]) -> None:
    given = [True, "false", "1", 0.0, None]
    rows = [{"satisfied": each, "sample": n} for n, each in enumerate(given)]
    rows[-1]["unscored_reason"] = "abstained"
    scores = read_list(write(folder, *rows), prompts).scores
    assert [score.unscored_reason or score.value for score in scores] == [1.0, 0.0, 1.0, 0.0, "abstained"]
    assert len({score.generation_id for score in scores}) == 5
    assert {score.judge for score in scores} == {"ann"}


@pytest.mark.parametrize(
    ("wrong", "column", "said"),
    [
        ({"prompt_id": "no"}, "prompt_id", "the prompts have no"),
        ({"test_point": "Negation"}, "test_point", "no test point of the prompt"),
        ({"test_point": "Beauty"}, "test_point", "no test point of the prompt"),
        ({"satisfied": "perhaps"}, "satisfied", "true, false, 1 or 0"),
        ({"satisfied": 2}, "satisfied", "true, false, 1 or 0"),
        ({"satisfied": ""}, "satisfied", "there is no answer"),
        ({"satisfied": None, "unscored_reason": "tired"}, "unscored_reason", "unknown value"),
        ({"unscored_reason": "abstained"}, "unscored_reason", "although there is an answer"),
        ({"rater_id": " "}, "rater_id", "must hold text"),
        ({"model": "x" * 500}, "model", "more than 400"),
        ({"sample": "-1"}, "sample", "whole number"),
        ({}, "rater_id", "answered this check in row 1"),
    ],
)
def test_a_wrong_answer_is_named(
    folder: Path, prompts: list[SuitePrompt], wrong: dict[str, object], column: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_list(write(folder, {}, wrong), prompts)
    assert (caught.value.row or caught.value.line, caught.value.column) == (2, column)


def test_a_name_that_begins_like_a_formula_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"prompt_id": "-1", "prompt": "=x", "labels": ["Text"], "scenario": "Art"}) + "\n")
    prompts = read_prompts(path)
    files = Generations([Generated("-1", "@x", 0, tmp_path / "a.png", tmp_path)])
    assert write_list(prompts, files, tmp_path / "list.csv") == 1
    text = (tmp_path / "list.csv").read_text()
    assert "-1,'@x,0," in text
    (tmp_path / "list.csv").write_text(text.replace("Text,,,", "Text,,1,ann"))
    [score] = read_list(tmp_path / "list.csv", prompts).scores
    assert (score.prompt_id, score.subject_model) == ("-1", "@x")


def test_an_empty_file_or_none_is_refused(folder: Path, prompts: list[SuitePrompt]) -> None:
    (folder / "empty.jsonl").touch()
    with pytest.raises(InputError, match="no answer"):
        read_list(folder / "empty.jsonl", prompts)
    with pytest.raises(InputError, match="cannot be read"):
        read_list(folder / "none.jsonl", prompts)
    with pytest.raises(InputError, match="cannot be written"):
        write_list(prompts, Generations([]), folder / "none" / "list.csv")


def test_coverage_prints_a_table_csv_and_json(folder: Path) -> None:
    shown = bench("coverage", "prompts.csv").output
    assert "Functional Design" in shown
    assert "2 prompts (2 en)" in shown
    assert pl.read_csv(bench("coverage", "prompts.csv", "--format", "csv").stdout.encode()).height == 40
    found = json.loads(bench("coverage", "prompts.csv", "--format", "json").stdout)
    assert (found["prompts"], found["languages"], len(found["labels"])) == (2, {"en": 2}, 40)


def test_draft_writes_a_file_with_battles_and_may_look_at_those_that_were_had(folder: Path) -> None:
    first = bench("draft", "--prompts", "prompts.csv", *SUBJECTS, "--battles", 10, "--output", "drawn.jsonl")
    assert "battles over 2 prompts in drawn.jsonl" in first.output
    had = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]})
    had.write_csv("had.csv")
    again = bench(
        *("draft", "--prompts", "drawn.jsonl", *SUBJECTS, "--battles", 10, "--output", "drawn2.jsonl"),
        *("--before", "had.csv", "--rule", "information"),
    )
    assert again.exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["coverage", "none.csv"], "there is no such file"),
        (["coverage", "x/pond.png"], "unknown kind of file"),
        (["draft", "--prompts", "prompts.csv", *SUBJECTS, "--battles", "5", "--output", "a.csv"], "JSON Lines"),
        (["draft", "--prompts", "prompts.csv", *SUBJECTS[:4], "--battles", "5", "--output", "a.jsonl"], "2 to"),
        (["checklist", "--prompts", "prompts.csv", *SUBJECTS[:6], "--output", "a.csv"], "2 --model but 1 --generations"),
        (["import-checks", "none.csv", "--prompts", "prompts.csv"], "there is no such file"),
    ],
)
def test_a_mistake_is_explained_and_exits_two(folder: Path, words: list[str], said: str) -> None:
    result = bench(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
