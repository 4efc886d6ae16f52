"""Offline editors: ``DrawEditor`` edits drawn scenes; ``PromptDrawEditor`` also draws new ones from a prompt."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Final

from salon_synthetic.draw_editor.executing import execute
from salon_synthetic.draw_editor.instructions import read_instruction
from salon_synthetic.scenes.drawing import png, read_scene
from salon_synthetic.scenes.imagining import RULES as IMAGINING
from salon_synthetic.scenes.imagining import SLIPS, imagine
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing, EditorKind
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus

RULES = "draw-1"
"""Increment when an instruction starts to produce a different picture."""
_LARGEST_FILE = 16 << 20


class DrawEditor(Closing):
    """Edits pictures that carry their scene (see :mod:`salon_synthetic.scenes.drawing`): a new scene is made and drawn again.

    An instruction is done whole or not at all. The same picture and instruction always make the same new picture; seeds
    change nothing.

    Example:
        >>> from salon_synthetic import Item, Scene
        >>> picture = Media.from_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=40, y=40)])))
        >>> edit = asyncio.run(DrawEditor().edit(picture, "Make the blue star red."))
        >>> read_scene(edit.image.data).items[0].colour.value
        'red'
        >>> asyncio.run(DrawEditor().edit(picture, "Remove the circle.")).error
        "column 'instruction': the picture shows none of: circle"
    """

    name: str = "draw"
    version: str = digest("editor", {"kind": "draw", "rules": RULES})

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Return the picture after the instruction; ``REJECTED`` with the reason where it cannot be done."""
        return await asyncio.to_thread(self._edit, image, instruction)

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def _edit(self, image: Media, instruction: str) -> Edit:
        began = perf_counter()
        try:
            content = png(execute(read_scene(_bytes(image)), read_instruction(instruction)))
        except InputError as error:
            return Edit(None, CallStatus.REJECTED, self.version, _since(began), str(error))
        return Edit(Media.from_bytes(content), version=self.version, latency_ms=_since(began))


class PromptDrawEditor(DrawEditor):
    """Edit scenes as :class:`DrawEditor` does, and draw a new picture from a whole prompt.

    So prompt resubmission and best-of-n run offline. A redrawn picture keeps nothing of the picture before, which need not be a
    drawn scene; the same prompt and seed always make the same picture, and another seed another one.

    Args:
        slips: the chance, 0 to 1, that an object comes out wrong (:func:`salon_synthetic.scenes.imagining.imagine`).

    Raises:
        InputError: for a chance outside [0, 1].

    Example:
        >>> editor = PromptDrawEditor(slips=0)
        >>> edit = asyncio.run(editor.edit(Media.from_bytes(b"any"), "A red star and a blue circle.", seed=1))
        >>> [item.shape.value for item in read_scene(edit.image.data).items]
        ['star', 'circle']
    """

    def __init__(self, slips: float = SLIPS) -> None:
        if not 0.0 <= slips <= 1.0:
            raise InputError("is a chance from 0 to 1, not", source="draw:prompt", key="slips", value=slips)
        self._slips = slips
        self.name = "draw:prompt" if slips == SLIPS else f"draw:prompt,slips={slips:g}"
        self.version = digest("editor", {"kind": "draw:prompt", "rules": RULES, "imagining": IMAGINING, "slips": slips})

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Return the picture after the instruction, or a picture for the prompt; ``REJECTED`` where it is neither."""
        try:
            read_instruction(instruction)
        except InputError:
            return await asyncio.to_thread(self._drawn, instruction, seed or 0)
        return await super().edit(image, instruction, seed=seed)

    def _drawn(self, prompt: str, seed: int) -> Edit:
        began = perf_counter()
        try:
            content = png(imagine(prompt, seed=seed, slips=self._slips))
        except InputError as error:
            return Edit(None, CallStatus.REJECTED, self.version, _since(began), str(error))
        return Edit(Media.from_bytes(content), version=self.version, latency_ms=_since(began))


def slips_from_text(text: str) -> float:
    """Parse the chance after ``draw:prompt``.

    Raises:
        InputError: for another word, or no number.

    Example:
        >>> slips_from_text(""), slips_from_text(",slips=0.5")
        (0.15, 0.5)
    """
    if not text:
        return SLIPS
    name, _, value = text.removeprefix(",").partition("=")
    with suppress(ValueError):
        if name == "slips" and text.startswith(","):
            return float(value)
    raise InputError("unknown word for the draw editor", value=text, allowed=["draw:prompt,slips=X"])


def _open(text: str, environment: Mapping[str, str]) -> DrawEditor:
    if not text:
        return DrawEditor()
    if text.partition(",")[0] == "prompt":
        return PromptDrawEditor(slips_from_text(text.removeprefix("prompt")))
    raise InputError("no such editor", value=f"draw:{text}", allowed=["draw:", "draw:prompt", "draw:prompt,slips=X"])


kind: Final = EditorKind("draw", _open)
"""The entry point ``draw`` of the group ``salon.editors``."""


def _bytes(image: Media) -> bytes:
    if image.data is not None:
        return image.data
    try:
        path = Path(image.uri or "")
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError("too large for a drawn scene", source=path)
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read ({type(error).__name__})", source=image.uri, column="image") from error


def _since(began: float) -> float:
    return (perf_counter() - began) * 1000
