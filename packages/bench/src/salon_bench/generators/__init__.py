"""Generators: what makes pictures from prompts, and the resumable job that drives one over a file of prompts.

    open_generator("draw:")    "openai:MODEL@URL"    "diffusers:MODEL"      CommandGenerator("mygen {prompt_file} {output}")

A generator is named as a judge or an editor is. One that fails gives an ``Edit`` with the reason, not an exception.
"""

from salon_bench.generators.job import GenerationReport, generate_pictures
from salon_bench.generators.kinds import (
    CommandGenerator,
    DiffusersGenerator,
    DrawGenerator,
    OpenAICompatibleGenerator,
    PictureGenerator,
    open_generator,
)

__all__ = [
    "CommandGenerator",
    "DiffusersGenerator",
    "DrawGenerator",
    "GenerationReport",
    "OpenAICompatibleGenerator",
    "PictureGenerator",
    "generate_pictures",
    "open_generator",
]
