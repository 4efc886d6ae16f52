"""Does another judge rank the models alike? One table of scores and ranks for any number of judges.

R³-Bench, Table 8: S_rect of nine models by two judges, and the rank that each judge gives them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from salon_ranking.agreement import UndefinedError, kendall, spearman
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Agreement of two judges' rankings; a coefficient is None where a judge gives all models one score."""

    first: str
    second: str
    spearman: float | None
    kendall: float | None
    same_rank: float
    """Share of the models that have the same rank under both."""


@dataclass(frozen=True, slots=True)
class JudgeSwap:
    """Models under several judges.

    Attributes:
        judges: in the order given.
        models: that all judges scored, best by the first judge first.
        scores: for each judge, of each model.
        ranks: for each judge, of each model; 1 is best, equal scores share the better rank.
        agreements: of every pair of judges.
        left_out: models that some judge did not score.
    """

    judges: tuple[str, ...]
    models: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Mapping[str, int]]
    agreements: tuple[RankAgreement, ...]
    left_out: tuple[str, ...]


def competition_ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Ranks from 1, the highest value first; equal values share the better rank, and the next one is skipped.

    Example:
        >>> competition_ranks({"a": 0.62, "b": 0.62, "c": 0.58})
        {'a': 1, 'b': 1, 'c': 3}
    """
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def swap_evaluators(scores: Mapping[str, Mapping[str, float]]) -> JudgeSwap:
    """Rank the models under each judge, and say how alike the rankings are.

    Args:
        scores: for each judge, the metric of each model; more is better. Give them as they are printed when ranks are to
            be those of a printed table: rounding makes ties.

    Raises:
        InputError: fewer than two judges, or fewer than two models that all of them scored.

    Example:
        >>> found = swap_evaluators({"one": {"a": 0.6, "b": 0.5}, "two": {"a": 0.7, "b": 0.1}})
        >>> found.ranks["two"], found.agreements[0].same_rank
        ({'a': 1, 'b': 2}, 1.0)
    """
    judges = tuple(scores)
    if len(judges) < 2:
        raise InputError("a swap of evaluators needs two judges, not", value=len(judges))
    common = set.intersection(*(set(scores[judge]) for judge in judges))
    if len(common) < 2:
        raise InputError("fewer than two models were scored by all judges:", value=sorted(common))
    kept = {judge: {name: value for name, value in scores[judge].items() if name in common} for judge in judges}
    ranks = {judge: competition_ranks(kept[judge]) for judge in judges}
    order = tuple(sorted(kept[judges[0]], key=lambda name: (-kept[judges[0]][name], name)))
    everybody = {name for judge in judges for name in scores[judge]}
    pairs = tuple(_agreement(one, two, kept, ranks, order) for one, two in combinations(judges, 2))
    return JudgeSwap(judges, order, kept, ranks, pairs, tuple(sorted(everybody - common)))


def _agreement(
    one: str,
    two: str,
    scores: Mapping[str, Mapping[str, float]],
    ranks: Mapping[str, Mapping[str, int]],
    order: tuple[str, ...],
) -> RankAgreement:
    x, y = ([scores[judge][name] for name in order] for judge in (one, two))
    same = sum(ranks[one][name] == ranks[two][name] for name in order) / len(order)
    try:
        return RankAgreement(one, two, spearman(x, y), kendall(x, y), same)
    except UndefinedError:
        return RankAgreement(one, two, None, None, same)
