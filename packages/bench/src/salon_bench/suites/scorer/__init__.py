"""Any function of picture and prompt as a suite: ``salon bench run scorer --scorer mypkg.metrics:clip_score``."""

from salon_bench.suites.scorer.suite import ScorerSuite, ask_for_score, score_rows, suite

__all__ = ["ScorerSuite", "ask_for_score", "score_rows", "suite"]
