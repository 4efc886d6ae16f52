"""Where a value came from: every value of one picture with its part, stage version, judge and reply."""

from collections.abc import Sequence
from typing import Any

from salon_curate.dataset import DataSet, read_rows
from salon_curate.judging import JudgedStage, journal_path, read_journal
from salon_curate.selection import LIGHT
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.errors import InputError, did_you_mean


def why(dataset: DataSet, stages: Sequence[Stage], key: str) -> dict[str, Any]:
    """Return everything that is known of one picture: its shard, its columns with their parts, and the judges' replies.

    Raises:
        InputError: no row has this key, or a file is missing or damaged.
    """
    for number, shard in enumerate(dataset.shards):
        keys = dataset.keys(shard)
        index = keys.index_of(key)
        if index is None:
            continue
        row = read_rows(dataset.shard_path(shard.name), [*LIGHT, "meta"], index, 1).row(0, named=True)
        answer: dict[str, Any] = {"shard": shard.name, "row": index + 1, **row, "stages": []}
        for stage, parts in zip(stages, expected_parts(dataset, stages).values(), strict=True):
            path = dataset.folder / parts[number].path
            entry: dict[str, Any] = {"stage": stage.name, "version": stage.version, "part": parts[number].path}
            if path.exists():
                shown = [name for name, kind in stage.columns.items() if name != "key" and "Binary" not in str(kind)]
                entry["values"] = read_rows(path, shown, index, 1).row(0, named=True)
            if isinstance(stage, JudgedStage):
                entry |= {"judge": stage.judge.name, "judge_version": stage.judge.version, "when": stage.when}
                replies = read_journal(journal_path(dataset.folder, stage.name, shard.name))
                entry["replies"] = [line for _, _, line in replies if line["key"] == key]
            answer["stages"].append(entry)
        return answer
    every = [each for shard in dataset.shards for each in dataset.keys(shard)]
    raise InputError("no picture has the key", value=key, source=dataset.folder, hint=did_you_mean(key, every) or None)
