"""Benchmarks of image and video generators: what papers published, and what can be made of it.

* :mod:`salon_bench.published`: every numeric table of five papers as data, one id per model, and a check of the tables
  against themselves.
"""

from salon_bench import published

__all__ = ["published"]
