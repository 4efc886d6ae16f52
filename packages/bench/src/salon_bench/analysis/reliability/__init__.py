"""How far the numbers of a benchmark can be trusted: analyses of any runs in the store.

* :func:`score_tables`: one number for each item and model, from rows of scores.
* :func:`compare`: paired bootstrap of every pair, ranks with ties, rank stability under subsampling.

The command is ``salon results reliability``. R³-Bench, appendix C.3.
"""

from salon_bench.analysis.reliability.comparing import RankedSubject, SubjectComparison, compare, competition_ranks
from salon_bench.analysis.reliability.score_table import ScoreTable, score_tables

__all__ = [
    "RankedSubject",
    "ScoreTable",
    "SubjectComparison",
    "compare",
    "competition_ranks",
    "score_tables",
]
