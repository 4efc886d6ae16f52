"""Tools to build a benchmark like Artifact-Bench: options, annotation, difficulty, export (section 3.3).

labels of people ── annotate ──► settled labels ── offer ──► six options ── export ──► rows in the released schema
                                                difficulty of raters ──┘
"""

from salon_curate.construction.artifact_bench.annotation import (
    Annotated,
    AnnotationState,
    AnnotatorAgreement,
    agreement,
    annotate,
)
from salon_curate.construction.artifact_bench.assembly import Assembled, assemble
from salon_curate.construction.artifact_bench.difficulty import QuestionDifficulty, difficulty
from salon_curate.construction.artifact_bench.released import export_rows
from salon_curate.construction.artifact_bench.tables import read_assessments, read_levels, read_videos
from salon_judges.formats.artifact_bench_options import Offer, offer

__all__ = [
    "Annotated",
    "AnnotationState",
    "AnnotatorAgreement",
    "Assembled",
    "Offer",
    "QuestionDifficulty",
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
