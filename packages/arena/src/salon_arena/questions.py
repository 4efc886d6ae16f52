"""Questions of Artifact-Bench that people answer: generated or not, which of two looks more real, which artifacts are seen.

| question | answer | source |
| --- | --- | --- |
| ``rvac`` | yes: the video was generated; or no | Artifact-Bench, section 3.2, task 1 |
| ``pvrc`` | A or B; there is no tie | task 2 |
| ``aid`` | one or more of the options, six as released | task 3 |

Questions come from rows in the released form, or are made of a folder of models. Three people answer each, two more where they
differ; two auditors verify (section 3.3). Rows that have a level keep it; for others people say it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from sqlalchemy import Connection

from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.rounds import ADJUDICATE, Level, RoundsTask, VotedItem, accepts, states
from salon_arena.tasks import Payload, prompt_payload
from salon_judges.formats.artifact_bench import LETTERS, BenchRow, QuestionTask, read_rows
from salon_judges.formats.generations import VIDEO_SUFFIXES, Generated
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.records import Prompt, Side, Winner
from salon_taxonomy.visible_text import visible

KINDS: Final = {"rater": "question", "auditor": "verify", "adjudicator": ADJUDICATE}
BENCH: Final = "artifact-bench"
"""The suite of the questions; also the model under which files of rows are kept, as rows name none."""
ASKED: Final = {
    QuestionTask.RVAC: "Was this made by a generative model?",
    QuestionTask.PVRC: "Which of the two looks more real?",
    QuestionTask.AID: "Which of these artifacts can you clearly see? Choose all of them.",
}
_SIDES: Final = ("A", "B")


@dataclass(frozen=True, slots=True)
class BenchQuestion:
    """One question about one file, or about two.

    Attributes:
        task: which kind.
        sample_id: its name, unique within the task.
        files: what is shown; two for ``pvrc``, A first.
        prompt: what the files were made for; None for rows, which do not say it.
        options: ``aid``: as the row writes them.
        answer: the known answer: ``yes`` or ``no``, ``A`` or ``B``, letters; None: people say it.
        level: how hard the question is; None: people say it.
    """

    task: QuestionTask
    sample_id: str
    files: tuple[Generated, ...]
    prompt: Prompt | None = None
    options: tuple[str, ...] = ()
    answer: str | None = None
    level: str | None = None

    @property
    def subject(self) -> str:
        """The subject of its tasks."""
        return f"question\x1f{self.task}\x1f{self.sample_id}"

    @property
    def values(self) -> tuple[str, ...]:
        """What can be answered."""
        return {QuestionTask.RVAC: ("yes", "no"), QuestionTask.PVRC: _SIDES}.get(self.task, tuple(LETTERS[: len(self.options)]))


class Chosen(BaseModel):
    """The answer of a rater.

    Attributes:
        answer: ``yes`` or ``no``; ``A`` or ``B``, as the question names them, not as they were shown; or letters of options.
        level: how hard the question is; None where it was not asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer: tuple[str, ...] = Field(min_length=1, max_length=len(LETTERS))
    level: Level | None = None


@dataclass
class QuestionItem(VotedItem):
    """What people have said of one question."""

    def values(self, choice: str) -> frozenset[str]:
        """Return what an answer chooses."""
        return chosen_of(choice)


class BenchQuestionTask(RoundsTask[QuestionItem]):
    """Deals questions, to auditors what is agreed, to adjudicators what is not. Methods run on the writer thread.

    Args:
        questions: that are asked.
    """

    page: str = "question.html.jinja"
    work: str = "questions"

    def __init__(self, questions: Sequence[BenchQuestion]) -> None:
        self._questions = {each.subject: each for each in questions}
        super().__init__(self._questions, QuestionItem, KINDS)

    def payload(self, subject: str, item: QuestionItem, kind: str) -> Payload:
        """Return the question, the sides at random; for auditors what is agreed, for adjudicators what each rater said."""
        asked = self._questions[subject]
        turned = len(asked.files) == len(_SIDES) and self._draws.new().random() < 0.5
        files = asked.files[::-1] if turned else asked.files
        prompt = asked.prompt or Prompt(prompt_id=files[0].prompt_id, suite=BENCH, text=ASKED[asked.task])
        question: dict[str, Any] = {"task": asked.task.value, "sample_id": asked.sample_id, "turned": turned}
        question |= {"options": list(asked.options), "values": list(asked.values), "answer": asked.answer, "level": asked.level}
        payload = {**prompt_payload(prompt, files), "question": question}
        if asked.prompt is None:
            payload["prompt"] = ""
        if kind == KINDS["auditor"]:
            payload |= {"proposed": sorted(item.agreed or ()), "proposed_level": item.level}
        elif kind == ADJUDICATE:
            payload["said"] = [json.loads(choice) for choice in item.said]
        return payload

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return the question and what can be answered, in the order on the screen; for others than raters what was said."""
        question = payload["question"]
        words = {"yes": "Yes, generated", "no": "No, recorded", **{side: f"{side} looks more real" for side in _SIDES}}
        if question["options"]:
            words = {LETTERS[place]: f"{LETTERS[place]}. {visible(text)}" for place, text in enumerate(question["options"])}
        video = payload["files"][0]["path"].lower().endswith(VIDEO_SUFFIXES)
        about = {"asked": ASKED[QuestionTask(question["task"])], "several": bool(question["options"])}
        about["choices"] = [[value, words[value]] for value in question["values"]]
        about["levels"] = [] if question["level"] else list(get_args(Level))
        answers = [{**each, "answer": _turned(each["answer"], question)} for each in payload.get("said", ())]
        proposed = [words[value] for value in _turned(payload["proposed"], question)] if "proposed" in payload else None
        if proposed is not None and payload["proposed_level"] is not None:
            proposed.append(payload["proposed_level"])
        more = {"proposed": proposed, "said": answers if "said" in payload else None}
        return {"media_kind": "video" if video else "picture", **about, **more}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return a :class:`Chosen` that fits the question; for auditors ``{"accept": true}`` or false."""
        if "proposed" in payload:
            return json.dumps({"accept": accepts(choice)})
        question = payload["question"]
        try:
            chosen = Chosen.model_validate(choice)
        except ValidationError as error:
            raise RefusedError(422, "bad_answer") from error
        fits = set(chosen.answer) <= set(question["values"]) and len(set(chosen.answer)) == len(chosen.answer)
        fits = fits and (bool(question["options"]) or len(chosen.answer) == 1)
        if not fits or (chosen.level is None) != (question["level"] is not None):
            raise RefusedError(422, "bad_answer")
        return chosen.model_copy(update={"answer": tuple(sorted(_turned(chosen.answer, question)))}).model_dump_json()


def _turned(answer: Sequence[str], question: Payload) -> list[str]:
    """Return an answer about the sides on the screen as one about the question's own, and back."""
    other = dict(zip(_SIDES, reversed(_SIDES), strict=True)) if question["turned"] else {}
    return [other.get(value, value) for value in answer]


def chosen_of(choice: str) -> frozenset[str]:
    """Return what a stored answer chooses.

    Example:
        >>> sorted(chosen_of('{"answer": ["B", "E"], "level": null}'))
        ['B', 'E']
    """
    return frozenset(json.loads(choice)["answer"])


def is_realism(payload: Payload) -> bool:
    """Return whether a question asks which of two models' files looks more real; rows of the benchmark name no models."""
    return payload["question"]["task"] == QuestionTask.PVRC and payload["question"]["answer"] is None


def realism_sides(payload: Payload) -> dict[str, str]:
    """Return the models of a question of realism, A and B, and the side on which A was shown."""
    turned = payload["question"]["turned"]
    a, b = [file["model"] for file in payload["files"]][:: -1 if turned else 1]
    return {"model_a": a, "model_b": b, "side_a_shown": (Side.RIGHT if turned else Side.LEFT).value}


def realism_winner(choice: str) -> Winner:
    """Return the model that a stored answer calls more real.

    Example:
        >>> realism_winner('{"answer": ["B"], "level": "L1"}').value
        'model_b'
    """
    return Winner.MODEL_A if chosen_of(choice) == {_SIDES[0]} else Winner.MODEL_B


def question_states(connection: Connection) -> dict[str, QuestionItem]:
    """Return what people have said of each question that has a settled answer, by subject."""
    return states(connection, QuestionItem, KINDS)


def read_questions(rows: Path, folder: Path) -> tuple[list[BenchQuestion], tuple[str, ...]]:
    """Read rows in Artifact-Bench's released form, whose videos are below ``folder``.

    Args:
        rows: a file, or the folder of ``task*_meta.jsonl``.
        folder: below which the videos are.

    Returns:
        The questions, with their known answers and levels, and sentences on rows left out.

    Raises:
        InputError: there is no such folder, the file cannot be read, or none of its rows can be used.
    """
    if not folder.is_dir():
        raise missing_path(folder, "folder", meaning="Give the folder below which the videos are.")
    read = read_rows(rows)
    return [_of_row(row, folder) for row in read], tuple(read.remarks())


def _of_row(row: BenchRow, folder: Path) -> BenchQuestion:
    files = tuple(Generated(row.prompt_id, BENCH, place, folder / path, folder) for place, path in enumerate(row.videos))
    return BenchQuestion(row.task, row.sample_id, files, options=row.options, answer=row.answer, level=row.level.value)


def realism_questions(material: Material, *, real: str | None = None) -> list[BenchQuestion]:
    """Make questions of own files: ``pvrc`` of every two models' files of a prompt, ``rvac`` of every file with ``real``.

    Args:
        material: the files; those of one sample are compared.
        real: the folder of files that were recorded, not generated.

    Raises:
        InputError: there is no such folder, or no prompt has files of two generative models.
    """
    if real is not None and real not in material.models:
        raise InputError("the reference is no model of the folder:", value=real, allowed=material.models)
    questions = []
    by_sample: dict[tuple[str, int], list[Generated]] = {}
    for file in material.files:
        if file.model != real:
            by_sample.setdefault((file.prompt_id, file.sample), []).append(file)
        if real is not None:
            name = digest("sample", [file.prompt_id, file.model, file.sample])[:16]
            answer = "no" if file.model == real else "yes"
            questions.append(BenchQuestion(QuestionTask.RVAC, name, (file,), material.prompts[file.prompt_id], answer=answer))
    pairs = [pair for files in by_sample.values() for pair in combinations(files, 2)]
    if not pairs:
        raise InputError("no prompt has files of two generative models", value=real)
    for one, other in pairs:
        name = digest("pair", [one.prompt_id, one.sample, one.model, other.model])[:16]
        questions.append(BenchQuestion(QuestionTask.PVRC, name, (one, other), material.prompts[one.prompt_id]))
    return questions
