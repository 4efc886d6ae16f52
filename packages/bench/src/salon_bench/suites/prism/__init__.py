"""PRISM-Bench: seven tracks of prompts, judged for alignment and aesthetics, in English and Chinese.

* :data:`suite` (``prism``) and :data:`chinese` (``prism-zh``) count by PRISM-Bench's rules, :data:`released` and
  :data:`chinese_released` (``…-released``) as the authors' script does; :class:`CountingRules` says where the two differ.
* :func:`read_prompts`: the released folder of prompts, or a file of one's own.
* :mod:`~salon_bench.suites.prism.bilingual`: the two languages side by side.

Source, licence, known flaws and deviations: the README beside this file.
"""

from salon_bench.suites.prism.fidelity import CountingRules
from salon_bench.suites.prism.prompt_file import read_prompts
from salon_bench.suites.prism.suite import PrismBench
from salon_judges.formats.prism_tracks import Axis, Language, Track

suite = PrismBench()
"""The entry point ``prism`` of the group ``salon.suites``."""
chinese = PrismBench(Language.CHINESE)
"""The entry point ``prism-zh``."""
released = PrismBench(fidelity="released")
"""The entry point ``prism-released``."""
chinese_released = PrismBench(Language.CHINESE, "released")
"""The entry point ``prism-zh-released``."""

__all__ = [
    "Axis",
    "CountingRules",
    "Language",
    "PrismBench",
    "Track",
    "chinese",
    "chinese_released",
    "read_prompts",
    "released",
    "suite",
]
