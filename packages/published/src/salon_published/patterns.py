"""The small language in which manifests point at columns, rows and cells.

A *pattern* is a column name in which ``*`` matches any text: ``*.average``. A *reference* points at inputs:
``[table!]column[@row]``, for instance ``entity.average``, ``prism:4!*.average`` or ``artifact-bench:3!questions@RVAC L1``.
"""

import re
from dataclasses import dataclass

_TABLE = re.compile(r"^([a-z][a-z0-9-]*:\d+[a-z]?)!(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A column name, or a family of them with ``*``."""

    text: str

    def capture(self, name: str) -> tuple[str, ...] | None:
        """Return the text that each ``*`` matches in the name; None when the name does not match.

        Example:
            >>> Pattern("*.average").capture("entity.average")
            ('entity',)
            >>> Pattern("*.average").capture("entity.aesthetic") is None
            True
        """
        match = re.fullmatch("(.+)".join(map(re.escape, self.text.split("*"))), name, re.DOTALL)
        return None if match is None else match.groups()

    def matches(self, name: str) -> bool:
        """Return whether the name is one of the family."""
        return self.capture(name) is not None

    def fill(self, captured: tuple[str, ...]) -> str:
        """Return the pattern with each ``*`` replaced by what another pattern's ``*`` stood for; later ones take the last.

        Example:
            >>> Pattern("*.alignment").fill(("entity",))
            'entity.alignment'
        """
        parts = self.text.split("*")
        filled = parts[0]
        for number, part in enumerate(parts[1:]):
            filled += captured[min(number, len(captured) - 1)] + part
        return filled


@dataclass(frozen=True, slots=True)
class Reference:
    """Where an input stands. ``table`` is None for the table of the check itself, ``row`` for the row of the target."""

    table: str | None
    column: Pattern
    row: str | None

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Read ``[table!]column[@row]``.

        Example:
            >>> Reference.parse("artifact-bench:3!questions@RVAC L1")
            Reference(table='artifact-bench:3', column=Pattern(text='questions'), row='RVAC L1')
        """
        match = _TABLE.match(text)
        table, rest = (match[1], match[2]) if match else (None, text)
        column, at, row = rest.partition("@")
        return cls(table, Pattern(column), row if at else None)
