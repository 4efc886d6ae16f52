"""Find the runs and stages in the folders given to ``salon train report``."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_taxonomy.answers.strict_json import Json
from salon_taxonomy.errors import InputError, missing_path
from salon_train.report.history import History, State, read_history

STAGES: Final[Mapping[str, str]] = {"sft": "Cold start", "grpo": "GRPO", "refine": "Refiner", "image": "Image policy"}
"""Stages by the name of their folder, in their order, with their headings."""
MOST: Final = 8
"""Runs that colours can distinguish."""
_LOG: Final = "log.jsonl"


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of a run.

    Attributes:
        folder: where its files are.
        history: what its log tells.
        told: settings that shape the weights, by dotted key; None: the folder does not say.
        besides: the other settings of the latest call (monitors, evaluation, checkpoints), likewise.
    """

    folder: Path
    history: History
    told: Mapping[str, object] | None
    besides: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One run.

    Attributes:
        name: short, and no other run's of the report.
        folder: as it was given.
        stages: by name, in their order.
    """

    name: str
    folder: Path
    stages: Mapping[str, StageRun]


def read_runs(folders: Sequence[Path]) -> list[ReportedRun]:
    """Return the runs of some folders, in their order.

    Args:
        folders: each a run's, with ``sft``, ``grpo``, ``refine`` or ``image`` in it, or one such stage's.

    Raises:
        InputError: a folder is missing, given twice, or without a log; a log or configuration is broken; or there are too many.
    """
    if len(folders) > MOST:
        raise InputError(f"at most {MOST} runs stand side by side; these are", source="FOLDER", value=len(folders))
    stages_of: dict[Path, dict[str, StageRun]] = {}
    for folder in folders:
        if folder.resolve() in stages_of:
            raise InputError("occurs twice", source=folder)
        stages_of[folder.resolve()] = _stages(folder)
    names = _names(list(stages_of))
    return [ReportedRun(name, folder, stages) for name, folder, stages in zip(names, folders, stages_of.values(), strict=True)]


def _stages(folder: Path) -> dict[str, StageRun]:
    if folder.is_file():
        hint = f"Give the folder of the run: {folder.parent}"
        raise InputError("is a file, not the folder of a run", source=folder, hint=hint)
    if not folder.is_dir():
        raise missing_path(folder, "folder", meaning="It is run.folder of the configuration.")
    if (folder / _LOG).exists():
        told = _settings(folder / "configuration.json")
        name = told.get("stage") if told else None
        if name not in STAGES:
            name = folder.name if folder.name in STAGES else next(iter(STAGES))
        return {str(name): _stage(folder, str(name))}
    stages = {name: _stage(folder / name, name) for name in STAGES if (folder / name / _LOG).exists()}
    if not stages:
        hint = "`salon train sft`, `grpo`, `refiner` and `image` write it when they begin."
        problem = "holds no log of a run" if any(folder.iterdir()) else "is empty: there is no log of a run"
        raise InputError(problem, source=folder, allowed=[f"{name}/{_LOG}" for name in STAGES], hint=hint)
    if all(stage.history.state is State.EMPTY for stage in stages.values()):
        raise InputError("nothing is logged yet", source=next(iter(stages.values())).history.path)
    return stages


def _stage(folder: Path, name: str) -> StageRun:
    history = read_history(folder / _LOG, name)
    return StageRun(folder, history, _settings(folder / "configuration.json"), _settings(folder / "changeable.json"))


def _settings(path: Path) -> dict[str, Json] | None:
    """Return the object of a JSON file; None without the file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON ({error})", source=path) from error
    if not isinstance(values, dict):
        raise InputError("is no JSON object", source=path)
    return values


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the last part of each path, or so many that no two are equal."""
    for parts in range(1, max(len(folder.parts) for folder in folders) + 1):
        names = ["/".join(folder.parts[-parts:]) for folder in folders]
        if len(set(names)) == len(names):
            return names
    return [str(folder) for folder in folders]
