"""The verdict of a judge: a score, or the reason why it is missing.

A missing verdict is never a number. Aggregates skip :class:`Unscored` and report how many they skipped
and why. The kinds of answers themselves are parsed in the package ``answers``; rows of verdicts are ``records.Score``.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

T = TypeVar("T", covariant=True)
U = TypeVar("U")


class Reason(StrEnum):
    """Why a verdict is missing. Tables and reports show the value."""

    EMPTY = "empty"
    """The judge answered nothing, or white space."""
    REFUSED = "refused"
    """The judge declined to answer."""
    TRUNCATED = "truncated"
    """The answer broke off before it was complete."""
    MALFORMED = "malformed"
    """The answer does not follow the grammar it was asked for."""
    OFF_MENU = "off_menu"
    """The answer is well formed but names something that was not offered."""
    TIMEOUT = "timeout"
    """No answer came in time."""
    UNREACHABLE = "unreachable"
    """The judge could not be reached, or broke the connection."""
    REJECTED = "rejected"
    """The judge's server refused the request (an HTTP status other than success), or a scorer raised an error."""
    BAD_MEDIA = "bad_media"
    """The picture or video to be judged is missing or cannot be read."""
    NOT_REPORTED = "not_reported"
    """The source of an imported result prints no value here."""
    ABSTAINED = "abstained"
    """No judge was asked, or the judge abstained."""

    @property
    def meaning(self) -> str:
        """Return what the reason says, in a few words for people.

        Example:
            >>> Reason.BAD_MEDIA.meaning
            'the picture or video is missing or cannot be read'
        """
        return _MEANINGS[self]


_MEANINGS = {
    Reason.EMPTY: "the judge answered nothing",
    Reason.REFUSED: "the judge declined to answer",
    Reason.TRUNCATED: "the answer broke off",
    Reason.MALFORMED: "the answer has not the form that was asked for",
    Reason.OFF_MENU: "the answer names something that was not offered",
    Reason.TIMEOUT: "no answer came in time",
    Reason.UNREACHABLE: "the judge could not be reached",
    Reason.REJECTED: "a server refused the request, or a scorer raised an error",
    Reason.BAD_MEDIA: "the picture or video is missing or cannot be read",
    Reason.NOT_REPORTED: "the source prints no value",
    Reason.ABSTAINED: "no judge was asked, or it abstained",
}


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """A verdict with a value. ``value`` is in the unit of the question that was asked.

    Example:
        >>> Scored(8).map(lambda score: score / 10), Unscored(Reason.TIMEOUT).map(float).reason.value
        (Scored(value=0.8), 'timeout')
    """

    value: T

    def map(self, change: Callable[[T], U]) -> "Scored[U]":
        """Return the verdict with its value changed; a missing one stays as it is."""
        return Scored(change(self.value))


@dataclass(frozen=True, slots=True)
class Unscored:
    """A missing verdict and its reason. ``detail`` is for people; ``raw`` is the exchange as it was."""

    reason: Reason
    detail: str = ""
    raw: str | None = None

    def map(self, change: Callable[[Any], object]) -> "Unscored":
        """Return the same missing verdict."""
        return self


Verdict: TypeAlias = Scored[T] | Unscored


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of verdicts, and the number of missing ones per reason."""

    scored: int
    unscored: int
    reasons: tuple[tuple[Reason, int], ...]

    def __str__(self) -> str:
        """Return the count as every printed table shows it."""
        why = ", ".join(f"{count} {reason}" for reason, count in self.reasons)
        return f"{self.scored} scored, {self.unscored} unscored" + (f" ({why})" if why else "")


def tally(verdicts: Iterable["Verdict[T]"]) -> Tally:
    """Count verdicts; reasons come most frequent first, equal counts in alphabetical order.

    Example:
        >>> print(tally([Scored(1), Unscored(Reason.TIMEOUT), Scored(0)]))
        2 scored, 1 unscored (1 timeout)
    """
    scored = 0
    reasons: Counter[Reason] = Counter()
    for verdict in verdicts:
        if isinstance(verdict, Unscored):
            reasons[verdict.reason] += 1
        else:
            scored += 1
    ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return Tally(scored=scored, unscored=reasons.total(), reasons=tuple(ordered))
