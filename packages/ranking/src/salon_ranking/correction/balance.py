"""Whether the battles that people voted on look like a random part of those that the judge decided."""

import math
from collections.abc import Sequence

import numpy as np

from salon_ranking.correction.pairing import Floats, Paired
from salon_ranking.uncertainty.multiple_testing import holm

_SIGNIFICANT = 0.001
"""After Holm's correction over two tests per model; one to three boards of a thousand warn of a random part."""


def imbalances(both: Paired) -> list[str]:
    """Return what differs between the voted battles and a random part of as many: one sentence per model and kind.

    Of each model, how many of the voted battles it is in, and the judge's scores of it there, are held against drawing without
    replacement; the errors are normal, so a model of few battles is judged mildly.
    """
    voted = np.zeros(len(both.judged))
    voted[both.battle] = 1.0
    battles, drawn = len(voted), voted.sum()
    texts, errors = [], []
    ones, won = np.ones(battles), np.stack([both.judged, 1.0 - both.judged])
    met, met_voted = _sums(both, ones, ones), _sums(both, voted, voted)
    total, seen, squares = _sums(both, *won), _sums(both, *(voted * won)), _sums(both, *won**2)
    for number, model in enumerate(both.models):
        share, mean = met[number] / battles, total[number] / met[number]
        spread = squares[number] / met[number] - mean**2
        p_value = by_chance(met_voted[number] / drawn - share, share * (1.0 - share), battles, drawn)
        texts.append(f"{model} is in {met_voted[number] / drawn:.0%} of the voted battles and in {share:.0%} of all")
        errors.append(p_value)
        part = seen[number] / max(met_voted[number], 1.0)
        texts.append(f"the judge gives {model} {part:.0%} of its voted battles and {mean:.0%} of all")
        errors.append(by_chance(part - mean, spread, met[number], met_voted[number]))
    return unlikely(texts, errors)


def unlikely(texts: Sequence[str], p_values: Sequence[float]) -> list[str]:
    """Return the texts whose p-value is significant after Holm's correction over all."""
    return [text for text, p_value in zip(texts, holm(p_values), strict=True) if p_value < _SIGNIFICANT]


def _sums(both: Paired, of_first: Floats, of_second: Floats) -> Floats:
    models = len(both.models)
    return np.asarray(np.bincount(both.first, of_first, models) + np.bincount(both.second, of_second, models))


def by_chance(difference: float, variance: float, count: float, drawn: float) -> float:
    """Return the p-value of a difference of means, where some of ``count`` values are drawn without replacement."""
    error = math.sqrt(max(variance * (count - drawn) / max(count - 1.0, 1.0) / max(drawn, 1.0), 0.0))
    return math.erfc(abs(difference) / error / math.sqrt(2.0)) if error > 1e-12 else 1.0
