"""The columns of every result table: polars types, allowed values, keys and the rules that tie columns together.

Each table has a pydantic record in ``salon_taxonomy.records``; a test holds the two together, column by column and
limit by limit. The records are for one row at a time, these schemas check whole frames at once (``checks.py``).
Null means *not known or not applicable*; a column that may be left out of a frame is filled with its default.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import polars as pl

from salon_taxonomy.errors import InputError
from salon_taxonomy.records import CallStatus, Finish, MediaKind, Mode, RunEventKind, Side, Winner

Default: TypeAlias = "str | int | float | bool | tuple[str, ...] | None"
INSTANT = pl.Datetime("us", "UTC")
"""A point in time: microseconds, UTC."""


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


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule between columns: ``broken`` is true where a row breaks it; ``column`` is the one an error shows."""

    problem: str
    column: str
    broken: pl.Expr


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One result table: columns in order, the columns of its key (nulls in a key are equal to each other), rules."""

    name: str
    key: tuple[str, ...]
    columns: dict[str, Column]
    rules: tuple[Rule, ...] = ()

    @property
    def polars(self) -> pl.Schema:
        """The polars schema: column name → type, in order."""
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})

    def empty(self) -> pl.DataFrame:
        """A frame of this table's schema without rows."""
        return pl.DataFrame(schema=self.polars)


TEXT = Column(pl.String())
KEY = Column(pl.String(), shortest=1, longest=200)
NAME = Column(pl.String(), shortest=1, longest=400)
SHA256 = Column(pl.String(), pattern=r"^[0-9a-f]{64}$")
NAMES = Column(pl.List(pl.String()), required=False, default=(), shortest=1, longest=400)
NUMBER = Column(pl.Float64())
INTEGER = Column(pl.Int64())
COUNT = Column(pl.Int64(), at_least=0)
FLAG = Column(pl.Boolean())
TIME = Column(INSTANT)


def _maybe(column: Column) -> Column:
    """The column, may be null and may be left out."""
    return replace(column, required=False, nullable=True)


def _unless(column: Column, default: Default) -> Column:
    """The column, filled with ``default`` when it is left out; never null."""
    return replace(column, required=False, default=default)


def _one_of(values: type[StrEnum]) -> Column:
    return Column(pl.String(), allowed=tuple(item.value for item in values))


_SCORED_OR_NOT = Rule(
    "exactly one of value and unscored_reason must be set",
    "value",
    pl.col("value").is_null() == pl.col("unscored_reason").is_null(),
)
_TWO_MODELS = Rule("model_a and model_b must differ", "model_b", pl.col("model_a") == pl.col("model_b"))
_IN_TIME = Rule("answered_at must not lie before started_at", "answered_at", pl.col("answered_at") < pl.col("started_at"))
_ON_SCALE = Rule(
    "value must lie between scale_min and scale_max",
    "value",
    ~pl.col("value").is_between(pl.col("scale_min"), pl.col("scale_max")),
)

_TABLES = (
    TableSchema(
        "runs",
        ("run_id",),
        {
            "run_id": KEY,
            "suite": NAME,
            "subject_model": _maybe(NAME),
            "judge": _maybe(NAME),
            "judge_version": _maybe(NAME),
            "seed": _maybe(INTEGER),
            "settings": _maybe(TEXT),
            "source": _maybe(TEXT),
            "salon_version": NAME,
            "started_at": _maybe(TIME),
            "finished_at": _maybe(TIME),
        },
    ),
    TableSchema(
        "run_events",
        ("event_id",),
        {
            "event_id": KEY,
            "run_id": KEY,
            "kind": _one_of(RunEventKind),
            "at": TIME,
            "cases_done": COUNT,
            "cases_total": COUNT,
            "calls": _unless(COUNT, 0),
            "cost_usd": _maybe(replace(NUMBER, at_least=0)),
            "detail": _maybe(TEXT),
        },
    ),
    TableSchema(
        "prompts",
        ("suite", "prompt_id", "prompt_key"),
        {
            "prompt_id": KEY,
            "suite": NAME,
            "text": replace(TEXT, shortest=1),
            "language": _maybe(NAME),
            "scenario": _maybe(NAME),
            "labels": NAMES,
            "prompt_key": _maybe(KEY),
        },
    ),
    TableSchema("run_prompts", ("run_id", "prompt_id"), {"run_id": KEY, "prompt_id": KEY, "prompt_key": KEY}),
    TableSchema(
        "generations",
        ("generation_id",),
        {
            "generation_id": KEY,
            "prompt_id": KEY,
            "model": NAME,
            "sample": _unless(COUNT, 0),
            "seed": _maybe(INTEGER),
            "kind": _unless(_one_of(MediaKind), MediaKind.IMAGE.value),
            "uri": NAME,
            "sha256": SHA256,
            "width": _maybe(replace(INTEGER, above=0)),
            "height": _maybe(replace(INTEGER, above=0)),
            "created_at": _maybe(TIME),
        },
    ),
    TableSchema(
        "judge_calls",
        ("call_id", "attempt"),
        {
            "call_id": KEY,
            "run_id": KEY,
            "judge": NAME,
            "judge_version": NAME,
            "case_id": _maybe(KEY),
            "generation_id": _maybe(KEY),
            "step": _maybe(NAME),
            "request_sha256": SHA256,
            "attempt": replace(INTEGER, at_least=1),
            "status": _one_of(CallStatus),
            "finish": _maybe(_one_of(Finish)),
            "cached": _unless(FLAG, False),
            "http_status": _maybe(replace(INTEGER, at_least=100, at_most=599)),
            "latency_ms": _maybe(replace(NUMBER, at_least=0)),
            "prompt_tokens": _maybe(COUNT),
            "completion_tokens": _maybe(COUNT),
            "cost_usd": _maybe(replace(NUMBER, at_least=0)),
            "response_text": _maybe(TEXT),
            "parse_status": _maybe(NAME),
            "error": _maybe(TEXT),
        },
    ),
    TableSchema(
        "assessments",
        ("assessment_id",),
        {
            "assessment_id": KEY,
            "run_id": KEY,
            "generation_id": KEY,
            "taxonomy": NAME,
            "label": NAME,
            "present": FLAG,
            "judge": NAME,
            "judge_version": _maybe(NAME),
            "explanation": _maybe(TEXT),
        },
    ),
    TableSchema(
        "scores",
        (
            "run_id",
            "suite",
            "task",
            "subject_model",
            "prompt_id",
            "generation_id",
            "dimension",
            "judge",
            "judge_version",
        ),
        {
            "run_id": KEY,
            "suite": NAME,
            "task": NAME,
            "subject_model": NAME,
            "prompt_id": _maybe(KEY),
            "generation_id": _maybe(KEY),
            "dimension": NAME,
            "value": _maybe(NUMBER),
            "unscored_reason": _maybe(NAME),
            "judge": NAME,
            "judge_version": _maybe(NAME),
        },
        (_SCORED_OR_NOT,),
    ),
    TableSchema(
        "battles",
        ("battle_id",),
        {
            "battle_id": KEY,
            "suite": _maybe(NAME),
            "prompt_id": _maybe(KEY),
            "model_a": NAME,
            "model_b": NAME,
            "winner": _one_of(Winner),
            "rater_id": NAME,
            "mode": _one_of(Mode),
            "scenario": _maybe(NAME),
            "labels": NAMES,
            "generation_a": _maybe(KEY),
            "generation_b": _maybe(KEY),
            "side_a_shown": _maybe(_one_of(Side)),
            "started_at": _maybe(TIME),
            "answered_at": _maybe(TIME),
            "is_anchor": _unless(FLAG, False),
            "expected_winner": _maybe(_one_of(Winner)),
            "weight": _unless(replace(NUMBER, at_least=0), 1.0),
            "plan_rule": _maybe(NAME),
            "plan_stream": _maybe(replace(INTEGER, at_least=1, at_most=2)),
        },
        (_TWO_MODELS, _IN_TIME),
    ),
    TableSchema(
        "ratings",
        ("rating_id",),
        {
            "rating_id": KEY,
            "prompt_id": KEY,
            "generation_id": KEY,
            "model": NAME,
            "dimension": NAME,
            "value": NUMBER,
            "scale_min": NUMBER,
            "scale_max": NUMBER,
            "rater_id": NAME,
            "answered_at": _maybe(TIME),
        },
        (_ON_SCALE,),
    ),
    TableSchema(
        "leaderboards",
        ("leaderboard_id", "board", "group", "model"),
        {
            "leaderboard_id": KEY,
            "board": NAME,
            "group": _maybe(NAME),
            "model": NAME,
            "rank": replace(INTEGER, at_least=1),
            "rating": _maybe(NUMBER),
            "ci_low": _maybe(NUMBER),
            "ci_high": _maybe(NUMBER),
            "confidence": _maybe(replace(NUMBER, above=0, below=1)),
            "ci_method": _maybe(NAME),
            "matches": replace(NUMBER, at_least=0),
            "win_rate": replace(NUMBER, at_least=0, at_most=1),
            "baseline": _maybe(NAME),
            "solver": NAME,
            "estimator": _maybe(NAME),
            "replicates": _unless(COUNT, 0),
            "seed": _maybe(INTEGER),
            "excluded_by": _maybe(KEY),
        },
    ),
    TableSchema(
        "rater_flags",
        ("report_id", "rater_id", "reason"),
        {
            "report_id": KEY,
            "rater_id": NAME,
            "reason": NAME,
            "value": _maybe(NUMBER),
            "threshold": _maybe(NUMBER),
            "explanation": _maybe(TEXT),
            "battles": COUNT,
            "policy": _maybe(TEXT),
            "source": _maybe(TEXT),
        },
    ),
    TableSchema(
        "rewards",
        ("run_id", "step", "completion_id", "reward"),
        {
            "run_id": KEY,
            "step": COUNT,
            "completion_id": KEY,
            "prompt_id": _maybe(KEY),
            "reward": NAME,
            "value": _maybe(NUMBER),
            "unscored_reason": _maybe(NAME),
            "weight": _unless(NUMBER, 1.0),
        },
        (_SCORED_OR_NOT,),
    ),
)

SCHEMAS: dict[str, TableSchema] = {table.name: table for table in _TABLES}
"""Every table of the store, by name."""


def table_schema(table: str) -> TableSchema:
    """The schema of one table.

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
