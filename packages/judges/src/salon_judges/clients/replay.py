"""Recordings of a judge's replies, and a judge that gives them again: for tests, demonstrations and repeated runs.

A recording has one JSON line per call, in the order of the replies. The judge that replays it passes for the judge that was
recorded: same name, same version, so the rows of a replayed run compare with live ones.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from salon_judges.clients.line_files import LineFile, lines_of
from salon_judges.clients.reply_documents import ReplyDocument, problem_of
from salon_judges.clients.wrapping import WrappedJudge
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Judge, Question, Reply
from salon_taxonomy.records import CallStatus


class RecordedLine(BaseModel):
    """One line of a recording.

    Attributes:
        request_sha256: what was asked: ``Question.request_sha256()``.
        judge: the name of the judge that was asked.
        judge_version: its version.
        reply: the last attempt of the call; failures are recorded too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    request_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    judge: str = Field(min_length=1)
    judge_version: str
    reply: ReplyDocument


class RecordingJudge(WrappedJudge):
    """Asks the judge within and appends every reply to a file, which :class:`ReplayFileJudge` reads.

    Every line is written before the reply is passed on. One process at a time may record to a file.

    Args:
        judge: the judge within.
        path: the file, opened at the first question.
        name: what tables call it; None: as the judge within.

    Example:
        >>> import asyncio, tempfile
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> path = Path(tempfile.mkdtemp(), "replies.jsonl")
        >>> async def main() -> str:
        ...     async with RecordingJudge(ReplayJudge(["yes"]), path) as judge:
        ...         return (await judge.ask(Question(("Is this AI-generated?",)))).text
        >>> asyncio.run(main()), path.read_text().count("request_sha256")
        ('yes', 1)
    """

    def __init__(self, judge: Judge, path: str | Path, name: str | None = None) -> None:
        super().__init__(judge, name)
        self.path = Path(path)
        self._file: LineFile | None = None

    async def ask(self, question: Question) -> Reply:
        """The judge's reply.

        Raises:
            InputError: as the judge within, and when the file cannot be written.
        """
        if self._file is None:
            self._file = LineFile(self.path)
        reply = await self.judge.ask(question)
        line = RecordedLine(
            request_sha256=question.request_sha256(),
            judge=self.judge.name,
            judge_version=self.judge.version,
            reply=ReplyDocument.of(reply),
        )
        self._file.append(line.model_dump_json(exclude_defaults=True).encode())
        return reply

    async def close(self) -> None:
        """Close the file and the judge within; the next question opens them again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
        await super().close()


_LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class _Place:
    offset: int
    length: int


@dataclass(slots=True)
class Recording:
    """A recording that was checked; its replies stay in the file, so memory does not grow with their length.

    Attributes:
        path: the file.
        judge: the recorded judge's name.
        judge_version: its version.
        torn: whether the last line has no end, as a killed process leaves it; it is left out.
    """

    path: Path
    judge: str
    judge_version: str
    torn: bool = False
    _places: dict[str, list[_Place]] = field(default_factory=dict, repr=False)

    @property
    def questions(self) -> int:
        """How many different questions it answers."""
        return len(self._places)

    @classmethod
    def read(cls, path: str | Path, judge: str | None = None, judge_version: str | None = None) -> Self:
        """Check every line of a file.

        Args:
            path: the file.
            judge: take this judge's lines only.
            judge_version: take this version's lines only.

        Raises:
            InputError: for a file that cannot be read, a line that is none of a recording, lines of several judges or
                versions, or none at all.
        """
        found: Self | None = None
        torn = False
        for line in lines_of(Path(path), _LONGEST_LINE):
            try:
                recorded = RecordedLine.model_validate_json(line.content)
            except ValidationError as error:
                if not line.content.endswith(b"\n"):
                    torn = True
                    break
                raise InputError(f"no line of a recording ({problem_of(error)})", source=path, line=line.number) from error
            if judge not in (None, recorded.judge) or judge_version not in (None, recorded.judge_version):
                continue
            if found is None:
                found = cls(Path(path), recorded.judge, recorded.judge_version)
            if (recorded.judge, recorded.judge_version) != (found.judge, found.judge_version):
                hint = "Choose one with `judge` and `judge_version` in a TOML file of kind replay."
                who = f"{recorded.judge} {recorded.judge_version}"
                raise InputError("a reply of another judge or version", source=path, line=line.number, value=who, hint=hint)
            places = found._places.setdefault(recorded.request_sha256, [])
            places.append(_Place(line.offset, len(line.content)))
        if found is None:
            raise InputError("there is no reply of this judge" if judge or judge_version else "there is no reply", source=path)
        found.torn = torn
        return found

    def reply(self, request_sha256: str, number: int) -> Reply | None:
        """Return the reply to the ``number``-th asking of a question, from 0, or the last; None if never asked.

        Raises:
            InputError: when the file is no longer what it was.
        """
        places = self._places.get(request_sha256)
        if places is None:
            return None
        place = places[min(number, len(places) - 1)]
        try:
            with self.path.open("rb") as file:
                content = os.pread(file.fileno(), place.length, place.offset)
            recorded = RecordedLine.model_validate_json(content)
        except (OSError, ValidationError) as error:
            raise InputError("the recording has changed since it was opened", source=self.path) from error
        if recorded.request_sha256 != request_sha256:
            raise InputError("the recording has changed since it was opened", source=self.path)
        return recorded.reply.given_again()


class ReplayFileJudge(Closing):
    """Answers from a recording. A question that was recorded several times gets its replies in their order, then the last
    one again: equal questions may share one answer.

    A question that was not recorded gets an empty reply with status ``cancelled`` (no judge was asked), so it is unscored
    as ``abstained``, and a run can be gone on with once the recording has it.

    Args:
        recording: the replies.
        name: what tables call it; None: as the recorded judge.

    Attributes:
        missing: how many questions were not in the recording.
    """

    def __init__(self, recording: Recording, name: str | None = None) -> None:
        self.recording = recording
        self.missing = 0
        self._name = name
        self._asked: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """What tables call it."""
        return self._name or self.recording.judge

    @property
    def version(self) -> str:
        """The recorded judge's version."""
        return self.recording.judge_version

    def __repr__(self) -> str:
        """Whose replies, from where."""
        return f"ReplayFileJudge({self.name!r} from {self.recording.path})"

    async def ask(self, question: Question) -> Reply:
        """The recorded reply, ``cached`` and at no cost.

        Raises:
            InputError: when the file is no longer what it was.
        """
        request = question.request_sha256()
        reply = self.recording.reply(request, self._asked[request])
        self._asked[request] += 1
        if reply is not None:
            return reply
        self.missing += 1
        error = f"question {request[:12]}… is not in the recording {self.recording.path.name}"
        return Reply("", CallStatus.CANCELLED, self.version, error=error)

    async def close(self) -> None:
        """Restart every question's replies."""
        self._asked.clear()
