"""Pages about benchmarks. ``consensus`` writes the quickstart's report; the blocks come from ``salon_ranking.report``."""
