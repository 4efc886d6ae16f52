"""Would a smaller benchmark rank the systems alike? Rankings of stratified subsamples against the full one.

R³-Refiner, appendix C.3 and Table 10 (b): 500 rounds per size; Kendall's τ against the ranking of all items, with and
without treating as ties the pairs whose paired bootstrap interval holds 0; the share of rounds with the very same order.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.agreement._numbers import Floats
from salon_ranking.agreement.bootstrap import compare_all, score_table
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.errors import OptionError
from salon_ranking.options import Confidence, Range, Replicates, Seed, checked


@dataclass(frozen=True, slots=True)
class SizeStability:
    """How subsamples of one size rank the systems.

    Attributes:
        size: items in every subsample.
        tau: mean Kendall's τ-b against the ranking of all items.
        tau_low, tau_high: the middle share ``confidence`` of the rounds' τ-b.
        exact: share of rounds with exactly the full order.
        tau_significant: mean τ over the significant pairs alone: (concordant - discordant) / significant pairs.
        exact_significant: share of rounds that order every significant pair as all items do.
    """

    size: int
    tau: float
    tau_low: float
    tau_high: float
    exact: float
    tau_significant: float
    exact_significant: float


@dataclass(frozen=True, slots=True)
class Stability:
    """Rankings of subsamples against the ranking of all items, one entry per size, and how they were drawn.

    ``ranking`` is by the means of all items, best first; ``ties`` are the pairs, better first, that all items do not separate.
    Where two systems have the very same mean, an exact match needs that tie too.
    """

    sizes: tuple[SizeStability, ...]
    ranking: tuple[str, ...]
    ties: tuple[tuple[str, str], ...]
    items: int
    strata: int
    rounds: int
    replicates: int
    confidence: float
    seed: int


@checked
def rank_stability(
    scores: ArrayLike,
    sizes: Sequence[int],
    *,
    strata: Sequence[Hashable] | NDArray[Any] | None = None,
    systems: Sequence[str] | None = None,
    rounds: Annotated[int, Range(1)] = 500,
    replicates: Replicates = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> Stability:
    """Rank systems by their means on stratified subsamples, and compare with the ranking by all items.

    Every subsample is drawn without replacement and takes from each stratum its share, rounded by largest remainders.

    Args:
        scores: shape (items, systems); more is better.
        sizes: items per subsample, each from 1 to all.
        strata: one value per item, such as its category; default: one stratum.
        replicates: of the paired bootstrap that finds the pairs to be treated as ties.

    Raises:
        AgreementError: the scores are no table of finite numbers, or strata or names do not fit.
        UndefinedError: fewer than two items or systems, or all systems have the same mean.
        OptionError: a size or another argument is outside its range.

    Example:
        >>> scores = [[0.9, 0.5, 0.1], [0.8, 0.6, 0.2], [1.0, 0.4, 0.3], [0.7, 0.5, 0.0]]
        >>> found = rank_stability(scores, [2], systems=["a", "b", "c"], rounds=20)
        >>> found.ranking, found.sizes[0].tau, found.sizes[0].exact
        (('a', 'b', 'c'), 1.0, 1.0)
    """
    table, names = score_table(scores, systems)
    _check(table, sizes, rounds)
    members = _strata(strata, len(table))
    differences = compare_all(table, names, replicates=replicates, confidence=confidence, seed=seed)
    digits = 12 - math.ceil(math.log10(max(1.0, float(np.abs(table).max()))))
    means = table.mean(axis=0).round(digits)  # sums of decimals in another order differ in the last digits
    if means.min() == means.max():
        raise UndefinedError("all systems have the same mean, so there is no ranking:", value=float(means[0]))
    first, second = np.triu_indices(len(names), k=1)
    full = np.sign(means[first] - means[second])
    settled = np.array([difference.significant for difference in differences])
    random = np.random.default_rng(seed)
    tail = (1.0 - confidence) / 2.0
    by_size = []
    for size in sizes:
        drawn = np.array([table[_draw(members, size, random)].mean(axis=0) for _ in range(rounds)]).round(digits)
        signs = np.sign(drawn[:, first] - drawn[:, second])
        tau = _tau(signs, full)
        low, high = np.quantile(tau, [tail, 1.0 - tail])
        same = signs == full
        agreed = (signs * full)[:, settled].mean(axis=1) if settled.any() else np.full(rounds, np.nan)
        by_size.append(
            SizeStability(
                size=int(size),
                tau=float(tau.mean()),
                tau_low=float(low),
                tau_high=float(high),
                exact=float(same.all(axis=1).mean()),
                tau_significant=float(agreed.mean()),
                exact_significant=float(same[:, settled].all(axis=1).mean()),
            )
        )
    order = sorted(range(len(names)), key=lambda system: -means[system])
    unsettled = tuple((d.first, d.second) if d.value >= 0 else (d.second, d.first) for d in differences if not d.significant)
    drawn_by = {"rounds": rounds, "replicates": replicates, "seed": seed}
    ranking = tuple(names[system] for system in order)
    return Stability(tuple(by_size), ranking, unsettled, len(table), len(members), confidence=confidence, **drawn_by)


def allocate(stratum_sizes: Sequence[int], size: int) -> list[int]:
    """Return how many of ``size`` items each stratum gives, by largest remainders, earlier strata first.

    Example:
        >>> allocate([50, 30, 20], 7)
        [4, 2, 1]
    """
    whole = sum(stratum_sizes)
    sizes = [size * count // whole for count in stratum_sizes]
    remainders = [size * count % whole for count in stratum_sizes]
    for stratum in sorted(range(len(sizes)), key=lambda number: (-remainders[number], number))[: size - sum(sizes)]:
        sizes[stratum] += 1
    return sizes


def _draw(members: list[NDArray[np.integer]], size: int, random: np.random.Generator) -> NDArray[np.integer]:
    sizes = allocate([len(stratum) for stratum in members], size)
    return np.concatenate([random.permutation(stratum)[:count] for stratum, count in zip(members, sizes, strict=True)])


def _tau(signs: Floats, full: Floats) -> Floats:
    """Return Kendall's τ-b of each round; 0 for a round in which all systems came out equal."""
    untied = np.count_nonzero(signs, axis=1) * np.count_nonzero(full)
    return np.asarray((signs @ full) / np.sqrt(np.maximum(untied, 1)))


def _strata(strata: Sequence[Hashable] | NDArray[Any] | None, count: int) -> list[NDArray[np.integer]]:
    if strata is None:
        return [np.arange(count)]
    if len(strata) != count:
        raise AgreementError(f"{count} items need as many strata, not", value=len(strata))
    places: dict[Hashable, list[int]] = {}
    for number, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(number)
    return [np.array(found) for found in places.values()]


def _check(table: Floats, sizes: Sequence[int], rounds: int) -> None:
    if table.shape[1] < 2:
        raise UndefinedError("at least two systems are needed, not", value=table.shape[1])
    if rounds < 1:
        raise OptionError("rounds must be 1 or more, not", value=rounds)
    for size in sizes:
        if not 1 <= size <= len(table):
            raise OptionError(f"a size must lie between 1 and {len(table)}, not", value=size)
