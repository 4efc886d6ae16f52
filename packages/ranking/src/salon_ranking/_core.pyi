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
    def joined(self) -> NDArray[np.int64]: ...
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

@final
class Crosser:
    def __new__(cls) -> Crosser: ...
    def number(self, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]: ...
    def met(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...

def information(cells: Cells, log_strengths: NDArray[np.float64], prior_ties: float) -> NDArray[np.float64]: ...
def log_likelihood(cells: Cells, log_strengths: NDArray[np.float64]) -> float: ...
def score_products(
    cells: Cells, log_strengths: NDArray[np.float64], group: NDArray[np.uint32] | None = None
) -> NDArray[np.float64]: ...
def third_moments(
    cells: Cells,
    log_strengths: NDArray[np.float64],
    kernel: NDArray[np.float64],
    group: NDArray[np.uint32] | None = None,
) -> NDArray[np.float64]: ...
def contributions(
    cells: Cells,
    threads: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    progress: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.float64], int]: ...
def crossed(cells: Cells, first: NDArray[np.uint32], second: NDArray[np.uint32]) -> Cells: ...
def crossing(cells: Cells) -> tuple[NDArray[np.uint32], NDArray[np.uint32]] | None: ...
def parts(
    cells: Cells, group: NDArray[np.uint32], with_clusters: bool
) -> list[tuple[NDArray[np.uint32], NDArray[np.uint32], Cells]]: ...
def fit(cells: Cells, prior_ties: float, tolerance: float, max_iterations: int) -> Fit: ...
def fit_firth(cells: Cells, tolerance: float, max_iterations: int, start: NDArray[np.float64] | None = None) -> Fit: ...
def bootstrap(
    cells: Cells,
    estimate: NDArray[np.float64],
    baseline: int,
    replicates: int,
    seed: int,
    by_cluster: bool,
    threads: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    progress: Callable[[int], object] | None = None,
    firth: bool = False,
) -> Replicates: ...

@final
class TieFit:
    @property
    def log_strengths(self) -> NDArray[np.float64]: ...
    @property
    def tie(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def gradient_norm(self) -> float: ...

@final
class ContextualFit:
    @property
    def log_strengths(self) -> NDArray[np.float64]: ...
    @property
    def coefficients(self) -> NDArray[np.float64]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    @property
    def determined(self) -> bool: ...
    @property
    def largest_log_odds(self) -> float: ...
    @property
    def gradient_norm(self) -> float: ...

@final
class OnlineElo:
    def __new__(cls, k: float, base: float, scale: float, initial: float, keep: bool) -> OnlineElo: ...
    def add(
        self,
        model_a: NDArray[np.uint32],
        model_b: NDArray[np.uint32],
        winner: NDArray[np.uint32],
        menu: Sequence[int],
    ) -> None: ...
    def ratings(self) -> NDArray[np.float64]: ...
    def records(self) -> list[NDArray[np.uint64]]: ...
    def over_orders(
        self, orders: int, seed: int, threads: int, progress: Callable[[int], object] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

def fit_from(cells: Cells, start: NDArray[np.float64], prior_ties: float, tolerance: float, max_iterations: int) -> Fit: ...
def fit_ties(cells: Cells, model: str, prior_ties: float, tolerance: float, max_iterations: int) -> TieFit: ...
def has_decisive_cycle(cells: Cells) -> bool: ...
def fit_contextual(
    models: int,
    rows: tuple[
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    ridge: float = 0.0,
) -> ContextualFit: ...
def unexplained(
    models: int,
    rows: tuple[
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
) -> NDArray[np.float64]: ...
def fit_rankings(
    models: int,
    rankings: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]],
    start: NDArray[np.float64],
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
) -> Fit: ...
def ranking_rows(
    models: int,
    rankings: tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]],
    log_strengths: NDArray[np.float64],
) -> tuple[
    float,
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.uint32],
]: ...
def merge_cells(
    left: Cells,
    left_number: NDArray[np.uint32],
    right: Cells,
    right_number: NDArray[np.uint32],
    models: int,
) -> Cells: ...
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
def parameter_products(
    models: int,
    scores: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    group: NDArray[np.uint32] | None = None,
) -> NDArray[np.float64]: ...
def parameter_third_moments(
    models: int,
    scores: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    kernel: NDArray[np.float64],
    group: NDArray[np.uint32] | None = None,
) -> NDArray[np.float64]: ...
def corrected_products(
    models: int,
    scores: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    design: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]],
    group: NDArray[np.uint32],
    bread: NDArray[np.float64],
    prior: NDArray[np.float64],
) -> NDArray[np.float64]: ...
def contrast_degrees(
    models: int,
    design: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint32]],
    clusters: int,
    bread: NDArray[np.float64],
    prior: NDArray[np.float64],
    reaches: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]: ...
def largest_gaps(deviations: NDArray[np.float64], inverse: NDArray[np.float64]) -> NDArray[np.float64]: ...
def recounted(cells: Cells, count: NDArray[np.uint64]) -> Cells: ...
def paired_differences(scores: NDArray[np.float64], replicates: int, seed: int, threads: int) -> NDArray[np.float64]: ...
def drawn_items(items: int, seed: int, index: int) -> NDArray[np.float64]: ...
def resampled_rows(
    count: NDArray[np.uint64], groups: Sequence[NDArray[np.uint32]], seed: int, index: int
) -> NDArray[np.float64]: ...
def bootstrap_ties(
    cells: Cells,
    model: str,
    estimate: NDArray[np.float64],
    tie: float,
    baseline: int,
    replicates: int,
    seed: int,
    by_cluster: bool,
    threads: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    progress: Callable[[int], object] | None = None,
) -> Replicates: ...
def bootstrap_contextual(
    rows: tuple[
        NDArray[np.uint32],
        NDArray[np.uint32],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
        NDArray[np.float64],
    ],
    estimate: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    groups: Sequence[NDArray[np.uint32]],
    baseline: int,
    replicates: int,
    seed: int,
    threads: int,
    prior_ties: float,
    tolerance: float,
    max_iterations: int,
    progress: Callable[[int], object] | None = None,
    ridge: float = 0.0,
) -> Replicates: ...
def near_duplicates(hashes: NDArray[np.uint64], distance: int) -> NDArray[np.uint32]: ...
def squared_error(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> int: ...
def similarity(one: NDArray[np.uint8], other: NDArray[np.uint8], threads: int) -> float: ...
def multiscale_similarity(one: NDArray[np.uint8], other: NDArray[np.uint8], threads: int) -> float: ...
def colour_difference(one: NDArray[np.uint8], other: NDArray[np.uint8], threads: int) -> float: ...
