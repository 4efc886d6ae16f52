"""Groups of 64-bit hashes that differ in few bits, exactly, on the Rust core."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking import _core
from salon_taxonomy.errors import InputError

MOST_BITS = 7


def near_duplicates(hashes: ArrayLike, distance: int = 3) -> NDArray[np.uint32]:
    """Return the smallest index of each hash's group, shape (n,).

    A group is a connected component of "differs in at most ``distance`` bits": its ends may differ in more. All pairs are
    found, by multi-index hashing (Norouzi, Punjani and Fleet 2012, doi:10.1109/CVPR.2012.6248043).

    Args:
        hashes: shape (n,), 64-bit unsigned integers.
        distance: 0 to 7 bits.

    Raises:
        InputError: the hashes are not 64-bit unsigned integers in one dimension, or the distance is out of its range.

    Example:
        >>> near_duplicates(np.array([0b1111, 0b0000, 0b1110, 0b1100], dtype=np.uint64), distance=1).tolist()
        [0, 1, 0, 0]
    """
    array = np.ascontiguousarray(hashes)
    if array.dtype != np.uint64 or array.ndim != 1:
        raise InputError("must be 64-bit unsigned integers in one dimension, not", column="hashes", value=str(array.dtype))
    if not 0 <= distance <= MOST_BITS:
        raise InputError(f"must be 0 to {MOST_BITS} bits, not", column="distance", value=distance)
    return _core.near_duplicates(array, distance)
