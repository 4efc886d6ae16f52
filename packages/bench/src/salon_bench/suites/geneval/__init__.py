"""GenEval-style: does a picture show the objects, counts, colours and positions of its prompt? Asked of a judge, no detector.

The rules are those of GenEval (arXiv 2310.11513) and its released scripts. Source, licence, and deviations: the README beside
this file.
"""

from salon_bench.suites.geneval.suite import GenEval

suite = GenEval()
"""The entry point ``geneval`` of the group ``salon.suites``."""

__all__ = ["GenEval", "suite"]
