"""Which two pictures meet: all pairs, or the battles that a file of prompts lists, drawn by ``salon_ranking.scheduling``.

A drafted file is the prompt file with one column more, ``battles``: per prompt a list of
``{"model_a": …, "sample_a": 0, "model_b": …, "sample_b": 0}``. Samples are the pictures of a model for the prompt, by number.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from salon_bench.suites.contract.suite import SuitePrompt
from salon_judges.formats.magic_bench_377_pairs import Pair as Pair
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole

if TYPE_CHECKING:
    from salon_judges.formats.generations import Generations
    from salon_ranking.battles import Battles
    from salon_ranking.scheduling import Rule


Pairs: TypeAlias = Sequence[Pair]


def all_pairs(prompt_id: str, generations: "Generations") -> Iterator[Pair]:
    """Pair every two models, their first pictures, their second ones, and so on.

    A model without a picture for the prompt still has its pair: with a missing picture, about which no judge is asked.
    """
    for one, other in combinations(sorted(generations.models), 2):
        pictures = zip(generations.of(prompt_id, one), generations.of(prompt_id, other), strict=False)
        pairs = [Pair(one, mine.sample, other, theirs.sample) for mine, theirs in pictures]
        yield from pairs or [Pair(one, 0, other, 0)]


def planned_pairs(item: SuitePrompt, generations: "Generations") -> Iterator[Pair]:
    """Return the pairs of a prompt: those of its file among the models; without a list all."""
    listed: Any = item.facts.get("battles")
    if listed is None:
        yield from all_pairs(item.prompt.prompt_id, generations)
        return
    for pair in dict.fromkeys(Pair.of(*battle) for battle in listed):
        if pair.model_a in generations.models and pair.model_b in generations.models:
            yield pair


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

    files = [(file.model, file.prompt_id, file.sample) for file in _files(prompts, generations)]
    if not files:
        raise InputError("no picture belongs to any of the prompts", value=list(generations.models))
    inventory = Inventory.from_frame(pl.DataFrame(files, schema=["model", "prompt_id", "sample"], orient="row"))
    state = ScheduleState.of(before, models=generations.models, inventory=inventory)
    plan = next_pairs(state, n, rule=rule, seed=seed)
    drawn: dict[str, dict[Pair, None]] = {}
    columns = ("prompt_id", "model_a", "sample_a", "model_b", "sample_b")
    for prompt_id, one, sample, other, other_place in plan.select(columns).iter_rows():
        first, second = generations.of(prompt_id, one)[sample], generations.of(prompt_id, other)[other_place]
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
