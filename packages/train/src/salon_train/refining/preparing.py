"""What a refiner's run needs before anything heavy is loaded: its rows, its editor, and who looks at edited pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from salon_bench.editors import open_editor
from salon_bench.judges import open_judge
from salon_bench.suites.contract.table_rows import Rows
from salon_bench.suites.r3_bench.rows import Item, read_items
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.refining.question_verifier import QuestionVerifier
from salon_train.refining.rows import RefinerRow
from salon_train.refining.settings import RefinerConfiguration


@dataclass(frozen=True, slots=True)
class Prepared:
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


def prepare(configuration: RefinerConfiguration, environment: Mapping[str, str]) -> Prepared:
    """Read the rows, and open editor and judge; nobody is asked and nothing is loaded.

    Raises:
        InputError: for a file, row, picture, editor or judge that does not work.
    """
    section, settings = configuration.rows, configuration.refine
    found = _items(section.file, section.pictures)
    items = found[: section.limit]
    held_out = _items(section.held_out, section.pictures) if section.held_out else Rows(Path())
    editor: Editor | None = None
    if settings.stage_two and configuration.editor is not None:
        editor = open_editor(configuration.editor.name, environment)
    rows, measured = (tuple(map(_row, some)) for some in (items, held_out[: configuration.evaluation.limit]))
    left_out = (*found.remarks(), *held_out.remarks())
    return Prepared(rows, measured, editor, _questions(configuration, items, environment), left_out)


def _items(file: str, pictures: str | None) -> Rows[Item]:
    items = read_items(Path(file), None if pictures is None else Path(pictures))
    missing = next((item.picture for item in items if not item.picture.is_file()), None)
    if missing is not None:
        raise InputError("there is no such picture", source=file, column="bad_image", value=missing)
    return items


def _row(item: Item) -> RefinerRow:
    return RefinerRow(item.idx, item.prompt, item.picture, item.aligned)


def _questions(
    configuration: RefinerConfiguration, items: Sequence[Item], environment: Mapping[str, str]
) -> QuestionVerifier | None:
    settings = configuration.refine
    if settings.judged_by != "questions" or settings.judge is None:
        return None
    bare = next((item.idx for item in items if not item.questions), None)
    if bare is not None:
        raise InputError("a row has no questions", source=configuration.rows.file, column="generated_qa", value=bare)
    questions = {item.prompt: (item.questions, item.answers) for item in items}
    return QuestionVerifier(open_judge(settings.judge, environment), questions)
