"""Online Elo: ratings that move after every battle, and their average over random orders of the same battles.

R_a ← R_a + K·(score - E_a) and R_b the other way, with E_a = 1/(1 + base^((R_b - R_a)/scale)); Elo 1978, "The Rating of
Chessplayers". Ties count ½. The result depends on the order of battles and forgets old ones; the maximum
likelihood of :func:`salon_ranking.fit` does neither, which is why leaderboards should use that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import BattleColumns, numbered, stream
from salon_ranking.errors import BattleError, OrderError
from salon_ranking.files import reading
from salon_ranking.models.ratings import RANK_DIGITS
from salon_ranking.options import Range, Seed, Threads, takes_battles, workers

Floats = NDArray[np.float64]
OutOfOrder: TypeAlias = Literal["refuse", "sort"]


@dataclass(frozen=True, eq=False)
class OnlineElo:
    """Ratings after all battles, and how they were made.

    Attributes:
        table: one row per model, best first: ``rank``, ``model``, ``rating``, ``spread``, ``matches``, ``wins``, ``ties``,
            ``losses``, ``win_rate``. With ``orders``, the rating is the mean over random orders and ``spread`` its standard
            deviation from order to order (null for fewer than two orders); it says how much chance the order leaves, and
            is no confidence interval.
        order: what the battles were ordered by: ``"row"`` or a column; ``"random"`` with ``orders``.
    """

    table: pl.DataFrame
    source: str
    battles: int
    k: float
    base: float
    scale: float
    initial: float
    order: str
    orders: int
    seed: int
    remarks: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        """How the table was made."""
        order = f"mean over {self.orders:,} random orders, seed {self.seed}" if self.orders else f"in the order of {self.order}"
        rules = f"online Elo, K = {self.k:g}, base {self.base:g}, scale {self.scale:g}, from {self.initial:g}, ties half a win"
        remarks = "; ".join([rules, order, *self.remarks])
        return f"{self.source}: {self.battles:,} battles, {self.table.height:,} models; {remarks}."


@takes_battles
def online_elo(
    battles: Battles,
    *,
    k: Annotated[float, Range(0, is_open=True)] = 4.0,
    base: Annotated[float, Range(1, is_open=True)] = 10.0,
    scale: Annotated[float, Range(0, is_open=True)] = 400.0,
    initial: Annotated[float, Range(-1e12, 1e12)] = 1000.0,
    order_by: str | None = None,
    out_of_order: OutOfOrder = "refuse",
    orders: Annotated[int, Range(0)] = 0,
    seed: Seed = 0,
    threads: Threads | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> OnlineElo:
    """Play all battles in their order, or in many random orders.

    Args:
        battles: a set of battles, a frame, or the path of a file or result store; a path is read once, in batches.
        k: most points that one battle moves.
        base, scale: a lead of ``scale`` points means odds of ``base`` to one.
        initial: every model's first rating.
        order_by: a column of times or numbers that the battles should follow; None: the order of rows.
        out_of_order: when a row's time lies before that of the row above it: refuse, or sort by that column first (rows of the
            same time keep their order).
        orders: more than 0: average the final ratings over so many random orders. All battles are then held in memory.
        seed: of the random orders; the same seed gives the same bits on any number of threads.
        progress: called now and then with (done, orders).

    Raises:
        BattleError: as :meth:`Battles.from_frame`; or the battles have weights, which online Elo cannot use.
        OrderError: a time is missing, or before that of the row above it.
        OptionError: an argument is outside its range.

    Example:
        >>> votes = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]})
        >>> online_elo(votes, k=32).table.select("model", pl.col("rating").round(2)).rows()
        [('x', 1014.53), ('y', 985.47)]
    """
    frame, source = _frame(battles)
    if order_by is not None:
        frame = _ordered(frame, order_by, out_of_order, source)
    engine = _core.OnlineElo(k, base, scale, initial, orders > 0)
    names = stream(frame, BattleColumns(), source, lambda at, menu: engine.add(at.model_a, at.model_b, at.winner, menu)).models
    if not names:
        raise BattleError("there are no battles", source=source)
    wins, losses, ties = engine.records()
    count = int((wins.sum() + losses.sum() + ties.sum()) // 2)
    ratings, spread = engine.ratings(), np.full(len(names), np.nan)
    if orders:
        told = None if progress is None else lambda done: progress(done, orders)
        ratings, spread = engine.over_orders(orders, seed, workers(threads), told)
    table = _table(names, ratings, spread, wins, ties, losses)
    return OnlineElo(
        table=battles.with_unrated(table) if isinstance(battles, Battles) else table,
        source=source,
        battles=count,
        k=k,
        base=base,
        scale=scale,
        initial=initial,
        order="random" if orders else order_by or "row",
        orders=orders,
        seed=seed,
        remarks=battles.remarks,
    )


def _frame(battles: Battles) -> tuple[pl.LazyFrame, str]:
    if battles.weight is not None:
        hint = "Leave the weights out (weight=False, --weight 1), or use maximum likelihood (fit, rank)."
        raise BattleError("online Elo cannot weigh battles by", source=battles.source, value=battles.weight, hint=hint)
    return battles.frame, battles.source


def _ordered(frame: pl.LazyFrame, column: str, out_of_order: OutOfOrder, source: str) -> pl.LazyFrame:
    """Return the frame in the order of a column."""
    with reading(source):
        schema = frame.collect_schema()
        if column not in schema:
            raise BattleError("missing column to order by", source=source, value=column, found=schema.names())
        time_of = _time(pl.col(column)) if schema[column] == pl.String else pl.col(column)
        if schema[column] == pl.String or schema[column].is_float():
            time_of = time_of.fill_nan(None)
        earlier = pl.col("t") < pl.col("t").shift(1)
        rows = numbered(frame).select(pl.col("__row").alias("row"), time_of.alias("t"))
        missing = rows.filter(pl.col("t").is_null()).head(1).collect()
        if missing.height:
            row = int(missing["row"][0])
            value = numbered(frame).filter(pl.col("__row") == row).select(column).collect()[column][0]
            raise OrderError("no time to order by:", source=source, row=row, column=column, value=value)
        wrong = rows.filter(earlier).head(1).collect()
    if not wrong.height:
        return frame
    if out_of_order == "refuse":
        hint = "Sort the battles, or let them be sorted (out_of_order='sort'; salon votes elo --sort)."
        row, value = int(wrong["row"][0]), wrong["t"][0]
        raise OrderError(
            "a time before that of the row above it:", source=source, row=row, column=column, value=str(value), hint=hint
        )
    key = _time(pl.col(column)) if schema[column] == pl.String else pl.col(column)
    return frame.sort(key, maintain_order=True)


def _time(column: pl.Expr) -> pl.Expr:
    """Return text as a time: a number, or a date and time in ISO 8601; null where it is neither."""
    moment = column.str.to_datetime(strict=False, time_unit="us", time_zone="UTC")
    return pl.coalesce(column.cast(pl.Float64, strict=False), moment.dt.timestamp("us").cast(pl.Float64))


def _table(names: list[str], ratings: Floats, spread: Floats, *records: "NDArray[np.uint64]") -> pl.DataFrame:
    wins, ties, losses = (record.astype(np.float64) for record in records)
    matches = wins + ties + losses
    columns = {
        "model": pl.Series(names, dtype=pl.String),
        "rating": ratings,
        "spread": spread,
        "matches": matches,
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "win_rate": (wins + 0.5 * ties) / matches,
    }
    rank_number = pl.col("rating").round(RANK_DIGITS).rank("min", descending=True).cast(pl.Int64).alias("rank")
    frame = pl.DataFrame(columns).with_columns(pl.col("spread").fill_nan(None))
    return frame.select(rank_number, pl.all()).sort("rank", "model")
