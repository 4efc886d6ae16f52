"""What holds something open, connections, a model or a file, and is closed at the end of ``async with``."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A judge or an editor that ``async with`` closes; what it needs opens when it is first used.

    Example:
        >>> import asyncio
        >>> class Door(Closing):
        ...     async def close(self) -> None:
        ...         print("closed")
        >>> async def main() -> None:
        ...     async with Door() as door:
        ...         print(type(door).__name__)
        >>> asyncio.run(main())
        Door
        closed
    """

    @abstractmethod
    async def close(self) -> None:
        """Let go of everything; the next use opens it again."""

    async def __aenter__(self) -> Self:
        """The thing itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()
