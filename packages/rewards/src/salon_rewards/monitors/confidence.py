"""How sure a share or a mean is: what keeps a small batch from ringing the bell.

Samples of one picture resemble each other, so evidence counts pictures, not completions.
"""

import math
from collections.abc import Hashable, Iterable
from statistics import fmean, stdev

Z = 2.576
"""One-sided 0.005: a run of 200 steps whose policy sits exactly on the baseline crosses it about once."""
FEWEST_GROUPS = 4
"""Of fewer pictures a mean has no spread worth the name."""


def wilson_lower(share: float, trials: int, z: float = Z) -> float:
    """The lower end of Wilson's interval for a share of so many independent trials; 0 for no trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference" (1927).

    Args:
        share: successes over trials, 0 to 1; need not be a whole number of successes.
        trials: how many independent trials, here pictures.
        z: how many standard errors.

    Example:
        >>> wilson_lower(1.0, 4) < 0.5 < wilson_lower(1.0, 8)
        True
    """
    if not trials:
        return 0.0
    square = z * z
    middle = share + square / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    return max(0.0, (middle - spread) / (1 + square / trials))


def mean_lower(values: Iterable[tuple[Hashable, float]], z: float = Z) -> float:
    """Return the lower end of a mean over groups, from their spread; minus infinity for too few groups.

    Args:
        values: pairs of a group and a number.
        z: how many standard errors.

    Example:
        >>> mean_lower([("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 2.0)])
        2.0
    """
    groups: dict[Hashable, list[float]] = {}
    for group, value in values:
        groups.setdefault(group, []).append(value)
    if len(groups) < FEWEST_GROUPS:
        return -math.inf
    means = [fmean(group) for group in groups.values()]
    return fmean(means) - z * stdev(means) / math.sqrt(len(means))
