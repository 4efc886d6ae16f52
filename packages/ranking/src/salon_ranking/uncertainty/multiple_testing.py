"""Many tests at once, with NumPy alone.

Holm's correction holds the chance of even one wrong claim, Benjamini and Hochberg's the expected share of wrong ones.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.options import shaped

Floats = NDArray[np.float64]


@shaped(p_values="p")
def holm(p_values: ArrayLike) -> Floats:
    """Return p-values corrected by Holm's step-down method (1979), in the given order; NaN stays NaN.

    Example:
        >>> holm([0.01, 0.04, 0.03, float("nan")]).round(3).tolist()
        [0.03, 0.06, 0.06, nan]
    """
    array = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(array.shape, np.nan)
    known = np.flatnonzero(~np.isnan(array))
    order = known[np.argsort(array[known], kind="stable")]
    stepped = np.maximum.accumulate(array[order] * np.arange(len(order), 0, -1))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


@shaped(p_values="p")
def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Return p-values corrected by Benjamini and Hochberg's step-up method (1995), in the given order; NaN stays NaN.

    Of the claims at a corrected p below q at most a share of q is expected to be wrong; of positively dependent tests,
    as differences of models do (Benjamini and Yekutieli 2001, theorem 1.2).

    Example:
        >>> benjamini_hochberg([0.01, 0.04, 0.03, float("nan")]).round(3).tolist()
        [0.03, 0.04, 0.04, nan]
    """
    array = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(array.shape, np.nan)
    known = np.flatnonzero(~np.isnan(array))
    order = known[np.argsort(-array[known], kind="stable")]
    count = len(order)
    corrected[order] = np.minimum.accumulate(array[order] * (count / np.arange(count, 0, -1)))
    return corrected
