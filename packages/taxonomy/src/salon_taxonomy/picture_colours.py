"""Turn any picture upright and bring its pixels to eight bits of sRGB, opaque. Needs Pillow, NumPy for more than eight bits.

Judges, scorers and rewards see a file in this way. What has no single right answer is refused, not guessed: integers of 32 bits
and numbers beyond 0…1 do not say what white is.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Final

from salon_taxonomy.errors import picture_failures

if TYPE_CHECKING:
    from PIL.Image import Image

PLAIN_MODES: Final = ("RGB", "L", "P", "1")
"""Pillow's modes that every decoder shows alike, as long as nothing is transparent."""
SIDEWAYS: Final = (5, 6, 7, 8)
"""Values of EXIF's orientation that exchange width and height."""
_ORIENTATION: Final = 0x0112
_TURNS: Final = {
    2: "FLIP_LEFT_RIGHT",
    3: "ROTATE_180",
    4: "FLIP_TOP_BOTTOM",
    5: "TRANSPOSE",
    6: "ROTATE_270",
    7: "TRANSVERSE",
    8: "ROTATE_90",
}
"""What undoes each value of EXIF's orientation but 1 (EXIF 2.3, tag 0x0112).

Not ``PIL.ImageOps.exif_transpose``: it writes all other tags again and fails on odd ones (on 1,261 of 3,000 made JPEGs).
"""
_WITH_ALPHA: Final = ("RGBA", "LA", "PA", "RGBa", "La")
_WHITE: Final = 255
_PER_STEP: Final = 257  # 65535 / 255


class ColourError(ValueError):
    """The numbers of a picture do not say which colours they mean. One of :func:`~salon_taxonomy.errors.picture_failures`."""


@dataclass(frozen=True, slots=True)
class Coloured:
    """A picture after its colours were looked at.

    Attributes:
        image: as it was when ``changed`` is false, else of mode RGB.
        changed: whether the pixels are no longer those of the file.
        notes: what was done, or left undone, a clause each.
    """

    image: "Image"
    changed: bool = False
    notes: tuple[str, ...] = ()


def upright(image: "Image") -> tuple["Image", int]:
    """Return a loaded picture as EXIF's orientation has it, and that orientation.

    1 is upright, also where it is missing or unreadable, as in viewers; then the picture is the same object.
    """
    from PIL.Image import Transpose

    try:
        asked = image.getexif().get(_ORIENTATION)
    except picture_failures():
        return image, 1
    if asked not in _TURNS:
        return image, 1
    turned = image.transpose(Transpose[_TURNS[asked]])
    turned.info = {key: value for key, value in image.info.items() if key != "exif"}
    return turned, asked


def to_srgb(image: "Image") -> Coloured:
    """Eight-bit, opaque, sRGB. Transparent parts are laid onto white; a colour profile is applied when it is not sRGB's own.

    Raises:
        ColourError: for numbers that do not say what white is.
    """
    profile = image.info.get("icc_profile")
    notes: list[str] = []
    before = image
    if image.mode.startswith("I;16") or image.mode in ("I", "F"):
        image = _eight_bits(image)
        notes.append("brought to 8 bits")
    elif image.mode in _WITH_ALPHA or "transparency" in image.info:
        flat = _flattened(image)
        if flat is not None:
            image = flat
            notes.append("transparent parts laid onto white")
    if profile or image.mode == "LAB":
        managed, note = _managed(image, profile)
        image = image if managed is None else managed
        notes += [note] if note else []
    elif image.mode not in (*PLAIN_MODES, *_WITH_ALPHA):
        notes.append(f"{image.mode} turned into RGB without a colour profile")
        image = image.convert("RGB")
    changed = image is not before
    return Coloured(image.convert("RGB") if changed else image, changed, tuple(notes))


def _eight_bits(image: "Image") -> "Image":
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    if image.mode == "I":
        raise ColourError("its numbers are integers of 32 bits, which do not say what white is")
    if image.mode == "F":
        if not bool(((values >= 0) & (values <= 1)).all()):
            raise ColourError("its numbers are not all from 0 to 1, so they do not say what white is")
        grey = np.rint(values * _WHITE).astype(np.uint8)
    else:
        grey = ((values.astype(np.uint32) + _PER_STEP // 2) // _PER_STEP).astype(np.uint8)
        transparent = image.info.get("transparency")
        if isinstance(transparent, int):
            grey[values == transparent] = _WHITE
    return Image.fromarray(grey)


def _flattened(image: "Image") -> "Image | None":
    """On white; None when every pixel is opaque, so that nothing needs to change."""
    from PIL import Image

    whole = image.convert("LA").convert("RGBA") if image.mode == "La" else image.convert("RGBA")
    alpha = whole.getchannel("A")
    if alpha.getextrema() == (_WHITE, _WHITE):
        return None
    ground = Image.new("RGB", whole.size, (_WHITE, _WHITE, _WHITE))
    ground.paste(whole, mask=alpha)
    return ground


def _managed(image: "Image", profile: bytes | None) -> "tuple[Image | None, str | None]":
    """Convert the picture to sRGB by its profile; None when it is sRGB or the profile is unusable."""
    from PIL import ImageCms

    target = ImageCms.createProfile("sRGB")
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile)) if profile else ImageCms.createProfile("LAB")
        if profile and "srgb" in ImageCms.getProfileDescription(source).lower() and image.mode in (*PLAIN_MODES, "RGBA"):
            return None, None
        picture = image.convert("RGB") if image.mode in ("P", "1", "RGBA", "PA", "RGBX") else image
        picture = picture.convert("L") if picture.mode in ("LA", "La") else picture
        managed = ImageCms.profileToProfile(picture, source, target, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, TypeError, ValueError):
        note = "its colour profile does not fit and was left aside"
        return (None if image.mode in (*PLAIN_MODES, *_WITH_ALPHA) else image.convert("RGB")), note
    return managed, "colours brought to sRGB by its profile"
