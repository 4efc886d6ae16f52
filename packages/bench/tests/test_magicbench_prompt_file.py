"""The prompt file of MagicBench: all kinds of file, and every way in which one can be wrong."""

import json

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from row_problems import problem_of

from salon_bench.suites.magicbench import read_prompts
from salon_console.table_rows import table_rows
from salon_taxonomy.errors import InputError

ROW = {"prompt_t2i": "A kettle.", "subject": "kettle", "class": "object", "detail_class": "object_single"}


def file_of(rows, path):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv", ".parquet"])
def test_every_kind_of_file_gives_the_same_prompts(ending, tmp_path):
    rows = [ROW, ROW | {"prompt_t2i": "Zwei Möwen, „laut“.", "class": "animal", "detail_class": "animal_multi"}]
    prompts = read_prompts(file_of(rows, tmp_path / f"prompts{ending}"))
    assert [prompt.prompt.prompt_id for prompt in prompts] == ["0001", "0002"]
    assert prompts[1].prompt.text == "Zwei Möwen, „laut“."
    assert prompts[1].facts == {"subject": "kettle", "class": "animal", "detail_class": "animal_multi"}


def test_own_ids_win_and_the_class_person_is_human(tmp_path):
    row = ROW | {"prompt_id": "p-1", "class": "person", "detail_class": "human_double"}
    [prompt] = read_prompts(file_of([row], tmp_path / "prompts.jsonl"))
    assert prompt.prompt.prompt_id == "p-1"
    assert prompt.facts["class"] == "human"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class": "robot"}, "row 2, column 'class': unknown value 'robot'"),
        ({"class": "animal"}, "row 2, column 'detail_class': does not belong"),
        ({"detail_class": "object_multiple"}, "allowed: human_single"),
        ({"prompt_t2i": "  "}, "row 2, column 'prompt_t2i': must hold text"),
        ({"prompt_t2i": None}, "must hold text, not 'nothing'"),
        ({"subject": ["kettle"]}, "must hold text, not 'list'"),
        ({"prompt_t2i": "x" * 9000}, "has more than 8000 characters"),
        ({"prompt_id": "0001"}, "is the id of row 1 already"),
        ({"prompt_t2i": "\ud800"}, "half a surrogate pair"),
        ({"prompt_id": 7}, "must hold text, not 7"),
    ],
)
def test_a_wrong_row_names_its_place_and_what_is_allowed(change, message, tmp_path):
    path = file_of([ROW, ROW | change], tmp_path / "prompts.jsonl")
    problem = str(problem_of(read_prompts, path))
    assert message in problem
    assert "prompts.jsonl, row 2" in problem


@pytest.mark.parametrize("column", list(ROW))
def test_a_missing_column_is_named(column, tmp_path):
    path = file_of([{key: value for key, value in ROW.items() if key != column}], tmp_path / "prompts.csv")
    with pytest.raises(InputError, match=f"column '{column}': the column is missing"):
        read_prompts(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", b"", "there is no prompt"),
        ("p.jsonl", b'{"prompt_t2i": \n', "line 1: is no JSON"),
        ("p.jsonl", b"[1]\n", "line 1: must be a JSON object"),
        ("p.jsonl", b"[" * 100_000, "line 1"),
        ("p.jsonl", b"9" * 10_000, "line 1"),
        ("p.jsonl", b"\xff\xfe", "is not UTF-8"),
        ("p.json", b'{"a": 1}', "must hold a JSON array"),
        ("p.csv", b"prompt_t2i,subject\na,b,c\n", "another number of cells"),
        ("p.csv", b'prompt_t2i,subject\n"a,b\n', "is no CSV"),
        ("p.parquet", b"PAR1 no", "is no Parquet file"),
        ("p.txt", b"", "unknown kind of file '.txt'"),
    ],
)
def test_a_file_that_is_none_is_a_typed_error(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_prompts(tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["no.jsonl", "no.parquet", "no.csv"])
def test_a_missing_file_is_a_typed_error(name, tmp_path):
    with pytest.raises(InputError, match=name):
        read_prompts(tmp_path / name)


def test_a_folder_is_no_table(tmp_path):
    (tmp_path / "p.jsonl").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        read_prompts(tmp_path / "p.jsonl")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([".json", ".jsonl", ".csv", ".parquet"]), st.binary(max_size=200) | st.text().map(str.encode))
def test_no_bytes_raise_anything_but_a_typed_error(tmp_path, ending, content):
    path = tmp_path / f"fuzz{ending}"
    path.write_bytes(content)
    try:
        rows = list(table_rows(path))
    except InputError:
        return
    assert all(row.number >= 1 for row in rows)


plain = st.none() | st.booleans() | st.floats() | st.text()
json_values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.fixed_dictionaries({column: st.just(value) | json_values for column, value in ROW.items()}))
def test_any_json_row_is_a_prompt_or_a_typed_error(tmp_path, row):
    path = tmp_path / "fuzz.jsonl"
    path.write_text(json.dumps(row) + "\n")
    try:
        [prompt] = read_prompts(path)
    except InputError:
        return
    assert prompt.facts["detail_class"] == "object_single"
