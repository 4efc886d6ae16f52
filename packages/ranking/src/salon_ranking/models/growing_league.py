"""A league that grows: battles arrive in batches, counts are kept, and every fit starts from the last one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import MOST_RATIO, RATIO_HINT, counting, numbered
from salon_ranking.errors import BattleError
from salon_ranking.files import Frame, as_lazy, reading, scan
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import Ratings, fitted
from salon_ranking.options import with_options

_ID = "battle_id"


@dataclass(frozen=True, eq=False)
class GrowingLeague:
    """All battles so far, as counts; never changed, :meth:`update` gives a new one.

    Memory grows with the pairs of models that met and, where battles have a ``battle_id``, with their number; battles
    themselves are not kept. So a league cannot be resampled by clusters; use :class:`Battles` for that.

    Attributes:
        models: names of all models with a battle, in ascending order.
        cells: the counts, for the numeric core.
        seen: the ids of all battles that had one.
        weight: the column with each battle's weight; None: every battle weighs 1.
        start: log-strengths of the last fit by model, from which the next one starts.

    Example:
        >>> monday = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "model_a"]})
        >>> league, ratings = GrowingLeague().update(monday).fitted(baseline="y")
        >>> ratings.ratings.round(1).tolist()
        [1000.0, 1000.0]
        >>> league, ratings = league.update(monday.head(1)).fitted(baseline="y")  # starts where the last fit ended
        >>> league.count, ratings.ratings.round(1).tolist()
        (3, [1120.4, 1000.0])
    """

    weight: str | None = None
    models: tuple[str, ...] = ()
    cells: _core.Cells | None = None
    seen: pl.Series = field(default_factory=lambda: pl.Series(_ID, [], dtype=pl.String))
    start: Mapping[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of battles so far."""
        return 0 if self.cells is None else self.cells.battles

    def update(self, new_battles: Frame | str | Path, source: str = "battles") -> "GrowingLeague":
        """Return the league with more battles. Models may join; the order of updates does not matter.

        Args:
            new_battles: as for :meth:`Battles.from_frame` or :meth:`Battles.read`. With a column ``battle_id``, every id may
                come once only, over all updates.

        Raises:
            BattleError: a row is wrong, or a ``battle_id`` is missing or was there before; nothing was added.
        """
        if isinstance(new_battles, (str, Path)):
            source, frame = str(new_battles), scan(Path(new_battles))
        else:
            frame = as_lazy(new_battles, source)
        ids = self._new_ids(frame, source)
        more = Battles.from_frame(frame, source, weight=self.weight, ids=None)
        seen = pl.concat([self.seen, ids]) if len(ids) else self.seen
        if self.cells is None:
            return GrowingLeague(self.weight, more.models, more.cells, seen, self.start)
        models = tuple(sorted({*self.models, *more.models}))
        index_of = {name: number for number, name in enumerate(models)}
        old, new = (_numbers(names, index_of) for names in (self.models, more.models))
        cells = _core.merge_cells(self.cells, old, more.cells, new, len(models))
        weight = cells.columns()[5] if self.weight is not None else np.ones(1)
        if weight.max(initial=0.0) > MOST_RATIO * weight.min(initial=math.inf):
            problem = f"with the battles before, a weight more than {MOST_RATIO:,.0f} times the smallest one, {weight.min():g}:"
            raise BattleError(problem, source=source, column=self.weight, value=weight.max(), hint=RATIO_HINT)
        return GrowingLeague(self.weight, models, cells, seen, self.start)

    def battles(self, source: str = "league") -> Battles:
        """Return the counts as :class:`Battles`, for everything that needs no single battle. Its ``frame`` has no rows."""
        empty = pl.LazyFrame(schema={"model_a": pl.String, "model_b": pl.String, "winner": pl.String})
        if self.cells is None:
            return Battles.from_frame(empty, source)
        return Battles(source, self.models, None, self.weight, self.cells, empty)

    @with_options(FitOptions)
    def fitted(self, options: FitOptions) -> tuple["GrowingLeague", Ratings]:
        """Return ratings, and the league that remembers them as the start of the next fit.

        The start changes the number of steps, not the answer: it equals :func:`salon_ranking.fit` of all battles to 1e-9 in
        win probability. Keywords and errors are those of :func:`salon_ranking.fit`.
        """
        ratings = fitted(self.battles(), replace(options, start=options.start or self.start))
        values = zip(ratings.models, ratings.log_strengths.tolist(), strict=True)
        start = {name: value for name, value in values if np.isfinite(value)}
        return GrowingLeague(self.weight, self.models, self.cells, self.seen, start), ratings

    def _new_ids(self, frame: pl.LazyFrame, source: str) -> pl.Series:
        """Return the ids of new battles; empty when they have none."""
        with reading(source):
            if _ID not in frame.collect_schema():
                return pl.Series(_ID, [], dtype=pl.String)
            kept = counting(numbered(frame), self.weight)
            rows, ids = kept.select("__row", pl.col(_ID).cast(pl.String)).collect().get_columns()
        again = ids.is_null() | ~ids.is_first_distinct() | ids.is_in(self.seen.filter(self.seen.is_in(ids.implode())).implode())
        if again.any():
            row = int(again.arg_max() or 0)
            value = ids[row]
            problem = "no id" if value is None else "a battle that is already there:"
            hint = "Take the row out; every battle counts once."
            raise BattleError(problem, source=source, row=rows[row], column=_ID, value=value, hint=hint)
        return ids


def _numbers(names: tuple[str, ...], index_of: Mapping[str, int]) -> NDArray[np.uint32]:
    return np.array([index_of[name] for name in names], dtype=np.uint32)
