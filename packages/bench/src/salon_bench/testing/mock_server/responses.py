"""The bytes of the mock server's HTTP replies."""

import base64
import json
from http import HTTPStatus

from salon_bench.testing.mock_server.faults import Fault
from salon_bench.testing.mock_server.script import Line

_CHARACTERS_PER_TOKEN = 4
_PROSE = "As an assistant I would say that the picture looks quite nice, all in all."
_DECLINED = "I'm sorry, but I can't help with that."


def http(status: int, body: bytes, *, content_type: str = "application/json", retry_after_s: float | None = None) -> bytes:
    """A whole HTTP reply.

    Example:
        >>> http(200, b"{}").split(b"\\r\\n")[0]
        b'HTTP/1.1 200 OK'
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Unknown"
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    if retry_after_s is not None:
        head += f"Retry-After: {retry_after_s:g}\r\n"
    return f"{head}\r\n".encode() + body


def error(status: int, message: str, *, retry_after_s: float | None = None) -> bytes:
    """An HTTP reply with an error in OpenAI's form."""
    document = {"error": {"message": message, "type": "mock_error", "code": None}}
    return http(status, json.dumps(document).encode(), retry_after_s=retry_after_s)


def completion(line: Line, prompt_tokens: int) -> bytes:
    """The body of a chat completion with the line's text, spoiled as its fault says."""
    text: str | None = line.reply
    finish, refusal = line.finish, None
    if line.fault == Fault.EMPTY:
        text = ""
    elif line.fault == Fault.MALFORMED:
        text = _PROSE
    elif line.fault == Fault.REFUSAL:
        text, refusal = None, _DECLINED
    elif line.fault == Fault.LENGTH:
        text, finish = line.reply[: len(line.reply) // 2], "length"
    written = len(text or refusal or "") // _CHARACTERS_PER_TOKEN + 1
    document = {
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": 0,
        "model": "mock",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, "refusal": refusal}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": written, "total_tokens": prompt_tokens + written},
    }
    return json.dumps(document).encode()


def picture(data: bytes) -> bytes:
    """The HTTP reply of an editor of pictures, in OpenAI's form."""
    document = {"created": 0, "data": [{"b64_json": base64.b64encode(data).decode()}]}
    return http(200, json.dumps(document).encode())


def whole(line: Line, prompt_tokens: int) -> bytes | None:
    """The HTTP reply to a request that got this line; None for faults that send none."""
    if line.body is not None:
        return http(line.status, line.body.encode("utf-8", "surrogatepass"), retry_after_s=line.retry_after_s)
    match line.fault:
        case Fault.HANG | Fault.CUT:
            return None
        case Fault.TOO_MANY:
            return error(429, "too many requests", retry_after_s=line.retry_after_s)
        case Fault.UNAVAILABLE:
            return error(503, "overloaded", retry_after_s=line.retry_after_s)
        case Fault.SERVER_ERROR:
            return error(500, "internal error")
        case Fault.WRONG_TYPE:
            return http(200, b"<html><body>Welcome to the proxy</body></html>", content_type="text/html")
        case Fault.TRUNCATED_JSON:
            body = completion(line, prompt_tokens)
            return http(200, body[: len(body) // 2])
    return http(200, completion(line, prompt_tokens))
