"""Pictures upright and in sRGB: what is done once is not done again, and what is right is left alone."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

from for_each import for_each
from salon_taxonomy.picture_colours import ColourError, to_srgb, upright
from salon_taxonomy.picture_decoding import Decoded, decode

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def picture(mode: str = "RGB", **saved: object) -> Image.Image:
    """Return a loaded picture of noise with unequal sides, through a PNG file."""
    values = np.random.default_rng(0).integers(0, 255, (5, 9, 4), dtype=np.uint8)
    stream = BytesIO()
    Image.fromarray(values, "RGBA").convert(mode).save(stream, "PNG", **saved)
    loaded = Image.open(stream)
    loaded.load()
    return loaded


@for_each("orientation", range(1, 9))
def test_an_upright_picture_stays_as_it_is_and_keeps_all_but_its_exif(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = picture(exif=exif, icc_profile=SRGB)
    turned, found = upright(image)
    assert found == orientation and turned.size == ((9, 5) if orientation < 5 else (5, 9))
    assert turned.info["icc_profile"] == SRGB and ("exif" in turned.info) is (orientation == 1)
    again, second = upright(turned)
    assert second == 1 and again is turned
    saved = BytesIO()
    turned.save(saved, "PNG")
    assert upright(Image.open(saved))[1] == 1  # a viewer of the saved file does not turn it a second time


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_a_picture_that_says_it_is_srgb_keeps_its_pixels(mode: str) -> None:
    with_profile, without = to_srgb(picture(mode, icc_profile=SRGB)), to_srgb(picture(mode))
    assert np.array_equal(np.asarray(with_profile.image), np.asarray(without.image))
    assert (with_profile.changed, with_profile.notes) == (without.changed, without.notes)


def test_sixteen_bits_are_rounded_to_the_nearest_of_eight() -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    found = to_srgb(Image.fromarray(values))
    assert np.array_equal(np.asarray(found.image.convert("L")), np.rint(values / 65535 * 255).astype(np.uint8))
    assert (found.changed, found.image.mode) == (True, "RGB")


@for_each(("lowest", "highest", "fits"), [(0, 1, True), (0.25, 0.5, True), (-0.01, 1, False), (0, 1.01, False)])
def test_numbers_say_what_white_is_only_from_0_to_1(lowest: float, highest: float, fits: bool) -> None:
    values = np.linspace(lowest, highest, 12, dtype=np.float32).reshape(3, 4)
    if fits:
        assert np.array_equal(np.asarray(to_srgb(Image.fromarray(values)).image.convert("L")), np.rint(values * 255))
    else:
        with pytest.raises(ColourError, match="from 0 to 1"):
            to_srgb(Image.fromarray(values))


@for_each(
    ("kind", "mode", "profile", "whole"),
    [
        ("JPEG", "RGB", None, False),
        ("JPEG", "L", None, False),
        ("JPEG", "CMYK", None, True),
        ("JPEG", "RGB", SRGB, True),
        ("PNG", "RGB", None, True),
    ],
)
def test_a_check_says_what_decoding_would_and_spares_the_pixels_of_a_plain_jpeg_alone(
    kind: str, mode: str, profile: bytes | None, whole: bool
) -> None:
    stream = BytesIO()
    picture("RGB").resize((90, 50)).convert(mode).save(stream, kind, **({"icc_profile": profile} if profile else {}))
    decoded, checked = (decode(stream.getvalue(), checked_only=only) for only in (False, True))
    assert isinstance(decoded, Decoded) and isinstance(checked, Decoded)
    assert (decoded.whole, checked.whole) == (True, whole)
    for name in ("kind", "width", "height", "changed", "notes"):
        assert getattr(decoded, name) == getattr(checked, name), name
    assert (checked.image.size == decoded.image.size) is whole
