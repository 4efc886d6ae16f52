"""Parse untrusted text as strict JSON (RFC 8259).

Python's ``json`` module takes more than that (NaN, repeated keys) and can raise more than a ``JSONDecodeError``
(recursion, integers too long to convert). Here every refusal is one exception with one clause.
"""

import json
import math
import re
from collections import Counter
from typing import NoReturn, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

DEEPEST = 32
"""Brackets within brackets; no answer grammar needs more than three."""
LONGEST_INTEGER = 18
"""Digits of an integer; every answer's numbers are far below."""

# A string (its closing quote may be missing) or one bracket. Possessive, so the scan never turns back.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


class JsonError(ValueError):
    """The text is no JSON that we take. The message is one clause."""


def strict_json(text: str) -> Json:
    """Return the value that ``text`` holds.

    Raises:
        JsonError: for anything but one JSON value; also for a key that occurs twice in one object, NaN and infinities
            (written, or by overflow), integers of more than 18 digits, and more than 32 nested brackets.

    Example:
        >>> strict_json('{"score": 7}')
        {'score': 7}
        >>> strict_json('{"score": NaN}')
        Traceback (most recent call last):
        salon_taxonomy.answers.strict_json.JsonError: NaN is not JSON
    """
    if _depth(text) > DEEPEST:
        raise JsonError(f"brackets are nested more than {DEEPEST} deep")
    try:
        value: Json = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(f"not JSON at character {error.pos}: {error.msg[0].lower()}{error.msg[1:]}") from None
    return value


def _depth(text: str) -> int:
    """Return how deep brackets are nested outside of strings; at least that, when they do not match."""
    if text.count("{") + text.count("[") <= DEEPEST:
        return 0
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        bracket = token[0]
        if bracket in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "}]":
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise JsonError(f"the key {twice[:40]!r} occurs twice")
    return members


def _integer(text: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > LONGEST_INTEGER:
        raise JsonError(f"a number has {digits} digits")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError("a number is too large")
    return number


def _constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant)
