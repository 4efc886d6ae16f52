"""Read one line of a vendor's output or error file of a batch.

{"custom_id": "…", "response": {"status_code": 200, "body": {a chat completion}}, "error": null}
{"custom_id": "…", "response": null, "error": {"code": "batch_expired", "message": "…"}}
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from salon_judges.clients.chat_reply import NoCompletion, one_line, read_completion, read_error
from salon_taxonomy.protocols import Reply, Usage
from salon_taxonomy.records import CallStatus

_NOT_DONE: Final = {"batch_expired": CallStatus.TIMEOUT, "batch_cancelled": CallStatus.CANCELLED}
"""Codes of requests that the vendor did not get to."""
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class BatchReply:
    """What came back for one request; ``reply`` may be a failure."""

    custom_id: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class NoBatchReply:
    """A line that cannot be parsed; ``problem`` is for people."""

    problem: str


def read_batch_line(line: bytes) -> BatchReply | NoBatchReply:
    """Read one line; no content raises.

    Example:
        >>> read_batch_line(b'{"custom_id": "7", "response": null, "error": {"code": "batch_expired", "message": "late"}}')
        BatchReply(custom_id='7', reply=Reply(text='', status=<CallStatus.TIMEOUT: 'timeout'>, ... error='late', ...))
        >>> read_batch_line(b"<html>")
        NoBatchReply(problem='no JSON object')
    """
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return NoBatchReply("no JSON object")
    if not isinstance(document, dict):
        return NoBatchReply("no JSON object")
    custom_id = document.get("custom_id")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= _LONGEST_ID:
        return NoBatchReply("no custom_id")
    response, error = document.get("response"), document.get("error")
    if isinstance(response, dict):
        return BatchReply(custom_id, _answered(response))
    if isinstance(error, dict):
        return BatchReply(custom_id, _not_done(error))
    return NoBatchReply("neither a response nor an error")


def _answered(response: dict[str, Any]) -> Reply:
    status = response.get("status_code")
    status = status if isinstance(status, int) and 100 <= status <= 599 else None
    body = json.dumps(response.get("body")).encode()
    if status != 200:
        problem = f"HTTP {status or 'without a status'}: {read_error(body).problem}"
        return Reply("", CallStatus.REJECTED, http_status=status, error=one_line(problem))
    chat = read_completion(body)
    if isinstance(chat, NoCompletion):
        problem = f"HTTP 200, but no chat completion: {chat.problem}"
        return Reply("", CallStatus.UNREACHABLE, http_status=200, error=one_line(problem))
    usage = Usage(chat.prompt_tokens, chat.completion_tokens)
    return Reply(chat.text, finish=chat.finish, usage=usage, tokens=chat.tokens, http_status=200)


def _not_done(error: dict[str, Any]) -> Reply:
    code, message = error.get("code"), error.get("message")
    status = _NOT_DONE.get(code, CallStatus.REJECTED) if isinstance(code, str) else CallStatus.REJECTED
    words = message if isinstance(message, str) and message else code
    return Reply("", status, error=one_line(words) if isinstance(words, str) else "the vendor names no reason")
