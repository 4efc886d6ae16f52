"""Editors: what changes a picture as an instruction says.

    open_editor("draw:", environment)      "draw:anew"      "openai:MODEL@URL"      "replay:FOLDER"      "diffusers:MODEL"

``DrawEditor`` truly executes instructions on drawn scenes, offline; ``AnewEditor`` draws whole prompts, too.
The contract (``Editor``, ``Edit``) stands in
``salon_taxonomy.protocols``: what cannot be done is an ``Edit`` that says why, never an exception.

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_bench.editors.diffusers_pipeline import DiffusersEditor
    from salon_bench.editors.draw import AnewEditor, DrawEditor
    from salon_bench.editors.executing import execute
    from salon_bench.editors.instructions import read_instruction
    from salon_bench.editors.managed import ManagedEditor
    from salon_bench.editors.openai_compatible import OpenAICompatibleEditor
    from salon_bench.editors.replay import RecordingEditor, ReplayEditor
    from salon_bench.editors.specification import open_editor

__all__ = [
    "AnewEditor",
    "DiffusersEditor",
    "DrawEditor",
    "ManagedEditor",
    "OpenAICompatibleEditor",
    "RecordingEditor",
    "ReplayEditor",
    "execute",
    "open_editor",
    "read_instruction",
]

_BY_MODULE = {
    "diffusers_pipeline": ("DiffusersEditor",),
    "draw": ("AnewEditor", "DrawEditor"),
    "executing": ("execute",),
    "instructions": ("read_instruction",),
    "managed": ("ManagedEditor",),
    "openai_compatible": ("OpenAICompatibleEditor",),
    "replay": ("RecordingEditor", "ReplayEditor"),
    "specification": ("open_editor",),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
