"""Files become rows exactly, or are refused with file, row, column and value."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_store import SCHEMAS, checked
from salon_store.errors import RowError
from salon_store.importing import _record, read_rows
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt

HEADER = "battle_id,model_a,model_b,winner,rater_id,mode"
ROW = "1,flux,sdxl,tie,ann,public"


@pytest.fixture
def csv(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "votes.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_every_type_is_read_from_csv(csv: Callable[[str], Path]) -> None:
    path = csv(
        f"{HEADER},labels,started_at,is_anchor,weight,suite\n"
        f"{ROW},a;b,2026-01-01T12:00:00+02:00,TRUE,2,arena\n"
        f'2{ROW[1:]},"[""x;y"", ""z""]",2026-01-01 10:00:00Z,false,.5,\n'
        f"3{ROW[1:]},,,,,\n"
    )
    rows = read_rows(path, "battles")
    assert rows.schema == SCHEMAS["battles"].polars
    assert rows["labels"].to_list() == [["a", "b"], ["x;y", "z"], []]
    assert rows["started_at"].to_list() == [datetime(2026, 1, 1, 10, tzinfo=UTC)] * 2 + [None]
    assert rows["is_anchor"].to_list() == [True, False, False]
    assert rows["weight"].to_list() == [2.0, 0.5, 1.0]
    assert rows["suite"].to_list() == ["arena", None, None]


@pytest.mark.parametrize(
    ("table", "cell", "column"),
    [
        ("battles", "many", "weight"),
        ("battles", "1,5", "weight"),
        ("battles", "NaN", "weight"),
        ("battles", "yes", "is_anchor"),
        ("battles", "2026-01-01T12:00:00", "started_at"),
        ("battles", "yesterday", "started_at"),
        ("battles", "0001-01-01T00:00:00+10:00", "started_at"),
        ("battles", "[1]", "labels"),
        ("battles", "[", "labels"),
        ("battles", "both", "expected_winner"),
    ],
)
def test_a_cell_that_means_nothing_is_refused_by_place(csv: Callable[[str], Path], table: str, cell: str, column: str) -> None:
    path = csv(f'{HEADER},{column}\n{ROW},\n2{ROW[1:]},"{cell}"\n')
    with pytest.raises(InputError) as caught:
        read_rows(path, table)
    assert (caught.value.row, caught.value.column) == (2, column)
    assert "votes.csv" in str(caught.value)


@pytest.mark.parametrize("cell", ["1.5", "1e3", "one", "99999999999999999999", "1_000"])
def test_a_cell_that_is_no_whole_number_is_refused(csv: Callable[[str], Path], cell: str) -> None:
    with pytest.raises(InputError, match="whole number"):
        read_rows(csv(f"run_id,suite,salon_version,seed\nr,s,1,{cell}\n"), "runs")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "column is missing|this column is missing"),
        (f"{HEADER}\n{ROW},extra\n", "expected 6 cells, got 7"),
        (f"{HEADER},winner\n{ROW},tie\n", "twice in the header"),
        (f"{HEADER},colour\n{ROW},red\n", "no such column 'colour'|column 'colour'"),
        (f"{HEADER}\n1,flux\n", "a value is needed"),
        (HEADER.replace("winner,", "") + "\n", "column 'winner': this column is missing"),
    ],
)
def test_a_csv_file_of_the_wrong_shape_is_refused(csv: Callable[[str], Path], text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_rows(csv(text), "battles")


@pytest.mark.parametrize("short", ["3,flux,sdxl,tie,ann,public", "3,flux,sdxl,tie,ann,public,arena"])
def test_a_row_of_csv_with_a_cell_too_few_is_refused_not_filled_up(csv: Callable[[str], Path], short: str) -> None:
    rows = f"{HEADER},scenario,prompt_id\n{ROW},,\n2{ROW[1:]},toys,p\n"
    assert read_rows(csv(rows), "battles").height == 2
    with pytest.raises(InputError, match=r"row 3, line 4: expected 8 cells, got"):
        read_rows(csv(f"{rows}{short}\n"), "battles")


def test_a_csv_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(f"{HEADER}\n1,fl\xffx,sdxl,tie,ann,public\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_rows(path, "battles")


def test_a_csv_file_with_a_byte_order_mark_is_read(csv: Callable[[str], Path]) -> None:
    assert read_rows(csv(f"\ufeff{HEADER}\n{ROW}\n"), "battles").height == 1


def test_lines_of_json_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    row = dict(zip(HEADER.split(","), ROW.split(","), strict=True))
    good = json.dumps(row | {"labels": ["a"], "started_at": "2026-01-01T00:00:00Z", "weight": 2})
    path.write_text(good + "\n\n")
    assert read_rows(path, "battles")["weight"].to_list() == [2.0]
    for change, column in (
        ({"weight": "2"}, "weight"),
        ({"labels": "a"}, "labels"),
        ({"started_at": "2026-01-01T00:00:00"}, "started_at"),
        ({"winner": "A"}, "winner"),
        ({"colour": "red"}, "colour"),
        ({"model_a": None}, "model_a"),
    ):
        path.write_text(f"{good}\n\n{json.dumps(row | {'battle_id': '2'} | change)}\n")
        with pytest.raises(InputError) as caught:
            read_rows(path, "battles")
        assert (caught.value.line, caught.value.column) == (3, column)


@pytest.mark.parametrize("line", ["{", "[]", "3", "null", '{"battle_id": NaN}', "\x00", '{"battle_id": "\\ud800"}', "[" * 5000])
def test_a_line_that_is_no_row_is_refused_by_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "votes.ndjson"
    path.write_text(line + "\n")
    with pytest.raises(InputError) as caught:
        read_rows(path, "battles")
    assert caught.value.line == 1


def test_a_number_beyond_64_bits_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('\n{"run_id": "r", "suite": "s", "salon_version": "1", "seed": 99999999999999999999}\n')
    with pytest.raises(InputError, match="64 bits") as caught:
        read_rows(path, "runs")
    assert caught.value.line == 2


def test_parquet_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    frame = pl.DataFrame([dict(zip(HEADER.split(","), ROW.split(","), strict=True))])
    frame.write_parquet(path)
    assert read_rows(path, "battles").equals(checked(frame, SCHEMAS["battles"]))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="no readable Parquet"):
        read_rows(path, "battles")


def test_another_kind_of_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"allowed: \.csv"):
        read_rows(tmp_path / "votes.xlsx", "battles")
    for suffix in (".csv", ".jsonl", ".parquet"):
        with pytest.raises(InputError, match="No such file"):
            read_rows(tmp_path / f"missing{suffix}", "battles")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([".csv", ".jsonl", ".parquet"]), st.binary(max_size=120))
def test_no_content_of_a_file_raises_anything_but_an_input_error(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"any{suffix}"
    path.write_bytes((f"{HEADER},weight,seed\n".encode() if suffix == ".csv" else b"") + content)
    try:
        rows = read_rows(path, "battles")
    except InputError:
        return
    assert rows.schema == SCHEMAS["battles"].polars


def test_progress_counts_the_bytes_of_the_file(csv: Callable[[str], Path]) -> None:
    path = csv(f"{HEADER}\n{ROW}\n")
    seen: list[int] = []
    read_rows(path, "battles", on_bytes=seen.append)
    assert sum(seen) == path.stat().st_size


@settings(max_examples=20)
@given(st.lists(st.sampled_from(["", "  "]), max_size=4), st.integers(1, 5), st.booleans())
def test_every_byte_of_a_file_is_told_once_and_a_wrong_line_is_named_by_its_number(
    tmp_path_factory: pytest.TempPathFactory, blank: list[str], good: int, broken: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "prompts.jsonl"
    lines = [*blank, *(json.dumps({"prompt_id": f"p{n}", "suite": "s", "text": "é"}) for n in range(good))]
    path.write_text("\n".join([*lines, *(["{"] if broken else []), ""]), encoding="utf-8")
    told: list[int] = []
    if broken:
        with pytest.raises(InputError, match=f"line {len(lines) + 1}\\b"):
            read_rows(path, "prompts", on_bytes=told.append)
    else:
        assert read_rows(path, "prompts", on_bytes=told.append).height == good
    assert sum(told) == path.stat().st_size


@pytest.mark.parametrize("folder", ["plain", "suite=other", "model_a=other", "a [1]", "a*b"])
def test_the_folder_of_a_parquet_file_adds_no_column_and_is_no_pattern(
    tmp_path: Path, csv: Callable[[str], Path], folder: str
) -> None:
    rows = read_rows(csv(f"{HEADER},suite\n{ROW},arena\n"), "battles")
    path = tmp_path / folder / "votes.parquet"
    path.parent.mkdir()
    rows.write_parquet(path)
    assert read_rows(path, "battles").equals(rows)


@for_each(
    ("line", "words"),
    [
        (b"{}", "a.jsonl, table prompts, line 3, column 'prompt_id': field required"),
        (b'{"prompt_id": 7, "suite": "s", "text": "t"}', "column 'prompt_id': input should be a valid string 7"),
        (b"[", "line 3: invalid JSON: EOF while parsing a list at line 1 column 1"),
    ],
)
def test_a_line_that_is_no_record_is_named_with_what_it_should_be(line: bytes, words: str) -> None:
    with pytest.raises(RowError) as raised:
        _record(line, Prompt, SCHEMAS["prompts"], Path("a.jsonl"), 3)
    assert words in str(raised.value)
