"""Who may vote: invites, consent, the questionnaire, sessions, and suspension.

A rater is a random id. Nothing that names a person is asked for or kept: no name, no address, no IP. What is kept beside the
answers is the occupation, if it was given, which text was agreed to and when, and the SHA-256 of the session's secret.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from salon_arena.database import ACCOUNTS, CONSENTS, INVITES, RATERS, SESSIONS, ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.tasks import Rater
from salon_taxonomy.records import Mode

ROLES: Final = ("rater", "auditor", "adjudicator", "admin")
"""Adjudicators decide where raters of labels and verdicts end in dispute; admins look after the arena and get no tasks."""
OCCUPATIONS: Final = ("design", "media", "film_tv", "ai", "other")
"""Answers of the questionnaire: the groups that MEF recruits from (section 5.1.1), for weights by persona (Table 9)."""
CONSENT: Final = """You will see pictures or videos made by generative models, and say what you think of them. \
Some may be odd or unpleasant; you may stop at any time.
Your answers, the time each took, and the group that you name below are kept under a random number, and may be published. \
No name, mail address or network address is kept. A cookie remembers your number on this device."""
"""The text that raters agree to when the arena gives none of its own."""
_REMEMBERED_SECONDS: Final = 10
_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """A rater who has joined. ``token`` is the secret of the cookie; the database holds its SHA-256."""

    rater_id: str
    token: str


class People:
    """Raters of one database. Safe to use from several threads.

    Args:
        database: where everything is kept.
        consent: the text that raters agree to; a changed text is asked for again.
        invited: only who has an invite may join. Always so for experts.
        clock: returns the time in microseconds since 1970.
    """

    def __init__(
        self, database: ArenaDatabase, clock: Callable[[], int], *, consent: str = CONSENT, invited: bool = False
    ) -> None:
        self.consent = consent
        self.consent_version = hashlib.sha256(consent.encode()).hexdigest()[:16]
        self.invited = invited or database.mode == Mode.EXPERT.value
        self._database = database
        self._clock = clock
        self._known: dict[str, tuple[float, str]] = {}

    def invite(self, role: str = "rater") -> "Future[str]":
        """Make an invite; the future returns its code, which is not kept."""
        return self._database.write(lambda connection: make_invites(connection, 1, role, self._clock())[0])

    def join(self, *, invite: str | None = None, occupation: str | None = None) -> "Future[Session]":
        """Make a rater who agreed to the consent text, and a session for them.

        The future raises :class:`RefusedError` 403 ``invite`` when an invite is needed or given, and it is unknown or used.
        """
        session = Session(f"rater-{secrets.token_hex(8)}", secrets.token_urlsafe(32))

        def work(connection: Connection) -> Session:
            now = self._clock()
            row = {"rater_id": session.rater_id, "created_at": now}
            add_rater(connection, session.rater_id, now, invite=invite, invited=self.invited, occupation=occupation)
            connection.execute(insert(SESSIONS), {**row, "token_hash": token_hash(session.token)})
            self._agreed(connection, session.rater_id, now)
            return session

        return self._database.write(work)

    def agree(self, rater_id: str) -> "Future[None]":
        """Note that a rater agreed to the present consent text."""
        return self._database.write(lambda connection: self._agreed(connection, rater_id, self._clock()))

    def rater_of(self, token: str) -> str | None:
        """Return the rater of a session; None if it is unknown or the present consent text is not agreed to."""
        hashed = token_hash(token)
        agreed = (CONSENTS.c.rater_id == SESSIONS.c.rater_id) & (CONSENTS.c.version == self.consent_version)
        query = select(SESSIONS.c.rater_id).join(CONSENTS, agreed).where(SESSIONS.c.token_hash == hashed)
        found = self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        if found is not None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[hashed] = (time.monotonic() + _REMEMBERED_SECONDS, found)
        return found

    def remembered(self, token: str) -> str | None:
        """As :meth:`rater_of`, without asking the database; None where it would have to be asked."""
        known = self._known.get(token_hash(token))
        return known[1] if known is not None and known[0] > time.monotonic() else None

    def returning(self, token: str) -> str | None:
        """The rater of a session, whatever text they agreed to."""
        query = select(SESSIONS.c.rater_id).where(SESSIONS.c.token_hash == token_hash(token))
        return self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())

    def _agreed(self, connection: Connection, rater_id: str, now: int) -> None:
        there = (CONSENTS.c.rater_id == rater_id) & (CONSENTS.c.version == self.consent_version)
        if connection.execute(select(CONSENTS.c.at).where(there)).first() is None:
            connection.execute(insert(CONSENTS), {"rater_id": rater_id, "version": self.consent_version, "at": now})


def add_rater(
    connection: Connection, rater_id: str, now: int, *, invite: str | None, invited: bool, occupation: str | None = None
) -> None:
    """Add a rater, in the role of the invite if there is one, and use the invite up.

    Raises:
        RefusedError: 403 ``invite`` when an invite is needed or given, and it is unknown or used.
    """
    role: str | None = ROLES[0]
    this = (INVITES.c.code_hash == token_hash(invite or "")) & INVITES.c.rater_id.is_(None)
    if invited or invite:
        role = connection.execute(select(INVITES.c.role).where(this)).scalar_one_or_none()
        if role is None:
            raise RefusedError(403, "invite")
    connection.execute(insert(RATERS), {"rater_id": rater_id, "created_at": now, "role": role, "occupation": occupation})
    if invited or invite:
        connection.execute(update(INVITES).where(this).values(rater_id=rater_id))


def make_invites(connection: Connection, count: int, role: str, now: int) -> list[str]:
    """Add ``count`` invites and return their codes; the database holds their SHA-256."""
    codes = [secrets.token_urlsafe(16) for _ in range(count)]
    rows = [{"code_hash": token_hash(code), "role": role, "made_at": now} for code in codes]
    connection.execute(insert(INVITES), rows)
    return codes


_RATER: Final = select(RATERS.c.rater_id, RATERS.c.role, RATERS.c.suspended_until).where(
    RATERS.c.rater_id == bindparam("rater")
)


def read_rater(connection: Connection, rater_id: str) -> Rater:
    """The rater's row."""
    return Rater(*connection.execute(_RATER, {"rater": rater_id}).one())


def suspend(connection: Connection, rater_ids: Sequence[str], until: int) -> int:
    """Let raters get no further tasks before ``until`` (microseconds since 1970; 0: at once again); returns how many."""
    return connection.execute(update(RATERS).where(RATERS.c.rater_id.in_(rater_ids)).values(suspended_until=until)).rowcount


def forget(connection: Connection, rater_id: str) -> bool:
    """Erase what is kept of a person: session, account, consent, invite and occupation.

    The answers stay, under a number that no device, invite or person leads to any more, so the chain of answers stays valid.

    Returns:
        Whether there was such a rater.
    """
    for table in (SESSIONS, CONSENTS, INVITES, ACCOUNTS):
        connection.execute(delete(table).where(table.c.rater_id == rater_id))
    erased = update(RATERS).where(RATERS.c.rater_id == rater_id).values(occupation=None)
    return connection.execute(erased).rowcount == 1


def token_hash(token: str) -> str:
    """Return what the database keeps of a secret."""
    return hashlib.sha256(token.encode()).hexdigest()
