"""Stages: functions from the columns of a shard to new columns beside them.

    @stage(version="1", reads=["image"], writes={"sharpness": pl.Float32})
    def look(batch: pl.DataFrame) -> pl.DataFrame: ...     # same keys, same order, never fewer rows

A stage never drops a row: where it fails the new columns are null and ``<stage>_problem`` states the reason. Filters are SQL
over columns (:mod:`~salon_curate.selection`). The name of a part is a digest of the stage, its version and parameters, and the
parts it read, so a part that exists need not be made again, and the same work has the same bytes on every engine.
"""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from salon_curate.dataset import BATCH_ROWS, SHARD_COLUMNS, DataSet, Shard, read_rows
from salon_curate.errors import StageError
from salon_curate.files import publish
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from salon_curate.engine import TaskResult

Function: TypeAlias = "Callable[..., pl.DataFrame]"
RECEIPT: Final = "salon.receipt"
"""The key of a part's footer under which its receipt is written."""
_ZEROS: Final = "0" * 64
_DIGEST: Final = re.compile(rb'"file": "([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Stage:
    """A function with its contract.

    Attributes:
        name: of the stage in a pipeline; also the folder of its parts and the prefix of ``<name>_problem``.
        version: raised when the same input gives another output.
        reads: columns of the shard or of earlier stages that the function needs; ``key`` is always given.
        writes: the new columns with their polars types.
        function: takes a batch, returns ``key``, the new columns, and optionally ``problem``.
        where: ``module:name`` of the function, by which another process imports it.
        parameters: keyword arguments of the function; part of every part's name.
        whole: the function is given the rows of all shards at once, in one process.
        prepare: of such a stage: makes of one shard's columns what is kept of them in memory for the function.
    """

    name: str
    version: str
    reads: tuple[str, ...]
    writes: "Mapping[str, Any]"
    function: Function
    where: str
    parameters: Mapping[str, Digestible] = field(default_factory=dict, hash=False)
    whole: bool = False
    prepare: "Function | None" = None

    def with_parameters(self, name: str | None = None, **parameters: Digestible) -> "Stage":
        """Return the stage under another name or with parameters of its own."""
        return replace(self, name=name or self.name, parameters={**self.parameters, **parameters})

    @property
    def folder(self) -> str:
        """Return the folder of the stage's parts, below the data set."""
        return f"columns/{self.name}@{self.version}"

    @property
    def judged(self) -> bool:
        """Return whether the stage asks a judge."""
        return False

    @property
    def identity(self) -> str:
        """Return a digest of everything but the data that decides what the stage writes and costs."""
        return digest("curate stage", {"stage": self.name, "where": self.where, "version": self.version,
                                       "parameters": dict(self.parameters)})  # fmt: skip

    @property
    def stopped(self) -> str | None:
        """Return why the stage does no more in this run; None for a stage that asks no judge."""
        return None

    def check(self, types: "Mapping[str, Any]") -> None:
        """Check the stage against the types of the columns before it, before anything is run.

        Raises:
            InputError: the function does not take a parameter.
        """
        self.check_parameters()

    def check_parameters(self) -> None:
        """Check that the function takes the parameters, and that their values are what its annotations allow.

        Raises:
            InputError: it does not; names the parameter and the value.
        """
        from pydantic import TypeAdapter, ValidationError

        try:
            signature(self.function).bind(None, **self.parameters)
        except TypeError as error:
            hint = f"Its parameters are: {', '.join(list(signature(self.function).parameters)[1:]) or 'none'}."
            raise InputError(
                f"does not take these parameters ({error}):", column="stage", value=self.name, hint=hint
            ) from error
        try:
            accepted = signature(self.function, eval_str=True).parameters
        except NameError:  # of a function whose annotations exist for type checkers only
            return
        for name, value in self.parameters.items():
            if name in accepted and accepted[name].annotation is not Parameter.empty:
                try:
                    TypeAdapter(accepted[name].annotation).validate_python(value, strict=True)
                except ValidationError as error:
                    [fault, *_] = error.errors(include_url=False)
                    key = ".".join(map(str, ("parameters", name, *fault["loc"])))
                    problem = f"stage {self.name!r} does not take this value ({fault['msg']}):"
                    raise InputError(problem, key=key, value=value) from error

    def in_this_process(self, dataset: DataSet, tasks: "Sequence[ShardTask]") -> "Iterator[TaskResult] | None":
        """Return the outcomes of a stage that holds a judge; None for one that an engine runs."""
        return None

    @property
    def problem(self) -> str:
        """Return the column that states why a row has no value."""
        return f"{self.name}_problem"

    def part(self, shard: Shard, inputs: Sequence[str]) -> str:
        """Return the path of a part below the data set; ``inputs`` are the paths of the parts that it reads."""
        name = digest(
            "curate part",
            {"stage": self.name, "where": self.where, "version": self.version, "parameters": dict(self.parameters),
             "shard": shard.sha256, "inputs": sorted(inputs)},
            length=16,
        )  # fmt: skip
        return f"{self.folder}/{shard.name}-{name}.parquet"


def stage(
    *,
    version: str,
    reads: Sequence[str],
    writes: "Mapping[str, Any]",
    scope: Literal["shard", "dataset"] = "shard",
    prepare: "Function | None" = None,
) -> Callable[[Function], Stage]:
    """Declare a function of a batch to be a stage (see the module's text for the contract)."""

    def declared(function: Function) -> Stage:
        where = f"{function.__module__}:{function.__name__}"
        whole = scope == "dataset"
        return Stage(function.__name__, version, tuple(reads), dict(writes), function, where, whole=whole, prepare=prepare)

    return declared


def stage_named(where: str, name: str | None = None, parameters: Mapping[str, Digestible] | None = None) -> Stage:
    """Import a stage, or a function that returns one, by ``module:name``: installed, or a file of the working folder.

    Args:
        where: of a function declared with ``@stage``, or of one that returns a :class:`Stage` for the parameters.
        name: in the pipeline; default: the stage's own.
        parameters: keyword arguments.

    Raises:
        InputError: there is no such module or stage, or it does not take the parameters.

    Example:
        >>> stage_named("salon_curate.measures:look").name
        'look'
    """
    module, _, attribute = where.partition(":")
    if (here := str(Path.cwd())) not in sys.path:  # behind what is installed; an installed command does not look there
        sys.path.append(here)
    try:
        target = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "Write module:name of a function declared with @stage."
        raise InputError(f"cannot be imported ({error}):", column="use", value=where, hint=hint) from error
    options = dict(parameters or {})
    if isinstance(target, Stage):
        return target.with_parameters(name, **options)
    try:
        stage = target(**options)
    except TypeError as error:
        raise InputError(f"does not take these parameters ({error}):", column="use", value=where) from error
    if not isinstance(stage, Stage):
        raise InputError("is no stage:", column="use", value=where, hint="Declare it with @stage.")
    return replace(stage, name=name or stage.name, where=where, parameters=options)


@dataclass(frozen=True, slots=True)
class ShardTask:
    """One stage on one shard or on all, as plain values that any engine can carry to another process.

    Attributes:
        folder: the data set.
        where: the stage's ``module:name``; ``name`` and ``parameters`` complete it.
        shard: the shard's name; ``rows`` its length.
        inputs: ``part → columns`` that the stage reads from other stages' parts.
        output: the part to write, below the folder.
        every: of a stage over the whole data set: of each shard its name, rows, inputs and part; None for a part that exists.
    """

    folder: str
    where: str
    name: str
    parameters: Mapping[str, Digestible]
    shard: str
    rows: int
    inputs: Mapping[str, Sequence[str]]
    output: str
    every: Sequence[tuple[str, int, Mapping[str, Sequence[str]], str | None]] = ()


def work_on(task: ShardTask) -> dict[str, int]:
    """Run a stage on one shard, or on all; publish the parts and return the counts of their receipts.

    Raises:
        StageError: the stage raised an error or broke its contract.
        StorageError: the part cannot be written.
    """
    import polars as pl

    stage = stage_named(task.where, task.name, task.parameters)
    folder = Path(task.folder)
    if stage.whole:
        return _work_on_all(folder, stage, task)
    shard = folder / "shards" / f"{task.shard}.parquet"
    own, beside = read_inputs(folder, stage, task.inputs, task.rows)
    pieces = []
    for start in range(0, task.rows, BATCH_ROWS):
        batch = read_rows(shard, own, start, BATCH_ROWS)
        batch = pl.concat([batch, *(frame.slice(start, BATCH_ROWS) for frame in beside)], how="horizontal")
        pieces.append(checked_output(stage, batch["key"], _called(stage, stage.function, batch, task), task.shard))
    frame = pl.concat(pieces) if pieces else pl.DataFrame(schema=part_schema(stage))
    return write_part(folder / task.output, stage, frame, task.shard)


def _work_on_all(folder: Path, stage: Stage, task: ShardTask) -> dict[str, int]:
    """Run a stage on the rows of all shards, which are read and prepared one shard at a time."""
    import polars as pl

    pieces = []
    for shard, count, inputs, _ in task.every:
        own, beside = read_inputs(folder, stage, inputs, count)
        rows = pl.concat([read_rows(folder / "shards" / f"{shard}.parquet", own), *beside], how="horizontal")
        pieces.append(rows if stage.prepare is None else _called(stage, stage.prepare, rows, task))
    rows = pl.concat(pieces)
    del pieces
    answer = checked_output(stage, rows["key"], _called(stage, stage.function, rows, task), task.shard)
    start = 0
    for shard, count, _, output in task.every:
        if output is not None and not (folder / output).exists():  # a process that died before may have written it
            write_part(folder / output, stage, answer.slice(start, count), shard)
        start += count
    return {"rows": len(answer)}


def read_inputs(
    folder: Path, stage: Stage, inputs: Mapping[str, Sequence[str]], rows: int
) -> "tuple[list[str], list[pl.DataFrame]]":
    """Return the columns to read from a shard, ``key`` first, and the columns of earlier stages, read.

    Raises:
        InputError: a part is missing, damaged, or has not the shard's number of rows.
    """
    elsewhere = {column for columns in inputs.values() for column in columns}
    own = ["key", *(column for column in stage.reads if column not in elsewhere and column != "key")]
    beside = []
    for part, columns in inputs.items():
        frame = read_rows(folder / part, columns)
        if len(frame) != rows:
            hint = "Delete it; salon curate run makes it again."
            raise InputError(f"has {len(frame)} rows, and its shard {rows}", source=folder / part, hint=hint)
        beside.append(frame)
    return own, beside


def checked_output(stage: Stage, keys: "pl.Series", output: "pl.DataFrame", shard: str) -> "pl.DataFrame":
    """Return a stage's output with exactly its columns and types; NaN is a missing value with its reason.

    Raises:
        StageError: the output is no table, keys are missing, added or out of order, a column is missing or named twice, or a
            value does not fit its type.
    """
    import polars as pl

    if not isinstance(output, pl.DataFrame):
        kind = type(output).__name__
        raise StageError(f"stage {stage.name!r}, shard {shard}: the output must be a DataFrame of polars, not {kind}")
    if "problem" in output.columns:
        if stage.problem in output.columns:
            raise StageError(f"stage {stage.name!r}, shard {shard}: the output has both 'problem' and {stage.problem!r}")
        output = output.rename({"problem": stage.problem})
    elif stage.problem not in output.columns:
        output = output.with_columns(pl.lit(None, pl.String).alias(stage.problem))
    schema = part_schema(stage)
    missing = [name for name in schema if name not in output.columns]
    if missing:
        raise StageError(f"stage {stage.name!r}, shard {shard}: the output lacks the column {missing[0]!r}")
    if output.schema["key"] != keys.dtype or not output["key"].equals(keys):
        raise StageError(f"stage {stage.name!r}, shard {shard}: the output must have the same keys in the same order")
    try:
        frame = output.select(pl.col(name).cast(kind, strict=True) for name, kind in schema.items())
    except pl.exceptions.PolarsError as error:
        raise StageError(f"stage {stage.name!r}, shard {shard}: a value does not fit its column ({error})") from error
    for name, kind in frame.schema.items():
        if kind.is_integer() and output.schema[name].is_float() and (output[name] != frame[name].cast(pl.Float64)).any():
            raise StageError(f"stage {stage.name!r}, shard {shard}: a value of {name!r} has a fraction and does not fit {kind}")
        if kind.is_float() and frame[name].is_nan().any():  # it would pass every `>=`
            why = pl.when(pl.col(name).is_nan()).then(pl.lit(f"{name} is not a number"))
            frame = frame.with_columns(pl.col(name).fill_nan(None), pl.coalesce(stage.problem, why).alias(stage.problem))
    return frame


def write_part(path: Path, stage: Stage, frame: "pl.DataFrame", shard: str) -> dict[str, int]:
    """Publish a part with its receipt in the footer; return the receipt's counts.

    The receipt contains the SHA-256 of the file with zeros in the digest's own place.
    """
    counts = {"rows": len(frame), "problems": len(frame) - frame[stage.problem].null_count()}
    receipt = {"stage": stage.name, "version": stage.version, "where": stage.where, "shard": shard, **counts, "file": _ZEROS}
    metadata = {RECEIPT: json.dumps(receipt, sort_keys=True)}
    publish_with_digest(path, lambda temporary: frame.write_parquet(temporary, compression="zstd", metadata=metadata))
    return counts


def publish_with_digest(path: Path, write: Callable[[Path], object]) -> None:
    """Publish a file whose receipt, at its end, has zeros where the file's SHA-256 belongs; fill it in."""

    def write_with_digest(temporary: Path) -> None:
        write(temporary)
        content = temporary.read_bytes()
        offset = content.rindex(_ZEROS.encode())
        with temporary.open("r+b") as file:
            file.seek(offset)
            file.write(hashlib.sha256(content).hexdigest().encode())

    publish(path, write_with_digest)


def is_as_written(path: Path) -> bool:
    """Return whether a part or a copy has the SHA-256 in its receipt; false without a receipt.

    Raises:
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    digests = [*_DIGEST.finditer(content)]
    if not digests:
        return False
    start, end = digests[-1].span(1)  # the footer is at the end
    return hashlib.sha256(content[:start] + _ZEROS.encode() + content[end:]).hexdigest().encode() == content[start:end]


def read_receipt(path: Path) -> dict[str, Any]:
    """Return the receipt in a part's footer.

    Raises:
        InputError: the file is no part, or is damaged.
    """
    import polars as pl

    try:
        receipt: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)[RECEIPT])
        if not isinstance(receipt, dict) or not receipt.keys() >= {"stage", "shard", "rows", "problems"}:
            raise ValueError(RECEIPT)
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"is no part of a stage, or is damaged ({type(error).__name__})", source=path) from error
    return receipt


def part_problem(path: Path, stage: Stage, shard: Shard) -> str | None:
    """Return why a file is not the unchanged part of this stage and shard; None where it is."""
    try:
        if not is_as_written(path):  # before anything of it is parsed: damage can end the process
            return "has changed since it was written"
        receipt = read_receipt(path)
    except (InputError, OSError) as error:
        return f"cannot be read ({error})"
    if (receipt["stage"], receipt["shard"], receipt["rows"]) != (stage.name, shard.name, shard.rows):
        return "its receipt is of another stage or shard"
    return None


def receipt_of_copy(path: Path, state: str) -> dict[str, str]:
    """Return the metadata of a copy of columns: its name, the state of what it copies, zeros for its digest."""
    return {RECEIPT: json.dumps({"copy": path.name, "of": state, "file": _ZEROS})}


def is_copy_of(path: Path, state: str) -> bool:
    """Return whether a copy of columns is as it was written, under its own name, of files in this state.

    Raises:
        OSError: the file cannot be read.
    """
    import polars as pl

    if not is_as_written(path):
        return False
    receipt = json.loads(pl.read_parquet_metadata(path).get(RECEIPT, "{}"))
    return (receipt.get("copy"), receipt.get("of")) == (path.name, state)


class ExpectedPart(NamedTuple):
    """Where a stage's part of one shard lies below the data set, and what it is made from."""

    path: str
    inputs: dict[str, list[str]]


def expected_parts(dataset: DataSet, stages: Sequence[Stage]) -> dict[str, list[ExpectedPart]]:
    """Return, for every stage, each shard's part and the parts and columns that it reads.

    Raises:
        InputError: two stages write one column, a name occurs twice, a stage reads a column that no earlier stage writes, a
            parameter is not one of the stage's, or a condition cannot be applied.
    """
    import polars as pl

    writer: dict[str, str] = dict.fromkeys(SHARD_COLUMNS, "")
    types: dict[str, Any] = {name: pl.Binary if name == "image" else pl.String for name in SHARD_COLUMNS}
    parts_of: dict[str, list[ExpectedPart]] = {}
    for stage in stages:
        if stage.name in parts_of:
            raise InputError("two stages have one name:", source="pipeline", value=stage.name, hint="Name one: name = …")
        for column in stage.reads:
            if column not in writer:
                raise InputError(f"stage {stage.name!r} reads a column that no stage before it writes:", value=column,
                                 found=sorted(writer))  # fmt: skip
        stage.check(types)
        types |= {**stage.writes, stage.problem: pl.String}
        reads: dict[str, list[str]] = {}
        for column in stage.reads:
            if writer[column]:
                reads.setdefault(writer[column], []).append(column)
        parts = []
        everything = [part.path for name in reads for part in parts_of[name]] + [shard.sha256 for shard in dataset.shards]
        together = [digest("curate whole", everything)] if stage.whole else []
        for number, shard in enumerate(dataset.shards):
            inputs = {parts_of[name][number].path: columns for name, columns in reads.items()}
            parts.append(ExpectedPart(stage.part(shard, [*inputs, *together]), inputs))
        parts_of[stage.name] = parts
        for column in (*stage.writes, stage.problem):
            if column in writer:
                raise InputError("two stages write one column:", source="pipeline", value=column)
            writer[column] = stage.name
    return parts_of


def _called(stage: Stage, function: Function, batch: "pl.DataFrame", task: ShardTask) -> "pl.DataFrame":
    try:
        return function(batch, **(stage.parameters if function is stage.function else {}))
    except Exception as error:
        raise StageError(f"stage {stage.name!r}, shard {task.shard}: {type(error).__name__}: {error}") from error


def part_schema(stage: Stage) -> dict[str, Any]:
    """Return the columns of a stage's parts with their types."""
    import polars as pl

    return {"key": pl.String, **stage.writes, stage.problem: pl.String}
