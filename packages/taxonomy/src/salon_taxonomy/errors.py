"""Errors that a user can act on.

    SalonError
    ├── InputError           a file, table, option or value is wrong; nothing was written
    └── IncompleteError      the command stopped before its work was done

Packages derive their own from these two, so ``except SalonError`` catches every mistake that Salon can explain and
nothing else. A command line turns any of them into one message and exit code 2 (1 for ``IncompleteError``).
"""

from collections.abc import Iterable
from pathlib import Path

_LONGEST_VALUE = 120
_MOST_ALLOWED = 24


class SalonError(Exception):
    """The root of everything that Salon raises on purpose."""


class IncompleteError(SalonError):
    """Work was left undone; what was finished is stored and a second call goes on from there."""


class InputError(SalonError):
    """What was given is wrong; names the offender, what is allowed and what to do next.

    Args:
        problem: one clause, without a full stop: ``"unknown winner"``.
        source: the file, table or option at fault.
        row: 1-based row among the data rows (the header of a CSV file is not counted).
        line: 1-based line of a text file, where that is what an editor would show.
        column: the column or key at fault.
        value: the offending value; shown shortened, with control characters escaped.
        allowed: the values that would have been accepted.
        hint: the next thing to do, a whole sentence.

    Example:
        >>> print(InputError("unknown winner", source="votes.csv", row=3, column="winner", value="A", allowed=["tie"]))
        votes.csv, row 3, column 'winner': unknown winner 'A' (allowed: tie)
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str | Path | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
        value: object = None,
        allowed: Iterable[object] | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.source = None if source is None else str(source)
        self.row = row
        self.line = line
        self.column = column
        self.value = value
        self.allowed = None if allowed is None else tuple(str(item) for item in allowed)
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """One or two lines: where, what, what is allowed, what to do."""
        where = [_printable(self.source)] if self.source else []
        where += [f"row {self.row}"] if self.row is not None else []
        where += [f"line {self.line}"] if self.line is not None else []
        where += [f"column {_shortened(self.column)}"] if self.column is not None else []
        text = f"{', '.join(where)}: {self.problem}" if where else self.problem
        if self.value is not None:
            text += f" {_shortened(self.value)}"
        if self.allowed is not None:
            shown = ", ".join(_printable(item) for item in self.allowed[:_MOST_ALLOWED])
            more = len(self.allowed) - _MOST_ALLOWED
            text += f" (allowed: {shown}{f' and {more} more' if more > 0 else ''})"
        return f"{text}\n{self.hint}" if self.hint else text


def _printable(text: str) -> str:
    """The text with everything that a terminal could act on escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
