"""How far the numbers of a benchmark can be trusted: analyses of any runs in the store.

* :func:`score_tables`: one number for each item and model, from rows of scores.
* :func:`compare`: paired bootstrap of every pair, ranks with ties, rank stability under subsampling.
* :func:`swap_evaluators`: does another judge rank alike?
* :func:`validate`, :func:`validate_all`: does the metric (of each judge) rank as people do, and do they agree?

The command is ``salon results reliability``. R³-Bench, appendix C.3.
"""

from salon_bench.analysis.reliability.comparing import RankedSubject, SubjectComparison, compare
from salon_bench.analysis.reliability.evaluators import JudgeSwap, RankAgreement, competition_ranks, swap_evaluators
from salon_bench.analysis.reliability.human import HumanValidation, validate, validate_all
from salon_bench.analysis.reliability.score_table import ScoreTable, read_scores, score_tables

__all__ = [
    "HumanValidation",
    "JudgeSwap",
    "RankAgreement",
    "RankedSubject",
    "ScoreTable",
    "SubjectComparison",
    "compare",
    "competition_ranks",
    "read_scores",
    "score_tables",
    "swap_evaluators",
    "validate",
    "validate_all",
]
