"""A judge that answers from a batch folder and writes all other questions to request files.

salon bench run … --judge batch:calls=openai:MODEL      → calls/requests-001.jsonl; work is left
(submit the file, fetch what comes back)
salon bench batch ingest calls output.jsonl
salon bench resume RUN                                  → rows; questions that follow from replies go to requests-002.jsonl
"""

from dataclasses import replace
from pathlib import Path

from salon_judges.clients.batch_folder import BatchFolder, Settled, Waiting
from salon_judges.clients.chat_request import ChatRequests
from salon_judges.clients.pictures import PictureParts
from salon_judges.clients.settings import ChatSettings
from salon_taxonomy.digest import digest
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import CallOutcome, Question, Reply
from salon_taxonomy.records import CallStatus

_ID_DIGITS = 64


class CollectingJudge(Closing):
    """Passes for the judge behind the server: same name, same version, same bodies of requests; it needs no key.

    A question whose reply has not come back gets an empty reply with status ``cancelled`` (no judge was asked): the run
    keeps its case open. A request that was lost is written again; one that the server refused
    (:class:`~salon_taxonomy.protocols.CallOutcome`) up to ``limits.attempts`` times, then the refusal is the reply. Equal
    questions make one request; the reply's cost is counted for the first of them.

    Args:
        settings: of the judge behind the server; its ``prices`` are those of batches.
        folder: opened at the first question, and held until the judge is closed.
        name: what tables call it; None: as the judge behind the server.
        pictures: encoded pictures, to be shared with other judges.

    Attributes:
        settings: as given.
        written: the request files that this judge has finished, to be submitted.
    """

    def __init__(
        self,
        settings: ChatSettings,
        folder: str | Path,
        name: str | None = None,
        *,
        pictures: PictureParts | None = None,
    ) -> None:
        self.settings = settings
        self.written: list[Path] = []
        self._path = Path(folder)
        self._name = name
        self._version = settings.version
        self._requests = ChatRequests(settings, pictures or PictureParts())
        self._folder: BatchFolder | None = None
        self._given: set[str] = set()

    @property
    def name(self) -> str:
        """What tables call it."""
        return self._name or self.settings.title

    @property
    def version(self) -> str:
        """The version of the judge behind the server."""
        return self._version

    async def ask(self, question: Question) -> Reply:
        """Return the reply from the batch folder, or write the question to a request file.

        Raises:
            InputError: for a question with media that this judge cannot be shown, or that fits in no file, and when the
                folder is damaged or held by another process.
        """
        if self._folder is None:
            self._folder = BatchFolder(self._path)
        folder = self._folder
        custom_id = digest("batch", {"judge": self._version, "request": question.request_sha256()}, length=_ID_DIGITS)
        state = folder.state(custom_id)
        if isinstance(state, Settled) and (
            state.reply.answered
            or (state.reply.outcome is CallOutcome.REFUSED and state.failures >= self.settings.limits.attempts)
        ):
            return self._settled(custom_id, state.reply)
        if not isinstance(state, Waiting):
            body = await self._requests.write(question)
            if not isinstance(folder.state(custom_id), Waiting):  # while this one waited, an equal question was written
                folder.add(custom_id, body)
        return Reply("", CallStatus.CANCELLED, self._version, error="waits for the reply of a batch")

    async def close(self) -> None:
        """Finish the request files and let go of the folder; the next question opens it again."""
        folder, self._folder = self._folder, None
        if folder is not None:
            try:
                self.written += folder.finish()
            finally:
                folder.close()

    def _settled(self, custom_id: str, reply: Reply) -> Reply:
        usage, prices = reply.usage, self.settings.prices
        if custom_id in self._given:
            free = replace(usage, prompt_tokens=0, completion_tokens=0, cost_usd=0.0)
            return replace(reply, version=self._version, usage=free, cached=True)
        self._given.add(custom_id)
        cost = None if prices is None else prices.cost_usd(usage.prompt_tokens, usage.completion_tokens)
        return replace(reply, version=self._version, usage=replace(usage, cost_usd=cost))
