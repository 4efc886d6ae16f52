"""Training of assessors on TRL: a cold start, GRPO, and what happens around them.

train_sft, train_grpo   a stage of a configured run, from its data to its weights; a second call goes on
Trained                 what it ended with
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.trainers.degeneration import DegeneratedError
    from salon_train.trainers.events import TrainingEvent, TrainingWatcher
    from salon_train.trainers.frame import Trained
    from salon_train.trainers.stages import train_grpo, train_sft

__all__ = ["DegeneratedError", "Trained", "TrainingEvent", "TrainingWatcher", "train_grpo", "train_sft"]

_BY_MODULE = {
    "degeneration": ("DegeneratedError",),
    "events": ("TrainingEvent", "TrainingWatcher"),
    "frame": ("Trained",),
    "stages": ("train_grpo", "train_sft"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
