"""TOML files: their values, or what is wrong on which line; and on which line a table, or a key of a table, stands.

A hostile file (huge, deeply nested, not UTF-8, a device) gives a typed error like any other. The standard library's parser
gives values without places. :class:`TomlLines` walks the same text once and notes the line of every table header and key, so
that a fault found in the values can be shown where an editor would jump to. It expects text that the parser has accepted; of
anything else it makes what it can and never fails.
"""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from salon_taxonomy.errors import InputError, missing_path, refuse_device

LARGEST_FILE: Final = 8 * 1024 * 1024
"""Bytes; a taxonomy of a hundred thousand labels is about this large."""
_PLACE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$| \(at end of document\)$")
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


def read_text(path: str | Path, what: str = "file") -> str:
    """Return the text of a file of at most ``LARGEST_FILE`` bytes, without a byte order mark; lines end in ``\\n``.

    Raises:
        InputError: there is no such file, it cannot be read, is larger, or is not UTF-8.
    """
    path = Path(path)
    try:
        refuse_device(path)
        if not path.is_file():
            raise InputError("this is not a file", source=path) if path.exists() else missing_path(path, what)
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"the file cannot be read ({type(error).__name__})", source=path) from error
    if len(content) > LARGEST_FILE:
        raise InputError(f"the file is larger than {LARGEST_FILE:,} bytes", source=path)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("the file is not UTF-8 text", source=path, line=line) from error


def parse_toml(text: str, *, source: str | Path) -> dict[str, Any]:
    """Return the values of a TOML text.

    Raises:
        InputError: it is no TOML; with the line.

    Example:
        >>> parse_toml("levels = [1, 2", source="plan.toml")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: plan.toml, line 1: this is not TOML: Unclosed array
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError("arrays or tables are nested too deeply", source=source) from error
    except ValueError as error:  # TOMLDecodeError, or a number with too many digits
        message = str(error)
        position = _PLACE.search(message)
        last = text.count("\n") + 1
        line = None if position is None else int(position[1]) if position[1] else last
        raise InputError(f"this is not TOML: {_PLACE.sub('', message)}", source=source, line=line) from error


def read_toml(path: str | Path, what: str = "file") -> dict[str, Any]:
    """Return the values of a TOML file.

    Raises:
        InputError: as :func:`read_text` and :func:`parse_toml`; ``what`` names the file where there is none.
    """
    return parse_toml(read_text(path, what), source=path)


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
