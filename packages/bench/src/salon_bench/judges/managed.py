"""A judge that holds something open: connections, a model, a file."""

from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from salon_taxonomy.protocols import Judge


@runtime_checkable
class ManagedJudge(Judge, Protocol):
    """A :class:`~salon_taxonomy.protocols.Judge` that is closed when the run is over: ``async with open_judge(…) as judge``."""

    async def close(self) -> None:
        """Let go of everything; the judge may be asked again, and opens it again."""

    async def __aenter__(self) -> Self:
        """The judge itself."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
