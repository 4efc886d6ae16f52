"""Improve pictures in rounds: a judge says what is wrong, an editor changes it; with the baselines of that loop.

* :func:`~salon_bench.refine.batch.refine_all` refines many pictures as one run of the store.
* :mod:`~salon_bench.refine.loop`: the methods ``refine``, ``verifier``, ``resubmit`` and ``best-of-n``.
* :mod:`~salon_bench.refine.steps`: the steps of a method, each kept in the run.

The command is ``salon refine``. R³-Refiner, section 3.1.
"""

from salon_bench.refine.batch import Refined, refine_all
from salon_bench.refine.items import RefineItem, read_refine_items
from salon_bench.refine.loop import METHODS, Effort, Method, RefineSteps, Round, Stopped, Trace
from salon_bench.refine.steps import ModelSteps, RefineModels

__all__ = [
    "METHODS",
    "Effort",
    "Method",
    "ModelSteps",
    "RefineItem",
    "RefineModels",
    "RefineSteps",
    "Refined",
    "Round",
    "Stopped",
    "Trace",
    "read_refine_items",
    "refine_all",
]
