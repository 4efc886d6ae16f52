"""Deal items that several people judge in rounds: raters first, then auditors, and an adjudicator where they differ.

| task | rater | auditor | adjudicator |
| --- | --- | --- | --- |
| labels | ``label`` | ``verify`` | ``adjudicate`` |
| questions | ``question`` | ``verify`` | ``adjudicate`` |
| verdicts | ``verdict`` | | ``adjudicate`` |
| prompts | ``write`` | ``inspect`` | |
| opinion scores | ``panel`` | | |
| rankings | ``ranking`` | | |
| checks | ``check`` | | |
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, event, func, select

from salon_arena.draws import PlanDraws
from salon_arena.errors import RefusedError
from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTLED, SETTLED_ANSWERS
from salon_arena.tasks import Draft, Payload, Rater, unseen

if TYPE_CHECKING:
    from salon_arena.board import LiveBoard

ADJUDICATE: Final = "adjudicate"
ROUND: Final = 3
MORE: Final = 2
VERIFIERS: Final = 2
Level = Literal["L1", "L2", "L3"]
"""How hard a file or a question is (Artifact-Bench, section 3.3)."""
_SEPARATOR: Final = "\x1f"
_LEASED: Final = (ASSIGNMENTS.c.state == "open") & (ASSIGNMENTS.c.lease_until > bindparam("now"))
_PENDING: Final = (
    select(ASSIGNMENTS.c.kind, ASSIGNMENTS.c.subject, func.count())
    .where(ASSIGNMENTS.c.kind == bindparam("kind"))
    .where((ASSIGNMENTS.c.state == "answered") | _LEASED)
    .group_by(ASSIGNMENTS.c.kind, ASSIGNMENTS.c.subject)
)
_SETTLED: Final = (
    select(SETTLED.c.number, SETTLED.c.kind, SETTLED.c.rater_id, ASSIGNMENTS.c.subject, ANSWERS.c.choice)
    .select_from(SETTLED_ANSWERS)
    .where((SETTLED.c.number > bindparam("last")) & SETTLED.c.kind.in_(bindparam("kinds", expanding=True)))
    .order_by(SETTLED.c.number)
)


@dataclass
class RatedItem(ABC):
    """What people have said of one item: stored answers, oldest first.

    Attributes:
        said: of raters.
        verdicts: of auditors.
        final: of the adjudicator; empty before.
        raters: who gave each answer of ``said``.
    """

    said: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    final: list[str] = field(default_factory=list)
    raters: list[str] = field(default_factory=list)

    def of(self, role: str) -> list[str]:
        """Return the answers of a role."""
        return {"auditor": self.verdicts, "adjudicator": self.final}.get(role, self.said)

    @abstractmethod
    def wanted(self, role: str) -> int:
        """Return how many answers of a role the item needs, as far as is known."""

    @property
    @abstractmethod
    def state(self) -> str:
        """How far the item is, in one word."""


@dataclass
class VotedItem(RatedItem):
    """An item whose raters choose some of several values, and where it is wanted a level (Artifact-Bench, section 3.3).

    Three raters; two more where they differ, and most of the five decide; two auditors; an adjudicator where people end
    in dispute.
    """

    @abstractmethod
    def values(self, choice: str) -> frozenset[str]:
        """Return the values of a stored answer."""

    @property
    def agreed(self) -> frozenset[str] | None:
        """The values that hold; None while people have yet to settle them."""
        if self.final:
            return self.values(self.final[0])
        votes = [(self.values(choice), level_of(choice)) for choice in self._counted]
        if len(votes) >= ROUND and len(set(votes[:ROUND])) == 1:
            return votes[0][0]
        if len(votes) < ROUND + MORE:
            return None
        counts = Counter(value for values, _ in votes for value in values)
        held = frozenset(value for value, count in counts.items() if count > len(votes) / 2)
        chosen = sum(bool(values) for values, _ in votes) > len(votes) / 2
        return None if (chosen and not held) or (self.level is None and votes[0][1] is not None) else held

    @property
    def level(self) -> str | None:
        """The level that most gave, or the adjudicator."""
        return level_of(self.final[0]) if self.final else most([level_of(choice) for choice in self._counted])

    @property
    def _counted(self) -> list[str]:
        """The answers that decide; one to a lease that ran out may come later, and changes nothing that was agreed."""
        return self.said[: ROUND + MORE]

    @property
    def rejected(self) -> bool:
        """Whether an auditor rejected what was agreed."""
        return not all(json.loads(verdict)["accept"] for verdict in self.verdicts[:VERIFIERS])

    def wanted(self, role: str) -> int:
        """Return how many: three raters, or five; two auditors once values are agreed; an adjudicator after a dispute."""
        if role == "auditor":
            return VERIFIERS if self.agreed is not None and not self.final else 0
        if role == "adjudicator":
            disputed = self.agreed is None and len(self.said) >= ROUND + MORE
            return int(disputed or bool(self.final) or self.rejected)
        return ROUND if len(self.said) < ROUND or self.agreed is not None else ROUND + MORE

    @property
    def state(self) -> str:
        """``open``, ``disputed``, ``agreed``, ``accepted`` or ``rejected``."""
        if self.final:
            return "accepted"
        if self.agreed is None:
            return "disputed" if len(self.said) >= ROUND else "open"
        if self.rejected:
            return "rejected"
        return "agreed" if len(self.verdicts) < VERIFIERS else "accepted"


I = TypeVar("I", bound=RatedItem)  # noqa: E741 - of one letter, as all type variables


class RoundsTask(ABC, Generic[I]):
    """Deals items by role. Its methods run on the writer thread; sub-classes say what an item is and how it is shown.

    It has no board: answers are summarised from the result store, and by ``salon arena progress``.

    Args:
        subjects: what is judged.
        new: makes an item without answers.
        kinds: the kind of task of each role that has any.
    """

    def __init__(self, subjects: Collection[str], new: Callable[[], I], kinds: Mapping[str, str]) -> None:
        self._subjects = subjects
        self._new = new
        self._kinds = kinds

    def begin(self, draws: PlanDraws) -> None:
        """Draw the order in which items are dealt."""
        self._draws = draws
        self._order = draws.order(self._kinds["rater"]).sample(list(self._subjects), len(self._subjects))
        self._start()

    @property
    def board(self) -> "LiveBoard | None":
        """None."""
        return None

    def standing(self, connection: Connection, rater: Rater, now: int) -> dict[str, Any]:
        """Always ``work``: anybody may go on at any time."""
        return {"state": "work"}

    def _start(self) -> None:
        """Begin without answers."""
        self._last = 0
        self._items = self.fresh()
        self._open: dict[str, dict[str, None]] = {role: {} for role in self._kinds}
        self._disputed: dict[str, None] = {}
        self._note(self._items)

    def _note(self, subjects: Iterable[str]) -> None:
        """Keep, of the items of these subjects, which role they need an answer of and whether they are disputed."""
        for subject in subjects:
            state = self._items[subject]
            for role, wanting in self._open.items():
                _set(wanting, subject, len(state.of(role)) < state.wanted(role))
            _set(self._disputed, subject, state.state == "disputed")

    def draw(self, connection: Connection, rater: Rater, missing: int, now: int) -> list[Draft]:
        """Return items that need a further answer of the rater's role, disputed ones first."""
        kind = self._kinds.get(rater.role)
        if kind is None:
            return []
        if not event.contains(connection, "rollback", self._forget):
            event.listen(connection, "rollback", self._forget)
        self._last, changed = fold(connection, self._items, self._kinds, self._last)
        self._note({*changed, *self.refresh(changed)})
        pending = {row[1]: row[2] for row in connection.execute(_PENDING, {"now": now, "kind": kind})}
        new = unseen(connection, rater.rater_id, self._wanted(rater, kind, pending), lambda wanted: wanted[0], missing)
        return [Draft(kind, key, self.payload(subject, self._items[subject], kind)) for key, subject in new]

    def _wanted(self, rater: Rater, kind: str, pending: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Yield the task's and the item's subject of what needs a further answer, disputed items first."""
        role = rater.role
        wanting = self._open[role]
        first = [subject for subject in self._disputed if subject in wanting]
        rest = (subject for subject in wanting if subject not in self._disputed)
        for subject in chain(first, rest):
            state, key = self._items[subject], subject_of(kind, subject, role)
            if len(state.of(role)) + pending.get(key, 0) < state.wanted(role) and rater.rater_id not in state.raters:
                yield key, subject

    def _forget(self, _: Connection) -> None:
        """Read all answers again: some of those that were read are not in the database, as their transaction was undone."""
        self._start()

    def fresh(self) -> dict[str, I]:
        """Return every item, empty, in the order in which items are dealt."""
        return {subject: self._new() for subject in self._order}

    def refresh(self, changed: Set[str]) -> Iterable[str]:
        """Called with the subjects whose answers were read; adds items, and returns their subjects."""
        return ()

    @abstractmethod
    def payload(self, subject: str, item: I, kind: str) -> Payload:
        """Return what is pinned when the task is leased."""


def subject_of(kind: str, subject: str, role: str) -> str:
    """Return the subject of a task: that of the item for raters, with the kind before it for other roles.

    Example:
        >>> subject_of("label", "x", "rater"), subject_of("verify", "x", "auditor")
        ('x', 'verify\\x1fx')
    """
    return subject if role == "rater" else f"{kind}{_SEPARATOR}{subject}"


def fold(connection: Connection, states: Mapping[str, I], kinds: Mapping[str, str], last: int = 0) -> tuple[int, set[str]]:
    """Add the answers settled after number ``last`` to their items; returns the last number, and the items' subjects."""
    roles = {kind: role for role, kind in kinds.items()}
    changed = set()
    for number, kind, rater_id, subject, choice in connection.execute(_SETTLED, {"last": last, "kinds": list(roles)}):
        last = number
        role = roles[kind]
        about = subject if role == "rater" else subject.removeprefix(f"{kind}{_SEPARATOR}")
        state = states.get(about)
        if state is not None:  # None: no longer among the items
            changed.add(about)
            state.of(role).append(choice)
            if role == "rater":
                state.raters.append(rater_id)
    return last, changed


def _set(members: dict[str, None], member: str, belongs: bool) -> None:
    """Add or take out a member of an ordered set."""
    if belongs:
        members.setdefault(member)
    else:
        members.pop(member, None)


class Growing(dict[str, I]):
    """Items by subject; ``get`` makes the one that is missing.

    Args:
        new: makes an empty item.
        states: to begin with.
    """

    def __init__(self, new: Callable[[], I], states: Mapping[str, I] | None = None) -> None:
        super().__init__(states or {})
        self._new = new

    def get(self, subject: str, default: Any = None) -> Any:
        """Return the item of a subject; made if missing."""
        return self.setdefault(subject, self._new())


def accepts(choice: JsonValue) -> bool:
    """Read the answer of an auditor.

    Raises:
        RefusedError: 422 for anything but ``{"accept": true}`` or false.
    """
    if choice not in ({"accept": True}, {"accept": False}) or type(choice["accept"]) is not bool:
        raise RefusedError(422, "bad_answer")
    return choice["accept"]


def level_of(choice: str) -> str | None:
    """Return the level of a stored answer; None where none was asked for.

    Example:
        >>> level_of('{"marks": [], "level": "L2"}')
        'L2'
    """
    level: str | None = json.loads(choice).get("level")
    return level


def states(connection: Connection, new: Callable[[], I], kinds: Mapping[str, str]) -> dict[str, I]:
    """Return what people have said of each item that has a settled answer of a rater, by subject."""
    growing = Growing(new)
    fold(connection, growing, kinds)
    return {subject: item for subject, item in growing.items() if item.said}  # auditors' kinds are those of other work, too


def counted(rated_items: Iterable[RatedItem]) -> list[str]:
    """Return how many items are in each state, a line each."""
    counts: dict[str, int] = {}
    for rated in rated_items:
        counts[rated.state] = counts.get(rated.state, 0) + 1
    return [f"{count:,} {state}" for state, count in sorted(counts.items())]


def most(values: Sequence[Any]) -> Any | None:
    """Return the value that more than half have, or None.

    Example:
        >>> most([1, 1, 2]), most([1, 2])
        (1, None)
    """
    return next((value for value in values if values.count(value) * 2 > len(values)), None)
