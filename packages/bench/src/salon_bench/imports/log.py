"""What the result files of other tools have in common: a model, a suite, a judge, and samples with numbers.

file ── inspect_log, lmms_eval, evalscope ──► ForeignLog ── rows ──► runs, prompts, scores, judge_calls, generations
"""

import base64
import binascii
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.verdict import Reason

PICTURES: Final = (".png", ".jpg", ".jpeg", ".webp")
_TYPES: Final = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}


@dataclass(frozen=True, slots=True)
class LogSample:
    """One sample of a log.

    Attributes:
        sample_id: the tool's own id.
        repeat: which of several answers to it, from 0.
        text: what the model was asked.
        category: of the sample; None where the log names none.
        numbers: by name, or why one is missing.
        replies: what a judge or scorer said, by the name of the number.
        answer: the model's own words.
        picture: that the model made, or that it was asked about: a file, or bytes with their ending.
    """

    sample_id: str
    repeat: int
    text: str
    category: str | None
    numbers: Mapping[str, float | Reason]
    replies: Mapping[str, str] = field(default_factory=dict)
    answer: str = ""
    picture: Path | tuple[bytes, str] | None = None


@dataclass(frozen=True, slots=True)
class ForeignLog:
    """One result file of another tool: one model on one task.

    Attributes:
        tool: which: inspect_ai, lmms-eval or evalscope.
        path: the file.
        task: its name in that tool.
        model: that was evaluated.
        judge: its scorers, with the model that one of them asked.
        judge_version: equal for logs whose numbers can be compared.
        created: when; None where the log does not say.
        samples: read when they are wanted.
        remarks: what the reader must know.
    """

    tool: str
    path: Path
    task: str
    model: str
    judge: str
    judge_version: str
    created: datetime | None
    samples: Iterator[LogSample]
    remarks: tuple[str, ...] = ()


def number(value: object) -> float | Reason | None:
    """Return a number or truth value as a float, or why it is missing.

    None for a value of another kind.

    Example:
        >>> number(True), number("0.5"), number(float("nan")), number("cat")
        (1.0, None, <Reason.MALFORMED: 'malformed'>, None)
    """
    if not isinstance(value, bool | int | float):
        return None
    return float(value) if abs(value) <= sys.float_info.max else Reason.MALFORMED


def fields_of(value: object) -> Mapping[str, Any]:
    """Return an object's fields; none of a value of another kind."""
    return value if isinstance(value, Mapping) else {}


def items_of(value: object) -> list[Any]:
    """Return a list's items; none of a value of another kind."""
    return value if isinstance(value, list) else []


def json_object(text: str | bytes, path: Path, line: int | None = None) -> dict[str, Any]:
    """Parse a JSON object; lone surrogates, which no file can hold, become U+FFFD.

    Raises:
        InputError: the text is something else.
    """
    try:
        value = json.loads(text)
        if b"\\ud" in (text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")).lower():
            value = json.loads(without_surrogates(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise InputError("is no JSON", source=path, line=line, value=str(error)[:120]) from error
    if not isinstance(value, dict):
        raise InputError("must be a JSON object, not", source=path, line=line, value=type(value).__name__)
    return value


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON Lines, each with the number of its line.

    Raises:
        InputError: the file cannot be read, or a line is no object.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for line, text in enumerate(lines, 1):
                if text.strip():
                    yield line, json_object(text, path, line)
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", source=path) from error
    except OSError as error:
        raise missing_path(path, "file") from error


def asked(content: object) -> str:
    """Return the words of a prompt: a text, or chat messages with parts.

    Example:
        >>> asked([{"role": "user", "content": [{"type": "text", "text": "A cat?"}, {"type": "image", "image": "cat.png"}]}])
        'A cat?'
    """
    if isinstance(content, str):
        return content
    words = []
    for message in content if isinstance(content, list) else []:
        if not isinstance(message, Mapping):
            continue
        inner = message.get("text") if message.get("type") == "text" else message.get("content")
        words.append(inner if isinstance(inner, str) else asked(inner))
    return "\n".join(filter(None, words))


def image_addresses(content: object) -> Iterator[str]:
    """Yield the addresses of the pictures in chat messages: paths, URLs, ``data:`` or ``attachment:`` URLs."""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping):
            image = part.get("image") or part.get("image_url")
            image = image.get("url") if isinstance(image, Mapping) else image
            if isinstance(image, str):
                yield image
            yield from image_addresses(part.get("content"))


def picture(address: object, folder: Path) -> Path | tuple[bytes, str] | None:
    """Return the picture of an address: a file (also relative to ``folder``), or the bytes of a ``data:`` URL."""
    if not isinstance(address, str):
        return None
    head, comma, body = address.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if comma and head.startswith("data:"):
        try:
            return (base64.b64decode(body, validate=True), _TYPES[kind]) if kind in _TYPES else None
        except binascii.Error:
            return None
    if not address.lower().endswith(PICTURES) or "\0" in address:
        return None
    for path in (Path(address.removeprefix("file://")), folder / address):
        with suppress(OSError):  # a name that is too long
            if path.is_file():
                return path.resolve()
    return None
