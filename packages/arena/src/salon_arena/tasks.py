"""Define what every kind of task has in common: its choice for a rater, its page, its answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, select

from salon_arena.tables import ASSIGNMENTS
from salon_judges.formats.generations import Generated
from salon_taxonomy.records import Prompt
from salon_taxonomy.visible_text import visible

if TYPE_CHECKING:
    from salon_arena.board import LiveBoard
    from salon_arena.draws import PlanDraws

T = TypeVar("T")

Payload = Mapping[str, Any]
"""What was shown, as JSON: prompt, files, and whatever the kind of task needs to read its answer later."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A person who answers.

    Attributes:
        rater_id: random; nothing about the person.
        role: of :data:`salon_arena.people.ROLES`.
        suspended_until: microseconds since 1970; 0 for a rater who may answer.
    """

    rater_id: str
    role: str
    suspended_until: int


@dataclass(frozen=True, slots=True)
class Draft:
    """One task that is about to be leased to a rater.

    Attributes:
        kind: ``battle``, ``anchor``, ``qualification`` or ``audit`` (:mod:`salon_arena.battles`), or one of the kinds of
            :mod:`salon_arena.rounds`.
        subject: what is judged; no rater gets one twice.
        payload: see :data:`Payload`.
    """

    kind: str
    subject: str
    payload: Payload


class Task(Protocol):
    """One kind of work. Its methods run on the writer thread, within a transaction."""

    page: str
    """The page's template."""
    work: str
    """What a database of it is called; it holds nothing else."""

    @property
    def board(self) -> "LiveBoard | None":
        """What the answers add up to; None for work without a board."""
        ...

    def begin(self, draws: "PlanDraws") -> None:
        """Make the plan; called once, before anything is dealt."""
        ...

    def standing(self, connection: Connection, rater: Rater, now: int) -> dict[str, Any]:
        """Return what the page says beyond votes; ``state`` is ``work`` or the reason why there are no tasks."""
        ...

    def draw(self, connection: Connection, rater: Rater, missing: int, now: int) -> list[Draft]:
        """At most ``missing`` tasks that this rater has not had."""
        ...

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return what the page learns beyond prompt and media. Contains nothing about models."""
        ...

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return the text of an answer as it is stored.

        Raises:
            RefusedError: 422 for an answer that does not fit the task.
        """
        ...


def prompt_payload(prompt: Prompt, files: Sequence[Generated]) -> dict[str, Any]:
    """Return the part of a payload that all tasks have."""
    return {
        "prompt_id": prompt.prompt_id,
        "prompt": prompt.text,
        "language": prompt.language,
        "scenario": prompt.scenario,
        "labels": list(prompt.labels),
        "files": [
            {"model": file.model, "sample": file.sample, "path": str(file.path.absolute()), "root": str(file.root.absolute())}
            for file in files
        ],
    }


def files_of(payload: Payload) -> list[Generated]:
    """Return the files of a task, in the order in which they are shown."""
    return [
        Generated(payload["prompt_id"], file["model"], file["sample"], Path(file["path"]), Path(file["root"]))
        for file in payload["files"]
    ]


def prompt_shown(payload: Payload) -> dict[str, str]:
    """Return the prompt as the page gets it: control and direction characters made visible."""
    return {"prompt": visible(payload["prompt"], prose=True), "language": payload["language"] or ""}


_TRIED: Final = 64
_SEEN: Final = select(ASSIGNMENTS.c.subject).where(
    (ASSIGNMENTS.c.rater_id == bindparam("rater")) & ASSIGNMENTS.c.subject.in_(bindparam("subjects", expanding=True))
)


def seen_among(connection: Connection, rater_id: str, subjects: Sequence[str]) -> set[str]:
    """Return those of ``subjects`` that the rater had before."""
    return set(connection.execute(_SEEN, {"rater": rater_id, "subjects": list(subjects)}).scalars())


def unseen(connection: Connection, rater_id: str, wanted: Iterable[T], subject: Callable[[T], str], missing: int) -> list[T]:
    """Return the first ``missing`` of ``wanted`` whose subjects the rater did not have before.

    Args:
        connection: of the arena's database.
        rater_id: the rater.
        wanted: items in the order in which they are dealt; read no further than needed.
        subject: returns the subject of an item.
        missing: the most items to return; 0 or more.
    """
    fresh: list[T] = []
    candidates = iter(wanted)
    while len(fresh) < missing and (some := list(islice(candidates, _TRIED))):
        seen = seen_among(connection, rater_id, [subject(item) for item in some])
        fresh += [item for item in some if subject(item) not in seen]
    return fresh[:missing]


def instant(microseconds: int) -> datetime:
    """Return a time of the database, exactly.

    Example:
        >>> instant(1_500_000).isoformat()
        '1970-01-01T00:00:01.500000+00:00'
    """
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC) + timedelta(microseconds=microseconds % 1_000_000)
