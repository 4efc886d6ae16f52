"""Stages: functions from the columns of a shard, or of all shards, to new columns beside them.

    @stage(version="1", reads=["image"], writes={"sharpness": pl.Float32})
    def look(batch: pl.DataFrame) -> pl.DataFrame: ...     # same keys, same order, never fewer rows

A stage never drops a row: where it fails the new columns are null and ``<stage>_problem`` states the reason. Filters are SQL
over columns (:mod:`~salon_curate.selection`). The name of a part is a digest of the stage, its version and parameters, and the
parts it read, so a part that exists need not be made again, and the same work has the same bytes on every engine.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from salon_curate.dataset import BATCH_ROWS, BYTES_COLUMNS, SHARD_COLUMNS, DataSet, Shard, batch_rows, read_rows
from salon_curate.errors import StageError
from salon_curate.receipts import is_as_written, publish_with_receipt, read_receipt
from salon_curate.tasks import Engine, ShardTask, Spent, TaskResult
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Function: TypeAlias = "Callable[..., pl.DataFrame]"


class ExpectedPart(NamedTuple):
    """Where a stage's part of one shard lies below the data set, and what it is made from."""

    path: str
    inputs: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Stage:
    """A function of a batch of rows with its contract.

    Attributes:
        name: of the stage in a pipeline; also the folder of its parts and the prefix of ``<name>_problem``.
        version: raised when the same input gives another output.
        reads: columns of the shard or of earlier stages that the function needs; ``key`` is always given.
        writes: the new columns with their polars types.
        function: takes a batch, returns ``key``, the new columns, and optionally ``problem``.
        where: ``module:name`` of the function, by which another process imports it.
        parameters: keyword arguments of the function; part of every part's name.
        also: columns that the function is given where an earlier stage writes them.
    """

    name: str
    version: str
    reads: tuple[str, ...]
    writes: "Mapping[str, Any]"
    function: Function
    where: str
    parameters: Mapping[str, Digestible] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()

    def with_parameters(self, name: str | None = None, **parameters: Digestible) -> "Stage":
        """Return the stage under another name or with parameters of its own."""
        return replace(self, name=name or self.name, parameters={**self.parameters, **parameters})

    @property
    def folder(self) -> str:
        """Return the folder of the stage's parts, below the data set."""
        return f"columns/{self.name}@{self.version}"

    @property
    def problem(self) -> str:
        """Return the column that states why a row has no value."""
        return f"{self.name}_problem"

    @property
    def columns(self) -> dict[str, Any]:
        """Return the columns of the stage's parts with their types."""
        import polars as pl

        return {"key": pl.String, **self.writes, self.problem: pl.String}

    @property
    def _definition(self) -> dict[str, Digestible]:
        return {"stage": self.name, "where": self.where, "version": self.version, "parameters": dict(self.parameters)}

    @property
    def identity(self) -> str:
        """Return a digest of everything but the data that decides what the stage writes and costs."""
        return digest("curate stage", self._definition)

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

    def part(self, shard: Shard, inputs: Sequence[str]) -> str:
        """Return the path of a part below the data set; ``inputs`` are the paths of the parts that it reads."""
        name = digest("curate part", {**self._definition, "shard": shard.sha256, "inputs": sorted(inputs)}, length=16)
        return f"{self.folder}/{shard.name}-{name}.parquet"

    def part_problem(self, path: Path, shard: Shard) -> str | None:
        """Return why a file is not the unchanged part of this stage and shard; None where it is."""
        try:
            if not is_as_written(path):  # before anything of it is parsed: damage can end the process
                return "has changed since it was written"
            receipt = read_receipt(path)
        except (InputError, OSError) as error:
            return f"cannot be read ({error})"
        if (receipt.get("stage"), receipt.get("shard"), receipt.get("rows")) != (self.name, shard.name, shard.rows):
            return "its receipt is of another stage or shard"
        return None

    def results(
        self, dataset: DataSet, parts: Sequence[ExpectedPart], tasks: Sequence[ShardTask], engine: Engine, workers: int
    ) -> Iterator[TaskResult]:
        """Make the parts of the tasks, and yield how each ended; ``parts`` are those of all shards."""
        return engine(tasks, workers)

    def work(self, task: ShardTask) -> dict[str, int]:
        """Make the part of one shard in this process; return the counts of its receipt.

        Raises:
            StageError: the function raised an error or broke the contract.
            StorageError: the part cannot be written.
        """
        import polars as pl

        batches = self.batches(task.folder, task.shard, task.rows, task.inputs)
        pieces = [self.checked(rows["key"], self._called(rows, task.shard), task.shard) for rows in batches]
        frame = pl.concat(pieces) if pieces else pl.DataFrame(schema=self.columns)
        return self.write(Path(task.folder, task.output), frame, task.shard)

    def batches(
        self, folder: str, shard: str, rows: int, inputs: Mapping[str, Sequence[str]], size: int | None = None
    ) -> "Iterator[pl.DataFrame]":
        """Yield what the stage reads of a shard, ``key`` first, ``size`` rows at a time; None: 64, fewer of large ones.

        Raises:
            InputError: a part is missing, damaged, or has not the shard's number of rows.
        """
        import polars as pl

        elsewhere = {column for columns in inputs.values() for column in columns}
        own = ["key", *(column for column in self.reads if column not in elsewhere and column != "key")]
        beside = []
        for part, columns in inputs.items():
            path = Path(folder, part)
            frame = read_rows(path, columns)
            if len(frame) != rows:
                hint = "Delete it; salon curate run makes it again."
                raise InputError(f"has {len(frame)} rows, and its shard {rows}", source=path, hint=hint)
            beside.append(frame)
        source = Path(folder, "shards", f"{shard}.parquet")
        if size is None:
            size = batch_rows(rows, source.stat().st_size) if set(BYTES_COLUMNS) & set(own) and source.exists() else BATCH_ROWS
        for start in range(0, rows, size):
            batch = read_rows(source, own, start, size)
            yield pl.concat([batch, *(frame.slice(start, size) for frame in beside)], how="horizontal")

    def checked(self, keys: "pl.Series", output: "pl.DataFrame", shard: str) -> "pl.DataFrame":
        """Return the function's output with exactly the stage's columns and types; NaN is a missing value with its reason.

        Raises:
            StageError: the output is no table, keys are missing, added or out of order, a column is missing or named twice, or
                a value does not fit its type.
        """
        import polars as pl

        about = f"stage {self.name!r}, shard {shard}"
        if not isinstance(output, pl.DataFrame):
            raise StageError(f"{about}: the output must be a DataFrame of polars, not {type(output).__name__}")
        if "problem" in output.columns:
            if self.problem in output.columns:
                raise StageError(f"{about}: the output has both 'problem' and {self.problem!r}")
            output = output.rename({"problem": self.problem})
        elif self.problem not in output.columns:
            output = output.with_columns(pl.lit(None, pl.String).alias(self.problem))
        schema = self.columns
        missing = [name for name in schema if name not in output.columns]
        if missing:
            raise StageError(f"{about}: the output lacks the column {missing[0]!r}")
        if output.schema["key"] != keys.dtype or not output["key"].equals(keys):
            raise StageError(f"{about}: the output must have the same keys in the same order")
        try:
            frame = output.select(pl.col(name).cast(kind, strict=True) for name, kind in schema.items())
        except pl.exceptions.PolarsError as error:
            raise StageError(f"{about}: a value does not fit its column ({error})") from error
        for name, kind in frame.schema.items():
            if kind.is_integer() and output.schema[name].is_float() and (output[name] != frame[name].cast(pl.Float64)).any():
                raise StageError(f"{about}: a value of {name!r} has a fraction and does not fit {kind}")
            if kind.is_float() and frame[name].is_nan().any():  # it would pass every `>=`
                why = pl.when(pl.col(name).is_nan()).then(pl.lit(f"{name} is not a number"))
                frame = frame.with_columns(pl.col(name).fill_nan(None), pl.coalesce(self.problem, why).alias(self.problem))
        return frame

    def write(self, path: Path, frame: "pl.DataFrame", shard: str) -> dict[str, int]:
        """Publish a part with its receipt; return the receipt's counts."""
        counts = {"rows": len(frame), "problems": len(frame) - frame[self.problem].null_count()}
        receipt = {"stage": self.name, "version": self.version, "where": self.where, "shard": shard, **counts}
        publish_with_receipt(path, receipt, partial(frame.write_parquet, compression="zstd"))
        return counts

    def _called(self, batch: "pl.DataFrame", shard: str) -> "pl.DataFrame":
        with self._named_errors(shard):
            return self.function(batch, **self.parameters)

    @contextmanager
    def _named_errors(self, shard: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise StageError(f"stage {self.name!r}, shard {shard}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class DataSetStage(Stage):
    """A stage whose function is given the rows of all shards at once, in a process of its own.

    Attributes:
        prepare: makes of one shard's columns what is kept of them in memory for the function; None: all of them.
    """

    prepare: "Function | None" = None

    def results(
        self, dataset: DataSet, parts: Sequence[ExpectedPart], tasks: Sequence[ShardTask], engine: Engine, workers: int
    ) -> Iterator[TaskResult]:
        """Make the parts of the tasks as one task; its memory is returned when the process ends."""
        missing = sum(not all((dataset.folder / each).exists() for each in part.inputs) for part in parts)
        if missing:
            unfinished = f"stage {self.name!r} needs all shards, and {missing} of {len(parts)} are not finished"
            yield from (TaskResult(task, error=f"shard {task.shard}: {unfinished}") for task in tasks)
            return
        wanted = {task.shard: task.output for task in tasks}
        every = [(shard.name, shard.rows, part.inputs, wanted.get(shard.name))
                 for shard, part in zip(dataset.shards, parts, strict=True)]  # fmt: skip
        together = replace(tasks[0], shard="all", rows=dataset.rows, inputs={}, output="", every=every)
        for outcome in engine([together], 1):
            spent = replace(outcome.spent, seconds=outcome.spent.seconds / len(tasks))
            for task in tasks:
                if outcome.error is not None:
                    yield TaskResult(task, error=f"shard {task.shard}: {outcome.error}")
                    continue
                yield TaskResult(task, {"problems": read_receipt(dataset.folder / task.output)["problems"]}, spent=spent)
                spent = Spent(spent.seconds)

    def work(self, task: ShardTask) -> dict[str, int]:
        """Make the parts of all shards in this process; they are read and prepared one at a time."""
        import polars as pl

        pieces = []
        for shard, count, inputs, _ in task.every:
            rows = pl.concat(self.batches(task.folder, shard, count, inputs, size=count))
            if self.prepare is not None:
                with self._named_errors(task.shard):
                    rows = self.prepare(rows)
            pieces.append(rows)
        rows = pl.concat(pieces)
        del pieces
        answer = self.checked(rows["key"], self._called(rows, task.shard), task.shard)
        start = 0
        for shard, count, _, output in task.every:
            if output is not None and not Path(task.folder, output).exists():  # a process that died before may have written it
                self.write(Path(task.folder, output), answer.slice(start, count), shard)
            start += count
        return {"rows": len(answer)}


def stage(*, version: str, reads: Sequence[str], writes: "Mapping[str, Any]") -> Callable[[Function], Stage]:
    """Declare a function of a batch to be a stage (see the module's text for the contract)."""

    def declared(function: Function) -> Stage:
        return Stage(function.__name__, version, tuple(reads), dict(writes), function, _where(function))

    return declared


def dataset_stage(
    *,
    version: str,
    reads: Sequence[str],
    writes: "Mapping[str, Any]",
    prepare: "Function | None" = None,
    also: Sequence[str] = (),
) -> Callable[[Function], DataSetStage]:
    """Declare a function of the rows of all shards to be a stage (see :class:`DataSetStage`)."""

    def declared(function: Function) -> DataSetStage:
        name = function.__name__
        where = _where(function)
        return DataSetStage(name, version, tuple(reads), dict(writes), function, where, also=tuple(also), prepare=prepare)

    return declared


def _where(function: Function) -> str:
    return f"{function.__module__}:{function.__name__}"


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


def expected_parts(dataset: DataSet, stages: Sequence[Stage]) -> dict[str, list[ExpectedPart]]:
    """Return, for every stage, each shard's part and the parts and columns that it reads.

    Raises:
        InputError: two stages write one column, a name occurs twice, a stage reads a column that no earlier stage writes, a
            parameter is not one of the stage's, or a condition cannot be applied.
    """
    import polars as pl

    writer: dict[str, str] = dict.fromkeys(SHARD_COLUMNS, "")
    types: dict[str, Any] = {name: pl.Binary if name in BYTES_COLUMNS else pl.String for name in SHARD_COLUMNS}
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
        for column in (*stage.reads, *(each for each in stage.also if each in writer)):
            if writer[column]:
                reads.setdefault(writer[column], []).append(column)
        parts = []
        everything = [part.path for name in reads for part in parts_of[name]] + [shard.sha256 for shard in dataset.shards]
        together = [digest("curate whole", everything)] if isinstance(stage, DataSetStage) else []
        for number, shard in enumerate(dataset.shards):
            inputs = {parts_of[name][number].path: columns for name, columns in reads.items()}
            parts.append(ExpectedPart(stage.part(shard, [*inputs, *together]), inputs))
        parts_of[stage.name] = parts
        for column in (*stage.writes, stage.problem):
            if column in writer:
                raise InputError("two stages write one column:", source="pipeline", value=column)
            writer[column] = stage.name
    return parts_of
