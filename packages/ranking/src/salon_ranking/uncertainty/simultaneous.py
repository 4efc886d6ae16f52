"""Statements about all models at once: which pairs are certainly ordered, and the ranks that remain possible."""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.uncertainty.uncertainty import FEW_CLUSTERS, Uncertainty

Floats = NDArray[np.float64]


def certain(leagues: Sequence[Uncertainty], confidence: float, draws: int, seed: int) -> list[NDArray[np.bool_]]:
    """[i, j] of each league: θ_i > θ_j for certain. The chance of even one false entry in all leagues is below 1 - confidence.

    Step-down (Romano & Wolf 2005, doi:10.1111/j.1468-0262.2005.00615.x): all ordered pairs are held against the quantile
    of the largest of their studentized differences; those that exceed it are certain and leave the maximum, whose quantile
    falls, until no further pair exceeds it. Over several leagues, the largest stays below c as often as the product of the
    leagues' shares says where they are independent, and no less often where they share clusters (Gaussian correlation
    inequality: Royen 2014, arXiv:1408.1028). With fewer than 20 degrees of freedom, and over all looks of an anytime interval,
    differences count as independent (Šidák; the same inequality allows it).
    """
    errors = [each.difference_errors() * (math.nan if each.too_little(confidence) else 1.0) for each in leagues]
    inverse = [_inverse_of(error) for error in errors]
    drawn = [each.deviations(draws, seed) for each in leagues]
    gaps = [each.estimate[:, None] - each.estimate[None, :] for each in leagues]
    ratios = [each.normal_ratios(gap, error) for each, gap, error in zip(leagues, gaps, errors, strict=True)]
    settled = [np.zeros_like(gap, dtype=np.bool_) for gap in gaps]
    few = [each.anytime is not None or bool((each.all_degrees < FEW_CLUSTERS).any()) for each in leagues]
    largest = [_largest(*league) for league in zip(drawn, inverse, few, strict=True)]
    while True:
        quantile = _joint_quantile(largest, confidence)
        grown = []
        for number in range(len(leagues)):
            now = settled[number] | (ratios[number] > np.nan_to_num(quantile, nan=np.inf))
            np.fill_diagonal(now, False)
            if (now & ~settled[number]).any():
                grown.append(number)
                settled[number] = now
        if not grown:
            return settled
        for number in grown:
            largest[number] = _largest(drawn[number], np.where(settled[number], 0.0, inverse[number]), few[number])


def _largest(drawn: Floats, inverse: Floats, few: bool = False) -> Floats:
    """Return the largest studentized difference of every draw, ascending; none where no pair is known.

    ``few`` clusters do not say how differences go together: then they count as independent, which is Šidák's correction.
    """
    if few:
        pairs = np.count_nonzero(np.triu((inverse > 0.0) & (inverse.T > 0.0), 1))
        shares = (np.arange(len(drawn)) + 1.0) / (len(drawn) + 1.0)
        return np.array([NormalDist().inv_cdf(0.5 + 0.5 * share ** (1.0 / pairs)) for share in shares] if pairs else [])
    largest = _core.largest_gaps(np.ascontiguousarray(drawn), np.ascontiguousarray(inverse))
    return np.sort(largest[np.isfinite(largest)])


def _joint_quantile(largest: Sequence[Floats], confidence: float) -> float:
    """Return the least value that the largest of independent variables stays within with probability ``confidence``.

    Args:
        largest: draws of each variable, ascending; one without draws does not count.

    Example:
        >>> draws = np.arange(1.0, 101.0)
        >>> _joint_quantile([draws], 0.9), _joint_quantile([draws, draws], 0.9)
        (90.0, 95.0)
    """
    known = [draws for draws in largest if draws.size]
    if not known:
        return float("nan")
    values = np.unique(np.concatenate(known))
    share = np.ones(len(values))
    for draws in known:
        share *= np.searchsorted(draws, values, side="right") / len(draws)
    return float(values[np.searchsorted(share, confidence - 1e-12)])


def rank_intervals(
    leagues: Sequence[Uncertainty], confidence: float, draws: int, seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Best and worst rank of every model, which hold all true ranks of all leagues at once with probability ``confidence``.

    As many models of its league as are certainly above i (:func:`certain`), plus one, is its best rank, and as many as are not
    certainly below it is its worst (Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006). A pair without a
    standard error is certain of nothing.

    Returns:
        Per league, two arrays of shape (n,), from 1 to n.

    Example:
        >>> from salon_ranking.uncertainty.uncertainty import AnalyticUncertainty
        >>> apart = AnalyticUncertainty(np.arange(3), 2, np.array([5.0, 0.1, 0.0]), covariance=np.eye(3))
        >>> [ends.tolist() for ends in rank_intervals([apart], 0.95, draws=1000, seed=0)[0]]
        [[1, 2, 2], [1, 3, 3]]
    """
    return [(1 + one.sum(axis=0), len(one) - one.sum(axis=1)) for one in certain(leagues, confidence, draws, seed)]


def _inverse_of(errors: Floats) -> Floats:
    """1 over each error; 0 where that is not known."""
    known = np.isfinite(errors) & (errors > 0.0)
    return np.where(known, 1.0 / np.where(known, errors, 1.0), 0.0)
