"""Which two pictures meet: all pairs, or the battles that a file of prompts lists, drawn by ``salon_ranking.scheduling``.

A drafted file is the prompt file with one column more, ``battles``: per prompt a list of
``{"model_a": …, "sample_a": 0, "model_b": …, "sample_b": 0}``. Samples are the pictures of a model for the prompt, by number.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from salon_bench.suites.contract.suite import SuitePrompt
from salon_bench.suites.contract.table_rows import TableRow
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole

if TYPE_CHECKING:
    from salon_bench.suites.contract.generations import Generations
    from salon_ranking.battles import Battles
    from salon_ranking.scheduling import Rule

_LONGEST_NAME = 400
_LARGEST_SAMPLE = 10**9
_MODELS = ("model_a", "model_b")
_SAMPLES = ("sample_a", "sample_b")


class Pair(NamedTuple):
    """Two pictures for one prompt; ``model_a`` comes before ``model_b`` in alphabetical order."""

    model_a: str
    sample_a: int
    model_b: str
    sample_b: int

    @classmethod
    def of(cls, model: str, sample: int, other: str, other_sample: int) -> Self:
        """The pair in its one order.

        Example:
            >>> Pair.of("y", 0, "x", 2)
            Pair(model_a='x', sample_a=2, model_b='y', sample_b=0)
        """
        return cls(model, sample, other, other_sample) if model < other else cls(other, other_sample, model, sample)


Pairs: TypeAlias = Sequence[Pair]


def all_pairs(prompt_id: str, generations: "Generations") -> Iterator[Pair]:
    """Pair every two models, their first pictures, their second ones, and so on.

    A model without a picture for the prompt still has its pair: with a missing picture, about which no judge is asked.
    """
    for one, other in combinations(sorted(generations.models), 2):
        pictures = zip(generations.of(prompt_id, one), generations.of(prompt_id, other), strict=False)
        found = [Pair(one, mine.sample, other, theirs.sample) for mine, theirs in pictures]
        yield from found or [Pair(one, 0, other, 0)]


def planned_pairs(item: SuitePrompt, generations: "Generations") -> Iterator[Pair]:
    """Return the pairs of a prompt: those of its file among the models; without a list all."""
    listed: Any = item.facts.get("battles")
    if listed is None:
        yield from all_pairs(item.prompt.prompt_id, generations)
        return
    for each in dict.fromkeys(Pair.of(*battle) for battle in listed):
        if each.model_a in generations.models and each.model_b in generations.models:
            yield each


def listed_battles(row: TableRow) -> list[Pair] | None:
    """Return the cell ``battles`` of a row, or None.

    Raises:
        InputError: when it holds anything but battles.
    """
    cell = row.cells.get("battles")
    if cell is None or cell == "":
        return None
    if not isinstance(cell, list):
        raise row.problem("must be a list of battles, not", "battles", value=type(cell).__name__, hint=_HINT)
    return [_battle(row, each) for each in cell]


def _battle(row: TableRow, item: Any) -> Pair:
    if not isinstance(item, dict):
        raise row.problem("is no battle:", "battles", value=type(item).__name__, hint=_HINT)
    names = [item.get(key) for key in _MODELS]
    samples = [item.get(key, 0) for key in _SAMPLES]
    for key, name in zip(_MODELS, names, strict=True):
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST_NAME:
            raise row.problem(f"{key} must be a name, not", "battles", value=str(name)[:80], hint=_HINT)
    for key, sample in zip(_SAMPLES, samples, strict=True):
        if not isinstance(sample, int) or isinstance(sample, bool) or not 0 <= sample < _LARGEST_SAMPLE:
            raise row.problem(f"{key} must be a whole number from 0, not", "battles", value=str(sample)[:80], hint=_HINT)
    if names[0] == names[1]:
        raise row.problem("a model cannot meet itself:", "battles", value=names[0])
    return Pair.of(str(names[0]), int(samples[0]), str(names[1]), int(samples[1]))


_HINT = 'A battle is {"model_a": "x", "sample_a": 0, "model_b": "y", "sample_b": 0}.'


@dataclass(frozen=True, slots=True)
class DrawnBattles:
    """Battles that were drawn.

    Attributes:
        pairs: by prompt id, each once; prompts in alphabetical order.
        repeats: how often the draw named two pictures that it had named before: a judge answers those once.
    """

    pairs: dict[str, list[Pair]]
    repeats: int

    @property
    def count(self) -> int:
        """The number of battles."""
        return sum(map(len, self.pairs.values()))


def draft(
    prompts: Sequence[SuitePrompt],
    generations: "Generations",
    n: int,
    *,
    rule: "Rule" = "mef",
    seed: int = 0,
    before: "Battles | None" = None,
) -> DrawnBattles:
    """Draw battles as an arena would (see :func:`salon_ranking.scheduling.next_pairs`).

    Args:
        prompts: of the benchmark.
        generations: of all models that are to meet.
        n: how many battles to draw; repeated ones are dropped, so there may be fewer.
        rule: how pairs are chosen.
        seed: the same state and seed draw the same battles.
        before: battles that were had, for the rules that look at them.

    Raises:
        InputError: there is no picture at all.
        OptionError: fewer than two models, no prompt in common, or a number out of its range.
    """
    import polars as pl

    from salon_ranking.scheduling import Inventory, ScheduleState, next_pairs

    made = [(file.model, file.prompt_id, file.sample) for file in _files(prompts, generations)]
    if not made:
        raise InputError("no picture belongs to any of the prompts", value=list(generations.models))
    inventory = Inventory.from_frame(pl.DataFrame(made, schema=["model", "prompt_id", "sample"], orient="row"))
    state = ScheduleState.of(before, models=generations.models, inventory=inventory)
    plan = next_pairs(state, n, rule=rule, seed=seed)
    drawn: dict[str, dict[Pair, None]] = {}
    columns = ("prompt_id", "model_a", "sample_a", "model_b", "sample_b")
    for prompt_id, one, place, other, other_place in plan.select(columns).iter_rows():
        first, second = generations.of(prompt_id, one)[place], generations.of(prompt_id, other)[other_place]
        drawn.setdefault(prompt_id, {})[Pair.of(one, first.sample, other, second.sample)] = None
    pairs = {prompt_id: sorted(found) for prompt_id, found in sorted(drawn.items())}
    return DrawnBattles(pairs, plan.height - sum(map(len, pairs.values())))


def save_draft(prompts: Sequence[SuitePrompt], drafted: DrawnBattles, path: Path) -> None:
    """Write the prompt file with its battles, as JSON Lines; an existing file is replaced.

    Raises:
        InputError: when it cannot be written, or the path does not end in ``.jsonl``.
    """
    if path.suffix.lower() != ".jsonl":
        raise InputError("drafts are written as JSON Lines, not", source=path, value=path.suffix, allowed=[".jsonl"])
    lines = []
    for item in prompts:
        prompt, checks = item.prompt, item.facts["test_points"]
        row = {
            "prompt_id": prompt.prompt_id,
            "prompt": prompt.text,
            "language": prompt.language,
            "labels": list(prompt.labels),
            "scenario": prompt.scenario,
            "test_points": [{"point": point, "demand": demand} for point, demand in checks],  # type: ignore[misc,union-attr]
            "battles": [pair._asdict() for pair in drafted.pairs.get(prompt.prompt_id, ())],
        }
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_whole(path, "".join(lines))


def _files(prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterator[Any]:
    for item in prompts:
        for model in generations.models:
            yield from generations.of(item.prompt.prompt_id, model)
