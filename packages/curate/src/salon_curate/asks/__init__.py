"""What curation asks judges: prompts in words of Salon's own, answers parsed and typed.

    characteristics   six scores from 1 to 10, each asked separately        FLUX-Reason-6M, section 2.3
    quality           faults of a picture                                   appendix B.2
    typography        whether text in the picture can be read               appendix B.3
    captions          one caption for each label                            section 2.4
    reasoning         the generation chain of thought (GCoT)                section 2.4, appendix B.5
    alignment         whether the original caption fits the picture         section 2.5
    translation       another language, strings in quotation marks kept     section 2.5
    agreement         whether a picture shows its prompt, and what differs  R³-Bench
    editing           whether an edit follows its instruction and keeps the rest
    suite             the questions of any installed suite

The papers print no construction prompt and no threshold; these prompts are not theirs.
"""

from collections.abc import Callable, Mapping
from typing import Final

from salon_curate.asks.ask import PictureAsk
from salon_curate.asks.pictures import agreement, alignment, characteristics, editing, quality, typography
from salon_curate.asks.suites import suite
from salon_curate.asks.texts import captions, reasoning, translation

ASKS: Final[Mapping[str, Callable[..., PictureAsk]]] = {
    "agreement": agreement,
    "alignment": alignment,
    "captions": captions,
    "characteristics": characteristics,
    "editing": editing,
    "quality": quality,
    "reasoning": reasoning,
    "suite": suite,
    "translation": translation,
    "typography": typography,
}
"""Makers of asks by the word in ``pipeline.toml``: ``ask = "quality"``."""

__all__ = [
    "ASKS",
    "agreement",
    "alignment",
    "captions",
    "characteristics",
    "editing",
    "quality",
    "reasoning",
    "suite",
    "translation",
    "typography",
]
