"""R³-Bench: a model says what is wrong with a picture, and an editor follows its instruction.

    reflect (policy) ──► edit (editor) ──► explanations (judge of texts) ──► images (judge of pictures)
    verdict accuracy                        S_ref                             S_rect

Three of the stages are suites, :data:`reflect`, :data:`explanations` and :data:`images`; the second makes pictures
(:mod:`~salon_bench.suites.r3_bench.editing`). ``salon bench r3-bench run`` chains them. Rows are the user's
(:func:`read_items`). Source, licence, known flaws and deviations: the README beside this file.
"""

from salon_bench.suites.r3_bench.explaining import Explaining
from salon_bench.suites.r3_bench.reflecting import Reflecting
from salon_bench.suites.r3_bench.scoring import gain
from salon_bench.suites.r3_bench.verifying import Verifying
from salon_judges.formats.r3_bench import Category, R3Row, read_items

reflect = Reflecting()
"""The entry point ``r3-reflect`` of the group ``salon.suites``."""
reflect_released = Reflecting("released")
"""The entry point ``r3-reflect-released``: replies are read as the authors' script does."""
explanations = Explaining()
"""The entry point ``r3-explanations``."""
images = Verifying()
"""The entry point ``r3-images``."""

__all__ = [
    "Category",
    "Explaining",
    "R3Row",
    "Reflecting",
    "Verifying",
    "explanations",
    "gain",
    "images",
    "read_items",
    "reflect",
    "reflect_released",
]
