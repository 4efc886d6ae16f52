"""The readable twin of the Rust core's paired bootstrap. Tests hold it against the core; nothing else uses it."""

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core

Floats = NDArray[np.float64]


def paired_differences(scores: Floats, replicates: int, seed: int) -> Floats:
    """As ``_core.paired_differences``, shape (replicates, pairs), on the very items that the core draws."""
    first, second = np.triu_indices(scores.shape[1], k=1)
    differences = scores[:, first] - scores[:, second]
    found = np.empty((replicates, len(first)))
    for index in range(replicates):
        drawn = np.repeat(differences, _core.drawn_items(len(scores), seed, index).astype(np.int64), axis=0)
        common = ~np.isnan(drawn)
        with np.errstate(invalid="ignore"):
            found[index] = np.where(common, drawn, 0.0).sum(axis=0) / common.sum(axis=0)
    return found
