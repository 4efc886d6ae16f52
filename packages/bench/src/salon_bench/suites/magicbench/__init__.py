"""MagicBench: how often are generated pictures physically wrong? Five scores and eight sub-scores per generator.

* :data:`suite` (``magicbench``) counts by MagicMirror's rules, :data:`released` (``magicbench-released``) as the
  authors' script does; :class:`CountingRules` says where the two differ.
* :func:`read_prompts`: the released prompt file, or one of the same columns.

Source, licence, known flaws and deviations: the README beside this file.
"""

from salon_bench.suites.magicbench.fidelity import CountingRules
from salon_bench.suites.magicbench.suite import MagicBench
from salon_judges.formats.magicbench_prompts import read_prompts
from salon_judges.formats.magicbench_subjects import COUNTED_LABELS, Dimension, SubCategory, SubjectClass

suite = MagicBench()
"""The entry point ``magicbench`` of the group ``salon.suites``."""
released = MagicBench("released")
"""The entry point ``magicbench-released``."""

__all__ = [
    "COUNTED_LABELS",
    "CountingRules",
    "Dimension",
    "MagicBench",
    "SubCategory",
    "SubjectClass",
    "read_prompts",
    "released",
    "suite",
]
