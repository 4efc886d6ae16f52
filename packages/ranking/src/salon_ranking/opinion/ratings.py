"""Ratings: who gave which mark to which picture, checked row by row, with each prompt's scenario.

A rating is one mark of one rater for one generation in one dimension (``salon_taxonomy.records.Rating``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from salon_ranking.battles.vote_formats import with_model_names, with_our_columns
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame, as_lazy, read_table
from salon_ranking.leaderboard.board import NOT_GIVEN
from salon_ranking.opinion.errors import RatingError
from salon_ranking.table_checks import CheckedTable, absent_values
from salon_taxonomy.store_address import is_url

_NAMES = ("rating_id", "prompt_id", "generation_id", "model", "dimension", "rater_id")
_OTHER_COLUMNS = "Columns with other names: `salon ratings mos --columns theirs=ours,…`, and --scale LOW HIGH; see docs/mos.md."
_SCALE = ("scale_min", "scale_max")


@dataclass(frozen=True, eq=False)
class MosRatings:
    """A checked set of ratings. Build with :meth:`from_frame` or :meth:`read`.

    Attributes:
        source: what errors and headers call it: a path, or ``"ratings"``.
        frame: columns ``prompt_id``, ``generation_id``, ``model``, ``dimension``, ``rater_id`` (text), ``value`` (float,
            null: the rater or judge gave none), ``scenario`` (text; only where scenarios are known).
        scales: the lowest and highest mark of each dimension, in the order in which dimensions first appear.
        unscored: how often each reason prevented a mark.
        remarks: what was changed while reading: merged names of models, assumed columns.
    """

    source: str
    frame: pl.DataFrame
    scales: dict[str, tuple[float, float]]
    unscored: dict[str, int]
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        prompts: Frame | None = None,
        source: str = "ratings",
        columns: Mapping[str, str] | None = None,
        names: Mapping[str, str] | Literal["merge"] | None = None,
        scale: tuple[float, float] | None = None,
    ) -> "MosRatings":
        """Check the rows of a frame with the columns of ``records.Rating`` (``answered_at`` is not read).

        A column ``scenario`` is optional; ``prompts`` (columns ``prompt_id`` and ``scenario``), when given, takes
        its place. A prompt without a scenario belongs to ``(not given)``. A null ``value`` is refused unless the
        column ``unscored_reason`` gives the reason; such rows are counted, never scored.

        Args:
            frame: the marks.
            prompts: their scenarios.
            source: what errors call the table.
            columns: our name of a column by the table's: ``{"score": "value"}``.
            names: a model's name by each of its other spellings; ``"merge"``: names that differ only by case, spaces or
                Unicode form are one model.
            scale: the lowest and the highest mark, in place of ``scale_min`` and ``scale_max``. Missing columns are then
                assumed, and noted in ``remarks``: ``rating_id`` is the row's number, ``dimension`` is ``overall``, and
                ``generation_id`` says that each model made one picture for each prompt.

        Raises:
            RatingError: a missing column, a wrong type, or rows (the first of each kind is named and all are counted) with: no
                name, a rating id that occurred before, a mark that is no finite number or off its scale, a scale that differs
                within a dimension, a generation of two prompts or models, or a prompt of two scenarios.

        Example:
            >>> frame = pl.DataFrame(
            ...     {"rating_id": [1, 2], "prompt_id": ["p", "p"], "generation_id": ["g1", "g2"], "model": ["x", "y"],
            ...      "dimension": ["beauty"] * 2, "value": [4, 2], "scale_min": 1, "scale_max": 5, "rater_id": ["ann"] * 2}
            ... )
            >>> MosRatings.from_frame(frame).scales
            {'beauty': (1.0, 5.0)}
        """
        lazy = with_our_columns(as_lazy(frame, source, RatingError), columns or {}, source, RatingError)
        table = CheckedTable(lazy.collect(), source, RatingError)
        assumed: tuple[str, ...] = ()
        if scale is not None:
            table, assumed = _with_scale(table, scale)
        table.require([*_NAMES, "value", *_SCALE], advice=_OTHER_COLUMNS)
        spelled, merged = with_model_names(table.frame, names)
        table = replace(table, frame=spelled)
        table = table.with_names(_NAMES)
        unscored = "unscored_reason" in table.frame.columns
        absent = absent_values(table.frame["value"])
        table = table.with_numbers(["value"], nullable=unscored).with_numbers(_SCALE)
        _check(table, absent if unscored else None)
        if prompts is None and "scenario" in table.frame.columns:
            _one_scenario(table)
        table.refuse_wrong()
        reasons = _reasons(table.frame) if unscored else {}
        return cls(source, _with_scenario(table, prompts), _scales(table), reasons, (*assumed, *merged))

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        prompts: str | Path | None = None,
        columns: Mapping[str, str] | None = None,
        names: Mapping[str, str] | Literal["merge"] | None = None,
        scale: tuple[float, float] | None = None,
    ) -> "MosRatings":
        """Read a CSV, JSON Lines or Parquet file, or the tables ``ratings`` and ``prompts`` of a result store (a directory).

        Args:
            path: the file or the store.
            prompts: a file with ``prompt_id`` and ``scenario``, or a store; by default that of a store's own.
            columns, names, scale: see :meth:`from_frame`.

        Raises:
            RatingError: a file cannot be read, or as :meth:`from_frame`.
        """
        frame = read_table(path, "ratings", RatingError)
        stored = is_url(path) or Path(path).is_dir()
        known = path if prompts is None and stored and "scenario" not in frame.columns else prompts
        scenarios = None if known is None else read_table(known, "prompts", RatingError)
        return cls.from_frame(frame, prompts=scenarios, source=str(path), columns=columns, names=names, scale=scale)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions, in the order in which they first appear."""
        return tuple(self.scales)

    @property
    def has_scenarios(self) -> bool:
        """Whether scenarios are known."""
        return "scenario" in self.frame.columns

    @property
    def scored(self) -> pl.DataFrame:
        """The rows with a mark."""
        return self.frame.filter(pl.col("value").is_not_null())


def _with_scale(table: CheckedTable, scale: tuple[float, float]) -> tuple[CheckedTable, tuple[str, ...]]:
    """Return the table with one scale and all columns that may be assumed, and what was assumed."""
    if not (isinstance(scale, tuple | list) and len(scale) == 2 and all(isinstance(end, int | float) for end in scale)):
        raise OptionError("scale must be the lowest and the highest mark, not", value=scale)
    low, high = scale
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise OptionError("the lowest mark must be below the highest, not", key="scale", value=f"{low:g}, {high:g}")
    existing = table.frame.columns
    present = [name for name in _SCALE if name in existing]
    if present:
        hint = "Leave --scale out: the file has its own."
        raise RatingError("is in the file already, beside a scale", source=table.source, column=present[0], hint=hint)
    table.require(["model", "prompt_id"], advice=_OTHER_COLUMNS)
    assumed = {
        "rating_id": (pl.int_range(1, pl.len() + 1), "each row is one rating"),
        "dimension": (pl.lit("overall"), "all marks are of one dimension, overall"),
        "generation_id": (pl.format("{}/{}", "model", "prompt_id"), "each model made one picture for each prompt"),
    }
    lacking = {name: given for name, given in assumed.items() if name not in existing}
    columns = {name: value for name, (value, _) in lacking.items()}
    frame = table.frame.with_columns(scale_min=pl.lit(float(low)), scale_max=pl.lit(float(high)), **columns)
    remarks = ", ".join(words for _, words in lacking.values())
    return replace(table, frame=frame), (f"assumed: {remarks}",) if remarks else ()


def _check(table: CheckedTable, absent: pl.Series | None) -> None:
    """Note the rows that do not fit together; ``absent`` is where no mark was given, None where one must be."""
    if table.frame.is_empty():
        raise RatingError("holds no ratings", source=table.source)
    low, high, value = pl.col("scale_min"), pl.col("scale_max"), pl.col("value")
    named = {name: pl.col(name).str.strip_chars() != "" for name in ("rating_id", "dimension", "generation_id")}
    table.note(~pl.col("rating_id").is_first_distinct() & named["rating_id"], "occurred before:", "rating_id")
    table.note(low >= high, "is not below scale_max:", "scale_min")
    if absent is not None:
        table.one_value_per_row("unscored_reason")
        reason = pl.col("unscored_reason").cast(pl.String).str.strip_chars()
        blank = reason.is_null() | (reason == "")
        table.note(absent & table.frame.select(blank).to_series(), "is missing without an unscored_reason", "value")
        table.note(~absent & table.frame.select(~blank).to_series(), "is given although there is a value:", "unscored_reason")
    for column in _SCALE:
        other = pl.col(column) != pl.col(column).first().over("dimension")
        table.note(other & named["dimension"], "differs within its dimension:", column, hint="Give each dimension one scale.")
    table.note((low < high) & ((value < low) | (value > high)), "is off its scale:", "value")
    for column in ("prompt_id", "model"):
        moved = pl.col(column) != pl.col(column).first().over("generation_id")
        table.note(moved & named["generation_id"], "is not that of the same generation before:", column)


def _scales(table: CheckedTable) -> dict[str, tuple[float, float]]:
    first = table.frame.unique("dimension", keep="first", maintain_order=True)
    return {name: (low, high) for name, low, high in first.select("dimension", *_SCALE).iter_rows()}


def _reasons(frame: pl.DataFrame) -> dict[str, int]:
    counted = frame.filter(pl.col("value").is_null()).group_by(pl.col("unscored_reason").cast(pl.String)).len()
    ordered = counted.sort(["len", "unscored_reason"], descending=[True, False])
    return dict(ordered.iter_rows())


def _with_scenario(table: CheckedTable, prompts: Frame | None) -> pl.DataFrame:
    """Return the columns that are kept, with the scenario of each row's prompt where it is known."""
    frame = table.frame
    if prompts is not None:
        known = CheckedTable(as_lazy(prompts, "prompts", RatingError).collect(), f"prompts of {table.source}", RatingError)
        known.require(["prompt_id", "scenario"])
        if not known.frame.is_empty():
            known = known.with_names(["prompt_id"])
        _one_scenario(known)
        known.refuse_wrong()
        scenarios = known.frame.select(pl.col("prompt_id").cast(pl.String), "scenario").unique("prompt_id", keep="first")
        frame = frame.drop("scenario", strict=False).join(scenarios, on="prompt_id", how="left", maintain_order="left")
    kept = ["prompt_id", "generation_id", "model", "dimension", "rater_id", "value"]
    if "scenario" in frame.columns:
        named = pl.col("scenario").cast(pl.String).str.strip_chars()
        frame = frame.with_columns(scenario=pl.when(named != "").then(named).otherwise(pl.lit(NOT_GIVEN)))
        kept.append("scenario")
    return frame.select(kept)


def _one_scenario(table: CheckedTable) -> None:
    table.one_value_per_row("scenario")
    changed = pl.col("scenario").ne_missing(pl.col("scenario").first().over("prompt_id"))
    table.note(changed & pl.col("prompt_id").is_not_null(), "is not that of the same prompt before:", "scenario")
