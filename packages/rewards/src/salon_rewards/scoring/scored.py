"""Many completions at once: what each earned, component by component, why, and what it adds up to."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from salon_rewards.batch import Batch
from salon_rewards.composition import TOTAL, ComposedReward, Part, compose
from salon_rewards.group_mask import Paid
from salon_rewards.illusory_edits import illusory
from salon_rewards.scoring.completions_file import COMPLETION
from salon_taxonomy.answers import Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Unscored

_CHUNK = 4_000


@dataclass(frozen=True, slots=True)
class ComponentSummary:
    """One component over all completions.

    Attributes:
        name: of the reward, or ``total``.
        weight: in the total; 1 for the total itself.
        scored: completions with a reward.
        unscored: completions without one.
        mean: of those with one; None without any.
        lowest: likewise.
        highest: likewise.
        reasons: of missing rewards, and how often.
    """

    name: str
    weight: float
    scored: int
    unscored: int
    mean: float | None
    lowest: float | None
    highest: float | None
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ScoredCompletions:
    """What the completions of a file earned.

    Attributes:
        components: each reward's values in the order of the rows; the total last, where there is more than one.
        weights: by component.
        why: for every row what is known beyond the numbers (format flaws, labels found, missed and extra); empty unless
            it was asked for.
    """

    components: Mapping[str, Sequence[Paid]]
    weights: Mapping[str, float]
    why: Sequence[Mapping[str, Any]] = ()

    def summary(self) -> list[ComponentSummary]:
        """Return one line for each component."""
        return [_summary(name, self.weights[name], paid) for name, paid in self.components.items()]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Plain values for JSON: ``row`` (from 1), every component, and ``unscored`` with the reasons where there are any."""
        names = list(self.components)
        for number, values in enumerate(zip(*self.components.values(), strict=True), start=1):
            row: dict[str, Any] = {"row": number}
            reasons: dict[str, str] = {}
            for name, paid in zip(names, values, strict=True):
                row[name] = None if isinstance(paid, Unscored) else paid
                if isinstance(paid, Unscored):
                    reasons[name] = str(paid.reason)
            if reasons:
                row["unscored"] = reasons
            if self.why:
                row["why"] = self.why[number - 1]
            yield row


def score_completions(
    columns: Mapping[str, Sequence[Any]],
    parts: Sequence[Part],
    *,
    group_size: int | None = None,
    explain: str | None = None,
    progressed: Callable[[int], object] = lambda count: None,
) -> ScoredCompletions:
    """Return what each completion earned.

    Args:
        columns: ``completion`` and whatever the rewards need, all of one length.
        parts: the rewards, by rule, and their weights.
        group_size: so many rows in a row are a group; None: told by the columns, see ``Batch.groups``.
        explain: the grammar in whose terms to say why: ``magicmirror`` or ``r3``; None: not at all.
        progressed: called with how many more completions are done.

    Raises:
        InputError: for a value that a reward cannot take; names column and row of the whole.

    Example:
        >>> from salon_rewards import make_reward
        >>> columns = {"completion": ["Fine."], "truth": ['{"Whether Normal": true}']}
        >>> list(score_completions(columns, [Part(make_reward("magicmirror"))], explain="magicmirror").rows())[0]["why"]
        {'flaw': 'malformed', 'detail': 'no \\\\boxed{…} is in the reply'}
    """
    composed = compose(parts, group_size=group_size)
    if not isinstance(composed, ComposedReward):
        raise InputError("a reward that asks a judge or an editor cannot be scored here", value=[p.called for p in parts])
    beside = {name: values for name, values in columns.items() if name != COMPLETION}
    collected: dict[str, list[Paid]] = {}
    why: list[Mapping[str, Any]] = []
    weights: dict[str, float] = {}
    for start, end in _chunks(Batch(columns[COMPLETION], beside), group_size):
        batch = Batch(columns[COMPLETION][start:end], {name: values[start:end] for name, values in beside.items()})
        try:
            composition = composed.score(batch)
        except InputError as error:
            raise (error if error.row is None else error.at(row=error.row + start)) from error
        for component in composition.components:
            collected.setdefault(component.name, []).extend(component.paid)
            weights[component.name] = component.weight
        if explain is not None:
            why += _why_r3(batch) if explain == "r3" else _why_magicmirror(batch)
        progressed(end - start)
    if len(parts) == 1 and weights[parts[0].called] == 1:
        del collected[TOTAL]
    return ScoredCompletions(collected, weights, why)


def label_counts(why: Sequence[Mapping[str, Any]]) -> dict[str, tuple[int, int, int]]:
    """Over all rows: how often each L2 label was found, missed and given without being there.

    Example:
        >>> label_counts([{"found": ["L2: a"], "missed": [], "extra": ["L2: b"]}, {"flaw": "empty"}])
        {'L2: a': (1, 0, 0), 'L2: b': (0, 0, 1)}
    """
    counts = {kind: Counter(label for row in why for label in row.get(kind, ())) for kind in ("found", "missed", "extra")}
    labels = sorted({label for each in counts.values() for label in each})
    return {label: (counts["found"][label], counts["missed"][label], counts["extra"][label]) for label in labels}


def _chunks(whole: Batch, group_size: int | None) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that tear no group apart."""
    start = end = 0
    for group in whole.groups(group_size):  # by their first rows; where ids tell them, they may reach over others
        if group[0] >= end and end - start >= _CHUNK:
            yield start, end
            start = end
        end = max(end, group[-1] + 1)
    if start < end:
        yield start, end


def _why_magicmirror(batch: Batch) -> list[Mapping[str, Any]]:
    truths = batch.truths("truth") if batch.columns.get("truth") is not None else [None] * len(batch)
    rows: list[Mapping[str, Any]] = []
    for outcome, truth in zip(batch.said("magicmirror"), truths, strict=True):
        if isinstance(outcome, Unparsed):
            rows.append({"flaw": str(outcome.reason), "detail": outcome.detail})
        elif truth is None:
            rows.append({"normal": outcome.answer.normal})
        else:
            labels, true = outcome.answer.labels.keys(), truth.labels.keys()
            sets = {"found": labels & true, "missed": true - labels, "extra": labels - true}
            rows.append(
                {"normal": outcome.answer.normal, "truly_normal": truth.normal, **{k: sorted(v) for k, v in sets.items()}}
            )
    return rows


def _why_r3(batch: Batch) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = []
    for outcome in batch.said("r3"):
        if isinstance(outcome, Unparsed):
            rows.append({"flaw": str(outcome.reason), "detail": outcome.detail})
        else:
            finding = None if outcome.answer.matches else illusory(outcome.answer.edit_prompt)
            rows.append({"matches": outcome.answer.matches, "illusory": None if finding is None else finding.rule})
    return rows


def _summary(name: str, weight: float, paid: Sequence[Paid]) -> ComponentSummary:
    had = [each for each in paid if not isinstance(each, Unscored)]
    reasons = Counter(str(each.reason) for each in paid if isinstance(each, Unscored))
    mean = sum(had) / len(had) if had else None
    return ComponentSummary(
        name, weight, len(had), len(paid) - len(had), mean, min(had, default=None), max(had, default=None), dict(reasons)
    )
