"""Read the rows of a refiner, open its editor and judge, and build its data sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon_bench.suites.r3_bench.questions import templates
from salon_console.table_rows import UsableRows
from salon_judges.clients import open_judge
from salon_judges.editors import open_editor
from salon_judges.formats.r3_bench import R3Row, read_items
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.data.pictures import check_format
from salon_train.refiner.settings import RefinerConfiguration
from salon_train.refiner.verifiers import QuestionVerifier


@dataclass(frozen=True, slots=True)
class RefinerRow:
    """One training input ⟨P, I⁰, v⟩ of R³-Bench, section 3.1.

    Attributes:
        example_id: unique; completions of one id are one group.
        prompt: P.
        picture: the file of I⁰.
        matches: v.
    """

    example_id: str
    prompt: str
    picture: Path
    matches: bool


@dataclass(frozen=True, slots=True)
class Lesson:
    """One picture, its prompt, and the teacher's reply.

    Attributes:
        picture: file of the picture.
        prompt: of the question.
        reply: that the policy learns.
    """

    picture: Path
    prompt: str
    reply: str


def warm_up_dataset(lessons: Sequence[Lesson]) -> Any:
    """Build the data set of the SFT warm-up: question, reply, picture.

    Raises:
        InputError: a picture cannot be read, or is of no format that is read.
    """
    from datasets import Dataset, Image, List

    for lesson in lessons:
        check_format(lesson.picture)
    columns: dict[str, list[Any]] = {
        "prompt": [_question(lesson.prompt) for lesson in lessons],
        "completion": [[{"role": "assistant", "content": lesson.reply}] for lesson in lessons],
        "images": [[str(lesson.picture)] for lesson in lessons],
    }
    return Dataset.from_dict(columns).cast_column("images", List(Image()))


def question_text(prompt: str) -> str:
    """Return the question about one picture, as R³-Bench asks it."""
    return templates().render("reflect", prompt=prompt)


def _question(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": question_text(prompt)}]


def refining_dataset(rows: Sequence[RefinerRow]) -> Any:
    """Build the data set of GRPO: question, picture, and the columns that rewards take.

    Raises:
        InputError: a picture cannot be read, or is of no format that is read.
    """
    from datasets import Dataset, Image, List

    for row in rows:
        check_format(row.picture)
    columns: dict[str, list[Any]] = {
        "prompt": [_question(row.prompt) for row in rows],
        "images": [[str(row.picture)] for row in rows],
        "example_id": [row.example_id for row in rows],
        "text_prompt": [row.prompt for row in rows],
        "picture": [str(row.picture) for row in rows],
        "matches": [row.matches for row in rows],
        "bucket": ["aligned" if row.matches else "misaligned" for row in rows],
    }
    return Dataset.from_dict(columns).cast_column("images", List(Image()))


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """What is ready.

    Attributes:
        rows: to learn from; each picture is there.
        held_out: to be measured on while the policy learns; each picture is there.
        editor: nothing was sent to it; None without a second stage.
        certainty: questions that another judge answers; None: the policy itself looks.
        left_out: sentences about the rows of the files that cannot be used; empty for none.
    """

    rows: tuple[RefinerRow, ...]
    held_out: tuple[RefinerRow, ...]
    editor: Editor | None
    certainty: QuestionVerifier | None
    left_out: tuple[str, ...] = ()


def prepare(configuration: RefinerConfiguration, environment: Mapping[str, str]) -> PreparedRows:
    """Read the rows, and open editor and judge; neither is asked, nothing is loaded.

    Raises:
        InputError: for a file, row, picture, editor or judge that does not work.
    """
    section, settings = configuration.rows, configuration.refine
    usable = _items(section.file, section.pictures)
    kept = usable[: section.limit]
    held_out = _items(section.held_out, section.pictures) if section.held_out else UsableRows(Path())
    editor: Editor | None = None
    if settings.stage_two and configuration.editor is not None:
        editor = open_editor(configuration.editor.name, environment)
    rows, measured = (tuple(map(_row, some)) for some in (kept, held_out[: configuration.evaluation.limit]))
    left_out = (*usable.remarks(), *held_out.remarks())
    return PreparedRows(rows, measured, editor, _questions(configuration, kept, environment), left_out)


def _items(file: str, pictures: str | None) -> UsableRows[R3Row]:
    usable = read_items(Path(file), None if pictures is None else Path(pictures))
    missing = next((item.picture for item in usable if not item.picture.is_file()), None)
    if missing is not None:
        raise InputError("there is no such picture", source=file, column="bad_image", value=missing)
    return usable


def _row(row: R3Row) -> RefinerRow:
    return RefinerRow(row.idx, row.prompt, row.picture, row.aligned)


def _questions(
    configuration: RefinerConfiguration, rows: Sequence[R3Row], environment: Mapping[str, str]
) -> QuestionVerifier | None:
    settings = configuration.refine
    if settings.judged_by != "questions" or settings.judge is None:
        return None
    bare = next((item.idx for item in rows if not item.questions), None)
    if bare is not None:
        raise InputError("a row has no questions", source=configuration.rows.file, column="generated_qa", value=bare)
    questions = {item.prompt: (item.questions, item.answers) for item in rows}
    return QuestionVerifier(open_judge(settings.judge, environment), questions)
