"""The generator ``draw:``: pictures, videos and edits of drawn scenes, without a model."""

import asyncio
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from salon_synthetic.draw_editor.editor import DrawEditor
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.imagining import RULES, SLIPS, imagine
from salon_synthetic.scenes.moving import RULES as MOVING_RULES
from salon_synthetic.scenes.moving import Clip, imagine_clip, reads_clip, write_moving
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus, MediaKind, MediaRole


class DrawGenerator(Closing):
    """Draws scenes of simple objects, with slips as generators make them; needs no model and no network.

    Args:
        slips: the chance, 0 to 1, that an object comes out wrong, and that a relation is not heeded.
        makes: pictures of scenes, or videos (MP4) of what moves and appears in them.

    Raises:
        InputError: ``slips`` is not within 0 and 1.

    Example:
        >>> made = asyncio.run(DrawGenerator(slips=0).generate("a red star", seed=1))
        >>> made.image.data[:4], asyncio.run(DrawGenerator().generate("a horse", seed=1)).status.value
        (b'\\x89PNG', 'rejected')
    """

    name: str = "draw"

    def __init__(self, slips: float = SLIPS, *, makes: MediaKind = MediaKind.IMAGE) -> None:
        if not 0 <= slips <= 1:
            raise InputError("the chance of a slip is a number from 0 to 1, not", value=slips)
        self._slips, self._makes = slips, makes
        rules = RULES if makes == MediaKind.IMAGE else MOVING_RULES
        self.version = digest("generator", {"kind": "draw", "rules": rules, "slips": slips})

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return the drawn scene, or the edit of the one that is given; ``REJECTED`` for a prompt that is not understood."""
        if given and (self._makes != MediaKind.IMAGE or len(given) > 1 or given[0].role != MediaRole.SOURCE):
            return Edit(None, CallStatus.REJECTED, self.version, error="draw: edits one picture with each prompt")
        if given:
            return await DrawEditor().edit(given[0], prompt)
        return await asyncio.to_thread(self._drawn, prompt, seed)

    def _drawn(self, prompt: str, seed: int) -> Edit:
        try:
            if self._makes == MediaKind.VIDEO:
                return Edit(_video(imagine_clip(prompt, seed=seed, slips=self._slips)), version=self.version)
            if reads_clip(prompt):
                return Edit(None, CallStatus.REJECTED, self.version, error="the prompt is one of a video: write --video")
            scene = imagine(prompt, seed=seed, slips=self._slips)
        except InputError as error:
            return Edit(None, CallStatus.REJECTED, self.version, error=str(error).replace("\n", " "))
        return Edit(Media.from_bytes(png(scene)), version=self.version)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _video(clip: Clip) -> Media:
    content = BytesIO()
    write_moving(Path("clip.mp4"), clip, into=content)
    return Media.from_bytes(content.getvalue(), MediaKind.VIDEO)
