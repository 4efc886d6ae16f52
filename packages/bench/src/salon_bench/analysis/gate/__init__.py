"""The gate: is any measure of a new build worse than the base's by more than its margin?

    scores of both builds   ─┐
    pictures of both builds ─┼─► pairs by prompt ──► one-sided ends ──► better, not worse, worse, cannot say ──► passed?
    battles between them    ─┘

The command is ``salon results gate``.
"""

from salon_bench.analysis.gate.gate import Gate, gate
from salon_bench.analysis.gate.plan import GatePlan, MeasureRule

__all__ = ["Gate", "GatePlan", "MeasureRule", "gate"]
