"""Read the JSON of a chat completion; no reply of a server raises."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from salon_judges.clients.settings import without_opaque
from salon_taxonomy.protocols import Token
from salon_taxonomy.records import Finish
from salon_taxonomy.visible_text import visible

_FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "refusal": Finish.FILTERED,
}
_MOST_TOKENS = 1 << 40
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's completion.

    Attributes:
        text: what the model wrote; its reasoning, where the server sends it apart, first and in ``<think>``.
        finish: why it ended; ``FILTERED`` for a refusal.
        prompt_tokens: None where the server does not say.
        completion_tokens: None where the server does not say.
        tokens: log-probabilities, if asked for and sent by the server.
    """

    text: str
    finish: Finish
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True)
class NoCompletion:
    """The error in a body that holds no completion.

    Attributes:
        problem: the server's own error message, else the body; as long as the server wrote it. Hide secrets in it
            first, then shorten it with :func:`one_line`.
        code: the code of the server's error as a text; empty without one.
        final: whether the body is whole, so that the same request would be paid for again and get the same.
    """

    problem: str
    code: str = ""
    final: bool = False


def read_completion(body: bytes) -> Completion | NoCompletion:
    """Read the body of an HTTP reply with status 200, whatever its content type said.

    Example:
        >>> read_completion(b'{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}').text
        'yes'
        >>> read_completion(b'{"choices": [')
        NoCompletion(problem='not JSON: {"choices": [', code='', final=False)
    """
    document = _json(body)
    if document is None:
        return NoCompletion(f"not JSON: {_excerpt(body)}")
    choices = document.get("choices") if isinstance(document, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(document, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
        return _error(document, body)
    refusal = message.get("refusal")
    content = _text(message.get("content"))
    finish = _finish(choice.get("finish_reason"))
    if isinstance(refusal, str) and refusal and not content:
        content, finish = _well_formed(refusal), Finish.FILTERED
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    if reasoning:
        closed = "\n</think>\n" if content or finish != Finish.LENGTH else ""
        content = f"<think>\n{reasoning}{closed}{content}"
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return Completion(content, finish, read, written, _tokens(choice.get("logprobs")))


def read_error(body: bytes) -> NoCompletion:
    """Read the error in the body of an HTTP reply with another status.

    Example:
        >>> read_error(b'{"error": {"message": "no such model", "code": "model_not_found"}}')
        NoCompletion(problem='no such model', code='model_not_found', final=False)
    """
    return _error(_json(body), body)


def one_line(text: str) -> str:
    """Return a server's message as one printable line of at most 300 characters, without opaque runs."""
    line = visible(" ".join(without_opaque(text)[: 2 * _LONGEST_MESSAGE].split()))
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


@runtime_checkable
class Hiding(Protocol):
    """A judge or an editor that hides its secrets in texts, and those of the judges within it."""

    def hide(self, text: str) -> str:
        """Return the text without the secrets."""


def error_text(error: BaseException, models: Iterable[object]) -> str:
    """Return an exception as one line without the models' secrets and without opaque runs.

    Example:
        >>> error_text(KeyError("hG7kP2xQ9vL4mN8s"), ())
        "KeyError: '[masked]'"
    """
    return safe_line(f"{type(error).__name__}: {error}", models)


def safe_line(text: str, models: Iterable[object]) -> str:
    """Return a text as one line without the models' secrets and without opaque runs."""
    return one_line(without_secrets(text, models))


def without_secrets(text: str, models: Iterable[object]) -> str:
    """Return a text without the secrets of those models that can hide them."""
    for model in models:
        text = model.hide(text) if isinstance(model, Hiding) else text
    return text


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError and integers of thousands of digits are ValueErrors
        return None


def _error(document: Any, body: bytes) -> NoCompletion:
    error = document.get("error", document) if isinstance(document, dict) else None
    if isinstance(error, str):
        return NoCompletion(error)
    if isinstance(error, dict):
        message = next((error[key] for key in ("message", "detail", "msg") if isinstance(error.get(key), str)), None)
        code = error.get("code")
        if message is not None:
            return NoCompletion(message, code=str(code) if isinstance(code, str | int) else "")
    return NoCompletion(f"no completion: {_excerpt(body)}")


def _excerpt(body: bytes) -> str:
    return body.decode("utf-8", "replace").strip() or "an empty body"


def _finish(reason: Any) -> Finish:
    return _FINISHES.get(reason, Finish.UNKNOWN) if isinstance(reason, str) else Finish.UNKNOWN


def _text(content: Any) -> str:
    """Return content that is a text, or a list of parts with texts; empty for anything else."""
    if isinstance(content, str):
        return _well_formed(content)
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return _well_formed("".join(text for text in texts if isinstance(text, str)))


def _well_formed(text: str) -> str:
    """Return the text with lone surrogates replaced: JSON can contain them, files and databases cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _count(value: Any) -> int | None:
    counts = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if counts else None


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    tokens = []
    for entry in content if isinstance(content, list) else ():
        pair = _pair(entry)
        if pair is None:
            return ()
        others = entry.get("top_logprobs")
        pairs = [_pair(other) for other in others] if isinstance(others, list) else []
        alternatives = sorted(
            (alternative for alternative in pairs if alternative is not None), key=lambda alternative: -alternative[1]
        )
        tokens.append(Token(*pair, tuple(alternatives)))
    return tuple(tokens)


def _pair(entry: Any) -> tuple[str, float] | None:
    token, logprob = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
    if not isinstance(token, str) or not isinstance(logprob, int | float) or isinstance(logprob, bool):
        return None
    try:
        number = float(logprob)
    except OverflowError:
        return None
    return (_well_formed(token), number) if math.isfinite(number) else None
