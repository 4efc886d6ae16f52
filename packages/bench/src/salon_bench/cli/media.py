"""``salon bench contact-sheet``: show a video as a judge sees it."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole

_SHEET_ENDINGS = (".jpg", ".jpeg")
_RATE = 5.0


@click.command("contact-sheet")
@click.argument("video", type=InputPath())
@click.option("--output", required=True, type=OutputPath(), help="The .jpg to write (replaced).")
@click.option("--columns", type=click.IntRange(1, 64), default=5, show_default=True, help="Frames in a row.")
def contact_sheet_(video: Path, output: Path, columns: int) -> None:
    """Show VIDEO as one picture: five frames of each second, each with its time.

    \b
    Example:
      salon synthetic video ball.mp4 --kind pop
      salon bench contact-sheet ball.mp4 --output ball.jpg
    """
    from salon_judges.media import VideoPolicy, prepare_video
    from salon_judges.media.contact_sheet import contact_sheet
    from salon_taxonomy.verdict import Unscored

    if output.suffix.lower() not in _SHEET_ENDINGS:
        raise InputError("unknown ending of a contact sheet", source=output, value=output.suffix, allowed=_SHEET_ENDINGS)
    ready = prepare_video(video, VideoPolicy(frames_per_second=_RATE), video.parent)
    if isinstance(ready, Unscored) or ready.media.film is None:
        raise InputError(f"this video cannot be shown: {ready.detail if isinstance(ready, Unscored) else ''}", source=video)
    film = ready.media.film
    write_whole(output, contact_sheet(film, columns=columns))
    notes = "".join(f"; {note}" for note in film.notes)
    size = f"{ready.original_width} × {ready.original_height}"
    click.echo(f"{output}: {film.duration_s:.2f} s of {size} pixels, {len(film.frames)} frames at {_RATE:g} per second{notes}")
