"""Prompts of our own for MagicBench: composed offline from a library, or written by a language model.

* :func:`compose`: seeded and deterministic, 8 × 100 prompts by default, no two alike; needs no model.
* :func:`write_with`: the same briefs, put into words by a judge that answers in text; bad replies are asked for again.
* :class:`Library`: the subjects, scenes, styles and shots, bundled (380 subjects) or read from a file.
* :func:`save_prompts`: the prompts as a file that the suite reads.
"""

from salon_curate.construction.magicbench_prompts.composer import Brief, MagicBenchPrompt, briefs, compose, save_prompts
from salon_curate.construction.magicbench_prompts.library import Entity, Library, Place
from salon_curate.construction.magicbench_prompts.written import Missed, WrittenPrompts, parse_written, write_with

__all__ = [
    "Brief",
    "Entity",
    "Library",
    "MagicBenchPrompt",
    "Missed",
    "Place",
    "WrittenPrompts",
    "briefs",
    "compose",
    "parse_written",
    "save_prompts",
    "write_with",
]
