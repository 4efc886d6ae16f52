"""The readable twin of CR2 sandwiches and their degrees of freedom: every matrix written out, row by row.

After Pustejovsky & Tipton 2018 (doi:10.1080/07350015.2016.1247004), section 2: y = X β + e with working weights, and residuals
(I - H) e. Tests hold it against the core; nothing else uses it.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PINNED = 1e-7


def design_matrix(models: int, design) -> Floats:
    """Z: one row per row of the design, times the root of its information, shape (rows, n + k)."""
    first, second, along, further, _ = design
    names = np.eye(models)
    return np.hstack([along[:, None] * (names[first] - names[second]), further])


def blocks(models: int, design, bread: Floats) -> tuple[list[Floats], list[Floats], bool]:
    """Z_g and A_g = (I - Z_g M Z_gᵀ)^(-1/2) of every cluster, and whether one of them knows something alone."""
    matrix, group = design_matrix(models, design), design[4]
    parts, roots = [], []
    for number in range(int(group.max()) + 1):
        part = matrix[group == number]
        values, vectors = np.linalg.eigh(np.eye(len(part)) - part @ bread @ part.T)
        inverse = np.where(values < _PINNED, 0.0, 1.0 / np.sqrt(np.where(values < _PINNED, 1.0, values)))
        parts.append(part)
        roots.append((vectors * inverse) @ vectors.T)
    return parts, roots


def corrected_products(models, scores, design, group, bread, prior) -> Floats:
    """As ``_core.corrected_products``: Σ s̃ s̃ᵀ with s̃ = Z_gᵀ A_g u, where u, the residuals over their errors, has Z_gᵀ u = s."""
    first, second, slope, further, count = scores
    names = np.eye(models)
    rows = np.hstack([slope[:, None] * (names[first] - names[second]), further]) * count[:, None]
    total = np.zeros_like(bread)
    for number, (part, root) in enumerate(zip(*blocks(models, design, bread), strict=True)):
        score = rows[group == number].sum(axis=0)
        residual = np.linalg.lstsq(part.T, score, rcond=1e-11)[0]
        corrected = part.T @ root @ residual
        total += np.outer(corrected, corrected)
    return total


def contrast_degrees(models, design, clusters, bread, prior, reaches, threads) -> Floats:
    """As ``_core.contrast_degrees``, from the covariance of all corrected residuals that the model itself would have.

    Ω_gh = v_gᵀ (I - H)(I - H)ᵀ v_h over the rows of the clusters: G x G numbers, each from all rows.
    """
    parts, roots = blocks(models, design, bread)
    matrix = np.vstack(parts)
    maker = np.eye(len(matrix)) - matrix @ bread @ matrix.T
    working = maker @ maker.T
    starts = np.cumsum([0, *(len(part) for part in parts)])
    degrees = []
    for reach in reaches:
        vectors = np.zeros((len(matrix), len(parts)))
        alone = 0.0
        for number, (part, root) in enumerate(zip(parts, roots, strict=True)):
            own = part @ reach
            values, directions = np.linalg.eigh(np.eye(len(part)) - part @ bread @ part.T)
            alone = max(alone, float((np.square(own @ directions) * (values < _PINNED)).sum()))
            vectors[starts[number] : starts[number + 1], number] = root @ own
        omega = vectors.T @ working @ vectors
        whole = np.square(matrix @ reach).sum()
        known = np.trace(omega) ** 2 / np.square(omega).sum() if alone <= 1e-9 * whole else np.nan
        degrees.append(known)
    return np.array(degrees)
