"""Drawn scenes with exact truth: a benchmark, a judge that sees, and the common ground of the ``draw`` editor.

    generate, save          prompts of R³-Bench's eight categories, pictures, explanations, questions
    Scene, Item, png        a scene, and its picture
    imagine                 a scene for a prompt, with slips: a generator of pictures
    read_prompt, findings   what a prompt claims, and what is wrong with a scene
    perceive, PixelJudge    a scene from pixels alone, and the judge that answers from it

Nothing is imported before it is asked for (PEP 562): scenes can be read without Pillow.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_bench.scenes.accuracy import Accuracy, measured
    from salon_bench.scenes.claims import Attributed, Claim, Description, Present, Related, holds
    from salon_bench.scenes.diagnosis import Finding, findings
    from salon_bench.scenes.drawing import drawn, png, read_scene
    from salon_bench.scenes.eyes import Eyes
    from salon_bench.scenes.generating import DrawnItem, generate, save
    from salon_bench.scenes.imagining import imagine
    from salon_bench.scenes.pixel_judge import PixelJudge
    from salon_bench.scenes.pixel_settings import PixelSettings
    from salon_bench.scenes.reading import read_prompt, read_question
    from salon_bench.scenes.scene import Item, Scene
    from salon_bench.scenes.vision import perceive
    from salon_bench.scenes.vocabulary import Category, Colour, Relation, Shape, Size, Texture

__all__ = [
    "Accuracy",
    "Attributed",
    "Category",
    "Claim",
    "Colour",
    "Description",
    "DrawnItem",
    "Eyes",
    "Finding",
    "Item",
    "PixelJudge",
    "PixelSettings",
    "Present",
    "Related",
    "Relation",
    "Scene",
    "Shape",
    "Size",
    "Texture",
    "drawn",
    "findings",
    "generate",
    "holds",
    "imagine",
    "measured",
    "perceive",
    "png",
    "read_prompt",
    "read_question",
    "read_scene",
    "save",
]

_BY_MODULE = {
    "accuracy": ("Accuracy", "measured"),
    "claims": ("Attributed", "Claim", "Description", "Present", "Related", "holds"),
    "diagnosis": ("Finding", "findings"),
    "drawing": ("drawn", "png", "read_scene"),
    "eyes": ("Eyes",),
    "generating": ("DrawnItem", "generate", "save"),
    "imagining": ("imagine",),
    "pixel_judge": ("PixelJudge",),
    "pixel_settings": ("PixelSettings",),
    "reading": ("read_prompt", "read_question"),
    "scene": ("Item", "Scene"),
    "vision": ("perceive",),
    "vocabulary": ("Category", "Colour", "Relation", "Shape", "Size", "Texture"),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
