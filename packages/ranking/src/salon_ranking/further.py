"""What stands beside a leaderboard when it is asked for: how acceptable each model is, and how well the ratings fit."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.groups import groups_of
from salon_ranking.leaderboard import Leaderboard
from salon_ranking.listing_rule import ratings_of
from salon_ranking.pairwise.both_bad import acceptability
from salon_ranking.pairwise.choice import ModelResult, diagnosis


@dataclass(frozen=True, eq=False)
class Further:
    """Beside one leaderboard; None is what was not asked for.

    Attributes:
        acceptability: the table of :func:`salon_ranking.acceptability`.
        diagnosis: deviance, pairs that surprise and cycles; ``header`` explains the p-value.
    """

    acceptability: pl.DataFrame | None = None
    diagnosis: ModelResult | None = None

    def document(self) -> dict[str, object]:
        """The parts that there are, for JSON. Null is what is not known."""
        found: dict[str, object] = {}
        if self.acceptability is not None:
            found["acceptability"] = _rows(self.acceptability)
        if self.diagnosis is not None:
            tables = {name: _rows(table) for name, table in self.diagnosis.further.items()}
            found["diagnosis"] = {**self.diagnosis.numbers, "note": self.diagnosis.header, **tables}
        return found


def further_of(
    boards: Sequence[Leaderboard],
    rated: Battles,
    *,
    every: Battles,
    by: str | None = None,
    acceptable: bool = False,
    diagnose: bool = False,
) -> tuple[Further, ...]:
    """One for each board, in their order.

    Args:
        rated: the battles that the boards rank.
        every: the same with those that were judged both-bad.
        by: the column that the boards are groups of.

    Raises:
        OptionError: as :func:`salon_ranking.cycle_report`.
        MissingExtraError: a diagnosis needs the extra ``salon-ranking[analysis]``.

    Example:
        >>> from salon_ranking import rank
        >>> votes = pl.DataFrame({"model_a": ["x"] * 3, "model_b": ["y"] * 3, "winner": ["model_a", "tie", "model_b"]})
        >>> battles = Battles.from_frame(votes)
        >>> further_of([rank(battles, replicates=0)], battles, every=battles, acceptable=True)[0].acceptability.height
        2
    """
    if not (acceptable or diagnose):
        return tuple(Further() for _ in boards)
    rated_by, every_by = _groups(rated, by), _groups(every, by)
    return tuple(
        Further(
            acceptability(every_by[board.group], confidence=board.confidence) if acceptable else None,
            diagnosis(rated_by[board.group], ratings_of(board, rated_by[board.group])) if diagnose and board.battles else None,
        )
        for board in boards
    )


def _groups(battles: Battles, by: str | None) -> dict[str | None, Battles]:
    """The battles of each board, by its group."""
    return {None: battles} if by is None else {name: group for name, group in groups_of(battles, by).items()}  # noqa: C416


def _rows(table: pl.DataFrame) -> list[dict[str, object]]:
    return table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()
