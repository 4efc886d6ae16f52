"""The SQL of the views: each table as DuckDB sees it, over the list of files that its log names.

The list is explicit because a pattern such as ``battles/*.parquet`` would also show the rows of files that were merged into
others, or that no commit has.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from salon_store.schemas import TableSchema

if TYPE_CHECKING:
    import duckdb

_TYPES = {
    pl.String: "VARCHAR",
    pl.Float64: "DOUBLE",
    pl.Int64: "BIGINT",
    pl.Boolean: "BOOLEAN",
    pl.Datetime: "TIMESTAMPTZ",
    pl.List: "VARCHAR[]",
}


def hide_progress(connection: "duckdb.DuckDBPyConnection") -> None:
    """Turn the progress bar of a connection off, where it is on.

    In a notebook without ipywidgets it is off, and DuckDB refuses the setting, whatever its value.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.execute("SET enable_progress_bar = false")


def literal(text: str) -> str:
    """Return a text as an SQL literal.

    Example:
        >>> literal("O'Hara")
        "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier.

    Example:
        >>> identifier('group')
        '"group"'
    """
    return '"' + name.replace('"', '""') + '"'


def file_pattern(path: Path) -> str:
    """Return a path as DuckDB's file readers want it: characters that mean a pattern there are made to mean themselves.

    Example:
        >>> print(file_pattern(Path("/runs [1]/a.parquet")))
        /runs [[]1]/a.parquet
    """
    return "".join(f"[{character}]" if character in "*?[" else character for character in str(path))


def create_view(
    connection: "duckdb.DuckDBPyConnection", schema: TableSchema, paths: Sequence[Path], *, missing_columns: Iterable[str] = ()
) -> None:
    """Make the view of one table, which may be empty.

    Args:
        connection: where the view is made.
        schema: the table.
        paths: its files.
        missing_columns: columns that some of the files may lack; they are null there.
    """
    columns = _kinds(schema)
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(name)}" for name, kind in columns.items())
    body = f"SELECT {nulls} WHERE false"
    if paths:
        mixed = bool(set(missing_columns))
        files = ", ".join(literal(file_pattern(path)) for path in paths)
        rows = f"read_parquet([{files}], hive_partitioning = false, union_by_name = {'true' if mixed else 'false'})"
        chosen = "SELECT " + ", ".join(identifier(name) for name in columns)
        # The empty first half types every column, also one that no file has yet.
        body = f"{body} UNION ALL BY NAME FROM {rows}" if mixed else f"FROM {rows} {chosen}"
    connection.execute(f"CREATE OR REPLACE VIEW {identifier(schema.name)} AS {body}")


def create_error_view(connection: "duckdb.DuckDBPyConnection", schema: TableSchema, message: str) -> None:
    """Make a view that answers every query of the table with an error."""
    text = literal(f"table {schema.name}: {message}")
    columns = ", ".join(f"CAST(error({text}) AS {kind}) AS {identifier(name)}" for name, kind in _kinds(schema).items())
    # In every column and in a WHERE: a query that leaves out the columns (a count) meets it too.
    connection.execute(
        f"CREATE OR REPLACE VIEW {identifier(schema.name)} AS SELECT {columns} WHERE CAST(error({text}) AS BOOLEAN)"
    )


def _kinds(schema: TableSchema) -> dict[str, str]:
    """Return column → DuckDB's name of its type."""
    return {name: _TYPES[column.dtype.base_type()] for name, column in schema.columns.items()}
