"""Agreement of raters, live: Krippendorff's α over all answers, Fleiss' κ over the first raters of each item.

| work | what is compared | scale |
| --- | --- | --- |
| battles | the winner, of pairs that several people judged | nominal |
| opinion scores | the mark, in each dimension | ordinal |
| checks | yes or no | nominal |
| questions | the answer; the level | nominal; ordinal |
| labels | normal or faulty; the set of labels; the level | nominal; ordinal |
| verdicts | whether the picture matches its prompt | nominal |
"""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from sqlalchemy import Connection, func, select

from salon_arena.labels import label_states, labels_of
from salon_arena.prompt_tasks import prompt_states
from salon_arena.questions import chosen_of, question_states
from salon_arena.rounds import RatedItem, counted, level_of
from salon_arena.screening import read_marks, screen_raters, screening_lines
from salon_arena.tables import ANSWERS, ASSIGNMENTS, SETTLED, SETTLED_ANSWERS
from salon_arena.verdicts import verdict_states
from salon_console import numbers
from salon_ranking.agreement import UndefinedError, alpha_of_ratings, fleiss_kappa

_STATES: Final[Mapping[str, Callable[[Connection], Mapping[Any, RatedItem]]]] = {
    "labels": label_states, "questions": question_states, "verdicts": verdict_states, "prompts": prompt_states,
}  # fmt: skip
"""What counts the items of one kind by their state."""
Scale = Literal["nominal", "ordinal"]
FIRST: Final = 3
"""Fleiss' κ is computed over so many raters of each item, or two where no item has three."""
_FEWEST: Final = 2
_ANSWERED: Final = (
    select(SETTLED.c.kind, SETTLED.c.winner, ASSIGNMENTS.c.subject, ASSIGNMENTS.c.payload, ANSWERS.c.choice)
    .select_from(SETTLED_ANSWERS)
    .where(SETTLED.c.kind.in_(["battle", "panel", "ranking", "check", "label", "question", "verdict"]))
    .order_by(SETTLED.c.number)
)


_COUNTS: Final = (
    select(SETTLED.c.kind, func.count(), func.count(ASSIGNMENTS.c.rater_id.distinct()))
    .select_from(SETTLED_ANSWERS)
    .group_by(SETTLED.c.kind)
    .order_by(SETTLED.c.kind)
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far raters agree on one thing.

    Attributes:
        what: that was judged.
        statistic: ``Krippendorff's α (…)`` or ``Fleiss' κ (…)``.
        value: at most 1; None where it is not defined.
        reason: why it is not defined; else empty.
        items: with two answers or more.
        answers: of those items.
    """

    what: str
    statistic: str
    value: float | None
    reason: str
    items: int
    answers: int

    @property
    def line(self) -> str:
        """The same as a sentence."""
        value = f"{self.value:.3f}" if self.value is not None else f"not defined ({self.reason})"
        basis = f"{numbers.counted(self.items, 'item')}, {self.answers:,} answers"
        return f"{self.statistic} of {self.what}: {value} ({basis})"


def progress(connection: Connection) -> list[str]:
    """Count items by state and settled answers by task; say how far raters agree, and what screening found."""
    states = [line for of in _STATES.values() for line in counted(of(connection).values())]
    answers = [
        f"{numbers.counted(count, 'settled answer')} to {kind} tasks, by {numbers.counted(raters, 'rater')}"
        for kind, count, raters in connection.execute(_COUNTS)
    ]
    agreed = [statistic.line for statistic in agreement(connection)]
    return [*states, *(answers or ["No answer is settled yet."]), *agreed, *screening_lines(connection)]


def progress_facts(connection: Connection) -> dict[str, Any]:
    """Return what :func:`progress` describes, as values for programs.

    Returns:
        ``states``: items by state, for each kind of item; ``agreement``: fields of :class:`Agreement`; ``screening``: rows of
        :func:`~salon_arena.screening.screen_raters`.
    """
    states = {name: Counter(each.state for each in of(connection).values()) for name, of in _STATES.items()}
    marks = read_marks(connection)
    return {
        "states": {name: dict(sorted(counts.items())) for name, counts in states.items() if counts},
        "agreement": [asdict(each) for each in agreement(connection)],
        "screening": screen_raters(marks).to_dicts() if marks.height else [],
    }


def agreement(connection: Connection) -> list[Agreement]:
    """Compute the agreement of all settled answers; empty where no item was judged twice."""
    values_of: dict[tuple[str, Scale], dict[Hashable, list[Hashable]]] = {}
    for row in connection.execute(_ANSWERED):
        for what, scale, rated, value in _VALUES[row.kind](row, json.loads(row.payload)):
            values_of.setdefault((what, scale), {}).setdefault(rated, []).append(value)
    statistics = []
    for (what, scale), ratings in values_of.items():
        several = [values for values in ratings.values() if len(values) >= _FEWEST]
        if several:
            statistics += [_alpha(what, scale, several), _fleiss(what, several)]
    return statistics


def _alpha(what: str, scale: Scale, ratings: list[list[Hashable]]) -> Agreement:
    codes = _codes(ratings)
    values = [codes[value] if scale == "nominal" else float(str(value)) for values in ratings for value in values]
    things = np.repeat(np.arange(len(ratings)), [len(values) for values in ratings])
    return _defined(what, f"Krippendorff's α ({scale})", lambda: alpha_of_ratings(things, values, level=scale).value, ratings)


def _fleiss(what: str, ratings: list[list[Hashable]]) -> Agreement:
    raters = FIRST if any(len(values) >= FIRST for values in ratings) else _FEWEST
    first = [values[:raters] for values in ratings if len(values) >= raters]
    codes = _codes(first)
    counts = [[sum(codes[value] == code for value in values) for code in range(len(codes))] for values in first]
    return _defined(what, f"Fleiss' κ (first {raters} raters)", lambda: fleiss_kappa(counts), first)


def _defined(what: str, statistic: str, compute: Callable[[], float], ratings: list[list[Hashable]]) -> Agreement:
    size = {"items": len(ratings), "answers": sum(map(len, ratings))}
    try:
        return Agreement(what, statistic, compute(), "", **size)
    except UndefinedError as error:
        return Agreement(what, statistic, None, str(error).splitlines()[0], **size)


def _codes(ratings: Iterable[list[Hashable]]) -> dict[Hashable, int]:
    return {value: code for code, value in enumerate(dict.fromkeys(value for values in ratings for value in values))}


_Values = Iterator[tuple[str, Scale, Hashable, Hashable]]


def _battle(row: Any, payload: Any) -> _Values:
    winner = {"model_a": ("", payload["model_a"]), "model_b": ("", payload["model_b"])}.get(row.winner, row.winner)
    yield "winners", "nominal", row.subject, winner


def _form(row: Any, payload: Any) -> _Values:
    for file, answers in zip(payload["files"][payload["rated_from"] :], json.loads(row.choice), strict=True):
        for (name, _), value in zip(payload["questions"], answers, strict=True):
            rated = (payload["prompt_id"], file["model"], file["sample"], name)
            yield (name, "ordinal", rated, value) if row.kind == "panel" else ("checks", "nominal", rated, value)


def _ranking(row: Any, payload: Any) -> _Values:
    """Yield the order of each two files: two raters may have ranked the same two beside other ones."""
    ranked = sorted((file["model"], place) for file, [place] in zip(payload["files"], json.loads(row.choice), strict=True))
    for (model, place), (other, after) in combinations(ranked, 2):
        better = model if place < after else other if after < place else None
        yield "order of two", "nominal", (row.subject, model, other), better or ""


def _label(row: Any, _: Any) -> _Values:
    labels, level = labels_of(row.choice), level_of(row.choice)
    yield "normal against faulty", "nominal", row.subject, bool(labels)
    yield "labels", "nominal", row.subject, labels
    if level is not None:
        yield "levels", "ordinal", row.subject, int(level[1:])


def _question(row: Any, payload: Any) -> _Values:
    yield f"answers ({payload['question']['task']})", "nominal", row.subject, chosen_of(row.choice)
    if (level := level_of(row.choice)) is not None:
        yield "levels", "ordinal", row.subject, int(level[1:])


def _verdict(row: Any, _: Any) -> _Values:
    verdict = json.loads(row.choice)
    yield "verdicts", "nominal", row.subject, "discard" if verdict["discard"] else verdict["aligned"]


_VALUES: Final = {
    "battle": _battle,
    "panel": _form,
    "ranking": _ranking,
    "check": _form,
    "label": _label,
    "question": _question,
    "verdict": _verdict,
}
