"""Training of assessors and refiners; so far, whether this machine can train at all.

    diagnose        versions, devices, and one real optimizer step on each (``salon train doctor``)

Importing this package does not import torch; the functions that need it do.
"""

from salon_train.doctor import Diagnosis, Requirement, TrainStep, diagnose

__all__ = ["Diagnosis", "Requirement", "TrainStep", "diagnose"]
