"""Stages that ask a judge, and the journal that keeps every reply.

    row ──► when? ── no ──► null, "not asked"
             └─ yes, or explored ──► ask.examine ── Inquiry ──► journal? ── no ──► judge.ask ──► journal ──► parse ──► columns

A reply is in the shard's journal before it counts, so no reply is paid twice: not after ``kill -9``, and not when a parser or a
threshold changes, because the journal is looked up by the request and the judge's version alone. A question that got no
reply, for whatever reason (:class:`~salon_taxonomy.protocols.CallOutcome`), leaves its shard unfinished, and the next run asks
it again.
"""

import asyncio
import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from salon_curate.dataset import DataSet, seeded_hash
from salon_curate.errors import StageError
from salon_curate.files import append_line, is_video
from salon_curate.selection import check_condition, predicate
from salon_curate.stages import ExpectedPart, Stage
from salon_curate.tasks import Engine, ShardTask, Spent, TaskResult
from salon_judges.asking.asker import Asker, AskPolicy, Call, ReadReply, StopAskingError, StoredReply
from salon_judges.asking.inquiry import Inquiries, Inquiry, drive_async
from salon_judges.asking.spending import RunLimits, Spending
from salon_judges.asking.stored_tokens import tokens_of, tokens_text
from salon_judges.media import PicturePolicy, PreparedPicture, VideoPolicy, prepare_bytes
from salon_judges.media.video_sampling import prepare_video_bytes
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.protocols import Judge, Media, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.verdict import Reason, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

Columns: TypeAlias = Mapping[str, Any]
"""The new values of one row; an ``Unscored`` value becomes null, and its reason the row's problem."""
Examination: TypeAlias = Inquiries[Columns]
NOT_ASKED: Final = "not asked"
JUDGED_PICTURES: Final = PicturePolicy(longest_side=1024)
"""How pictures are resized and encoded for judges."""
JUDGED_CLIPS: Final = VideoPolicy(most_frames=32)
"""Which frames of a video judges are shown: 5 per second as in Artifact-Bench (section 4), 32 at most, evenly thinned."""


class Ask(Protocol):
    """What to ask about one picture or video, and the columns that the answers make (:mod:`salon_curate.asks`)."""

    @property
    def name(self) -> str:
        """Return the name of the stage when the pipeline gives none."""

    @property
    def version(self) -> str:
        """Return a digest of prompts, parser and options; a change makes new parts."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the columns of the row that :meth:`examine` reads, beside the picture."""

    @property
    def writes(self) -> Mapping[str, Any]:
        """Return the new columns with their polars types."""

    def examine(self, row: Mapping[str, Any], image: Media) -> Examination:
        """Yield inquiries, receive a verdict for each, return the row's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStage(Stage):
    """A stage that asks a judge about every row, or about those that an earlier stage leaves.

    Attributes:
        ask: the questions.
        judge: any judge; its version is part of every part's name.
        when: SQL over earlier columns: only these rows are asked. None: all.
        explore: the share, 0 to 1, of the other rows that is asked all the same, so that the loss of ``when`` can be bounded.
        seed: of that share; the same key is explored on every machine.
        re_asks: how often a reply that cannot be read is asked for again.
        concurrency: questions in flight.
        prefix: of the ask's columns, where two judges answer one ask.
        keep_lost: finish a shard although questions got no reply; their columns are null for good.
        spending: what this run may spend and has spent.
    """

    ask: Ask
    judge: Judge
    when: str | None = None
    explore: float = 0.0
    seed: int = 0
    re_asks: int = 1
    concurrency: int = 16
    prefix: str = ""
    keep_lost: bool = False
    spending: Spending = field(default_factory=Spending, compare=False)

    @property
    def stopped(self) -> str | None:
        """Return the limit that was reached."""
        return self.spending.stopped

    def check(self, types: Mapping[str, Any]) -> None:
        """Check that ``when`` is a condition over the columns before the stage.

        Raises:
            InputError: it cannot be applied to their types, or is a value.
        """
        if self.when is not None:
            try:
                check_condition(self.when, types)
            except InputError as error:
                raise error.at(source=f"stage {self.name}", column="when") from error

    def results(
        self, dataset: DataSet, parts: Sequence[ExpectedPart], tasks: Sequence[ShardTask], engine: Engine, workers: int
    ) -> Iterator[TaskResult]:
        """Judge shards in this process, one after another, many questions at once; stop at a limit of the stage.

        Raises:
            StorageError: a reply cannot be written down, or another process judges the same shard.
        """
        with asyncio.Runner() as runner:
            for task in tasks:
                began = time.monotonic()
                outcome = runner.run(_judge_shard(self, task))
                yield replace(outcome, spent=replace(outcome.spent, seconds=time.monotonic() - began))
                if self.spending.stopped:
                    return


def judge_stage(
    ask: Ask,
    judge: Judge,
    *,
    name: str | None = None,
    when: str | None = None,
    explore: float = 0.0,
    seed: int = 0,
    re_asks: int = 1,
    concurrency: int = 16,
    prefix: str = "",
    limits: RunLimits | None = None,
) -> JudgedStage:
    """Return a stage that asks a judge (see :class:`JudgedStage` for the arguments).

    Raises:
        InputError: ``explore`` is outside [0, 1], ``concurrency`` below 1, or ``when`` is no SQL condition.
    """
    import polars as pl

    if not 0 <= explore <= 1:
        raise InputError("must lie between 0 and 1", column="explore", value=explore)
    for what, value, least in (("concurrency", concurrency, 1), ("re_asks", re_asks, 0)):
        if value < least:
            raise InputError(f"must be {least} or more", column=what, value=value)
    columns = () if when is None else predicate(when).columns
    parameters: dict[str, Digestible] = {
        "ask": ask.version, "judge": judge.version, "when": when, "explore": explore, "seed": seed, "re_asks": re_asks,
        "prefix": prefix,
    }  # fmt: skip
    own = name or f"{prefix}{ask.name}"
    reads = tuple(dict.fromkeys(("image", *ask.needs, *columns)))
    writes = {**{f"{prefix}{column}": kind for column, kind in ask.writes.items()}, f"{own}_explored": pl.Boolean}
    return JudgedStage(
        own, ask.version[:8], reads, writes, _never_called, f"{__name__}:judge_stage", parameters,
        ask=ask, judge=judge, when=when, explore=explore, seed=seed, re_asks=re_asks, concurrency=concurrency, prefix=prefix,
        spending=Spending(limits or RunLimits()),
    )  # fmt: skip


async def _judge_shard(stage: JudgedStage, task: ShardTask) -> TaskResult:
    import polars as pl

    rows: list[dict[str, Any] | None] = [None] * task.rows
    lost: list[str] = []
    with ReplyJournal.open(journal_path(Path(task.folder), stage.name, task.shard)) as journal:
        examiner, source, turn = _Examiner(stage, journal), _rows(stage, task), asyncio.Lock()

        async def work() -> None:
            while True:
                async with turn:
                    pair = await anext(source, None)
                if pair is None:
                    return
                try:
                    rows[pair[0]] = await examiner.row(pair[1])
                except StopAskingError as error:
                    stage.spending.stopped = str(error)
                    return
                except _LostError as error:
                    lost.append(str(error))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(stage.concurrency):
                    group.create_task(work())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors
    if stage.spending.stopped:
        return TaskResult(task, error=f"shard {task.shard}: {stage.spending.stopped}; its replies are kept")
    if lost:
        return TaskResult(
            task, error=f"shard {task.shard}: {len(lost)} questions got no reply (the first: {lost[0]}); run again"
        )
    schema = {"key": pl.String, **stage.writes, "problem": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    frame = stage.checked(frame["key"], frame, task.shard)
    return TaskResult(task, stage.write(Path(task.folder, task.output), frame, task.shard), spent=journal.spent())


async def _rows(stage: JudgedStage, task: ShardTask) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """Yield the number and values of each row; ``_asked`` and ``_explored`` decide whether it is asked."""
    import polars as pl

    wanted = pl.lit(value=True) if stage.when is None else predicate(stage.when).expression.fill_null(value=False)
    batches, number = stage.batches(task.folder, task.shard, task.rows, task.inputs), 0
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        for row in batch.with_columns(_asked=wanted).iter_rows(named=True):
            yield number, {**row, "_explored": not row["_asked"] and explores(row["key"], stage.explore, stage.seed)}
            number += 1


def explores(key: str, share: float, seed: int) -> bool:
    """Return whether a row belongs to the random share; decided by its key and the seed alone.

    Example:
        >>> sum(explores(f"k{n}", 0.25, seed=1) for n in range(4000)) / 4000
        0.25175
    """
    return seeded_hash(key, seed, "explore") < share * 2.0**64


class _LostError(Exception):
    """A question got no reply."""


class _Examiner:
    """Walks rows through a stage's questions; several rows at once."""

    def __init__(self, stage: JudgedStage, journal: "ReplyJournal") -> None:
        self._stage, self._journal = stage, journal
        self._asker = Asker(AskPolicy(stage.judge, stage.re_asks), stage.spending)

    async def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        stage = self._stage
        explored = f"{stage.name}_explored"
        nothing = {"key": row["key"], **dict.fromkeys(stage.writes), explored: bool(row["_explored"])}
        if not row["_asked"] and not row["_explored"]:
            return {**nothing, "problem": NOT_ASKED}
        if row["image"] is None:
            return {**nothing, "problem": f"{Reason.BAD_MEDIA}: there is no picture"}
        prepared = await asyncio.to_thread(_prepared, row["image"])
        if isinstance(prepared, Unscored):
            return {**nothing, "problem": f"{prepared.reason}: {prepared.detail}"}
        replies = RowReplies(self._journal, row["key"])
        columns = await drive_async(stage.ask.examine(row, prepared.media), partial(self._verdict, replies=replies))
        missing = next((value for value in columns.values() if isinstance(value, Unscored)), None)
        values = {f"{stage.prefix}{name}": None if isinstance(value, Unscored) else value for name, value in columns.items()}
        problem = None if missing is None else f"{missing.reason}: {missing.detail}"
        row_values = {**nothing, **values, "problem": problem}  # a reply may hold half a character, which no table takes
        return {name: without_surrogates(value) if isinstance(value, str) else value for name, value in row_values.items()}

    async def _verdict(self, inquiry: Inquiry[Any], replies: "RowReplies") -> Verdict[Any]:
        answer = await self._asker.answer(inquiry, replies)
        if answer.lost and not self._stage.keep_lost:
            raise _LostError(answer.verdict.detail if isinstance(answer.verdict, Unscored) else "")
        return answer.verdict


def _prepared(content: bytes) -> PreparedPicture | Unscored:
    """Return a picture, or the sampled frames of a video, as a judge is shown it."""
    if is_video(content):
        return prepare_video_bytes(content, JUDGED_CLIPS)
    return prepare_bytes(content, JUDGED_PICTURES)


def journal_path(folder: Path, stage: str, shard: str) -> Path:
    """Return where the replies of a stage about a shard are kept."""
    return folder / "journals" / stage / f"{shard}.jsonl"


@dataclass(frozen=True, slots=True)
class RowReplies:
    """The replies about one row, in the journal of its shard; equal questions about two rows share a reply."""

    journal: "ReplyJournal"
    row_key: str

    def key(self, call: Call) -> str:
        """Return a digest of the judge's version and the request."""
        version = "" if call.judge is None else call.judge.version
        return digest("curate call", {"judge": version, "request": call.request})

    def known(self, key: str) -> StoredReply | None:
        """Return the stored reply to a request."""
        reply = self.journal.known(key)
        return None if reply is None else StoredReply(1, reply)

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Append the reply, if there was one."""
        reply = attempts[-1].reply
        if reply.answered:
            self.journal.add(key, reply, self.row_key)


class ReplyJournal:
    """The replies about one shard, one line each, appended before they count; one process at a time."""

    def __init__(self, path: Path, descriptor: int, replies: dict[str, Reply]) -> None:
        self.path, self._descriptor, self._replies = path, descriptor, replies
        self._used: dict[str, Reply] = {}
        self._added = 0

    @classmethod
    def open(cls, path: Path) -> "ReplyJournal":
        """Open a journal for one process.

        Raises:
            StorageError: another process holds it, or it cannot be written or locked.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError.of(error, path) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            replies = {request: reply for request, reply, _ in read_journal(path) if reply.answered}
        except BlockingIOError as error:
            os.close(descriptor)
            raise StorageError(f"{path}: another process judges this shard; give it other shards with --shards") from error
        except OSError as error:
            os.close(descriptor)
            raise StorageError.of(error, path) from error
        return cls(path, descriptor, replies)

    def known(self, request: str) -> Reply | None:
        """Return the stored reply to a request."""
        reply = self._replies.get(request)
        if reply is not None:
            self._used[request] = reply
        return reply

    def spent(self) -> Spent:
        """Return what the answers since the opening rest on: different questions, tokens and money."""
        used = [reply.usage for reply in self._used.values()]
        costs = [each.cost_usd for each in used]
        return Spent(
            calls=len(used),
            replayed=len(used) - self._added,
            prompt_tokens=sum(each.prompt_tokens or 0 for each in used),
            completion_tokens=sum(each.completion_tokens or 0 for each in used),
            cost_usd=None if None in costs else sum(each or 0.0 for each in costs),
        )

    def add(self, request: str, reply: Reply, key: str) -> None:
        """Append a reply; when this returns it outlives the process.

        Raises:
            StorageError: the disk is full or read-only.
        """
        line = {
            "request": request, "text": reply.text, "status": str(reply.status), "finish": str(reply.finish),
            "error": reply.error, "judge": reply.version, "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens, "cost_usd": reply.usage.cost_usd, "key": key,
        }  # fmt: skip
        if reply.tokens:
            line["tokens"] = tokens_text(reply.tokens)
        try:
            append_line(self._descriptor, line)
        except OSError as error:
            raise StorageError.of(error, self.path) from error
        self._replies[request] = self._used[request] = reply
        self._added += 1

    def __enter__(self) -> "ReplyJournal":
        return self

    def __exit__(self, *_: object) -> None:
        """Flush the journal to the disk and let go of it.

        Raises:
            StorageError: the disk refuses.
        """
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise StorageError.of(error, self.path) from error
        finally:
            os.close(self._descriptor)


def read_journal(path: Path) -> Iterator[tuple[str, Reply, dict[str, Any]]]:
    """Yield ``(request, reply, line)`` of a journal; a line that was cut off is passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for raw in file:
            try:
                line = json.loads(raw)
                usage = Usage(line["prompt_tokens"], line["completion_tokens"], line["cost_usd"])
                status, finish = CallStatus(line["status"]), Finish(line["finish"])
                tokens = tokens_of(line.get("tokens"))
                reply = Reply(
                    line["text"], status, line["judge"], finish, usage=usage, tokens=tokens, error=line["error"], cached=True
                )
                request, _ = line["request"], line["key"]
                if not isinstance(line["text"], str):
                    continue
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
            yield request, reply, line


def _never_called(batch: "pl.DataFrame", **_: object) -> "pl.DataFrame":
    raise StageError("a judged stage is run by salon_curate.running.run, which holds its judge")
