"""The plain form of human preference pairs, and checks of the cells of released files: a wrong one is named."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from salon_ranking.agreement.errors import AgreementError
from salon_ranking.files import reading

Cells = dict[str, Any]
PLAIN: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **dict.fromkeys(("battle_id", "prompt_id", "prompt", "model_a", "model_b"), pl.String),
        **dict.fromkeys(("picture_a", "picture_b", "source", "winner"), pl.String),
        **dict.fromkeys(("votes_a", "votes_b"), pl.Int64),
        "category": pl.String,
    }
)
"""The columns that every reader returns, and their types."""
JUDGED: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **dict.fromkeys(("judge", "verdict", "side_a_shown"), pl.String),
        **dict.fromkeys(("score_a", "score_b"), pl.Float64),
    }
)
"""The columns of judges, returned where a file has them."""


@dataclass(frozen=True)
class PairRow:
    """One row of a released file, its number from 1, and the file for errors."""

    source: str
    number: int
    cells: Mapping[str, Any]

    def wrong(self, column: str, allowed: Sequence[object], problem: str = "is wrong:") -> AgreementError:
        """Return the error of a cell, to be raised."""
        value = self.cells.get(column)
        return AgreementError(problem, source=self.source, row=self.number, column=column, value=value, allowed=allowed)

    def text(self, column: str) -> str:
        """Return a cell with a text that is not blank, or a whole number as text."""
        text = self.text_or_none(column)
        if text is None:
            raise self.wrong(column, ["a text"])
        return text

    def text_or_none(self, column: str) -> str | None:
        """Return the text of a cell; None where it is missing or blank."""
        value = self.cells.get(column)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, bool) or not isinstance(value, str | int) or not is_unicode(str(value)):
            raise self.wrong(column, ["a text"])
        return str(value)

    def word(self, column: str, words: Mapping[str, str]) -> str:
        """Return our word for that of a cell."""
        value = str(self.cells.get(column)).strip()
        if value not in words:
            raise self.wrong(column, list(words))
        return words[value]

    def number_or_none(self, column: str) -> float | None:
        """Return the finite number of a cell; None where it is missing or blank."""
        value = self.cells.get(column)
        if value is None or value == "":
            return None
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not math.isfinite(number):
            raise self.wrong(column, ["a finite number"])
        return number

    def items(self, column: str) -> list[Any]:
        """Return the list of a cell."""
        value = self.cells.get(column)
        if not isinstance(value, list):
            raise self.wrong(column, ["a list"])
        return value

    def part(self, column: str) -> "PairRow":
        """Return the object of a cell as a row."""
        value = self.cells.get(column)
        if not isinstance(value, Mapping):
            raise self.wrong(column, ["an object"])
        return PairRow(self.source, self.number, value)

    def contents(self, column: str) -> tuple[str | None, str | None]:
        """Return the texts, and the pictures' names one a line, of a list ``[["text", …], ["image", …]]``."""
        texts: dict[str, list[str]] = {"text": [], "image": []}
        for part in self.items(column):
            if not isinstance(part, list) or len(part) != 2 or part[0] not in ("text", "image") or not is_unicode(part[1]):
                raise self.wrong(column, ['["text", TEXT] or ["image", NAME]'], f"holds {str(part)[:80]!r}, in")
            texts[part[0]].append(part[1])
        return "\n".join(texts["text"]).strip() or None, "\n".join(texts["image"]) or None


def is_unicode(value: object) -> bool:
    """Return whether a value is text without halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def json_content(path: Path) -> Any:
    """Return what a JSON file holds."""
    with reading(str(path), AgreementError):
        text = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = "Check that the file is complete and is what its ending says."
        raise AgreementError("cannot be read: this is not JSON:", source=path, value=str(error), hint=hint) from error


def refuse_missing(needed: Sequence[str], columns: Iterable[str], path: str | Path, row: int | None = None) -> None:
    """Raise an error for the first of the needed columns that is missing."""
    missing = [name for name in needed if name not in columns]
    if missing:
        raise AgreementError("missing column", source=path, row=row, value=missing[0], found=columns)


def numbers_of(frame: pl.DataFrame, name: str, source: str, *, whole: bool = False) -> pl.Series:
    """Return a column as finite numbers; null where it is null or blank."""
    number = frame[name].cast(pl.Float64, strict=False)
    wrong = ~number.is_finite().fill_null(False)
    if whole:
        wrong |= ((number < 0) | (number != number.floor())).fill_null(False)
    is_known = frame[name].cast(pl.String).fill_null("").str.strip_chars() != ""
    refuse_first(frame, name, wrong & is_known, source, ["a whole number from 0" if whole else "a finite number"])
    return number


def refuse_nested(frame: pl.DataFrame, names: Sequence[str], source: str) -> None:
    """Raise an error for a column of lists, objects or bytes."""
    for name in names:
        if frame.schema[name].is_nested() or frame.schema[name] == pl.Binary:
            raise AgreementError("holds no single values:", source=source, column=name, value=str(frame.schema[name]))


def refuse_first(frame: pl.DataFrame, name: str, wrong: pl.Series, source: str, allowed: Sequence[str]) -> None:
    """Raise an error for the first row where ``wrong`` is true."""
    rows = wrong.arg_true()
    if len(rows):
        row, value = int(rows[0]) + 1, frame[name][int(rows[0])]
        raise AgreementError("is wrong:", source=source, row=row, column=name, value=value, allowed=allowed)
