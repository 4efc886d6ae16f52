"""Pairs of pictures or videos of any file, judged in both orders, or each by its score: ``salon bench audit``."""

from salon_bench.suites.pairs.suite import JudgedPairs, ScoredPairs

suite = JudgedPairs()
scores = ScoredPairs()

__all__ = ["JudgedPairs", "ScoredPairs", "scores", "suite"]
