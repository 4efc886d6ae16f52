"""Prompts composed from pools, in English and Chinese: ``compose(language, seed=0, per_track=50)``.

The pools are ``pools.toml``, ``recipes.py`` defines what is drawn for each track.
"""

from salon_curate.construction.prism_prompts.composer import PER_TRACK, PrismPrompt, compose

__all__ = ["PER_TRACK", "PrismPrompt", "compose"]
