"""Benchmarks of image and video generators: suites, runs and reports.

Import from the modules, so that the command line starts without loading them:

* :mod:`salon_bench.suites`, :mod:`salon_bench.runs`: the benchmarks, and the runs that judge a folder of pictures with them.
* :mod:`salon_bench.refine`, :mod:`salon_bench.suites.assessors`: picture improvement in rounds, evaluation of assessors.
* :mod:`salon_bench.analysis`, :mod:`salon_bench.report`: comparisons, agreement, leaderboards, exports; pages.
"""

__all__: list[str] = []
