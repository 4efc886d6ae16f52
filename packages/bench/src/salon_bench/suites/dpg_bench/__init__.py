"""DPG-Bench: a dense prompt as a graph of yes-or-no questions about its picture.

A question whose parent counts as no counts as no.

* :data:`suite` (``dpg-bench``) does not ask what a parent has decided, and counts so in every number; :data:`released`
  (``dpg-bench-released``) asks every question and gives categories by the raw answers, as the authors' script does.

The rules are those of ELLA (arXiv 2403.05135) and its released script. Source, licence, and deviations: the README beside this
file.
"""

from salon_bench.suites.dpg_bench.suite import DpgBench

suite = DpgBench()
"""The entry point ``dpg-bench`` of the group ``salon.suites``."""
released = DpgBench(released=True)
"""The entry point ``dpg-bench-released``."""

__all__ = ["DpgBench", "released", "suite"]
