"""Write pictures of a policy into one picture, in rows and columns."""

from io import BytesIO
from typing import Final

import torch
from torch import Tensor

_LARGEST: Final = 192
"""Pixels of a side of a picture on a sheet, at most."""


def picture_sheet(pictures: Tensor, columns: int, *, magnified: int = 1) -> bytes:
    """Return a PNG of pictures in rows; pictures larger than 192 pixels are reduced to that.

    Args:
        pictures: shape (pictures, 3, height, width), values from 0 to 1; a multiple of ``columns``.
        columns: pictures of a row.
        magnified: how many pixels wide and high a pixel is drawn.

    Example:
        >>> picture_sheet(torch.zeros(4, 3, 12, 28), 2)[1:4]
        b'PNG'
    """
    from PIL import Image

    images = [Image.fromarray(each.permute(1, 2, 0).contiguous().numpy()) for each in pictures.mul(255).round().to(torch.uint8)]
    images = [each.resize((each.width * magnified, each.height * magnified), Image.Resampling.NEAREST) for each in images]
    for image in images:
        image.thumbnail((_LARGEST, _LARGEST))
    width, height = images[0].size
    whole = Image.new("RGB", (columns * (width + 2), len(images) // columns * (height + 2)), "gray")
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        whole.paste(image, (column * (width + 2) + 1, row * (height + 2) + 1))
    stream = BytesIO()
    whole.save(stream, "PNG")
    return stream.getvalue()
