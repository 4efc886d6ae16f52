"""Deal files to be labelled with a taxonomy, and what raters agree on to be verified.

    three raters ── all agree ──────────────► agreed ── two auditors accept ──► accepted
         └──────── differ ── two more ── labels of most ──┘        └── one rejects ──► rejected

The rounds are Artifact-Bench's (section 3.3); the guidelines of the page are MagicMirror's (appendix A.2).
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from sqlalchemy import Connection, bindparam, func, select

from salon_arena.board import LiveBoard
from salon_arena.database import ANSWERS, ASSIGNMENTS, SETTLED
from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.tasks import Draft, Payload, Rater, prompt_payload, seen_among
from salon_bench.suites.contract.generations import Generated
from salon_ranking.agreement import UndefinedError, fleiss_kappa
from salon_taxonomy.taxonomy import Taxonomy

ROUND: Final = 3
MORE: Final = 2
VERIFIERS: Final = 2
MOST_LABELS: Final = 2
"""MagicMirror: only the two most obvious issues."""
NORMAL: Final = "normal"
_TRIED: Final = 64
_LEASED: Final = (ASSIGNMENTS.c.state == "open") & (ASSIGNMENTS.c.lease_until > bindparam("now"))
_PENDING: Final = (
    select(ASSIGNMENTS.c.subject, func.count())
    .where(ASSIGNMENTS.c.kind.in_(["label", "verify"]) & ((ASSIGNMENTS.c.state == "answered") | _LEASED))
    .group_by(ASSIGNMENTS.c.subject)
)
_SETTLED: Final = (
    select(SETTLED.c.number, SETTLED.c.kind, ASSIGNMENTS.c.subject, ANSWERS.c.choice)
    .join(ASSIGNMENTS, ASSIGNMENTS.c.assignment_id == SETTLED.c.assignment_id)
    .join(ANSWERS, ANSWERS.c.answer_id == SETTLED.c.answer_id)
    .where((SETTLED.c.number > bindparam("last")) & SETTLED.c.kind.in_(["label", "verify"]))
    .order_by(SETTLED.c.number)
)
Box = tuple[float, float, float, float]


class Mark(BaseModel):
    """One label of a file.

    Attributes:
        label: its id in the taxonomy.
        where: the place and the nature of the fault, in words.
        boxes: left, top, right, bottom, as shares of the picture, each from 0 to 1.
        frames: of a video, the first and the last frame that show it; None: all, or a picture.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(max_length=200)
    where: str = Field(default="", max_length=500)
    boxes: tuple[Box, ...] = Field(default=(), max_length=20)
    frames: tuple[int, int] | None = None


class Labelled(BaseModel):
    """The answer of a rater: the labels that apply; none: the file is normal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    marks: tuple[Mark, ...] = Field(max_length=20)


@dataclass
class _Item:
    """What people have said of one file."""

    answers: list[frozenset[str]] = field(default_factory=list)
    verdicts: list[bool] = field(default_factory=list)

    @property
    def agreed(self) -> frozenset[str] | None:
        """The labels that hold; None while more raters are needed."""
        if len(self.answers) >= ROUND and len(set(self.answers[:ROUND])) == 1:
            return self.answers[0]
        if len(self.answers) < ROUND + MORE:
            return None
        counts = Counter(label for answer in self.answers for label in answer)
        return frozenset(label for label, count in counts.items() if count > len(self.answers) / 2)

    @property
    def wanted(self) -> int:
        """How many raters it needs as far as is known."""
        return ROUND if len(self.answers) < ROUND or self.agreed is not None else ROUND + MORE

    @property
    def state(self) -> str:
        """``open``, ``disputed``, ``agreed``, ``accepted`` or ``rejected``."""
        if self.agreed is None:
            return "disputed" if len(self.answers) >= ROUND else "open"
        if len(self.verdicts) < VERIFIERS:
            return "agreed"
        return "accepted" if all(self.verdicts[:VERIFIERS]) else "rejected"


class LabelTask:
    """Deals files to label, and to auditors what is agreed. Its methods run on the writer thread.

    Args:
        material: what is labelled.
        taxonomy: the labels.
        most: labels per file; None: any number. By default two for MagicMirror's taxonomy.
        seed: of the order.
    """

    page: str = "label.html.jinja"

    def __init__(self, material: Material, taxonomy: Taxonomy, *, most: int | None = None, seed: int = 0) -> None:
        self.taxonomy = taxonomy
        self._material = material
        self._most = most if most is not None or taxonomy.name != "magicmirror" else MOST_LABELS
        random = Random(f"labels {seed}")  # noqa: S311 - the order, no secret
        self._files = {_subject(file): file for file in random.sample(material.files, len(material.files))}
        self._items = {subject: _Item() for subject in self._files}
        self._last = 0
        answerable = [label for label in taxonomy.answers() if label.id != NORMAL]
        self._labels = {label.id for label in answerable}
        self._tree = [
            {
                "id": label.id,
                "name": label.name,
                "definition": label.definition or "",
                "path": [each.name for each in taxonomy.path(label)[:-1]],
            }
            for label in answerable
        ]

    @property
    def board(self) -> LiveBoard | None:
        """None: labels have no board."""
        return None

    def standing(self, connection: Connection, rater: Rater, now: int) -> dict[str, Any]:
        """Always ``work``."""
        return {"state": "work"}

    def draw(self, connection: Connection, rater: Rater, missing: int, now: int) -> list[Draft]:
        """Files that need a further rater; for auditors those whose labels are agreed and that need a further verdict."""
        self._fold(connection)
        pending: dict[str, int] = {row[0]: row[1] for row in connection.execute(_PENDING, {"now": now})}
        auditing = rater.role == "auditor"
        wanted: list[tuple[str, _Item]] = []
        for subject, item in self._items.items():
            key = f"verify\x1f{subject}" if auditing else subject
            have = (len(item.verdicts) if auditing else len(item.answers)) + pending.get(key, 0)
            needed = have < VERIFIERS and item.agreed is not None if auditing else have < item.wanted
            if needed:
                wanted.append((key, item))
        wanted.sort(key=lambda each: each[1].state != "disputed")
        drafts: list[Draft] = []
        for start in range(0, len(wanted), _TRIED):
            some = wanted[start : start + _TRIED]
            seen = seen_among(connection, rater.rater_id, [key for key, _ in some])
            new = [self._draft(key, item, auditing) for key, item in some if key not in seen]
            drafts += new[: missing - len(drafts)]
            if len(drafts) == missing:
                break
        return drafts

    def _draft(self, key: str, item: _Item, auditing: bool) -> Draft:
        file = self._files[key.removeprefix("verify\x1f")]
        prompt = self._material.prompts[file.prompt_id]
        payload = {**prompt_payload(prompt, (file,)), "taxonomy": self.taxonomy.name}
        if auditing:
            payload["proposed"] = sorted(item.agreed or ())
        return Draft("verify" if auditing else "label", key, payload)

    def shown(self, payload: Payload) -> dict[str, Any]:
        """The labels to choose from, how many, and for auditors those to verify."""
        more = {"media_kind": self._material.kind, "labels": self._tree, "most": self._most}
        names = {entry["id"]: entry["name"] for entry in self._tree}
        proposed = payload.get("proposed")
        return {**more, "proposed": None if proposed is None else [names.get(label, label) for label in proposed]}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Marks with known labels, each once; for auditors ``{"accept": true}`` or false."""
        if "proposed" in payload:
            if choice not in ({"accept": True}, {"accept": False}) or type(choice["accept"]) is not bool:
                raise RefusedError(422, "bad_answer")
            return json.dumps(choice)
        try:
            found = Labelled.model_validate(choice)
        except ValidationError as error:
            raise RefusedError(422, "bad_answer") from error
        names = [mark.label for mark in found.marks]
        places = [box for mark in found.marks for box in mark.boxes]
        fits = len(set(names)) == len(names) and self._labels.issuperset(names)
        fits = fits and (self._most is None or len(names) <= self._most)
        fits = fits and all(0 <= left < right <= 1 and 0 <= top < bottom <= 1 for left, top, right, bottom in places)
        fits = fits and all(mark.frames is None or 0 <= mark.frames[0] <= mark.frames[1] for mark in found.marks)
        if not fits:
            raise RefusedError(422, "bad_answer")
        return found.model_dump_json()

    def _fold(self, connection: Connection) -> None:
        for number, kind, subject, choice in connection.execute(_SETTLED, {"last": self._last}):
            self._last = number
            _add(self._items, kind, subject, choice)


def _subject(file: Generated) -> str:
    return f"label\x1f{file.prompt_id}\x1f{file.model}\x1f{file.sample}"


def _add(items: Mapping[str, _Item], kind: str, subject: str, choice: str) -> None:
    item = items.get(subject.removeprefix("verify\x1f"))
    if item is None:  # a file that is no longer in the folder
        return
    if kind == "verify":
        item.verdicts.append(json.loads(choice)["accept"])
    else:
        item.answers.append(labels_of(choice))


def labels_of(choice: str) -> frozenset[str]:
    """The labels of a stored answer.

    Example:
        >>> labels_of('{"marks": []}')
        frozenset()
    """
    return frozenset(mark["label"] for mark in json.loads(choice)["marks"])


def label_states(connection: Connection) -> dict[str, _Item]:
    """What people have said of each file that has a settled answer, by subject."""
    items: dict[str, _Item] = {}
    for _, kind, subject, choice in connection.execute(_SETTLED, {"last": 0}):
        items.setdefault(subject.removeprefix("verify\x1f"), _Item())
        _add(items, kind, subject, choice)
    return items


def label_summary(connection: Connection) -> list[str]:
    """Count files by state, and compute Fleiss' κ of normal against faulty over their first three raters."""
    items = label_states(connection).values()
    states = Counter(item.state for item in items)
    lines = [f"{count:,} {state}" for state, count in sorted(states.items())]
    rated = [[bool(answer) for answer in item.answers[:ROUND]] for item in items if len(item.answers) >= ROUND]
    try:
        kappa = fleiss_kappa([[sum(row), ROUND - sum(row)] for row in rated])
    except UndefinedError as error:
        return [*lines, f"Fleiss' κ of normal against faulty is not defined: {error}"]
    return [*lines, f"Fleiss' κ of normal against faulty: {kappa:.3f} ({len(rated):,} files, {ROUND} raters each)"]
