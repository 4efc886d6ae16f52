"""The polars schemas and the pydantic records say the same."""

from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from for_each import for_each
from salon_store import SCHEMAS, RowError, checked, table_schema
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import TABLES

PLAIN = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean(), datetime: pl.Datetime("us", "UTC")}


def unwrapped(annotation: Any) -> tuple[Any, bool]:
    """An annotation without ``Annotated`` and ``| None``; whether it could be None."""
    nullable = False
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, UnionType):
            (annotation,) = (arm for arm in get_args(annotation) if arm is not NoneType)
            nullable = True
        else:
            return annotation, nullable


def polars_type(plain: Any) -> pl.DataType:
    if get_origin(plain) is tuple:
        return pl.List(pl.String())
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return pl.String()
    return PLAIN.get(plain, pl.Datetime("us", "UTC"))


def test_every_record_has_a_table_and_every_table_a_record() -> None:
    assert list(SCHEMAS) == list(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_columns_types_nulls_defaults_and_vocabularies_are_those_of_the_record(table: str) -> None:
    fields = TABLES[table].model_fields
    columns = SCHEMAS[table].columns
    assert list(columns) == list(fields)
    for name, field in fields.items():
        plain, nullable = unwrapped(field.annotation)
        column = columns[name]
        assert column.dtype == polars_type(plain), name
        assert column.nullable == nullable, name
        assert column.required == field.is_required(), name
        if not field.is_required():
            assert column.default == field.default, name
        if isinstance(plain, type) and issubclass(plain, StrEnum):
            assert column.allowed == tuple(member.value for member in plain), name


@pytest.mark.parametrize("table", TABLES)
def test_key_columns_are_columns_of_the_table(table: str) -> None:
    assert set(SCHEMAS[table].key) <= set(SCHEMAS[table].columns)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALL = {"call_id": "c", "run_id": "r", "judge": "j", "judge_version": "1", "request_sha256": "0" * 64, "attempt": 1}
LABEL = {"assessment_id": "a", "run_id": "r", "generation_id": "g", "taxonomy": "t", "label": "l", "judge": "j"}
RATING = {"rating_id": "r", "prompt_id": "p", "generation_id": "g", "model": "m", "dimension": "d", "rater_id": "a"}
LINE = {"leaderboard_id": "l", "board": "b", "model": "m", "rank": 1, "rating": 1000.0, "matches": 3.0}
VALID: dict[str, dict[str, object]] = {
    "runs": {"run_id": "r", "suite": "s", "salon_version": "1"},
    "run_events": {"event_id": "e", "run_id": "r", "kind": "started", "at": NOON, "cases_done": 0, "cases_total": 1},
    "prompts": {"prompt_id": "p", "suite": "s", "text": "t"},
    "run_prompts": {"run_id": "r", "prompt_id": "p", "prompt_key": "k"},
    "generations": {"generation_id": "g", "prompt_id": "p", "model": "m", "uri": "u", "sha256": "0" * 64},
    "judge_calls": CALL | {"status": "ok"},
    "assessments": LABEL | {"present": True},
    "scores": {"run_id": "r", "suite": "s", "task": "t", "subject_model": "m", "dimension": "d", "value": 1.0, "judge": "j"},
    "published": {"paper": "p", "table_id": "p:1", "row_name": "r", "column_name": "c"}
    | {"unit": "percent", "row_kind": "generator", "column_kind": "track"},
    "battles": {"battle_id": "b", "model_a": "x", "model_b": "y", "winner": "tie", "rater_id": "r", "mode": "judge"},
    "ratings": RATING | {"value": 3.0, "scale_min": 1.0, "scale_max": 5.0},
    "leaderboards": LINE | {"win_rate": 0.5, "solver": "s"},
    "rater_flags": {"report_id": "r", "rater_id": "a", "reason": "too_fast", "battles": 3},
    "rewards": {"run_id": "r", "step": 0, "completion_id": "c", "reward": "w", "value": 1.0},
    "gates": {"gate_id": "g", "gated_at": NOON, "base": "b", "new": "n", "model": "m", "plan_id": "p", "measure": "beauty"}
    | {"verdict": "worse", "low": -1.0, "high": 0.0, "margin": 0.5, "level": 0.05, "prompts": 99},
}

EDGES: dict[Any, list[object]] = {
    pl.String: [
        None,
        "",
        "a",
        "x",
        "k" * 200,
        "k" * 201,
        "n" * 400,
        "n" * 401,
        "tie",
        "left",
        "0" * 64,
        "A" * 64,
        "0" * 64 + "\n",
    ],
    pl.Int64: [None, -1, 0, 1, 99, 100, 599, 600],
    pl.Float64: [None, -1.0, -0.0, 0.0, 0.5, 1.0, 5.0, 6.0, float("nan"), float("inf")],
    pl.Boolean: [None, True, False],
    pl.List: [None, [], ["a"], [""], ["n" * 401], [None]],
    pl.Datetime: [None],
}


def accepted_by_record(table: str, row: dict[str, object]) -> bool:
    try:
        TABLES[table].model_validate(row)
    except ValidationError:
        return False
    return True


def accepted_by_schema(table: str, row: dict[str, object]) -> bool:
    schema = SCHEMAS[table]
    frame = pl.DataFrame({name: pl.Series([value], dtype=schema.columns[name].dtype) for name, value in row.items()})
    try:
        checked(frame, schema)
    except RowError:
        return False
    return True


@for_each(("table", "column"), [(table, name) for table in TABLES for name in TABLES[table].model_fields])
def test_a_value_at_the_edge_is_accepted_by_both_or_by_neither(table: str, column: str) -> None:
    for value in EDGES[SCHEMAS[table].columns[column].dtype.base_type()]:
        row = VALID[table] | {column: value}
        assert accepted_by_schema(table, row) == accepted_by_record(table, row), value


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_several_odd_values_at_once_are_accepted_by_both_or_by_neither(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(list(TABLES)))
    row = dict(VALID[table])
    for column in data.draw(st.lists(st.sampled_from(list(SCHEMAS[table].columns)), max_size=3)):
        row[column] = data.draw(st.sampled_from(EDGES[SCHEMAS[table].columns[column].dtype.base_type()]))
    assert accepted_by_schema(table, row) == accepted_by_record(table, row)


def test_an_unknown_table_is_answered_with_the_tables_there_are() -> None:
    with pytest.raises(InputError, match="battels") as caught:
        table_schema("battels")
    assert caught.value.allowed == tuple(TABLES)
