"""The prompt file of Magic-Bench-377: what it may look like, and what is said about what is wrong with it."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_problems import problem_of

from for_each import for_each
from salon_bench.suites.magic_bench_377 import read_prompts
from salon_judges.formats.magic_bench_377_labels import points, scenarios
from salon_taxonomy.errors import InputError

NAMES = st.sampled_from(["point", "demand", "model_a", "model_b", "sample_a", "sample_b"])
ROW = {"prompt": "Three gems, no box.", "labels": ["Quantity", "Negation"], "scenario": "Art"}


def write(path, *rows):
    path.write_text("".join(json.dumps({**ROW, **row}) + "\n" for row in rows), encoding="utf-8")
    return path


def the_error(path):
    return problem_of(read_prompts, path)


def test_csv_json_jsonl_and_parquet_say_the_same(tmp_path):
    checks = [{"point": "Quantity", "demand": "three gems"}, {"point": "Negation", "demand": "no box"}]
    row = {**ROW, "test_points": checks}
    (tmp_path / "a.json").write_text(json.dumps([row]))
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n\n")
    pl.DataFrame([row]).write_parquet(tmp_path / "a.parquet")
    cells = '"Three gems, no box.",Quantity; negation,ART,Quantity: three gems; Negation: no box\n'
    (tmp_path / "a.csv").write_text("prompt,labels,scenario,test_points\n" + cells)
    found = [read_prompts(tmp_path / f"a.{ending}") for ending in ("csv", "json", "jsonl", "parquet")]
    assert all(each == found[0] for each in found)
    [item] = found[0]
    assert item.prompt.prompt_id == "mb377-001"
    assert (item.prompt.scenario, item.prompt.labels, item.prompt.language) == ("Art", ("Quantity", "Negation"), "en")
    assert item.facts == {"test_points": [["quantity", "three gems"], ["negation", "no box"]]}


def test_without_test_points_the_labels_that_are_some_are_checked(tmp_path):
    [item] = read_prompts(write(tmp_path / "a.jsonl", {"labels": ["Style", "Hand Action", "Attribute"]}))
    assert item.prompt.labels == ("Style", "Partial Action", "Attribute")
    assert item.facts["test_points"] == [["partial-action", ""]]


def test_a_demand_may_hold_colons_and_a_point_may_have_none(tmp_path):
    [item] = read_prompts(write(tmp_path / "a.jsonl", {"test_points": ["Text: the sign says: OPEN", "State"]}))
    assert item.facts["test_points"] == [["text", "the sign says: OPEN"], ["state", ""]]


def test_a_han_character_makes_a_prompt_chinese_unless_the_row_says_otherwise(tmp_path):
    rows = [{"prompt": "三颗宝石"}, {"prompt": "A sign 开门", "language": "en"}, {"prompt": "Three gems"}]
    assert [item.prompt.language for item in read_prompts(write(tmp_path / "a.jsonl", *rows))] == ["zh", "en", "en"]


def test_own_ids_are_kept_and_others_are_numbers_of_rows(tmp_path):
    found = read_prompts(write(tmp_path / "a.jsonl", {"prompt_id": "gems"}, {}))
    assert [item.prompt.prompt_id for item in found] == ["gems", "mb377-002"]


@for_each(
    ("wrong", "column", "said"),
    [
        ({"prompt": " "}, "prompt", "must hold text"),
        ({"prompt": "x" * 9000}, "prompt", "more than 8000"),
        ({"prompt_id": "x" * 300}, "prompt_id", "more than 200"),
        ({"labels": ["Beauty"]}, "labels", "unknown capability"),
        ({"labels": ["Film"]}, "labels", "unknown capability"),
        ({"labels": ["Style", "style"]}, "labels", "twice"),
        ({"labels": [3]}, "labels", "unknown capability"),
        ({"labels": None}, "labels", "must hold text"),
        ({"scenario": "Cooking"}, "scenario", "unknown scenario"),
        ({"scenario": None}, "scenario", "must hold text"),
        ({"language": "fr"}, "language", "unknown language"),
        ({"test_points": ["Style: ink"]}, "test_points", "unknown test point"),
        ({"test_points": ["State: wet", "State: broken"]}, "test_points", "twice"),
        ({"test_points": [7]}, "test_points", "is no test point"),
        ({"test_points": [{"point": "State", "demand": 1}]}, "test_points", "is no test point"),
        ({"test_points": ["State: " + "x" * 9000]}, "test_points", "more than 8000"),
        ({"battles": "x against y"}, "battles", "list of battles"),
        ({"battles": ["x"]}, "battles", "is no battle"),
        ({"battles": [{"model_a": "x"}]}, "battles", "model_b must be a name"),
        ({"battles": [{"model_a": "x", "model_b": "x"}]}, "battles", "cannot meet itself"),
        ({"battles": [{"model_a": "x", "model_b": "y", "sample_a": True}]}, "battles", "sample_a must be"),
    ],
)
def test_a_wrong_cell_is_named_with_its_row_and_column(tmp_path, wrong, column, said):
    error = the_error(write(tmp_path / "a.jsonl", {}, wrong))
    assert said in str(error)
    assert error.column == column


def test_an_id_that_stands_twice_is_refused(tmp_path):
    error = the_error(write(tmp_path / "a.jsonl", {"prompt_id": "p"}, {"prompt_id": "p"}))
    assert (error.row, error.column, "row 1 already" in str(error)) == (2, "prompt_id", True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", ""),
        ("a.csv", "prompt,scenario\nx,Art\n"),
        ("a.json", "{}"),
        ("a.txt", "x"),
        ("a.parquet", "x"),
        ("a.jsonl", "["),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert the_error(tmp_path / name).source is not None


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(["State", "Style", "x"])
)
CELLS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)


@given(st.dictionaries(st.sampled_from([*ROW, "test_points", "battles", "prompt_id", "language"]), CELLS, max_size=2))
def test_no_cell_raises_anything_but_an_input_error(tmp_path_factory, wrong):
    path = tmp_path_factory.mktemp("rows") / "a.jsonl"
    path.write_text(json.dumps({**ROW, **wrong}) + "\n")
    try:
        [item] = read_prompts(path)
    except InputError as error:
        assert error.source == str(path)
    else:
        assert len(set(item.prompt.labels)) == len(item.prompt.labels)


def test_the_taxonomy_has_the_papers_test_points_and_scenarios():
    assert (len(points()), len(scenarios())) == (21, 5)
