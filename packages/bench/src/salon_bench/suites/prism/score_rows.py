"""Rows of scores: from a result store by their run, or from a table that was exported."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from salon_bench.runs.view import RunView
from salon_bench.suites.contract.table_rows import TABLE_ENDINGS, TableRow, table_rows
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score
from salon_taxonomy.store_address import StoreAddress


def read_scores(source: str, store: StoreAddress) -> pl.DataFrame:
    """The rows that a source names.

    Args:
        source: a run's id, or a table (CSV, JSON, JSON Lines, Parquet) with the columns of the store's ``scores``.
        store: where runs are looked for.

    Raises:
        InputError: there is neither such a run nor such a file, the file has no row, or one that is no score.
    """
    if source.lower().endswith(TABLE_ENDINGS):
        rows = [_score(row) for row in table_rows(Path(source))]
        if not rows:
            raise InputError("there is no score", source=source)
        return frame_of(rows)
    found = RunView(store, source).scores
    if found.is_empty():
        hint = f"Give a run that has scores, or a table ({', '.join(TABLE_ENDINGS)})."
        raise InputError("the store has no score of the run", source=store, value=source, hint=hint)
    return found


def frame_of(scores: Sequence[Score]) -> pl.DataFrame:
    """Records as a frame with the columns of the store's ``scores``.

    Example:
        >>> frame_of([]).columns[:4]
        ['run_id', 'suite', 'task', 'subject_model']
    """
    schema = {name: pl.Float64 if name == "value" else pl.String for name in Score.model_fields}
    return pl.DataFrame([score.model_dump() for score in scores], schema=schema)


def _score(row: TableRow) -> Score:
    cells = {name: None if value == "" else value for name, value in row.cells.items() if name in Score.model_fields}
    try:
        return Score.model_validate(cells)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        column = str(first["loc"][0]) if first["loc"] else "value"
        raise row.problem(f"is no score ({first['msg']}):", column, value=cells.get(column)) from error
