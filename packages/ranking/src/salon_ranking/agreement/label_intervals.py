"""Intervals of agreement statistics by a bootstrap over things.

Things are drawn with replacement, each with all its labels: another sample of things from the same source, with the same
raters. Things with the same labels are exchangeable, so that counts of such profiles are drawn, and a replicate costs no more
than there are different profiles.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from salon_ranking.agreement._numbers import Floats
from salon_ranking.agreement.kappa import Weights
from salon_ranking.agreement.krippendorff import Level
from salon_ranking.uncertainty.quantiles import expanded_interval

Ends: TypeAlias = tuple[float | None, float | None]
_NONE: Ends = (None, None)
_FEWEST = 2
"""Things without which there is no interval."""


def kappa_interval(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    categories: int,
    *,
    weights: Weights,
    replicates: int,
    confidence: float,
    seed: int,
) -> Ends:
    """Return the interval of Cohen's κ.

    Args:
        first, second: shape (things,): codes of the two raters' labels, from 0 in the order of the categories.
        categories: how many there are.
        weights: of disagreements.
        replicates: of the bootstrap.
        confidence: between 0 and 1.
        seed: of the draws; the order of things does not matter.

    Returns:
        Both ends, between -1 and 1; None where too few replicates have a value.
    """
    if len(first) < _FEWEST:
        return _NONE
    cells, counts = np.unique(first * categories + second, return_counts=True)
    one, other = cells // categories, cells % categories
    drawn = _drawn(counts, replicates, seed)
    codes, size = np.arange(categories), float(len(first))
    mine, theirs = (drawn @ (each[:, None] == codes).astype(np.float64) for each in (one, other))
    steps = np.abs(one - other).astype(np.float64)
    if weights == "none":
        observed, expected = drawn @ (steps > 0), size - (mine * theirs).sum(axis=1) / size
    elif weights == "linear":
        below, under = (np.cumsum(each, axis=1) / size for each in (mine, theirs))
        observed, expected = drawn @ steps, size * (below * (1 - under) + under * (1 - below)).sum(axis=1)
    else:
        squares = ((mine + theirs) @ codes**2) - 2.0 * (mine @ codes) * (theirs @ codes) / size
        observed, expected = drawn @ steps**2, squares
    return _ends(observed, expected, size, len(first), confidence)


def alpha_interval(
    things: NDArray[np.int64], values: Floats, *, level: Level, replicates: int, confidence: float, seed: int
) -> Ends:
    """Return the interval of Krippendorff's α.

    Args:
        things: shape (ratings,): the number of the rated thing.
        values: shape (ratings,): the ratings.
        level: how values differ.
        replicates, confidence, seed: see :func:`kappa_interval`.

    Returns:
        Both ends, from -1 to 1; None where too few replicates have a value, or one thing alone was rated twice.
    """
    profiles = _Profiles.of(things, values, fewest=2)
    if profiles.counts.sum() < _FEWEST:
        return _NONE
    known = profiles.known / max(float(np.abs(profiles.known).max()), 1e-300)
    observed, expected = np.zeros(replicates + 1), np.zeros(replicates + 1)
    for number, drawn in enumerate(_drawn(profiles.counts, replicates, seed)):
        overall = profiles.overall(drawn)
        total = overall.sum()
        if level == "nominal":
            within, spread = profiles.unequal(), total**2 - (overall**2).sum()
        else:
            scale = known if level == "interval" else np.cumsum(overall) - overall / 2.0
            scale = scale - scale @ overall / total
            within, spread = profiles.squared(scale), 2.0 * total * (overall @ scale**2)
        observed[number] = (drawn * within / (profiles.ratings - 1.0)).sum() / total
        expected[number] = spread / (total * (total - 1.0))
    return _ends(observed, expected, 1.0, int(profiles.counts.sum()), confidence)


def fleiss_interval(
    things: NDArray[np.int64], labels: NDArray[np.int64], *, replicates: int, confidence: float, seed: int
) -> Ends:
    """Return the interval of Fleiss' κ; arguments and result as for :func:`alpha_interval`."""
    profiles = _Profiles.of(things, labels.astype(np.float64), fewest=1)
    if profiles.counts.sum() < _FEWEST:
        return _NONE
    raters = float(profiles.ratings[0])
    unequal = profiles.unequal() / (raters * (raters - 1.0))
    observed, expected = np.zeros(replicates + 1), np.zeros(replicates + 1)
    for number, drawn in enumerate(_drawn(profiles.counts, replicates, seed)):
        shares = profiles.overall(drawn) / (drawn.sum() * raters)
        observed[number], expected[number] = drawn @ unequal / drawn.sum(), 1.0 - (shares**2).sum()
    return _ends(observed, expected, 1.0, int(profiles.counts.sum()), confidence)


class _Profiles:
    """The different sets of labels that things have.

    ``counts`` says how many things have each; ``ratings`` how many labels it has. An entry is a label of a profile: its
    ``profile``, its ``code`` among the ``known`` values, and ``times``.
    """

    def __init__(self, counts: Floats, known: Floats, table: "NDArray[np.int64]", offsets: "NDArray[np.int64]") -> None:
        self.counts, self.known = counts, known
        self.profile = np.repeat(np.arange(len(counts)), np.diff(offsets))
        self.code, times = table
        self.times = times.astype(np.float64)
        self.ratings = _counted(self.profile, self.times, len(counts))

    @classmethod
    def of(cls, things: NDArray[np.int64], values: Floats, *, fewest: int) -> "_Profiles":
        """Group things with at least ``fewest`` labels by what they were labelled."""
        known, code = np.unique(values, return_inverse=True)
        counts: dict[tuple[int, ...], int] = {}
        order = np.lexsort((code, things))
        ends = np.flatnonzero(np.diff(things[order])) + 1
        for labels in np.split(code[order], ends):
            if len(labels) >= fewest:
                counts[tuple(labels.tolist())] = counts.get(tuple(labels.tolist()), 0) + 1
        profiles = sorted(counts)
        entries = [np.unique(each, return_counts=True) for each in profiles]
        table = np.hstack([np.vstack(each) for each in entries]) if entries else np.zeros((2, 0), dtype=np.int64)
        offsets = np.cumsum([0, *(len(codes) for codes, _ in entries)])
        return cls(np.array([counts[each] for each in profiles], dtype=np.float64), known, table, offsets)

    def overall(self, drawn: Floats) -> Floats:
        """Return how often each known value occurs among the drawn things."""
        return _counted(self.code, drawn[self.profile] * self.times, len(self.known))

    def unequal(self) -> Floats:
        """Return the ordered pairs of unequal labels within each profile."""
        return self.ratings**2 - _counted(self.profile, self.times**2, len(self.counts))

    def squared(self, scale: Floats) -> Floats:
        """Return the sums of squared distances over ordered pairs within each profile; ``scale`` has the known values."""
        value = scale[self.code]
        first, second = (_counted(self.profile, self.times * value**power, len(self.counts)) for power in (1, 2))
        squares: Floats = 2.0 * np.maximum(self.ratings * second - first**2, 0.0)
        return squares


def _counted(codes: NDArray[np.int64], weights: Floats, most: int) -> Floats:
    """Return the sum of the weights of each code."""
    return np.bincount(codes, weights, minlength=most).astype(np.float64)


def _drawn(counts: "NDArray[np.int64] | Floats", replicates: int, seed: int) -> Floats:
    """Return how often each profile occurs, and was drawn in each replicate, shape (1 + replicates, profiles)."""
    size = int(counts.sum())
    drawn = np.random.default_rng(seed).multinomial(size, counts / size, size=replicates)
    return np.vstack([counts, drawn]).astype(np.float64)


def _ends(observed: Floats, expected: Floats, unit: float, things: int, confidence: float) -> Ends:
    """Return the interval of 1 - observed / expected; the first row is the estimate.

    Replicates in which chance explains everything have no value.
    """
    defined = expected > 1e-12 * unit
    estimate, *drawn = np.where(defined, 1.0 - observed / np.where(defined, expected, 1.0), np.nan)
    values = np.array(drawn)
    low, high = expanded_interval(values[:, None], np.array([estimate]), things, confidence)
    if np.isnan(low[0]) or np.isnan(high[0]):
        return _NONE
    return max(float(low[0]), -1.0), min(float(high[0]), 1.0)
