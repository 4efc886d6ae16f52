"""Measure how far two sets of pictures are apart by their features: FID, KID, CMMD, precision and recall, density, coverage.

    features (n, d) ──► groups of whole prompts ──► the measure, and again without each group ──► value, ends

An end is Student's t over the groups left out in turn (jackknife; Efron and Tibshirani 1993, chapter 11). Prompts are left out
of both sets at once, so that two builds of the same prompts count as paired.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from salon_console.numbers import counted
from salon_ranking.uncertainty.student import two_sided_quantile
from salon_taxonomy.errors import InputError

Features: TypeAlias = NDArray[np.float64]
"""One row per picture."""
Kept: TypeAlias = NDArray[np.bool_]
"""Which groups are kept."""
Statistic: TypeAlias = Callable[[Kept], float]

GROUPS: Final = 20
"""Groups that are left out in turn."""
LEAST_PROMPTS: Final = 10
"""Prompts below which there are no ends."""
NEAREST: Final = 5
"""Neighbours of precision, recall, density and coverage."""
_SPLITS: Final = 4
_SCALE: Final = 1000.0
_WIDTH: Final = 10.0
_DEGREE: Final = 3


@dataclass(frozen=True, slots=True)
class _Sets:
    """The two sets and the codes of their rows' prompts, each cut into the same groups; halves of the groups."""

    base: Sequence[Features]
    new: Sequence[Features]
    prompts: tuple[Sequence[NDArray[np.int64]], Sequence[NDArray[np.int64]]]
    splits: NDArray[np.bool_]


def set_measures(
    base: ArrayLike,
    new: ArrayLike,
    measures: Sequence[str] = ("kid", "precision", "recall"),
    *,
    base_prompts: Sequence[str] | None = None,
    new_prompts: Sequence[str] | None = None,
    level: float = 0.05,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how far the new set's features are from the base's, with one-sided ends.

    Args:
        base: finite numbers, shape (n, d), one row per picture.
        new: shape (m, d), by the same features.
        measures: names of `SET_MEASURES`.
        base_prompts, new_prompts: the prompt of each row. Rows of one prompt are left out together, in both sets, and KID and
            CMMD take pairs of rows of different prompts alone. By default each row has a prompt of its own.
        level: of each end, between 0 and 0.5.
        seed: of the draw of groups.

    Returns:
        One row per measure: ``measure``, ``value``, ``low``, ``high`` (null below 10 prompts), ``base`` and ``new`` (how many
        rows), ``reason`` (why ``value`` is null: the sets are too small for the measure).

    Raises:
        InputError: no such measure, features that are not finite or of two widths, or prompts that are not one per row.

    Example:
        >>> random = np.random.default_rng(1)
        >>> base, new = random.normal(0, 1, (300, 4)), random.normal(0.5, 1, (300, 4))
        >>> found = set_measures(base, new, ["fid_infinity", "recall"])
        >>> found.select("measure", pl.selectors.float().round(2)).rows()
        [('fid_infinity', 1.29, 0.88, 1.7), ('recall', 0.96, 0.92, 1.0)]
    """
    for name in measures:
        if name not in SET_MEASURES:
            raise InputError("there is no such measure:", key="measures", value=name, allowed=SET_MEASURES)
    if not 0.0 < level < 0.5:
        raise InputError("must lie between 0 and 0.5, not", key="level", value=level)
    sides = (_features(base, "base"), _features(new, "new"))
    if sides[0].shape[1] != sides[1].shape[1]:
        widths = " and ".join(str(side.shape[1]) for side in sides)
        raise InputError("the sets have features of two widths:", value=widths)
    labels = [
        _labels(given, side, name)
        for given, side, name in zip((base_prompts, new_prompts), sides, ("base", "new"), strict=True)
    ]
    sets = _grouped(sides, labels, seed)
    rows = [_row(name, sets, sides, level) for name in measures]
    schema = {"measure": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "base": pl.Int64, "new": pl.Int64, "reason": pl.String}, orient="row")


def _features(values: ArrayLike, name: str) -> Features:
    try:
        features = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("must be numbers, one row per picture", key=name) from error
    if features.ndim != 2 or not features.size:
        raise InputError("must have one row per picture, shape (n, d), not", key=name, value=features.shape)
    wrong = np.flatnonzero(~np.isfinite(features).all(1))
    if wrong.size:
        raise InputError("has a number that is not finite", source=name, row=int(wrong[0]) + 1)
    return features


def _labels(prompts: Sequence[str] | None, features: Features, name: str) -> list[tuple[str, ...]]:
    if prompts is None:
        return [(name, str(row)) for row in range(len(features))]
    if len(prompts) != len(features):
        raise InputError(
            f"must have one prompt for each of {len(features):,} rows, not", key=f"{name}_prompts", value=len(prompts)
        )
    return [(str(prompt),) for prompt in prompts]


def _grouped(sides: Sequence[Features], labels: Sequence[list[tuple[str, ...]]], seed: int) -> _Sets:
    """Assign prompts to groups: those of both sets first, then the others. The order of rows changes nothing."""
    random = np.random.default_rng(seed)
    first, second = (set(each) for each in labels)
    kinds = (sorted(first & second), sorted(first - second), sorted(second - first))
    dealt = [kind[place] for kind in kinds for place in random.permutation(len(kind))]
    number = min(GROUPS, len(first), len(second))
    code = {prompt: place for place, prompt in enumerate(dealt)}
    codes = [np.array([code[prompt] for prompt in each]) for each in labels]
    base, new = ([side[own % number == place] for place in range(number)] for side, own in zip(sides, codes, strict=True))
    prompts = tuple([own[own % number == place] for place in range(number)] for own in codes)
    splits = np.array([random.permutation(number) % 2 == 0 for _ in range(_SPLITS)])
    return _Sets(base, new, (prompts[0], prompts[1]), splits)


def _row(name: str, sets: _Sets, sides: Sequence[Features], level: float) -> tuple[Any, ...]:
    measure, counts = SET_MEASURES[name], tuple(map(len, sides))
    least = measure.least(sides[0].shape[1])
    number = len(sets.base)
    if min(counts) < least or number < measure.prompts:
        needed = f"{least:,} pictures and {counted(measure.prompts, 'prompt')}"
        reason = f"{name} of {sides[0].shape[1]:,} features needs {needed} or more on each side"
        return (name, None, None, None, *counts, reason)
    statistic = measure.prepared(sets)
    value = statistic(np.ones(number, bool))
    if number < LEAST_PROMPTS:
        return (name, value, None, None, *counts, None)
    without = np.array([statistic(np.arange(number) != place) for place in range(number)])
    error = math.sqrt((number - 1) * float(np.mean((without - without.mean()) ** 2)))
    reach = error * two_sided_quantile(2.0 * level, number - 1.0)
    if not math.isfinite(reach):
        return (name, value, None, None, *counts, None)
    return (name, value, max(value - reach, measure.range[0]), min(value + reach, measure.range[1]), *counts, None)


@dataclass(frozen=True, slots=True)
class SetMeasure:
    """A measure of two sets of features.

    Attributes:
        prepared: makes the statistic of the groups that are kept.
        lower: whether less is better; None: neither.
        least: how many pictures each side needs, of the number of features.
        prompts: how many prompts each side needs.
        range: its least and largest value.
    """

    prepared: Callable[[_Sets], Statistic]
    lower: bool | None
    least: Callable[[int], int]
    prompts: int = 1
    range: tuple[float, float] = (-math.inf, math.inf)


def _moments(groups: Sequence[Features], centre: Features) -> Callable[[Kept], tuple[Features, Features]]:
    """Return the function of groups that gives their mean and covariance."""
    counts = np.array([len(group) for group in groups])
    sums = np.array([(group - centre).sum(0) for group in groups])
    products = np.array([(group - centre).T @ (group - centre) for group in groups])

    def of(kept: Kept) -> tuple[Features, Features]:
        number = counts[kept].sum()
        mean = sums[kept].sum(0) / number
        return mean, (products[kept].sum(0) - number * np.outer(mean, mean)) / (number - 1)

    return of


def _frechet(sets: _Sets) -> Statistic:
    centre = np.concatenate(sets.base).mean(0)
    base, new = _moments(sets.base, centre), _moments(sets.new, centre)

    def of(kept: Kept) -> float:
        (mean_1, covariance_1), (mean_2, covariance_2) = base(kept), new(kept)
        values, vectors = np.linalg.eigh(covariance_1)
        root = vectors * np.sqrt(values.clip(0.0))
        shared = np.sqrt(np.linalg.eigvalsh(root.T @ covariance_2 @ root).clip(0.0)).sum()
        gap = mean_1 - mean_2
        return float(gap @ gap + np.trace(covariance_1) + np.trace(covariance_2) - 2.0 * shared)

    return of


def _frechet_infinity(sets: _Sets) -> Statistic:
    """Extrapolate in 1/n from halves and the whole; each half gives one line."""
    frechet = _frechet(sets)
    counts = np.array([len(base) + len(new) for base, new in zip(sets.base, sets.new, strict=True)])

    def of(kept: Kept) -> float:
        whole, number = frechet(kept), counts[kept].sum()
        lines = []
        for half in (half & kept for split in sets.splits for half in (split, ~split)):
            part = counts[half].sum()
            lines.append((number * whole - part * frechet(half)) / (number - part))
        return float(np.mean(lines))

    return of


def _kernel(of_pairs: Callable[[Features, Features], Features], scale: float = 1.0) -> Callable[[_Sets], Statistic]:
    """Return the squared maximum mean discrepancy of a kernel over pairs of rows of different prompts."""

    def prepared(sets: _Sets) -> Statistic:
        sides = [list(zip(rows, codes, strict=True)) for rows, codes in zip((sets.base, sets.new), sets.prompts, strict=True)]
        tables = [
            np.array([[_sum_and_count(of_pairs, one, two) for two in sides[second]] for one in sides[first]])
            for first, second in ((0, 0), (1, 1), (0, 1))
        ]

        def of(kept: Kept) -> float:
            block = np.ix_(kept, kept)
            base, new, across = (sums / count for sums, count in (table[block].sum((0, 1)) for table in tables))
            return float(scale * (base + new - 2.0 * across))

        return of

    return prepared


def _sum_and_count(
    of_pairs: Callable[[Features, Features], Features],
    one: tuple[Features, NDArray[np.int64]],
    two: tuple[Features, NDArray[np.int64]],
) -> tuple[float, int]:
    """Return a kernel's sum over pairs of rows of different prompts, and how many they are."""
    kernel = of_pairs(one[0], two[0])
    if not np.intersect1d(one[1], two[1]).size:
        return float(kernel.sum()), kernel.size
    different = one[1][:, None] != two[1][None]
    return float(kernel[different].sum()), int(different.sum())


def _cubic(one: Features, two: Features) -> Features:
    kernel: Features = (one @ two.T / one.shape[1] + 1.0) ** _DEGREE
    return kernel


def _gaussian(one: Features, two: Features) -> Features:
    return np.exp(-_squared_distances(one, two) / (2.0 * _WIDTH**2))


def _squared_distances(one: Features, two: Features) -> Features:
    squares = (one**2).sum(1)[:, None] + (two**2).sum(1)[None] - 2.0 * one @ two.T
    distances: Features = squares.clip(0.0)
    return distances


def _neighbours(of: Callable[[Features, Features, Features], float]) -> Callable[[_Sets], Statistic]:
    """Return the statistic of squared distances (base by new) and radii: each row's to its fifth neighbour in its own set."""

    def prepared(sets: _Sets) -> Statistic:
        base, new = np.concatenate(sets.base), np.concatenate(sets.new)
        codes = [np.repeat(np.arange(len(side)), [len(group) for group in side]) for side in (sets.base, sets.new)]
        within, across = [_squared_distances(side, side) for side in (base, new)], _squared_distances(base, new)
        for distances in within:
            np.fill_diagonal(distances, 0.0)

        def at(kept: Kept) -> float:
            rows = [kept[code] for code in codes]
            if min(row.sum() for row in rows) <= NEAREST:
                return math.nan
            radii = [np.partition(own[np.ix_(row, row)], NEAREST, 1)[:, NEAREST] for own, row in zip(within, rows, strict=True)]
            return float(of(across[np.ix_(*rows)], radii[0], radii[1]))

        return at

    return prepared


def vendi_score(features: Features) -> float:
    """Return how many pictures, all unlike each other, would be as diverse (Friedman and Dieng 2023, arXiv 2210.02410).

    Args:
        features: finite numbers, shape (n, d), one row per picture; pictures are as alike as the cosine of their rows.

    Example:
        >>> vendi_score(np.eye(3)), vendi_score(np.ones((3, 2)))
        (3.0, 1.0)
    """
    rows = _unit(features)
    return _effective_number(rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows, len(rows))


def _unit(features: Features) -> Features:
    rows: Features = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), np.finfo(float).tiny)
    return rows


def _effective_number(products: Features, count: int) -> float:
    shares = np.linalg.eigvalsh(products / count)
    shares = shares[shares > 0.0]
    return round(float(np.exp(-(shares * np.log(shares)).sum())), 12)


def _vendi(side: Callable[[_Sets], Sequence[Features]]) -> Callable[[_Sets], Statistic]:
    def prepared(sets: _Sets) -> Statistic:
        groups = [_unit(group) for group in side(sets)]
        products, counts = np.array([group.T @ group for group in groups]), np.array([len(group) for group in groups])
        return lambda kept: _effective_number(products[kept].sum(0), counts[kept].sum())

    return prepared


def _vendi_ratio(sets: _Sets) -> Statistic:
    new, base = (_vendi(side)(sets) for side in (lambda sets: sets.new, lambda sets: sets.base))
    return lambda kept: new(kept) / base(kept)


def _few(_: int) -> int:
    return 2 * (NEAREST + 1)


def _share(of: Callable[[Features, Features, Features], float]) -> SetMeasure:
    return SetMeasure(_neighbours(of), False, _few, range=(0.0, 1.0))


_AT_LEAST_0: Final = (0.0, math.inf)

SET_MEASURES: Final[Mapping[str, SetMeasure]] = {
    "fid": SetMeasure(_frechet, True, lambda width: width + 1, range=_AT_LEAST_0),
    "fid_infinity": SetMeasure(_frechet_infinity, True, lambda width: 4 * width, LEAST_PROMPTS),
    "kid": SetMeasure(_kernel(_cubic), True, _few),
    "cmmd": SetMeasure(_kernel(_gaussian, _SCALE), True, _few),
    "precision": _share(lambda d, base, _: (d < base[:, None]).any(0).mean()),
    "recall": _share(lambda d, _, new: (d < new[None]).any(1).mean()),
    "density": SetMeasure(
        _neighbours(lambda d, base, _: (d < base[:, None]).sum(0).mean() / NEAREST), False, _few, range=_AT_LEAST_0
    ),
    "coverage": _share(lambda d, base, _: (d.min(1) < base).mean()),
    "vendi": SetMeasure(_vendi(lambda sets: sets.new), False, _few, range=(1.0, math.inf)),
    "vendi_ratio": SetMeasure(_vendi_ratio, False, _few, range=_AT_LEAST_0),
    "vendi_base": SetMeasure(_vendi(lambda sets: sets.base), None, _few, range=(1.0, math.inf)),
}
"""By name; ``docs/pixels.md`` has their formulas."""
