"""The command ``salon curate``: one file per group of commands; each parses, makes one library call and prints."""

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup
from salon_curate.cli.audits import audit, cascade
from salon_curate.cli.datasets import demo, import_, init, release
from salon_curate.cli.selections import diff, draw, select, why, yield_
from salon_curate.cli.stages import drift, plan, run, status, verify

_CONSTRUCTION = "salon_curate.cli.construction"
_LAZY = {
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
      salon curate init birds
      salon curate import birds pictures/ --licence CC-BY-4.0
      salon curate run birds
      salon curate yield birds --sweep sharpness
      salon curate select birds --where "sharpness >= 80" --name sharp
    """


for _command in (
    init, import_, run, status, verify, plan, drift, yield_, select, diff, why, draw, audit, cascade, release, demo,
):  # fmt: skip
    curate.add_command(_command)
