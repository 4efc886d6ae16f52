"""Refining pictures: a judge says what is wrong, an editor sets it right, round by round; and what that is compared with.

* :func:`~salon_bench.refining.batch.refine_all` refines many pictures as one run of the store.
* :mod:`~salon_bench.refining.loop`: the methods (``refine``, ``verifier``, ``resubmit``, ``best-of-n``), over any hands.
* :mod:`~salon_bench.refining.studio`: an editor whose every picture and attempt is kept.
* :func:`~salon_bench.refining.trace_page.trace_page`: the pictures of every round side by side.

The command is ``salon refine``. Paper 002 (R³-Refiner), section 3.1.
"""

from salon_bench.refining.batch import Refined, refine_all
from salon_bench.refining.items import RefineItem, read_refine_items
from salon_bench.refining.loop import METHODS, Effort, Hands, Method, Round, Stopped, Trace
from salon_bench.refining.studio import Made, Studio, Task
from salon_bench.refining.trace_page import trace_page, write_trace_page
from salon_bench.refining.workshop import Crew, Workshop

__all__ = [
    "METHODS",
    "Crew",
    "Effort",
    "Hands",
    "Made",
    "Method",
    "RefineItem",
    "Refined",
    "Round",
    "Stopped",
    "Studio",
    "Task",
    "Trace",
    "Workshop",
    "read_refine_items",
    "refine_all",
    "trace_page",
    "write_trace_page",
]
