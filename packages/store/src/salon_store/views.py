"""The SQL of the views: each table as DuckDB sees it, over an explicit list of parts.

The list is explicit because a pattern such as ``battles/*.parquet`` would show rows twice between the instant at which
a compacted part appears and the removal of the parts that it replaces.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from salon_store.schemas import SCHEMAS, TableSchema

_TYPES = {
    pl.String: "VARCHAR",
    pl.Float64: "DOUBLE",
    pl.Int64: "BIGINT",
    pl.Boolean: "BOOLEAN",
    pl.Datetime: "TIMESTAMPTZ",
    pl.List: "VARCHAR[]",
}


def literal(text: str) -> str:
    """A text as an SQL literal.

    Example:
        >>> literal("O'Hara")
        "'O''Hara'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as an SQL identifier.

    Example:
        >>> identifier('group')
        '"group"'
    """
    return '"' + name.replace('"', '""') + '"'


def file_pattern(path: Path) -> str:
    """A path as DuckDB's file readers want it: characters that mean a pattern there are made to mean themselves.

    Example:
        >>> print(file_pattern(Path("/runs [1]/a.parquet")))
        /runs [[]1]/a.parquet
    """
    return "".join(f"[{character}]" if character in "*?[" else character for character in str(path))


def view_statements(parts: Mapping[str, Iterable[Path]], *, mixed_versions: bool) -> list[str]:
    """One ``CREATE VIEW`` per table of the store, empty tables included.

    Args:
        parts: table → the parts that count.
        mixed_versions: parts of an older schema may lack columns; they are then matched by name and filled with null.
    """
    return [_view(schema, list(parts.get(name, ())), mixed_versions) for name, schema in SCHEMAS.items()]


def _view(schema: TableSchema, paths: list[Path], mixed_versions: bool) -> str:
    columns = {name: _TYPES[column.dtype.base_type()] for name, column in schema.columns.items()}
    nulls = ", ".join(f"CAST(NULL AS {kind}) AS {identifier(name)}" for name, kind in columns.items())
    body = f"SELECT {nulls} WHERE false"
    if paths:
        files = ", ".join(literal(file_pattern(path)) for path in paths)
        by_name = "true" if mixed_versions else "false"
        rows = f"read_parquet([{files}], hive_partitioning = false, union_by_name = {by_name})"
        # The empty first half types every column, also one that no part has yet.
        body = f"{body} UNION ALL BY NAME FROM {rows}" if mixed_versions else f"FROM {rows} {_select(columns)}"
    return f"CREATE VIEW {identifier(schema.name)} AS {body}"


def _select(columns: Mapping[str, str]) -> str:
    return "SELECT " + ", ".join(identifier(name) for name in columns)
