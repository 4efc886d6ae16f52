"""``salon synthetic``: draw pictures and videos with exact truth. Parse, one library call, print."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import rich_click as click

from salon_console.file_options import OutputPath
from salon_console.lazy_commands import InstalledGroup
from salon_taxonomy.errors import cannot_write

if TYPE_CHECKING:
    from salon_synthetic.videos import ClipKind

_KINDS: Final = ("clean", "flicker", "pop", "morph", "freeze")


@click.group(
    cls=InstalledGroup,
    entry_group="salon.synthetic",
    short_helps={
        "artifacts": "Drawn pictures with exact truth, to learn from.",
        "scenes": "Drawn scenes with exact truth: a benchmark of reflection that needs no data, no network and no model.",
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
def synthetic() -> None:
    """Draw pictures and videos with exact truth: scenes, artifacts.

    \b
    Example:
      salon synthetic artifacts draw --output drawn --count 200
      salon synthetic scenes generate --output scenes
      salon synthetic video flicker.mp4 --kind flicker
    """


@synthetic.command()
@click.argument("output", type=OutputPath())
@click.option("--kind", type=click.Choice(_KINDS), default="clean", show_default=True, help="What is wrong with it.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws another clip.")
def video(output: Path, kind: str, seed: int) -> None:
    """Draw a small test video: a ball rolls across a meadow, and one thing may be wrong.

    \b
    Example:
      salon synthetic video flicker.mp4 --kind flicker
    """
    from salon_synthetic.videos import write_clip

    try:
        write_clip(output, cast("ClipKind", kind), seed=seed)
    except OSError as error:
        raise cannot_write(error, output) from error
    click.echo(f"{output}: 2 s, {kind}")
