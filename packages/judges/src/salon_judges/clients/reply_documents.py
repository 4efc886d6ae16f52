"""A reply as JSON, for files that keep replies: the cache, batch folders.

What a line or an entry holds is checked when it is read: such files are copied, edited and sent about.
"""

import math
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.protocols import Reply, Token, Usage
from salon_taxonomy.records import CallStatus, Finish

Count = Annotated[int, Field(ge=0, lt=1 << 40)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Logprob = Annotated[float, Field(allow_inf_nan=False)]


class ReplyDocument(BaseModel):
    """One reply without the attempts that failed before it; the fields are those of ``Reply``.

    Example:
        >>> document = ReplyDocument.of(Reply("yes", finish=Finish.STOP))
        >>> ReplyDocument.model_validate_json(document.model_dump_json()).reply().text
        'yes'
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    text: str
    status: CallStatus = CallStatus.OK
    version: str = ""
    finish: Finish = Finish.UNKNOWN
    latency_ms: Amount | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cost_usd: Amount | None = None
    tokens: tuple[tuple[str, Logprob, tuple[tuple[str, Logprob], ...]], ...] = ()
    http_status: int | None = None
    error: str | None = None

    @classmethod
    def of(cls, reply: Reply) -> Self:
        """Return the document of a reply. Lone surrogates, which no file can hold, become U+FFFD."""
        return cls(
            text=without_surrogates(reply.text),
            status=reply.status,
            version=reply.version,
            finish=reply.finish,
            latency_ms=reply.latency_ms,
            prompt_tokens=reply.usage.prompt_tokens,
            completion_tokens=reply.usage.completion_tokens,
            cost_usd=reply.usage.cost_usd,
            tokens=tuple(_token(each) for each in reply.tokens if math.isfinite(each.logprob)),
            http_status=reply.http_status,
            error=None if reply.error is None else without_surrogates(reply.error),
        )

    def reply(self) -> Reply:
        """Return the reply, as it was when it came."""
        return Reply(
            self.text,
            self.status,
            self.version,
            self.finish,
            self.latency_ms,
            Usage(self.prompt_tokens, self.completion_tokens, self.cost_usd),
            tuple(Token(text, logprob, others) for text, logprob, others in self.tokens),
            self.http_status,
            self.error,
        )

    def as_cached(self) -> Reply:
        """Return the stored reply as ``cached``, at no cost."""
        tokens = tuple(Token(text, logprob, others) for text, logprob, others in self.tokens)
        usage = Usage(0, 0, 0.0)
        return Reply(
            self.text,
            self.status,
            self.version,
            self.finish,
            usage=usage,
            tokens=tokens,
            http_status=self.http_status,
            error=self.error,
            cached=True,
        )


def problem_of(error: ValidationError) -> str:
    """Return the first fault of a document in one clause: the key and what is wrong; never the value."""
    fault = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(item) for item in fault["loc"])
    return f"{key}: {fault['msg']}" if key else fault["msg"]


def _token(token: Token) -> tuple[str, float, tuple[tuple[str, float], ...]]:
    others = tuple((without_surrogates(text), logprob) for text, logprob in token.alternatives if math.isfinite(logprob))
    return without_surrogates(token.text), token.logprob, others
