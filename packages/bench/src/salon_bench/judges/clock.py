"""The time by which retries and pacing wait, as an argument, so that tests need not wait."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""

    def wall(self) -> float:
        """Seconds since 1970 in UTC, to compare with dates that a server names."""

    async def sleep(self, seconds: float) -> None:
        """Wait; 0 or less returns at once."""


class SystemClock:
    """The machine's own clock.

    Example:
        >>> SystemClock().now() <= SystemClock().now()
        True
    """

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait without keeping others from working."""
        if seconds > 0:
            await asyncio.sleep(seconds)
