"""Standard errors of strengths in models that have further parameters beside them.

With the negative Hessian [[L, B], [Bᵀ, C]], S = C - Bᵀ L⁻ B and Y = L⁻ B, the estimate moves by δβ = S⁻¹ s̃ and
δθ = L⁻ s_θ - Y δβ, where s are sums of the battles' scores. So the sandwich covariance (Huber 1967; White 1982) needs
sums per pair and per model only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_MODELS = 2_000
"""Above this many models strengths get no standard errors: their covariance is a square matrix."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What the core hands out for ``n`` models, ``p`` pairs that met and ``k`` further parameters.

    Attributes:
        first, second: shape (p,), the models of each pair.
        curvature: shape (p,), weights of the Laplacian L.
        extra: shape (n,), a prior's additions to its diagonal.
        meat: shape (p,), sums of squared scores of the strengths.
        projected: Y, shape (k, n).
        cross: shape (k, n), sums of products of both kinds of scores.
        schur: S, shape (k, k).
        covariance: of the further parameters, shape (k, k).
    """

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    curvature: Floats
    extra: Floats
    meat: Floats
    projected: Floats
    cross: Floats
    schur: Floats
    covariance: Floats


def strength_errors(parts: Parts, baseline: int) -> Floats:
    """Standard errors of θ - θ_baseline, shape (n,); all NaN above :data:`MOST_MODELS` models."""
    count = len(parts.extra)
    if count > MOST_MODELS:
        return np.full(count, np.nan)
    laplacian = _laplacian(parts, parts.curvature) + np.diag(parts.extra)
    if not parts.extra.any():
        laplacian += np.trace(laplacian) / count**2  # a matrix of ones changes no solution whose right side sums to 0
    inverse = np.linalg.inv(laplacian)
    covariance = inverse @ _laplacian(parts, parts.meat) @ inverse
    if len(parts.projected):
        mixed = inverse @ parts.cross.T @ np.linalg.inv(parts.schur) @ parts.projected
        covariance += parts.projected.T @ parts.covariance @ parts.projected - mixed - mixed.T
    return errors_beside(covariance, baseline)


def errors_beside(covariance: Floats, baseline: int) -> Floats:
    """Standard errors of the differences from one entry; exactly 0 for that entry."""
    variance = np.diag(covariance) + covariance[baseline, baseline] - 2.0 * covariance[baseline]
    errors: Floats = np.sqrt(np.maximum(variance, 0.0))
    errors[baseline] = 0.0
    return errors


def _laplacian(parts: Parts, weight: Floats) -> Floats:
    count = len(parts.extra)
    matrix = np.zeros((count, count))
    matrix[parts.first, parts.second] = matrix[parts.second, parts.first] = -weight
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return matrix
