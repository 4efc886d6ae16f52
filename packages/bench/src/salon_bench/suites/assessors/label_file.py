r"""Labels in a file: one row per image, with the labels of people or an assessor's answer.

The released data set's form is JSON Lines with ``images`` (a path) and ``response`` (the labels as JSON text); its
chain-of-thought part has whole replies, and an assessor's answers usually are whole replies too. All of them are read here,
from JSON, JSON Lines, CSV or Parquet:

    who     the first of the columns ``id``, ``image``, ``images``, ``generation_id``, ``prompt_id``
    what    the first of ``output``, ``answer``, ``response``, ``labels``; for truth ``response`` and ``labels`` come first
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from salon_console.table_rows import BadRow, TableRow, UsableRows, read_each, usable_rows
from salon_taxonomy.answers import MagicMirrorAnswer, Outcome, Unparsed, parse_magicmirror, parse_magicmirror_json
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

ID_COLUMNS: Final = ("id", "image", "images", "generation_id", "prompt_id")
TRUTH_COLUMNS: Final = ("response", "labels", "truth", "output", "answer")
ANSWER_COLUMNS: Final = ("output", "answer", "response", "labels")


@dataclass(frozen=True, slots=True)
class LabelFile:
    """What a file says about each image.

    Attributes:
        source: the file.
        outcomes: by the image's id, in the file's order; an answer that cannot be read is ``Unparsed``.
        left_out: the rows that cannot be used, with their reasons.
        unreadable: the known images of such rows; answers about them are not unknown.
    """

    source: Path
    outcomes: Mapping[str, Outcome[MagicMirrorAnswer]]
    left_out: tuple[BadRow, ...] = ()
    unreadable: frozenset[str] = frozenset()

    def remarks(self) -> tuple[str, ...]:
        """Return how many rows are left out, and why; empty for none."""
        return UsableRows(self.source, self.outcomes, self.left_out).remarks()

    def answers(self) -> dict[str, MagicMirrorAnswer | None]:
        """Return the answers by id; None for one that cannot be read."""
        return {image: None if isinstance(outcome, Unparsed) else outcome.answer for image, outcome in self.outcomes.items()}


def read_labels(path: Path, *, truth: bool = False) -> LabelFile:
    """Read a file of labels.

    A row that lacks a column or repeats an image is left out and named; so is one whose truth cannot be read.

    Args:
        path: the file.
        truth: whether the labels are those of people: then only readable ones are used.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "truth.jsonl"
        >>> _ = path.write_text('{"images": "1.png", "response": "{\\\\"Whether Normal\\\\": true}"}\\n')
        >>> read_labels(path, truth=True).answers()
        {'1.png': MagicMirrorAnswer(normal=True, artifacts=())}
    """
    outcomes: dict[str, Outcome[MagicMirrorAnswer]] = {}
    images: set[str] = set()

    def one_image(row: TableRow) -> str:
        image = image_id(row)
        images.add(image)
        if image in outcomes:
            raise InputError("the image occurs twice:", source=path, row=row.number, value=image)
        column = _first(row, TRUTH_COLUMNS if truth else ANSWER_COLUMNS)
        outcome = labels_in(row.cells[column])
        if truth and isinstance(outcome, Unparsed):
            raise row.problem(f"are no labels ({outcome.detail}):", column, value=row.cells[column])
        outcomes[image] = outcome
        return image

    usable = usable_rows(path, read_each(path, one_image))
    return LabelFile(path, outcomes, usable.left_out, frozenset(images - outcomes.keys()))


def labels_in(cell: Any) -> Outcome[MagicMirrorAnswer]:
    r"""Read one cell: a whole reply with its box, labels as JSON text, or the labels as an object.

    Example:
        >>> labels_in({"Whether Normal": True}).answer.normal
        True
        >>> labels_in(r'<think>Fine.</think>\boxed{{"Whether Normal": true}}').reasoning
        'Fine.'
        >>> labels_in(None).reason
        <Reason.EMPTY: 'empty'>
    """
    if cell is None:
        return Unparsed(Reason.EMPTY, "the cell is empty")
    if isinstance(cell, dict):
        try:
            cell = json.dumps(cell)
        except (TypeError, ValueError, RecursionError):
            return Unparsed(Reason.MALFORMED, "the object is no JSON")
    if not isinstance(cell, str):
        return Unparsed(Reason.MALFORMED, f"a {type(cell).__name__} is no text")
    whole_reply = r"\boxed{" in cell or "<think>" in cell.lower() or "</think>" in cell.lower()
    return parse_magicmirror(cell) if whole_reply else parse_magicmirror_json(cell)


def match(truth: LabelFile, answers: LabelFile) -> tuple[list[MagicMirrorAnswer], list[Outcome[MagicMirrorAnswer]]]:
    """Truth and answer of every image, in the order of the truth; an image without an answer is ``Unparsed``.

    Raises:
        InputError: an answer is about an image that the truth does not know, or the two have no image in common.
    """
    known = truth.answers()
    strangers = [image for image in answers.outcomes if image not in known and image not in truth.unreadable]
    if strangers:
        hint = f"{len(strangers)} of {len(answers.outcomes)} answers are about no image of {truth.source}."
        raise InputError("there is no truth about the image", source=answers.source, value=strangers[0], hint=hint)
    missing = Unparsed(Reason.NOT_REPORTED, "there is no answer about the image")
    true = [answer for answer in known.values() if answer is not None]
    return true, [answers.outcomes.get(image, missing) for image in known]


def image_id(row: TableRow) -> str:
    """Return what a row is about: the first column of :data:`ID_COLUMNS` that it has.

    A list of one path counts as that path, and so does an embedded picture (``{"bytes": …, "path": …}``) that has one.

    Raises:
        InputError: the row has no such column, or it names no image.
    """
    column = _first(row, ID_COLUMNS)
    value = row.cells[column]
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1:
        value = value[0]
    if isinstance(value, Mapping):
        value = value.get("path")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else _refuse(row, column)
    if not isinstance(value, str) or not value.strip() or without_surrogates(value) != value:
        return _refuse(row, column)
    return value


def _refuse(row: TableRow, column: str) -> str:
    raise row.problem("names no image", column)


def _first(row: TableRow, columns: Sequence[str]) -> str:
    present = next((column for column in columns if column in row.cells), None)
    if present is None:
        raise InputError("has none of the columns", source=row.source, row=row.number, value=list(columns), allowed=row.cells)
    return present
