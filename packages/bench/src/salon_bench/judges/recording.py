"""Record live replies for replay: one JSON line per call, in the order of the replies."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from salon_bench.judges.line_files import LineFile
from salon_bench.judges.reply_documents import ReplyDocument
from salon_bench.judges.wrapping import WrappedJudge
from salon_taxonomy.protocols import Judge, Question, Reply


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
    """Asks the judge within and appends every reply to a file, which :class:`~salon_bench.judges.replay.ReplayFileJudge` reads.

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
