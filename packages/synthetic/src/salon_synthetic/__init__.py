"""Synthetic pictures with exact truth, the judge that measures their pixels, and the editor that executes instructions.

    generate, save          prompts of R³-Bench's eight categories, pictures, explanations, questions
    Scene, Item, png        a scene, and its picture
    imagine                 a scene for a prompt, with seeded errors: a generator of pictures
    read_prompt, findings   what a prompt claims, and the mismatches of a scene
    perceive, PixelJudge    a scene from pixels alone, and the judge that answers from it (``pixels:``)
    DrawEditor              the editor of scenes (``draw:``)
    PromptDrawEditor        the same, and it draws a whole prompt (``draw:prompt``)

Names are imported at first use (PEP 562): scenes can be read without Pillow.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_synthetic.draw_editor.editor import DrawEditor, PromptDrawEditor
    from salon_synthetic.draw_editor.executing import execute
    from salon_synthetic.draw_editor.instructions import read_instruction
    from salon_synthetic.pixel_judge.accuracy import Accuracy, measured
    from salon_synthetic.pixel_judge.eyes import Eyes
    from salon_synthetic.pixel_judge.judge import PixelJudge
    from salon_synthetic.pixel_judge.settings import PixelSettings
    from salon_synthetic.pixel_judge.vision import perceive
    from salon_synthetic.scenes.claims import Attributed, Claim, Description, Present, Related, holds
    from salon_synthetic.scenes.diagnosis import Finding, findings
    from salon_synthetic.scenes.drawing import drawn, png, read_scene
    from salon_synthetic.scenes.generating import DrawnItem, generate, save
    from salon_synthetic.scenes.imagining import imagine
    from salon_synthetic.scenes.reading import read_prompt, read_question
    from salon_synthetic.scenes.scene import Item, Scene
    from salon_synthetic.scenes.vocabulary import Category, Colour, Relation, Shape, Size, Texture

__all__ = [
    "Accuracy",
    "Attributed",
    "Category",
    "Claim",
    "Colour",
    "Description",
    "DrawEditor",
    "DrawnItem",
    "Eyes",
    "Finding",
    "Item",
    "PixelJudge",
    "PixelSettings",
    "Present",
    "PromptDrawEditor",
    "Related",
    "Relation",
    "Scene",
    "Shape",
    "Size",
    "Texture",
    "drawn",
    "execute",
    "findings",
    "generate",
    "holds",
    "imagine",
    "measured",
    "perceive",
    "png",
    "read_instruction",
    "read_prompt",
    "read_question",
    "read_scene",
    "save",
]

_BY_MODULE = {
    "draw_editor.editor": ("PromptDrawEditor", "DrawEditor"),
    "draw_editor.executing": ("execute",),
    "draw_editor.instructions": ("read_instruction",),
    "pixel_judge.accuracy": ("Accuracy", "measured"),
    "pixel_judge.eyes": ("Eyes",),
    "pixel_judge.judge": ("PixelJudge",),
    "pixel_judge.settings": ("PixelSettings",),
    "pixel_judge.vision": ("perceive",),
    "scenes.claims": ("Attributed", "Claim", "Description", "Present", "Related", "holds"),
    "scenes.diagnosis": ("Finding", "findings"),
    "scenes.drawing": ("drawn", "png", "read_scene"),
    "scenes.generating": ("DrawnItem", "generate", "save"),
    "scenes.imagining": ("imagine",),
    "scenes.reading": ("read_prompt", "read_question"),
    "scenes.scene": ("Item", "Scene"),
    "scenes.vocabulary": ("Category", "Colour", "Relation", "Shape", "Size", "Texture"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
