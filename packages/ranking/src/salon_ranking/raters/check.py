"""A check of raters: a function from votes to one row per rater, and an explanation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.votes import Votes

Row: TypeAlias = Mapping[str, Any]
"""One rater's line of a check's frame."""


@dataclass(frozen=True, eq=False)
class CheckResult:
    """What a check found.

    Attributes:
        frame: one row per rater that could be looked at: ``rater_id``, ``<reason>`` (true: flagged; null: too little to
            decide), ``<reason>_value``, ``<reason>_threshold`` and details of its own. None: the check was not made.
        why_not: why it was not made, or not of all answers.
    """

    frame: pl.DataFrame | None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class RaterCheck:
    """One kind of check: its reason, the function, what it adds to the table, and its words."""

    reason: RaterReason
    run: Callable[[Votes, RaterPolicy], CheckResult]
    details: Mapping[str, pl.DataType]
    explain: Callable[[Row, RaterPolicy], str]

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the table that are this check's, with their types."""
        numbers = {f"{self.reason}_value": pl.Float64(), f"{self.reason}_threshold": pl.Float64()}
        return {str(self.reason): pl.Boolean(), **numbers, **self.details}
