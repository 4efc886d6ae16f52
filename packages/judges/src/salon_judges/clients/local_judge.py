"""The base of judges on this machine: questions of one moment are answered in one batch, in a thread."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from time import perf_counter
from typing import Generic, Protocol, TypeVar

from salon_judges.clients.local_settings import LocalSettings
from salon_judges.clients.local_weights import weights_digest
from salon_judges.clients.micro_batches import MicroBatches
from salon_judges.clients.settings import VideoInput
from salon_judges.clients.videos import as_frames
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Decoding, Media, Question, Reply
from salon_taxonomy.records import CallStatus, MediaKind

Settings = TypeVar("Settings", bound=LocalSettings)


class ModelInMemory(Protocol):
    """A model in memory; used by one thread."""

    def answer(self, asked: Sequence[tuple[Question, Decoding]]) -> list[Reply]:
        """Return one reply for each question, in order."""


class LocalJudge(Closing, Generic[Settings]):
    """A judge on this machine: the model is loaded at the first question.

    Args:
        settings: which model, and how.

    Raises:
        InputError: a needed library is not installed.
    """

    protocol: str
    """Raised when the same settings begin to put other prompts to the model, or replies to be read otherwise."""
    needed: tuple[str, ...]
    """The libraries."""
    install: str
    """The sentence that says how to install them."""

    def __init__(self, settings: Settings) -> None:
        missing = [name for name in self.needed if find_spec(name) is None]
        if missing:
            problem = f"a {settings.kind} judge needs libraries that are not found: {', '.join(missing)}"
            raise InputError(problem, hint=self.install)
        self.settings = settings
        self._batches = MicroBatches(self._answer, most=settings.batch, wait_s=settings.gather_ms / 1000)
        self._model: ModelInMemory | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.title

    @cached_property
    def version(self) -> str:
        """A digest of weights, processor, number format and decoding; the same wherever the files lie.

        Raises:
            InputError: when the model is not to be found.
        """
        settings = self.settings
        shaping: dict[str, Digestible] = {
            "protocol": self.protocol,
            "weights": weights_digest(settings.model, settings.revision),
            "dtype": settings.dtype,
            "decoding": settings.decoding.model_dump(mode="json", exclude={"omit"}),
        }
        if settings.videos != VideoInput():  # the usual way leaves the versions of judges of pictures as they were
            shaping["videos"] = settings.videos.model_dump(mode="json")
        return digest("judge", shaping)

    async def ask(self, question: Question) -> Reply:
        """Answer one question.

        Raises:
            InputError: when the model cannot be loaded.
        """
        decoding = self._decoding(question)
        if decoding.temperature and decoding.seed is None:
            decoding = replace(decoding, seed=int(question.request_sha256()[:15], 16))
        if any(media.kind == MediaKind.VIDEO for media in question.media):
            try:
                question = await asyncio.to_thread(self._in_frames, question)
            except InputError as error:
                return Reply("", CallStatus.REJECTED, error=str(error), version=self.version)
        return await self._batches.ask(self.company(decoding), (question, decoding))

    async def close(self) -> None:
        """Finish what is under way and let go of the model; the next question loads it again."""
        await self._batches.close()
        self._model = None

    @abstractmethod
    def company(self, decoding: Decoding) -> Hashable:
        """Return the key of the questions that may be answered in one batch with this one."""

    @abstractmethod
    def loaded(self) -> ModelInMemory:
        """Load the model.

        Raises:
            InputError: it cannot be loaded.
        """

    def _in_frames(self, question: Question) -> Question:
        """Return the question with its videos as frames.

        Raises:
            InputError: for a video that cannot be shown.
        """
        parts: list[str | Media] = []
        for part in question.parts:
            video = isinstance(part, Media) and part.kind == MediaKind.VIDEO
            parts += as_frames(part, self.settings.videos) if video and isinstance(part, Media) else [part]
        return replace(question, parts=tuple(parts))

    def _decoding(self, question: Question) -> Decoding:
        own = self.settings.decoding.model_dump(exclude_none=True, exclude={"omit"})
        return Decoding(**{name: own.get(name, getattr(question.decoding, name)) for name in Decoding.__slots__})

    def _answer(self, asked: Sequence[tuple[Question, Decoding]]) -> Sequence[Reply]:
        """Answer a batch of questions; runs in the model's thread."""
        if self._model is None:
            self._model = self.loaded()
        began = perf_counter()
        replies = self._model.answer(asked)
        latency_ms = (perf_counter() - began) * 1000
        return [replace(reply, version=self.version, latency_ms=latency_ms) for reply in replies]


def answered_in_halves(
    asked: Sequence[tuple[Question, Decoding]],
    answer: Callable[[Sequence[tuple[Question, Decoding]]], list[Reply]],
    failures: tuple[type[Exception], ...],
    in_words: Callable[[BaseException], str],
) -> list[Reply]:
    """Answer a batch.

    One that fails is halved until the question at fault is alone; its reply is rejected.
    """
    try:
        return answer(asked)
    except failures as error:
        if len(asked) == 1:
            return [Reply("", CallStatus.REJECTED, error=in_words(error))]
    half = len(asked) // 2
    return [
        *answered_in_halves(asked[:half], answer, failures, in_words),
        *answered_in_halves(asked[half:], answer, failures, in_words),
    ]
