"""Edits many pictures at once for a reward that is called in a trainer's own thread; nothing that an editor does ends training.

tasks ──► known? ──► editor.edit on a loop of its own, so many at once, each with a time limit ──► Edit, in order
"""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Editor, Media
from salon_taxonomy.records import CallStatus

_LOST: Final = (CallStatus.TIMEOUT, CallStatus.UNREACHABLE, CallStatus.CANCELLED)
_REMEMBERED: Final = 20_000


class EditorPool:
    """An editor with a limit on time and on company.

    Edits that were made, and refusals, are remembered by picture and instruction; calls that were lost are tried again
    when the same task comes again.

    Args:
        editor: who edits.
        concurrency: edits in flight.
        timeout_s: for one edit, the editor's own retries included.
        seed: for editors that take one: the same for every edit, so that members of a group differ by their instructions.

    Raises:
        InputError: for a number that is not above 0.
    """

    def __init__(self, editor: Editor, *, concurrency: int = 8, timeout_s: float = 600.0, seed: int = 0) -> None:
        for name, value in (("concurrency", concurrency), ("timeout_s", timeout_s)):
            if value <= 0:
                raise InputError("must be above 0", column=name, value=value)
        self.editor = editor
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.seed = seed
        self._known: dict[tuple[str, str], Edit] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def carry_out(self, tasks: Sequence[tuple[Media, str]]) -> list[Edit]:
        """One edit for each picture and instruction, in order; never raises for what the editor did."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="salon-editor-pool", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(self._all(tasks), self._loop).result()

    def close(self) -> None:
        """Let go of the editor and of the thread; the pool may be used again."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        closing = getattr(self.editor, "close", None)
        if closing is not None:
            asyncio.run_coroutine_threadsafe(closing(), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    def __getstate__(self) -> dict[str, Any]:
        """Without the thread."""
        return {**self.__dict__, "_loop": None}

    async def _all(self, tasks: Sequence[tuple[Media, str]]) -> list[Edit]:
        gate = asyncio.Semaphore(self.concurrency)
        wanted = {(picture.sha256, instruction): picture for picture, instruction in tasks}
        new = [key for key in wanted if key not in self._known]
        made = dict(zip(new, await asyncio.gather(*(self._one(gate, wanted[key], key[1]) for key in new)), strict=True))
        results = [made.get(key) or self._known[key] for key in ((picture.sha256, said) for picture, said in tasks)]
        self._known |= {key: edit for key, edit in made.items() if edit.status not in _LOST}
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return results

    async def _one(self, gate: asyncio.Semaphore, picture: Media, instruction: str) -> Edit:
        async with gate:
            try:
                return await asyncio.wait_for(self.editor.edit(picture, instruction, seed=self.seed), self.timeout_s)
            except TimeoutError:
                return Edit(None, CallStatus.TIMEOUT, self.editor.version, error=f"no picture in {self.timeout_s:g} s")
            except InputError as error:
                return Edit(None, CallStatus.REJECTED, self.editor.version, error=str(error))
            except Exception as error:  # noqa: BLE001 - an editor's defect costs one group, not the training
                return Edit(None, CallStatus.UNREACHABLE, self.editor.version, error=f"{type(error).__name__}: {error}")
