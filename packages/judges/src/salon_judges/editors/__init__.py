"""Editors: what changes a picture as an instruction says.

    open_editor("draw:", environment)      "draw:prompt"      "openai:MODEL@URL"      "diffusers:MODEL"

Further kinds come from installed packages (``salon_taxonomy.plugins``): ``draw:`` from ``salon-synthetic``. The contract
(``Editor``, ``Edit``) is in ``salon_taxonomy.protocols``: an edit that fails is an ``Edit`` with its reason, not an exception.
``videos_server.py`` makes videos, for :mod:`salon_judges.generators`.

Nothing is imported before it is asked for (PEP 562).
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_judges.editors.diffusers_pipeline import DiffusersEditor
    from salon_judges.editors.openai_compatible import OpenAICompatibleEditor
    from salon_judges.editors.specification import open_editor

__all__ = [
    "DiffusersEditor",
    "OpenAICompatibleEditor",
    "open_editor",
]

_BY_MODULE = {
    "diffusers_pipeline": ("DiffusersEditor",),
    "openai_compatible": ("OpenAICompatibleEditor",),
    "specification": ("open_editor",),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
