"""MagicData340K, from the user's own copy: which image, what was asked for, what people found wrong with it.

The released files are JSON Lines with ``images`` (a path), ``response`` (the labels as JSON text; in the chain-of-thought
part a whole reply) and the text that the generator was given; Parquet with the same columns is read as well. Salon ships
none of it. A row that cannot be used is a value of its own, with its number and reason, so that one bad row among hundreds
of thousands neither ends the work nor vanishes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_bench.suites.assessors.label_file import TRUTH_COLUMNS, image_id, labels_in
from salon_console.table_rows import BadRow, TableRow, read_each
from salon_taxonomy.answers import MagicMirrorAnswer, Unparsed
from salon_taxonomy.errors import InputError

SPLITS: Final = ("train", "test", "cot")
"""The parts of the data set, as tables call them; the paper writes CoT."""
_HARD_POSITIVE: Final = "hard_positive"
_REASONING: Final = "reasoning"
_THINK_TAGS: Final = ("<think>", "</think>")
_PROMPT_COLUMNS: Final = ("prompt", "prompt_t2i", "query", "caption")


@dataclass(frozen=True, slots=True)
class MagicDataRow:
    """One annotated image.

    Attributes:
        image: its path as the file has it.
        prompt: what the generator was told; None when the file does not say.
        answer: the labels.
        reasoning: of a chain-of-thought row: what its reply thinks, else the column of that name, which the released files
            do not have; None in others.
        split: one of :data:`SPLITS`; None when neither the row nor the file's name says.
        hard_positive: a normal image of something that often goes wrong and was drawn right; True or false in the column of
            that name, which the released files do not have.
    """

    image: str
    prompt: str | None
    answer: MagicMirrorAnswer
    reasoning: str | None
    split: str | None
    hard_positive: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """A row that cannot be used: its number, its split and the reason.

    Attributes:
        source: the file.
        number: 1-based, among the data rows.
        split: as in :class:`MagicDataRow`.
        problem: row, column and what is wrong, in one clause.
        column: the column at fault; None when it is the row as a whole.
        value: the value of the column; None where it is empty.
    """

    source: Path
    number: int
    split: str | None
    problem: str
    column: str | None = None
    value: object = None


def magicdata_rows(path: Path, *, split: str | None = None) -> Iterator[MagicDataRow | UnreadableRow]:
    """Read a file of the data set row by row; memory does not grow with it.

    Args:
        path: the file.
        split: which part it is; default: the row's column ``split``, else what the file's name holds (``train``, ``test``,
            ``cot``).

    Raises:
        InputError: the file itself cannot be read: it is missing, or breaks off.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "magic_mirror_data_test.jsonl"
        >>> _ = path.write_text('{"images": "1.png", "response": "{\\\\"Whether Normal\\\\": true}"}\\n{"images": "2.png"}\\n')
        >>> first, second = magicdata_rows(path)
        >>> first.split, first.answer.normal, second.number, second.problem.partition(":")[0]
        ('test', True, 2, "row 2, column 'response'")
    """
    if split is not None and split not in SPLITS:
        raise InputError("unknown split", value=split, allowed=SPLITS)
    named = split or _split_in(path.stem)
    for read_row in read_each(path, lambda row: row):
        if isinstance(read_row, BadRow):
            yield UnreadableRow(path, read_row.number, named, f"row {read_row.number}: {read_row.error.problem}")
            continue
        row = read_row[1]
        part = _split_of(row) if split is None else split
        yield _read(row, part or named)


def _read(row: TableRow, split: str | None) -> MagicDataRow | UnreadableRow:
    try:
        image = image_id(row)
        column = next((column for column in TRUTH_COLUMNS if column in row.cells), "response")
        outcome = labels_in(row.cells.get(column))
        if isinstance(outcome, Unparsed):
            raise row.problem(f"are no labels ({outcome.detail})", column)
        prompt = next((text for name in _PROMPT_COLUMNS if (text := row.optional_text(name))), None)
        reasoning = _reasoning(row, outcome.reasoning)
        hard_positive = _mark(row, outcome.answer)
    except InputError as error:
        where = f"row {row.number}" + (f", column {error.column!r}" if error.column else "")
        wanted = f" {', '.join(error.value)}" if error.column is None and isinstance(error.value, list) else ""
        problem, value = f"{where}: {error.problem}{wanted}", row.cells.get(error.column or "")
        return UnreadableRow(row.source, row.number, split, problem, error.column, value)
    return MagicDataRow(image, prompt, outcome.answer, reasoning, split, hard_positive)


def _reasoning(row: TableRow, thought: str | None) -> str | None:
    """Return the reasoning of the reply, else that of the column."""
    if thought:
        return thought
    text = row.optional_text(_REASONING)
    if text is not None and any(tag in text.lower() for tag in _THINK_TAGS):
        raise row.problem("holds a think tag, which no answer can carry in its reasoning", _REASONING, value=text)
    return thought if text is None else text


def _mark(row: TableRow, answer: MagicMirrorAnswer) -> bool:
    value = row.cells.get(_HARD_POSITIVE)
    text = value.strip().lower() if isinstance(value, str) else value
    if text in (None, "", False, "false"):
        return False
    if text not in (True, "true"):
        raise row.problem("must be true or false", _HARD_POSITIVE, value=value)
    if not answer.normal:
        raise row.problem("a hard positive is a normal image", _HARD_POSITIVE, value=value)
    return True


def _split_of(row: TableRow) -> str | None:
    value = row.cells.get("split")
    return value.strip().lower() if isinstance(value, str) and value.strip().lower() in SPLITS else None


def _split_in(name: str) -> str | None:
    """Return the one split that a file's name holds; None when it holds none or several."""
    named = [split for split in SPLITS if split in name.lower()]
    return named[0] if len(named) == 1 else None
