"""Write what people said in the forms in which the benchmarks were released, with copies of the files.

| form | from | read by |
| --- | --- | --- |
| ``magicmirror`` | accepted labels | ``salon_bench.suites.assessors``: ``images``, ``response``, ``prompt`` |
| ``artifact-bench`` | accepted labels of videos or answers to questions, with levels | ``salon_bench.suites.artifact_bench`` |
| ``r3`` | agreed verdicts | ``salon_bench.suites.r3_bench``: ``idx``, ``bad_image``, ``answer``, … |
| ``mef-checks`` | checks of test points | ``salon bench``, ``salon ratings pass-rates``: a list of people's answers |
| ``mef-ratings`` | opinion scores | ``salon ratings mos`` |
| ``mef-prompts`` | accepted prompts | ``salon_bench.suites.magic_bench_377``: ``prompt``, ``labels``, ``scenario`` |
| ``label-studio`` | labels of all raters | Label Studio, and ``salon arena import-labels`` |
| ``votes`` | battles and anchors of all raters | ``salon votes rank``, which rebuilds the board from it |
| ``rankings`` | rankings of all raters | ``salon votes rank`` |
| ``datasets`` | any of them | ``datasets.load_dataset(folder)`` |

A file that is missing, or is no longer the one that people saw (by SHA-256), is left out and named, with its row.
"""

import csv
import io
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, select

from salon_arena.board import anchors_wanted, raters_left_out
from salon_arena.database import HEARD, PUBLIC_SEED, ArenaDatabase
from salon_arena.export import settled_battles
from salon_arena.label_studio import MediaField, exported_tasks, label_studio_config
from salon_arena.labels import LEVELLED, NORMAL, LabelItem, label_states
from salon_arena.prompt_tasks import written
from salon_arena.questions import QuestionItem, question_states
from salon_arena.rounds import ADJUDICATE, VotedItem
from salon_arena.settling import settle_due
from salon_arena.tables import ANSWERS, ASSIGNMENTS, RATERS, SETTLED, SETTLED_ANSWERS
from salon_arena.tasks import files_of, instant
from salon_arena.verdicts import EXPERTS, verdict_states
from salon_arena.verify import verify_answers
from salon_console.table_files import csv_cell
from salon_judges.formats.artifact_bench import TASK_TYPES, BenchRow, QuestionLevel, QuestionTask, released_row
from salon_judges.formats.artifact_bench_options import OPTIONS, offer
from salon_judges.formats.generations import VIDEO_SUFFIXES, Generated
from salon_judges.formats.magic_bench_377_labels import CHECK_COLUMNS
from salon_taxonomy.answers.magicmirror import Artifact, MagicMirrorAnswer, magicmirror_json
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.taxonomy import Taxonomy
from salon_taxonomy.whole_files import write_whole

V = TypeVar("V", bound=VotedItem)

MEDIA: Final = "media"
"""The folder of the copied files."""
VOTES_CARD: Final = """# {rows:,} battles of an arena ({mode} mode)

`battles.parquet` and `battles.csv` hold the same rows: one per settled battle or anchor.
`salon votes rank battles.parquet --interval anytime` rebuilds the arena's board from the {counted:,.0f} that count. The others
have weight 0, and `left_out` says why: an anchor (its winner was known), or what the checks found about the rater.
`rater_id` is a random number.

The chain of answers ended at `{head}`
when this was written; `salon arena verify --head` finds it in the arena's database.
{plan}"""
RANKINGS_CARD: Final = """# {rankings:,} rankings of an arena ({mode} mode)

`rankings.parquet` and `rankings.csv` hold the same rows: one per ranked file. `place` is 1 for the best; equal places are ties.
`salon votes rank rankings.parquet --cluster prompt_id --cluster rater_id` ranks the models. `rater_id` is a random number.

The chain of answers ended at `{head}`
when this was written; `salon arena verify --head` finds it in the arena's database.
{plan}"""
UNAUDITED_CARD: Final = """# {rows:,} labelled pictures, not audited

Two roles of the benchmark were skipped: no auditor verified the labels, and fewer than three people labelled some pictures.

{people}
"""
PUBLIC_PLAN: Final = "The plan was public: anybody could compute which model made what raters saw."
HEARD_VIDEOS: Final = "Raters heard the videos, one at a time and equally loud (-23 LUFS, EBU R128)."


@dataclass(frozen=True, slots=True)
class Released:
    """What was written.

    Attributes:
        path: the file, or the folder.
        rows: how many.
        left_out: a sentence for each row that could not be written.
        public_plan: whether anybody could compute which model made what raters saw (``salon arena serve --seed``).
    """

    path: Path
    rows: int
    left_out: tuple[str, ...]
    public_plan: bool


@dataclass(frozen=True, slots=True)
class _Answered:
    """One settled answer."""

    kind: str
    subject: str
    payload: Mapping[str, Any]
    digests: list[str] | None
    rater_id: str
    occupation: str | None
    choice: Any
    winner: str | None
    answered_at: datetime
    elapsed_ms: int
    assignment_id: str


def release(
    database: ArenaDatabase,
    form: str,
    folder: Path,
    *,
    real: str | None = None,
    taxonomy: Path | None = None,
    media: MediaField | None = None,
    seed: int = 0,
    unaudited: bool = False,
) -> Released:
    """Settle what is due, and write the settled answers in one of :data:`FORMS` into a new folder.

    Args:
        database: the arena's; it may be in use.
        form: one of :data:`FORMS`.
        folder: must be missing or empty.
        real: ``artifact-bench``: the folder of videos that were recorded, not generated; gives the rows of task 1.
        taxonomy: ``label-studio``: the TOML file of the labels, where the arena was served with one.
        media: ``label-studio``: where it finds the files; None: the paths in the folder.
        seed: ``artifact-bench``: of the options that do not apply, and of the order.
        unaudited: ``magicmirror``: also labels of fewer than three raters, without auditors; ``README.md`` says so.

    Raises:
        InputError: an unknown form, the folder has files, or there is no answer of the kind.
        StorageError: the database cannot be read or written.

    Example:
        >>> list(FORMS)[:3]
        ['magicmirror', 'artifact-bench', 'r3']
    """
    if form not in FORMS:
        raise InputError("unknown form", value=form, allowed=FORMS)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", source=folder, hint="Name a new folder.")
    settle_due(database, time.time_ns() // 1000).result()
    releasing = _Release(database, folder, real, taxonomy, media, seed, unaudited)
    rows = FORMS[form](releasing)
    if not rows:
        hint = (
            "Answers count 10 s after they were given; labels once two auditors accepted them (magicmirror: --unaudited), and "
            "those of a tree of your own in the form label-studio alone."
        )
        problem = (
            "has no settled answers for the form" if not releasing.left_out else "has none that can be released in the form"
        )
        raise InputError(problem, source=database.place, value=form, hint=releasing.left_out[0] if releasing.left_out else hint)
    return Released(folder, rows, tuple(releasing.left_out), releasing.public_plan)


class _Release:
    """One folder that is being written; each method writes one form and returns the number of rows."""

    def __init__(
        self,
        database: ArenaDatabase,
        folder: Path,
        real: str | None,
        taxonomy: Path | None,
        media: MediaField | None,
        seed: int,
        unaudited: bool,
    ) -> None:
        self._database = database
        self._folder = folder
        self._real = real
        self._taxonomy = taxonomy
        self._media = media
        self._seed = seed
        self._unaudited = unaudited
        self.left_out: list[str] = []
        self.public_plan = database.setting(PUBLIC_SEED) is not None
        self._heard = database.setting(HEARD) is not None
        self._copied: dict[tuple[Path, str | None], str | None] = {}

    # The forms

    def magicmirror(self) -> int:
        """Return rows of MagicData: ``images``, ``response``, ``prompt``."""
        taxonomy = Taxonomy.load("magicmirror")
        rows = []
        states = self._unaudited_labels(taxonomy.name) if self._unaudited else self._accepted_labels(taxonomy.name)
        raters: Counter[int] = Counter()
        for file, answered, state in states:
            labels = state.values(state.said[0]) if state.agreed is None else state.agreed
            answer = magicmirror_answer(taxonomy, labels)
            about = {"prompt_id": file.prompt_id, "model": file.model, "sample": file.sample}
            response = {"response": magicmirror_json(answer), "prompt": answered.payload["prompt"]}
            if (path := self._copy(file, answered)) is not None:
                rows.append({"images": path, **response, **about})
                raters[len(state.said)] += 1
        if rows and self._unaudited:
            lines = [
                f"- {number} labelled by {count} {'person' if count == 1 else 'people'}" for count, number in raters.items()
            ]
            people = "\n".join(sorted(lines))
            self._write_text("README.md", UNAUDITED_CARD.format(rows=len(rows), people=people))
        return self._write_lines("labels.jsonl", rows)

    def artifact_bench(self) -> int:
        """Return rows of tasks 1 (with ``real``) and 3 from labels; of each task from answers to its questions."""
        questions: list[BenchRow] = []
        for file, answered, state in self._accepted_labels(LEVELLED):
            path = self._copy(file, answered)
            if path is None or state.level is None:
                continue
            sample_id = digest("sample", [file.prompt_id, file.model, file.sample])[:16]
            level, labels = QuestionLevel(state.level), sorted(state.agreed or ())
            if self._real is not None:
                answer = "no" if file.model == self._real else "yes"
                questions.append(BenchRow(QuestionTask.RVAC, sample_id, (path,), answer, level))
            if 0 < len(labels) < OPTIONS:  # otherwise normal, or no room for a wrong option
                drawn = offer(labels, seed=self._seed, sample_id=sample_id)
                questions.append(BenchRow(QuestionTask.AID, sample_id, (path,), drawn.answer, level, drawn.texts, drawn.leaves))
        for answered, judged in self._accepted("question", self._database.read(question_states)):
            if (question := self._answered_question(answered, judged)) is not None:
                questions.append(question)
        rows_of = {task: [released_row(row) for row in questions if row.task is task] for task in TASK_TYPES.values()}
        return sum(self._write_lines(f"task{number}_meta.jsonl", rows_of[task]) for number, task in TASK_TYPES.items())

    def _answered_question(self, answered: _Answered, state: QuestionItem) -> BenchRow | None:
        """Return a question with its accepted answer; a known answer of ``rvac`` stays."""
        question = answered.payload["question"]
        task = QuestionTask(question["task"])
        copied = [self._copy(file, answered, number) for number, file in enumerate(files_of(answered.payload))]
        videos = tuple(path for path in copied if path is not None)
        level = question["level"] or state.level
        if len(videos) < len(copied) or level is None:
            return None
        answer = "".join(sorted(state.agreed or ()))
        if task is QuestionTask.RVAC and question["answer"]:
            answer = question["answer"]
        in_order = videos[::-1] if question["turned"] else videos
        return BenchRow(task, question["sample_id"], in_order, answer, QuestionLevel(level), tuple(question["options"]))

    def r3(self) -> int:
        """Return rows of R³-Bench, discarded ones left out."""
        rows = []
        answered: dict[str, list[_Answered]] = {}
        for answer in self._answers("verdict", ADJUDICATE):
            answered.setdefault(answer.subject.removeprefix(f"{ADJUDICATE}\x1f"), []).append(answer)
        for subject, state in self._database.read(verdict_states).items():
            agreed = state.agreed
            if agreed is None or agreed.discard:
                continue
            deciding = [each for each in answered[subject] if (each.kind == ADJUDICATE) == bool(state.final)][:EXPERTS]
            answer_of = deciding[-1]
            [file] = files_of(answer_of.payload)
            if len({json.dumps([each.payload["prompt"], each.payload["row"], each.digests]) for each in deciding}) > 1:
                self.left_out.append(f"row {file.prompt_id}: its experts saw different versions of it.")
                continue
            path = self._copy(file, answer_of)
            if path is None:
                continue
            known = answer_of.payload["row"]
            kept = [pair for pair in zip(known["questions"], agreed.questions, strict=True) if pair[1].relevant]
            answers = ["yes" if question.answer else "no" for _, question in kept]
            asked = {"yn_question_list": [text for text, _ in kept], "yn_answer_list": answers}
            row = {
                "idx": file.prompt_id,
                "original_prompt": answer_of.payload["prompt"],
                "bad_image": path,
                "answer": agreed.aligned,
            }
            explanation = "" if agreed.aligned else agreed.explanation
            rows.append({**row, "explanation": explanation, "category": known["category"], "generated_qa": asked})
        return self._write_lines("rows.jsonl", rows)

    def mef_checks(self) -> int:
        """Return the list of people's checks."""
        rows = []
        for answered in self._answers("check"):
            [file] = files_of(answered.payload)
            path = self._copy(file, answered)
            for (name, check), value in zip(answered.payload["questions"], answered.choice[0], strict=True):
                about = (file.prompt_id, file.model, file.sample, path, answered.payload["prompt"], name, check)
                if path is not None:
                    rows.append(dict(zip(CHECK_COLUMNS, (*about, value, answered.rater_id), strict=True)))
        return self._write_csv("checks.csv", rows)

    def mef_ratings(self) -> int:
        """Ratings, one per row, in the columns that ``salon ratings mos`` reads; with a hidden reference, differences too."""
        rows, differences = [], []
        for answered in self._answers("panel"):
            payload = answered.payload
            values = [int(value) for value in payload["options"]]
            scale = {"scale_min": min(values), "scale_max": max(values)}
            rated = files_of(payload)[payload["rated_from"] :]
            hidden = payload.get("hidden")
            against = next((marks for file, marks in zip(rated, answered.choice, strict=True) if file.model == hidden), None)
            for position, (file, marks) in enumerate(zip(rated, answered.choice, strict=True)):
                path = self._copy(file, answered, payload["rated_from"] + position)
                about = {"prompt_id": file.prompt_id, "generation_id": path, "model": file.model}
                about["scenario"] = payload["scenario"]
                for number, ((name, _), value) in enumerate(zip(payload["questions"], marks, strict=True)):
                    key = digest("rating", [self._database.arena_id, answered.assignment_id, position, name])
                    marked = {"dimension": name, "value": value, **scale}
                    who = {"rater_id": answered.rater_id, "answered_at": answered.answered_at.isoformat()}
                    if path is not None:
                        rows.append({"rating_id": key, **about, **marked, **who})
                    if path is not None and against is not None and file.model != hidden:
                        differences.append({**rows[-1], **differential(value, against[number], **scale)})
        self._write_csv("differences.csv", differences)
        return self._write_csv("ratings.csv", rows)

    def mef_prompts(self) -> int:
        """Return accepted prompts in Magic-Bench-377's own form."""
        accepted = [text for _, text in self._database.read(written) if text is not None]
        rows = [
            {
                "prompt_id": f"prompt-{number:04d}",
                "prompt": text.prompt,
                "language": text.language,
                "labels": list(text.labels),
                "scenario": text.scenario,
                "test_points": [f"{point.name}: {point.demand}" for point in text.test_points],
                "group": text.group,
            }
            for number, text in enumerate(accepted, 1)
        ]
        return self._write_lines("prompts.jsonl", rows)

    def label_studio(self) -> int:
        """Return tasks with the annotations of every rater, and the labelling configuration."""
        answers = self._answers("label")
        if not answers:
            return 0
        taxonomy = self._opened(answers[0].payload["taxonomy"])
        copied = [(each, path) for each in answers if (path := self._copy(files_of(each.payload)[0], each))]
        if not copied:
            return 0
        tasks = exported_tasks(copied, taxonomy, self._media)
        self._write_text("tasks.json", json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
        self._write_text("labels.xml", label_studio_config(taxonomy, self._media))
        return len(tasks)

    def votes(self) -> int:
        """Return battles as Parquet and CSV; those that no board counts have weight 0, and say why."""
        battles = settled_battles(self._database)
        if not battles:
            return 0
        mode = self._database.mode
        left_out = self._database.read(lambda connection: raters_left_out(connection, anchors_wanted(connection, mode)))
        groups = self._database.read(lambda connection: dict(connection.execute(_OCCUPATIONS).all()))
        rows = []
        for battle in battles:
            reason = "anchor" if battle.is_anchor else left_out.get(battle.rater_id)
            counts = {"weight": float(reason is None), "left_out": reason, "occupation": groups.get(battle.rater_id)}
            rows.append({**battle.model_dump(mode="json"), **counts})
        self._write_csv("battles.csv", [{**row, "labels": ";".join(row["labels"])} for row in rows])
        _write_votes(self._folder / "battles.parquet", rows)
        head = verify_answers(self._database).head
        counted = sum(row["weight"] for row in rows)
        self._write_text("README.md", VOTES_CARD.format(rows=len(rows), counted=counted, mode=mode, head=head, plan=self._plan))
        return len(rows)

    def rankings(self) -> int:
        """Return rankings as Parquet and CSV, one row per ranked file, as ``salon votes rank`` reads them."""
        answers = self._answers("ranking")
        rows = []
        for answered in answers:
            key = digest("ranking", {"arena": self._database.arena_id, "assignment": answered.assignment_id})
            about = {"ranking_id": key, "prompt_id": answered.payload["prompt_id"], "scenario": answered.payload["scenario"]}
            who = {"rater_id": answered.rater_id, "occupation": answered.occupation}
            for position, (file, [place]) in enumerate(zip(files_of(answered.payload), answered.choice, strict=True), 1):
                ranked = {"model": file.model, "sample": file.sample, "place": place, "shown": position}
                rows.append({**about, **who, **ranked, "answered_at": answered.answered_at.isoformat()})
        if rows:
            self._write_csv("rankings.csv", rows)
            _write_rankings(self._folder / "rankings.parquet", rows)
            about = {"rankings": len(answers), "mode": self._database.mode, "head": verify_answers(self._database).head}
            self._write_text("README.md", RANKINGS_CARD.format(**about, plan=self._plan))
        return len(rows)

    def datasets(self) -> int:
        """Return one row per answer, as Parquet with the files inside, and a card that names the features."""
        rows = [row for answered in self._answers() if (row := self._dataset_row(answered)) is not None]
        if not rows:
            return 0
        pictures = not any(path.lower().endswith(VIDEO_SUFFIXES) for row in rows for path in row["files"])
        return _write_dataset(self._folder, rows, pictures, self._plan)

    # What they share

    @property
    def _plan(self) -> str:
        """The end of a card."""
        sentences = [*([PUBLIC_PLAN] if self.public_plan else []), *([HEARD_VIDEOS] if self._heard else [])]
        return "".join(f"\n{sentence}\n" for sentence in sentences)

    def _opened(self, name: str) -> Taxonomy:
        """Return the taxonomy of the labels, which must be the one that they were given with."""
        hint = "Name the file that the arena was served with: --taxonomy labels.toml."
        try:
            opened = Taxonomy.open(self._taxonomy or name)
        except InputError as error:
            if self._taxonomy is not None:
                raise
            raise InputError("labels are of a taxonomy that Salon does not have:", value=name, hint=hint) from error
        if opened.name != name:
            raise InputError("labels are of another taxonomy:", source=self._taxonomy, value=opened.name, allowed=[name])
        return opened

    def _answers(self, *kinds: str) -> list[_Answered]:
        """Return settled answers of some kinds; of none, all but those of adjudicators."""
        answers = self._database.read(_settled_answers)
        return [each for each in answers if (each.kind in kinds if kinds else each.kind != ADJUDICATE)]

    def _accepted(self, kind: str, states: Mapping[str, V]) -> Iterator[tuple[_Answered, V]]:
        """Yield the first answer of each accepted item with its state, in order of first answers."""
        for subject, answers in self._by_subject(kind).items():
            if states[subject].state == "accepted" and self._saw_the_same(answers):
                yield answers[0], states[subject]

    def _by_subject(self, kind: str) -> dict[str, list[_Answered]]:
        by_subject: dict[str, list[_Answered]] = {}
        for answer in self._answers(kind):
            by_subject.setdefault(answer.subject, []).append(answer)
        return by_subject

    def _saw_the_same(self, answers: Sequence[_Answered]) -> bool:
        """Return whether people saw the same files and question, sides apart; where they did not, it is noted."""
        versions = set()
        for answer in answers:
            question = {**answer.payload.get("question", {}), "turned": None}
            versions.add(json.dumps([question, sorted(answer.digests or ())]))
        if len(versions) > 1:
            file = files_of(answers[0].payload)[0]
            name = f"{file.prompt_id} of {file.model}, sample {file.sample}"
            self.left_out.append(f"{name}: people saw different versions of its files or its question.")
        return len(versions) == 1

    def _accepted_labels(self, taxonomy: str) -> Iterator[tuple[Generated, _Answered, LabelItem]]:
        for answered, state in self._accepted("label", self._database.read(label_states)):
            if answered.payload["taxonomy"] == taxonomy:
                yield files_of(answered.payload)[0], answered, state

    def _unaudited_labels(self, taxonomy: str) -> Iterator[tuple[Generated, _Answered, LabelItem]]:
        """Yield each file on whose labels all who labelled it agree, with the first answer; others are noted."""
        states = self._database.read(label_states)
        for subject, answers in self._by_subject("label").items():
            answered = answers[0]
            state, file = states[subject], files_of(answered.payload)[0]
            if answered.payload["taxonomy"] != taxonomy or not self._saw_the_same(answers):
                continue
            if state.agreed is None and len({state.values(each) for each in state.said}) > 1:
                self.left_out.append(f"{file.prompt_id} of {file.model}, sample {file.sample}: its raters differ.")
            elif state.state == "rejected":  # and no adjudicator decided
                self.left_out.append(f"{file.prompt_id} of {file.model}, sample {file.sample}: an auditor rejected its labels.")
            else:
                yield file, answered, state

    def _copy(self, file: Generated, answered: _Answered, number: int = 0) -> str | None:
        """Copy a file below the folder and return its path there; None, noted, for a changed file."""
        sent_digest = None if answered.digests is None else answered.digests[number]
        key = (file.path, sent_digest)
        if key not in self._copied:
            self._copied[key] = self._copy_once(file, sent_digest)
        return self._copied[key]

    def _copy_once(self, file: Generated, sent_digest: str | None) -> str | None:
        name = f"{file.prompt_id} of {file.model}, sample {file.sample}"
        try:
            inside = file.path.resolve().relative_to(file.root.resolve())
            sha256 = file_sha256(file.path)
            if sent_digest is not None and sha256 != sent_digest:
                self.left_out.append(f"{name}: the file is not the one that people saw.")
                return None
            target = self._folder / MEDIA / file.model / inside
            if target.exists() and file_sha256(target) != sha256:  # of another folder that the arena was served with
                target = target.with_name(f"{target.stem}.{sha256[:8]}{target.suffix}")
        except (OSError, ValueError) as error:
            self.left_out.append(
                f"{name}: the file cannot be read ({getattr(error, 'strerror', None) or 'outside its folder'})."
            )
            return None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)
        except OSError as error:
            raise cannot_write(error, target) from error
        return target.relative_to(self._folder).as_posix()

    def _dataset_row(self, answered: _Answered) -> dict[str, Any] | None:
        payload = answered.payload
        if payload["files"] and answered.digests is None:
            files = " and ".join(f"{file['model']}, sample {file['sample']}" for file in payload["files"])
            self.left_out.append(f"{payload['prompt_id']} of {files}: the files were never sent to the rater.")
            return None
        paths = [self._copy(file, answered, place) for place, file in enumerate(files_of(payload))]
        if None in paths:
            return None
        row: dict[str, Any] = {"kind": answered.kind, "prompt_id": payload["prompt_id"], "prompt": payload["prompt"]}
        row |= {"language": payload["language"], "scenario": payload["scenario"], "labels": payload["labels"]}
        row |= {"models": [file["model"] for file in payload["files"]], "files": paths}
        row |= {"winner": answered.winner, "answer": json.dumps(answered.choice, ensure_ascii=False)}
        row |= {"rater_id": answered.rater_id, "occupation": answered.occupation, "elapsed_ms": answered.elapsed_ms}
        return {**row, "answered_at": answered.answered_at.isoformat()}

    def _write_lines(self, name: str, rows: Sequence[Mapping[str, Any]]) -> int:
        if rows:
            self._write_text(name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return len(rows)

    def _write_csv(self, name: str, rows: Sequence[Mapping[str, Any]]) -> int:
        if rows:
            out = io.StringIO(newline="")
            writer = csv.DictWriter(out, list(rows[0]))
            writer.writeheader()
            cells = ({key: csv_cell(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows)
            writer.writerows(cells)
            self._write_text(name, out.getvalue())
        return len(rows)

    def _write_text(self, name: str, text: str) -> None:
        write_whole(self._folder / name, text, parents=True, flushed=True)


FORMS: Final[Mapping[str, Callable[[_Release], int]]] = {
    "magicmirror": _Release.magicmirror,
    "artifact-bench": _Release.artifact_bench,
    "r3": _Release.r3,
    "mef-checks": _Release.mef_checks,
    "mef-ratings": _Release.mef_ratings,
    "mef-prompts": _Release.mef_prompts,
    "label-studio": _Release.label_studio,
    "votes": _Release.votes,
    "rankings": _Release.rankings,
    "datasets": _Release.datasets,
}
"""What can be written, by the name of the form."""


def differential(mark: int, reference: int, *, scale_min: int, scale_max: int) -> dict[str, int]:
    """Return a mark less its rater's mark of the hidden reference, plus the scale's top, and the new scale.

    This is the differential score of ITU-T P.910 for ACR-HR: mark - reference + 5 on a scale from 1 to 5. A file that is
    better than its reference scores above the top.

    Example:
        >>> differential(3, 5, scale_min=1, scale_max=5)
        {'value': 3, 'scale_min': 1, 'scale_max': 9}
    """
    return {"value": mark - reference + scale_max, "scale_min": scale_min, "scale_max": 2 * scale_max - scale_min}


def magicmirror_answer(taxonomy: Taxonomy, labels: frozenset[str]) -> MagicMirrorAnswer:
    """Return a set of label ids as an answer of MagicMirror: L3 labels below their L2.

    Example:
        >>> magicmirror_answer(Taxonomy.load("magicmirror"), frozenset(["hand-structure-deformity"])).labels
        {'L2: Abnormal Human Anatomy': ('L3: Hand Structure Deformity',)}
    """
    main_labels: dict[str, list[str]] = {}
    for label in taxonomy.walk():
        if label.id in labels - {NORMAL}:
            parent = taxonomy.parent(label)
            above = label if taxonomy.tier_of(label) == "L2" or parent is None else parent
            below = main_labels.setdefault(above.answer or above.name, [])
            below += [] if above is label else [label.answer or label.name]
    return MagicMirrorAnswer(not main_labels, tuple(Artifact(l2, tuple(l3)) for l2, l3 in main_labels.items()))


def _settled_answers(connection: Connection) -> list[_Answered]:
    query = (
        select(
            ASSIGNMENTS, SETTLED.c.winner, ANSWERS.c.choice, ANSWERS.c.received_at, ANSWERS.c.elapsed_ms, RATERS.c.occupation
        )
        .select_from(SETTLED_ANSWERS)
        .join(RATERS, RATERS.c.rater_id == ASSIGNMENTS.c.rater_id)
        .where(SETTLED.c.kind.in_(["battle", "panel", "ranking", "check", "label", "question", "verdict", ADJUDICATE]))
        .order_by(SETTLED.c.number)
    )
    return [
        _Answered(
            kind=row.kind,
            subject=row.subject,
            payload=json.loads(row.payload),
            digests=None if row.digests is None else json.loads(row.digests),
            rater_id=row.rater_id,
            occupation=row.occupation,
            choice=row.choice if row.kind == "battle" else json.loads(row.choice),
            winner=row.winner,
            answered_at=instant(row.received_at),
            elapsed_ms=row.elapsed_ms,
            assignment_id=row.assignment_id,
        )
        for row in connection.execute(query)
    ]


_OCCUPATIONS: Final = select(RATERS.c.rater_id, RATERS.c.occupation)


def _write_votes(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import polars as pl

    others = {"labels": pl.List(pl.String()), "is_anchor": pl.Boolean(), "weight": pl.Float64(), "plan_stream": pl.Int64()}
    frame = pl.DataFrame(rows, schema={name: others.get(name, pl.String()) for name in rows[0]})
    times = pl.col("started_at", "answered_at").str.to_datetime(time_unit="us", time_zone="UTC")
    frame.with_columns(times).write_parquet(path)


def _write_rankings(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import polars as pl

    whole = ("sample", "place", "shown")
    frame = pl.DataFrame(rows, schema={name: pl.Int64() if name in whole else pl.String() for name in rows[0]})
    times = pl.col("answered_at").str.to_datetime(time_unit="us", time_zone="UTC")
    frame.with_columns(times).write_parquet(path)


def _write_dataset(folder: Path, rows: Sequence[Mapping[str, Any]], pictures: bool, plan: str) -> int:
    """Write Parquet with the files inside, and the card that tells ``datasets`` what the columns are."""
    import polars as pl

    released = []
    for row in rows:
        inside = [{"bytes": (folder / path).read_bytes(), "path": Path(path).name} for path in row["files"]]
        released.append({**row, "files": inside} if pictures else dict(row))
    texts = dict.fromkeys(("kind", "prompt_id", "prompt", "language", "scenario", "winner", "answer", "rater_id"), pl.String())
    schema: dict[str, Any] = {**texts, "occupation": pl.String(), "answered_at": pl.String(), "elapsed_ms": pl.Int64()}
    schema |= dict.fromkeys(("labels", "models"), pl.List(pl.String()))
    schema["files"] = pl.List(pl.Struct({"bytes": pl.Binary(), "path": pl.String()}) if pictures else pl.String())
    frame = pl.DataFrame(released, schema=schema)
    inner = folder / "data"
    inner.mkdir(exist_ok=True)
    frame.write_parquet(inner / "train-00000-of-00001.parquet")
    kinds = {name: "int64" if kind == pl.Int64() else "string" for name, kind in schema.items()}
    lines = ["---", "configs:", "- config_name: default", "  data_files: data/*.parquet", "dataset_info:", "  features:"]
    for name, kind in kinds.items():
        if name in ("labels", "models"):
            lines += [f"  - name: {name}", "    list: string"]
        elif name == "files":
            lines += [f"  - name: {name}", f"    list: {'image' if pictures else 'string'}"]
        else:
            lines += [f"  - name: {name}", f"    dtype: {kind}"]
    card = [*lines, "---", "", f"# {frame.height:,} answers of people", "", "One row per settled answer of an arena."]
    write_whole(folder / "README.md", "\n".join(card) + f"\n{plan}", flushed=True)
    return frame.height
