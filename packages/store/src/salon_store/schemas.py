"""The columns of every result table, derived from the pydantic records of ``salon_taxonomy.records``.

A record checks one row, these schemas check whole frames (``checks.py``). Null means *not known or not applicable*; a column
that may be left out of a frame is filled with its default. To change a table, change its record.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from salon_taxonomy.errors import InputError
from salon_taxonomy.records import TABLES, Record, RowRule

Default: TypeAlias = "str | int | float | bool | tuple[str, ...] | None"
INSTANT = pl.Datetime("us", "UTC")
"""A point in time: microseconds, UTC."""
_TYPES: Mapping[str, pl.DataType] = {
    "string": pl.String(),
    "integer": pl.Int64(),
    "number": pl.Float64(),
    "boolean": pl.Boolean(),
    "array": pl.List(pl.String()),
}
_DELTA_TYPES: Mapping[Any, object] = {
    pl.String: "string",
    pl.Int64: "long",
    pl.Float64: "double",
    pl.Boolean: "boolean",
    pl.Datetime: "timestamp",
    pl.List: {"type": "array", "elementType": "string", "containsNull": True},
}


@dataclass(frozen=True, slots=True)
class Column:
    """The type and limits of one column.

    Lengths are in characters (of the text, or of each text of a list); numeric limits are inclusive except
    ``above`` and ``below``. Floating-point columns never hold NaN or an infinity.
    """

    dtype: pl.DataType
    required: bool = True
    nullable: bool = False
    default: Default = None
    allowed: tuple[str, ...] | None = None
    shortest: int | None = None
    longest: int | None = None
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    pattern: str | None = None

    @property
    def delta_type(self) -> object:
        """The column's type in a Delta table's schema."""
        return _DELTA_TYPES[self.dtype.base_type()]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule between columns: ``broken`` is true where a row breaks it; ``column`` is the one an error shows."""

    problem: str
    column: str
    broken: pl.Expr


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Describe one result table: columns in order, key columns (nulls in a key are equal), rules."""

    name: str
    key: tuple[str, ...]
    columns: dict[str, Column]
    rules: tuple[Rule, ...] = ()

    @property
    def polars(self) -> pl.Schema:
        """The polars schema: column name → type, in order."""
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})

    def empty(self) -> pl.DataFrame:
        """Return a frame of this table's schema without rows."""
        return pl.DataFrame(schema=self.polars)


def schema_of(table: str, record: type[Record]) -> TableSchema:
    """Derive the schema of a table from its record.

    Example:
        >>> from salon_taxonomy.records import Rating
        >>> schema_of("ratings", Rating).columns["answered_at"].nullable
        True
    """
    described = record.model_json_schema()
    columns = {}
    for name, field in record.model_fields.items():
        limits, nullable = _resolved(described["properties"][name], described.get("$defs", {}))
        kind = INSTANT if limits.get("format") == "date-time" else _TYPES[limits["type"]]
        texts = limits.get("items", limits)
        default = None if field.is_required() else field.default
        columns[name] = Column(
            kind,
            required=field.is_required(),
            nullable=nullable,
            default=str(default) if isinstance(default, str) else default,
            allowed=tuple(limits["enum"]) if "enum" in limits else None,
            shortest=texts.get("minLength"),
            longest=texts.get("maxLength"),
            at_least=limits.get("minimum"),
            at_most=limits.get("maximum"),
            above=limits.get("exclusiveMinimum"),
            below=limits.get("exclusiveMaximum"),
            pattern=limits.get("pattern"),
        )
    return TableSchema(table, record.key, columns, tuple(map(_rule, record.rules)))


def _resolved(described: dict[str, Any], definitions: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the JSON schema of a field without references and without null; whether it may be null."""
    if "$ref" in described:
        return definitions[described["$ref"].rpartition("/")[2]], False
    if "anyOf" not in described:
        return described, False
    (arm,) = (arm for arm in described["anyOf"] if arm.get("type") != "null")
    return _resolved(arm, definitions)[0], True


def _rule(rule: RowRule) -> Rule:
    first, second, *rest = map(pl.col, rule.columns)
    broken = {
        "exactly_one": lambda: first.is_null() == second.is_null(),
        "differ": lambda: first == second,
        "not_before": lambda: first < second,
        "between": lambda: ~first.is_between(second, rest[0]),
    }[rule.kind]()
    return Rule(rule.problem, rule.columns[0], broken)


SCHEMAS: dict[str, TableSchema] = {table: schema_of(table, record) for table, record in TABLES.items()}
"""Every table of the store, by name."""


def table_schema(table: str) -> TableSchema:
    """Return the schema of one table.

    Raises:
        InputError: for a name that is no table; names the tables there are.

    Example:
        >>> table_schema("battles").key
        ('battle_id',)
    """
    try:
        return SCHEMAS[table]
    except KeyError:
        raise InputError("there is no table", value=table, allowed=SCHEMAS) from None
