"""Settings of a judge behind an OpenAI-compatible server; secrets are named, never contained."""

import re
import unicodedata
from enum import StrEnum
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.plugins import JudgeSettings

_MILLION = 1_000_000


class Prices(BaseModel):
    """A provider's prices, in US dollars per million tokens.

    Attributes:
        prompt_usd_per_million: for tokens read, pictures included.
        completion_usd_per_million: for tokens written, reasoning included.

    Example:
        >>> Prices(prompt_usd_per_million=2.5, completion_usd_per_million=10).cost_usd(1000, 200)
        0.0045
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_usd_per_million: float = Field(ge=0, allow_inf_nan=False)
    completion_usd_per_million: float = Field(ge=0, allow_inf_nan=False)

    def cost_usd(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Return the price of one reply; None when the server did not say how many tokens it was."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        read, written = prompt_tokens * self.prompt_usd_per_million, completion_tokens * self.completion_usd_per_million
        return (read + written) / _MILLION


PROTOCOL = "chat-completions-1"
"""Raised when the same settings begin to make other requests, or replies to be read otherwise."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_HARMLESS_HEADERS = frozenset(
    {
        "accept-language",
        "anthropic-beta",
        "anthropic-version",
        "http-referer",
        "openai-beta",
        "openai-organization",
        "openai-project",
        "referer",
        "user-agent",
        "x-title",
    }
)
"""Headers whose values are stored."""
_SECRET_FIELD = re.compile(
    r"(^|[_.-])(key|token|apikey|jwt|pat|pass|sig|access|sid|session|otp|pin|psk|private)$|"
    r"auth|secret|cookie|passw|passphrase|pwd|credential|bearer|signature",
    re.IGNORECASE,
)
_HARMLESS_FIELDS = frozenset({"prompt_cache_key"})
_CREDENTIAL = re.compile(
    r"(?<![A-Za-z0-9])((sk|pk|rk)[-_]|hf_|gh[opsu]_|github_pat_|xox[a-z]-|AIza|AKIA|ya29\.|eyJ|(Bearer|Basic) )[\w.~+/=-]{12,}"
)
_SHORTEST_OPAQUE = 16
_MOST_PARTS = 5
_LONG_RUN = re.compile(rf"\S{{{_SHORTEST_OPAQUE},}}")
_QUOTED_RUN = re.compile(rf"[^\"'`{{}}\[\]()<>,;]{{{_SHORTEST_OPAQUE},}}")
_NAME = re.compile(r"[A-Za-z0-9]+")
_NAME_PARTS = re.compile(r"[A-Z]*[a-z]+|[A-Z]+|[0-9]+")
_NO_WORD = re.compile(r"(?i:[b-df-hj-np-tv-xz]){7}|[a-z]{25}|[A-Z]{25}|[0-9]{11}")
_HEADER = re.compile(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
_OWN_KEYS = frozenset({"messages", "model", "stream", "n"})
_MEBIBYTE = 1 << 20


class JsonMode(StrEnum):
    """How a server is held to a question's JSON Schema, for questions that have one."""

    JSON_SCHEMA = "json_schema"
    """``response_format`` of type ``json_schema``, strict: OpenAI, vLLM, SGLang, llama.cpp."""
    JSON_OBJECT = "json_object"
    """``response_format`` of type ``json_object``: some JSON object, the schema is not sent."""
    STRUCTURED_OUTPUTS = "structured_outputs"
    """vLLM's own ``structured_outputs`` field."""
    GUIDED_JSON = "guided_json"
    """The field ``guided_json`` of older vLLM versions."""
    NONE = "none"
    """Nothing is sent; the prompt alone asks for JSON."""


class TokensField(StrEnum):
    """What the server calls the longest reply. OpenAI's reasoning models know the second only."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)


class DecodingOverrides(_Settings):
    """What this judge is asked with in place of the question's own decoding; None keeps the question's.

    Attributes:
        omit: fields that are not sent at all, for servers that refuse them.
    """

    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    top_logprobs: Annotated[int, Field(ge=0)] | None = None
    omit: tuple[Literal["temperature", "top_p", "max_tokens", "seed", "stop"], ...] = ()


class ServerLimits(_Settings):
    """How hard the server may be worked, and how long it is waited for. None of it shapes a reply.

    Attributes:
        concurrency: requests at once; fewer while the server says that it is too many.
        requests_per_minute: None: no limit.
        tokens_per_minute: read and written; None: no limit.
        timeout_s: for one attempt, from connecting to the last byte, in seconds.
        deadline_s: for all attempts of one call and the waits between them, in seconds, from the first request on.
        attempts: the most for one call, the first included.
        first_wait_s: the longest wait before the second attempt; it doubles with each further one.
        longest_wait_s: where the doubling ends, and the longest rest that one ``Retry-After`` can impose on other calls.
        most_reply_bytes: a longer body of an HTTP reply is not read to its end.
        seed: of the random share of the waits.
    """

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 64
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    timeout_s: Positive = 120.0
    deadline_s: Positive = 600.0
    attempts: Annotated[int, Field(ge=1, le=100)] = 6
    first_wait_s: Annotated[float, Field(ge=0)] = 0.5
    longest_wait_s: Annotated[float, Field(ge=0)] = 60.0
    most_reply_bytes: Annotated[int, Field(ge=1)] = 8 * _MEBIBYTE
    seed: int = 0


class VideoInput(_Settings):
    """How a judge is shown a video.

    Attributes:
        send: ``frames``: as pictures in their order, which every server takes that takes several pictures; ``video_url``: the
            file itself, in the form that vLLM and SGLang read; the server then picks frames by its own rule.
        most_frames: of one video; more are thinned evenly. None: as many as the suite's rate gives.
        most_pixels: width × height of a frame at most. None: as the suite wants it.
        time_stamps: say before each frame, as text, at which second it stands.
    """

    send: Literal["frames", "video_url"] = "frames"
    most_frames: Annotated[int, Field(ge=1)] | None = None
    most_pixels: Annotated[int, Field(ge=1)] | None = None
    time_stamps: bool = True


class ChatSettings(JudgeSettings):
    """One judge behind ``POST {base_url}/chat/completions``.

    Attributes:
        kind: ``openai``, ``vllm``, ``sglang`` or ``llama.cpp``: all speak one protocol and differ in their defaults.
        model: what the server calls the model.
        base_url: up to and with ``/v1``.
        name: what tables call the judge; the model's name by default.
        api_key_env: the NAME of the environment variable with the API key, sent as ``Authorization: Bearer …``.
        api_key_required: whether it is an error that the variable is not set; else no key is sent then.
        headers: further headers that are stored with every run: only those known to carry no secret (``User-Agent``,
            ``OpenAI-Organization``, ``OpenAI-Project``, ``OpenAI-Beta``, ``Anthropic-Version``, ``Anthropic-Beta``,
            ``HTTP-Referer``, ``Referer``, ``X-Title``, ``Accept-Language``); any other belongs in ``secret_headers``.
        secret_headers: header → the NAME of the environment variable with its value.
        json_mode: how a question's JSON Schema is enforced.
        tokens_field: what the server calls the longest reply.
        decoding: in place of the question's own.
        extra_body: further fields of every request, as the server knows them; stored, so one that looks like a secret
            (by its name, or by 16 or more characters that are no words) is refused.
        videos: how a video is shown.
        limits: pacing, patience and retries.
        prices: None: the costs are not known.

    Example:
        >>> one = ChatSettings(model="qwen2.5-vl-7b", base_url="http://a:8000/v1")
        >>> two = ChatSettings(model="qwen2.5-vl-7b", base_url="http://b:8000/v1", limits=ServerLimits(concurrency=4))
        >>> one.version == two.version, one.title
        (True, 'qwen2.5-vl-7b')
    """

    kind: str = "openai"
    model: str = Field(min_length=1, max_length=400)
    base_url: str
    api_key_env: EnvironmentName | None = None
    api_key_required: bool = True
    headers: dict[str, str] = Field(default_factory=dict)
    secret_headers: dict[str, EnvironmentName] = Field(default_factory=dict)
    json_mode: JsonMode = JsonMode.JSON_SCHEMA
    tokens_field: TokensField = TokensField.MAX_TOKENS
    decoding: DecodingOverrides = DecodingOverrides()
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    videos: VideoInput = VideoInput()
    limits: ServerLimits = ServerLimits()
    prices: Prices | None = None

    @property
    def title(self) -> str:
        """What tables call the judge: its name, or the model's."""
        return self.name or self.model

    @property
    def version(self) -> str:
        """A digest of all that shapes its replies.

        Left out: where the server stands (the same model on another host is the same judge; what tells models apart is
        their name), keys, limits, retries and prices.
        """
        shaping: dict[str, Digestible] = self.model_dump(
            mode="json", include={"model", "headers", "json_mode", "tokens_field", "decoding", "extra_body"}
        )
        if self.videos != VideoInput():  # the usual way leaves the versions of judges of pictures as they were
            shaping["videos"] = self.videos.model_dump(mode="json")
        return digest("judge", {"protocol": PROTOCOL, **shaping})

    @field_validator("model", "name", "base_url")
    @classmethod
    def _no_credential(cls, value: str | None) -> str | None:
        if value is not None and _CREDENTIAL.search(value):
            raise ValueError("looks like a secret, and is stored; keep it in an environment variable that api_key_env names")
        return value

    @field_validator("model")
    @classmethod
    def _no_query(cls, value: str) -> str:
        if "?" in value or ";" in value:
            raise ValueError("must hold no query (?…) and no parameters (;…); use api_key_env or secret_headers for keys")
        return value

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            port = parts.port
            (parts.hostname or "").encode("idna")
        except ValueError as error:
            raise ValueError("is not a URL") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or re.search(r"[\s\x00-\x1f]", value):
            raise ValueError("must be a URL like http://localhost:8000/v1")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must hold no user name or password; use api_key_env or secret_headers")
        if parts.query or parts.fragment or ";" in parts.path:
            raise ValueError("must hold no query, no fragment and no parameters (;…); use secret_headers for keys")
        if value.rstrip("/").endswith("/chat/completions"):
            raise ValueError("must end before /chat/completions, usually with /v1")
        return value.rstrip("/")

    @field_validator("headers")
    @classmethod
    def _no_secrets(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            _check_header(name)
            if name.lower() not in _HARMLESS_HEADERS or _CREDENTIAL.search(text):
                raise ValueError(
                    f"{name} may be a secret, and headers are stored; give the name of an environment variable in "
                    f"secret_headers (stored are {', '.join(sorted(_HARMLESS_HEADERS))})"
                )
            if not text.isprintable() or not text.isascii():
                raise ValueError(f"{name} must be printable ASCII")
        return value

    @field_validator("secret_headers")
    @classmethod
    def _headers(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            _check_header(name)
        return value

    @field_validator("extra_body")
    @classmethod
    def _additions(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        reserved = sorted(_OWN_KEYS & value.keys())
        if reserved:
            raise ValueError(f"{', '.join(reserved)} cannot be set here")
        if (field := _secret_field(value)) is not None:
            raise ValueError(
                f"{field} looks like a secret, and these fields are stored; keep it in an environment variable "
                "that api_key_env or secret_headers name"
            )
        return value

    @model_validator(mode="after")
    def _patience(self) -> Self:
        if self.limits.deadline_s < self.limits.timeout_s:
            raise ValueError("limits.deadline_s must not be below limits.timeout_s")
        return self


def without_credentials(text: str) -> str:
    """Return what a user typed for a judge without what may be a secret: user names, passwords, queries, tokens.

    Example:
        >>> without_credentials("openai:m@https://me:pass@host/v1?key=abc")
        'openai:m@…'
        >>> without_credentials("vllm:m@host/v1?key=abc"), without_credentials("sk-0123456789abcdef")
        ('vllm:m@host/v1?…', '…')
        >>> without_credentials("vllm:m@host/v1;key=abc"), without_credentials("/runs/hG7kP2xQ9vL4mN8s/judge.toml")
        ('vllm:m@host/v1;…', '/runs/[masked]/judge.toml')
    """
    text = re.sub(r"([?#;]).*", r"\1…", text, flags=re.DOTALL)
    if (credential := _CREDENTIAL.search(text)) is not None:
        text = f"{text[: credential.start()]}…"
    before, at, _ = text.partition("@")
    scheme, slashes, _ = before.partition("://")
    if at and slashes:
        return f"{scheme}://…"
    text = f"{before}@…" if text.count("@") > 1 else text
    return "/".join(map(without_opaque, text.split("/")))


def without_opaque(text: str) -> str:
    """Return a message with each run of 16 or more characters that are no words as ``[masked]``.

    Words are what English, file names, addresses, error codes and names of models are made of: letters that can be spoken,
    few changes of case, few changes between letters and digits. Time is linear in the text's length.

    Example:
        >>> without_opaque("Incorrect API key provided: hG7kP2xQ9vL4mN8s. See https://example.com/account/api-keys.")
        'Incorrect API key provided: [masked] See https://example.com/account/api-keys.'
        >>> without_opaque("The model `meta-llama/Llama-3.1-8B-Instruct` does not exist (LlamaForCausalLM).")
        'The model `meta-llama/Llama-3.1-8B-Instruct` does not exist (LlamaForCausalLM).'
    """
    return _LONG_RUN.sub(lambda match: _masked(match[0]), text)


def _masked(run: str) -> str:
    if not _opaque(run):
        return run
    inner = _QUOTED_RUN.sub(lambda match: "[masked]" if _opaque(match[0]) else match[0], run)
    return "[masked]" if _opaque(inner) else inner


def _opaque(run: str) -> bool:
    """Return whether a run of characters looks like a secret: it is no word, name, number or address."""
    run = unicodedata.normalize("NFKC", run)
    names = [(len(name), len(_NAME_PARTS.findall(name))) for name in _NAME.findall(run)]
    if any(parts > 2 + length / 6 for length, parts in names) or sum(parts - 1 for _, parts in names) > _MOST_PARTS:
        return True
    scattered = len(names) > _MOST_PARTS and sum(length for length, _ in names) < 2.5 * len(names)
    return scattered or _NO_WORD.search(run) is not None


def _secret_field(value: JsonValue, path: str = "") -> str | None:
    """Return the name of the first text that looks like a secret, by name or content."""
    if isinstance(value, str):
        name = path.rpartition(".")[2]
        suspicious = _SECRET_FIELD.search(name) and name not in _HARMLESS_FIELDS
        return path if suspicious or _CREDENTIAL.search(value) or without_opaque(value) != value else None
    named = ((f"{path}.{key}".strip("."), item) for key, item in value.items()) if isinstance(value, dict) else ()
    listed = ((path, item) for item in value) if isinstance(value, list) else ()
    return next((suspect for name, item in (*named, *listed) if (suspect := _secret_field(item, name)) is not None), None)


def _check_header(name: str) -> None:
    if not _HEADER.match(name) or name.lower() in ("content-length", "transfer-encoding", "host", "content-type"):
        raise ValueError(f"{name!r} is not the name of a header that can be set")
