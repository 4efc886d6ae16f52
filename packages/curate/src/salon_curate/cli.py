"""``salon curate``: build a data set of pictures. Parse, one library call, print."""

import rich_click as click

from salon_taxonomy.lazy_commands import LazyCommand, LazyGroup

_CONSTRUCTION = "salon_curate.construction.cli"
_LAZY = {
    "artifact-bench": LazyCommand(
        f"{_CONSTRUCTION}:artifact_bench", "Construct a benchmark like Artifact-Bench: options, annotation, export."
    ),
    "magicbench": LazyCommand(f"{_CONSTRUCTION}:magicbench", "Make prompts for MagicBench."),
    "prism": LazyCommand(
        f"{_CONSTRUCTION}:prism", "Make prompts for PRISM-Bench: composed from pools, or selected from a collection."
    ),
}


@click.group(cls=LazyGroup, lazy_commands=_LAZY)
def curate() -> None:
    """Build an image data set with judges: stages over shards, selections, audits, a release.

    \b
    Example:
      salon curate prism compose --output prompts.jsonl --seed 0
    """
