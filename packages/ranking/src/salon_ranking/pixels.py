"""Measures of how far two pictures of one size are apart, pixel by pixel, on the Rust core.

Pictures are arrays of 8-bit red, green and blue, shape (height, width, 3). Every measure is the same in both orders of the
pictures and on any number of threads, bit for bit.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.options import Threads, workers
from salon_taxonomy.errors import InputError

DATA_RANGE: Final = 255.0
"""The largest value of a channel, in PSNR and in the constants of SSIM."""
WINDOW: Final = 11
"""Height and width of SSIM's Gaussian window, whose standard deviation is 1.5 pixels."""
LEAST_SIDE: Final = 176
"""The least height and width for MS-SSIM: the window at a sixteenth of the size."""


def psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """Return the peak signal-to-noise ratio of two pictures in decibels; infinite where they are equal.

    10 log₁₀(255² / MSE), MSE over all pixels and channels. Equals ``peak_signal_noise_ratio(…, data_range=255)`` of
    scikit-image and of torchmetrics.

    Args:
        a: 8-bit RGB, shape (height, width, 3).
        b: of the same size.

    Raises:
        InputError: an array is no 8-bit RGB picture, is empty, or the sizes differ.

    Example:
        >>> grey = np.full((16, 16, 3), 100, np.uint8)
        >>> round(psnr(grey, grey + np.uint8(2)), 2), psnr(grey, grey)
        (42.11, inf)
    """
    a, b = _pictures(a, b)
    squared = _core.squared_error(a, b)
    return 10.0 * math.log10(DATA_RANGE**2 * a.size / squared) if squared else math.inf


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8], *, threads: Threads | None = None) -> float:
    """Return the mean structural similarity of two pictures, at most 1.

    Wang, Bovik, Sheikh and Simoncelli 2004 (doi:10.1109/TIP.2003.819861): a Gaussian window of 11 × 11 pixels with σ = 1.5,
    K₁ = 0.01, K₂ = 0.03, data range 255, variances without Bessel's correction. The mean is over all places at which the window
    lies within the pictures, nothing padded, and over the three channels. Equals scikit-image's ``structural_similarity(…,
    data_range=255, channel_axis=2, gaussian_weights=True, sigma=1.5, use_sample_covariance=False)``. torchmetrics pads pictures
    by reflection: its ``return_full_image=True`` without the five outer rows and columns has this mean.

    Args:
        a: 8-bit RGB, shape (height, width, 3), 11 pixels or more in height and width.
        b: of the same size.
        threads: by default all processors that this process may use; the result does not depend on it.

    Raises:
        InputError: an array is no 8-bit RGB picture, the sizes differ, or a picture is smaller than the window.

    Example:
        >>> ramp = np.tile(np.arange(32, dtype=np.uint8)[:, None, None] * 8, (1, 32, 3))
        >>> round(ssim(ramp, 255 - ramp), 4), ssim(ramp, ramp)
        (-0.4962, 1.0)
    """
    return _core.similarity(*_pictures(a, b, least=WINDOW), workers(threads))


def ms_ssim(a: NDArray[np.uint8], b: NDArray[np.uint8], *, threads: Threads | None = None) -> float:
    """Return the structural similarity of two pictures over five scales, 0 to 1.

    Wang, Simoncelli and Bovik 2003 (doi:10.1109/ACSSC.2003.1292216): contrast and structure at each scale, the whole
    similarity at the coarsest, to the exponents 0.0448, 0.2856, 0.3001, 0.2363 and 0.1333, multiplied. From scale to scale
    pictures are halved by means of 2 × 2 pixels; an odd last row or column is left out. Window, constants and places are those
    of :func:`ssim`; channels are averaged at each scale, and a negative mean counts as 0. torchmetrics (``normalize="relu"``)
    computes the same, except that at the coarsest scale it pads by reflection.

    Args:
        a: 8-bit RGB, shape (height, width, 3), 176 pixels or more in height and width.
        b: of the same size.
        threads: by default all processors that this process may use; the result does not depend on it.

    Raises:
        InputError: an array is no 8-bit RGB picture, the sizes differ, or a picture is too small for five scales.

    Example:
        >>> ramp = np.tile(np.arange(180, dtype=np.uint8)[:, None, None], (1, 180, 3))
        >>> round(ms_ssim(ramp, ramp // 2), 4)
        0.8754
    """
    return _core.multiscale_similarity(*_pictures(a, b, least=LEAST_SIDE), workers(threads))


def colour_difference(a: NDArray[np.uint8], b: NDArray[np.uint8], *, threads: Threads | None = None) -> float:
    """Return the mean colour difference of two sRGB pictures, CIEDE2000; 0 where they are equal, about 1 where just visible.

    Sharma, Wu and Dalal 2005 (doi:10.1002/col.20070), with kL = kC = kH = 1, D65 and the observer of 1931. Equals the mean of
    scikit-image's ``deltaE_ciede2000(rgb2lab(a), rgb2lab(b))``.

    Args:
        a: 8-bit sRGB, shape (height, width, 3).
        b: of the same size.
        threads: by default all processors that this process may use; the result does not depend on it.

    Raises:
        InputError: an array is no 8-bit RGB picture, is empty, or the sizes differ.

    Example:
        >>> red = np.full((4, 4, 3), (200, 30, 30), np.uint8)
        >>> round(colour_difference(red, np.full((4, 4, 3), (200, 40, 30), np.uint8)), 2)
        1.41
    """
    return _core.colour_difference(*_pictures(a, b), workers(threads))


def _pictures(a: Any, b: Any, *, least: int = 1) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    for name, picture in (("a", a), ("b", b)):
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
            kind = f"{picture.dtype} {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
            raise InputError(
                "must be 8-bit RGB, an array of uint8 with the shape (height, width, 3), not", key=name, value=kind
            )
    sizes = [f"{picture.shape[1]}x{picture.shape[0]}" for picture in (a, b)]
    if a.shape != b.shape:
        raise InputError(f"sizes differ: {sizes[0]} and {sizes[1]}")
    if min(a.shape[:2]) < least:
        raise InputError(f"a picture needs {least} pixels or more in height and width, not {sizes[0]}")
    return np.ascontiguousarray(a), np.ascontiguousarray(b)
