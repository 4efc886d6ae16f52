"""Artifact-Bench: three tasks about artifacts of generated videos, at three levels.

* :data:`suite` (``artifact-bench``) reads replies by the paper's rules, :data:`released` (``artifact-bench-released``) by the
  authors' script; :data:`both_orders` (``artifact-bench-both-orders``) asks about pairs in both orders.
* :func:`read_rows`: the released rows, or those of the same columns.

Source, licence, known flaws and deviations: the README beside this file.
"""

from salon_bench.suites.artifact_bench.suite import ArtifactBench
from salon_judges.formats.artifact_bench import BenchRow, QuestionLevel, QuestionTask, read_rows

suite = ArtifactBench()
"""The entry point ``artifact-bench`` of the group ``salon.suites``."""
released = ArtifactBench("released")
"""The entry point ``artifact-bench-released``."""
both_orders = ArtifactBench(both_orders=True)
"""The entry point ``artifact-bench-both-orders``."""

__all__ = ["ArtifactBench", "BenchRow", "QuestionLevel", "QuestionTask", "both_orders", "read_rows", "released", "suite"]
