"""Pictures find their prompts by name or by table; what does not fit is named, counted or refused."""

import csv
import json
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites import Generations, read_generations
from salon_taxonomy.errors import InputError

IDS = ["cat", "dog", "0001", "v1.5", "v1"]


def touched(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return folder


def found(generations: Generations, prompt_id: str, model: str = "m") -> list[tuple[str, int]]:
    return [(each.path.name, each.sample) for each in generations.of(prompt_id, model)]


# ------------------------------------------------------------------------------------------------------------- folders


def test_files_are_named_by_prompt_and_sample(tmp_path: Path) -> None:
    folder = touched(tmp_path, "cat.png", "dog.0.JPG", "dog.10.webp", "dog.2.png")
    generations = read_generations(folder, "m", IDS)
    assert found(generations, "cat") == [("cat.png", 0)]
    assert found(generations, "dog") == [("dog.0.JPG", 0), ("dog.2.png", 2), ("dog.10.webp", 10)]
    assert found(generations, "0001") == []
    assert (len(generations), generations.models, generations.left_out) == (4, ("m",), ())
    assert all(each.root == folder for each in generations.of("dog", "m"))


def test_a_folder_for_each_prompt_holds_samples_by_number(tmp_path: Path) -> None:
    generations = read_generations(touched(tmp_path, "cat/0.png", "cat/00001.png", "cat/best.png", "dog.png"), "m", IDS)
    assert found(generations, "cat") == [("0.png", 0), ("00001.png", 1)]
    assert [path.name for path in generations.left_out] == ["best.png"]


def test_an_id_that_ends_like_a_sample_wins(tmp_path: Path) -> None:
    generations = read_generations(touched(tmp_path, "v1.5.png", "v1.6.png"), "m", IDS)
    assert found(generations, "v1.5") == [("v1.5.png", 0)]
    assert found(generations, "v1") == [("v1.6.png", 6)]


def test_what_is_no_picture_or_belongs_to_no_prompt_is_left_out_and_counted(tmp_path: Path) -> None:
    names = [
        "cat.txt",
        "bird.png",
        "cat.x.png",
        "cat.-1.png",
        "cat.².png",
        f"cat.{'9' * 150}.png",
        ".DS_Store",
        "cat",
        "x/0.png",
    ]
    generations = read_generations(touched(tmp_path, "dog.png", *names), "m", IDS)
    assert len(generations) == 1
    assert len(generations.left_out) == len(names)


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "pictures", tmp_path / "outside"
    touched(outside, "0.png", "1.png")
    touched(folder, "dog.png")
    (folder / "cat").symlink_to(outside)
    assert found(read_generations(folder, "m", IDS), "cat") == []


def test_videos_are_found_when_their_endings_are_asked_for(tmp_path: Path) -> None:
    generations = read_generations(touched(tmp_path, "cat.mp4", "dog.png"), "m", IDS, suffixes=[".mp4"])
    assert found(generations, "cat") == [("cat.mp4", 0)]
    assert [path.name for path in generations.left_out] == ["dog.png"]


@pytest.mark.parametrize("names", [("cat.png", "cat.jpg"), ("cat.png", "cat.0.png"), ("cat.1.png", "cat/1.png")])
def test_two_files_for_one_sample_are_refused_by_name(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="two files for sample") as caught:
        read_generations(touched(tmp_path, *names), "m", IDS)
    assert {Path(str(caught.value.source)).name, Path(str(caught.value.value)).name} == {Path(name).name for name in names}


def test_a_folder_without_any_fitting_file_says_what_names_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the 2 files.*zebra\.png.*allowed: 0001\.png.*\n.*<prompt_id>") as caught:
        read_generations(touched(tmp_path, "lion.png", "zebra.png"), "m", IDS)
    assert caught.value.source == str(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "nothing.csv"])
def test_a_source_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: there is no such file or folder"):
        read_generations(tmp_path / name, "m", IDS)


def test_an_empty_folder_and_a_model_without_a_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 0 files"):
        read_generations(tmp_path, "m", IDS)
    with pytest.raises(InputError, match="needs a name"):
        read_generations(tmp_path, "", IDS)


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_no_file_name_raises_anything_but_a_typed_error(tmp_path: Path, name: str) -> None:
    folder = tmp_path / os.urandom(8).hex()
    touched(folder, "cat.0.png")
    try:
        (folder / name).touch()
    except OSError:
        return
    generations = read_generations(folder, "m", IDS)
    assert len(generations) + len(generations.left_out) == len(list(folder.iterdir()))


# -------------------------------------------------------------------------------------------------------------- tables


def written(folder: Path, kind: str, rows: list[dict[str, object]]) -> Path:
    path = folder / f"generations.{kind}"
    if kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        pl.DataFrame(rows).write_parquet(path)
    return path


KINDS = pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])


@KINDS
def test_a_table_names_files_from_its_own_folder(tmp_path: Path, kind: str) -> None:
    rows = [
        {"prompt_id": "cat", "path": "a/1.png", "model": "m", "sample": 1, "seed": 7},
        {"prompt_id": "cat", "path": "a/0.png", "model": "m", "sample": 0, "seed": 7},
        {"prompt_id": "cat", "path": "b/0.png", "model": "other", "sample": 0, "seed": 7},
        {"prompt_id": "bird", "path": "c.png", "model": "m", "sample": 0, "seed": 7},
    ]
    generations = read_generations(written(tmp_path, kind, rows), "m", IDS)
    assert [each.path for each in generations.of("cat", "m")] == [tmp_path / "a/0.png", tmp_path / "a/1.png"]
    assert {each.root for each in generations.of("cat", "m")} == {tmp_path}
    assert (generations.unknown, len(generations.left_out), len(generations)) == (("bird",), 1, 2)


@KINDS
def test_columns_for_model_and_sample_may_be_missing(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [{"prompt_id": "cat", "path": "x.png"}, {"prompt_id": "0001", "path": "y.png"}])
    generations = read_generations(path, "m", IDS)
    assert (found(generations, "cat"), found(generations, "0001")) == ([("x.png", 0)], [("y.png", 0)])


@KINDS
@for_each(
    ("cell", "column", "problem"),
    [
        ({"path": "../secret.png"}, "path", "leads out"),
        ({"path": "a/../../secret.png"}, "path", "leads out"),
        ({"path": "."}, "path", "leads out"),
        ({"path": "/etc/passwd"}, "path", "absolute paths are not allowed"),
        ({"path": "https://host/a.png"}, "path", "is an address"),
        ({"path": ""}, "path", "missing or empty"),
        ({"prompt_id": ""}, "prompt_id", "missing or empty"),
        ({"prompt_id": "x" * 201}, "prompt_id", "at most 200"),
        ({"model": ""}, "model", "missing or empty"),
        ({"sample": "-1"}, "sample", "whole number"),
        ({"sample": "1.5"}, "sample", "whole number"),
        ({"sample": "9" * 50}, "sample", "whole number"),
    ],
)
def test_a_wrong_cell_is_named_by_row_and_column(
    tmp_path: Path, kind: str, cell: dict[str, object], column: str, problem: str
) -> None:
    good = {"prompt_id": "cat", "path": "0.png", "model": "m", "sample": "0"}
    with pytest.raises(InputError, match=problem) as caught:
        read_generations(written(tmp_path, kind, [good, {**good, "sample": "1", **cell}]), "m", IDS)
    assert (caught.value.row, caught.value.column) == (2, column)
    assert str(caught.value.source).endswith(kind)


@pytest.mark.parametrize("value", [True, 1.5, ["cat"], {"a": 1}, None, "a\0b", "\ud800"])
def test_cells_of_json_that_are_no_text_are_named(tmp_path: Path, value: object) -> None:
    with pytest.raises(InputError) as caught:
        read_generations(written(tmp_path, "jsonl", [{"prompt_id": value, "path": "a.png"}]), "m", IDS)
    assert (caught.value.row, caught.value.column) == (1, "prompt_id")


def test_ids_that_are_numbers_in_the_table_are_their_digits(tmp_path: Path) -> None:
    assert len(read_generations(written(tmp_path, "jsonl", [{"prompt_id": 17, "path": "a.png"}]), "m", ["17"])) == 1
    assert len(read_generations(written(tmp_path, "parquet", [{"prompt_id": 17, "path": "a.png"}]), "m", ["17"])) == 1


def test_absolute_paths_are_taken_when_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, "csv", [{"prompt_id": "cat", "path": "/data/cat.png"}])
    (each,) = read_generations(path, "m", IDS, absolute_paths=True).of("cat", "m")
    assert (each.path, each.root) == (Path("/data/cat.png"), Path("/data"))


@KINDS
def test_a_table_without_a_needed_column_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=r"path|missing"):
        read_generations(written(tmp_path, kind, [{"prompt_id": "cat", "file": "a.png"}]), "m", IDS)


@KINDS
def test_a_table_of_other_models_or_other_prompts_says_so(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, [{"prompt_id": "bird", "path": "a.png", "model": "x"}])
    with pytest.raises(InputError, match=r"no rows of the model 'm' \(allowed: x\)"):
        read_generations(path, "m", IDS)
    with pytest.raises(InputError, match=r"none of the 1 rows .*bird.*allowed: 0001"):
        read_generations(path, "x", IDS)


@KINDS
def test_two_rows_for_one_sample_are_refused(tmp_path: Path, kind: str) -> None:
    rows: list[dict[str, object]] = [{"prompt_id": "cat", "path": "a.png"}, {"prompt_id": "cat", "path": "b.png"}]
    with pytest.raises(InputError, match="two files for sample 0"):
        read_generations(written(tmp_path, kind, rows), "m", IDS)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", b"", "no column 'prompt_id'"),
        ("a.csv", b"prompt_id,path\ncat\n", "row 1: has another number of cells"),
        ("a.csv", b'prompt_id,path\ncat,"a.png\n', "is no CSV"),
        ("a.csv", b"prompt_id,path,path\ncat,a,b\n", "a column twice"),
        ("a.csv", b"prompt_id,path\ncat,\xff.png\n", "is not UTF-8"),
        ("a.csv", b"prompt_id,path\ncat," + b"x" * 200_000 + b"\n", "is no CSV"),
        ("a.jsonl", b"", "none of the 0 rows"),
        ("a.jsonl", b'{"prompt_id": "cat", "path": "a.png"}\n{"prompt_', "line 2: is no JSON"),
        ("a.jsonl", b"[1]\n", "line 1: must be a JSON object"),
        ("a.jsonl", b"[" * 100_000, "line 1: is nested too deeply"),
        ("a.jsonl", b'{"prompt_id": ' + b"9" * 5000 + b"}", "line 1: is no JSON"),
        ("a.jsonl", b"\xff\xfe", "is not UTF-8"),
        ("a.parquet", b"", "is no Parquet file"),
        ("a.parquet", b"PAR1 not really PAR1", "is no Parquet file"),
        ("a.xlsx", b"PK", "unknown kind of table '.xlsx'"),
    ],
)
def test_broken_tables_are_typed_errors(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_generations(tmp_path / name, "m", IDS)
    assert problem in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


@given(st.binary(max_size=200), st.sampled_from(["csv", "jsonl", "parquet"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_no_table_raises_anything_but_a_typed_error(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    path.write_bytes(b"prompt_id,path\n" * (kind == "csv") + content)
    with pytest.raises(InputError):
        read_generations(path, "m", ["no prompt has such an id"])
