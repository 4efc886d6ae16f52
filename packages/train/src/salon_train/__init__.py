"""Train assessors and refiners with TRL: from annotated pictures to a judge that others load.

    read_examples                        files of annotated pictures, as ``salon_taxonomy.training_example.TrainingExample``
    MultiBucketPlan, PlannedSampler      which examples share a batch, in Salon's trainers or in one of your own
    build_tiny_model, load_model         a tiny model made on the spot; any that transformers loads
    Configuration, read_configuration    the settings of a run, from a TOML file
    train_sft, train_grpo, Trained       SFT warm-up (cold start) and GRPO; killed and called again, they continue
    TrainingEvent, TrainingWatcher       the events of a run, and the protocol of its observers
    DegeneratedError                     raised when a run cannot improve any more, or games its reward
    diagnose                             check whether this machine can train (``salon doctor``)

Rooms: ``configuration``, ``data``, ``models``, ``sampling``, ``run`` (the shell of every stage), ``trl``, ``assessor``,
``refiner``, ``image_policy``, ``demo``, ``report``. Nothing is imported before its first use (PEP 562), torch least of all.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_train.assessor import train_grpo, train_sft
    from salon_train.configuration import Configuration, read_configuration
    from salon_train.data import read_examples
    from salon_train.doctor import Diagnosis, Requirement, TrainStep, diagnose
    from salon_train.models import build_tiny_model, load_model
    from salon_train.run import DegeneratedError, Trained, TrainingEvent, TrainingWatcher
    from salon_train.sampling import MultiBucketPlan, PlannedSampler

__all__ = [
    "Configuration",
    "DegeneratedError",
    "Diagnosis",
    "MultiBucketPlan",
    "PlannedSampler",
    "Requirement",
    "TrainStep",
    "Trained",
    "TrainingEvent",
    "TrainingWatcher",
    "build_tiny_model",
    "diagnose",
    "load_model",
    "read_configuration",
    "read_examples",
    "train_grpo",
    "train_sft",
]

_BY_MODULE = {
    "configuration": ["Configuration", "read_configuration"],
    "data": ["read_examples"],
    "doctor": ["Diagnosis", "Requirement", "TrainStep", "diagnose"],
    "models": ["build_tiny_model", "load_model"],
    "sampling": ["MultiBucketPlan", "PlannedSampler"],
    "assessor": ["train_grpo", "train_sft"],
    "run": ["DegeneratedError", "Trained", "TrainingEvent", "TrainingWatcher"],
}

__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
