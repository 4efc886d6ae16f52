"""The state that a schedule is planned from: battles, ratings with covariances, and generations to show."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.battles.repeated_ids import ID
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.models.ratings import fit
from salon_ranking.options import PriorTies, checked
from salon_ranking.scheduling.inventory import Inventory

Floats = NDArray[np.float64]

STREAM = "plan_stream"
"""The column with the stream that a battle was planned in."""
_LOT = "__stream"
MOST_MODELS = 2048
"""Models that can be scheduled together: the plan keeps matrices of their square."""


@dataclass(frozen=True, eq=False)
class ScheduleState:
    """The state of an arena before its next matches. Build with :meth:`of`.

    Attributes:
        models: those that may be planned, in ascending order.
        log_strengths: θ of the Bradley-Terry fit with the prior, shape (models,); 0, the prior's opponent, for a model
            without battles.
        matches: battles between each two models, whatever their weight; symmetric, shape (models, models).
        inventory: the samples that can be shown; None: plans name no prompts.
        prior_ties: drawn battles against one mean opponent that every model had in the fit; positive, so that a plan
            can begin before any battle.
        votes: the battles behind the state; None: a new arena.
    """

    models: tuple[str, ...]
    log_strengths: Floats
    matches: Floats
    inventory: Inventory | None
    prior_ties: float
    votes: Battles | None = None

    @classmethod
    @checked
    def of(
        cls,
        battles: Battles | None = None,
        *,
        models: Sequence[str] | None = None,
        inventory: Inventory | None = None,
        prior_ties: PriorTies = 1.0,
    ) -> "ScheduleState":
        """Return the state after ``battles`` (None, or without rows: a new arena).

        Args:
            models: who may be planned; by default everyone in the inventory or, without one, everyone who has a battle. Battles
                of others still count in the fit.
            inventory: what each model made.

        Raises:
            OptionError: fewer than two models or too many, an empty name, or a prior that is not positive.

        Example:
            >>> state = ScheduleState.of(models=["x", "y", "z"])
            >>> state.matches.sum(), state.log_strengths.tolist()
            (np.float64(0.0), [0.0, 0.0, 0.0])
        """
        if prior_ties == 0.0:
            raise OptionError("a plan needs a prior: prior_ties must be positive, not", value=prior_ties)
        known = battles.models if battles is not None else ()
        names = tuple(sorted(set(models if models is not None else inventory.models if inventory is not None else known)))
        if any(not name.strip() for name in names):
            raise OptionError("a model needs a name, not", value="")
        if not 2 <= len(names) <= MOST_MODELS:
            hint = "Name the models to plan for: models=… or --models."
            raise OptionError(f"a plan needs 2 to {MOST_MODELS:,} models, not", value=len(names), hint=hint)
        log_strengths, matches = np.zeros(len(names)), np.zeros((len(names), len(names)))
        if battles is not None and battles.count:
            number = {name: index for index, name in enumerate(names)}
            index = np.array([number.get(name, -1) for name in known])
            planned = index >= 0
            log_strengths[index[planned]] = fit(battles, prior_ties=prior_ties).log_strengths[planned]
            first, second, _, _, count, _ = battles.cells.columns()
            both = planned[first] & planned[second]
            np.add.at(matches, (index[first[both]], index[second[both]]), count[both])
            matches += matches.T
        return cls(names, log_strengths, matches, None if inventory is None else inventory.among(names), prior_ties, battles)

    @property
    def battles(self) -> int:
        """Number of battles behind the state."""
        return 0 if self.votes is None else self.votes.count

    @cached_property
    def halves(self) -> "tuple[ScheduleState, ScheduleState]":
        """Return the states after the votes of either stream alone.

        ``plan_stream`` (1 or 2) says which stream a vote is of. A vote without belongs to one of the two at random: by its
        ``battle_id`` where there is one, else by its row, so that it stays in its stream as further rows come in.

        Raises:
            BattleError: a vote names another stream.
        """
        first, second = (
            ScheduleState.of(
                None if self.votes is None else _of_stream(self.votes, stream),
                models=self.models,
                inventory=self.inventory,
                prior_ties=self.prior_ties,
            )
            for stream in (1, 2)
        )
        return first, second

    @cached_property
    def covariance(self) -> Floats:
        """Inverse information of θ: of all matches, p(1 - p) each, and of the prior; shape (models, models).

        A tie counts as half a win, so its information is taken to be that of a decided match.
        """
        curvature = self.matches * bernoulli_variance(self.log_strengths[:, None] - self.log_strengths[None, :])
        prior = self.prior_ties * bernoulli_variance(self.log_strengths)
        inverse = np.linalg.inv(np.diag(curvature.sum(axis=1) + prior) - curvature)
        return np.ascontiguousarray((inverse + inverse.T) / 2.0, dtype=np.float64)


def _of_stream(battles: Battles, stream: int) -> Battles:
    columns = battles.frame.collect_schema().names()
    lot = (pl.int_range(pl.len()) % 2 + 1).cast(pl.Int64)
    if ID in columns:
        lot = pl.coalesce(pl.col(ID).cast(pl.String).map_batches(_lots, return_dtype=pl.Int64), lot)
    if STREAM in columns:
        named = pl.col(STREAM).cast(pl.Int64, strict=False)
        wrong = battles.frame.filter(pl.col(STREAM).is_not_null() & ~named.is_in([1, 2]).fill_null(False)).select(STREAM)
        if (first_wrong := wrong.head(1).collect()).height:
            raise BattleError(
                "unknown stream", source=battles.source, column=STREAM, value=first_wrong.item(), allowed=("1", "2", "nothing")
            )
        lot = pl.coalesce(named, lot)
    frame = battles.frame.with_columns(lot.alias(_LOT)).filter(pl.col(_LOT) == stream).drop(_LOT)
    return Battles.from_frame(frame, battles.source, weight=battles.weight, ids=None)


def _lots(ids: pl.Series) -> pl.Series:
    return pl.Series([None if name is None else crc32(name.encode()) % 2 + 1 for name in ids], dtype=pl.Int64)


def bernoulli_variance(gap: Floats) -> Floats:
    """Return p(1 - p) for p = 1 / (1 + exp(-gap)).

    Example:
        >>> bernoulli_variance(np.array([0.0])).tolist()
        [0.25]
    """
    odds = np.exp(-np.abs(gap))
    variance: Floats = odds / (1.0 + odds) ** 2
    return variance
