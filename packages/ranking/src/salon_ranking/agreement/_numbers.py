"""Conversion to arrays of finite numbers, with an error that names the first other value."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon_ranking.agreement.errors import AgreementError, UndefinedError

Floats: TypeAlias = NDArray[np.float64]


def numbers(values: ArrayLike, name: str, *, dimensions: int = 1, missing: bool = False) -> Floats:
    """Return the values as float64.

    Args:
        name: what an error calls them.
        dimensions: 1 for a list, 2 for a table.
        missing: whether NaN and None are allowed, as missing values.

    Raises:
        AgreementError: another number of dimensions, text, an infinity, or NaN where nothing may be missing.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(value, str | bytes) for value in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise AgreementError("must be numbers, all rows of one length:", source=name, value=str(error)) from error
    if array.dtype.kind not in "biuf":
        raise AgreementError("must be numbers, not", source=name, value=str(array.dtype))
    if array.ndim != dimensions:
        raise AgreementError(f"must have {dimensions} dimension(s), not", source=name, value=array.ndim)
    result = array.astype(np.float64)
    wrong = np.isinf(result) if missing else ~np.isfinite(result)
    if wrong.any():
        position = tuple(int(i) for i in np.argwhere(wrong)[0])
        hint = "Leave out what is not known, in both lists." if np.isnan(result[position]) else None
        raise AgreementError("not a finite number:", source=name, row=position[0] + 1, value=float(result[position]), hint=hint)
    return result


def pair(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Return two lists as arrays of equal length.

    Raises:
        AgreementError: as :func:`numbers`, or unequal lengths.
        UndefinedError: fewer than two pairs.
    """
    x, y = numbers(first, "first"), numbers(second, "second")
    if len(x) != len(y):
        raise AgreementError("the lists have different lengths:", value=(len(x), len(y)))
    if len(x) < 2:
        raise UndefinedError("at least two pairs are needed, not", value=len(x))
    return x, y
