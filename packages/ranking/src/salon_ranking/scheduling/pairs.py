"""``next_pairs``: the battles to show next."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.errors import OptionError
from salon_ranking.options import Seed, checked
from salon_ranking.scheduling.state import ScheduleState
from salon_taxonomy.enums import Side

Codes: TypeAlias = NDArray[np.uint32]
Rule: TypeAlias = Literal["proportional", "mef", "information", "uniform"]
"""How pairs are chosen; see :func:`next_pairs`."""

RULES: tuple[Rule, ...] = get_args(Rule)
CROSSED: tuple[Rule, ...] = ("proportional",)
"""The rules that plan two streams unless one is asked for."""
_MOST_PLANNED = 1 << 22
_SECOND_SEED = 1 << 63
_SIDES = pl.Series([Side.RIGHT.value, Side.LEFT.value])


@checked
def next_pairs(
    state: ScheduleState,
    n: int,
    *,
    rule: Rule = "proportional",
    seed: Seed = 0,
    streams: int | None = None,
) -> pl.DataFrame:
    """Plan the next ``n`` battles.

    Rules:

    - ``"proportional"``: battle by battle, drawn in proportion to the information that it adds, p(1 - p) · Var(θ_i - θ_j); the
      variance shrinks as battles are planned.
    - ``"mef"``: battle by battle, drawn in proportion to p(1 - p) / (1 + matches), p the fitted win probability and matches
      the battles that the two models have had, those just planned included: few matches first, even matches first (MEF,
      section on match scheduling, gives the two wishes; the formula is ours).
    - ``"information"``: battle by battle, the pair with the largest p(1 - p) · Var(θ_i - θ_j), the one whose result
      raises ln det of the information matrix most (D-optimality). It biases ratings: ``docs/scheduling.md`` has the numbers.
    - ``"uniform"``: all pairs in a random order, and again when each is planned once.

    The prompt is uniform among those for which both models have a sample, one sample of each is chosen at random, which of
    the two is model a is random, and so is the side on which a's picture is to be shown. Two models that share no prompt are
    never planned.

    Votes that decide which votes come next make ratings spread too far. With two streams, each stream is planned from the votes
    of the other one alone (:attr:`ScheduleState.halves`), so that no battle was chosen by the luck of earlier ones of its own
    stream. Keep the columns ``plan_rule`` and ``plan_stream`` with the votes: the next plan reads them.

    Args:
        n: from 0 to 4,194,304.
        seed: from 0 to 2⁶³-1; the same state and seed give the same plan.
        streams: 1 or 2; by default 2 for ``"proportional"`` and 1 for the others. The stream with fewer votes so far gets more
            of the battles.

    Returns:
        One row per battle, in the order planned: ``prompt_id`` (null without an inventory), ``model_a``, ``model_b``,
        ``sample_a``, ``sample_b`` (from 0), ``generation_a``, ``generation_b`` (null when samples have no ids),
        ``side_a_shown`` (left or right), ``plan_rule`` and ``plan_stream`` (1 or 2; null with one stream).

    Raises:
        OptionError: an argument is outside its range, or no two models share a prompt.

    Example:
        >>> from salon_ranking.scheduling import Inventory
        >>> state = ScheduleState.of(inventory=Inventory.full(["x", "y", "z"], ["a cat", "a dog"], samples=4))
        >>> plan = next_pairs(state, 3, rule="uniform", seed=1)
        >>> sorted(sorted(pair) for pair in plan.select("model_a", "model_b").rows())
        [['x', 'y'], ['x', 'z'], ['y', 'z']]
    """
    if not 0 <= n <= _MOST_PLANNED:
        raise OptionError(f"the number of battles must lie between 0 and {_MOST_PLANNED:,}, not", value=n)
    streams = streams if streams is not None else 2 if rule in CROSSED else 1
    if streams not in (1, 2):
        raise OptionError("streams must be 1 or 2, not", value=streams)
    chosen, stream = _streamed(state, n, rule, int(seed), streams)
    if len(chosen[0]) < n:
        hint = "Give generations of the same prompt by at least two models."
        raise OptionError("no two models have a prompt in common", hint=hint)
    planned = _named(state, chosen)
    return planned.with_columns(plan_rule=pl.lit(rule, dtype=pl.String), plan_stream=stream)


def _streamed(state: ScheduleState, n: int, rule: Rule, seed: int, streams: int) -> tuple[Sequence[Codes], pl.Series]:
    """Return the planned battles as numbers, and the stream of each (null with one stream)."""
    if streams == 1:
        return _scheduled(state, n, rule, seed), pl.Series([None], dtype=pl.Int64).new_from_index(0, n)
    share = _share(n, *(half.battles for half in state.halves))
    # Each stream from the votes of the other.
    parts = [
        _scheduled(half, count, rule, seed + number * _SECOND_SEED)
        for number, (half, count) in enumerate(zip(state.halves[::-1], (share, n - share), strict=True))
    ]
    order = np.argsort(np.concatenate([(np.arange(len(part[0])) + 0.5) / len(part[0]) for part in parts]), kind="stable")
    merged = [np.concatenate(pair)[order] for pair in zip(*parts, strict=True)]
    return merged, pl.Series(np.repeat([1, 2], [len(part[0]) for part in parts])[order])


def _named(state: ScheduleState, chosen: Sequence[Codes]) -> pl.DataFrame:
    """Return planned battles with the names of models, prompts and generations."""
    a, b, entry_a, entry_b, sample_a, sample_b, left = chosen
    names, inventory = pl.Series(state.models, dtype=pl.String), state.inventory
    prompt = generation_a = generation_b = pl.Series([None], dtype=pl.String).new_from_index(0, len(a))
    if inventory is not None:
        prompt = inventory.prompts.gather(inventory.prompt[entry_a])
        if inventory.generations is not None:
            first = np.concatenate([[0], np.cumsum(inventory.samples, dtype=np.int64)])
            generation_a = inventory.generations.gather(first[entry_a] + sample_a)
            generation_b = inventory.generations.gather(first[entry_b] + sample_b)
    return pl.DataFrame(
        {
            "prompt_id": prompt,
            "model_a": names.gather(a),
            "model_b": names.gather(b),
            "sample_a": sample_a.astype(np.int64),
            "sample_b": sample_b.astype(np.int64),
            "generation_a": generation_a,
            "generation_b": generation_b,
            "side_a_shown": _SIDES.gather(left),
        }
    )


def _scheduled(state: ScheduleState, n: int, rule: Rule, seed: int) -> Sequence[Codes]:
    inventory = state.inventory
    return _core.schedule(
        state.log_strengths,
        state.matches,
        rule,
        n,
        seed,
        state.covariance if rule in ("information", "proportional") else None,
        None if inventory is None else inventory.start,
        None if inventory is None else inventory.prompt,
        None if inventory is None else inventory.samples,
    )


def _share(n: int, first: int, second: int) -> int:
    """Return how many of ``n`` battles the first stream gets, so that both have equal votes where possible."""
    return min(max((n + second - first + 1) // 2, 0), n)
