"""Rules of the mock server for requests that no line of its script fits: functions of the request.

Because the answer depends on the request alone, a run that met faults and one that met none end with the same answers.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from salon_bench.testing.mock_server.asked import Asked
from salon_taxonomy.errors import InputError

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
    """The texts of the request itself."""
    return asked.text


def drawn(choices: Sequence[str], *, seed: int = 0) -> Rule:
    """One of several texts, drawn by the request's hash: an equal request gets an equal answer.

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


def by_image(answers: Mapping[str, str], *, otherwise: str = "") -> Rule:
    """The text that belongs to the first picture of the request, found by the SHA-256 of its file."""

    def answer(asked: Asked) -> str:
        images = asked.image_sha256s
        return answers.get(images[0], otherwise) if images else otherwise

    return answer
