"""Who may vote: invites, consent, the questionnaire, sessions, and suspension.

A session ends when it was not used for a while, and at a certain age whatever happens (:data:`LIVES`). One without an account
is all that leads to its rater, so it lives long; a person with an account signs in again.

A rater is a random id. Nothing that names a person is asked for or kept: no name, no address, no IP. What is kept beside the
answers is the occupation, if it was given, which text was agreed to and when, and the SHA-256 of the session's secret.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from salon_arena.chain import add_row, bind
from salon_arena.database import ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.tables import ACCOUNTS, CONSENTS, INVITES, RATERS, SESSIONS
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
_SECOND: Final = 1_000_000
_REMEMBERED: Final = 10 * _SECOND
_RENEWED: Final = 300 * _SECOND
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_MOST_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class SessionLife:
    """When a session ends.

    Attributes:
        idle: seconds without a task, an answer or an action.
        whole: seconds since it was made.
    """

    idle: int
    whole: int


LIVES: Final[Mapping[str, SessionLife]] = MappingProxyType(
    {
        "joined": SessionLife(30 * _DAY, 90 * _DAY),
        "account": SessionLife(_HOUR, 12 * _HOUR),
        "admin": SessionLife(_HOUR // 2, 12 * _HOUR),
    }
)
"""Of raters who joined without an account, of those who signed in, and of admins.

OWASP ASVS 5.0 (7.3.1, 7.3.2) asks for a documented time without use and a documented age. Those of accounts and admins are the
12 hours and 30 minutes (an hour for raters, who look at one task for long) that ASVS 4.0 (3.3.2) names for its second level.
"""
LONGEST_LIFE: Final = max(life.whole for life in LIVES.values())
"""Seconds. The cookie is kept so long."""


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
        self._known: dict[str, tuple[int, str]] = {}
        self._renewed: dict[str, int] = {}

    def invite(self, role: str = "rater") -> "Future[str]":
        """Make an invite; the future returns its code, which is not kept."""
        return self._database.write(lambda connection: make_invites(connection, 1, role, self._clock())[0])

    def join(self, *, invite: str | None = None, occupation: str | None = None) -> "Future[Session]":
        """Make a rater who agreed to the consent text, and a session for them.

        The future raises :class:`RefusedError` 403 ``invite`` when an invite is needed or given, and it is unknown or used.
        """
        session = Session(f"rater-{secrets.token_hex(8)}", secrets.token_urlsafe(32))
        self._renewed[token_hash(session.token)] = self._clock()

        def work(connection: Connection) -> Session:
            now = self._clock()
            add_rater(connection, session.rater_id, now, invite=invite, invited=self.invited, occupation=occupation)
            add_session(connection, session, now)
            self._record_consent(connection, session.rater_id, now)
            return session

        return self._database.write(work)

    def agree(self, rater_id: str) -> "Future[None]":
        """Note that a rater agreed to the present consent text."""
        return self._database.write(lambda connection: self._record_consent(connection, rater_id, self._clock()))

    def rater_of(self, token: str) -> str | None:
        """Return the rater of a session; None if it has ended or the present consent text is not agreed to."""
        hashed = token_hash(token)
        rater = self._database.read(lambda connection: self._agreed_rater(connection, hashed))
        if rater is not None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[hashed] = (self._clock() + _REMEMBERED, rater)
        return rater

    def remembered(self, token: str) -> str | None:
        """As :meth:`rater_of`, without asking the database; None where it would have to be asked."""
        known = self._known.get(token_hash(token))
        return known[1] if known is not None and known[0] > self._clock() else None

    def returning(self, token: str) -> str | None:
        """Return the rater of a session, whatever text they agreed to; None if it is unknown or ended."""
        return self._database.read(lambda connection: self._live(connection, token_hash(token)))

    def renew(self, token: str) -> "Future[int] | None":
        """Note that a session is in use; None if that was noted within the last five minutes."""
        hashed, now = token_hash(token), self._clock()
        if now - self._renewed.get(hashed, -_RENEWED) < _RENEWED:
            return None
        if len(self._renewed) >= _MOST_REMEMBERED:
            self._renewed.clear()
        self._renewed[hashed] = now
        used = update(SESSIONS).where(SESSIONS.c.token_hash == hashed).values(used_at=now)
        return self._database.write(lambda connection: connection.execute(used).rowcount)

    def end(self, token: str) -> "Future[int]":
        """End a session; the future returns 0 if there was none."""
        hashed = token_hash(token)
        self._known.pop(hashed, None)
        return self._database.write(lambda c: c.execute(delete(SESSIONS).where(SESSIONS.c.token_hash == hashed)).rowcount)

    def _live(self, connection: Connection, hashed: str) -> str | None:
        row = connection.execute(_SESSION, {"hashed": hashed}).first()
        if row is None:
            return None
        life = LIVES["admin" if row.role == "admin" else "joined" if row.account is None else "account"]
        now = self._clock()
        ended = now - row.created_at >= life.whole * _SECOND or now - row.used_at >= life.idle * _SECOND
        return None if ended else str(row.rater_id)

    def _agreed_rater(self, connection: Connection, hashed: str) -> str | None:
        rater_id = self._live(connection, hashed)
        return rater_id if rater_id is not None and self.has_agreed(connection, rater_id) else None

    def has_agreed(self, connection: Connection, rater_id: str) -> bool:
        """Return whether a rater agreed to the present consent text, and was not forgotten since."""
        return connection.execute(_AGREED, {"rater": rater_id, "text": self.consent_version}).first() is not None

    def _record_consent(self, connection: Connection, rater_id: str, now: int) -> None:
        if not self.has_agreed(connection, rater_id):
            connection.execute(insert(CONSENTS), {"rater_id": rater_id, "version": self.consent_version, "at": now})


_SESSION: Final = (
    select(SESSIONS.c.rater_id, SESSIONS.c.created_at, SESSIONS.c.used_at, RATERS.c.role, ACCOUNTS.c.key.label("account"))
    .join(RATERS, RATERS.c.rater_id == SESSIONS.c.rater_id)
    .outerjoin(ACCOUNTS, ACCOUNTS.c.rater_id == SESSIONS.c.rater_id)
    .where(SESSIONS.c.token_hash == bindparam("hashed"))
)


_AGREED: Final = select(CONSENTS.c.at).where(
    (CONSENTS.c.rater_id == bindparam("rater")) & (CONSENTS.c.version == bindparam("text"))
)


def add_session(connection: Connection, session: Session, now: int) -> None:
    """Add a session, and erase those that have ended at their age."""
    connection.execute(delete(SESSIONS).where(SESSIONS.c.created_at <= now - LONGEST_LIFE * _SECOND))
    row = {"token_hash": token_hash(session.token), "rater_id": session.rater_id, "created_at": now, "used_at": now}
    connection.execute(insert(SESSIONS), row)


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
    add_row(connection, RATERS, {"rater_id": rater_id, "created_at": now, "role": role, "occupation": occupation})
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
    """Return the rater's row."""
    return Rater(*connection.execute(_RATER, {"rater": rater_id}).one())


def suspend(connection: Connection, rater_ids: Sequence[str], until: int) -> int:
    """Let raters get no further tasks before ``until`` (microseconds since 1970; 0: at once again); returns how many."""
    bind(connection, RATERS, *rater_ids)
    return connection.execute(update(RATERS).where(RATERS.c.rater_id.in_(rater_ids)).values(suspended_until=until)).rowcount


def forget(connection: Connection, rater_id: str) -> bool:
    """Erase what is kept of a person: session, account, consent, invite and occupation.

    The answers stay, under a number that no device, invite or person leads to any more, so the chain of answers stays valid.

    Returns:
        Whether there was such a rater.
    """
    for table in (SESSIONS, CONSENTS, INVITES, ACCOUNTS):
        connection.execute(delete(table).where(table.c.rater_id == rater_id))
    bind(connection, RATERS, rater_id)
    erased = update(RATERS).where(RATERS.c.rater_id == rater_id).values(occupation=None, salt=secrets.token_hex(16))
    return connection.execute(erased).rowcount == 1


def token_hash(token: str) -> str:
    """Return what the database keeps of a secret."""
    return hashlib.sha256(token.encode()).hexdigest()
