"""Optional analyses beside a leaderboard: acceptability of the models, goodness of fit, prediction of held-out battles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.diagnostics.both_bad import acceptability
from salon_ranking.diagnostics.goodness_of_fit import cycle_report, goodness_of_fit
from salon_ranking.diagnostics.prediction import LogLoss, log_loss
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.groups import groups_of
from salon_ranking.leaderboard.listing import ratings_of
from salon_ranking.models.ratings import Ratings

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class FitDiagnosis:
    """Goodness of fit and cycles of majorities.

    Attributes:
        note: how to read the p-value.
        numbers: deviance, degrees of freedom, p-value, triads, share of cycles; None is what does not exist.
        tables: ``worst_fitting_pairs`` and ``cycles``.
    """

    note: str
    numbers: Mapping[str, float | None]
    tables: Mapping[str, pl.DataFrame]


@dataclass(frozen=True, eq=False)
class Analyses:
    """Analyses of one leaderboard; None for those that were not requested.

    Attributes:
        acceptability: the table of :func:`salon_ranking.acceptability`.
        held_out: how well the ratings predict battles that they were not made of.
    """

    acceptability: pl.DataFrame | None = None
    diagnosis: FitDiagnosis | None = None
    held_out: LogLoss | None = None

    def document(self) -> dict[str, object]:
        """Return the analyses for JSON; null is what is not known."""
        document: dict[str, object] = {}
        if self.acceptability is not None:
            document["acceptability"] = rows_of(self.acceptability)
        if self.diagnosis is not None:
            tables = {name: rows_of(table) for name, table in self.diagnosis.tables.items()}
            document["diagnosis"] = {**self.diagnosis.numbers, "note": self.diagnosis.note, **tables}
        if self.held_out is not None:
            one = self.held_out
            document["held_out"] = {"log_loss": one.value, "battles": one.battles, "unpredicted": one.unpredicted}
        return document


def analyses_of(
    boards: Sequence[Leaderboard],
    rated: Battles,
    *,
    every: Battles,
    by: str | None = None,
    acceptable: bool = False,
    diagnose: bool = False,
    held_out: Battles | None = None,
) -> tuple[Analyses, ...]:
    """Return the analyses of each board, in their order.

    Args:
        rated: the battles that the boards rank.
        every: the same with those that were judged both-bad.
        by: the column that the boards are groups of.
        held_out: battles to predict; of groups, each board predicts its own.

    Raises:
        OptionError: as :func:`salon_ranking.goodness_of_fit` and :func:`salon_ranking.cycle_report`.
        MissingExtraError: a diagnosis needs the extra ``salon-ranking[analysis]``.

    Example:
        >>> from salon_ranking import rank
        >>> votes = pl.DataFrame({"model_a": ["x"] * 3, "model_b": ["y"] * 3, "winner": ["model_a", "tie", "model_b"]})
        >>> battles = Battles.from_frame(votes)
        >>> analyses_of([rank(battles, replicates=0)], battles, every=battles, acceptable=True)[0].acceptability.height
        2
    """
    if not (acceptable or diagnose or held_out is not None):
        return tuple(Analyses() for _ in boards)
    rated_by, every_by = _groups(rated, by), _groups(every, by)
    unseen_by = {} if held_out is None else _groups(held_out, by)
    analyses = []
    for board in boards:
        own, unseen = rated_by.get(board.group), unseen_by.get(board.group)
        ratings = ratings_of(board, own) if own is not None and board.battles and (diagnose or unseen is not None) else None
        analyses.append(
            Analyses(
                acceptability(every_by[board.group], confidence=board.options.confidence) if acceptable else None,
                diagnosis(own, ratings) if diagnose and own is not None and ratings is not None else None,
                log_loss(unseen, ratings) if unseen is not None and ratings is not None else None,
            )
        )
    return tuple(analyses)


def diagnosis(battles: Battles, ratings: Ratings) -> FitDiagnosis:
    """Return how well a fit fits.

    Raises:
        OptionError: as :func:`salon_ranking.goodness_of_fit` and :func:`salon_ranking.cycle_report`.
    """
    fitness, cycles = goodness_of_fit(battles, ratings), cycle_report(battles, most=_SHOWN)
    numbers: dict[str, float | None] = {
        "deviance": fitness.deviance,
        "degrees_of_freedom": fitness.degrees_of_freedom,
        "p_value": fitness.p_value,
        "triads": cycles.triads,
        "cyclic_share": cycles.share,
    }
    return FitDiagnosis(fitness.note, numbers, {"worst_fitting_pairs": fitness.pairs.head(_SHOWN), "cycles": cycles.worst})


def rows_of(table: pl.DataFrame) -> list[dict[str, object]]:
    """Return the rows of a table for JSON; null is what is not known."""
    return table.with_columns(pl.selectors.float().fill_nan(None)).to_dicts()


def _groups(battles: Battles, by: str | None) -> dict[str | None, Battles]:
    """Return the battles of each board, by its group."""
    return {None: battles} if by is None else {name: group for name, group in groups_of(battles, by).items()}  # noqa: C416
