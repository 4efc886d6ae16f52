"""Train a small image policy, a rectified flow of 16 by 16 pixels, on rewards of its pictures.

run_image_study                 every way of learning, over seeds, resumable
ImageStudySettings              how large it is
PolicyArm, PolicyResult         a way of learning, and its numbers
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.image_policy.study import ImageStudySettings, PolicyArm, PolicyResult, run_image_study

__all__ = ["ImageStudySettings", "PolicyArm", "PolicyResult", "run_image_study"]

_BY_MODULE = {"study": ("ImageStudySettings", "PolicyArm", "PolicyResult", "run_image_study")}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
