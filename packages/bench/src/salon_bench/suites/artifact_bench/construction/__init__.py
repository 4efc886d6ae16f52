"""Tools to build a benchmark like Artifact-Bench: options, annotation, difficulty, export (paper 001, section 3.3).

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
from salon_bench.suites.artifact_bench.construction.assembly import Assembled, assemble
from salon_bench.suites.artifact_bench.construction.difficulty import Difficulty, difficulty
from salon_bench.suites.artifact_bench.construction.distractors import Offer, offer
from salon_bench.suites.artifact_bench.construction.released import export_rows
from salon_bench.suites.artifact_bench.construction.tables import read_assessments, read_levels, read_videos

__all__ = [
    "Agreement",
    "Annotated",
    "Assembled",
    "Difficulty",
    "Offer",
    "Stage",
    "agreement",
    "annotate",
    "assemble",
    "difficulty",
    "export_rows",
    "offer",
    "read_assessments",
    "read_levels",
    "read_videos",
]
