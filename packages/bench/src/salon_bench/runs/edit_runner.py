"""Run edits: each new picture is a file and a row, each attempt a row of ``judge_calls``.

An edit is asked for as an answer is (:class:`~salon_judges.asking.asker.Asker`); its reply is the SHA-256 of the file.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Final

from salon_bench.runs.checkpoint import RunCheckpoint
from salon_bench.runs.pictures import with_pictures
from salon_bench.runs.session import RunSession
from salon_bench.runs.suite_runner import call_row
from salon_bench.suites.contract.suite import Case, RunContext
from salon_judges.asking.asker import Asker, AskPolicy, Call, InquiryResult, ReadReply, StoredReply
from salon_judges.asking.inquiry import Inquiry
from salon_judges.formats.generations import Generated
from salon_judges.media import PictureCache, PicturePolicy, prepare_bytes
from salon_judges.media.policy import SourceLimits
from salon_taxonomy.answers import Outcome, Parsed, Unparsed
from salon_taxonomy.digest import Digestible, digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_formats import format_of
from salon_taxonomy.protocols import Edit, Editor, Media, Question, Reply
from salon_taxonomy.records import CallStatus, Prompt
from salon_taxonomy.verdict import Reason, Scored, Unscored
from salon_taxonomy.whole_files import write_whole

_CACHE_BYTES: Final = 8 << 20
_LONGEST_DETAIL: Final = 400


@dataclass(frozen=True, slots=True)
class EditTask:
    """One picture to be made.

    Attributes:
        prompt: what the first picture was made for.
        source: the picture to be changed.
        instruction: for the editor.
        target: the file to write, without its extension.
        root: the folder in which source and target lie.
        step: what the task is called among those of its prompt: "edit", "round-2".
        model: of the new picture in ``generations``.
        sample: its number among the pictures of that model for this prompt.
        seed: for editors that take one.
    """

    prompt: Prompt
    source: Path
    instruction: str
    target: Path
    root: Path
    step: str
    model: str
    sample: int
    seed: int | None = None


class EditRunner:
    """Makes pictures for one run; may be at work on many at once.

    Args:
        editor: carries out the instructions.
        context: the run and subject that calls are written for; ``judge`` is the editor's name.
        session: the run.
        concurrency: edits in flight.
    """

    def __init__(self, editor: Editor, context: RunContext, session: RunSession, *, concurrency: int = 4) -> None:
        self._editor = editor
        self._context = context
        self._session = session
        self._gate = asyncio.Semaphore(concurrency)
        self._cache = PictureCache(_CACHE_BYTES)

    async def make(self, task: EditTask) -> InquiryResult[Path]:
        """Make one picture, unless an earlier start of the run has.

        Returns:
            The file; or ``Unscored``: ``EMPTY`` for a blank instruction, ``ABSTAINED`` where the editor could not be asked,
            ``BAD_MEDIA`` for a source or a result that is no picture, else how the editor failed. A later start makes calls
            that were lost again, but does not repeat refused ones.

        Raises:
            StopAskingError: when a limit of the run was reached.
        """
        if not task.instruction.strip():
            return InquiryResult(Unscored(Reason.EMPTY, "there is no instruction to carry out"))
        content = await asyncio.to_thread(read_inside, task.source, task.source.parent, SourceLimits().most_bytes)
        if isinstance(content, Unscored):
            return InquiryResult(content)
        source = Media(hashlib.sha256(content).hexdigest(), uri=str(task.source), data=content)
        one = _OneEdit(self._editor, task, source, self._context, self._session.checkpoint)
        asker = Asker(AskPolicy(one, re_asks=0, edits=True), self._session.spending)
        async with self._gate:
            result = await asker.answer(Inquiry(task.step, Question((source, task.instruction)), one.read), one)
        if isinstance(result.verdict, Scored):
            await self._note_picture(task, result.verdict.value)
        return result

    async def _note_picture(self, task: EditTask, path: Path) -> None:
        picture = Generated(task.prompt.prompt_id, task.model, task.sample, path, task.root)
        case = Case("", "", task.model, task.prompt, pictures=(picture,))
        _, rows = await asyncio.to_thread(with_pictures, case, PicturePolicy(), self._cache)
        self._session.checkpoint.record(rows)


class _OneEdit:
    """One edit as a judge and its stored replies; a reply is the SHA-256 of the edited file.

    Args:
        editor: carries out the instruction.
        task: what to make.
        source: the picture to be changed.
        context: the run that calls are written for.
        checkpoint: of the run.
    """

    def __init__(self, editor: Editor, task: EditTask, source: Media, context: RunContext, checkpoint: RunCheckpoint) -> None:
        self.name, self.version = editor.name, editor.version
        self._editor = editor
        self._task = task
        self._source = source
        self._context = context
        self._checkpoint = checkpoint
        asked: dict[str, Digestible] = {"picture": source.sha256, "instruction": task.instruction, "seed": task.seed}
        self._request = digest("edit", {**asked, "editor": editor.version}, length=64)
        self._path: Path | None = None

    async def ask(self, question: Question) -> Reply:
        """Have the picture made, and write it; the text of a picture that cannot be decoded is empty."""
        began = monotonic()
        try:
            edit = await self._editor.edit(self._source, self._task.instruction, seed=self._task.seed)
        except InputError as error:  # the editor was not asked: a picture that cannot be sent, a model that cannot be loaded
            edit = Edit(None, CallStatus.CANCELLED, self.version, error=str(error))
        latency_ms = edit.latency_ms if edit.latency_ms is not None else (monotonic() - began) * 1000.0
        problem = edit.problem() if edit.image is None else await self._write(edit.image)
        text = file_sha256(self._path) if self._path is not None else ""
        detail = None if problem is None else problem.detail[:_LONGEST_DETAIL]
        return Reply(text, edit.status, self.version, latency_ms=latency_ms, error=detail)

    async def _write(self, image: Media) -> Unscored | None:
        content: bytes | Unscored | None = image.data
        if content is None:
            path = Path(str(image.uri))
            content = await asyncio.to_thread(read_inside, path, path.parent, SourceLimits().most_bytes)
        if isinstance(content, Unscored):
            return content
        prepared = await asyncio.to_thread(prepare_bytes, content, PicturePolicy())
        if isinstance(prepared, Unscored):
            return prepared
        self._path = await asyncio.to_thread(_write, content, self._task.target)
        return None

    def read(self, sha256: str) -> Outcome[Path]:
        """Return the file of a reply."""
        if self._path is None:
            return Unparsed(Reason.BAD_MEDIA, "what the editor gave back is no picture")
        return Parsed(self._path)

    def key(self, call: Call) -> str:
        """Return the id of the call."""
        name = {"run": self._context.run_id, "prompt": self._task.prompt.prompt_id, "step": self._task.step}
        return digest("judge_call", {**name, "request": self._request})

    def known(self, key: str) -> StoredReply | None:
        """Return what an earlier start learned; a picture whose file is gone or changed is lost."""
        stored = self._checkpoint.known(key)
        if stored is None or not stored.reply.text:
            return stored
        self._path = _kept(self._task.target, stored.reply.text)
        return stored if self._path is not None else StoredReply(stored.attempts, Reply("", CallStatus.CANCELLED))

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Write a row for each attempt."""
        case_id = digest("case", {"prompt": self._task.prompt.prompt_id, "model": self._task.model})
        call = replace(call, request=self._request)
        rows = [call_row(attempt, key, call, at, self._context, case_id) for at, attempt in enumerate(attempts, start=first)]
        self._checkpoint.record(rows)


def _kept(target: Path, sha256: str) -> Path | None:
    """Return the file of that content that was written for a target; None if missing."""
    for path in sorted(target.parent.glob(f"{_literal(target.name)}.*")):
        with suppress(OSError):
            if file_sha256(path) == sha256:
                return path
    return None


def _write(content: bytes, target: Path) -> Path:
    """Write a picture under the extension of its format, and remove one of another format.

    Raises:
        InputError: when the file cannot be written.
    """
    kind = format_of(content)
    path = target.with_name(f"{target.name}.{kind.name.lower() if kind else 'png'}")
    write_whole(path, content, parents=True)
    for old in path.parent.glob(f"{_literal(target.name)}.*"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def _literal(name: str) -> str:
    """Return a name escaped for ``glob``."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
