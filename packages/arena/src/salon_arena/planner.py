"""Which pair a rater sees next: planned by the scheduler of ``salon_ranking``, never the same pair twice for one rater.

Battles that raters hold open count as matches, so that a hundred raters at once do not all get the same pairs of models.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from salon_arena.board import STREAMS
from salon_arena.draws import PlanDraws
from salon_arena.material import Material, pair_key
from salon_arena.tables import ASSIGNMENTS, payload_value
from salon_arena.tasks import seen_among
from salon_judges.formats.generations import Generated
from salon_ranking.battles import Battles
from salon_ranking.scheduling import Rule, ScheduleState, next_pairs
from salon_taxonomy.records import Side

RULE: Final[Rule] = "proportional"
"""Few matches first, even matches first, as MEF wants it (section 5.1.2), each of two streams planned from the votes of the
other one, so that ratings are not spread too far (``docs/scheduling.md``)."""
_PLANNED: Final = 256
_TRIED: Final = 16
_SEED_BITS: Final = 63


@dataclass(frozen=True, slots=True)
class Planned:
    """One battle to show.

    Attributes:
        a: the picture of model a.
        b: the picture of model b.
        model_a_shown: the side of model a.
        rule: the rule that planned it; None: it was drawn because everything planned was seen.
        stream: the stream it was planned in; None as for ``rule``.
    """

    a: Generated
    b: Generated
    model_a_shown: Side
    rule: Rule | None = None
    stream: int | None = None

    @property
    def shown(self) -> tuple[Generated, Generated]:
        """The picture on the left, and that on the right."""
        return (self.a, self.b) if self.model_a_shown is Side.LEFT else (self.b, self.a)

    @property
    def pair(self) -> str:
        """The same text for the same two pictures, whichever is on the left."""
        return pair_key(self.a, self.b)


class Planner:
    """Plans 256 battles at a time from the counts so far. Not safe for several threads: the writer thread owns it.

    Args:
        material: what can be shown.
        settled: returns the settled battles so far, as counts by stream.
        draws: of pairs, prompts and sides.
        pairs: the only pairs to show, those with fewest answers first; empty: whatever the scheduler plans.

    Raises:
        OptionError: no two models share a prompt.
    """

    def __init__(
        self,
        material: Material,
        settled: Callable[[], Mapping[int, Battles]],
        draws: PlanDraws,
        pairs: Sequence[tuple[Generated, Generated]] = (),
    ) -> None:
        self._material = material
        self._pairs = pairs
        self._settled = settled
        self._draws = draws
        self._plan: deque[Planned] = deque()

    def draw(self, connection: Connection, rater_id: str, missing: int, used: Set[str], now: int) -> list[Planned]:
        """Take the first ``missing`` planned pairs that are new to the rater and not in ``used``.

        Returns fewer if the rater has had all others. The pairs passed over stay planned for other raters.
        """
        drawn = self._take(connection, rater_id, missing, used)
        if len(drawn) < missing:
            self._refill(connection, now)
            drawn += self._take(connection, rater_id, missing - len(drawn), {*used, *(each.pair for each in drawn)})
        if len(drawn) < missing:
            mine = select(ASSIGNMENTS.c.subject).where(ASSIGNMENTS.c.rater_id == rater_id)
            seen = {*connection.execute(mine).scalars(), *used, *(each.pair for each in drawn)}
            drawn += islice((planned for planned in self._all_pairs() if planned.pair not in seen), missing - len(drawn))
        return drawn

    def _take(self, connection: Connection, rater_id: str, missing: int, used: Set[str]) -> list[Planned]:
        drawn: dict[str, Planned] = {}
        passed: list[Planned] = []
        while self._plan and len(drawn) < missing:
            some = [self._plan.popleft() for _ in range(min(_TRIED, len(self._plan)))]
            seen = seen_among(connection, rater_id, [planned.pair for planned in some]) | used
            for planned in some:
                if len(drawn) < missing and planned.pair not in seen and planned.pair not in drawn:
                    drawn[planned.pair] = planned
                else:
                    passed.append(planned)
        self._plan.extendleft(reversed(passed))
        return list(drawn.values())

    def _refill(self, connection: Connection, now: int) -> None:
        if self._pairs:
            self._plan = deque(islice(self._listed(_answers(connection, now)), _PLANNED))
            return
        counts = self._settled()
        waiting = _open_leases(connection, now)
        plans = []
        for stream, other in zip(STREAMS, reversed(STREAMS), strict=True):
            state = ScheduleState.of(counts[other], models=self._material.models, inventory=self._material.inventory)
            state = replace(state, matches=state.matches + self._matrix(waiting.get(other, {})))
            seed = self._draws.new().getrandbits(_SEED_BITS)
            plan = next_pairs(state, _PLANNED // 2, rule=RULE, streams=1, seed=seed)
            plans.append([self._planned(row, stream) for row in plan.iter_rows(named=True)])
        self._plan = deque(planned for pair in zip(*plans, strict=True) for planned in pair)

    def _matrix(self, waiting: Mapping[tuple[str, str], int]) -> NDArray[np.float64]:
        row_of = {name: number for number, name in enumerate(self._material.models)}
        matches = np.zeros((len(row_of), len(row_of)))
        for (one, other), count in waiting.items():
            if one in row_of and other in row_of:
                matches[row_of[one], row_of[other]] += count
                matches[row_of[other], row_of[one]] += count
        return matches

    def _planned(self, row: dict[str, Any], stream: int) -> Planned:
        a, b = (self._material.files[int(row[name])] for name in ("generation_a", "generation_b"))
        return Planned(a, b, Side(row["side_a_shown"]), RULE, stream)

    def _all_pairs(self) -> Iterator[Planned]:
        """Yield every pair once, prompts and sides at random."""
        if self._pairs:
            yield from self._listed({})
            return
        random = self._draws.new()
        by_prompt: dict[str, list[Generated]] = {}
        for file in self._material.files:
            by_prompt.setdefault(file.prompt_id, []).append(file)
        for files in random.sample(list(by_prompt.values()), len(by_prompt)):
            models: dict[str, list[Generated]] = {}
            for file in files:
                models.setdefault(file.model, []).append(file)
            for one, other in combinations(models.values(), 2):
                for a, b in product(one, other):
                    yield Planned(a, b, random.choice(list(Side)))

    def _listed(self, answers: Mapping[str, int]) -> Iterator[Planned]:
        """Yield the pairs to show, those with fewest answers first, else at random."""
        random = self._draws.new()
        order = random.sample(self._pairs, len(self._pairs))
        for a, b in sorted(order, key=lambda pair: answers.get(pair_key(*pair), 0)):
            yield Planned(a, b, random.choice(list(Side)))


def _answers(connection: Connection, now: int) -> dict[str, int]:
    """Count battles that are leased or answered, by pair."""
    leased = (ASSIGNMENTS.c.state == "open") & (ASSIGNMENTS.c.lease_until > now)
    live = (ASSIGNMENTS.c.kind == "battle") & (ASSIGNMENTS.c.state.in_(["answered", "settled"]) | leased)
    query = select(ASSIGNMENTS.c.subject, func.count()).where(live).group_by(ASSIGNMENTS.c.subject)
    return {row[0]: row[1] for row in connection.execute(query)}


def _open_leases(connection: Connection, now: int) -> dict[int, dict[tuple[str, str], int]]:
    """Count battles that are leased, or answered and not settled, by stream and pair of models."""
    names = [payload_value(name) for name in ("plan_stream", "model_a", "model_b")]
    leased = (ASSIGNMENTS.c.state == "open") & (ASSIGNMENTS.c.lease_until > now)
    live = (ASSIGNMENTS.c.kind == "battle") & ((ASSIGNMENTS.c.state == "answered") | leased)
    counts: dict[int, dict[tuple[str, str], int]] = {}
    query = select(names[0], names[1], names[2], func.count()).where(live).group_by(*names)
    for stream, one, other, count in connection.execute(query):
        if stream is not None:
            counts.setdefault(int(stream), {})[one, other] = count
    return counts
