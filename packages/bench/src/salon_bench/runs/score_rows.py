"""Read scores of judges and marks of people, from a result store or from tables."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from salon_bench.runs.view import RunView
from salon_console.table_rows import TABLE_ENDINGS, TableRow, finite_number, table_rows
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Score
from salon_taxonomy.store_address import StoreAddress, is_url


def read_scores(sources: Sequence[str], store: StoreAddress) -> pl.DataFrame:
    """Return the rows that sources name, each source once.

    Args:
        sources: runs' ids, runs of other stores (:func:`located_run`), or tables (CSV, JSON, JSON Lines, Parquet) with the
            columns of the store's ``scores``.
        store: where runs are looked for.

    Raises:
        InputError: there is neither such a run nor such a file, the file has no row, or one that is no score.
    """
    return pl.concat([_of_source(source, store) for source in dict.fromkeys(sources)], how="diagonal_relaxed")


def _of_source(source: str, store: StoreAddress) -> pl.DataFrame:
    if source.lower().endswith(TABLE_ENDINGS):
        rows = [_score(row) for row in table_rows(Path(source))]
        if not rows:
            raise InputError("there is no score", source=source)
        return frame_of(rows)
    store, run = located_run(source, store)
    view = RunView(store, run)
    if view.scores.is_empty():
        allowed = view.read("scores").select(pl.col("run_id").unique()).collect()["run_id"].sort().to_list()
        hint = f"Give a run that has scores, or a table ({', '.join(TABLE_ENDINGS)})."
        raise InputError("the store has no scores of the run", source=store, value=run, allowed=allowed, hint=hint)
    return view.scores


def located_run(source: str, store: StoreAddress) -> tuple[StoreAddress, str]:
    """Return the store and the id of a run: those of ``STORE#RUN``, where STORE is a URL or a store's directory.

    Args:
        source: a run's id, or ``STORE#RUN``.
        store: of a run without one.

    Example:
        >>> located_run("s3://releases/results#prism-1a2b", "results"), located_run("prism#2", "results")
        (('s3://releases/results', 'prism-1a2b'), ('results', 'prism#2'))
    """
    address, _, run = source.rpartition("#")
    if run and (is_url(address) or (address and (Path(address) / "store.json").is_file())):
        return address, run
    return store, source


def is_same_source(one: str, other: str, store: StoreAddress) -> bool:
    """Return whether two names mean one run, table or folder.

    Example:
        >>> is_same_source("scores.csv", "./scores.csv", "results"), is_same_source("prism-1a", "prism-2b", "results")
        (True, False)
    """
    places = []
    for source in (one, other):
        address, run = located_run(source, store)
        is_file = source.lower().endswith(TABLE_ENDINGS) or Path(source).exists()
        places.append(
            (Path(source).resolve(), "") if is_file else (address if is_url(address) else Path(address).resolve(), run)
        )
    return places[0] == places[1]


def frame_of(scores: Sequence[Score]) -> pl.DataFrame:
    """Return records as a frame with the columns of the store's ``scores``.

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
        if column not in row.cells:
            raise row.missing(column) from error
        raise row.problem(f"is no score ({first['msg']}):", column, value=cells.get(column)) from error


_NAMES = ("prompt_id", "model", "generation_id", "dimension")
_SCHEMA = dict.fromkeys((*_NAMES, "rater_id"), pl.String) | {"value": pl.Float64}


def read_marks(path: StoreAddress, probability: str | None = None) -> pl.DataFrame:
    """Read marks; a picture is named by ``generation_id``, or by ``prompt_id`` and ``model``.

    Args:
        path: a table (CSV, JSON, JSON Lines, Parquet), or a result store (a directory or a URL), whose ``ratings`` are read.
        probability: a further column of a table, with numbers: the chance that the picture was shown.

    Returns:
        Columns ``prompt_id``, ``model``, ``generation_id``, ``dimension``, ``rater_id`` (text; null where the table has none)
        and ``value`` (float), and the probability's; a column that no row has is left out.

    Raises:
        InputError: the file cannot be read, a row names no picture or rater, a mark is no finite number, or no row is left.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "marks.csv"
        >>> _ = path.write_text("prompt_id,model,rater_id,value\\nstyle-0,our-model,ann,7\\n")
        >>> read_marks(path).rows()
        [('style-0', 'our-model', 'ann', 7.0)]
    """
    if is_url(path) or Path(path).is_dir():
        frame = _stored(path)
    else:
        further = () if probability is None else (probability,)
        schema = _SCHEMA | dict.fromkeys(further, pl.Float64)
        frame = pl.DataFrame([_mark(row, further) for row in table_rows(Path(path))], schema=schema)
    if frame.is_empty():
        raise InputError("there is no mark", source=path)
    return frame.drop(name for name in _NAMES if frame[name].is_null().all())


def _stored(store: StoreAddress) -> pl.DataFrame:
    from salon_store import ResultStore

    return ResultStore.open(store, create=False, read_only=True).read("ratings").select(*_SCHEMA).collect()


def _mark(row: TableRow, further: Sequence[str]) -> dict[str, object]:
    fields: dict[str, object] = {name: row.optional_text(name) for name in _NAMES}
    if fields["generation_id"] is None:
        row.text("prompt_id")
        row.text("model")
    values = {name: finite_number(row, name) for name in ("value", *further)}
    return fields | {"rater_id": row.text("rater_id"), **values}
