"""One measure's verdict, from the differences of its prompts: one-sided ends, and how many prompts would be enough."""

import math
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from salon_bench.analysis.gate.pairing import PairedMeasure
from salon_ranking.uncertainty.proportions import highest_share
from salon_ranking.uncertainty.quantiles import least_units
from salon_ranking.uncertainty.student import two_sided_quantile, two_sided_tail

PASSING: Final = ("better", "not worse")
POWER: Final = 0.8
"""With which an equal build shall pass, for the column of prompts."""
MOST_UNSCORED: Final = 0.05
"""Share of prompts without a verdict on either side up to which a measure can say anything."""
FEW_CHANGES: Final = 20
"""Prompts that changed below which an end is no nearer than the exact one."""
MOST_NEEDED: Final = 10_000_000
_NO_SKEW: Final = 1e-6


def judged(measure: PairedMeasure, level: float) -> dict[str, Any]:
    """Return the cells of a measure's row; ``level`` is that of each end."""
    pairs, margin, size = measure.pairs, measure.margin, measure.size
    known = pairs.drop_nulls(["base", "new"])
    count, unscored = known.height, pairs.height - known.height
    sign = -1.0 if measure.lower else 1.0
    gaps = sign * (known["new"] - known["base"]).to_numpy()
    result: dict[str, Any] = {
        "verdict": "cannot say",
        "base": known["base"].mean(),
        "new": known["new"].mean(),
        "difference": math.fsum(gaps) / count if count else None,
        "low": None,
        "high": None,
        "margin": margin,
        "prompts": count,
        "unscored": unscored,
        "p_worse": math.nan,
        "needed": None,
    }
    least = least_units(1.0 - 2.0 * level, clustered=True)
    if count < least:
        return result
    spread, changed, fell = spread_of(gaps), int(np.count_nonzero(gaps)), int(np.count_nonzero(gaps < 0.0))
    low, high = one_sided_ends(gaps, size, level, may_rise=measure.rule.limit is None)
    if changed >= FEW_CHANGES and spread > 0.0:
        ratio = (result["difference"] + margin) / (spread / math.sqrt(count))
        tail = 0.5 * float(two_sided_tail(np.array(min(abs(ratio), 1e100)), count - 1.0))
        result["p_worse"] = tail if ratio < 0.0 else 1.0 - tail
    low -= measure.silence * float(pairs["silent"].sum()) / pairs.height
    if measure.rule.limit is None:
        needed = prompts_needed(spread, changed / count, fell / count, size, margin, level)
    else:
        needed = prompts_reached(spread, margin + result["difference"], level)
        if changed and size > margin:  # below so many changes an end is the exact one
            needed = max(needed, FEW_CHANGES * count / changed)
    result |= {"low": low, "high": high, "needed": math.ceil(needed) if needed < MOST_NEEDED else None}
    if unscored > MOST_UNSCORED * pairs.height:
        return result
    result["verdict"] = "better" if low > 0.0 else "not worse" if low > -margin else "worse" if high < -margin else "cannot say"
    return result


def one_sided_ends(gaps: NDArray[np.float64], size: float, level: float, *, may_rise: bool = True) -> tuple[float, float]:
    """Return the ends of the mean of differences, each one-sided at the level.

    Args:
        gaps: a difference for each prompt, at least 2.
        size: how much a prompt can change at most.
        level: the chance that an end misses.
        may_rise: whether a difference can be above 0.

    Example:
        >>> low, high = one_sided_ends(np.tile([-1.0, 1.0], 50), 1.0, 0.05)
        >>> round(low, 4), round(high, 4)
        (-0.1669, 0.1669)
    """
    count = len(gaps)
    difference, spread = math.fsum(gaps) / count, spread_of(gaps)
    error, reach = spread / math.sqrt(count), two_sided_quantile(2.0 * level, count - 1.0)
    below, above = _hall(gaps, spread, reach)
    low, high = difference - error * max(reach, below), difference + error * max(reach, above)
    changed, fell = int(np.count_nonzero(gaps)), int(np.count_nonzero(gaps < 0.0))
    if changed < FEW_CHANGES:
        rose = changed - fell
        low = min(low, -size * highest_share(fell, count, level))
        high = max(high, size * highest_share(rose, count, level)) if may_rise else min(high, 0.0)
    return low, high


def spread_of(gaps: NDArray[np.float64]) -> float:
    """Return the standard deviation of differences, also of tiny ones, whose squares would vanish."""
    largest = float(np.abs(gaps).max())
    return largest * float(np.std(gaps / largest, ddof=1)) if largest else 0.0


def prompts_needed(
    spread: float, changed: float, fell: float, size: float, margin: float, level: float, power: float = POWER
) -> float:
    """Return how many prompts an equal build takes to pass with the power; infinite where no number does.

    Args:
        spread: the standard deviation of differences.
        changed, fell: the shares of prompts that changed and that fell.
        size: how much a prompt can change at most.
        margin: how much worse is allowed.
        level: of an end.
        power: between 0.5 and 1.

    Example:
        >>> prompts_needed(1.0, 1.0, 0.5, 5.0, 0.5, 0.05)
        25
    """
    enough = min(FEW_CHANGES / changed if changed else math.inf, _exact_needed(fell, size, margin, level, power))
    return max(prompts_reached(spread, margin, level, power), enough)


def prompts_reached(spread: float, apart: float, level: float, power: float = POWER) -> float:
    """Return how many prompts show, with the power, on which side of a value a mean is that lies so far from it.

    Args:
        spread: the standard deviation of differences.
        apart: how far the mean is; at most 0: infinitely many.
        level: of an end.
        power: between 0.5 and 1.

    Example:
        >>> prompts_reached(1.0, 0.5, 0.05)
        25
    """
    if apart <= 0.0:
        return math.inf
    reaches = (NormalDist().inv_cdf(1.0 - level) + NormalDist().inv_cdf(power)) * spread / apart
    return max(least_units(1.0 - 2.0 * level, clustered=True), math.ceil(min(reaches, 1e9) ** 2))


def _hall(gaps: NDArray[np.float64], spread: float, reach: float) -> tuple[float, float]:
    """Return how many standard errors Hall's ends lie below and above the mean."""
    if not spread > 0.0:
        return 0.0, 0.0
    root = math.sqrt(len(gaps))
    skew = float(np.mean(((gaps - gaps.mean()) / spread) ** 3))
    if abs(skew) < _NO_SKEW:
        return reach, reach

    def turned(quantile: float) -> float:
        inner = 1.0 + skew * (quantile / root - skew / (6.0 * len(gaps)))
        return root * 3.0 / skew * (math.copysign(abs(inner) ** (1.0 / 3.0), inner) - 1.0)

    return turned(reach), -turned(-reach)


def _exact_needed(fall: float, size: float, margin: float, level: float, power: float) -> float:
    """Return how many prompts bring the exact low end above -margin; infinite if no number does."""
    if fall * size >= margin:
        return math.inf
    count = FEW_CHANGES
    reach = NormalDist().inv_cdf(power)
    while count < MOST_NEEDED:
        fallen = fall * count + reach * math.sqrt(fall * count)  # no more of them fall with the power
        if size * highest_share(math.ceil(fallen), count, level) < margin:
            break
        count = math.ceil(1.05 * count)
    return float(count)
