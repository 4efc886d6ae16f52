"""Tools to build a benchmark like Artifact-Bench: options, annotation by three and two more, difficulty, export (paper 001, section 3.3).

    labels of people ── annotate ──► settled labels ── offer ──► six options ── export ──► rows in the released schema
                                                    difficulty of raters ──┘
"""

from salon_bench.suites.artifact_bench.construction.annotation import (
    Agreement,
    Annotated,
    Stage,
    agreement,
    annotate,
)
from salon_bench.suites.artifact_bench.construction.difficulty import Difficulty, difficulty
from salon_bench.suites.artifact_bench.construction.distractors import Offer, offer
from salon_bench.suites.artifact_bench.construction.released import export_rows

__all__ = [
    "Agreement",
    "Annotated",
    "Difficulty",
    "Offer",
    "Stage",
    "agreement",
    "annotate",
    "difficulty",
    "export_rows",
    "offer",
]
