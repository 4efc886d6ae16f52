"""Data to learn from: annotated pictures, and how they become chat messages.

TrainingExample         one picture with its truth
NORMAL, MAIN_BUCKETS    the buckets of multi-bucket sampling
"""

from salon_train.data.example import MAIN_BUCKETS, NORMAL, OTHER, TrainingExample

__all__ = ["MAIN_BUCKETS", "NORMAL", "OTHER", "TrainingExample"]
