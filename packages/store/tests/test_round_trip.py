"""What is appended is what is read, for every table and any valid rows."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from salon_store import SCHEMAS, Column, ResultStore
from salon_store.checks import frame_of
from salon_taxonomy.records import TABLES, Record

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
ZONES = st.integers(-720, 720).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def values(column: Column) -> st.SearchStrategy[object]:
    kind = column.dtype.base_type()
    if column.allowed:
        some: st.SearchStrategy[object] = st.sampled_from(column.allowed)
    elif column.pattern:
        some = st.text("0123456789abcdef", min_size=64, max_size=64)
    elif kind == pl.String:
        some = TEXTS.filter(lambda text: len(text) >= (column.shortest or 0))
    elif kind == pl.List:
        some = st.lists(TEXTS.filter(bool), max_size=3).map(tuple)
    elif kind == pl.Boolean:
        some = st.booleans()
    elif kind == pl.Datetime:
        some = st.tuples(TIMES, ZONES).map(lambda pair: pair[0].astimezone(pair[1]))
    elif kind == pl.Int64:
        some = st.integers(100, 599) if column.at_most else st.integers(1, 2**63 - 1)
    elif column.below or column.at_most:
        some = st.floats(0.01, 0.99)
    else:
        some = st.floats(0 if column.at_least == 0 else None, allow_nan=False, allow_infinity=False)
    return some | st.none() if column.nullable else some


@st.composite
def records(draw: st.DrawFn, table: str) -> list[Record]:
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        row = {name: draw(values(column)) for name, column in SCHEMAS[table].columns.items()}
        if "unscored_reason" in row:
            row["unscored_reason"] = None if row["value"] is not None else "timeout"
        if "scale_min" in row:
            row["scale_min"], row["value"], row["scale_max"] = sorted((row["scale_min"], row["value"], row["scale_max"]))
        try:
            rows.append(TABLES[table].model_validate(row))
        except ValidationError:
            assume(False)
    return rows


def keys(rows: list[Record], table: str) -> list[tuple[object, ...]]:
    return [tuple(getattr(row, name) for name in SCHEMAS[table].key) for row in rows]


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rows_come_back_as_they_went_in(table: str, data: st.DataObject) -> None:
    rows = data.draw(records(table))
    assume(len(set(keys(rows, table))) == len(rows))
    with TemporaryDirectory() as directory:
        store = ResultStore.open(Path(directory) / "results")
        outcome = store.append(table, rows, run_id=data.draw(TEXTS.filter(bool)))
        assert outcome.rows_written == len(rows)
        back = store.read(table).collect()
        assert back.schema == SCHEMAS[table].polars
        assert back.equals(frame_of(rows, SCHEMAS[table]))
        again = [TABLES[table].model_validate(row) for row in back.to_dicts()]
        assert again == rows
        assert store.sql(f'SELECT count(*) AS n FROM "{table}"')["n"].item() == len(rows)


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rows_come_back_through_a_journal_as_they_went_in(table: str, data: st.DataObject) -> None:
    rows = data.draw(records(table))
    assume(len(set(keys(rows, table))) == len(rows))
    with TemporaryDirectory() as directory:
        store = ResultStore.open(Path(directory) / "results")
        with store.journal(data.draw(TEXTS.filter(bool))) as journal:
            journal.add(table, rows)
        assert journal.folded is not None
        assert journal.folded.set_aside == ()
        assert store.read(table).collect().equals(frame_of(rows, SCHEMAS[table]))
