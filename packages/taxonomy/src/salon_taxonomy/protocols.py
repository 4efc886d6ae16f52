"""The contracts that everything else asks: a judge answers questions about media, an editor edits, a scorer rates.

Clients (HTTP, local models, replay, panels) live in ``salon_bench``; rewards and loops take any object that fits. Judge and
editor never raise for what the other side did: a time-out, a refusal or a broken connection comes back as a value, so one
lost answer never ends a run. A scorer may be any function; ``salon_taxonomy.scorers`` loads it and checks what it returns.

    Question ── ask ──► Reply ── text ──► answers.parse_… ──► Parsed | Unparsed
        │                 └── problem() ──► Unscored, where there is no text
        └── request_sha256(): the key of caches and of ``judge_calls``
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol, Self, runtime_checkable

from salon_taxonomy.digest import Digestible, digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import CallStatus, Finish, MediaKind, MediaRole
from salon_taxonomy.verdict import Reason, Unscored

_SHA256_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Media:
    """One picture or video, in memory or by reference.

    Attributes:
        sha256: of the encoded file's bytes, 64 hex digits: what makes two media the same.
        uri: a path or URI of the file; None when it is in memory only.
        data: the encoded file's bytes; None when it is by reference only. At least one of the two is given.
        kind: image or video.
        frames_per_second: for a video, how densely it is to be shown to the judge; None leaves that to the judge.
        most_pixels: for a video, width × height of a frame that is shown at most; None leaves that to the judge.
        film: for a video, the frames that were taken from it with these two wishes and the judge's own limits; None: they were
            not taken yet. They follow from the file, so they are no part of what makes two media the same.
        role: why it is shown; None: unknown. The words of a question say it to the judge, so it is no part of the request.
        part: for a video, where what is shown begins and ends, from 0 to 1 of its length; None: the whole.

    Raises:
        InputError: when neither ``uri`` nor ``data`` is given, the hash is invalid, or a wish for frames is not above 0.
    """

    sha256: str
    uri: str | None = None
    data: bytes | None = field(default=None, repr=False, compare=False)
    kind: MediaKind = MediaKind.IMAGE
    frames_per_second: float | None = None
    most_pixels: int | None = None
    film: "Film | None" = field(default=None, repr=False, compare=False)
    role: MediaRole | None = field(default=None, compare=False)
    part: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.uri is None and self.data is None:
            raise InputError("media need a uri or data", column="uri", hint="Use Media.from_file or Media.from_bytes.")
        if len(self.sha256) != _SHA256_DIGITS or set(self.sha256) - set("0123456789abcdef"):
            raise InputError("not a SHA-256 in 64 lower-case hex digits", column="sha256", value=self.sha256)
        if self.frames_per_second is not None and not 0 < self.frames_per_second < float("inf"):
            raise InputError("must be above 0", column="frames_per_second", value=self.frames_per_second)
        if self.most_pixels is not None and self.most_pixels < 1:
            raise InputError("must be 1 or more", column="most_pixels", value=self.most_pixels)

    @classmethod
    def from_file(cls, path: str | Path, kind: MediaKind = MediaKind.IMAGE, *, frames_per_second: float | None = None) -> Self:
        """Refer to a file; its bytes are hashed, and not kept.

        Raises:
            InputError: when the file cannot be read.
        """
        try:
            sha256 = file_sha256(path)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=path) from error
        return cls(sha256, uri=str(path), kind=kind, frames_per_second=frames_per_second)

    @classmethod
    def from_bytes(cls, data: bytes, kind: MediaKind = MediaKind.IMAGE, *, frames_per_second: float | None = None) -> Self:
        """Hold an encoded file (PNG, JPEG, MP4, …) in memory.

        Example:
            >>> Media.from_bytes(b"not really a picture").sha256[:12]
            'fe1a4ab1fb63'
        """
        return cls(hashlib.sha256(data).hexdigest(), data=data, kind=kind, frames_per_second=frames_per_second)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a video shows ``at_s`` seconds after its first picture, as a picture of its own."""

    at_s: float
    image: Media


@dataclass(frozen=True, slots=True)
class Film:
    """Frames of a video, in their order, evenly spaced in time.

    Attributes:
        frames: what is shown; at least one.
        duration_s: of the whole video, in seconds.
        at_rate: how many frames the wanted rate gives; more than there are where they were thinned.
        notes: what was done to the video, a clause each.
    """

    frames: tuple[Frame, ...]
    duration_s: float
    at_rate: int
    notes: tuple[str, ...] = ()

    def within(self, part: tuple[float, float] | None) -> "Film":
        """Return the frames of a part of the video; where none lies in it, the one that is shown where it begins.

        Example:
            >>> film = Film(tuple(Frame(second / 2, Media.from_bytes(b"jpeg")) for second in range(4)), 2.0, 4)
            >>> [[frame.at_s for frame in film.within(part).frames] for part in ((0, 0.5), (0, 0), (1, 1), (0.6, 0.7))]
            [[0.0, 0.5, 1.0], [0.0], [1.5], [1.0]]
        """
        if part is None:
            return self
        begin, end = (share * self.duration_s for share in part)
        within = tuple(frame for frame in self.frames if begin <= frame.at_s <= end)
        frames = within or tuple(frame for frame in self.frames if frame.at_s <= begin)[-1:] or self.frames[:1]
        return replace(self, frames=frames)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a judge is to draw its reply. The defaults are those of evaluation: the likeliest reply.

    Attributes:
        temperature: 0 is greedy.
        top_p: the share of probability that is sampled from, above 0 and at most 1.
        max_tokens: the longest reply.
        seed: for judges that take one; None leaves it open.
        stop: texts at which the reply ends.
        top_logprobs: how many alternatives to report for each token of the reply (``Reply.tokens``); 0: none.

    Raises:
        InputError: for a value out of its range.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 1024
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise InputError("temperature must be 0 or more", column="temperature", value=self.temperature)
        if not 0 < self.top_p <= 1:
            raise InputError("top_p must lie above 0 and be at most 1", column="top_p", value=self.top_p)
        if self.max_tokens < 1:
            raise InputError("max_tokens must be 1 or more", column="max_tokens", value=self.max_tokens)
        if self.top_logprobs < 0:
            raise InputError("top_logprobs must be 0 or more", column="top_logprobs", value=self.top_logprobs)


@dataclass(frozen=True, slots=True)
class Question:
    """A complete request to a judge: two equal questions may share one answer.

    Attributes:
        parts: texts and media in the order in which the judge sees them ("Video A:", the video, "Video B:", …).
        system: the system message, or None.
        response_schema: a JSON Schema for guided decoding, for judges that can; None asks for free text.
        decoding: how the reply is drawn.
        prompt: the text that the picture was made for, as it is, where the question asks for a score; scorers read it in place
            of ``parts``. None: the question cannot be answered by a scorer.

    Raises:
        InputError: when there is no part at all, or ``parts`` is a text instead of a tuple.

    Example:
        >>> question = Question(("Is this AI-generated?", Media.from_bytes(b"...")))
        >>> question.text, len(question.media), question.request_sha256()[:8]
        ('Is this AI-generated?', 1, '2087f3e6')
    """

    parts: tuple[str | Media, ...]
    system: str | None = None
    response_schema: Mapping[str, Digestible] | None = field(default=None, hash=False)
    decoding: Decoding = Decoding()
    prompt: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.parts, str) or not self.parts:
            raise InputError("a question needs a tuple of at least one text or picture", column="parts", value=self.parts)

    @property
    def text(self) -> str:
        """The texts, one after the other, without the media."""
        return "\n".join(part for part in self.parts if isinstance(part, str))

    @property
    def media(self) -> tuple[Media, ...]:
        """The pictures and videos, in order."""
        return tuple(part for part in self.parts if isinstance(part, Media))

    def request_sha256(self) -> str:
        """Return the digest of all that can change the reply, but for the judge itself: 64 hex digits.

        Media count by their bytes, not by where they stand.
        """
        parts: list[Digestible] = [part if isinstance(part, str) else _content(part) for part in self.parts]
        decoding: dict[str, Digestible] = {name: getattr(self.decoding, name) for name in Decoding.__slots__}
        whole = {"parts": parts, "system": self.system, "schema": self.response_schema, "decoding": decoding}
        if self.prompt is not None:  # questions without one keep the digest that they had
            whole["prompt"] = self.prompt
        return digest("question", whole, length=_SHA256_DIGITS)


class CallOutcome(StrEnum):
    """What a call to a judge or an editor settles: the one rule of runs, curation, rewards and training."""

    ANSWERED = "answered"
    """There is a reply or a picture. Final, also where the reply cannot be parsed."""
    REFUSED = "refused"
    """The other side declined this request. Final for an edit; a judge's verdict is missing, so a later run asks again."""
    LOST = "lost"
    """A time-out, a broken connection, a wrong key, a quota, a server that is too busy: a later run asks again."""


DECLINED_STATUSES: Final = frozenset({400, 413, 415, 422, 451})
"""HTTP statuses about the request itself; all others are about keys, models, quotas and the server."""

_OUTCOMES: Final = {
    CallStatus.OK: CallOutcome.ANSWERED,
    CallStatus.REJECTED: CallOutcome.REFUSED,
    CallStatus.TIMEOUT: CallOutcome.LOST,
    CallStatus.UNREACHABLE: CallOutcome.LOST,
    CallStatus.CANCELLED: CallOutcome.LOST,
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost; None where the judge does not say.

    Attributes:
        prompt_tokens: tokens read, pictures included.
        completion_tokens: tokens written, reasoning included.
        cost_usd: in US dollars.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reply, with its natural log-probability and the likeliest alternatives, likeliest first."""

    text: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The raw reply of a judge; parsing is the caller's task (``salon_taxonomy.answers``).

    Attributes:
        text: the raw reply, reasoning included; empty when there was none.
        status: how the call ended.
        version: the judge's version (see :class:`Judge`).
        finish: why the text ended.
        latency_ms: from the first byte sent to the last received, in milliseconds, of the last attempt.
        usage: tokens and money.
        tokens: log-probabilities, when requested and available.
        http_status: of the last attempt, where HTTP was spoken.
        error: one line for people when the status is not OK.
        cached: the reply came from a cache: nothing was sent or paid for it.
        earlier: the attempts that failed before this one, oldest first; they have no ``earlier`` of their own.
    """

    text: str
    status: CallStatus = CallStatus.OK
    version: str = ""
    finish: Finish = Finish.UNKNOWN
    latency_ms: float | None = None
    usage: Usage = Usage()
    tokens: tuple[Token, ...] = ()
    http_status: int | None = None
    error: str | None = None
    cached: bool = False
    earlier: tuple["Reply", ...] = ()

    @property
    def outcome(self) -> CallOutcome:
        """Return what the call settles; only an answer is final.

        Example:
            >>> [Reply("", CallStatus.REJECTED, http_status=status).outcome.value for status in (401, 422, 503)]
            ['lost', 'refused', 'lost']
        """
        about_the_server = self.http_status is not None and self.http_status not in DECLINED_STATUSES
        return CallOutcome.LOST if self.status == CallStatus.REJECTED and about_the_server else _OUTCOMES[self.status]

    @property
    def answered(self) -> bool:
        """Whether the judge replied; a reply that was cut off or cannot be parsed is one too."""
        return self.outcome is CallOutcome.ANSWERED

    def problem(self) -> Unscored | None:
        """Return the verdict when there is no whole reply to parse; None when there is one.

        A reply that was cut off or withheld is a problem even if the text that did come would parse.

        Example:
            >>> Reply("", status=CallStatus.TIMEOUT, error="no byte in 30 s").problem()
            Unscored(reason=<Reason.TIMEOUT: 'timeout'>, detail='no byte in 30 s', raw='')
        """
        reason = _REASONS.get(self.status) or _FINISHES.get(self.finish)
        return None if reason is None else Unscored(reason, self.error or f"the reply ended with {self.finish}", self.text)


_REASONS = {
    CallStatus.TIMEOUT: Reason.TIMEOUT,
    CallStatus.UNREACHABLE: Reason.UNREACHABLE,
    CallStatus.REJECTED: Reason.REJECTED,
    CallStatus.CANCELLED: Reason.ABSTAINED,
}
_FINISHES = {Finish.LENGTH: Reason.TRUNCATED, Finish.FILTERED: Reason.REFUSED}


@runtime_checkable
class Judge(Protocol):
    """A model, or a panel of them, that answers questions about pictures and videos."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def version(self) -> str:
        """A digest of everything that shapes its replies; results of two versions are never mixed."""

    async def ask(self, question: Question) -> Reply:
        """Answer one question. May be called many times at once.

        Returns a :class:`Reply` whatever the other side does; raises only for a question that the judge cannot take at
        all (``InputError``) and when the task is cancelled.
        """


@dataclass(frozen=True, slots=True)
class Edit:
    """What an editor made.

    Attributes:
        image: the new image; None when none was made.
        status: how the call ended; ``OK`` exactly when there is an image.
        version: the editor's version.
        latency_ms: in milliseconds.
        error: one line for people when the status is not OK.

    Raises:
        InputError: when status and image contradict each other.
    """

    image: Media | None
    status: CallStatus = CallStatus.OK
    version: str = ""
    latency_ms: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        if (self.image is not None) != (self.status == CallStatus.OK):
            raise InputError("an edit is OK exactly when it has an image", column="status", value=str(self.status))

    @property
    def outcome(self) -> CallOutcome:
        """Return what the call settles; an answer and a refusal are final."""
        return _OUTCOMES[self.status]

    def problem(self) -> Unscored | None:
        """Return the verdict when there is no image; None when there is one."""
        return None if self.image else Unscored(_REASONS[self.status], self.error or f"the edit ended with {self.status}")


@runtime_checkable
class Editor(Protocol):
    """A model that edits an image by instructions."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def version(self) -> str:
        """A digest of everything that shapes its edits."""

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Make the image that the instruction asks for; the given one is left as it is.

        Returns an :class:`Edit` whatever the other side does; raises only for an image that the editor cannot take at
        all (``InputError``) and when the task is cancelled.
        """


@runtime_checkable
class Scorer(Protocol):
    """A function of pictures and the texts that they were made for, such as CLIPScore."""

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def version(self) -> str:
        """A digest of everything that shapes its scores; results of two versions are never mixed."""

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score that is possible; infinite where there is no bound, or none is known."""

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score is a better picture."""

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> Any:
        """Return a score for each picture, or an awaitable of them.

        Args:
            images: ``PIL.Image.Image`` in RGB, upright.
            prompts: the text of each picture.

        Returns:
            As many numbers as pictures, in order: a list, a tuple, an array or a tensor of shape (pictures,); None for one
            without a score.
        """


def _content(media: Media) -> dict[str, Digestible]:
    wishes: dict[str, Digestible] = {} if media.most_pixels is None else {"most_pixels": media.most_pixels}
    if media.part is not None:
        wishes["part"] = list(media.part)
    return {"sha256": media.sha256, "kind": str(media.kind), "frames_per_second": media.frames_per_second, **wishes}
