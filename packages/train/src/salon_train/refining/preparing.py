"""What a refiner's run needs before anything heavy is loaded: its rows, its editor, and who looks at edited pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from salon_bench.editors import open_editor
from salon_bench.judges import open_judge
from salon_bench.suites.r3_bench.rows import Item, read_items
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.refining.question_verifier import QuestionVerifier
from salon_train.refining.refinement import RefinerRow
from salon_train.refining.settings import RefinerConfiguration


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is ready.

    Attributes:
        rows: to learn from; each picture is there.
        editor: nothing was sent to it; None without a second stage.
        certainty: questions that another judge answers; None: the policy itself looks.
    """

    rows: tuple[RefinerRow, ...]
    editor: Editor | None
    certainty: QuestionVerifier | None


def prepare(configuration: RefinerConfiguration, environment: Mapping[str, str]) -> Prepared:
    """Read the rows, and open editor and judge; nobody is asked and nothing is loaded.

    Raises:
        InputError: for a file, row, picture, editor or judge that does not work.
    """
    section, settings = configuration.rows, configuration.refine
    items = read_items(Path(section.file), None if section.pictures is None else Path(section.pictures))[: section.limit]
    missing = next((item.picture for item in items if not item.picture.is_file()), None)
    if missing is not None:
        raise InputError("there is no such picture", source=section.file, column="bad_image", value=missing)
    editor: Editor | None = None
    if settings.stage_two and configuration.editor is not None:
        editor = open_editor(configuration.editor.name, environment)
    rows = tuple(RefinerRow(item.idx, item.prompt, item.picture, item.aligned) for item in items)
    return Prepared(rows, editor, _questions(configuration, items, environment))


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
