"""The numeric core, written in Rust (``rust/salon-core`` through ``rust/salon-py``).

Used by this package alone; shapes and meaning are those of the public functions that call it. Wrong arguments raise
``ValueError``: the checks that users see happen before.
"""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Aggregator:
    def __new__(cls) -> Aggregator: ...
    def add(
        self,
        model_a: NDArray[np.uint32],
        model_b: NDArray[np.uint32],
        winner: NDArray[np.uint32],
        menu: Sequence[int],
        weight: NDArray[np.float64] | None = None,
        cluster: NDArray[np.uint32] | None = None,
    ) -> None: ...
    def finish(
        self,
        models: int,
        model_number: NDArray[np.uint32],
        clusters: int = 0,
        cluster_number: NDArray[np.uint32] | None = None,
    ) -> Cells: ...

@final
class Cells:
    @property
    def models(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def clusters(self) -> int: ...
    @property
    def battles(self) -> int: ...
    def columns(
        self,
    ) -> tuple[
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.uint8],
        NDArray[np.uint32],
        NDArray[np.uint64],
        NDArray[np.float64],
    ]: ...
    def met(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
    def resampled(self, seed: int, index: int, by_cluster: bool) -> list[NDArray[np.float64]]: ...
    def records(self) -> list[NDArray[np.float64]]: ...
    def components(self) -> NDArray[np.int64]: ...
    def among(self, models: Sequence[int]) -> Cells: ...

@final
class Fit:
    @property
    def log_strengths(self) -> NDArray[np.float64]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def gradient_norm(self) -> float: ...

@final
class Replicates:
    @property
    def log_strengths(self) -> NDArray[np.float64]: ...
    @property
    def degenerate(self) -> int: ...
    @property
    def unconverged(self) -> int: ...

def fit(cells: Cells, prior_ties: float, tolerance: float, max_iterations: int) -> Fit: ...
def bootstrap(
    cells: Cells,
    estimate: NDArray[np.float64],
    replicates: int,
    seed: int,
    by_cluster: bool,
    threads: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    progress: Callable[[int], object] | None = None,
) -> Replicates: ...
def schedule(
    log_strengths: NDArray[np.float64],
    matches: NDArray[np.float64],
    rule: str,
    count: int,
    seed: int,
    covariance: NDArray[np.float64] | None = None,
    start: NDArray[np.uint64] | None = None,
    prompt: NDArray[np.uint32] | None = None,
    samples: NDArray[np.uint32] | None = None,
) -> list[NDArray[np.uint32]]: ...
