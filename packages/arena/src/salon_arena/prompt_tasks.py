"""People write prompts for a benchmark, and inspectors accept, refine or reject them.

    a slot: scenario + capability ──► a contributor writes ──► an inspector ── accepts ──► accepted
                                            ▲                        └── rejects ──► another contributor

MEF, section 4.3: contributors of several groups, one scenario and 1–4 capability labels per prompt, then inspection. Slots
have the shares of MEF's Table 2.
"""

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError, model_validator
from sqlalchemy import Connection, select

from salon_arena.errors import RefusedError
from salon_arena.rounds import Growing, RatedItem, RoundsTask, states, subject_of
from salon_arena.tables import ASSIGNMENTS, RATERS, SETTLED, SETTLED_ANSWERS
from salon_arena.tasks import Payload
from salon_judges.formats.magic_bench_377_labels import capability, point, points, scenarios, target_shares, taxonomy

KINDS: Final = {"rater": "write", "auditor": "inspect"}
MOST_LABELS: Final = 4
"""MEF, section 4.3: 1–4 capability labels per prompt."""
MOST_POINTS: Final = 12
RULES: Final = (
    "Clear, and possible to see: leave out what a picture cannot show.",
    "Neutral: no celebrities, no protected characters, nothing that one region alone knows.",
    "Different: choose subjects and words that no other prompt with this label uses.",
    "Like a real wish: several capabilities in one sentence, joined in a natural way.",
)
"""MEF's rules for constructing prompts (appendix C), in our words."""
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class Demand(BaseModel):
    """One test point of a prompt.

    Attributes:
        name: the test point.
        demand: what must be met.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    demand: Text


class Written(BaseModel):
    """The answer of a contributor.

    Attributes:
        prompt: its words.
        language: ``en`` or ``zh``, the languages of Magic-Bench-377.
        labels: 1 to 4 capabilities, by id.
        scenario: by id.
        test_points: what a rater can check with yes or no; each name once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Text
    language: Annotated[str, StringConstraints(pattern="^(en|zh)$")]
    labels: tuple[str, ...] = Field(min_length=1, max_length=MOST_LABELS)
    scenario: str
    test_points: tuple[Demand, ...] = Field(default=(), max_length=MOST_POINTS)

    @model_validator(mode="after")
    def _is_known(self) -> "Written":
        """Refuse labels, scenarios and test points that MEF does not have, and any that is there twice."""
        known = all((label := capability(each)) is not None and label.id == each for each in self.labels)
        names = [point(each.name) for each in self.test_points]
        if not known or len(set(self.labels)) < len(self.labels) or self.scenario not in scenarios():
            raise ValueError("unknown label or scenario")
        if None in names or len({each.id for each in names if each}) < len(names):
            raise ValueError("unknown test point")
        return self


class Inspected(BaseModel):
    """The answer of an inspector.

    Attributes:
        accept: whether the prompt goes into the benchmark.
        prompt: a refined wording; None: as it was written.
        reason: why it is rejected; needed then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    accept: bool = Field(strict=True)
    prompt: Text | None = None
    reason: str = Field(default="", max_length=1000)

    @model_validator(mode="after")
    def _has_reason(self) -> "Inspected":
        """Refuse a rejection without a reason."""
        if not self.accept and not self.reason.strip():
            raise ValueError("a rejection needs a reason")
        return self


@dataclass
class PromptItem(RatedItem):
    """One slot: what was written for it, and what the inspector said."""

    @property
    def inspected(self) -> Inspected | None:
        """The inspector's answer; None before."""
        return Inspected.model_validate_json(self.verdicts[0]) if self.verdicts else None

    @property
    def accepted(self) -> Written | None:
        """The prompt in its final wording; None unless it was accepted."""
        if self.inspected is None or not self.inspected.accept:
            return None
        written = Written.model_validate_json(self.said[0])
        return written if self.inspected.prompt is None else written.model_copy(update={"prompt": self.inspected.prompt})

    def wanted(self, role: str) -> int:
        """Return one contributor; one inspector once it is written."""
        return 1 if role == "rater" else len(self.said) if role == "auditor" else 0

    @property
    def state(self) -> str:
        """``open``, ``written``, ``accepted`` or ``rejected``."""
        if self.inspected is None:
            return "written" if self.said else "open"
        return "accepted" if self.inspected.accept else "rejected"


class PromptTask(RoundsTask[PromptItem]):
    """Deals slots to write for, and to auditors what was written. Methods run on the writer thread.

    Args:
        count: prompts that the benchmark shall have.
    """

    page: str = "write.html.jinja"
    work: str = "prompts"

    def __init__(self, count: int) -> None:
        self._slots = slots(count)
        super().__init__([_subject(number, 0) for number in range(count)], PromptItem, KINDS)

    def fresh(self) -> dict[str, PromptItem]:
        """Return every slot, empty; more are added behind them."""
        return Growing(PromptItem, super().fresh())

    def refresh(self, changed: Set[str]) -> Iterable[str]:
        """Open a new slot in place of each rejected one."""
        opened = []
        for subject in changed:
            if self._items[subject].state == "rejected":
                _, number, version = subject.split("\x1f")
                opened.append(_subject(int(number), int(version) + 1))
                self._items.get(opened[-1])
        return opened

    def payload(self, subject: str, item: PromptItem, kind: str) -> Payload:
        """Return the scenario and the capability that are wanted; for auditors what was written."""
        number = int(subject.split("\x1f")[1])
        scenario, label = self._slots[number % len(self._slots)]
        payload: dict[str, Any] = {"prompt_id": f"slot-{number:04d}", "prompt": "", "language": None, "scenario": scenario}
        payload |= {"labels": [label], "files": []}
        if kind == KINDS["auditor"]:
            payload["written"] = json.loads(item.said[0])
        return payload

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return what is wanted, what there is to choose from, and the rules; for auditors what was written."""
        wanted = {"scenario": payload["scenario"], "label": payload["labels"][0]}
        return {"media_kind": "none", "wanted": wanted, "written": payload.get("written"), **_choices()}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return a :class:`Written`; for auditors an :class:`Inspected`."""
        kind = Inspected if "written" in payload else Written
        try:
            return kind.model_validate(choice).model_dump_json()
        except ValidationError as error:
            raise RefusedError(422, "bad_answer") from error


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted prompt, with the group of its contributor.

    Attributes:
        prompt: its final words.
        language: ``en`` or ``zh``.
        labels: names of capabilities.
        scenario: its name.
        test_points: what can be checked.
        group: the contributor's occupation; None where it was not said.
    """

    prompt: str
    language: str
    labels: tuple[str, ...]
    scenario: str
    test_points: tuple[Demand, ...]
    group: str | None


_INSPECTED: Final = (
    select(ASSIGNMENTS.c.subject)
    .select_from(SETTLED_ANSWERS)
    .where(SETTLED.c.kind == KINDS["auditor"])
    .order_by(SETTLED.c.number)
)


def written(connection: Connection) -> list[tuple[str, Accepted | None]]:
    """Return each slot that has a prompt, with the accepted prompt or None.

    Inspected slots come first, in the order of their inspections: what is inspected later moves no accepted prompt.
    """
    inspections = connection.execute(_INSPECTED).scalars().all()
    place_of = {subject: place for place, subject in reversed(list(enumerate(inspections)))}
    inspected_as = partial(subject_of, KINDS["auditor"], role="auditor")
    slots_written = sorted(
        prompt_states(connection).items(), key=lambda slot: place_of.get(inspected_as(slot[0]), len(inspections))
    )
    groups: dict[str, str | None] = dict(connection.execute(select(RATERS.c.rater_id, RATERS.c.occupation)).all())
    prompts: list[tuple[str, Accepted | None]] = []
    for subject, state in slots_written:
        text = state.accepted
        if text is None:
            prompts.append((subject, None))
            continue
        labels = tuple(taxonomy().find(each).name for each in text.labels)
        about = (text.prompt, text.language, labels, scenarios()[text.scenario].name, text.test_points)
        prompts.append((subject, Accepted(*about, groups.get(state.raters[0]))))
    return prompts


def prompt_states(connection: Connection) -> dict[str, PromptItem]:
    """Return every slot that was written for, by subject."""
    return states(connection, PromptItem, KINDS)


def slots(count: int) -> list[tuple[str, str]]:
    """Return the scenario and the capability of each slot, as MEF's Table 2 shares them.

    Every prefix of the list has the shares as nearly as whole numbers can.

    Example:
        >>> found = slots(100)
        >>> len(found), sum(scenario == "film" for scenario, _ in found)
        (100, 20)
    """
    by_name = {name: label.shares["prompts"] for name, label in scenarios().items()}
    by_scenario = _shared(by_name, count)
    wanted = {name: share for name, share in target_shares().items() if name not in by_name}
    by_label = _shared(wanted, count)
    return list(zip(by_scenario, by_label, strict=True))


def _shared(shares: Mapping[str, float], count: int) -> list[str]:
    """Return names in turn, the one that is furthest behind its share first."""
    whole = sum(shares.values())
    counts = dict.fromkeys(shares, 0)
    names = []
    for number in range(1, count + 1):
        name = max(shares, key=lambda share: shares[share] * number / whole - counts[share])
        counts[name] += 1
        names.append(name)
    return names


@cache
def _choices() -> dict[str, Any]:
    """Return what a page offers: the same for every slot."""
    tree = taxonomy()
    offered: Sequence[Any] = [
        label for tier in ("item", "point") for label in tree.tier(tier) if capability(label.id) is not None
    ]
    return {
        "labels": [{"id": each.id, "name": each.name, "definition": each.definition or ""} for each in offered],
        "scenarios": [{"id": each.id, "name": each.name, "definition": each.definition or ""} for each in scenarios().values()],
        "points": [each.name for each in points().values()],
        "rules": list(RULES),
        "most": MOST_LABELS,
    }


def _subject(number: int, version: int) -> str:
    return f"prompt\x1f{number}\x1f{version}"
