"""An editor that holds something open: connections, a model, a folder."""

from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from salon_taxonomy.protocols import Editor


@runtime_checkable
class ManagedEditor(Editor, Protocol):
    """An :class:`~salon_taxonomy.protocols.Editor` that is closed at the end: ``async with open_editor(…) as editor``."""

    async def close(self) -> None:
        """Let go of everything; the editor may be used again, and opens it again."""

    async def __aenter__(self) -> Self:
        """The editor itself."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
