"""What admins see and do: progress, raters with their checks, boards; suspend, certify again, forget, invite.

Each action is a row of a signed log: an HMAC of the row and of the signature before it, made with the database's secret.
``salon arena verify`` checks it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, func, select

from salon_arena.agreement import progress
from salon_arena.chain import add_row
from salon_arena.database import ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.people import forget, make_invites, suspend
from salon_arena.quality import DAY, overview, recertify
from salon_arena.tables import ADMIN_LOG, ASSIGNMENTS, RATERS
from salon_arena.verify import signature

_LAST: Final = select(ADMIN_LOG.c.signature).order_by(ADMIN_LOG.c.number.desc()).limit(1)
_SHOWN: Final = 50


class Action(BaseModel):
    """What an admin's page sends.

    Attributes:
        action: what to do.
        rater: the person it is about; empty for ``invite``.
        days: of a suspension; 0: none any more.
        role: of an invited person.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["suspend", "recertify", "forget", "invite"]
    rater: str = Field(default="", max_length=64)
    days: float = Field(default=7.0, ge=0, le=3650, allow_inf_nan=False)
    role: Literal["rater", "auditor", "adjudicator"] = "rater"


def act(database: ArenaDatabase, admin_id: str, action: Action, now: int) -> dict[str, Any]:
    """Do what an admin asks, and sign it in the log; both or neither.

    Returns:
        ``{"invite": code}`` for an invite, else an empty object.

    Raises:
        RefusedError: 403 if ``admin_id`` is no admin, 404 for an unknown rater, 422 for an admin as the target.
        StorageError: the database cannot be written.
    """

    def work(connection: Connection) -> dict[str, Any]:
        if not is_admin(connection, admin_id):
            raise RefusedError(403, "not_admin")
        role = connection.execute(select(RATERS.c.role).where(RATERS.c.rater_id == action.rater)).scalar_one_or_none()
        if action.action != "invite" and role is None:
            raise RefusedError(404, "unknown_rater")
        if role == "admin":
            raise RefusedError(422, "is_admin")
        reply = _ACTIONS[action.action](connection, action, now)
        row = {"at": now, "admin_id": admin_id, "action": action.action, "detail": action.model_dump_json(exclude={"action"})}
        before = connection.execute(_LAST).scalar_one_or_none() or ""
        add_row(connection, ADMIN_LOG, {**row, "signature": signature(database, before, row)})
        return reply

    reply = database.write(work).result()
    if action.action == "forget":
        database.empty_log()
    return reply


def _suspend(connection: Connection, action: Action, now: int) -> dict[str, Any]:
    suspend(connection, [action.rater], now + int(action.days * DAY) if action.days else 0)
    return {}


def _recertify(connection: Connection, action: Action, now: int) -> dict[str, Any]:
    recertify(connection, action.rater, now)
    return {}


def _forget(connection: Connection, action: Action, _: int) -> dict[str, Any]:
    forget(connection, action.rater)
    return {}


def _invite(connection: Connection, action: Action, now: int) -> dict[str, Any]:
    [code] = make_invites(connection, 1, action.role, now)
    return {"invite": code}


_ACTIONS: Final[Mapping[str, Callable[[Connection, Action, int], dict[str, Any]]]] = {
    "suspend": _suspend,
    "recertify": _recertify,
    "forget": _forget,
    "invite": _invite,
}


def is_admin(connection: Connection, rater_id: str) -> bool:
    """Return whether a rater joined with an admin's invite."""
    return connection.execute(select(RATERS.c.role).where(RATERS.c.rater_id == rater_id)).scalar_one_or_none() == "admin"


def admin_view(connection: Connection, now: int) -> dict[str, Any]:
    """Return what the admin's page shows: tasks by state, progress, people, the last actions."""
    states = connection.execute(select(ASSIGNMENTS.c.state, func.count()).group_by(ASSIGNMENTS.c.state)).all()
    last = connection.execute(select(ADMIN_LOG).order_by(ADMIN_LOG.c.number.desc()).limit(_SHOWN))
    return {
        "states": sorted(dict(states).items()),
        "progress": progress(connection),
        "people": overview(connection, now),
        "log": list(last),
    }
