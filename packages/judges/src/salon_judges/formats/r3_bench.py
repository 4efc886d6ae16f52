"""The rows of R³-Bench: ``idx, original_prompt, bad_image, answer, explanation, category, generated_qa``.

The released file is read as it is (JSON, JSON Lines or Parquet); so is what ``salon synthetic scenes`` draws, which has the
same columns. Nothing of it ships with Salon. R³-Bench, section 2.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from salon_console.table_rows import TableRow, UsableRows, unique_rows

MOST_QUESTIONS: Final = 64
"""Maximum number of facts per prompt."""
_LONGEST_ID: Final = 200
_LONGEST_TEXT: Final = 8000


class Category(StrEnum):
    """The eight kinds of demand; the value is what tables show."""

    COLOR = "color"
    COMPLEX = "complex"
    NON_SPATIAL = "non-spatial"
    NUMERACY = "numeracy"
    OBJECT = "object"
    SHAPE = "shape"
    SPATIAL = "spatial"
    TEXTURE = "texture"


_SPELLINGS: Final = {**{each.value: each for each in Category}, "non": Category.NON_SPATIAL, "colour": Category.COLOR}
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class R3Row:
    """One row.

    Attributes:
        idx: its id, as text.
        prompt: what the generator was told.
        picture: the file, relative to ``root`` or absolute, as the row names it.
        root: the folder that the picture must lie in.
        aligned: the annotated verdict: the picture shows what the prompt asks for.
        explanation: the annotated mismatch; empty for an aligned picture, and for one misaligned row of the released file.
        category: the kind of demand.
        questions: yes/no questions about the prompt's facts; a misaligned row has at least one.
        answers: the annotated answer to each, for a picture that is right.
    """

    idx: str
    prompt: str
    picture: Path
    root: Path
    aligned: bool
    explanation: str
    category: Category
    questions: tuple[str, ...] = ()
    answers: tuple[bool, ...] = ()


def read_items(path: Path, images: Path | None = None) -> UsableRows[R3Row]:
    """Read the usable rows of a file.

    Args:
        path: ``.json``, ``.jsonl`` or ``.parquet`` (a CSV file cannot hold the lists of questions).
        images: the folder that ``bad_image`` starts from; default: the file's own folder.

    Returns:
        The items, and why each row left out cannot be used: a column is missing or of another kind, a category unknown, an
        id occurs twice, lists have different lengths, a misaligned row has no question.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.

    Example:
        >>> import json, tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
        >>> qa = {"yn_question_list": ["Is the ball red?"], "yn_answer_list": ["yes"]}
        >>> row = {"idx": 7, "original_prompt": "a red ball", "bad_image": "7.png", "answer": False,
        ...        "explanation": "It is blue.", "category": "color", "generated_qa": qa}
        >>> _ = path.write_text(json.dumps(row))
        >>> [item] = read_items(path)
        >>> item.idx, item.aligned, item.answers
        ('7', False, (True,))
    """
    root = images or path.parent
    return unique_rows(path, lambda row: item_of(row, root), lambda item: item.idx, "idx")


def item_of(row: TableRow, root: Path) -> R3Row:
    """Read one row.

    Raises:
        InputError: the row cannot be used.
    """
    idx = _id(row)
    prompt = row.text("original_prompt")
    if len(prompt) > _LONGEST_TEXT:
        raise row.problem(f"has more than {_LONGEST_TEXT} characters:", "original_prompt", value=prompt)
    category = _SPELLINGS.get(row.text("category").lower().replace("_", "-").replace(" ", "-"))
    if category is None:
        raise row.problem("unknown category", "category", value=row.cells["category"], allowed=tuple(Category))
    aligned = _truth(row.cells.get("answer"), row, "answer")
    explanation = row.optional_text("explanation") or ""
    questions, answers = _qa(row, needed=not aligned)
    picture = Path(row.text("bad_image"))
    return R3Row(idx, prompt, root / picture, root, aligned, explanation, category, questions, answers)


def _id(row: TableRow) -> str:
    value = row.cells.get("idx")
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not 0 < len(text) <= _LONGEST_ID or not text.isprintable() or "/" in text or text in (".", ".."):
        raise row.problem("must be a number or a short text without '/', not", "idx", value=_named(value))
    return text


def _qa(row: TableRow, *, needed: bool) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    cell = row.cells.get("generated_qa")
    if cell is None and not needed:
        return (), ()
    if not isinstance(cell, Mapping):
        raise row.problem("must be an object with yn_question_list and yn_answer_list, not", "generated_qa", value=_named(cell))
    questions, answers = _list(cell.get("yn_question_list")), _list(cell.get("yn_answer_list"))
    if not needed and "yn_question_list" not in cell and "yn_answer_list" not in cell:
        return (), ()
    if questions is None or answers is None or len(questions) != len(answers):
        raise row.problem("yn_question_list and yn_answer_list must be lists of one length", "generated_qa")
    if not (needed <= len(questions) <= MOST_QUESTIONS):
        raise row.problem(f"must hold 1 to {MOST_QUESTIONS} questions, not", "generated_qa", value=len(questions))
    for question in questions:
        if not isinstance(question, str) or not question.strip() or len(question) > _LONGEST_TEXT:
            raise row.problem("holds something that is no question:", "generated_qa", value=_named(question))
    texts = tuple(" ".join(str(question).split()) for question in questions)
    return texts, tuple(_truth(answer, row, "generated_qa") for answer in answers)


def _list(value: object) -> Sequence[object] | None:
    return value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None


def _truth(value: object, row: TableRow, column: str) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().rstrip(".").lower() if isinstance(value, str | int) else ""
    if text not in _TRUTHS:
        raise row.problem("is neither true nor false, yes nor no:", column, value=_named(value), allowed=tuple(_TRUTHS))
    return _TRUTHS[text]


def _named(value: object) -> object:
    return type(value).__name__ if isinstance(value, list | dict) else "nothing" if value is None else value
