"""Run edits: each new picture is a file and a row, each attempt a row of ``judge_calls``.

picture + instruction ──► known and the file is there? ── no ──► editor.edit ──► checked, written, noted ──► Made
                                    └─ yes ────────────────────────────────────────────────────────────────►
"""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Final

from salon_bench.runs.pictures import with_pictures
from salon_bench.runs.session import RunSession
from salon_bench.suites.contract.suite import Case, RunContext
from salon_judges.asking.asker import StopAskingError
from salon_judges.formats.generations import Generated
from salon_judges.media import PictureCache, PicturePolicy, prepare_bytes
from salon_judges.media.policy import SourceLimits
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_formats import format_of
from salon_taxonomy.protocols import CallOutcome, Edit, Editor, Media
from salon_taxonomy.records import CallStatus, JudgeCall, Prompt
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict
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


@dataclass(frozen=True, slots=True)
class Made:
    """A picture that an editor made; ``attempted``: the editor was asked now, and the picture is not an earlier start's."""

    path: Path
    attempted: bool


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

    async def make(self, task: EditTask) -> Verdict[Made]:
        """Make one picture, unless an earlier start of the run has.

        Returns:
            The file; or ``Unscored``: ``EMPTY`` for a blank instruction, ``ABSTAINED`` where the editor could not be asked,
            ``BAD_MEDIA`` for a source or a result that is no picture, else how the editor failed. A later start makes calls
            that failed again, but does not repeat refused ones.

        Raises:
            StopAskingError: when a limit of the run was reached.
        """
        if not task.instruction.strip():
            return Unscored(Reason.EMPTY, "there is no instruction to carry out")
        data = await asyncio.to_thread(read_inside, task.source, task.source.parent, SourceLimits().most_bytes)
        if isinstance(data, Unscored):
            return data
        source = Media(hashlib.sha256(data).hexdigest(), uri=str(task.source), data=data)
        call_id, request = self._names(task, source)
        known = self._session.checkpoint.known(call_id)
        if known is not None and known.answered:
            path = _kept(task.target, known.reply.text)
            if path is not None:
                await self._note_picture(task, path)
                return Scored(Made(path, attempted=False))
            if not known.reply.text:
                return Unscored(Reason.BAD_MEDIA, "what the editor gave back is no picture")
        if known is not None and known.reply.outcome is CallOutcome.REFUSED:
            return Unscored(Reason.REJECTED, known.reply.error or "the editor refused")
        async with self._gate:
            refusal = self._session.spending.begin_call()
            if refusal is not None:
                raise StopAskingError(refusal)
            began = monotonic()
            edit = await self._asked(source, task)
            self._session.spending.end_edit(failed=edit.problem() is not None)
        result = await self._written(edit, task)
        attempt = known.attempts + 1 if known else 1
        self._session.checkpoint.record(
            "judge_calls", self._row(call_id, request, task, edit, result, attempt, monotonic() - began)
        )
        if isinstance(result, Unscored):
            return result
        await self._note_picture(task, result)
        return Scored(Made(result, attempted=True))

    async def _asked(self, source: Media, task: EditTask) -> Edit:
        try:
            return await self._editor.edit(source, task.instruction, seed=task.seed)
        except InputError as error:  # the editor was not asked: a picture that cannot be sent, a model that cannot be loaded
            return Edit(None, CallStatus.CANCELLED, self._editor.version, error=str(error)[:_LONGEST_DETAIL])

    async def _written(self, edit: Edit, task: EditTask) -> Path | Unscored:
        problem = edit.problem()
        if problem is not None or edit.image is None:
            return problem or Unscored(Reason.ABSTAINED)
        data = edit.image.data
        if data is None:
            path = Path(str(edit.image.uri))
            found = await asyncio.to_thread(read_inside, path, path.parent, SourceLimits().most_bytes)
            if isinstance(found, Unscored):
                return found
            data = found
        prepared = await asyncio.to_thread(prepare_bytes, data, PicturePolicy())
        if isinstance(prepared, Unscored):
            return prepared
        return await asyncio.to_thread(_write, data, task.target)

    def _names(self, task: EditTask, source: Media) -> tuple[str, str]:
        asked: dict[str, Digestible] = {"picture": source.sha256, "instruction": task.instruction, "seed": task.seed}
        request = digest("edit", {**asked, "editor": self._editor.version}, length=64)
        name = {"run": self._context.run_id, "prompt": task.prompt.prompt_id, "step": task.step, "request": request}
        return digest("judge_call", name), request

    def _row(
        self, call_id: str, request: str, task: EditTask, edit: Edit, result: Path | Unscored, attempt: int, seconds: float
    ) -> JudgeCall:
        """Return the row of an attempt; ``response_text`` is the picture's SHA-256, empty without one."""
        made = "" if isinstance(result, Unscored) else _sha256(result)
        return JudgeCall(
            call_id=call_id,
            run_id=self._context.run_id,
            judge=self._context.judge,
            judge_version=self._context.judge_version,
            case_id=digest("case", {"prompt": task.prompt.prompt_id, "model": task.model}),
            step=task.step,
            request_sha256=request,
            attempt=attempt,
            status=edit.status,
            latency_ms=edit.latency_ms if edit.latency_ms is not None else seconds * 1000.0,
            response_text=made if edit.outcome is CallOutcome.ANSWERED else None,
            parse_status=result.reason.value if isinstance(result, Unscored) else "parsed",
            error=_plain(edit.error or (result.detail if isinstance(result, Unscored) else None)),
        )

    async def _note_picture(self, task: EditTask, path: Path) -> None:
        picture = Generated(task.prompt.prompt_id, task.model, task.sample, path, task.root)
        case = Case("", "", task.model, task.prompt, pictures=(picture,))
        _, rows = await asyncio.to_thread(with_pictures, case, PicturePolicy(), self._cache)
        self._session.checkpoint.record("generations", rows)


def _kept(target: Path, sha256: str) -> Path | None:
    """Return the file of that content that was written for a target; None if missing."""
    for path in sorted(target.parent.glob(f"{_literal(target.name)}.*")):
        with suppress(OSError):
            if _sha256(path) == sha256:
                return path
    return None


def _write(data: bytes, target: Path) -> Path:
    """Write a picture under the extension of its format, and remove one of another format.

    Raises:
        InputError: when the file cannot be written.
    """
    kind = format_of(data)
    path = target.with_name(f"{target.name}.{kind.name.lower() if kind else 'png'}")
    write_whole(path, data, parents=True)
    for old in path.parent.glob(f"{_literal(target.name)}.*"):
        if old != path:
            old.unlink(missing_ok=True)
    return path


def _literal(name: str) -> str:
    """A name that ``glob`` takes as it is."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _plain(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()[:_LONGEST_DETAIL]
