"""Rows of R³-Bench that experts verify: verdict, explanation, questions; ambiguous rows are discarded.

    two experts ── same verdict, or both discard ──► agreed
         └──────── differ ──► an adjudicator decides ──► agreed

R³-Bench, section 2.2 and appendix G: 1,300 generated rows became 670. Each expert sees the row as it was generated, and not
what the other one said.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from sqlalchemy import Connection

from salon_arena.errors import RefusedError
from salon_arena.material import SUITE, Material
from salon_arena.rounds import ADJUDICATE, RatedItem, RoundsTask, states
from salon_arena.tasks import Payload, prompt_payload
from salon_judges.formats.generations import Generated
from salon_judges.formats.r3_bench import R3Row, read_items
from salon_taxonomy.records import Prompt
from salon_taxonomy.visible_text import visible

EXPERTS: Final = 2
KINDS: Final = {"rater": "verdict", "adjudicator": ADJUDICATE}
GENERATED: Final = "generated"
"""The model under which pictures of rows are kept: the rows do not name theirs."""


class CheckedQuestion(BaseModel):
    """A question of a row as an expert leaves it.

    Attributes:
        relevant: false: the question is no fact of the prompt, and is left out.
        answer: the answer for a picture that is right.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    relevant: bool = Field(strict=True)
    answer: bool = Field(strict=True)


class Verdict(BaseModel):
    """The answer of an expert.

    Attributes:
        aligned: the picture shows what the prompt asks for.
        explanation: what is wrong; needed unless the picture is aligned or the row discarded.
        questions: one for each question of the row, in its order.
        discard: the row is ambiguous and left out of the benchmark.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    aligned: bool = Field(strict=True)
    explanation: str = Field(default="", max_length=4000)
    questions: tuple[CheckedQuestion, ...] = Field(default=(), max_length=100)
    discard: bool = Field(default=False, strict=True)

    @model_validator(mode="after")
    def _is_explained(self) -> "Verdict":
        """Refuse a misaligned row that nothing explains, or of which no question is left."""
        if not self.discard and not self.aligned:
            if not self.explanation.strip():
                raise ValueError("a mismatch needs an explanation")
            if self.questions and not any(each.relevant for each in self.questions):
                raise ValueError("a mismatch needs a relevant question")
        return self


@dataclass
class VerdictItem(RatedItem):
    """What experts have said of one row."""

    @property
    def answers(self) -> list[Verdict]:
        """The answers of the experts."""
        return [Verdict.model_validate_json(choice) for choice in self.said]

    @property
    def agreed(self) -> Verdict | None:
        """The verdict that holds: the adjudicator's, or that of experts who agree; None before.

        Of experts who agree the last one's explanation is taken. A question stays if all call it relevant; its answer is that
        of most, the last one's where two differ.
        """
        if self.final:
            return Verdict.model_validate_json(self.final[0])
        first = self.answers[:EXPERTS]  # a later one, to a lease that ran out, changes nothing that was agreed
        if len(first) < EXPERTS or len({_compared(each) for each in first}) > 1:
            return None
        questions = []
        for several in zip(*(each.questions for each in first), strict=True):
            yes = sum(each.answer for each in several)
            answer = several[-1].answer if yes * 2 == len(several) else yes * 2 > len(several)
            questions.append(CheckedQuestion(relevant=all(each.relevant for each in several), answer=answer))
        if first[-1].aligned or first[-1].discard or not questions or any(each.relevant for each in questions):
            return first[-1].model_copy(update={"questions": tuple(questions)})
        return None

    def wanted(self, role: str) -> int:
        """Return the experts; an adjudicator where they differ."""
        if role == "adjudicator":
            return int(bool(self.final) or (self.agreed is None and len(self.said) >= EXPERTS))
        return EXPERTS

    @property
    def state(self) -> str:
        """``open``, ``disputed``, ``agreed`` or ``discarded``."""
        agreed = self.agreed
        if agreed is None:
            return "disputed" if len(self.said) >= EXPERTS else "open"
        return "discarded" if agreed.discard else "agreed"


class VerdictTask(RoundsTask[VerdictItem]):
    """Deals rows to verify. Methods run on the writer thread.

    Args:
        rows: that are verified.
    """

    page: str = "verdict.html.jinja"
    work: str = "verdicts"

    def __init__(self, rows: Sequence[R3Row]) -> None:
        self._rows = {verdict_subject(row.idx): row for row in rows}
        super().__init__(self._rows, VerdictItem, KINDS)

    def payload(self, subject: str, item: VerdictItem, kind: str) -> Payload:
        """Return the row as it was generated; for adjudicators what each expert said."""
        row = self._rows[subject]
        prompt = Prompt(prompt_id=row.idx, suite=SUITE, text=row.prompt, labels=(row.category.value,))
        payload = prompt_payload(prompt, (Generated(row.idx, GENERATED, 0, row.picture, row.root),))
        payload["row"] = {
            "aligned": row.aligned,
            "explanation": row.explanation,
            "questions": list(row.questions),
            "answers": list(row.answers),
            "category": row.category.value,
        }
        if kind == ADJUDICATE:
            payload["said"] = [json.loads(choice) for choice in item.said]
        return payload

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return the row; control and direction characters of its questions are made visible."""
        row = {**payload["row"], "questions": [visible(each) for each in payload["row"]["questions"]]}
        return {"media_kind": "picture", "row": row, "said": payload.get("said")}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return a :class:`Verdict` with an entry for each question."""
        try:
            verdict = Verdict.model_validate(choice)
        except ValidationError as error:
            raise RefusedError(422, "bad_answer") from error
        if len(verdict.questions) != len(payload["row"]["questions"]):
            raise RefusedError(422, "bad_answer")
        return verdict.model_dump_json()


def _compared(verdict: Verdict) -> tuple[bool, bool, int]:
    """Return what experts must have in common; the number of questions differs when the row was generated again in between."""
    return verdict.discard, verdict.discard or verdict.aligned, len(verdict.questions)


def verdict_subject(idx: str) -> str:
    """Return the subject of a row that is verified."""
    return f"verdict\x1f{idx}"


def verdict_states(connection: Connection) -> dict[str, VerdictItem]:
    """Return what experts have said of each row that has a settled answer, by subject."""
    return states(connection, VerdictItem, KINDS)


def read_verdict_rows(rows: Path, pictures: Path) -> tuple[list[R3Row], tuple[str, ...]]:
    """Read rows of R³-Bench's form whose pictures are below ``pictures``; returns them, and sentences on rows left out.

    Raises:
        InputError: the file cannot be read, or none of its rows can be used.
    """
    usable = read_items(rows, pictures)
    return list(usable), tuple(usable.remarks())


def material_of(rows: Sequence[R3Row]) -> Material:
    """Return the prompts and pictures of rows."""
    prompts: Mapping[str, Prompt] = {row.idx: Prompt(prompt_id=row.idx, suite=SUITE, text=row.prompt) for row in rows}
    return Material(prompts, tuple(Generated(row.idx, GENERATED, 0, row.picture, row.root) for row in rows))
