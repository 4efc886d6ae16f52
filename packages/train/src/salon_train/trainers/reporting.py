"""Further readers of a run's numbers (`[log] to`): TensorBoard, Weights & Biases.

transformers' callbacks send them what is learned. What is measured on held-out pictures they would not see, and Weights &
Biases would file the run under a project of its own choice.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from salon_train.configuration.schema import StageConfiguration


def open_project(configuration: StageConfiguration, stage: str) -> None:
    """Begin a run of Weights & Biases in the configured project; the first process does, before training."""
    if configuration.log.to == "wandb":
        name = f"{Path(configuration.run.folder).name}-{stage}"
        import_module("wandb").init(project=configuration.log.project, name=name)


def report_evaluation(trainer: Any, numbers: Mapping[str, float | None]) -> None:
    """Send what was measured on held-out pictures, as ``eval/…``; an undefined number is left out."""
    readers = import_module("transformers.integrations")
    logs = {f"eval_{name}": value for name, value in numbers.items() if value is not None}
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, (readers.TensorBoardCallback, readers.WandbCallback)):
            callback.on_log(trainer.args, trainer.state, trainer.control, logs=logs, model=trainer.model)
