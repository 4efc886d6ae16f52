"""Set up the observers of a policy in training: completions file, store, monitors.

sampled completions ──► completions.jsonl     store: judge_calls, rewards     monitors
what happens        ──► held-out metric       store: run_events               held-out metric
"""

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_rewards.monitors import AnswerForm
from salon_taxonomy.digest import digest
from salon_train.run.completions_file import CompletionsFile
from salon_train.run.monitor_hook import RunWatch, board_of

if TYPE_CHECKING:
    from salon_train.run.rollouts import RolloutRecorder
    from salon_train.run.stage import Setting


def watch_of(setting: "Setting[Any]", grammar: AnswerForm, *, steps: int, metric: str) -> RunWatch | None:
    """Return the monitors that the configuration asks for; give them to the trainer, which keeps them in checkpoints.

    Args:
        setting: of the run.
        grammar: how the completions are written.
        steps: optimizer steps of the whole run.
        metric: what of an evaluation is held against the reward, by name.

    Raises:
        InputError: for a monitor that does not exist, or thresholds that are not allowed.
    """
    section = setting.configuration.monitors
    board = board_of(section, grammar)
    return None if board is None else RunWatch(board, section, setting.watchers, steps=steps, metric=metric)


def add_recorders(setting: "Setting[Any]", watch: RunWatch | None, *, metric: str) -> None:
    """Add the configured listeners and watchers to a run; on the first process only."""
    if not setting.processes.first:
        return
    recorder = recorder_of(setting)
    if recorder is not None:
        setting.listeners.append(recorder.keep)
        setting.watchers.all.append(recorder)
    most = setting.configuration.log.completions
    if most:
        checkpoint = setting.folder.last_checkpoint()
        resumed = None if checkpoint is None else checkpoint.step
        file = CompletionsFile(setting.folder.path / "completions.jsonl", most=most, metric=metric, resumed=resumed)
        setting.listeners.append(file.keep)
        setting.watchers.all.append(file)
    if watch is not None:
        setting.watchers.all.append(watch)


def recorder_of(setting: "Setting[Any]") -> "RolloutRecorder | None":
    """Return the recorder of completions in the store; None without a store.

    A run that continues is the same run in the store, whatever changes that does not shape its weights; one that was begun
    again is another.
    """
    configuration, folder = setting.configuration, setting.folder
    if configuration.store.folder is None:
        return None
    from salon_train.run.rollouts import RolloutRecorder

    identity = {"folder": configuration.run.folder, "stage": folder.stage, "begun": folder.begun}
    return RolloutRecorder(
        configuration.store.folder,
        run_id=digest("training run", identity),
        policy=Path(configuration.model.name).name,
        completions=configuration.store.completions,
        seed=configuration.run.seed,
        settings=configuration.model_dump_json(exclude={"log", "store", "monitors"}),
        version=version("salon-train"),
    )
