"""Counts of the battles that a leaderboard leaves out, shown in its header, rows and page."""

from dataclasses import dataclass

from salon_console.numbers import counted


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """One reason: the raters that were flagged for it, and their battles. A rater with two reasons counts in both."""

    reason: str
    raters: int
    battles: int


@dataclass(frozen=True, slots=True)
class ExcludedRaters:
    """Flagged raters whose battles are not in a leaderboard.

    Attributes:
        report_id: names the report that flagged them; the store's ``rater_flags`` has its rows.
        raters: flagged raters, 0 when no rater was flagged.
        battles: their battles, each once.
        reasons: the same by reason.
        not_checked: checks that could not be made for anybody, and why.
    """

    report_id: str
    raters: int
    battles: int
    reasons: tuple[ReasonCount, ...]
    not_checked: tuple[tuple[str, str], ...] = ()

    @property
    def sentence(self) -> str:
        """How many battles were left out, and for which reasons.

        Example:
            >>> ExcludedRaters("r", 1, 30, (ReasonCount("too_fast", 1, 30),)).sentence
            '30 battles of 1 flagged rater left out (30 too_fast).'
        """
        if not self.raters:
            sentence = "No rater was flagged"
        else:
            counts = ", ".join(f"{one.battles:,} {one.reason}" for one in self.reasons)
            sentence = f"{counted(self.battles, 'battle')} of {counted(self.raters, 'flagged rater')} left out ({counts})"
        return "; ".join([sentence, *(f"not checked: {check} ({why})" for check, why in self.not_checked)]) + "."
