"""Answers become final: 10 s after they were given, or with the rater's next one. What follows from a final answer is here."""

import json
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, select, update

from salon_arena import quality
from salon_arena.chain import add_row, bind
from salon_arena.database import ENDED, ArenaDatabase, note_setting
from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTINGS, SETTLED
from salon_taxonomy.records import Side, Winner

UNDO: Final = "undo"
"""The answer that takes back the one before."""
UNDO_SECONDS: Final = 10
_SECOND: Final = 1_000_000


# Statements are made once: to make one takes longer than to run it.
_ANSWERED: Final = (
    select(ASSIGNMENTS, ANSWERS.c.choice)
    .join(ANSWERS, ANSWERS.c.answer_id == ASSIGNMENTS.c.answer_id)
    .where(ASSIGNMENTS.c.state == "answered")
)  # sorted in Python: ordered by time, SQLite reads the answers of all raters in order to find those of one
_DUE: Final = _ANSWERED.where(ASSIGNMENTS.c.answered_at <= bindparam("before"))
_EARLIER: Final = _ANSWERED.where(
    (ASSIGNMENTS.c.rater_id == bindparam("rater")) & (ASSIGNMENTS.c.assignment_id != bindparam("but"))
)
_DONE: Final = update(ASSIGNMENTS).where(ASSIGNMENTS.c.assignment_id == bindparam("task")).values(state="settled")


def settle_due(database: ArenaDatabase, now: int) -> "Future[int]":
    """Settle every answer that was given more than 10 s before ``now`` (microseconds since 1970); returns how many."""
    before = now - UNDO_SECONDS * _SECOND
    return database.write(lambda connection: _settle(connection, connection.execute(_DUE, {"before": before}), now))


def settle_earlier(connection: Connection, rater_id: str, but: str, now: int) -> int:
    """Settle the answers of a rater, but for that of task ``but``; returns how many."""
    return _settle(connection, connection.execute(_EARLIER, {"rater": rater_id, "but": but}), now)


def end_study(database: ArenaDatabase, now: int) -> "Future[int]":
    """Settle every answer and deal no further tasks; boards then show all votes. The future returns how many were settled."""

    def ended(connection: Connection) -> int:
        settled = _settle(connection, connection.execute(_ANSWERED), now)
        if connection.execute(select(SETTINGS.c.value).where(SETTINGS.c.key == ENDED)).first() is None:
            note_setting(connection, ENDED, str(now))
        return settled

    return database.write(ended)


def _settle(connection: Connection, answered: Iterable[Row[Any]], now: int) -> int:
    rows = sorted(answered, key=lambda row: row.answered_at)
    for row in rows:
        payload = json.loads(row.payload)
        key = {name: getattr(row, name) for name in ("assignment_id", "answer_id", "rater_id", "kind")}
        add_row(connection, SETTLED, {**key, "settled_at": now, **counted(payload, row.choice)})
        connection.execute(_DONE, {"task": row.assignment_id})
        bind(connection, ASSIGNMENTS, row.assignment_id)
        if row.kind == "qualification":
            quality.certify(connection, row.rater_id, payload["pairs_of_test"], now, payload["suspended_days"])
        elif row.kind == "audit":
            quality.judge_audits(connection, payload["audited_rater"], now, payload["suspended_days"])
    return len(rows)


def counted(payload: dict[str, Any], choice: str) -> dict[str, Any]:
    """Return the columns that boards count; none for work that is no battle."""
    if "model_a" not in payload:
        return dict.fromkeys(("winner", "stream", "model_a", "model_b", "scenario"))
    winner = winner_of(choice, payload["side_a_shown"]).value
    names = {"stream": "plan_stream", "model_a": "model_a", "model_b": "model_b", "scenario": "scenario"}
    return {"winner": winner, **{column: payload[name] for column, name in names.items()}}


def winner_of(choice: str, model_a_shown: str) -> Winner:
    """Translate an answer about sides into one about models.

    Example:
        >>> winner_of("left", "right").value, winner_of("both_bad", "left").value
        ('model_b', 'both_bad')
    """
    if choice in (Side.LEFT.value, Side.RIGHT.value):
        return Winner.MODEL_A if choice == model_a_shown else Winner.MODEL_B
    return Winner(choice)
