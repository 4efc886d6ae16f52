"""What a policy made, step by step, in ``salon view FOLDER``: completions, and sheets of pictures."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final

import polars as pl

from salon_console.row_view import RowDetail, RowTable, RowView
from salon_taxonomy.answers.strict_json import Json
from salon_taxonomy.media_files import read_inside
from salon_train.report.history import number, text_of
from salon_train.report.log_lines import LogLines
from salon_train.report.samples import FILE

_SHEETS: Final = "pictures/step-*.png"
_FINISHED: Final = "finished.json"
_LIVE_SECONDS: Final = 120.0
_MOST_BYTES: Final = 256 << 20
_MOST_PARTS: Final = 6
"""Parts of a reward that a card shows."""
_SCHEMA: Final = {
    "key": pl.String,
    "name": pl.String,
    "text": pl.String,
    "stage": pl.String,
    "step": pl.Int64,
    "bucket": pl.String,
    "example_id": pl.String,
    "group_id": pl.String,
    "truth": pl.String,
    "reward": pl.Float64,
    "tokens": pl.Int64,
}


class TrainingView(RowView):
    """The samples of a run's stages, the newest step first; it is read again while the run goes on.

    Args:
        folder: of a run, or of one of its stages.
    """

    def __init__(self, folder: Path) -> None:
        self.title = f"Training {folder.name}"
        self._folder = folder
        self._lock = Lock()
        self._read: tuple[object, RowTable] | None = None

    @property
    def live(self) -> bool:
        """Whether a stage wrote lately and has not finished."""
        now = time.time()
        return any(
            now - path.stat().st_mtime < _LIVE_SECONDS and not (_stage_of(path) / _FINISHED).exists() for path in self._files()
        )

    def rows(self) -> RowTable:
        """Return every completion and every sheet of pictures."""
        files = self._files()
        state = [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files]
        with self._lock:
            if self._read is None or self._read[0] != state:
                self._read = (state, self._table(files))
            return self._read[1]

    def details(self, key: str) -> Sequence[RowDetail]:
        """Return the truth, and each part of the reward."""
        row = self.rows().frame.filter(pl.col("key") == key).row(0, named=True)
        parts = [f"{name}: {'–' if row[name] is None else f'{row[name]:g}'}" for name in row if name.startswith("reward")]
        return [RowDetail("Reward", " · ".join(parts), "")] + ([RowDetail("Truth", "", row["truth"])] if row["truth"] else [])

    def picture(self, name: str) -> bytes | None:
        """Return the bytes of a sheet."""
        paths = {str(path.relative_to(self._folder)): path for path in self._files() if path.name != FILE}
        content = read_inside(paths[name], self._folder, _MOST_BYTES) if name in paths else None
        return content if isinstance(content, bytes) else None

    def _files(self) -> list[Path]:
        return training_files(self._folder)

    def _table(self, files: Sequence[Path]) -> RowTable:
        rows: list[dict[str, Any]] = []
        for path in files:
            stage = _stage_of(path).name
            if path.name == FILE:
                lines = LogLines(path, first="step")
                rows += [
                    _completion(stage, each.step, each.number, each.values) for each in lines if "completion" in each.values
                ]
            else:
                identifier = str(path.relative_to(self._folder))
                step = int(path.stem.removeprefix("step-"))
                rows.append({"key": identifier, "name": f"step {step}", "stage": stage, "step": step, "picture": identifier})
        parts = sorted({name for row in rows for name in row if name.startswith("reward_")})
        schema = {**_SCHEMA, **dict.fromkeys(parts, pl.Float64), "picture": pl.String}
        frame = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
        picture = pl.struct(pl.col("picture").alias("id"), name=pl.lit(""), chosen=pl.lit(value=False))
        pictures = pl.when(pl.col("picture").is_not_null()).then(pl.concat_list(picture)).otherwise(pl.lit([]))
        frame = frame.with_columns(pictures=pictures).drop("picture").sort("step", descending=True, maintain_order=True)
        choices = {"stage": "Stage", "step": "Step", "bucket": "Bucket", "truth": "Truth"}
        return RowTable(frame, choices, ("step", "reward", *parts[:_MOST_PARTS]))


def training_files(folder: Path) -> list[Path]:
    """Return the files of samples of a stage, or of all stages of a run."""
    stages = [folder, *sorted(each for each in folder.iterdir() if each.is_dir())]
    files = [path for stage in stages for path in (stage / FILE, *sorted(stage.glob(_SHEETS)))]
    return [path for path in files if path.is_file() and (path.name == FILE or path.stem[5:].isdigit())]


def _stage_of(path: Path) -> Path:
    return path.parent if path.name == FILE else path.parent.parent


def _completion(stage: str, step: int, line: int, values: Mapping[str, Json]) -> dict[str, Any]:
    rewards = values.get("rewards")
    parts = rewards if isinstance(rewards, dict) else {}
    tokens = number(values.get("completion_tokens"))
    return {
        "key": f"{stage}-{line}",
        "name": f"step {step}",
        "text": text_of(values.get("completion")),
        "stage": stage,
        "step": step,
        **{name: text_of(values.get(name)) or None for name in ("bucket", "example_id", "group_id", "truth")},
        "reward": number(values.get("reward")),
        "tokens": None if tokens is None else int(tokens),
        **{f"reward_{name}": number(value) for name, value in parts.items()},
    }


def training_rows(folder: Path) -> TrainingView | None:
    """Return the samples of a folder of ``salon train``; None for a folder of another kind."""
    return TrainingView(folder) if training_files(folder) else None
