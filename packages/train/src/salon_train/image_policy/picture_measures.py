"""Numbers of a step's pictures: what the monitors of ``salon train image`` compare with the first steps."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.float32]
"""Shape (pictures, 3, height, width), values from 0 to 1."""

_CROP: Final = 256
_SIDE: Final = 32
_LAYOUT: Final = 8
_CELLS: Final = 64
_MOST_COMPARED: Final = 32
"""Pictures of a step that are laid over each other at every shift."""
_FINE: Final = 0.25
"""Cycles per pixel from which a frequency is high."""
_TINY: Final = 1e-9


def grids(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the share of high-frequency power in the strongest hundredth of frequencies, 0 to 1: a mean.

    Power is that of the grey picture less its mean over 3 by 3 pixels; a regular pattern has its power in few frequencies,
    which need not be the same in all pictures.

    Example:
        >>> noise = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> grid = noise + np.tile(np.eye(2, dtype=np.float32), (16, 16))
        >>> grids(noise, []) < 0.1 < 0.5 < grids(grid, [])
        True
    """
    grey = _grey(_middle(pictures))
    residual = grey - _mean_of_nine(grey)
    down, across = (np.abs(np.fft.fftfreq(side)) for side in residual.shape[1:])
    fine = np.maximum(down[:, None], across[None, :]) >= _FINE
    power = np.sort(np.abs(np.fft.fft2(residual)[:, fine]) ** 2, axis=1)
    strongest = power[:, -max(2, power.shape[1] // 100) :].sum(1)
    return float((strongest / (power.sum(1) + _TINY)).mean())


def sharpness(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean over pictures of what 3 by 3 pixels do not explain: variance of the residual over that of the grey.

    Example:
        >>> sharp = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> sharpness(np.full((8, 3, 32, 32), 0.5, np.float32), []), sharpness(sharp, []) > 0.5
        (0.0, True)
    """
    grey = _grey(_middle(pictures))
    residual = grey - _mean_of_nine(grey)
    return float((residual.var((1, 2)) / (grey.var((1, 2)) + _TINY)).mean())


def saturation(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean of the largest channel less the smallest, 0 (grey) to 1.

    Example:
        >>> saturation(np.array([[1.0, 0.5, 0.0]], np.float32).reshape(1, 3, 1, 1), [])
        1.0
    """
    return float((pictures.max(1) - pictures.min(1)).mean())


def contrast(pictures: Pictures, prompts: Sequence[str]) -> float:
    """Return the mean over pictures of the standard deviation of grey values, 0 to 0.5.

    Example:
        >>> contrast(np.array([0.0, 1.0] * 3, np.float32).reshape(1, 3, 1, 2), [])
        0.5
    """
    return float(_grey(pictures).std((1, 2)).mean())


def variety(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean difference between two pictures of one prompt in 32 by 32 cells, 0 to 1; None without two of a prompt.

    Example:
        >>> two = np.stack([np.zeros((3, 4, 4), np.float32), np.ones((3, 4, 4), np.float32)])
        >>> variety(two, ["a", "a"]), variety(two, ["a", "b"])
        (1.0, None)
    """
    cells = _cells(pictures, _SIDE).reshape(len(pictures), -1)
    means = []
    for own in _owned(prompts):
        count = len(own)
        if count > 1:
            means.append(sum(np.abs(cells[own] - cells[one]).mean(1).sum() for one in own) / (count * (count - 1)))
    return float(np.mean(means)) if means else None


def likeness(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean correlation of the 8 by 8 grey layouts of two pictures of different prompts, -1 to 1; None of one prompt.

    Example:
        >>> half = np.repeat(np.array([0.0, 1.0], np.float32), 4)
        >>> picture = np.tile(half, (3, 8, 1))
        >>> round(likeness(np.stack([picture, picture]), ["a", "b"]), 3), likeness(np.stack([picture, 1 - picture]), ["a", "a"])
        (1.0, None)
    """
    return _alike(_cells(_grey(pictures)[:, None], _LAYOUT), prompts)


def marks(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean correlation of the fine detail of two pictures of different prompts, -1 to 1; None of one prompt.

    The detail is that of 64 by 64 cells less the mean of 3 by 3 of them: what stands at one place in all pictures, such as a
    watermark or a caption, is alike in it, whatever the pictures show.

    Example:
        >>> drawn = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> marked = drawn.copy()
        >>> marked[..., 2:10, 2:24:3] = 1.0
        >>> prompts = ["a", "b"] * 4
        >>> marks(drawn, prompts) < 0.1 < 0.2 < marks(marked, prompts)
        True
    """
    return _alike(_detail(pictures), prompts)


def wandering(pictures: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean over pairs of pictures of different prompts of their fine detail's largest correlation at any shift.

    From 0 to 1; None of one prompt. The detail is that of :func:`marks`: a mark or a word is alike in it wherever each picture
    has it. Of more than 32 pictures, 32 evenly spaced ones are compared.

    Example:
        >>> drawn = np.random.default_rng(0).random((8, 3, 32, 32), np.float32)
        >>> marked = drawn.copy()
        >>> for place, picture in enumerate(marked):
        ...     picture[:, 2 * place : 2 * place + 9, place : place + 22 : 3] = 1.0
        >>> prompts = ["a", "b"] * 4
        >>> wandering(drawn, prompts) < 0.15 < 0.2 < wandering(marked, prompts)
        True
    """
    places = np.linspace(0, len(pictures) - 1, min(len(pictures), _MOST_COMPARED)).round().astype(int)
    detail, names = _detail(pictures[places]), np.array(prompts)[places]
    detail = detail - detail.mean((1, 2), keepdims=True)
    detail /= np.maximum(np.linalg.norm(detail, axis=(1, 2), keepdims=True), _TINY)
    twice = tuple(2 * side for side in detail.shape[1:])  # so that no shift brings an edge in on the other side
    spectra = np.fft.rfft2(detail, s=twice)
    largest = [
        np.fft.irfft2(one.conj() * spectra[at:][names[at:] != names[at - 1]], s=twice).max((1, 2))
        for at, one in enumerate(spectra, start=1)
    ]
    together = np.concatenate(largest)
    return float(together.mean()) if together.size else None


def drift(pictures: Pictures, first: Pictures, prompts: Sequence[str]) -> float | None:
    """Return how far pictures are from those of the same noise and prompts before the first step.

    Returns:
        The mean difference over that between two first pictures of one prompt: 0 for no change, 1 where a picture has changed
        as much as if its noise were another. None without two first pictures of a prompt that differ.

    Example:
        >>> first = np.random.default_rng(0).random((8, 3, 16, 16), np.float32)
        >>> drift(first, first, ["a"] * 8), round(drift(first[::-1], first, ["a"] * 8), 1)
        (0.0, 1.0)
    """
    apart = variety(first, prompts)
    if apart is None or apart < _TINY:
        return None
    return float(np.abs(_cells(pictures, _SIDE) - _cells(first, _SIDE)).mean()) / apart


def _grey(pictures: Pictures) -> Pictures:
    grey: Pictures = pictures.mean(1)
    return grey


def _middle(pictures: Pictures) -> Pictures:
    """Return at most 256 by 256 pixels of the middle: fine patterns are lost when a picture is made smaller."""
    height, width = pictures.shape[-2:]
    top, left = max(0, (height - _CROP) // 2), max(0, (width - _CROP) // 2)
    return pictures[..., top : top + _CROP, left : left + _CROP]


def _mean_of_nine(grey: Pictures) -> Pictures:
    """Return the mean of each pixel and its eight neighbours, edges repeated."""
    padded = np.pad(grey, ((0, 0), (1, 1), (1, 1)), mode="edge")
    height, width = grey.shape[1:]
    shifted = [padded[:, down : down + height, across : across + width] for down in range(3) for across in range(3)]
    mean: Pictures = np.mean(shifted, axis=0, dtype=np.float32)
    return mean


def _cells(pictures: Pictures, side: int) -> Pictures:
    """Return the means of cells, of which there are at most ``side`` by ``side``; what is over at the edges is cut off."""
    count, channels, height, width = pictures.shape
    down, across = min(side, height), min(side, width)
    whole = pictures[:, :, : height // down * down, : width // across * across]
    cells: Pictures = whole.reshape(count, channels, down, height // down, across, width // across).mean((3, 5))
    return cells


def _detail(pictures: Pictures) -> Pictures:
    """Return what cells of the grey picture have beyond the mean of 3 by 3 of them."""
    cells = _cells(_grey(pictures)[:, None], _CELLS)[:, 0]
    return cells - _mean_of_nine(cells)


def _owned(prompts: Sequence[str]) -> list[list[int]]:
    """Return the places of each prompt's pictures."""
    positions: dict[str, list[int]] = {}
    for position, prompt in enumerate(prompts):
        positions.setdefault(prompt, []).append(position)
    return list(positions.values())


def _alike(features: Pictures, prompts: Sequence[str]) -> float | None:
    """Return the mean correlation of two pictures of different prompts; None of one prompt."""
    features = features.reshape(len(features), -1)
    features = features - features.mean(1, keepdims=True)
    features = features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), _TINY)
    groups = [(len(own), float((features[own].sum(0) ** 2).sum())) for own in _owned(prompts)]
    pairs = len(features) ** 2 - sum(count**2 for count, _ in groups)
    alike = float((features.sum(0) ** 2).sum()) - sum(square for _, square in groups)
    return alike / pairs if pairs else None
