"""A killed run goes on as if nothing had happened: whole checkpoints, and everything that the next step draws from.

What transformers restores: optimizer, schedule, and the states of Python's, NumPy's and torch's generators. What it does
not, and is restored here and in ``learning.py``:

* weights of architectures that save them under other names than they have in memory (LLaVA): transformers' trainer would go
  on with the weights that the run began with;
* TRL's counter of micro-steps, by which it decides when to generate: it starts at 0 again, so a run that was saved between
  two generations would throw away what it had sampled;
* the completions that were sampled and not yet learned from, which are saved when there are some;
* which prompts come next: the sampler is seeded by (seed, epoch) and told the epoch.

A checkpoint counts when the file ``whole.json`` is in it, which is written last and at once (by renaming). Older ones are
removed only then; what a kill left half-written is removed before the next one is written.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

_WHOLE: Final = "whole.json"
_PREFIX: Final = "checkpoint-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One that a run can go on from.

    Attributes:
        folder: where it lies.
        step: optimizer steps that had been done.
        processes: that had trained together; None where it does not say.
    """

    folder: Path
    step: int
    processes: int | None = None


def whole_checkpoints(folder: Path) -> list[Checkpoint]:
    """The checkpoints of a run that were written to their end, earliest first.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for step in (5, 10):
        ...     (folder / f"checkpoint-{step}").mkdir()
        >>> _ = (folder / "checkpoint-5" / "whole.json").write_text('{"step": 5}')
        >>> [checkpoint.step for checkpoint in whole_checkpoints(folder)]
        [5]
    """
    found = [
        Checkpoint(path, step, json.loads((path / _WHOLE).read_text(encoding="utf-8")).get("processes"))
        for path in folder.glob(f"{_PREFIX}*")
        if (step := _step(path)) and (path / _WHOLE).is_file()
    ]
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def declare_whole(folder: Path, step: int, *, keep: int, processes: int = 1) -> None:
    """Say that a checkpoint of so many processes is written to its end; all but the latest ``keep`` whole ones are removed."""
    note = folder / f"{_WHOLE}.part"
    note.write_text(json.dumps({"step": step, "processes": processes}), encoding="utf-8")
    note.replace(folder / _WHOLE)
    for older in whole_checkpoints(folder.parent)[:-keep]:
        (older.folder / _WHOLE).unlink()  # first, so that a half-removed one does not count
        shutil.rmtree(older.folder)


def remove_unfinished(folder: Path) -> None:
    """Remove what a kill left half-written or half-removed."""
    for path in folder.glob(f"{_PREFIX}*"):
        if _step(path) is not None and not (path / _WHOLE).is_file():
            shutil.rmtree(path)


def save_sampling(folder: Path, process: int, *, micro_steps: int, completions: Any) -> None:
    """Keep TRL's counter and, when there are some, the completions that were not yet learned from."""
    torch.save({"micro_steps": micro_steps, "completions": completions}, folder / _sampling(process))


def load_sampling(folder: Path, process: int) -> tuple[int, Any] | None:
    """What :func:`save_sampling` kept; None for a checkpoint without it."""
    path = folder / _sampling(process)
    if not path.is_file():
        return None
    kept = torch.load(path, weights_only=True)
    return kept["micro_steps"], kept["completions"]


def _sampling(process: int) -> str:
    return f"sampling_{process}.pt"


def _step(path: Path) -> int | None:
    number = path.name.removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else None
