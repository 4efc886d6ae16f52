"""The manifest of one source's tables: what each table holds, and which cells follow from which.

A source is a paper, ``data/<paper>.toml`` beside the CSV files that it describes, or a repository of the ledger,
``data/ledger/<source>.toml``, whose rows are in the same file; ``docs/published.md`` explains how to write one. Every key is
checked when it is read, so that a slip names its file and key instead of skewing a number.
"""

import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from salon_published.patterns import Pattern
from salon_published.rules import RULES
from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml


def readable(text: str) -> str:
    """Return the text, which has nothing that acts unseen: control characters, marks that turn the direction, joiners.

    Raises:
        ValueError: it has.
    """
    for character in text:
        if not (character.isprintable() or character in "\n\t"):
            raise ValueError(f"the character {character!a} cannot be seen; write the text without it")
    return text


Text: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(readable)]
TableId: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*:\d+[a-z]?$")]
Number: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class BetterDirection(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


class Role(StrEnum):
    """What a column is for."""

    TRACK = "track"
    """Compares image generators; derived battles come from these columns, one per benchmark, track and judge."""
    DETAIL = "detail"
    """A finer or another view of what a track column says; also every measurement of things other than generators."""
    OVERALL = "overall"
    """A mean or total over tracks."""
    ELO = "elo"
    """A rating on the Elo scale, itself made of battles."""
    RANK = "rank"
    """A place on a leaderboard."""
    COUNT = "count"
    """How many there are of something."""
    INPUT = "input"
    """A weight, a support or a setting that goes into other cells."""
    NOTE = "note"
    """Words, or a number about the comparison itself (an interval's end, a gain, a correlation)."""


class GenerationTask(StrEnum):
    """What the compared models were asked to make."""

    TEXT_TO_IMAGE = "text-to-image"
    EDIT = "edit"
    """A picture from a picture and a prompt: edits, and pictures of a given subject."""
    TEXT_TO_VIDEO = "text-to-video"
    IMAGE_TO_VIDEO = "image-to-video"
    """A video from a first frame, from reference pictures or from a scene."""


class MeasuredBy(StrEnum):
    """Who measured the numbers of a source."""

    BENCHMARK = "benchmark"
    """The authors of the benchmark."""
    MAKER = "maker"
    """Those who make one of the compared models: its rows are self-reported, the others measured or quoted by a rival."""
    VOTES = "votes"
    """Voters of an arena."""


class RowKind(StrEnum):
    """What one row of a table is."""

    GENERATOR = "generator"
    PAIR = "pair"
    """Two generators, ``left`` and ``right``, whose votes are counted, and whether they were ``blind``."""
    ASSESSOR = "assessor"
    REFINER = "refiner"
    LABEL = "label"
    COUNTS = "counts"
    SETTING = "setting"
    METRIC = "metric"
    PERSONA = "persona"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ColumnEntry(_Entry):
    """What sets some columns apart from the rest of their table; the first entry that matches a column counts."""

    match: Text
    """Column name, or a pattern with ``*``."""
    unit: Text | None = None
    direction: BetterDirection | None = None
    benchmark: Text | None = None
    track: Text | None = None
    dimension: Text | None = None
    judge: Text | None = None
    role: Role | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    """Items behind each number, where the source says it."""


class KnownMisprint(_Entry):
    """A cell that is known to disagree with its own paper, and the likely reason."""

    row: Text
    column: Text
    reason: Text


class Derivation(_Entry):
    """A rule and its inputs."""

    rule: Text
    of: Annotated[tuple[Text, ...], Field(min_length=1)]
    """References: ``[table!]column[@row]``; ``*`` in the column takes what the target's ``*`` matched."""
    weights: tuple[Text | Number, ...] = ()
    """References or plain numbers."""
    reason: Text | None = None
    """The likely reason for the cells of this check that disagree and have no finding of their own."""

    @field_validator("rule")
    @classmethod
    def _known(cls, rule: str) -> str:
        if rule not in RULES:
            raise ValueError(f"unknown rule {rule!r} (allowed: {', '.join(sorted(RULES))})")
        return rule

    @property
    def derives(self) -> bool:
        """Whether the rule makes the value, rather than only testing whether it is possible."""
        return RULES[self.rule].derives


class Check(Derivation):
    """Which cells of a table follow from which others, and by which rule."""

    target: Text
    """Column name or pattern; the cells that are recomputed."""
    rows: tuple[Text, ...] | None = None
    """The rows whose cells are recomputed; None for all."""
    except_rows: tuple[Text, ...] = ()
    row_map: dict[Text, Text] = {}
    """Row here → row in the other table, for inputs that come from one; rows not named keep their name."""
    finding: tuple[KnownMisprint, ...] = ()


class Statement(Derivation):
    """A number about the table, printed in the paper's text."""

    name: Text
    printed: Annotated[str, Field(pattern=r"^[+-]?\d+(\.\d+)?$")]
    place: Text
    """Where in the paper it stands."""


Link = Annotated[str, Field(pattern=r"^https://[a-z0-9.-]+(/[A-Za-z0-9._~/%#?=&+-]*)?$")]


class TableEntry(_Entry):
    """One table of a paper, or one lettered part of it."""

    id: TableId
    file: Annotated[str, Field(pattern=r"^[\w.-]+\.csv$")] | None = None
    """The CSV file of the rows, beside the manifest."""
    csv: Text | None = None
    """The rows themselves, in place of ``file``."""
    caption: Text
    place: Text | None = None
    """Of the table in its source: a file, say."""
    link: Link | None = None
    """Of the repository or page that it was read from, where that is not the source's."""
    task: GenerationTask = GenerationTask.TEXT_TO_IMAGE
    keys: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The first columns: what a row is called, as printed."""
    name: tuple[Text, ...] | None = None
    """The key columns that make up the name of a row; None for all of them."""
    rows: RowKind
    unit: Text
    """"count" and "rank" are exact numbers, "text" is no number; anything else was rounded when it was printed."""
    direction: BetterDirection
    benchmark: Text | None = None
    track: Text | None = None
    dimension: Text | None = None
    judge: Text | None = None
    role: Role = Role.DETAIL
    column: tuple[ColumnEntry, ...] = ()
    check: tuple[Check, ...] = ()
    statement: tuple[Statement, ...] = ()

    @model_validator(mode="after")
    def _one_home_of_rows(self) -> Self:
        if (self.file is None) == (self.csv is None):
            raise ValueError("rows are in `file` or in `csv`, in one of them")
        return self

    def describe(self, column: str) -> ColumnEntry:
        """Return everything that is known about a column: its own entry over the table's defaults.

        Track and dimension default to the parts of the name before and after its first dot.
        """
        own = next((entry for entry in self.column if Pattern(entry.match).matches(column)), ColumnEntry(match=column))
        head, _, tail = column.partition(".")
        return ColumnEntry.model_construct(  # of parts that were checked
            match=column,
            unit=own.unit or self.unit,
            direction=own.direction or self.direction,
            benchmark=own.benchmark or self.benchmark,
            track=own.track or self.track or head,
            dimension=own.dimension or self.dimension or tail or None,
            judge=own.judge or self.judge,
            role=own.role or self.role,
            n=own.n,
        )


class Origin(_Entry):
    """Where and when the tables of a source were read, and who measured them."""

    link: Link
    commit: Text
    """Of the repository, or the version of the page."""
    date: datetime.date
    """Of the commit."""
    read: datetime.date
    """When the numbers were copied."""
    licence: Text
    """Of the repository, as it says it; facts and figures alone are copied."""
    measured_by: MeasuredBy
    maker: Text | None = None
    """Whose models are self-reported: the registry's name of the maker."""

    @model_validator(mode="after")
    def _maker_of_makers(self) -> Self:
        if (self.measured_by is MeasuredBy.MAKER) != (self.maker is not None):
            raise ValueError("a source that a maker measured names its maker, and no other one does")
        if self.date > self.read:
            raise ValueError(f"it was read on {self.read}, before the commit of {self.date}")
        return self


class Paper(_Entry):
    """One paper, or one source of the ledger, and its tables, in the order of the manifest."""

    paper: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    place: Annotated[int, Field(ge=1)] = 1
    """Of the paper among all: tables are listed, and battles drawn from them, in this order."""
    title: Text
    citation: Text
    table: Annotated[tuple[TableEntry, ...], Field(min_length=1)]
    origin: "Origin | None" = None
    """Where the tables of the ledger were read; None for a paper."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the tables."""
        return tuple(table.id for table in self.table)


EXACT_UNITS: frozenset[Literal["count", "rank"]] = frozenset({"count", "rank"})
"""Units whose numbers are whole and not rounded."""
TEXT_UNIT = "text"
"""The unit of columns that hold words."""


def read_manifest(path: Path) -> Paper:
    """Read and check one manifest.

    Raises:
        InputError: the file cannot be read or is no TOML, or a key is unknown, missing or wrong; names file and key.
    """
    content = read_toml(path, "manifest")
    try:
        paper = Paper.model_validate(content)
    except ValidationError as error:
        # A misspelt key is also a missing one; the misspelling is what helps.
        first = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
        key = ".".join(str(part) for part in first["loc"])
        value = None if first["type"] in {"missing", "extra_forbidden"} else first["input"]
        raise InputError(first["msg"], source=path, column=key, value=value) from error
    for number, table in enumerate(paper.table):
        if not table.id.startswith(f"{paper.paper}:") or paper.ids.index(table.id) != number:
            raise InputError(
                "table id is of another paper, or used twice", source=path, column=f"table.{number}.id", value=table.id
            )
    return paper
