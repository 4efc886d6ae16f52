"""A contact sheet: pictures with their verdict beneath, to look at."""

import math
from collections.abc import Sequence
from io import BytesIO
from typing import Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.training_example import TrainingExample

_GAP: Final = 4
_LINE: Final = 11
_GROUND: Final = (24, 24, 27)
_RIGHT: Final = (134, 239, 172)
_WRONG: Final = (252, 165, 165)


def example_sheet(examples: Sequence[TrainingExample], *, columns: int = 8, side: int = 160) -> bytes:
    """Return pictures in rows, each under its reasoning: green for a normal one, red for one with artifacts.

    Args:
        examples: as ``draw_examples`` gives them.
        columns: pictures in a row, 1 to 64.
        side: of each picture on the sheet, 32 to 1,024 pixels; pictures are enlarged without smoothing.

    Returns:
        a PNG file.

    Raises:
        InputError: for no pictures, or a number out of its range.

    Example:
        >>> from salon_synthetic.artifacts import draw_examples
        >>> example_sheet(list(draw_examples(8, seed=7)))[:4]
        b'\\x89PNG'
    """
    from PIL import Image, ImageDraw

    for column, value, low, high in (
        ("columns", columns, 1, 64),
        ("side", side, 32, 1024),
        ("examples", len(examples), 1, 4096),
    ):
        if not low <= value <= high:
            raise InputError(f"must lie between {low} and {high}", column=column, value=value)
    columns = min(columns, len(examples))
    across, down = side + _GAP, side + 3 * _LINE + _GAP
    sheet = Image.new("RGB", (columns * across + _GAP, math.ceil(len(examples) / columns) * down + _GAP), _GROUND)
    brush = ImageDraw.Draw(sheet)
    for number, example in enumerate(examples):
        x, y = _GAP + number % columns * across, _GAP + number // columns * down
        with open_picture(example.image if isinstance(example.image, bytes) else example.image.read_bytes()) as picture:
            sheet.paste(picture.convert("RGB").resize((side, side), Image.Resampling.NEAREST), (x, y))
        lines = _broken(example.reasoning or "", side // 6)[:3]
        for line_number, line in enumerate(lines):
            brush.text((x, y + side + line_number * _LINE), line, fill=_RIGHT if example.truth.normal else _WRONG)
    stream = BytesIO()
    sheet.save(stream, "PNG")
    return stream.getvalue()


def _broken(text: str, most: int) -> list[str]:
    """Return the text in lines of at most so many characters, where words allow it."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
