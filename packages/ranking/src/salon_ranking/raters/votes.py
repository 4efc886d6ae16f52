"""Battles as raters saw them: who answered what, on which side of the screen, when, and what was expected.

The columns are those of the record ``Battle``. Four must be there; of the others, checks use what is given and say what they
miss. Text is read as truth values and times, since that is what CSV files hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import numbered
from salon_ranking.battles.rankings import is_of_rankings
from salon_ranking.battles.repeated_ids import ID
from salon_ranking.battles.row_selection import Copies, NoWinner, RowSelection
from salon_ranking.battles.vote_formats import VoteFormat, format_of
from salon_ranking.errors import BattleError, Wrong
from salon_ranking.files import Frame, as_lazy, reading, scan
from salon_ranking.options import checked
from salon_ranking.table_checks import TRUTH, RowCheck, all_wrong, named, truth_of, wrong_rows
from salon_taxonomy.enums import Mode, Side, Winner

REQUIRED = ("rater_id", "model_a", "model_b", "winner")
TEXTS = ("prompt_id", "generation_a", "generation_b", "mode", "side_a_shown", "expected_winner")
MADE = ("prompt_id", "generation_a", "generation_b")
"""Texts of which a blank one is not known, as null is."""
TIMES = ("started_at", "answered_at")
FLAGS = ("is_anchor",)
TIES = [Winner.BOTH_GOOD.value, Winner.BOTH_BAD.value, Winner.TIE.value]
_INSTANT = pl.Datetime("us", "UTC")


@dataclass(frozen=True, eq=False)
class Votes:
    """All answers, one row each, in the order given.

    Attributes:
        frame: ``row`` (from 1), ``rater_id``, ``mode`` (null: not given), ``prompt_id``, ``model_a``, ``model_b``, ``winner``,
            ``expected_winner``, ``is_anchor``, ``started_at``, ``answered_at``, ``generation_a``, ``generation_b``,
            ``side_a_shown``; a column that was not given is null, ``is_anchor`` false.
        given: the columns that were given.
        battles: the same rows for fitting.
        source: what errors and headers call them.
    """

    frame: pl.DataFrame
    given: frozenset[str]
    battles: Battles
    source: str

    @classmethod
    @checked
    def read(
        cls,
        path: str | Path,
        votes: VoteFormat | str | None = None,
        *,
        names: Mapping[str, str] | Literal["merge"] | None = None,
        ids: str | None = ID,
        where: str | None = None,
        no_winner: NoWinner = "refuse",
        copies: Copies = "refuse",
    ) -> "Votes":
        """Read a file, a folder or pattern of files, or the ``battles`` table of a result store, as ``Battles.read`` does.

        Raises:
            BattleError: as :meth:`from_frame`, or the file cannot be read.
        """
        return cls.from_frame(
            scan(path), str(path), ids, votes=votes, names=names, where=where, no_winner=no_winner, copies=copies
        )

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Frame,
        source: str = "battles",
        ids: str | None = ID,
        *,
        votes: VoteFormat | str | None = None,
        names: Mapping[str, str] | Literal["merge"] | None = None,
        where: str | None = None,
        no_winner: NoWinner = "refuse",
        copies: Copies = "refuse",
    ) -> "Votes":
        """Check the rows of a frame with the columns of ``Battle``; the options are those of :meth:`Battles.from_frame`.

        Raises:
            BattleError: a required column is missing, or rows are wrong (the first of each kind is named and all are counted):
                no rater, an unknown winner, side or mode, a model
                against itself, an unreadable time or truth value, an answer before its start; or there are no rows.

        Example:
            >>> rows = {"rater_id": ["r"], "model_a": ["x"], "model_b": ["y"], "winner": ["tie"]}
            >>> sorted(Votes.from_frame(pl.DataFrame(rows)).given)
            ['model_a', 'model_b', 'rater_id', 'winner']
        """
        selection = RowSelection(where, no_winner, copies)
        lazy, matched = selection.matching(as_lazy(frame, source), source)
        lazy = lazy if votes is None else format_of(votes).read(lazy, source)
        lazy, dropped = selection.usable(lazy, ids, source)
        with reading(source):
            schema = lazy.collect_schema()
        missing = [name for name in REQUIRED if name not in schema]
        if missing and is_of_rankings(schema.names()):
            hint = "Rankings are for `salon votes rank` and `salon votes compare`."
            raise BattleError("this is for battles, and the table holds rankings", source=source, hint=hint)
        if missing:
            hint = "Each row is one answer of one rater; see the record Battle."
            hint = f"Missing too: {', '.join(map(repr, missing[1:]))}. {hint}" if missing[1:] else hint
            raise BattleError("missing column", source=source, value=missing[0], found=schema.names(), hint=hint)
        present = [name for name in (*REQUIRED, *TEXTS, *TIMES, *FLAGS) if name in schema]
        for name in present:
            _check_type(name, schema[name], source)
        with reading(source):
            raw = numbered(lazy).select(pl.col("__row").alias("row"), *present).collect()
        if not len(raw):
            raise BattleError("there are no battles", source=source)
        parsed = raw.with_columns(_parsed(name, raw.schema[name]) for name in present)
        wrong = _wrong_rows(raw, parsed)
        try:
            battles = Battles.from_frame(lazy, source, weight=None, ids=ids, anchors="count", names=names)
        except BattleError as error:
            if error.wrong and wrong:
                raise all_wrong([*error.wrong, *wrong], source, BattleError) from error
            raise
        if wrong:
            raise all_wrong(wrong, source, BattleError)
        if names is not None:
            parsed = parsed.with_columns(battles.frame.select(pl.col("model_a", "model_b").cast(pl.String)).collect())
        absent = [pl.lit(None, dtype=pl.String).alias(name) for name in TEXTS if name not in present]
        absent += [pl.lit(None, dtype=_INSTANT).alias(name) for name in TIMES if name not in present]
        absent += [pl.lit(False).alias(name) for name in FLAGS if name not in present]
        whole = parsed.with_columns(absent).with_columns(pl.col("is_anchor").fill_null(False))
        battles = replace(battles, remarks=(*matched, *dropped, *battles.remarks))
        return cls(whole.select("row", *REQUIRED, *TEXTS, *TIMES, *FLAGS), frozenset(present), battles, source)

    def lacks(self, *columns: str) -> str | None:
        """Return why a check that needs these columns cannot be made; None when it can."""
        absent = [name for name in columns if name not in self.given]
        return f"no column {' or '.join(absent)}" if absent else None


def option() -> pl.Expr:
    """Return what was chosen on the screen: ``left``, ``right``, a kind of tie; null when the side is unknown."""
    a_won, a_left = pl.col("winner") == Winner.MODEL_A.value, pl.col("side_a_shown") == Side.LEFT.value
    side = pl.when(a_won == a_left).then(pl.lit(Side.LEFT.value)).otherwise(pl.lit(Side.RIGHT.value))
    decisive = pl.when(pl.col("side_a_shown").is_not_null()).then(side)
    return pl.when(pl.col("winner").is_in(TIES)).then(pl.col("winner")).otherwise(decisive)


def oriented(column: str) -> pl.Expr:
    """Return the outcome by the order of names: ``first`` is the model whose name comes first."""
    a_first = pl.col("model_a") < pl.col("model_b")
    first_won = (pl.col(column) == Winner.MODEL_A.value) == a_first
    decisive = pl.when(first_won).then(pl.lit("first")).otherwise(pl.lit("second"))
    return pl.when(pl.col(column).is_in(TIES)).then(pl.col(column)).when(pl.col(column).is_not_null()).then(decisive)


def pair_columns() -> list[pl.Expr]:
    """Return models and generations as :func:`oriented` has them: ``first``, ``second``, ``first_made``, ``second_made``."""
    a_first = pl.col("model_a") < pl.col("model_b")
    columns = []
    for name, a, b in (("", "model_a", "model_b"), ("_made", "generation_a", "generation_b")):
        columns.append(pl.when(a_first).then(pl.col(a)).otherwise(pl.col(b)).alias(f"first{name}"))
        columns.append(pl.when(a_first).then(pl.col(b)).otherwise(pl.col(a)).alias(f"second{name}"))
    return columns


def _check_type(name: str, dtype: pl.DataType, source: str) -> None:
    text = dtype == pl.String or dtype == pl.Categorical or dtype == pl.Enum or dtype == pl.Null
    fits = text or (
        (dtype == pl.Boolean or dtype.is_integer()) if name in FLAGS else dtype == pl.Datetime if name in TIMES else False
    )
    if name in ("rater_id", "prompt_id", "generation_a", "generation_b"):
        fits = fits or dtype.is_integer()
    if not fits:
        wanted = "truth values" if name in FLAGS else "times" if name in TIMES else "text"
        raise BattleError(f"must hold {wanted}, not", source=source, column=name, value=str(dtype))


def _parsed(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if name in TIMES and isinstance(dtype, pl.Datetime):
        return (column.dt.replace_time_zone("UTC") if dtype.time_zone is None else column).cast(_INSTANT)
    if name in FLAGS:
        return truth_of(name, dtype)
    text = column.cast(pl.String)
    if name in TIMES:
        iso = text.str.strip_chars().str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T")
        zoned, naive = (
            iso.str.to_datetime(f"%Y-%m-%dT%H:%M:%S%.f{zone}", time_unit="us", time_zone="UTC", strict=False)
            for zone in ("%#z", "")
        )
        return pl.coalesce(zoned, naive).alias(name)
    if name in MADE:
        return named(text).alias(name)
    return text


def _wrong_rows(raw: pl.DataFrame, parsed: pl.DataFrame) -> list[Wrong]:
    """Return every kind of mistake in the rows; ``Battles`` checks model names, winners and ids."""
    menus = {"mode": [*map(str, Mode)], "side_a_shown": [*map(str, Side)], "expected_winner": [*map(str, Winner)]}
    checks = [RowCheck("rater_id", "no rater", pl.col("rater_id").is_null() | (pl.col("rater_id").str.strip_chars() == ""))]
    for name, menu in menus.items():
        if name in parsed.columns:
            checks.append(RowCheck(name, "unknown value", ~pl.col(name).is_in(menu), menu))
    for name in (*TIMES, *FLAGS):
        if name in parsed.columns:
            wanted = ["2026-01-31T12:00:00Z"] if name in TIMES else list(TRUTH)
            wrong = pl.col(name).is_null() & pl.col(f"given {name}").is_not_null()
            checks.append(RowCheck(name, "cannot be read:", wrong, wanted, shown=f"given {name}"))
    if set(TIMES) <= set(parsed.columns):
        early = pl.col("answered_at") < pl.col("started_at")
        checks.append(RowCheck("answered_at", "answered before it was started:", early, shown="given answered_at"))
    as_given = [
        raw[name].cast(pl.String).alias(f"given {name}") if name in TIMES else raw[name].alias(f"given {name}")
        for name in (*TIMES, *FLAGS)
        if name in raw.columns
    ]
    return wrong_rows(parsed.rename({"row": "__row"}).with_columns(as_given).lazy(), checks)
