"""Where the files of one stage of a run lie, and who may write there.

FOLDER/sft/          and FOLDER/grpo/, FOLDER/refine/, FOLDER/image/, FOLDER/reward-model/
  configuration.json   what the stage was told; a second call with another one is refused
  begun.json           when it was begun: which run this is, in a store
  changeable.json      what the latest call was told besides: it may be another thing in the next
  examples.json        how many examples it learns from, and their digest; a second call with others is refused
  weights.json         the digest of the weights that it starts from; a second call with others is refused
  log.jsonl            what happened, one line each
  completions.jsonl    some of what the policy wrote, as `salon reward audit` reads it
  checkpoint-N/        what a killed run continues from
  model/               the result: weights or adapters, and the processor
  finished.json        written last
"""

import fcntl
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypeVar

from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.whole_files import write_whole
from salon_train.configuration.reading import dotted
from salon_train.configuration.schema import CHANGEABLE, RunConfiguration
from salon_train.run.checkpoints import Checkpoint, whole_checkpoints

Stage: TypeAlias = Literal["sft", "grpo", "refine", "image", "reward-model"]
Row = TypeVar("Row")
FINISHED: Final = "finished.json"
"""The file of a finished stage."""
_BEGUN: Final = "begun.json"
_PUT_BACK: Final = "Put the old ones back, choose another run.folder, or begin again with --again."
_OTHER_STAGES: Final = {
    "sft": ("grpo", "refine", "editor"),
    "grpo": ("sft",),
    "refine": ("sft",),
    "image": (),
    "reward-model": (),
}
"""Sections of other stages, which may change between two calls of this one."""


@dataclass(frozen=True, slots=True)
class StageRows(Generic[Row]):
    """The rows of a stage.

    Attributes:
        examples: to learn from, or to evaluate on.
        notes: what was left out, one sentence each.
        identity: the values of a row that a resumed run must find again, as JSON can write them.
        pictures: the pictures of a row, files or bytes, which it must find again, too.
    """

    examples: tuple[Row, ...]
    notes: tuple[str, ...]
    identity: Callable[[Row], Sequence[object]]
    pictures: Callable[[Row], Sequence[Path | bytes]] = lambda row: ()


@dataclass(slots=True)
class RunFolder:
    """The folder of one stage; as a context manager, it is locked against other processes.

    Attributes:
        path: of the stage.
        stage: its name.
    """

    path: Path
    stage: Stage
    _lock: int | None = None
    _notes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _made: list[Path] = field(default_factory=list)

    @classmethod
    def of(cls, configuration: RunConfiguration, stage: Stage) -> Self:
        """Return the folder of a stage of a configured run; nothing is written."""
        return cls(Path(configuration.run.folder) / stage, stage)

    @property
    def model(self) -> Path:
        """The result."""
        return self.path / "model"

    @property
    def log(self) -> Path:
        """What happened."""
        return self.path / "log.jsonl"

    @property
    def _note(self) -> Path:
        return self.path / "configuration.json"

    @property
    def finished(self) -> Mapping[str, Any] | None:
        """What the stage ended with; None while it has not."""
        path = self.path / FINISHED
        return _noted(path) if path.is_file() else None

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Say that the stage is done."""
        _write(self.path / FINISHED, facts)

    def last_checkpoint(self) -> Checkpoint | None:
        """Return what a killed run continues from."""
        return next(reversed(whole_checkpoints(self.path)), None) if self.path.is_dir() else None

    def hold_against(self, configuration: RunConfiguration) -> None:
        """Hold what shapes the weights against what the stage was begun with.

        Raises:
            InputError: when a setting that shapes the weights is another one now.
        """
        self._notes[_BEGUN] = {"at": datetime.now(UTC).isoformat()}
        if not self._note.is_file():
            return
        told = _shaping(configuration, self.stage)
        before = _noted(self._note)
        key = next((key for key in sorted(told.keys() | before.keys()) if told.get(key) != before.get(key)), None)
        if key is not None:
            raise InputError(
                f"this run was begun with {before.get(key)!r}, and is now told", source=self.path, key=key,
                value=told.get(key), hint="Choose another run.folder, or begin again with --again.",
            )  # fmt: skip

    def learn_from(self, rows: StageRows[Any]) -> None:
        """Compare the rows of the stage with those that it began with; :meth:`begin` writes their number and digest.

        Raises:
            InputError: the rows or their pictures changed, so that a resumed run would continue with others; or a picture
                cannot be read.
        """
        pictures = [rows.pictures(example) for example in rows.examples]
        digests = _digests(picture for own in pictures for picture in own if isinstance(picture, Path))
        seen = hashlib.sha256()
        for example, own in zip(rows.examples, pictures, strict=True):
            seen.update(json.dumps(rows.identity(example)).encode())
            for picture in own:
                digest = digests[picture] if isinstance(picture, Path) else hashlib.sha256(picture).hexdigest()
                seen.update(digest.encode())
        noted = {"examples": len(rows.examples), "sha256": seen.hexdigest()}
        before = self._noted_before("examples.json", noted)
        if before is not None:
            problem = f"this run was begun with other rows ({before.get('examples')} of them) or pictures, and now finds"
            hint = "Give it the old files again, choose another run.folder, or begin again with --again."
            raise InputError(problem, source=self.path, key="data", value=len(rows.examples), hint=hint)

    def start_from(self, weights: str) -> None:
        """Compare the digest of the model's weights with that which the stage began with; :meth:`begin` writes it.

        Raises:
            InputError: it changed: a resumed run would put what it has learned on another model.
        """
        if self._noted_before("weights.json", {"digest": weights}) is not None:
            problem = "this run was begun with other weights of its model, and now finds"
            raise InputError(problem, source=self.path, key="model", value=weights, hint=_PUT_BACK)

    def learn_by(self, version: str) -> None:
        """Compare the version of the reward with that which the stage began with; :meth:`begin` writes it.

        Raises:
            InputError: it changed: a resumed run would continue with another reward.
        """
        if self._noted_before("reward.json", {"version": version}) is not None:
            problem = "this run was begun with other weights or another formula of its reward, and now finds version"
            raise InputError(problem, source=self.path, key="reward", value=version, hint=_PUT_BACK)

    def _noted_before(self, name: str, now: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what the stage began with where it was something else, else None; :meth:`begin` writes what it is now."""
        self._notes[name] = now
        path = self.path / name
        before = _noted(path) if path.is_file() else now
        return None if before == now else before

    def begin(self, configuration: RunConfiguration) -> None:
        """Write the settings and the digest of the rows, just before the first step."""
        for name, value in {self._note.name: _shaping(configuration, self.stage), **self._notes}.items():
            if name == _BEGUN and self.last_checkpoint() is not None:
                continue  # begun by a version that did not note it
            if not (self.path / name).is_file():
                _write(self.path / name, value)
        _write(self.path / "changeable.json", dotted(_not_shaping(configuration)))

    @property
    def begun(self) -> str | None:
        """Return when the stage was begun, for the first time or again; None where unknown."""
        path = self.path / _BEGUN
        note = _noted(path) if path.is_file() else {} if self.last_checkpoint() else self._notes.get(_BEGUN, {})
        return note.get("at")

    def clear(self) -> None:
        """Remove everything of this stage."""
        for entry in list(self.path.iterdir()) if self.path.is_dir() else ():
            if entry.name != "lock":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def __enter__(self) -> Self:
        """Take the folder.

        Raises:
            InputError: when another process trains in it, or it cannot be made.
        """
        self._made = [each for each in (self.path, *self.path.parents) if not each.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(error, self.path) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            self._lock = None
            raise InputError("another process is training here", source=self.path) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Unlock the folder; remove it where a stage that wrote nothing, such as one with wrong rows, made it."""
        if self._lock is not None:
            if self._made and [each.name for each in self.path.iterdir()] == ["lock"]:
                (self.path / "lock").unlink()
                with suppress(OSError):  # a folder that has got other files
                    for folder in self._made:
                        folder.rmdir()
            os.close(self._lock)
            self._lock = None


def _digests(files: Iterable[Path]) -> dict[Path, str]:
    """Return the SHA-256 of each file; several are read at once.

    Raises:
        InputError: one cannot be read.
    """
    different = list(dict.fromkeys(files))

    def of(file: Path) -> str:
        try:
            return file_sha256(file)
        except OSError as error:
            raise InputError(f"the picture cannot be read ({error.strerror})", source=file) from error

    with ThreadPoolExecutor() as pool:
        return dict(zip(different, pool.map(of, different), strict=True))


def _noted(path: Path) -> dict[str, Any]:
    """Read one of the folder's own files.

    Raises:
        InputError: it is cut off, or was changed by hand.
    """
    try:
        noted: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            "cannot be read: it is cut off or was changed", source=path, hint="Begin again with --again."
        ) from error
    return noted


def _shaping(configuration: RunConfiguration, stage: Stage) -> dict[str, Any]:
    """Return what shapes the weights of a stage, by dotted key."""
    sections = configuration.model_dump(mode="json")
    kept = {name: value for name, value in sections.items() if name not in (*CHANGEABLE, *_OTHER_STAGES[stage], "run")}
    return {"stage": stage, **dotted({**kept, "run": {"seed": configuration.run.seed}})}


def _not_shaping(configuration: RunConfiguration) -> dict[str, Any]:
    """Return the sections that do not shape the weights; an infinite threshold is written as ``inf``."""
    sections = configuration.model_dump(mode="json", include=set(CHANGEABLE))
    for name, pair in sections.get("monitors", {}).get("thresholds", {}).items():
        sections["monitors"]["thresholds"][name] = [value if math.isfinite(value) else "inf" for value in pair]
    return sections


def _write(path: Path, value: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
