"""Quality of raters: qualification, re-certification, audits, and the checks that run while people vote.

Qualification (MEF, section 5.1.2): at least 85% agreement with the panel and Cohen's κ above 0.8. Audits: a quarter of each
expert's battles is judged again by an auditor. The checks are those of ``salon votes raters``, with its thresholds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Any, Final

import polars as pl
from sqlalchemy import Connection, delete, func, insert, select

from salon_arena.chain import bind
from salon_arena.database import ArenaDatabase
from salon_arena.draws import PlanDraws
from salon_arena.people import suspend
from salon_arena.tables import ANSWERS, ASSIGNMENTS, CERTIFICATES, FLAGS, RATERS, SETTLED, SETTLED_ANSWERS, payload_value
from salon_arena.tasks import Draft, instant, seen_among
from salon_ranking.agreement import UndefinedError, cohen_kappa
from salon_ranking.raters import RaterPolicy, audit_sample, check_raters
from salon_ranking.uncertainty.proportions import wilson_interval
from salon_taxonomy.records import Side, Winner

DAY: Final = 86_400_000_000
"""Microseconds."""
AUDIT_SHARE: Final = 0.25
"""MEF, section 5.1.2."""
AUDITS_WANTED: Final = 8
"""Fewer audits of one expert decide nothing."""
POLICY: Final = RaterPolicy()
_SEED_BITS: Final = 63
_TIES: Final = (Winner.BOTH_GOOD, Winner.BOTH_BAD)


# Qualification


def rounds(connection: Connection, rater_id: str) -> int:
    """Return how many qualification tests the expert has finished."""
    mine = CERTIFICATES.c.rater_id == rater_id
    return connection.execute(select(func.count()).select_from(CERTIFICATES).where(mine)).scalar_one()


def tested(connection: Connection, rater_id: str) -> int:
    """Return how many pairs of the present test the expert has answered, or cannot be shown."""
    number = rounds(connection, rater_id) + 1
    return len(_test_answers(connection, rater_id, number)) + _void(connection, rater_id, number)


def certified(connection: Connection, rater_id: str, now: int, days: float) -> bool:
    """Return whether the expert's last test was passed less than ``days`` ago."""
    last = (
        select(CERTIFICATES.c.passed, CERTIFICATES.c.at)
        .where(CERTIFICATES.c.rater_id == rater_id)
        .order_by(CERTIFICATES.c.round.desc())
    )
    row = connection.execute(last.limit(1)).first()
    return row is not None and row.passed and row.at > now - days * DAY


def certify(connection: Connection, rater_id: str, wanted: int, now: int, suspended_days: float) -> None:
    """Write the certificate when the last pair of a test was answered; who fails is suspended, and then tested again.

    Pairs whose files cannot be shown are left out of the test.
    """
    number = rounds(connection, rater_id) + 1
    answers = _test_answers(connection, rater_id, number)
    if not answers or len(answers) + _void(connection, rater_id, number) < wanted:
        return
    answered, expected = zip(*answers, strict=True)
    agreement = sum(one == other for one, other in answers) / len(answers)
    try:
        kappa = cohen_kappa(list(answered), list(expected))
    except UndefinedError:
        kappa = None
    passed = agreement >= POLICY.qualification_share and kappa is not None and kappa > POLICY.qualification_kappa
    row = {"rater_id": rater_id, "round": number, "at": now, "agreement": agreement, "kappa": kappa, "passed": passed}
    connection.execute(insert(CERTIFICATES), row)
    if not passed:
        suspend(connection, [rater_id], now + int(suspended_days * DAY))


def _void(connection: Connection, rater_id: str, number: int) -> int:
    """Return how many pairs of a round could not be shown to the expert."""
    this = (ASSIGNMENTS.c.rater_id == rater_id) & (ASSIGNMENTS.c.kind == "qualification") & (ASSIGNMENTS.c.state == "void")
    query = select(func.count()).where(this & ASSIGNMENTS.c.subject.startswith(_round(number), autoescape=True))
    return connection.execute(query).scalar_one()


def _round(number: int) -> str:
    """Return how the subjects of a round begin."""
    return f"qualification\x1f{number}\x1f"


def _test_answers(connection: Connection, rater_id: str, number: int) -> list[tuple[str, str]]:
    """Given and expected outcome of each answered pair of a round, as first, second, or a kind of tie."""
    query = (
        select(SETTLED.c.winner, ASSIGNMENTS.c.payload)
        .join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == SETTLED.c.assignment_id)
        .where((SETTLED.c.rater_id == rater_id) & (SETTLED.c.kind == "qualification"))
        .where(ASSIGNMENTS.c.subject.startswith(_round(number), autoescape=True))
    )
    rows = [(winner, json.loads(text)) for winner, text in connection.execute(query)]
    return [(_met(winner, payload["expected"], payload), _named(payload["expected"], payload)) for winner, payload in rows]


def _met(winner: str, expected: str, payload: dict[str, Any]) -> str:
    """Return the named outcome; where ``tie`` is expected, both kinds of tie are that, as for anchors."""
    return expected if expected == Winner.TIE and winner in _TIES else _named(winner, payload)


def _named(winner: str, payload: dict[str, Any]) -> str:
    """Return the outcome with the winner's name, so that it does not matter who was called A; ties keep their kind."""
    return {"model_a": f"\x1f{payload['model_a']}", "model_b": f"\x1f{payload['model_b']}"}.get(winner, winner)


# Audits


def audits(
    connection: Connection, auditor: str, missing: int, draws: PlanDraws, suspended_days: float, now: int
) -> list[Draft]:
    """Return battles of the audit sample that are not being audited and are new to this auditor, sides at random."""
    query = select(SETTLED.c.assignment_id, SETTLED.c.rater_id).where(SETTLED.c.kind == "battle").order_by(SETTLED.c.number)
    rows = list(connection.execute(query))
    if not rows:
        return []
    frame = pl.DataFrame({"battle_id": [row[0] for row in rows], "rater_id": [row[1] for row in rows]})
    drawn = audit_sample(frame, share=AUDIT_SHARE, seed=draws.order("audits").getrandbits(_SEED_BITS))
    random = draws.new()
    audited = set(connection.execute(_audited(now)).scalars())
    drafts: list[Draft] = []
    for assignment_id, rater_id in drawn.iter_rows():
        if assignment_id in audited or rater_id == auditor:
            continue
        this = select(ASSIGNMENTS.c.subject, ASSIGNMENTS.c.payload).where(ASSIGNMENTS.c.assignment_id == assignment_id)
        row = connection.execute(this).one()
        if row.subject in {draft.subject for draft in drafts} or seen_among(connection, auditor, [row.subject]):
            continue
        payload = json.loads(row.payload)
        turned = _mirrored(payload) if random.random() < 0.5 else payload
        more = {"audits": assignment_id, "audited_rater": rater_id, "suspended_days": suspended_days}
        drafts.append(Draft("audit", row.subject, {**turned, **more}))
        if len(drafts) == missing:
            break
    return drafts


def _audited(now: int) -> Any:
    """Return battles that were audited, or that an auditor holds at the time ``now``."""
    live = ASSIGNMENTS.c.state.in_(["answered", "settled"]) | (
        (ASSIGNMENTS.c.state == "open") & (ASSIGNMENTS.c.lease_until > now)
    )
    return select(payload_value("audits")).where((ASSIGNMENTS.c.kind == "audit") & live)


def _mirrored(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the same battle with its sides exchanged.

    Example:
        >>> _mirrored({"side_a_shown": "left", "files": [1, 2]})
        {'side_a_shown': 'right', 'files': [2, 1]}
        >>> _mirrored({"side_a_shown": "right", "files": [1, 2, "source"]})["files"]
        [2, 1, 'source']
    """
    other = Side.RIGHT if payload["side_a_shown"] == Side.LEFT.value else Side.LEFT
    left, right, *beside = payload["files"]
    return {**payload, "side_a_shown": other.value, "files": [right, left, *beside]}


def audit_agreement(connection: Connection, after: Mapping[str, int] | None = None) -> dict[str, tuple[int, int]]:
    """Return how many battles of each expert were audited, and in how many the auditor agreed.

    Of several auditors of a battle, the first who answered counts.

    Args:
        connection: of the arena's database.
        after: by expert, only battles that became final later than this; all where it names no time.
    """
    again, first = SETTLED.alias("again"), SETTLED.alias("first")
    query = (
        select(first.c.number, first.c.rater_id, first.c.settled_at, again.c.winner == first.c.winner)
        .join_from(again, ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == again.c.assignment_id)
        .join(first, first.c.assignment_id == payload_value("audits"))
        .where(again.c.kind == "audit")
        .order_by(again.c.number)
    )
    met_of: dict[str, tuple[int, int]] = {}
    judged = set()
    for number, rater_id, at, same in connection.execute(query):
        if number not in judged and at > (after or {}).get(rater_id, -1):
            judged.add(number)
            count, met = met_of.get(rater_id, (0, 0))
            met_of[rater_id] = (count + 1, met + same)
    return met_of


def judge_audits(connection: Connection, rater_id: str, now: int, suspended_days: float) -> None:
    """Suspend an expert when even the upper end of the Wilson interval of audited agreement is below the anchors' share.

    The certificate ends with it: after the suspension comes a new test, and battles from before it count no more.
    """
    last = select(func.max(CERTIFICATES.c.at)).where(CERTIFICATES.c.rater_id == rater_id)
    since = connection.execute(last).scalar_one()
    count, met = audit_agreement(connection, {} if since is None else {rater_id: since}).get(rater_id, (0, 0))
    if count < AUDITS_WANTED:
        return
    _, high = wilson_interval(pl.Series([met]), pl.Series([count]), POLICY.confidence)
    if high[0] < POLICY.anchor_share:
        suspend(connection, [rater_id], now + int(suspended_days * DAY))
        row = {"rater_id": rater_id, "round": rounds(connection, rater_id) + 1, "at": now, "agreement": met / count}
        connection.execute(insert(CERTIFICATES), {**row, "kappa": None, "passed": False})


# Checks of all raters


class LiveChecks:
    """Runs the checks of ``salon votes raters`` on all settled votes, and keeps the flags in the database.

    Args:
        database: the arena's.
        changed: called after flags were written.
    """

    def __init__(self, database: ArenaDatabase, changed: Callable[[], None]) -> None:
        self._database = database
        self._changed = changed
        self._lock = Lock()
        self._last = 0
        self._frame = pl.DataFrame()

    def run(self) -> int:
        """Check all raters if there are new votes; returns how many are flagged."""
        with self._lock:
            rows = self._database.read(lambda connection: _votes_after(connection, self._last))
            if rows:
                new = pl.DataFrame([row for _, row in rows], schema_overrides=_TYPES, infer_schema_length=None)
                frame = pl.concat([self._frame, new]) if self._frame.height else new
                report = check_raters(frame, POLICY)
                findings = [{**row, "explanation": row["explanation"] or ""} for row in report.findings.to_dicts()]
                self._database.write(lambda connection: _write_flags(connection, findings)).result()
                self._last, self._frame = rows[-1][0], frame  # if the database refused, the same votes are checked again
                self._changed()
        return self._database.read(lambda connection: len(flagged(connection)))


_TYPES: Final = {"expected_winner": pl.String, "generation_a": pl.String, "generation_b": pl.String, "prompt_id": pl.String}


def flagged(connection: Connection) -> set[str]:
    """Return ids of the raters whose votes boards leave out."""
    return set(connection.execute(select(FLAGS.c.rater_id)).scalars())


@dataclass(frozen=True, slots=True)
class Person:
    """What is known of one rater.

    Attributes:
        rater_id: random.
        role: of :data:`salon_arena.people.ROLES`.
        settled: final answers.
        test: the last qualification test, in words; empty without one.
        audited: battles that an auditor judged again; ``met``: with the same answer.
        suspended: the day until which no tasks are given; empty for none.
        flags: the reasons of the checks, with their explanations.
    """

    rater_id: str
    role: str
    settled: int
    test: str
    audited: int
    met: int
    suspended: str
    flags: Mapping[str, str]

    @property
    def line(self) -> str:
        """The same on one line."""
        parts = [f"{self.rater_id}: {self.role}, {self.settled:,} settled"]
        parts += [self.test] if self.test else []
        parts += [f"{self.met} of {self.audited} audits agree"] if self.audited else []
        parts += [f"suspended until {self.suspended}"] if self.suspended else []
        parts += [f"flagged: {', '.join(self.flags)}"] if self.flags else []
        return "; ".join(parts)


def overview(connection: Connection, now: int) -> list[Person]:
    """Return every rater, in the order of joining: answers, last test, audits, suspension at the time ``now``, flags."""
    counts = select(SETTLED.c.rater_id, func.count()).group_by(SETTLED.c.rater_id)
    answered: dict[str, int] = dict(connection.execute(counts).all())
    reasons: dict[str, dict[str, str]] = {}
    for rater_id, reason, explanation in connection.execute(select(FLAGS.c.rater_id, FLAGS.c.reason, FLAGS.c.explanation)):
        reasons.setdefault(rater_id, {})[reason] = explanation
    tests = connection.execute(select(CERTIFICATES).order_by(CERTIFICATES.c.round))
    last = {row.rater_id: row for row in tests}
    audits = audit_agreement(connection)
    people = []
    for row in connection.execute(select(RATERS).order_by(RATERS.c.created_at, RATERS.c.rater_id)):
        test = last.get(row.rater_id)
        words = f"{'passed' if test.passed else 'failed'} test {test.round} with {test.agreement:.0%}" if test else ""
        audited, met = audits.get(row.rater_id, (0, 0))
        until = f"{instant(row.suspended_until):%Y-%m-%d}" if row.suspended_until > now else ""
        about = (row.rater_id, row.role, answered.get(row.rater_id, 0), words, audited, met, until)
        people.append(Person(*about, reasons.get(row.rater_id, {})))
    return people


def recertify(connection: Connection, rater_id: str, now: int) -> None:
    """Let an expert be tested again before the next battle, and end a suspension."""
    last = select(CERTIFICATES.c.agreement).where(CERTIFICATES.c.rater_id == rater_id).order_by(CERTIFICATES.c.round.desc())
    agreement = connection.execute(last.limit(1)).scalar_one_or_none() or 0.0
    row = {"rater_id": rater_id, "round": rounds(connection, rater_id) + 1, "at": now, "agreement": agreement}
    connection.execute(insert(CERTIFICATES), {**row, "kappa": None, "passed": False})
    suspend(connection, [rater_id], 0)


def _write_flags(connection: Connection, findings: list[dict[str, Any]]) -> None:
    """Write the flags that changed."""
    before = {(row.rater_id, row.reason): dict(row._mapping) for row in connection.execute(select(FLAGS))}
    after = {(row["rater_id"], row["reason"]): row for row in findings}
    changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    for rater_id, reason in changed:
        connection.execute(delete(FLAGS).where((FLAGS.c.rater_id == rater_id) & (FLAGS.c.reason == reason)))
    if new := [after[key] for key in changed if key in after]:
        connection.execute(insert(FLAGS), new)
    bind(connection, FLAGS, *changed)


def _votes_after(connection: Connection, last: int) -> list[tuple[int, dict[str, Any]]]:
    """Return settled battles and anchors with the columns that the checks read."""
    query = (
        select(SETTLED.c.number, SETTLED.c.rater_id, SETTLED.c.kind, SETTLED.c.winner, ASSIGNMENTS.c.payload)
        .add_columns(ASSIGNMENTS.c.digests, ANSWERS.c.elapsed_ms, ANSWERS.c.received_at)
        .select_from(SETTLED_ANSWERS)
        .where((SETTLED.c.number > last) & SETTLED.c.kind.in_(["battle", "anchor"]))
        .order_by(SETTLED.c.number)
    )
    votes = []
    for row in connection.execute(query):
        payload = json.loads(row.payload)
        answered = instant(row.received_at)
        pictures = [f"{file['model']}\x1f{file['sample']}" if row.digests else None for file in payload["files"][:2]]
        a, b = pictures if payload["side_a_shown"] == Side.LEFT.value else reversed(pictures)
        vote = {name: payload[name] for name in ("prompt_id", "model_a", "model_b", "side_a_shown")}
        vote |= {"rater_id": row.rater_id, "winner": row.winner, "generation_a": a, "generation_b": b}
        vote |= {"is_anchor": row.kind == "anchor", "expected_winner": payload.get("expected")}
        vote |= {"started_at": answered - timedelta(milliseconds=row.elapsed_ms), "answered_at": answered}
        votes.append((row.number, vote))
    return votes
