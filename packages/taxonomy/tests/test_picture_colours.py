"""Pictures upright and in sRGB: what is done once is not done again, and what is right is left alone."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

from for_each import for_each
from salon_taxonomy.picture_colours import to_srgb, upright

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
