"""Pictures on their way to a judge: opened with care, turned upright, resized by the suite's rule, encoded once."""

from salon_bench.media.policy import PicturePolicy

__all__ = ["PicturePolicy"]
