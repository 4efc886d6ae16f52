"""Draw a video as one picture: its frames in rows, each with its second."""

import math
from io import BytesIO
from typing import Final

from salon_judges.media.video_policy import thinned
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.protocols import Film

_GAP: Final = 4
_LABEL: Final = 14
_GROUND: Final = (24, 24, 27)
_INK: Final = (228, 228, 231)
_MOST_SIDE: Final = 8192


def contact_sheet(film: Film, *, columns: int = 5, width: int = 1280, most_frames: int = 40) -> bytes:
    """Return the frames of a film as one JPEG of bounded size.

    Args:
        film: as ``sample_video`` gives it.
        columns: frames in a row, 1 to 64.
        width: of the sheet in pixels, 64 to 4096; its height follows, and frames are thinned that would make it higher than
            8,192.
        most_frames: more are thinned evenly, 1 to 400.

    Raises:
        InputError: for a number out of its range.

    Example:
        >>> import io, tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from salon_judges.media import VideoPolicy, sample_video
        >>> from salon_synthetic.videos import write_clip
        >>> clip = write_clip(Path(tempfile.mkdtemp()) / "1.mp4", "pop")
        >>> Image.open(io.BytesIO(contact_sheet(sample_video(clip.read_bytes(), VideoPolicy()).film, width=640))).size
        (640, 224)
    """
    from PIL import Image, ImageDraw

    for name, value, low, high in (
        ("columns", columns, 1, 64),
        ("width", width, 64, 4096),
        ("most_frames", most_frames, 1, 400),
    ):
        if not low <= value <= high:
            raise InputError(f"must lie between {low} and {high}", column=name, value=value)
    columns = min(columns, len(film.frames))
    cell = max(1, (width - _GAP) // columns - _GAP)
    first = open_picture(film.frames[0].image.data or b"")
    height = max(1, min(_MOST_SIDE // 2, round(first.height * cell / first.width)))
    rows = max(1, min((_MOST_SIDE - _GAP) // (height + _LABEL + _GAP), math.ceil(most_frames / columns)))
    frames = thinned(film.frames, min(most_frames, rows * columns))
    rows = math.ceil(len(frames) / columns)
    sheet = Image.new("RGB", (width, _GAP + rows * (height + _LABEL + _GAP)), _GROUND)
    draw = ImageDraw.Draw(sheet)
    for position, frame in enumerate(frames):
        x = _GAP + position % columns * (cell + _GAP)
        y = _GAP + position // columns * (height + _LABEL + _GAP)
        sheet.paste(open_picture(frame.image.data or b"").resize((cell, height)), (x, y))
        draw.text((x + 2, y + height + 1), f"{frame.at_s:.1f} s", fill=_INK)
    stream = BytesIO()
    sheet.save(stream, "JPEG", quality=85)
    return stream.getvalue()
