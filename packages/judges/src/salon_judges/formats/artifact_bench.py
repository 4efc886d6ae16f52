"""The rows of Artifact-Bench, from the user's copy of the released files or a file of the same columns.

The benchmark is released as ``task1_meta.jsonl``, ``task2_meta.jsonl`` and ``task3_meta.jsonl`` in one folder.

task_type   1 (real or generated), 2 (which of two is more realistic), 3 (which artifacts)
sample_id   a name, unique within its task
video_path  a list of one path, of two for task 2, below the folder of videos
option      task 3: a list of "Name: definition", the first is A
answer      "yes" or "no"; "<Video A>" or "<Video B>"; "B,E,F"
level       easy, medium, hard

Other columns (the released ``answer_idx``, ``answer_letter``, ``option_dic``) repeat these and are not read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from salon_console.table_rows import BadRow, TableRow, UsableRows, read_each, usable_rows
from salon_taxonomy import Taxonomy
from salon_taxonomy.errors import InputError

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What options are called, in order."""
TAXONOMY: Final = "artifact-bench"
"""The label tree that options are leaves of."""
CORRECT = "correct"
"""Dimension: 1 for a right answer, 0 for a wrong one."""
SAID_YES = "said_yes"
"""Dimension of RVAC: 1 when the judge took the video for a generated one."""
CHOSE_FIRST = "chose_first"
"""Dimension of PVRC: 1 when the judge chose the video that it was shown first."""
SWAPPED = "_swapped"
"""Ending of a dimension of PVRC: the same with the videos in the other order."""
PRESENT, ABSENT = "present: ", "absent: "
"""Beginnings of dimensions of AID: 1 when the judge chose the option; by whether the label is there, with the label's id."""
FRAMES, FRAMES_LEFT_OUT = "frames", "frames_left_out"
"""Dimensions: how many frames of its videos the judge was shown, and how many of those at the wanted rate were thinned out."""
_LONGEST_ID: Final = 180
_FEWEST_OPTIONS: Final = 2
_VIDEO: Final = re.compile(r"<?\s*(?:video\s*)?([ab])\s*>?", re.IGNORECASE)


class QuestionTask(StrEnum):
    """The three tasks (Artifact-Bench, section 3.2)."""

    RVAC = "rvac"
    """Real-vs-AI classification: was the video generated? yes or no."""
    PVRC = "pvrc"
    """Pairwise realism comparison: which of two generated videos looks more realistic?"""
    AID = "aid"
    """Artifact identification: which of the options can be seen? Right only if the set is exactly the right one."""


class QuestionLevel(StrEnum):
    """How hard a question is; the released rows say easy, medium, hard."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


TASK_TYPES: Final = {1: QuestionTask.RVAC, 2: QuestionTask.PVRC, 3: QuestionTask.AID}
"""``task_type`` of the released rows."""
LEVEL_NAMES: Final = {"easy": QuestionLevel.L1, "medium": QuestionLevel.L2, "hard": QuestionLevel.L3}
"""``level`` of the released rows."""


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One question.

    Attributes:
        task: which kind.
        sample_id: its name, unique within the task.
        videos: paths below the folder of videos; two for PVRC, Video A first.
        answer: ``yes`` or ``no``; ``A`` or ``B``; the letters of the right options in alphabetical order (``BEF``).
        level: how hard it is.
        options: AID: as the row writes them, "Name: definition"; empty for the others.
        leaves: AID: the label of each option, by its id in the taxonomy ``artifact-bench``.
    """

    task: QuestionTask
    sample_id: str
    videos: tuple[str, ...]
    answer: str
    level: QuestionLevel
    options: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()

    @property
    def prompt_id(self) -> str:
        """``aid-0012``: unique in the benchmark."""
        return f"{self.task}-{self.sample_id}"


def read_rows(*paths: Path) -> UsableRows[BenchRow]:
    """Read the usable questions of files: JSON, JSON Lines, Parquet; or CSV, in which lists are JSON texts.

    Args:
        paths: files, or folders with the released ``task*_meta.jsonl``.

    Returns:
        The questions, in the order of the files; a row that lacks a column, has a value that is not allowed, or repeats a
        question is left out and named.

    Raises:
        InputError: a file cannot be read, a folder has none of the released files, or no row can be used.

    Example:
        >>> import json, tempfile
        >>> file = Path(tempfile.mkdtemp()) / "rows.json"
        >>> row = {"task_type": 2, "sample_id": 7, "video_path": ["a.mp4", "b.mp4"], "answer": "<Video B>", "level": "hard"}
        >>> _ = file.write_text(json.dumps([row]))
        >>> read_rows(file)[0].prompt_id, read_rows(file)[0].answer, str(read_rows(file)[0].level)
        ('pvrc-7', 'B', 'L3')
    """
    files = [file for path in paths for file in _files(path)]
    seen: set[str] = set()

    def first_of_its_id(row: TableRow) -> BenchRow:
        question = _row(row)
        if question.prompt_id in seen:
            raise row.problem(f"occurs twice among the questions of {question.task}:", "sample_id", value=question.sample_id)
        seen.add(question.prompt_id)
        return question

    def every_row() -> Iterator[tuple[int, BenchRow] | BadRow]:
        for file in files:
            yield from read_each(file, first_of_its_id)

    return usable_rows(paths[0] if len(paths) == 1 else paths[0].parent, every_row(), what="question")


def released_row(row: BenchRow) -> dict[str, Any]:
    """Return a question in the released columns; :func:`read_rows` gives the same question back.

    Example:
        >>> released_row(BenchRow(QuestionTask.PVRC, "7", ("a.mp4", "b.mp4"), "B", QuestionLevel.L3))["answer"]
        '<Video B>'
    """
    answers = {QuestionTask.PVRC: f"<Video {row.answer}>", QuestionTask.AID: ",".join(row.answer)}
    return {
        "task_type": next(number for number, task in TASK_TYPES.items() if task is row.task),
        "sample_id": row.sample_id,
        "video_path": list(row.videos),
        **({"option": list(row.options)} if row.options else {}),
        "answer": answers.get(row.task, row.answer),
        "level": next(word for word, level in LEVEL_NAMES.items() if level is row.level),
    }


def _files(path: Path) -> list[Path]:
    """Return the file itself, or the released files of a folder."""
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("task*_meta.jsonl"))
    if not files:
        raise InputError("the folder has none of the released files", source=path, allowed=("task1_meta.jsonl", "…"))
    return files


def _row(row: TableRow) -> BenchRow:
    task = _task(row)
    level = row.text("level")
    known = {**LEVEL_NAMES, **{each.value: each for each in QuestionLevel}}
    if level not in known:
        raise row.problem("unknown level", "level", value=level, allowed=tuple(known))
    videos = tuple(_path(row, each) for each in _list(row, "video_path"))
    wanted = 2 if task is QuestionTask.PVRC else 1
    if len(videos) != wanted:
        raise row.problem(f"a question of {task} has {wanted} video{'s' * (wanted > 1)}, not", "video_path", value=len(videos))
    options = tuple(_list(row, "option")) if task is QuestionTask.AID else ()
    if task is QuestionTask.AID and not _FEWEST_OPTIONS <= len(options) <= len(LETTERS):
        raise row.problem(f"a question of aid has 2 to {len(LETTERS)} options, not", "option", value=len(options))
    leaves = tuple(_leaf(row, each) for each in options)
    if len(set(leaves)) < len(leaves):
        raise row.problem("the same label occurs twice among the options:", "option", value=[each[:40] for each in options])
    return BenchRow(task, _sample_id(row), videos, _answer(row, task, len(options)), known[level], options, leaves)


def _task(row: TableRow) -> QuestionTask:
    value = row.cells.get("task_type")
    if "task_type" not in row.cells:
        raise row.missing("task_type")
    number = int(value) if isinstance(value, str) and value.strip() in ("1", "2", "3") else value
    if isinstance(number, bool) or not isinstance(number, int) or number not in TASK_TYPES:
        raise row.problem("unknown task", "task_type", value=str(value)[:40], allowed=("1", "2", "3"))
    return TASK_TYPES[number]


def _sample_id(row: TableRow) -> str:
    value = row.cells.get("sample_id")
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else row.text("sample_id")
    if len(text) > _LONGEST_ID or not text.isprintable():
        raise row.problem(f"an id has at most {_LONGEST_ID} printable characters, unlike", "sample_id", value=text[:40])
    return text


def _list(row: TableRow, column: str) -> list[str]:
    """Return a list of texts; one text is a list of one, and CSV has JSON."""
    import json

    value: Any = row.cells.get(column)
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise row.problem("is no list in JSON:", column, value=value[:40]) from error
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts:
        raise row.problem("must be a list of texts, not", column, value=None if value is None else type(value).__name__)
    return [TableRow(row.source, row.number, {column: item}).text(column) for item in texts]


def _path(row: TableRow, text: str) -> str:
    """Return a path below the folder of videos; links are checked when it is opened."""
    path = PurePosixPath(text.replace("\\", "/"))
    if "://" in text or "\0" in text or path.is_absolute() or ".." in path.parts or not path.name:
        raise row.problem("must lie below the folder of videos, unlike", "video_path", value=text[:80])
    return str(path)


def _leaf(row: TableRow, option: str) -> str:
    name = option.partition(":")[0].strip()
    labels = _tree().matches(name, tier="leaf")
    if len(labels) != 1:
        allowed = tuple(label.name for label in _tree().tier("leaf"))
        hint = "An option is written as 'Name: definition'; `salon taxonomy show artifact-bench` lists the names."
        raise row.problem("no such artifact", "option", value=name[:80], allowed=allowed, hint=hint)
    return labels[0].id


def _answer(row: TableRow, task: QuestionTask, options: int) -> str:
    text = row.text("answer")
    if task is QuestionTask.RVAC:
        if text.lower() not in ("yes", "no"):
            raise row.problem("unknown answer", "answer", value=text[:40], allowed=("yes", "no"))
        return text.lower()
    if task is QuestionTask.PVRC:
        match = _VIDEO.fullmatch(text)
        if match is None:
            raise row.problem("unknown answer", "answer", value=text[:40], allowed=("<Video A>", "<Video B>"))
        return match[1].upper()
    letters: Sequence[str] = [each.strip().upper() for each in text.split(",")]
    offered = LETTERS[:options]
    if len(set(letters)) < len(letters) or not all(len(each) == 1 and each in offered for each in letters):
        hint = "Write each letter once, separated by commas: B,E,F."
        raise row.problem("must be letters of the options, not", "answer", value=text[:40], allowed=tuple(offered), hint=hint)
    return "".join(sorted(letters))


@cache
def _tree() -> Taxonomy:
    return Taxonomy.load(TAXONOMY)


def family_of(leaf: str) -> str:
    """Return the id of a leaf's family (the placement is ours, see the taxonomy's file).

    Example:
        >>> family_of("oversmoothing")
        'image-quality-and-texture'
    """
    return Taxonomy.load(TAXONOMY).ancestors(leaf)[0].id
