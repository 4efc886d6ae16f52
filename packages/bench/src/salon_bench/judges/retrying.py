"""When to ask a server again, and how long to wait before.

The waits are exponential with full jitter (each is drawn evenly between nothing and a bound that doubles), so that clients
which failed together do not come back together; ``Retry-After`` is obeyed on top.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from salon_bench.judges.settings import Limits

RETRIED_STATUSES = frozenset({408, 409, 425, 429, *range(500, 600)})
"""HTTP statuses that another attempt may mend."""
CONGESTED_STATUSES = frozenset({429, 503, 529})
"""HTTP statuses that say that the server has too much to do."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits between attempts.

    Attributes:
        first_s: the bound before the second attempt.
        longest_s: the bound never grows beyond.
        seed: of the draws.

    Example:
        >>> backoff = Backoff(first_s=0.5, longest_s=60, seed=1)
        >>> 0 <= backoff.wait_s(call=7, attempt=3) <= 2.0
        True
        >>> backoff.wait_s(call=7, attempt=3) == backoff.wait_s(call=7, attempt=3)
        True
    """

    first_s: float
    longest_s: float
    seed: int = 0

    @classmethod
    def of(cls, limits: Limits) -> "Backoff":
        """The waits that the settings ask for."""
        return cls(limits.first_wait_s, limits.longest_wait_s, limits.seed)

    def wait_s(self, call: int, attempt: int, retry_after_s: float | None = None) -> float:
        """How long to wait after ``attempt`` (from 1) of the call with that number has failed, in seconds.

        With ``Retry-After`` the wait is at least that long, and at most ``first_s`` longer.
        """
        drawn = random.Random(f"{self.seed} {call} {attempt}").random()  # noqa: S311 - spreads load, hides nothing
        if retry_after_s is not None:
            return retry_after_s + drawn * self.first_s
        return drawn * min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 60))


def retry_after_s(headers: Mapping[str, str], wall_s: float) -> float | None:
    """Return the server's requested pause in seconds; None without a readable one.

    Args:
        headers: of the reply, whose names are looked up without regard to case.
        wall_s: the time now, in seconds since 1970.

    Example:
        >>> retry_after_s({"Retry-After": "2"}, 0.0)
        2.0
        >>> retry_after_s({"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
        10.0
        >>> retry_after_s({"Retry-After": "soon"}, 0.0)
    """
    milliseconds = _number(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("Retry-After")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - wall_s)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None and len(text) < 40 else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
