"""Readable NumPy twins of the Rust core, one line per formula: each other's oracle with the core.

``numpy_core()`` puts the twins in the core's place, so that the public functions can be compared with themselves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from salon_ranking import _core
from twins import reference, reference_parameter_uncertainty, reference_parameters, reference_scheduling, reference_uncertainty

_CALLERS = (
    "salon_ranking.models.likelihood",
    "salon_ranking.models.ties",
    "salon_ranking.models.covariate_likelihood",
    "salon_ranking.scheduling.pairs",
)


class NumpyCore:
    """The twins under the core's names and signatures; what has no twin is the core's."""

    fit = staticmethod(reference.fit)
    information = staticmethod(reference_uncertainty.information)
    score_products = staticmethod(reference_uncertainty.score_products)
    fit_ties = staticmethod(reference_parameters.fit_ties)
    fit_contextual = staticmethod(reference_parameters.fit_contextual)
    parameter_products = staticmethod(reference_parameter_uncertainty.parameter_products)
    parameter_third_moments = staticmethod(reference_parameter_uncertainty.parameter_third_moments)
    schedule = staticmethod(reference_scheduling.schedule)

    @staticmethod
    def fit_firth(cells, tolerance, max_iterations, start=None):
        return reference.fit_firth(cells, tolerance, max_iterations)

    @staticmethod
    def bootstrap(
        cells, estimate, baseline, replicates, seed, by_cluster, threads, prior, tolerance, most, progress=None, firth=False
    ):
        return reference.bootstrap(cells, baseline, replicates, seed, by_cluster, prior, tolerance, most, firth)

    @staticmethod
    def bootstrap_ties(
        cells, model, estimate, tie, baseline, replicates, seed, by_cluster, threads, prior, tolerance, most, progress=None
    ):
        return reference_parameter_uncertainty.bootstrap_ties(
            cells, model, baseline, replicates, seed, by_cluster, prior, tolerance, most
        )

    @staticmethod
    def bootstrap_contextual(
        rows,
        estimate,
        coefficients,
        groups,
        baseline,
        replicates,
        seed,
        threads,
        prior,
        tolerance,
        most,
        progress=None,
        ridge=0.0,
    ):
        return reference_parameter_uncertainty.bootstrap_contextual(
            rows, len(estimate), groups, baseline, replicates, seed, prior, tolerance, most, ridge
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)


@contextmanager
def numpy_core() -> Iterator[None]:
    """Fit, resample and schedule by the twins within the block."""
    patches = [patch(f"{module}._core", NumpyCore()) for module in _CALLERS]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
