"""How good is an artifact assessor? Its answers against the labels of people, in MagicMirror's label tree.

* :func:`read_labels`: labels of people (the released data set's form), or an assessor's answers, from a file.
* :func:`evaluate`: precision, recall and F1 of every label, macro and micro averages, artifact or not; with intervals.
* :func:`compare`: two assessors on the same images, by the paired bootstrap.
* :class:`AssessorEvaluation` is the same as a suite (``magicdata``): pictures, labels and any judge.
* :func:`magicdata_rows`, :func:`statistics`: MagicData340K from the user's own copy, and how often each label occurs.
"""

from salon_bench.suites.assessors.comparison import AssessorComparison, compare
from salon_bench.suites.assessors.evaluation import Evaluation, Invalid, evaluate
from salon_bench.suites.assessors.label_counts import LabelCounts, counts_behind
from salon_bench.suites.assessors.label_file import LabelFile, labels_in, match, read_labels
from salon_bench.suites.assessors.label_space import LABELS, MAIN_LABELS, AssessedLabel, TreeLevel
from salon_bench.suites.assessors.magicdata import MagicDataRow, UnreadableRow, magicdata_rows
from salon_bench.suites.assessors.statistics import Statistics, statistics
from salon_bench.suites.assessors.suite import AssessorEvaluation, suite

__all__ = [
    "LABELS",
    "MAIN_LABELS",
    "AssessedLabel",
    "AssessorComparison",
    "AssessorEvaluation",
    "Evaluation",
    "Invalid",
    "LabelCounts",
    "LabelFile",
    "MagicDataRow",
    "Statistics",
    "TreeLevel",
    "UnreadableRow",
    "compare",
    "counts_behind",
    "evaluate",
    "labels_in",
    "magicdata_rows",
    "match",
    "read_labels",
    "statistics",
    "suite",
]
