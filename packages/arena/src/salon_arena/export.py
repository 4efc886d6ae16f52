"""Settled answers as rows of a result store, each exactly once.

Battles become ``battles`` (anchors are marked as such), and so do answers to which of two models' files looks more real, under
the suite ``artifact-bench``. Panels become ``ratings``, checks of test points ``scores``, labels ``assessments``; answers to
questions whose answer is known become ``scores``, 1 for a right one.

The key of a battle is a digest of the arena and the assignment. Rows whose key is in the store are left out, and the store
adds each table's rows in one commit, so an export that was killed can be run again, and one that runs beside votes or beside
another export doubles nothing.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection, Row, func, select

from salon_arena.database import ArenaDatabase
from salon_arena.labels import NORMAL, label_states
from salon_arena.material import SUITE
from salon_arena.questions import BENCH, chosen_of, is_realism, realism_sides, realism_winner
from salon_arena.settling import settle_due
from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTLED, SETTLED_ANSWERS
from salon_arena.tasks import instant
from salon_judges.formats.artifact_bench import CORRECT, QuestionTask
from salon_judges.formats.generations import VIDEO_SUFFIXES
from salon_store import ResultStore
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Assessment, Battle, Generation, MediaKind, Mode, Prompt, Rating, Score, Side
from salon_taxonomy.store_address import StoreAddress

CHECKS: Final = "test_points"
"""The task of the scores of checks: ``salon ratings pass-rates STORE --task test_points``."""
AGREED: Final = "agreed"
"""The judge of labels that several raters agreed on and two auditors accepted."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export did.

    Attributes:
        added: battles that were written.
        present: battles that were in the store before.
        rated: ratings that were written.
        checked: yes/no checks that were written.
        labelled: labels that were written, of single raters and agreed ones.
        ranked: settled rankings: the store has no table of them, ``salon arena release rankings`` writes them.
        waiting: tasks that were given and are not answered.
        undoable: answers that can still be undone; a later export has them.
        unreadable: paths of files because of which a task was not shown, those of each task.
    """

    added: int
    present: int
    rated: int
    checked: int
    labelled: int
    ranked: int
    waiting: int
    undoable: int
    unreadable: tuple[tuple[str, ...], ...]


def export_answers(database: ArenaDatabase, store: StoreAddress, *, now: int | None = None) -> Exported:
    """Settle what is due, and add every settled vote that the store lacks as a battle.

    Prompts and files that were shown are added to ``prompts`` and ``generations``. Qualification tests and audits stay in the
    database.

    Args:
        database: the arena's; it may be in use by a server at the same time.
        store: the directory or URL of a result store; made if missing.
        now: microseconds since 1970; answers given 10 s earlier are settled. None: the clock.

    Raises:
        InputError: the directory is no store.
        StoreError: the store cannot be written.
        StorageError: the database cannot be written or read.
    """
    settle_due(database, time.time_ns() // 1000 if now is None else now).result()
    opened = ResultStore.open(store)
    there = set(opened.read("battles").select("battle_id").collect()["battle_id"].to_list())
    rows = database.read(_settled)
    new = [(key, row) for row in rows if (key := battle_id(database.arena_id, row.assignment_id)) not in there]
    run_id = f"arena-{database.arena_id}"
    prompts: dict[str, Prompt] = {}
    generations: dict[str, Generation] = {}
    battles = [_battle(key, row, database.mode, prompts, generations) for key, row in new]
    ratings, scores = _answers_to_forms(database, prompts, generations)
    scores += _answers_to_questions(database)
    labels = _answers_to_labels(database, prompts, generations)
    with opened:
        opened.append("prompts", prompts.values(), run_id=run_id, on_duplicate="skip")
        opened.append("generations", generations.values(), run_id=run_id, on_duplicate="skip")
        added = opened.append("battles", battles, run_id=run_id, on_duplicate="skip").rows_written
        rated = opened.append("ratings", ratings, run_id=run_id, on_duplicate="skip").rows_written
        checked = opened.append("scores", scores, run_id=run_id, on_duplicate="skip").rows_written
        labelled = opened.append("assessments", labels, run_id=run_id, on_duplicate="skip").rows_written
    waiting, undoable, unreadable = database.read(_unsettled)
    ranked = database.read(lambda connection: connection.execute(_RANKED).scalar_one())
    return Exported(added, len(rows) - added, rated, checked, labelled, ranked, waiting, undoable, unreadable)


def battle_id(arena_id: str, assignment_id: str) -> str:
    """Return the key of an assignment's battle, the same in every export."""
    return digest("assignment", {"arena": arena_id, "assignment": assignment_id})


def settled_battles(database: ArenaDatabase) -> list[Battle]:
    """Return every settled battle and anchor, as :func:`export_answers` adds it to a store."""
    rows = database.read(_settled)
    return [_battle(battle_id(database.arena_id, row.assignment_id), row, database.mode, {}, {}) for row in rows]


def _settled(connection: Connection) -> list[Row[Any]]:
    """Return battles and anchors, and the questions which of two models' files looks more real."""
    query = (
        select(ASSIGNMENTS, SETTLED.c.winner, ANSWERS.c.choice, ANSWERS.c.elapsed_ms, ANSWERS.c.received_at)
        .select_from(SETTLED_ANSWERS)
        .where(SETTLED.c.kind.in_(["battle", "anchor", "question"]))
        .order_by(SETTLED.c.number)
    )
    return [row for row in connection.execute(query) if row.kind != "question" or is_realism(json.loads(row.payload))]


def _answers_to_forms(
    database: ArenaDatabase, prompts: dict[str, Prompt], generations: dict[str, Generation]
) -> tuple[list[Rating], list[Score]]:
    """Return the rows of panels and checks; collects their prompts and files."""
    ratings: list[Rating] = []
    scores: list[Score] = []
    for row in database.read(lambda connection: list(connection.execute(_FORMS))):
        payload = json.loads(row.payload)
        prompt_id = payload["prompt_id"]
        prompts[prompt_id] = _prompt(payload)
        rated = list(_generations(row, payload))
        generations.update({each.generation_id: each for each in rated})
        values = [int(value) for value in payload["options"]]
        for generation, answers in zip(rated[payload["rated_from"] :], json.loads(row.choice), strict=True):
            for (name, _), value in zip(payload["questions"], answers, strict=True):
                about = {"prompt_id": prompt_id, "generation_id": generation.generation_id, "dimension": name, "value": value}
                if row.kind == "check":
                    judge = {"suite": SUITE, "task": CHECKS, "subject_model": generation.model, "judge": row.rater_id}
                    scores.append(Score(run_id=f"arena-{database.arena_id}", **about, **judge))
                else:
                    key = {"arena": database.arena_id, "assignment": row.assignment_id}
                    mark = {"generation": generation.generation_id, "dimension": name}
                    scale = {"scale_min": min(values), "scale_max": max(values), "answered_at": instant(row.received_at)}
                    who = {"rating_id": digest("rating", {**key, **mark}), "model": generation.model, "rater_id": row.rater_id}
                    ratings.append(Rating(**who, **about, **scale))
    return ratings, scores


def _answers_to_labels(
    database: ArenaDatabase, prompts: dict[str, Prompt], generations: dict[str, Generation]
) -> list[Assessment]:
    """Return one row per label of each rater; and, by the judge ``agreed``, per accepted label."""
    assessments: dict[str, Assessment] = {}
    states = database.read(label_states)
    rows = database.read(lambda connection: list(connection.execute(_LABELS)))
    seen: dict[str, set[str]] = {}
    for row in rows:
        seen.setdefault(row.subject, set()).add(row.digests)
    for row in rows:
        payload = json.loads(row.payload)
        prompts[payload["prompt_id"]] = _prompt(payload)
        [generation] = _generations(row, payload)
        generations[generation.generation_id] = generation
        marks = json.loads(row.choice)["marks"] or [{"label": NORMAL}]
        labelled: list[tuple[str, str, str | None]] = [
            (row.rater_id, mark["label"], json.dumps(mark, ensure_ascii=False)) for mark in marks
        ]
        state = states[row.subject]
        if state.state == "accepted" and len(seen[row.subject]) == 1:  # else raters agreed about different files
            labelled += [(AGREED, label, None) for label in sorted(state.agreed or {NORMAL})]
        for judge, label, words in labelled:
            name = {"arena": database.arena_id, "generation": generation.generation_id, "judge": judge, "label": label}
            key = digest("assessment", name)
            about = {
                "generation_id": generation.generation_id,
                "taxonomy": payload["taxonomy"],
                "label": label,
                "present": True,
            }
            run_id = f"arena-{database.arena_id}"
            assessments[key] = Assessment(assessment_id=key, run_id=run_id, judge=judge, explanation=words, **about)
    return list(assessments.values())


def _answers_to_questions(database: ArenaDatabase) -> list[Score]:
    """Whether each person answered the rows of Artifact-Bench rightly: the people's line beside those of ``salon bench``."""
    scores = []
    for row in database.read(lambda connection: list(connection.execute(_QUESTIONS))):
        payload = json.loads(row.payload)
        question = payload["question"]
        if question["answer"] is None or question["level"] is None:  # no row of the benchmark
            continue
        known = {question["answer"]} if question["task"] != QuestionTask.AID else set(question["answer"])
        about = {"suite": BENCH, "task": question["task"], "subject_model": BENCH, "prompt_id": payload["prompt_id"]}
        right = float(chosen_of(row.choice) == known)
        run_id = f"arena-{database.arena_id}"
        scores.append(Score(run_id=run_id, **about, dimension=CORRECT, value=right, judge=row.rater_id))
    return scores


_ANSWERED: Final = (
    select(ASSIGNMENTS, ANSWERS.c.choice, ANSWERS.c.received_at).select_from(SETTLED_ANSWERS).order_by(SETTLED.c.number)
)
_FORMS: Final = _ANSWERED.where(SETTLED.c.kind.in_(["panel", "check"]))
_QUESTIONS: Final = _ANSWERED.where(SETTLED.c.kind == "question")
_RANKED: Final = select(func.count()).where(SETTLED.c.kind == "ranking")
_LABELS: Final = _ANSWERED.where(SETTLED.c.kind == "label")


def _unsettled(connection: Connection) -> tuple[int, int, tuple[tuple[str, ...], ...]]:
    waiting, undoable = 0, 0
    unreadable = []
    query = select(ASSIGNMENTS.c.state, ASSIGNMENTS.c.payload).where(ASSIGNMENTS.c.state != "settled")
    for state, text in connection.execute(query):
        waiting += state == "open"
        undoable += state == "answered"
        if state == "void":
            payload = json.loads(text)
            unreadable.append(tuple(file["path"] for file in payload["files"]))
    return waiting, undoable, tuple(sorted(set(unreadable)))


def _battle(key: str, row: Row[Any], mode: str, prompts: dict[str, Prompt], generations: dict[str, Generation]) -> Battle:
    """Return the battle of one assignment; collects its prompt and its pictures."""
    payload = json.loads(row.payload)
    suite, winner = SUITE, row.winner
    if row.kind == "question":
        suite, winner, payload = BENCH, realism_winner(row.choice), {**payload, **realism_sides(payload)}
    prompt_id, a_shown = payload["prompt_id"], payload["side_a_shown"]
    labels = tuple(payload["labels"])
    prompts[prompt_id] = _prompt(payload)
    pictures = [*_generations(row, payload)] if row.digests else []
    compared, beside = pictures[: len(Side)], pictures[len(Side) :]
    generations.update({each.generation_id: each for each in compared})
    generation_of = dict(zip(Side, compared, strict=True)) if compared else {}
    b_shown = Side.RIGHT if a_shown == Side.LEFT else Side.LEFT
    answered = instant(row.received_at)
    return Battle(
        battle_id=key,
        suite=suite,
        prompt_id=prompt_id,
        model_a=payload["model_a"],
        model_b=payload["model_b"],
        winner=winner,
        rater_id=row.rater_id,
        mode=Mode(mode),
        scenario=payload["scenario"],
        labels=labels,
        generation_a=generation_of[Side(a_shown)].generation_id if generation_of else None,
        generation_b=generation_of[b_shown].generation_id if generation_of else None,
        source=beside[0].uri if beside else None,
        side_a_shown=Side(a_shown),
        started_at=answered - timedelta(milliseconds=row.elapsed_ms),
        answered_at=answered,
        is_anchor=row.kind == "anchor",
        expected_winner=payload.get("expected"),
        plan_rule=payload.get("plan_rule"),
        plan_stream=payload.get("plan_stream"),
    )


def _prompt(payload: dict[str, Any]) -> Prompt:
    return Prompt(
        prompt_id=payload["prompt_id"],
        suite=SUITE,
        text=payload["prompt"],
        language=payload["language"],
        scenario=payload["scenario"],
        labels=tuple(payload["labels"]),
    )


def _generations(row: Row[Any], payload: dict[str, Any]) -> Iterator[Generation]:
    """Yield the rows of the files, with the keys that ``salon bench run`` gives them."""
    for file, sha256 in zip(payload["files"], json.loads(row.digests), strict=True):
        name = {"prompt": payload["prompt_id"], "model": file["model"], "sample": file["sample"], "sha256": sha256}
        yield Generation(
            generation_id=digest("generation", name),
            prompt_id=payload["prompt_id"],
            model=file["model"],
            sample=file["sample"],
            kind=MediaKind.VIDEO if file["path"].lower().endswith(VIDEO_SUFFIXES) else MediaKind.IMAGE,
            uri=file["path"][-400:],
            sha256=sha256,
        )
