"""Drift: a stage's answers about a sample are made again and compared with the stored ones."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon_curate.dataset import DataSet, Shard, read_rows, seeded_hash
from salon_curate.engine import inline
from salon_curate.errors import StageError
from salon_curate.judging import NOT_ASKED, JudgedStage
from salon_curate.selection import read_columns
from salon_curate.stages import DataSetStage, Stage
from salon_curate.tasks import ShardTask
from salon_judges.clients.collecting import CollectingJudge
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply

if TYPE_CHECKING:
    import polars as pl

_FEWEST = 2


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """How one column's values of now differ from the stored ones.

    Attributes:
        column: its name.
        rows: compared; a missing value counts as a value of its own.
        changed: rows whose value is another.
        low, high: Wilson's 95% interval of changed / rows, for the rows of the whole data set that the stage answered.
        lost: rows that had a value and have none now; ``found`` the reverse.
        shift: mean of now - then over rows with both numbers (a truth value counts 0 or 1); None for texts.
        shift_low, shift_high: Student's 95% interval of the mean paired difference; None with fewer than two pairs.
    """

    column: str
    rows: int
    changed: int
    low: float
    high: float
    lost: int
    found: int
    shift: float | None
    shift_low: float | None
    shift_high: float | None


def drift(
    dataset: DataSet, stages: Sequence[Stage], name: str, *, now: Stage | None = None, rows: int = 200, seed: int = 0
) -> list[ColumnDrift]:
    """Make a stage's answers about a random sample again, and compare them with those that are stored.

    A judge is asked again: the journals are not looked up, a judge that answers from a cache or a recording is refused, and
    nothing in the data set changes.

    Args:
        name: of the stage.
        now: the stage to compare with, such as the same questions to a newly served model; None: the stage itself.
        rows: of the sample, drawn from those that the stage answered.
        seed: of the sample; a larger one contains a smaller one.

    Raises:
        InputError: there is no such stage, it sees the whole data set, it answered no row, or its judge answers from a cache.
        IncompleteError: the stage has not finished, or its answers now are not complete.
    """
    import polars as pl

    stage = next((each for each in stages if each.name == name), None)
    if stage is None:
        raise InputError("there is no such stage:", column="stage", value=name, allowed=[each.name for each in stages])
    if isinstance(stage, DataSetStage):
        raise InputError("sees the whole data set, so a sample says nothing of it:", column="stage", value=name)
    new_stage = stage if now is None else replace(now, name=name)
    if isinstance(new_stage, JudgedStage):
        new_stage = replace(new_stage, judge=_Uncached(new_stage.judge, name))
    if set(new_stage.writes) != set(stage.writes):
        raise InputError(
            "writes other columns than the stored stage:", column="stage", value=name, found=list(new_stage.writes)
        )
    stored = read_columns(dataset, stages, [*stage.writes, stage.problem]).collect()
    answered = stored.with_row_index("row").filter(pl.col(stage.problem).fill_null("") != NOT_ASKED)
    if answered.is_empty() or rows < 1:
        raise InputError("the stage answered no row, or none is asked for:", column="rows", value=rows)
    order = answered["key"].map_elements(lambda key: seeded_hash(key, seed, "drift"), return_dtype=pl.UInt64)
    chosen = answered.with_columns(order=order).sort("order").head(rows).sort("row")
    again = _made_again(dataset, stages, new_stage, chosen["row"])
    columns = [column for column in stage.writes if not column.endswith("_explored")]
    return [_compared(column, chosen[column], again[column]) for column in columns]


class _Uncached:
    """A judge that refuses replies for which nothing was asked: they are those of before, whatever is served now."""

    def __init__(self, judge: Judge, stage: str) -> None:
        self._judge, self._stage = judge, stage
        self.name, self.version = judge.name, judge.version
        if any(isinstance(each, CollectingJudge) for each in _within(judge)):
            raise self._refusal("a batch folder")

    async def ask(self, question: Question) -> Reply:
        """Ask the judge.

        Raises:
            InputError: the reply comes from a cache or a recording.
        """
        reply = await self._judge.ask(question)
        if reply.cached:
            raise self._refusal("a cache or a recording")
        return reply

    def _refusal(self, kept_in: str) -> InputError:
        hint = "Name the judge without it: salon curate drift --now JUDGE. The data set is unchanged."
        problem = f"answers from {kept_in}, so drift cannot be seen; the judge of stage"
        return InputError(problem, source=self.name, value=self._stage, hint=hint)


def _within(judge: Judge) -> Iterator[Judge]:
    """Yield a judge and those that it leaves questions to."""
    yield judge
    for inner in (getattr(judge, "judge", None), *getattr(judge, "routes", {}).values()):
        if inner is not None:
            yield from _within(inner)


def _made_again(dataset: DataSet, stages: Sequence[Stage], stage: Stage, places: "pl.Series") -> "pl.DataFrame":
    """Return the stage's columns for the rows at these places, made in a folder of their own."""
    import polars as pl

    own = {column for each in stages for column in (*each.writes, each.problem)}
    beside = [column for column in stage.reads if column in own]
    with tempfile.TemporaryDirectory(prefix="salon-drift-") as name:
        folder = Path(name)
        (folder / "shards").mkdir()
        shard, part = folder / "shards" / "00000.parquet", folder / "inputs.parquet"
        pieces, start = [], 0
        for stored_shard in dataset.shards:
            inside = places.filter((places >= start) & (places < start + stored_shard.rows)) - start
            if len(inside):
                pieces.append(read_rows(dataset.shard_path(stored_shard.name), ["*"])[inside.to_list()])
            start += stored_shard.rows
        pl.concat(pieces).write_parquet(shard)
        read_columns(dataset, stages, beside).collect()[places.to_list()].write_parquet(part)
        sample = DataSet(folder, dataset.name, [], [Shard("00000", len(places), shard.stat().st_size, file_sha256(shard))])
        inputs = {"inputs.parquet": beside} if beside else {}
        task = ShardTask(name, stage.where, stage.name, stage.parameters, "00000", len(places), inputs, "again.parquet")
        outcome = next(stage.results(sample, [], [task], inline, 1))
        if outcome.error is not None:
            raise StageError(outcome.error)
        return pl.read_parquet(folder / "again.parquet", glob=False)


def _compared(column: str, then: "pl.Series", now: "pl.Series") -> ColumnDrift:
    import numpy as np
    import polars as pl

    from salon_ranking.uncertainty.proportions import wilson_interval
    from salon_ranking.uncertainty.student import two_sided_quantile

    changed = int(then.ne_missing(now).sum())
    low, high = (float(each[0]) for each in wilson_interval([changed], [len(then)]))
    lost = int((then.is_not_null() & now.is_null()).sum())
    gained = int((then.is_null() & now.is_not_null()).sum())
    shift: Any = None
    reach: Any = None
    if then.dtype.is_numeric() or then.dtype == pl.Boolean:
        both = then.is_not_null() & now.is_not_null()
        gaps = (now.filter(both).cast(float) - then.filter(both).cast(float)).to_numpy()
        shift = float(gaps.mean()) if len(gaps) else None
        if len(gaps) >= _FEWEST:
            reach = two_sided_quantile(0.05, len(gaps) - 1) * float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    ends = (None, None) if reach is None else (shift - reach, shift + reach)
    return ColumnDrift(column, len(then), changed, low, high, lost, gained, shift, *ends)
