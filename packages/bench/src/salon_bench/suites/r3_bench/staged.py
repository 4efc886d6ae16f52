"""The rows that a stage of R³-Bench reads: the user's, with what earlier stages found out beside them.

    rows.jsonl ── reflect ──► explanations.jsonl (+ ``said``) ── edit ──► images.jsonl (+ ``said``, ``edit``)

``said`` is the policy's reply, ``{"answer", "explanation", "edit_prompt"}``, or ``{"unscored": reason}``.
``edit`` is the state of its edit: ``"made"``, ``"not_needed"`` (the policy
saw nothing to change), or the reason of a missing picture.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import SuitePrompt
from salon_bench.suites.r3_bench.questions import words_version
from salon_console.table_rows import TableRow, UsableRows, unique_rows
from salon_judges.formats.r3_bench import R3Row, item_of
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict
from salon_taxonomy.whole_files import write_json_lines

MADE: Final = "made"
NOT_NEEDED: Final = "not_needed"
_RULES_VERSION: Final = 1
_EDITS: Final = (MADE, NOT_NEEDED, *Reason)


@dataclass(frozen=True, slots=True)
class Staged:
    """A row with what is known of it.

    Attributes:
        item: the user's row.
        said: what the policy said; None before the first stage.
        edit: :data:`MADE`, :data:`NOT_NEEDED` or a reason; None before the second stage.
    """

    item: R3Row
    said: Verdict[R3Answer] | None = None
    edit: str | None = None


class StagedSuite(SuiteBase):
    """A suite of one of the judged stages; its prompts are the user's rows, or those that an earlier stage left.

    Attributes:
        words: the templates of its questions.
    """

    words: ClassVar[str]

    @property
    def version(self) -> str:
        """A digest of words and rules."""
        return digest(self.name, {"words": words_version(self.words), "rules": _RULES_VERSION})

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the rows of a file; ``scenario`` is the category, the facts have all else.

        Raises:
            InputError: without a file, or when it is wrong.
        """
        hint = "Give your copy of the released rows, or draw some: salon synthetic scenes generate --output DIR"
        file = given(source, "R³-Bench needs a file of rows", hint)
        return read_staged(file).map(lambda row: _prompt(row, self.name))


def read_staged(path: Path, images: Path | None = None) -> UsableRows[Staged]:
    """Read usable rows, with the columns ``said`` and ``edit`` where they stand.

    Raises:
        InputError: as :func:`~salon_judges.formats.r3_bench.read_items`.
    """
    root = images or path.parent
    return unique_rows(
        path, lambda row: Staged(item_of(row, root), _said(row), _edit(row)), lambda staged: staged.item.idx, "idx"
    )


def write_staged(path: Path, rows: Iterable[Staged]) -> None:
    """Write rows as JSON Lines, whole or not at all; :func:`read_staged` reads them back.

    Raises:
        InputError: the file cannot be written.
    """
    write_json_lines(path, (_document(row, path.parent) for row in rows), parents=True)


def said_from(document: object) -> Verdict[R3Answer] | None:
    """Return the reply from its JSON form, or None."""
    if not isinstance(document, Mapping):
        return None
    if "unscored" in document:
        return Unscored(Reason(str(document["unscored"])), "the policy's reply is no verdict")
    return Scored(R3Answer(bool(document["answer"]), str(document["explanation"]), str(document["edit_prompt"])))


def _prompt(row: Staged, suite: str) -> SuitePrompt:
    item = row.item
    prompt = Prompt(prompt_id=item.idx, suite=suite, text=item.prompt, scenario=item.category.value)
    facts = {
        "category": item.category.value,
        "aligned": item.aligned,
        "truth": item.explanation,
        "questions": list(item.questions),
        "answers": list(item.answers),
        "said": _said_document(row.said),
        "edit": row.edit,
    }
    return SuitePrompt(prompt, facts)


def _document(row: Staged, folder: Path) -> dict[str, object]:
    item = row.item
    document: dict[str, object] = {
        "idx": item.idx,
        "original_prompt": item.prompt,
        "bad_image": os.path.relpath(item.picture, folder),
        "answer": item.aligned,
        "explanation": item.explanation,
        "category": item.category.value,
        "generated_qa": {"yn_question_list": item.questions, "yn_answer_list": item.answers},
    }
    if row.said is not None:
        document["said"] = _said_document(row.said)
    if row.edit is not None:
        document["edit"] = row.edit
    return document


def _said_document(verdict: Verdict[R3Answer] | None) -> dict[str, str | bool] | None:
    if verdict is None:
        return None
    if isinstance(verdict, Unscored):
        return {"unscored": verdict.reason.value}
    return {"answer": verdict.value.matches, "explanation": verdict.value.explanation, "edit_prompt": verdict.value.edit_prompt}


def _said(row: TableRow) -> Verdict[R3Answer] | None:
    cell = row.cells.get("said")
    if cell is None:
        return None
    if not isinstance(cell, Mapping):
        raise row.problem("must be an object, not", "said", value=type(cell).__name__)
    if "unscored" in cell and cell["unscored"] in tuple(Reason):
        return said_from(cell)
    texts: Sequence[object] = [cell.get(name) for name in ("explanation", "edit_prompt")]
    if not isinstance(cell.get("answer"), bool) or not all(isinstance(text, str) for text in texts):
        raise row.problem('must hold "answer", "explanation" and "edit_prompt", or "unscored" and a reason', "said")
    return said_from(cell)


def _edit(row: TableRow) -> str | None:
    edit = row.optional_text("edit")
    if edit is not None and edit not in _EDITS:
        raise row.problem("unknown state of an edit", "edit", value=edit, allowed=tuple(map(str, _EDITS)))
    return edit
