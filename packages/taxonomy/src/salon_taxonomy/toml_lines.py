"""On which line of a TOML file a table, or a key of a table, stands.

The standard library's parser gives values without places. This scanner walks the same text once and notes the line of every
table header and key, so that a fault found in the values can be shown where an editor would jump to. It expects text that
the parser has accepted; of anything else it makes what it can and never fails.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

_PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'  # strings over several lines
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n"
    r"|[\[\]{}=,]"
    r"|[ \t\r]+"
    r"|[^\s\[\]{}=,\#\"']+"
    r"|.",
    re.DOTALL,
)


@dataclass(slots=True)
class TomlLines:
    """The lines of one TOML text, counted from 1.

    Example:
        >>> lines = TomlLines.scan('name = "x"\\n\\n[[label]]\\nid = "a"\\n\\n[[label]]\\nid = "b"\\n')
        >>> lines.of("label", 1), lines.of("label", 1, "id"), lines.of(None, 0, "name")
        (6, 7, 1)
    """

    tables: dict[tuple[str | None, int], int] = field(default_factory=dict)
    """(table, which of its kind) → the line of its header."""
    keys: dict[tuple[str | None, int, str], int] = field(default_factory=dict)
    """(table, which of its kind, first part of the key) → the line of the key."""

    def of(self, table: str | None, index: int = 0, key: str | None = None) -> int | None:
        """Return the line of a key, of its table's header, or of the inline table's key, else None.

        ``table=None`` is the part of the file before any header; ``index`` counts the ``[[table]]`` headers from 0.
        """
        if key is not None and (table, index, key) in self.keys:
            return self.keys[table, index, key]
        if (table, index) in self.tables:
            return self.tables[table, index]
        return None if table is None else self.keys.get((None, 0, table))

    @classmethod
    def scan(cls, text: str) -> "TomlLines":
        """Note every header and key of ``text``; for text that is TOML the time is proportional to its length."""
        lines = cls()
        seen: Counter[str] = Counter()
        table: str | None = None
        index, depth, number = 0, 0, 1
        statement: list[str] | None = []  # the pieces before "=" or the end of the line; None inside a value
        for match in _PIECE.finditer(text if text.endswith("\n") else f"{text}\n"):
            piece = match.group()
            if piece == "\n" and depth == 0:
                if statement and statement[0] == "[":
                    table, index = lines._header(statement, number, seen)
                statement = []
            elif statement is not None and piece == "=":
                lines.keys.setdefault((table, index, _parts(statement)[0]), number)
                statement = None
            elif statement is not None and piece.strip() and piece[0] != "#":
                statement.append(piece)
            elif statement is None:
                depth = max(0, depth + (piece in "[{") - (piece in "]}"))
            number += piece.count("\n")
        return lines

    def _header(self, statement: list[str], number: int, seen: "Counter[str]") -> tuple[str, int]:
        """Enter ``[name]`` or ``[[name]]``; ``[name.key]`` is also a key of the last table of that name."""
        first, *rest = _parts([piece for piece in statement if piece not in "[]"])
        if rest:
            self.keys.setdefault((first, max(0, seen[first] - 1), rest[0]), number)
        name = ".".join([first, *rest])
        self.tables[name, seen[name]] = number
        seen[name] += 1
        return name, seen[name] - 1


def _parts(pieces: list[str]) -> list[str]:
    """Return the parts of a dotted key, without quotes; never empty."""
    parts: list[str] = []
    for piece in pieces:
        parts += [piece[1:-1]] if piece[0] in "\"'" else [part for part in piece.split(".") if part]
    return parts or [""]
