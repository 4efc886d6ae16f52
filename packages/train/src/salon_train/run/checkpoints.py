"""A killed run continues as if it had not been killed: whole checkpoints, and everything that the next step draws from.

What transformers restores: optimizer, schedule, and the states of Python's, NumPy's and torch's generators. What it does
not, and is restored here and in ``trl/mixin.py``:

* weights of architectures that save them under other names than they have in memory (LLaVA): transformers' trainer would go
  on with the weights that the run began with;
* TRL's counter of micro-steps, by which it decides when to generate: it starts at 0 again, so a run that was saved between
  two generations would throw away what it had sampled;
* the completions that were sampled and not yet learned from, which are saved when there are some;
* which prompts come next: the sampler is seeded by (seed, epoch) and told the epoch.

A checkpoint counts when the file ``whole.json`` is in it, which is written last and at once (by renaming), and when every
file still has the size that is noted there: a machine that lost its power may have kept the note without the files. Before a
run continues from a checkpoint, every file is held against the SHA-256 that the note has of it (:func:`undamaged`).
Older ones are removed only then; what a kill left half-written is removed before the next one is written.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import IncompleteError, InputError
from salon_train.models.loading import line

_WHOLE: Final = "whole.json"
_PREFIX: Final = "checkpoint-"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that training can resume from.

    Attributes:
        folder: where it lies.
        step: optimizer steps that had been done.
        processes: that had trained together; None where it does not say.
    """

    folder: Path
    step: int
    processes: int | None = None


def whole_checkpoints(folder: Path) -> list[Checkpoint]:
    """Return the checkpoints of a run that were written to their end, earliest first.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for step in (5, 10):
        ...     (folder / f"checkpoint-{step}").mkdir()
        >>> _ = (folder / "checkpoint-5" / "whole.json").write_text('{"step": 5}')
        >>> [checkpoint.step for checkpoint in whole_checkpoints(folder)]
        [5]
    """
    checkpoints = [checkpoint for path in folder.glob(f"{_PREFIX}*") if (checkpoint := _whole(path)) is not None]
    return sorted(checkpoints, key=lambda checkpoint: checkpoint.step)


def declare_whole(folder: Path, step: int, *, keep: int, processes: int = 1) -> None:
    """Mark a checkpoint as whole, and remove all but the latest ``keep`` whole ones."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    sizes = {name: _kept(path) for name, path in files.items()}
    sums = {name: file_sha256(path) for name, path in files.items()}
    told = {"step": step, "processes": processes, "bytes": sizes, "sha256": sums}
    note = folder / f"{_WHOLE}.part"
    note.write_text(json.dumps(told | {"note": _sum_of(told)}), encoding="utf-8")
    _kept(note)
    note.replace(folder / _WHOLE)
    for older in whole_checkpoints(folder.parent)[:-keep]:
        (older.folder / _WHOLE).unlink()  # first, so that a half-removed one does not count
        shutil.rmtree(older.folder)


def undamaged(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """Find the latest checkpoint of a run whose files are all as they were written, by their checksums.

    Later ones that are damaged lose their note, so that they no longer count and the next save removes them.

    Returns:
        The checkpoint, None without any, and a sentence about each damaged one that was passed over.

    Raises:
        InputError: when there are checkpoints and all are damaged; names the file of the latest.
    """
    passed: list[tuple[Checkpoint, str]] = []
    for checkpoint in reversed(whole_checkpoints(folder)):
        flaw = _damage(checkpoint.folder)
        if flaw is None:
            for damaged, _ in passed:
                (damaged.folder / _WHOLE).unlink()
            return checkpoint, [f"{damaged.folder.name} is passed over: {flaw}" for damaged, flaw in passed]
        passed.append((checkpoint, flaw))
    if passed:
        checkpoint, flaw = passed[0]
        hint = "Put the files back from a copy, or begin again with --again."
        raise InputError(f"no checkpoint can be continued from: {flaw}", source=checkpoint.folder, hint=hint)
    return None, []


def remove_unfinished(folder: Path) -> None:
    """Remove what a kill left half-written or half-removed."""
    for path in folder.glob(f"{_PREFIX}*"):
        if _step(path) is not None and _whole(path) is None:
            shutil.rmtree(path)


def save_sampling(folder: Path, process: int, *, micro_steps: int, completions: Any) -> None:
    """Keep TRL's counter and, when there are some, the completions that were not yet learned from."""
    torch.save({"micro_steps": micro_steps, "completions": completions}, folder / _sampling(process))


def load_sampling(folder: Path, process: int) -> tuple[int, Any] | None:
    """Return what :func:`save_sampling` kept; None for a checkpoint without it."""
    path = folder / _sampling(process)
    if not path.is_file():
        return None
    kept = torch.load(path, weights_only=True)
    return kept["micro_steps"], kept["completions"]


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors while weights or a checkpoint are written into an error for people.

    Raises:
        IncompleteError: the disk is full, for instance. What was whole before stays.
    """
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors have errors of their own for a full disk
        hint = "Make room, and give the same command again: it continues from the last whole checkpoint."
        raise IncompleteError(f"{folder}: cannot be written ({line(error)})\n{hint}") from error


def _whole(folder: Path) -> Checkpoint | None:
    """Return the checkpoint, where the note is there and every file has the size that it had then; otherwise None."""
    step = _step(folder)
    try:
        told = json.loads((folder / _WHOLE).read_text(encoding="utf-8"))
        whole = all((folder / name).stat().st_size == size for name, size in told.get("bytes", {}).items())
    except (OSError, ValueError, AttributeError):  # AttributeError: a note that is no object
        return None
    return Checkpoint(folder, step, told.get("processes")) if whole and step is not None else None


def _kept(path: Path) -> int:
    """Return the size of a file, once it is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return path.stat().st_size


def _damage(folder: Path) -> str | None:
    """Return what is wrong with the files of a checkpoint that has its note and its sizes; None if nothing is."""
    told = json.loads((folder / _WHOLE).read_text(encoding="utf-8"))
    if told.pop("note", None) != _sum_of(told):
        return f"{_WHOLE} was changed, or has no checksums as an earlier version wrote it"
    different = (name for name, noted in told["sha256"].items() if file_sha256(folder / name) != noted)
    name = next(different, None)
    return None if name is None else f"{name} is not as it was written (its SHA-256 differs)"


def _sum_of(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _sampling(process: int) -> str:
    return f"sampling_{process}.pt"


def _step(path: Path) -> int | None:
    number = path.name.removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else None
