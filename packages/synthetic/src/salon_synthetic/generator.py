"""The generator ``draw:``: pictures of prompts, and edits of drawn scenes, without a model."""

import asyncio
from collections.abc import Sequence

from salon_synthetic.draw_editor.editor import DrawEditor
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.imagining import RULES, SLIPS, imagine
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus, MediaRole


class DrawGenerator(Closing):
    """Draws scenes of simple objects, with slips as image generators make them; needs no model and no network.

    Args:
        slips: the chance, 0 to 1, that an object comes out wrong, and that a relation is not heeded.

    Raises:
        InputError: ``slips`` is not within 0 and 1.

    Example:
        >>> made = asyncio.run(DrawGenerator(slips=0).generate("a red star", seed=1))
        >>> made.image.data[:4], asyncio.run(DrawGenerator().generate("a horse", seed=1)).status.value
        (b'\\x89PNG', 'rejected')
    """

    name: str = "draw"

    def __init__(self, slips: float = SLIPS) -> None:
        if not 0 <= slips <= 1:
            raise InputError("the chance of a slip is a number from 0 to 1, not", value=slips)
        self._slips = slips
        self.version = digest("generator", {"kind": "draw", "rules": RULES, "slips": slips})

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return the drawn scene, or the edit of the one that is given; ``REJECTED`` for a prompt that is not understood."""
        if given and (len(given) > 1 or given[0].role != MediaRole.SOURCE):
            return Edit(None, CallStatus.REJECTED, self.version, error="draw: edits one source with each prompt")
        if given:
            return await DrawEditor().edit(given[0], prompt)
        return await asyncio.to_thread(self._drawn, prompt, seed)

    def _drawn(self, prompt: str, seed: int) -> Edit:
        try:
            scene = imagine(prompt, seed=seed, slips=self._slips)
        except InputError as error:
            return Edit(None, CallStatus.REJECTED, self.version, error=str(error).replace("\n", " "))
        return Edit(Media.from_bytes(png(scene)), version=self.version)

    async def close(self) -> None:
        """Do nothing: nothing is open."""
