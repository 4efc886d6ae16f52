"""Requests as a script reads them, and rules that answer by the request alone.

Because the answer depends on the request alone, a run that met faults and one that met none end with the same answers.
"""

import base64
import binascii
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from salon_taxonomy.errors import InputError


class Asked:
    """One request body. Every property is computed once, and for a body that is no chat request it is empty.

    Args:
        body: the bytes of the request.

    Example:
        >>> asked = Asked(b'{"messages": [{"role": "user", "content": "Is the sky blue?"}]}')
        >>> asked.text, asked.image_sha256s
        ('Is the sky blue?', ())
    """

    def __init__(self, body: bytes) -> None:
        self.body = body

    @cached_property
    def sha256(self) -> str:
        """Of the whole body: equal requests have equal hashes."""
        return hashlib.sha256(self.body).hexdigest()

    @cached_property
    def document(self) -> dict[str, Any]:
        """The body as JSON; empty when it is not a JSON object."""
        try:
            parsed = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return parsed if isinstance(parsed, dict) else {}

    @cached_property
    def text(self) -> str:
        """All texts of all messages, one below the other."""
        return "\n".join(part["text"] for part in self._parts() if isinstance(part.get("text"), str))

    @cached_property
    def image_sha256s(self) -> tuple[str, ...]:
        """The hashes of the pictures' files, in order; pictures that are not data URLs are left out."""
        digests = []
        for part in self._parts():
            image = part.get("image_url")
            url = image.get("url") if isinstance(image, dict) else None
            if isinstance(url, str) and url.startswith("data:"):
                try:
                    digests.append(hashlib.sha256(base64.b64decode(url.partition(",")[2], validate=True)).hexdigest())
                except (binascii.Error, ValueError):
                    continue
        return tuple(digests)

    def _parts(self) -> Iterator[dict[str, Any]]:
        messages = self.document.get("messages")
        for message in messages if isinstance(messages, list) else []:
            content = message.get("content") if isinstance(message, dict) else None
            if isinstance(content, str):
                yield {"text": content}
            elif isinstance(content, list):
                yield from (part for part in content if isinstance(part, dict))


Rule: TypeAlias = Callable[[Asked], str]
"""The text that a request is answered with."""


def fixed(text: str) -> Rule:
    """Always the same text.

    Example:
        >>> fixed("yes")(Asked(b""))
        'yes'
    """

    def answer(asked: Asked) -> str:
        return text

    return answer


def echo(asked: Asked) -> str:
    """Return the texts of the request itself."""
    return asked.text


def drawn(choices: Sequence[str], *, seed: int = 0) -> Rule:
    """Return one of several texts, drawn by the request's hash: an equal request gets an equal answer.

    Raises:
        InputError: when there is nothing to choose from.

    Example:
        >>> rule = drawn(["yes", "no"], seed=3)
        >>> rule(Asked(b"a")) == rule(Asked(b"a"))
        True
    """
    if not choices:
        raise InputError("nothing to choose from", key="choices")
    texts = tuple(choices)

    def answer(asked: Asked) -> str:
        return random.Random(f"{seed} {asked.sha256}").choice(texts)  # noqa: S311 - a mock draws, it hides nothing

    return answer
