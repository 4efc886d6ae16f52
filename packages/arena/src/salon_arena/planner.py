"""Which pair a rater sees next: planned by the scheduler of ``salon_ranking``, never the same pair twice for one rater."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations, product
from random import Random
from typing import Any, Final

from salon_arena.material import Material
from salon_bench.suites.contract.generations import Generated
from salon_ranking.battles import Battles
from salon_ranking.scheduling import Rule, ScheduleState, next_pairs
from salon_taxonomy.records import Side

RULE: Final[Rule] = "proportional"
"""Few matches first, even matches first, as MEF wants it (section 5.1.2), each of two streams planned from the votes of the
other one, so that ratings are not spread too far (``docs/scheduling.md``)."""
STREAMS: Final = (1, 2)
_PLANNED: Final = 256
_MOST_SEED: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Planned:
    """One battle to show.

    Attributes:
        left: the picture on the left.
        right: the picture on the right.
        model_a_shown: the side of model a.
        rule: the rule that planned it; None: it was drawn because everything planned was seen.
        stream: the stream it was planned in; None as for ``rule``.
    """

    left: Generated
    right: Generated
    model_a_shown: Side
    rule: Rule | None
    stream: int | None

    @property
    def pair(self) -> str:
        """The same text for the same two pictures, whichever is on the left."""
        return pair_key(self.left, self.right)


def pair_key(one: Generated, other: Generated) -> str:
    """Return the key of two pictures, independent of their order.

    Example:
        >>> from pathlib import Path
        >>> a, b = (Generated("cat", model, 0, Path(), Path()) for model in ("x", "y"))
        >>> pair_key(a, b) == pair_key(b, a)
        True
    """
    named = sorted((file.model, str(file.sample)) for file in (one, other))
    return "\x1f".join([one.prompt_id, *named[0], *named[1]])


class Planner:
    """Plans 256 battles at a time from the counts so far. Not safe for several threads: the writer thread owns it.

    Args:
        material: what can be shown.
        settled: returns the battles so far, as counts by stream.
        seed: from 0; the same seed and the same requests give the same pairs.

    Raises:
        OptionError: no two models share a prompt.
    """

    def __init__(self, material: Material, settled: Callable[[], Mapping[int, Battles]], *, seed: int = 0) -> None:
        self._material = material
        self._settled = settled
        self._seed = seed
        self._random = Random(f"arena {seed}")  # noqa: S311 - which pair is shown, no secret
        self._plan: deque[Planned] = deque()
        self._refill()

    def draw(self, seen: Set[str]) -> Planned | None:
        """Take the first planned pair that is not in ``seen``; None when every pair was seen.

        The pairs passed over stay planned for other raters.
        """
        for attempt in range(2):
            for place, planned in enumerate(self._plan):
                if planned.pair not in seen:
                    del self._plan[place]
                    return planned
            if attempt == 0:
                self._refill()
        return next((planned for planned in self._all_pairs() if planned.pair not in seen), None)

    def _refill(self) -> None:
        counts = self._settled()
        plans = []
        for stream, other in zip(STREAMS, reversed(STREAMS), strict=True):
            state = ScheduleState.of(counts[other], models=self._material.models, shelf=self._material.shelf)
            plan = next_pairs(state, _PLANNED // 2, rule=RULE, streams=1, seed=self._seed % _MOST_SEED)
            self._seed += 1
            plans.append([self._planned(row, stream) for row in plan.iter_rows(named=True)])
        self._plan = deque(planned for pair in zip(*plans, strict=True) for planned in pair)

    def _planned(self, row: dict[str, Any], stream: int) -> Planned:
        a, b = (self._material.files[int(row[name])] for name in ("generation_a", "generation_b"))
        shown = Side(row["side_a_shown"])
        return Planned(*((a, b) if shown is Side.LEFT else (b, a)), shown, RULE, stream)

    def _all_pairs(self) -> Iterator[Planned]:
        """Every pair once, prompts in a random order, sides by lot."""
        by_prompt: dict[str, list[Generated]] = {}
        for file in self._material.files:
            by_prompt.setdefault(file.prompt_id, []).append(file)
        for files in self._random.sample(list(by_prompt.values()), len(by_prompt)):
            models: dict[str, list[Generated]] = {}
            for file in files:
                models.setdefault(file.model, []).append(file)
            for one, other in combinations(models.values(), 2):
                for left, right in product(one, other):
                    shown = self._random.choice(list(Side))
                    yield Planned(*((left, right) if shown is Side.LEFT else (right, left)), shown, None, None)
