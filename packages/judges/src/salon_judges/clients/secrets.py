"""API keys: held for sending, hidden from everything that is stored or shown.

A server may send a key back in any place and any encoding, and may cut it anywhere. Two rules keep it out of files:

1. :meth:`Secrets.hide` takes a key out of every text of a server before the text is shortened: replies, error messages,
   headers, exceptions.
2. :func:`~salon_judges.clients.settings.without_opaque` masks, in every error message of a server, each long run of characters
   that are no words, whether it is a key or not. No list of encodings has to be complete for this rule.

Both rules also hold for the words of an exception that ends a run, also of a user's own judge
(:func:`~salon_judges.clients.chat_reply.error_text`).
"""

import base64
import binascii
import codecs
import html
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

import numpy as np
import numpy.typing as npt

from salon_judges.clients.settings import ChatSettings
from salon_taxonomy.errors import InputError

_SHORTEST_HIDDEN: Final = 10
_PIECE: Final = 8
_LONG_PIECE: Final = 12
_LONGEST_ENCODED: Final = 64
_HIDDEN: Final = b"[secret]"
_WITHHELD: Final = "[withheld: the text contained a secret in an encoded form]"
_MOST_LAYERS: Final = 4
_ESCAPE: Final = re.compile(
    rb"\\+(?:u0000([0-9a-f]{4})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2})|([01][0-7]{2})|[nrtbf]|([^a-z0-9\s]))"
)
_HEX_PAIR: Final = re.compile(rb"(?:=|0x)([0-9a-f]{2})")
_ENTITY: Final = re.compile(rb"&#?\w{1,24};?")


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
        whole = dict.fromkeys(part for value in values for part in _parts(value) if len(part) >= _SHORTEST_HIDDEN)
        self._values = [value.encode() for value in whole]
        self._without_letters = [value.lower() for value in self._values if len(_letters(value)) < _PIECE]

    def __repr__(self) -> str:
        """How many headers there are, and nothing of them."""
        return f"Secrets({len(self.headers)})"

    def hide(self, text: str) -> str:
        """Return the text without the secrets and without long pieces of them.

        Compared are letters and digits alone, in any case, so separators, line breaks and zero-width characters hide nothing.
        Replaced by ``[secret]`` are pieces of 8 characters that contain a letter and a digit, and any piece of 12. The whole
        text is withheld if it contains a piece in an encoding: escapes (JSON, Python, percent, HTML, quoted-printable, full
        width; up to four layers) or base64, base32, hexadecimal digits (any alignment, up to three layers), base85 or Ascii85
        (up to two). Of a longer key, its first and last 64 characters are looked for in these.

        Time is linear in the text's length.
        """
        if not self._values:
            return text
        body = text.encode("utf-8", "surrogatepass")
        if spans := self._plain.spans(body):
            body = _without(body, spans)
        seen = body.lower()
        for layer in range(_MOST_LAYERS + 1):
            if self._encoded.occur(seen) or (layer and self._plain.occur(seen)):
                return _WITHHELD
            if any(value in seen for value in self._without_letters):
                return _WITHHELD
            decoded = _decoded(seen)
            if decoded == seen:
                break
            seen = decoded
        return body.decode("utf-8", "surrogatepass") if spans else text

    def holds(self, text: str) -> bool:
        """Return whether :meth:`hide` would change the text."""
        return self.hide(text) != text

    @cached_property
    def _plain(self) -> "_Pieces":
        return _Pieces(self._values)

    @cached_property
    def _encoded(self) -> "_Pieces":
        return _Pieces(form for value in self._values for form in _encodings(value))

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
            key = _taken(settings.api_key_env, environment)
            headers["Authorization"] = f"Bearer {key}"
            values.append(key)
        for header, name in settings.secret_headers.items():
            headers[header] = _taken(name, environment)
            values.append(headers[header])
        secrets = cls(headers, values)
        for key, value in settings.model_dump(mode="json").items():
            if secrets.holds(str(value)):
                hint = "Settings are stored with every run. Take the secret out; api_key_env and secret_headers send it."
                raise InputError("contains the value of an environment variable that holds a secret", key=key, hint=hint)
        return secrets


class _Pieces:
    """Index the pieces of texts to find them in other texts.

    Letters and digits are read eight at a time, as one number.

    Args:
        texts: the texts whose pieces are looked for; the longer pieces of a text of fewer than 12 letters are the whole text.
    """

    def __init__(self, texts: Iterable[bytes]) -> None:
        whole = dict.fromkeys(text for text in map(_letters, texts) if len(text) >= _PIECE)
        self._texts = b"\0".join(whole)
        self._long = min([_LONG_PIECE, *map(len, whole)])
        self._known = np.sort(np.append(_windows(self._texts, 1), np.uint64(0)))
        self._table = np.zeros(1 << _TABLE_BITS, np.bool_)
        self._table[_slots(self._known)] = True

    def occur(self, body: bytes) -> bool:
        """Return whether a piece of 12 letters and digits is in the text."""
        letters = _letters(body)
        stride = self._long - _PIECE + 1  # every longer piece contains one of the windows that lie so far apart
        starts = self._met(_windows(letters, stride)) * stride
        if len(starts) > _MOST_CANDIDATES:
            return True
        around = (letters[max(0, start + _PIECE - self._long) : start + self._long] for start in starts.tolist())
        return any(part[at : at + self._long] in self._texts for part in around for at in range(len(part) - self._long + 1))

    def spans(self, body: bytes) -> list[tuple[int, int]]:
        """Return where pieces begin and end in the text, as byte offsets; pieces that touch are one span.

        Pieces of 8 count if they contain a letter and a digit, as words and numbers are common.
        """
        letters = _letters(body)
        windows = _windows(letters, 1)
        met = self._met(windows)
        if not len(met):
            return []
        turns = np.zeros(len(letters) + 1, np.int32)
        digits = _each(np.frombuffer(letters, np.uint8) < ord("a"), _PIECE)[met]
        mixed = met[(digits > 0) & (digits < _PIECE)]
        in_a_row = self._long - _PIECE + 1
        here = np.zeros(len(windows), np.bool_)
        here[met] = True
        long = np.flatnonzero(_each(here, in_a_row) == in_a_row)
        for starts, width in ((mixed, _PIECE), (long, self._long)):
            turns[starts] += 1
            turns[starts + width] -= 1
        inside = np.concatenate(([False], np.cumsum(turns) > 0))
        edges = np.flatnonzero(inside[1:] != inside[:-1]).reshape(-1, 2)
        places = np.flatnonzero(_IS_LETTER[np.frombuffer(body, np.uint8)])
        return [(int(places[start]), int(places[stop - 1]) + 1) for start, stop in edges]

    def _met(self, windows: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
        """Where among the windows those of the texts are."""
        likely = np.flatnonzero(self._table[_slots(windows)])
        found = windows[likely]
        places = np.minimum(np.searchsorted(self._known, found), len(self._known) - 1)
        here: npt.NDArray[np.intp] = likely[self._known[places] == found]
        return here


_TABLE_BITS: Final = 22
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_MOST_CANDIDATES: Final = 1000
_IS_LETTER: Final = np.array([chr(code).isascii() and chr(code).isalnum() for code in range(256)])
_NO_LETTERS: Final = bytes(code for code in range(256) if not _IS_LETTER[code])


def _letters(text: bytes) -> bytes:
    """The letters and digits of a text, in lower case."""
    return text.translate(None, _NO_LETTERS).lower()


def _windows(letters: bytes, stride: int) -> npt.NDArray[np.uint64]:
    """Eight characters from every place, or from every so many places, as numbers."""
    count = max(0, (len(letters) - _PIECE) // stride + 1)
    return np.ndarray((count,), "<u8", letters if count else b"", strides=(stride,)) if count else np.zeros(0, np.uint64)


def _slots(windows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return (windows * _SPREAD) >> np.uint64(64 - _TABLE_BITS)


def _each(signs: npt.NDArray[np.bool_], width: int) -> npt.NDArray[np.int64]:
    """How many signs are set in each stretch of a width."""
    sums = np.concatenate(([0], np.cumsum(signs)))
    counts: npt.NDArray[np.int64] = sums[width:] - sums[:-width]
    return counts


def _parts(value: str) -> Iterable[str]:
    """The value of a header, what follows its scheme, and what that is in base64: ``Basic dXNlcjpwYXNz``."""
    last = value.rpartition(" ")[2]
    yield value
    yield last
    try:
        decoded = base64.b64decode(last, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return
    if decoded.isprintable():
        yield from (decoded, decoded.rpartition(":")[2])


def _encodings(secret: bytes) -> Iterator[bytes]:
    """The secret as characters are commonly written, and these in up to three layers of the encodings of whole texts."""
    text = secret.decode()
    codes = [" ".join(format(byte, form) for byte in secret) for form in ("d", "o", "08b")]
    yield from (code.encode() for code in (*codes, codecs.encode(text, "rot13")))
    for end in dict.fromkeys((secret[:_LONGEST_ENCODED], secret[-_LONGEST_ENCODED:])):
        yield from _layered(end, 2, _BLOCK_CODES)
        yield from _layered(end, 3, _COMMON_CODES)
        for written in _written(end.decode()):
            yield written
            yield from _layered(written, 1, _BLOCK_CODES)


def _written(text: str) -> Iterator[bytes]:
    """The text in other cases and directions, and with its characters escaped."""
    for other in (text.lower(), text.upper(), text[::-1], quote(text, safe=""), html.escape(text), json.dumps(text)[1:-1]):
        yield other.encode()
    for form in ("%{:02X}", "\\u{:04x}", "\\x{:02x}", "&#{};", "={:02X}"):
        yield "".join(form.format(ord(sign)) for sign in text).encode()


def _layered(text: bytes, layers: int, codes: Sequence["_BlockCode"]) -> Iterator[bytes]:
    layer = [text]
    for _ in range(layers):
        layer = list(dict.fromkeys(form for inner in layer for code in codes for form in code.forms(inner)))
        yield from layer


class _BlockCode(NamedTuple):
    """An encoding of whole texts that reads some bytes at a time.

    Attributes:
        encode: the encoding.
        taken: the bytes of a group.
        bits: of a character; None: a group is encoded as a whole.
    """

    encode: Callable[[bytes], bytes]
    taken: int
    bits: int | None

    def forms(self, text: bytes) -> Iterator[bytes]:
        """Yield the encoded text from each place in a group, without the ends that depend on neighbouring bytes."""
        for skipped in range(self.taken):
            part = text[skipped:]
            if self.bits is None:
                yield self.encode(part[: len(part) // self.taken * self.taken])
            else:
                yield self.encode(part)[: len(part) * 8 // self.bits]


_COMMON_CODES: Final = (
    _BlockCode(base64.b64encode, 3, 6),
    _BlockCode(base64.b32encode, 5, 5),
    _BlockCode(binascii.hexlify, 1, 4),
    _BlockCode(base64.b16encode, 1, 4),
)
_BLOCK_CODES: Final = (*_COMMON_CODES, _BlockCode(base64.b85encode, 4, None), _BlockCode(base64.a85encode, 4, None))


def _decoded(text: bytes) -> bytes:
    """The text with one layer of escapes taken off, in lower case."""
    if b"\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if b"%" in text:
        text = unquote_to_bytes(text)
    if b"&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0].decode("latin-1")).encode("utf-8", "replace"), text)
    if b"=" in text or b"0x" in text:
        text = _HEX_PAIR.sub(lambda found: bytes.fromhex(found[1].decode()), text)
    if not text.isascii():  # letters of full width and of mathematics become plain
        text = unicodedata.normalize("NFKC", text.decode("utf-8", "replace")).encode()
    return text.lower()


def _unescaped(found: re.Match[bytes]) -> bytes:
    """The character of one escape; nothing for a line end."""
    code = found[1] or found[2] or found[3] or found[4]
    if code is None and found[5] is None:
        return found[6] or b""
    number = int(code, 16) if code else int(found[5], 8)
    return chr(number).encode("utf-8", "surrogatepass") if number <= sys.maxunicode else b""


def _without(body: bytes, spans: list[tuple[int, int]]) -> bytes:
    """The body with each span replaced."""
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [body[end:start], _HIDDEN]
        end = stop
    return b"".join((*pieces, body[end:]))


def _taken(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise InputError("the environment variable is not set", key=name, hint=f"Set it: export {name}=…")
    if not value.isascii() or not value.isprintable():
        raise InputError("the environment variable holds characters that no HTTP header may hold", key=name)
    return value
