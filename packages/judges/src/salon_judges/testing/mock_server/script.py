"""What the mock server does: lines that fit certain requests, a rule for all others, faults, and latencies.

A script file is JSON Lines; every line is one object with any of the keys of :class:`ScriptLine`. The first line that fits
a request and is not used up answers it; when none does, the script's rule.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from salon_judges.testing.mock_server.faults import FaultRates, Latency, ServerFault
from salon_judges.testing.mock_server.rules import Asked, Rule, fixed
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One line of a script: which requests it fits, and what they get. No condition fits every request.

    Attributes:
        reply: the text of the completion.
        contains: the request's texts must contain this.
        image_sha256: one of the request's pictures must have this hash.
        request_sha256: the request's whole body must have this hash.
        times: how many requests the line answers before it is used up; None: any number.
        fault: goes wrong in this way instead.
        retry_after_s: the ``Retry-After`` of faults 429 and 503, in seconds.
        finish: the completion's ``finish_reason``.
        body: sent as the body of the HTTP reply instead of a completion, as it is.
        status: the HTTP status of ``body``.
        tokens: the reply's tokens, sent as log-probabilities where the request asks for them: for each its alternatives with
            their probabilities, the drawn one first. Without ``reply`` the drawn ones are the text.

    Example:
        >>> ScriptLine(tokens=[{"Yes": 0.75, "No": 0.25}, {".": 1.0}]).text
        'Yes.'
    """

    reply: str = ""
    contains: str | None = None
    image_sha256: str | None = None
    request_sha256: str | None = None
    times: int | None = None
    fault: ServerFault | None = None
    retry_after_s: float | None = None
    finish: str = "stop"
    body: str | None = None
    status: int = 200
    tokens: Sequence[Mapping[str, float]] = ()

    @property
    def text(self) -> str:
        """The text of the completion."""
        return self.reply or "".join(next(iter(token), "") for token in self.tokens)

    def fits(self, asked: Asked) -> bool:
        """Return whether all conditions hold for this request."""
        return (
            (self.contains is None or self.contains in asked.text)
            and (self.image_sha256 is None or self.image_sha256 in asked.image_sha256s)
            and (self.request_sha256 is None or self.request_sha256 == asked.sha256)
        )

    @property
    def says_only_a_reply(self) -> bool:
        """Whether it is a reply like any other, for any number of requests: one that may meet a drawn fault."""
        return self.fault is None and self.body is None and self.times is None


@dataclass(frozen=True, slots=True)
class Script:
    """Everything that shapes what the mock server does.

    Attributes:
        lines: tried in order.
        rule: answers requests that no line fits.
        latency: how long the server thinks.
        faults: drawn for each request that no line fits, or a line that only says what to reply, every time.
        retry_after_s: the ``Retry-After`` of drawn faults 429 and 503 and of a full server; None: the header is absent.
        capacity: more requests than this at once are answered with 429; None: any number is served.
        seed: of the drawn faults and latencies.
        prompt_tokens: what ``usage`` says was read; the written tokens are a quarter of the text's characters.

    Example:
        >>> Script(rule=fixed('{"score": 7}'), faults=FaultRates({ServerFault.TOO_MANY: 0.05}), latency=Latency.fixed(5)).seed
        0
    """

    lines: tuple[ScriptLine, ...] = ()
    rule: Rule = field(default_factory=lambda: fixed("ok"))
    latency: Latency = field(default_factory=Latency)
    faults: FaultRates = field(default_factory=FaultRates)
    retry_after_s: float | None = None
    capacity: int | None = None
    seed: int = 0
    prompt_tokens: int = 100


class ScriptState:
    """Which lines of a script are used up, and its random generator."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._left = [line.times for line in script.lines]
        self._generator = random.Random(script.seed)  # noqa: S311 - a mock draws, it hides nothing

    def line(self, asked: Asked, in_flight: int) -> ScriptLine:
        """Return what this request gets; it uses up a line that has a number of times.

        Args:
            asked: the request.
            in_flight: requests being served now, this one included.
        """
        script = self.script
        if script.capacity is not None and in_flight > script.capacity:
            return ScriptLine(fault=ServerFault.TOO_MANY, retry_after_s=script.retry_after_s)
        for number, line in enumerate(script.lines):
            left = self._left[number]
            if left == 0 or not line.fits(asked):
                continue
            if left is not None:
                self._left[number] = left - 1
            return self._faulty(line) if line.says_only_a_reply else line
        return self._faulty(ScriptLine(script.rule(asked)))

    def _faulty(self, line: ScriptLine) -> ScriptLine:
        """Return the line, or the line with a drawn fault."""
        fault = self.script.faults.draw(self._generator)
        return line if fault is None else replace(line, fault=fault, retry_after_s=self.script.retry_after_s)

    def wait_s(self) -> float:
        """Return how long to think about this request, in seconds."""
        return self.script.latency.draw_s(self._generator)


_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("reply", "contains", "image_sha256", "request_sha256", "fault", "finish", "body"), (str,)),
    **dict.fromkeys(("times", "status"), (int,)),
    "retry_after_s": (int, float),
    "tokens": (list,),
}


_RANGES = {"times": (0, 1e12), "retry_after_s": (0, 1e12), "status": (200, 599)}


def read_lines(path: str | Path) -> tuple[ScriptLine, ...]:
    """Return the lines of a script file (JSON Lines, UTF-8); empty lines are passed over.

    Raises:
        InputError: when the file cannot be read, a line is no JSON object, or a key or value is not one of :class:`ScriptLine`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the script cannot be read ({error})", source=path) from error
    return tuple(_line(line, path, number) for number, line in enumerate(text.splitlines(), 1) if line.strip())


def _line(text: str, path: str | Path, number: int) -> ScriptLine:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({error})", source=path, line=number) from error
    if not isinstance(values, dict):
        raise InputError("every line of a script is a JSON object", source=path, line=number, value=text)
    for key, value in values.items():
        _check(key, value, path, number)
    if "fault" in values:
        values["fault"] = ServerFault(values["fault"])
    return ScriptLine(**values)


def _check(key: str, value: Any, path: str | Path, number: int) -> None:
    if key not in _TYPES:
        raise InputError("unknown key", source=path, line=number, value=key, allowed=[item.name for item in fields(ScriptLine)])
    if not isinstance(value, _TYPES[key]) or isinstance(value, bool):
        raise InputError(f"must be of type {_TYPES[key][-1].__name__}", source=path, line=number, key=key, value=value)
    if key == "fault" and value not in set(ServerFault):
        raise InputError("unknown fault", source=path, line=number, key=key, value=value, allowed=list(ServerFault))
    if key == "tokens" and not _probable(value):
        problem = "must be a list with a table for each token, of texts and their probabilities above 0 and up to 1"
        raise InputError(problem, source=path, line=number, key=key, value=value)
    low, high = _RANGES.get(key, (None, None))
    if low is not None and high is not None and not low <= value <= high:  # type: ignore[operator]
        raise InputError(f"must lie from {low:g} to {high:g}", source=path, line=number, key=key, value=value)


def _probable(tokens: Any) -> bool:
    """Return whether each token is a table of texts and probabilities."""
    tables = all(isinstance(token, dict) and token for token in tokens)
    return tables and all(isinstance(p, int | float) and 0 < p <= 1 for token in tokens for p in token.values())
