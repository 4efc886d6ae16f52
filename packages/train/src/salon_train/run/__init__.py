"""The shell around every training stage: its folder, checkpoints, log, monitors, processes, dry run and export.

configuration ──► run_stage ──► FOLDER/<stage>/model

    run_stage, Setting, Trained      run one stage from its beginning or its last checkpoint to its end
    TrainingEvent, TrainingWatcher   the events of a run, and the protocol of its observers
    DegeneratedError                 raised when a run cannot improve any more, or games its reward

``salon_train.trl`` holds the subclasses of TRL's trainers; ``assessor`` and ``refiner`` hold what differs between the stages.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.run.early_abort import DegeneratedError
    from salon_train.run.events import TrainingEvent, TrainingWatcher
    from salon_train.run.stage import Setting, Trained, run_stage

__all__ = ["DegeneratedError", "Setting", "Trained", "TrainingEvent", "TrainingWatcher", "run_stage"]

_BY_MODULE = {
    "early_abort": ("DegeneratedError",),
    "events": ("TrainingEvent", "TrainingWatcher"),
    "stage": ("Setting", "Trained", "run_stage"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
