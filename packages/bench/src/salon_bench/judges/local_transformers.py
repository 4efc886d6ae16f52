"""A judge that runs on this machine: any model that ``AutoModelForImageTextToText`` loads, by name or from a folder.

Needs the extra: ``pip install 'salon-bench[transformers]'``. The model is loaded at the first question; questions that are
asked at the same time are answered in one batch, in a thread of its own. The code that uses torch is in
``local_generation.py``.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING

from salon_bench.judges.local_settings import TransformersSettings
from salon_bench.judges.local_weights import weights_digest
from salon_bench.judges.micro_batches import MicroBatches
from salon_bench.judges.settings import VideoInput
from salon_bench.judges.videos import as_frames
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Decoding, Media, Question, Reply
from salon_taxonomy.records import CallStatus, MediaKind

if TYPE_CHECKING:
    from salon_bench.judges.local_generation import LocalModel

PROTOCOL = "transformers-1"
"""Raised when the same settings begin to put other prompts to the model, or replies to be read otherwise."""
_NEEDED = ("torch", "transformers", "accelerate")


class TransformersJudge(Closing):
    """Answers with a model on this machine.

    A question with a temperature above 0 is drawn with its seed, or with one made of the question itself, and alone: so
    the draw does not depend on who else asks. Greedy replies may differ in rare digits with the batch they fall into, as
    floating-point sums do. Nothing holds the model to a question's JSON Schema: the prompt alone asks for JSON. Special
    tokens in a question's texts lose their meaning, so no text can add a picture or end the turn.

    Whatever goes wrong with a question (a picture that cannot be decoded, a prompt longer than the model takes, memory
    that does not suffice for it alone) is a reply with status ``rejected``. Videos are shown as frames in their order, which
    a processor must take that is made for several pictures; else they are ``rejected`` like that, too.

    Args:
        settings: which model, and how.

    Raises:
        InputError: when the extra is not installed, or the folder holds no weights.
    """

    def __init__(self, settings: TransformersSettings) -> None:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            hint = "Install it: pip install 'salon-bench[transformers]'."
            raise InputError(f"this judge needs the extra `transformers` ({', '.join(missing)} not found)", hint=hint)
        self.settings = settings
        self._batches = MicroBatches(self._answer, most=settings.batch, wait_s=settings.gather_ms / 1000)
        self._alone = count()
        self._model: LocalModel | None = None

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
            "protocol": PROTOCOL,
            "weights": weights_digest(settings.model, settings.revision),
            "dtype": settings.dtype,
            "decoding": settings.decoding.model_dump(mode="json", exclude={"omit"}),
        }
        if settings.videos != VideoInput():  # the usual way leaves the versions of judges of pictures as they were
            shaping["videos"] = settings.videos.model_dump(mode="json")
        return digest("judge", shaping)

    def __repr__(self) -> str:
        """The model and where it runs."""
        return f"TransformersJudge({self.settings.model!r} on {self.settings.device_map})"

    async def ask(self, question: Question) -> Reply:
        """Answer one question.

        Raises:
            InputError: when the model cannot be loaded.
        """
        decoding = self._decoding(question)
        greedy = decoding.temperature == 0
        if not greedy and decoding.seed is None:
            decoding = replace(decoding, seed=int(question.request_sha256()[:15], 16))
        company = replace(decoding, seed=None) if greedy else next(self._alone)
        if any(media.kind == MediaKind.VIDEO for media in question.media):
            try:
                question = await asyncio.to_thread(self._in_frames, question)
            except InputError as error:
                return Reply("", CallStatus.REJECTED, error=str(error), version=self.version)
        return await self._batches.ask(company, (question, decoding))

    async def close(self) -> None:
        """Finish what is under way and let go of the model; the next question loads it again."""
        await self._batches.close()
        self._model = None

    def _in_frames(self, question: Question) -> Question:
        """The question with its videos as frames.

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
        """In the model's thread."""
        if self._model is None:
            from salon_bench.judges.local_generation import LocalModel

            self._model = LocalModel.load(self.settings)
        began = perf_counter()
        replies = self._model.answer([question for question, _ in asked], asked[0][1])
        latency_ms = (perf_counter() - began) * 1000
        return [replace(reply, version=self.version, latency_ms=latency_ms) for reply in replies]
