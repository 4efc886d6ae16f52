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
    largest = float(np.abs(gaps).max())
    spread = largest * float(np.std(gaps / largest, ddof=1)) if largest else 0.0  # of tiny values squares would vanish
    error, degrees = spread / math.sqrt(count), count - 1.0
    reach = two_sided_quantile(2.0 * level, degrees)
    below, above = _hall(gaps, spread, reach)
    low, high = result["difference"] - error * max(reach, below), result["difference"] + error * max(reach, above)
    changed, fell = np.count_nonzero(gaps), int(np.count_nonzero(gaps < 0.0))
    if changed < FEW_CHANGES:
        rose = int(changed) - fell
        low, high = min(low, -size * highest_share(fell, count, level)), max(high, size * highest_share(rose, count, level))
    elif error > 0.0:
        ratio = (result["difference"] + margin) / error
        tail = 0.5 * float(two_sided_tail(np.array(min(abs(ratio), 1e100)), degrees))
        result["p_worse"] = tail if ratio < 0.0 else 1.0 - tail
    low -= measure.silence * float(pairs["silent"].sum()) / pairs.height
    shares = (int(changed) / count, fell / count)
    result |= {"low": low, "high": high, "needed": _needed(measure, result["difference"], spread, shares, level)}
    if unscored > MOST_UNSCORED * pairs.height:
        return result
    result["verdict"] = "better" if low > 0.0 else "not worse" if low > -margin else "worse" if high < -margin else "cannot say"
    return result


def _needed(measure: PairedMeasure, difference: float, spread: float, shares: tuple[float, float], level: float) -> int | None:
    """Return how many prompts an equal build would need, and of a limit how many this one: to pass with the power."""
    limited = measure.rule.limit is not None
    apart = measure.margin + difference if limited else measure.margin
    if apart <= 0.0:
        return None
    reaches = (NormalDist().inv_cdf(1.0 - level) + NormalDist().inv_cdf(POWER)) * spread / apart
    enough = least_units(1.0 - 2.0 * level, clustered=True) if limited else math.inf
    if not limited:
        changed, fell = shares
        few = FEW_CHANGES / changed if changed else math.inf
        enough = min(few, _exact_needed(fell, measure.size, measure.margin, level))
    needed = max(math.ceil(min(reaches, 1e9) ** 2), enough)
    return math.ceil(needed) if needed < MOST_NEEDED else None


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


def _exact_needed(fall: float, size: float, margin: float, level: float) -> float:
    """Return how many prompts bring the exact low end above -margin; infinite if no number does."""
    if fall * size >= margin:
        return math.inf
    count = FEW_CHANGES
    reach = NormalDist().inv_cdf(POWER)
    while count < MOST_NEEDED:
        fallen = fall * count + reach * math.sqrt(fall * count)  # no more of them fall with the power
        if size * highest_share(math.ceil(fallen), count, level) < margin:
            break
        count = math.ceil(1.05 * count)
    return float(count)
