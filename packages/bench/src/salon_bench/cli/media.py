"""``salon bench contact-sheet`` and ``draw-video``: look at a video as a judge sees it, and draw one to try with."""

from pathlib import Path

import rich_click as click

from salon_taxonomy.cli.options import FiniteRange
from salon_taxonomy.errors import InputError
from salon_taxonomy.file_options import InputPath, OutputPath
from salon_taxonomy.whole_files import write_whole

_SHEET_ENDINGS = (".jpg", ".jpeg")
_KINDS = ("clean", "flicker", "pop", "morph", "freeze")


@click.command("contact-sheet")
@click.argument("video", type=InputPath())
@click.option("--output", required=True, type=OutputPath(), help="The .jpg to write (replaced).")
@click.option("--rate", type=float, default=5.0, show_default=True, help="Frames per second.")
@click.option("--columns", type=click.IntRange(1, 64), default=5, show_default=True, help="Frames in a row.")
@click.option("--width", type=click.IntRange(64, 4096), default=1280, show_default=True, help="Of the sheet, in pixels.")
@click.option("--most-frames", type=click.IntRange(1, 400), default=40, show_default=True, help="More are thinned evenly.")
def contact_sheet_(video: Path, output: Path, rate: float, columns: int, width: int, most_frames: int) -> None:
    """Show VIDEO as one picture: its frames at an exact rate, each with its second.

    \b
    Example:
      salon bench draw-video ball.mp4 --kind pop
      salon bench contact-sheet ball.mp4 --output ball.jpg
    """
    from salon_bench.media import VideoPolicy, prepare_video
    from salon_bench.media.contact_sheet import contact_sheet
    from salon_taxonomy.verdict import Unscored

    if output.suffix.lower() not in _SHEET_ENDINGS:
        raise InputError("unknown ending of a contact sheet", source=output, value=output.suffix, allowed=_SHEET_ENDINGS)
    ready = prepare_video(video, VideoPolicy(frames_per_second=rate), video.parent)
    if isinstance(ready, Unscored) or ready.media.film is None:
        raise InputError(f"this video cannot be shown: {ready.detail if isinstance(ready, Unscored) else ''}", source=video)
    film = ready.media.film
    _write(output, contact_sheet(film, columns=columns, width=width, most_frames=most_frames))
    notes = "".join(f"; {note}" for note in film.notes)
    size = f"{ready.original_width} × {ready.original_height}"
    click.echo(f"{output}: {film.duration_s:.2f} s of {size} pixels, {len(film.frames)} frames at {rate:g} per second{notes}")


@click.command("draw-video")
@click.argument("output", type=OutputPath())
@click.option("--kind", type=click.Choice(_KINDS), default="clean", show_default=True, help="What is wrong with it.")
@click.option("--seconds", type=FiniteRange(0.1, 60), default=2.0, show_default=True, help="How long.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed draws another clip.")
def draw_video(output: Path, kind: str, seconds: float, seed: int) -> None:
    """Draw a small test video: a ball rolls across a meadow, and one thing may be wrong.

    \b
    Example:
      salon bench draw-video flicker.mp4 --kind flicker
    """
    from typing import cast

    from salon_synthetic.videos import ClipKind, write_clip

    try:
        write_clip(output, cast("ClipKind", kind), seconds=seconds, seed=seed)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", source=output) from error
    click.echo(f"{output}: {seconds:g} s, {kind}")


def _write(path: Path, data: bytes) -> None:
    write_whole(path, data)
