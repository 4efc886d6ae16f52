"""Benchmarks of image and video generators: what papers published, and what can be made of it.

The rooms are imported by name, so that the command line starts without them:

* :mod:`salon_bench.published`: every numeric table of five papers as data, one id per model, and a check of the tables
  against themselves.
* :mod:`salon_bench.derived`, :mod:`salon_bench.consensus`, :mod:`salon_bench.agreement`: battles derived from those
  tables, one leaderboard out of several benchmarks, and how far the benchmarks agree.
* :mod:`salon_bench.quickstart`: all of it from an empty folder, with a report.
"""

__all__: list[str] = []
