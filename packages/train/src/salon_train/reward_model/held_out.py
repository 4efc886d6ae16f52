"""How well a reward model tells what people chose, on pairs that it never learned from."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from salon_ranking.uncertainty.means import ratio_with_interval
from salon_train.data.preferences import Preference

_BINS: Final = 10


def held_out_numbers(pairs: Sequence[Preference], gaps: ArrayLike, chances: ArrayLike) -> dict[str, float | None]:
    """Return accuracy and calibration; null where there is nothing to measure.

    Args:
        pairs: held out.
        gaps: the reward of the chosen picture less that of the rejected, shape (pairs,).
        chances: of a vote for the chosen, for the rejected, and a tie, shape (pairs, 3).

    Returns:
        ``pairs`` (that more votes chose than rejected); ``accuracy``, their share in which the chosen picture has the higher
        reward, equal rewards one half, with ``accuracy_low`` and ``accuracy_high`` (95%, Student's t over prompts);
        ``accuracy_clear`` and its interval, of those in which no vote was for the other; ``ece``, expected calibration error in
        ten bins of the chance of the picture that the model prefers, against the share of votes for it (Guo et al. 2017, arXiv
        1706.04599); ``log_loss``, the mean of -log of the chance of a pair's votes; where a tie has no chance, it is half a
        vote for either.

    Example:
        >>> from pathlib import Path
        >>> pair = Preference("a cat", Path("1.png"), Path("2.png"), (3.0, 1.0, 0.0), "test")
        >>> held_out_numbers([pair], [0.5], [[0.7, 0.3, 0.0]])["accuracy"]
        1.0
    """
    votes, gap = np.array([pair.votes for pair in pairs], np.float64).reshape(-1, 3), np.asarray(gaps, np.float64)
    told = np.asarray(chances, np.float64).reshape(-1, 3)
    right = np.where(gap == 0.0, 0.5, (gap > 0.0).astype(np.float64))
    decided, clear = votes[:, 0] > votes[:, 1], (votes[:, 1] == 0.0) & (votes[:, 0] > 0.0)
    prompts = np.unique([pair.prompt for pair in pairs], return_inverse=True)[1]
    shares = [_share(right[among], prompts[among]) for among in (decided, clear)]
    decisive = votes[:, 0] + votes[:, 1]
    halves = np.where(told[:, 2] > 0.0, 0.0, votes[:, 2] / 2.0)
    learned = votes + np.column_stack([halves, halves, -2.0 * halves])
    return {
        "pairs": float(decided.sum()),
        **dict(zip(("accuracy", "accuracy_low", "accuracy_high"), shares[0], strict=True)),
        **dict(zip(("accuracy_clear", "accuracy_clear_low", "accuracy_clear_high"), shares[1], strict=True)),
        "ece": _calibration_error(votes[decisive > 0], told[decisive > 0]) if (decisive > 0).any() else None,
        "log_loss": float(-((learned * np.log(np.maximum(told, 1e-12))).sum(1) / votes.sum(1)).mean()) if len(votes) else None,
    }


def _share(right: np.ndarray, prompts: np.ndarray) -> tuple[float | None, float | None, float | None]:
    """Return the mean and its 95% interval by Student's t over prompts."""
    if not len(right):
        return None, None, None
    sums = np.column_stack([np.bincount(prompts, right), np.bincount(prompts)]).astype(np.float64)
    share, (low, high) = ratio_with_interval(sums[sums[:, 1] > 0], within=(0.0, 1.0))
    return share, low, high


def _calibration_error(votes: np.ndarray, told: np.ndarray) -> float:
    """Of votes that were no ties; a chance of one half is even between the two."""
    first = told[:, 0] / (told[:, 0] + told[:, 1])
    chance, share = np.maximum(first, 1.0 - first), votes[:, 0] / (votes[:, 0] + votes[:, 1])
    share = np.where(first == 0.5, 0.5, np.where(first > 0.5, share, 1.0 - share))
    weight = votes[:, 0] + votes[:, 1]
    bins = np.minimum((chance * _BINS).astype(np.int64), _BINS - 1)
    sums = [np.bincount(bins, weight * each, _BINS) for each in (chance, share)]
    return float(np.abs(sums[0] - sums[1]).sum() / weight.sum())
