"""Log the numbers of finished runs to experiment trackers: MLflow, Weights & Biases.

Each tracker's own library writes; it is imported when its function is called.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from salon_bench.runs.view import RunView
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.store_address import StoreAddress


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """One model of a run as trackers take it.

    Attributes:
        name: the run's id and the model.
        key: the same for the same numbers, so that a second log can be recognised.
        facts: suite, judge, judge version, model, run.
        numbers: ``metric/group`` (the group ``all``: everything); ``….ci_low`` and ``….ci_high`` are its interval's ends.
        started_ms: when the run began, in milliseconds since 1970.
    """

    name: str
    key: str
    facts: Mapping[str, str]
    numbers: Mapping[str, float]
    started_ms: int


def tracked_runs(store: StoreAddress, run_ids: Sequence[str]) -> list[TrackedRun]:
    """Read the suites' numbers of runs, one entry per run and model.

    Raises:
        InputError: no run is named, or one is missing, has no numbers, or is of a suite that is not installed.
        SalonError: the directory is no store.
    """
    if not run_ids:
        raise InputError("name a run", hint="salon bench runs lists them.")
    tracked = []
    for run_id in dict.fromkeys(run_ids):
        view = RunView(store, run_id)
        for summary in view.summaries():
            first = view.of(summary.model).row(0, named=True)
            facts = {"run": run_id, "suite": view.status.suite, "model": summary.model}
            facts |= {"judge": first["judge"], "judge_version": first["judge_version"] or ""}
            numbers = {"scored": float(summary.scored), "unscored": float(summary.unscored)}
            for row in summary.summary.table.to_dicts():
                name = _metric_name(row["metric"], row.get("group"))
                ends = {f"{name}.ci_low": row.get("ci_low"), f"{name}.ci_high": row.get("ci_high")}
                for key, value in {name: row.get("value"), **ends}.items():
                    if value is not None and isfinite(value):
                        numbers[key] = float(value)
            began = view.status.started_at
            started = 0 if began is None else round(1000 * began.timestamp())
            key = digest("tracked run", [facts, sorted(numbers.items())], length=16)
            tracked.append(TrackedRun(f"{run_id} {summary.model}", key, facts, numbers, started))
    if not tracked:
        raise InputError("the run holds no scores yet", value=run_ids[0], hint="salon bench runs says how far it is.")
    return tracked


def _metric_name(metric: str, group: str | None) -> str:
    """Return a name of the signs that every tracker takes: letters, digits, ``_ - . / `` and spaces.

    A name with other signs ends in a digest, so that two of them stay two.
    """
    text = f"{metric}/{group or 'all'}"
    name = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_-./ ") else "_" for sign in text)
    return name if name == text else f"{name}-{digest('metric', text, length=6)}"


def log_to_mlflow(runs: Sequence[TrackedRun], folder: Path, project: str) -> None:
    """Write runs to MLflow: parameters, metrics and a tag with their key. A finished run that is there is left as it is.

    MLflow 3 writes and reads a store of files only where ``MLFLOW_ALLOW_FILE_STORE`` is ``true``; ``mlflow migrate-filestore``
    turns it into a database.

    Args:
        runs: what is logged.
        folder: that gets ``mlruns``, the store of files.
        project: the experiment's name.

    Raises:
        InputError: mlflow is not installed or refuses a store of files, or the folder cannot be written.
    """
    mlflow, entities = _library("mlflow", "mlflow"), _library("mlflow.entities", "mlflow")
    _written(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    try:
        client = mlflow.MlflowClient(tracking_uri=(folder / "mlruns").absolute().as_uri())
    except mlflow.MlflowException as error:
        hint = "Set MLFLOW_ALLOW_FILE_STORE=true."
        raise InputError(f"MLflow refuses ({str(error).splitlines()[0][:120]})", source=folder, hint=hint) from error
    known = client.get_experiment_by_name(project)
    experiment = client.create_experiment(project) if known is None else known.experiment_id
    for run in runs:  # one that was not finished, as its logging was interrupted, lacks numbers
        if client.search_runs([experiment], f"tags.`salon.key` = '{run.key}' and attributes.status = 'FINISHED'"):
            continue
        tags = {"salon.key": run.key, "mlflow.runName": run.name}
        created = client.create_run(experiment, start_time=run.started_ms, tags=tags)
        metrics = [entities.Metric(name, value, run.started_ms, 0) for name, value in run.numbers.items()]
        params = [entities.Param(name, value) for name, value in run.facts.items()]
        for start in range(0, max(len(metrics), 1), _BATCH):
            client.log_batch(created.info.run_id, metrics=metrics[start : start + _BATCH], params=params if not start else [])
        client.set_terminated(created.info.run_id, end_time=run.started_ms)


def log_to_wandb(runs: Sequence[TrackedRun], folder: Path, project: str) -> None:
    """Write runs for Weights & Biases into a folder; nothing is sent until ``wandb sync`` is called.

    Args:
        runs: what is logged; a run keeps its id, so that syncing it twice does not double it.
        folder: that gets the folder ``wandb`` with one offline run for each.
        project: its name on the server.

    Raises:
        InputError: wandb is not installed, or the folder cannot be written.
    """
    wandb = _library("wandb", "wandb")
    _written(folder, lambda: folder.mkdir(parents=True, exist_ok=True))
    quiet = wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True)
    for run in runs:
        tracker = wandb.init(
            project=project,
            id=run.key,
            name=run.name,
            config=dict(run.facts),
            dir=str(folder),
            mode="offline",
            settings=quiet,
            reinit="create_new",
        )
        tracker.log(dict(run.numbers))
        tracker.finish()
    wandb.teardown()  # its own process writes the last bytes when it ends


_INSTALL: Final = {
    "mlflow": "Install it: pip install mlflow-skinny",  # no extra: it holds back packages that others of ours need newer
    "wandb": "In a clone of Salon: uv pip install './packages/bench[wandb]'",
}
_BATCH: Final = 500
"""Metrics that MLflow takes in one call."""
TRACKERS: Final[Mapping[str, Callable[[Sequence[TrackedRun], Path, str], None]]] = {
    "mlflow": log_to_mlflow,
    "wandb": log_to_wandb,
}
"""The trackers by name."""


def _library(module: str, tracker: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        problem = f"logging to {tracker} needs a package that is missing:"
        raise InputError(problem, value=error.name, hint=_INSTALL[tracker]) from error


def _written(folder: Path, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except OSError as error:
        raise cannot_write(error, folder) from error
