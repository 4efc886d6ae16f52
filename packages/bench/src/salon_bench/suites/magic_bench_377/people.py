"""Test points answered by people: a list to fill in, and the way back from it to rows of ``scores``.

Appendix D of MEF has people answer: 1 when the one demand is met in full, 0 otherwise.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_bench.suites.contract.suite import SuitePrompt
from salon_bench.suites.magic_bench_377.questions import TEST_POINTS
from salon_console.table_files import csv_cell
from salon_console.table_rows import TableRow, table_rows
from salon_judges.formats.magic_bench_377_labels import CHECK_COLUMNS, point, points
from salon_judges.formats.magic_bench_377_prompts import SUITE
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.records import Run, Score
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason

if TYPE_CHECKING:
    from salon_judges.formats.generations import Generations

"""The columns of a list; people fill in the last two, and may add ``unscored_reason`` where there is no answer."""

_ANSWERS: Final = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}
_LONGEST_NAME = 400


@dataclass(frozen=True, slots=True)
class PeoplesChecks:
    """Answers that were read.

    Attributes:
        run: where they come from; its id is a digest of the file, so the same file is one run.
        scores: one row per answer, with the rater's name as judge.
    """

    run: Run
    scores: tuple[Score, ...]


def write_list(prompts: Sequence[SuitePrompt], generations: "Generations", path: Path) -> int:
    """Write a CSV list of every check of every picture; an existing file is replaced. Returns the number of checks.

    Cells that a spreadsheet would take for a formula begin with an apostrophe.

    Raises:
        InputError: when it cannot be written.
    """
    count = 0
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(CHECK_COLUMNS)
            for line in _lines(prompts, generations):
                writer.writerow([_plain(cell) for cell in line])
                count += 1
    except OSError as error:
        raise cannot_write(error, path) from error
    return count


def read_list(path: Path, prompts: Iterable[SuitePrompt]) -> PeoplesChecks:
    """Read people's answers from a table.

    Columns: ``prompt_id``, ``model``, ``test_point``, ``satisfied``, ``rater_id``, and if wanted ``sample``
    (0 when absent) and ``unscored_reason``; other columns mean nothing here. CSV, JSON, JSON Lines or Parquet.

    Raises:
        InputError: a column is missing, a prompt or its test point is unknown, an answer is neither true, false, 1 nor 0, an
            answer is missing without a reason, or one rater answered a check twice.
    """
    known: dict[str, Any] = {item.prompt.prompt_id: item.facts[TEST_POINTS] for item in prompts}
    try:
        run_id = f"{SUITE}-people-{file_sha256(path)[:8]}"
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from error
    seen: dict[tuple[object, ...], int] = {}
    scores: list[Score] = []
    for row in table_rows(path):
        score = _score(row, known, run_id)
        key = (score.prompt_id, score.generation_id, score.subject_model, score.dimension, score.judge)
        if key in seen:
            raise row.problem(f"the rater answered this check in row {seen[key]} already:", "rater_id", value=score.judge)
        seen[key] = row.number
        scores.append(score)
    if not scores:
        raise InputError("there is no answer in the file", source=path)
    run = Run(run_id=run_id, suite=SUITE, source=f"people's answers in {path.name}"[:400], salon_version=version("salon-bench"))
    return PeoplesChecks(run, tuple(scores))


def store_list(checks: PeoplesChecks, store: StoreAddress) -> None:
    """Add the answers to a result store; those of a file that was added before are left out.

    Raises:
        SalonError: for a directory that is no store, or cannot be written.
    """
    from salon_store import ResultStore

    opened = ResultStore.open(store)
    run_id = checks.run.run_id
    opened.append("runs", [checks.run], run_id=run_id, on_duplicate="skip")
    opened.append("scores", checks.scores, run_id=run_id, on_duplicate="skip")


def _lines(prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterator[tuple[object, ...]]:
    for item in prompts:
        checks: Any = item.facts[TEST_POINTS]
        for model in generations.models:
            for picture in generations.of(item.prompt.prompt_id, model):
                for check, demand in checks:
                    name = points()[check].name
                    yield picture.prompt_id, model, picture.sample, picture.path, item.prompt.text, name, demand, "", ""


def _plain(cell: object) -> object:
    return csv_cell(cell) if isinstance(cell, str) else cell


def _score(row: TableRow, known: Mapping[str, Any], run_id: str) -> Score:
    prompt_id = row.text("prompt_id")
    if prompt_id not in known:
        raise row.problem("the prompts have no", "prompt_id", value=prompt_id, allowed=tuple(known))
    label = point(row.text("test_point"))
    if label is None or label.id not in {check for check, _ in known[prompt_id]}:
        allowed = tuple(points()[check].name for check, _ in known[prompt_id])
        raise row.problem("is no test point of the prompt:", "test_point", value=row.cells["test_point"], allowed=allowed)
    model, who = row.text("model"), row.text("rater_id")
    for column, name in (("model", model), ("rater_id", who)):
        if len(name) > _LONGEST_NAME:
            raise row.problem(f"has more than {_LONGEST_NAME} characters:", column, value=name[:80])
    value, reason = _answer(row)
    sample = _sample(row)
    # A list names no file's content, so the picture's key is made from its place.
    picture = digest("picture", {"prompt": prompt_id, "model": model, "sample": sample})
    return Score(
        run_id=run_id,
        suite=SUITE,
        task=TEST_POINTS,
        subject_model=model,
        prompt_id=prompt_id,
        generation_id=picture,
        dimension=label.name,
        value=value,
        unscored_reason=reason,
        judge=who,
    )


def _answer(row: TableRow) -> tuple[float | None, str | None]:
    if "satisfied" not in row.cells:
        raise row.missing("satisfied")
    given = row.cells["satisfied"]
    text = "" if given is None else str(given).strip().lower().removesuffix(".0")
    reason = row.optional_text("unscored_reason")
    if text:
        if text not in _ANSWERS:
            raise row.problem("must be true, false, 1 or 0, not", "satisfied", value=text[:40], allowed=tuple(_ANSWERS))
        if reason is not None:
            raise row.problem("is given although there is an answer:", "unscored_reason", value=reason[:80])
        return _ANSWERS[text], None
    if reason is None:
        hint = 'Where an answer is missing, give the reason in a column unscored_reason: "abstained", "bad_media".'
        raise row.problem("there is no answer", "satisfied", allowed=tuple(_ANSWERS), hint=hint)
    return None, row.text("unscored_reason", allowed=tuple(Reason))


def _sample(row: TableRow) -> int:
    given = row.cells.get("sample")
    text = "0" if given is None else str(given).strip() or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise row.problem("must be a whole number from 0, not", "sample", value=text[:40])
    return int(text)
