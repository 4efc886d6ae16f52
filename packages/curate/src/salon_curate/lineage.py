"""Why a picture is kept or dropped: the conditions that it fails, and its values with part, stage version, judge and reply."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from salon_curate.dataset import DataSet, read_rows
from salon_curate.judging import JudgedStage, journal_path, read_journal
from salon_curate.selection import LIGHT, Predicate, check_condition, predicate, saved_predicates
from salon_curate.stages import Stage, expected_parts
from salon_taxonomy.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import polars as pl


def why(dataset: DataSet, stages: Sequence[Stage], key: str) -> dict[str, Any]:
    """Return everything that is known of one picture: its shard, its columns with their parts, and the judges' replies.

    ``selections`` says of each saved selection whether today's values keep the picture (``kept``), which conditions it
    ``fails`` and which have ``no_value``, each name with its SQL.

    Raises:
        InputError: no row has this key, or a file is missing or damaged.
    """
    import polars as pl

    for number, shard in enumerate(dataset.shards):
        keys = dataset.keys(shard)
        index = keys.index_of(key)
        if index is None:
            continue
        row = read_rows(dataset.shard_path(shard.name), [*LIGHT, "meta"], index, 1)
        known, told = [row], []
        for stage, parts in zip(stages, expected_parts(dataset, stages).values(), strict=True):
            path = dataset.folder / parts[number].path
            entry: dict[str, Any] = {"stage": stage.name, "version": stage.version, "part": parts[number].path}
            if path.exists():
                columns = [name for name, kind in stage.columns.items() if name != "key" and "Binary" not in str(kind)]
                known.append(read_rows(path, columns, index, 1))
                entry["values"] = known[-1].row(0, named=True)
            if isinstance(stage, JudgedStage):
                entry |= {"judge": stage.judge.name, "judge_version": stage.judge.version, "when": stage.when}
                replies = read_journal(journal_path(dataset.folder, stage.name, shard.name))
                entry["replies"] = [line for _, _, line in replies if line["key"] == key]
            told.append(entry)
        selections = _selections(dataset, pl.concat(known, how="horizontal"))
        return {"shard": shard.name, "row": index + 1, **row.row(0, named=True), "selections": selections, "stages": told}
    every = [each for shard in dataset.shards for each in dataset.keys(shard)]
    raise InputError("no picture has the key", value=key, source=dataset.folder, hint=did_you_mean(key, every) or None)


def _selections(dataset: DataSet, row: "pl.DataFrame") -> dict[str, dict[str, Any]]:
    """Return of each saved selection whether it keeps a row, shape (1, columns), and the conditions that do not hold."""
    told = {}
    for path in sorted((dataset.folder / "selections").glob("*.json")):
        fails, no_value = {}, {}
        for name, sql in saved_predicates(dataset, path.stem).items():
            condition = predicate(sql)
            holds = row.select(condition.expression).item() if _applies(condition, row) else None
            if holds is None:
                no_value[name] = sql
            elif not holds:
                fails[name] = sql
        told[path.stem] = {"kept": not fails and not no_value, "fails": fails, "no_value": no_value}
    return told


def _applies(condition: Predicate, row: "pl.DataFrame") -> bool:
    """Return whether the row has the columns of a condition, with types that it can be applied to."""
    try:
        check_condition(condition.sql, row.schema)
    except (InputError, KeyError):  # of a selection that was saved for other columns
        return False
    return True
