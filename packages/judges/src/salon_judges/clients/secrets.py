"""API keys: held for sending, hidden from everything that is stored or shown.

A server may echo a key, as it is or in the way it writes texts, and may cut it anywhere. Two rules keep it out of files:

1. :meth:`Secrets.hide` takes a key out of every text of a server before the text is shortened: replies, error messages,
   headers, exceptions.
2. :func:`~salon_judges.clients.settings.without_opaque` masks, in every error message of a server, each long run of characters
   that are no words, whether it is a key or not. No list of encodings has to be complete for this rule.

Both rules also hold for the words of an exception that ends a run, also of a user's own judge
(:func:`~salon_judges.clients.chat_reply.error_text`).
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Final

from salon_judges.clients.settings import ChatSettings
from salon_taxonomy.errors import InputError

_SHORTEST_HIDDEN: Final = 10
_PIECE: Final = 12
_BLOCK: Final = 6
_HIDDEN: Final = b"[secret]"
_WITHHELD: Final = "[withheld: the text contained a secret in an encoded form]"
_ESCAPE: Final = re.compile(rb"(?:%(?:25)*|\\+(?:u00|x))([0-9a-f]{2})|\\+([^a-z0-9])", re.IGNORECASE)


class Secrets:
    """The headers that carry secrets, and the one way to hide these secrets in texts.

    Secrets of fewer than ten characters ("EMPTY", as local servers are given) are not looked for in texts: they are no
    secrets, and a reply that happens to contain the word must stay as it is.

    Args:
        headers: name → value, complete.
        values: the secrets themselves.

    Example:
        >>> secrets = Secrets({"Authorization": "Bearer sk-0123456789"}, ("sk-0123456789",))
        >>> secrets, secrets.hide("Incorrect API key: sk-0123456789")
        (Secrets(1), 'Incorrect API key: [secret]')
        >>> secrets.hide("Incorrect API key: sk%2D%30%31%32%33456789")
        '[withheld: the text contained a secret in an encoded form]'
    """

    def __init__(self, headers: Mapping[str, str], values: Iterable[str]) -> None:
        self.headers = dict(headers)
        whole = dict.fromkeys(part.encode() for value in values for part in _parts(value) if len(part) >= _SHORTEST_HIDDEN)
        self._forms = [*dict.fromkeys(form.lower() for value in whole for form in (value, *_in_base64(value)))]

    def __repr__(self) -> str:
        """Return the number of headers, and nothing of their values."""
        return f"Secrets({len(self.headers)})"

    def hide(self, text: str) -> str:
        """Return the text without the secrets and without pieces of 12 or more of their characters, in any case.

        Replaced by ``[secret]`` are pieces that are written as they are or in base64 (also of a longer text). A text that
        contains a piece with percent escapes or those of JSON and Python (also of nested texts) is withheld as a whole.
        """
        if not self._forms:
            return text
        body = text.encode("utf-8", "surrogatepass")
        edges = [0, *(edge for span in self._spans(body) for edge in span), len(body)]
        body = _HIDDEN.join(body[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True))
        unescaped = _ESCAPE.sub(_character, body)
        return _WITHHELD if unescaped != body and self._spans(unescaped) else body.decode("utf-8", "surrogatepass")

    def holds(self, text: str) -> bool:
        """Return whether :meth:`hide` would change the text."""
        return self.hide(text) != text

    def _spans(self, body: bytes) -> list[tuple[int, int]]:
        """Return where pieces of the secrets begin and end, in their order; pieces that touch are one span."""
        spans: list[tuple[int, int]] = []
        for start, stop in sorted(_pieces(body.lower(), self._forms)):
            if spans and start <= spans[-1][1]:
                start, stop = spans[-1][0], max(stop, spans.pop()[1])
            spans.append((start, stop))
        return spans

    @classmethod
    def of(cls, settings: ChatSettings, environment: Mapping[str, str]) -> "Secrets":
        """Take the secrets that the settings name from the environment.

        Raises:
            InputError: when a variable is not set or cannot be sent in a header, or when its value is written in the
                settings themselves, which are stored; the value is never shown.
        """
        headers: dict[str, str] = {}
        values: list[str] = []
        if settings.api_key_env is not None and (settings.api_key_required or environment.get(settings.api_key_env)):
            key = _from_environment(settings.api_key_env, environment)
            headers["Authorization"] = f"Bearer {key}"
            values.append(key)
        for header, name in settings.secret_headers.items():
            headers[header] = _from_environment(name, environment)
            values.append(headers[header])
        secrets = cls(headers, values)
        for key, value in settings.model_dump(mode="json").items():
            if secrets.holds(str(value)):
                hint = "Settings are stored with every run. Take the secret out; api_key_env and secret_headers send it."
                raise InputError("contains the value of an environment variable that holds a secret", key=key, hint=hint)
        return secrets


def _parts(value: str) -> Iterator[str]:
    """Yield the value of a header, what follows its scheme, and what that is in base64: ``Basic dXNlcjpwYXNz``."""
    last = value.rpartition(" ")[2]
    yield value
    yield last
    try:
        decoded = base64.b64decode(last, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return
    if decoded.isprintable():
        yield from (decoded, decoded.rpartition(":")[2])


def _in_base64(secret: bytes) -> Iterator[bytes]:
    """Yield the secret in both alphabets, from each place in a group of three bytes.

    The last character is left out where it depends on what follows.
    """
    for part in (secret, secret[1:], secret[2:]):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(part)[: len(part) * 8 // 6]


def _pieces(body: bytes, forms: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where 12 characters or more of a form begin and end; of a shorter form, all of it.

    Each such piece contains one of the blocks of six that lie so far apart, from which it is followed in both directions.
    """
    for form in forms:
        least = min(_PIECE, len(form))
        for at in range(0, len(form) - _BLOCK + 1, least - _BLOCK + 1):
            block = body.find(form[at : at + _BLOCK])
            while block >= 0:
                before = _common_start(body[max(0, block - at) : block][::-1], form[:at][::-1])
                after = _common_start(body[block : block + len(form) - at], form[at:])
                if before + after >= least:
                    yield block - before, block + after
                block = body.find(form[at : at + _BLOCK], block + 1)


def _common_start(one: bytes, other: bytes) -> int:
    """Return the number of bytes that two texts share at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _character(escape: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escape[1].decode()) if escape[1] else escape[2]


def _from_environment(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise InputError("the environment variable is not set", key=name, hint=f"Set it: export {name}=…")
    if not value.isascii() or not value.isprintable():
        raise InputError("the environment variable holds characters that no HTTP header may hold", key=name)
    return value
