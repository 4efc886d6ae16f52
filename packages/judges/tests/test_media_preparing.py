"""A picture of any kind reaches the judge upright, opaque, in sRGB, at the suite's size; or not at all.

A scorer, whose rewards are to be the suite's numbers, sees the same picture: :func:`prepared` compares the two every time.
"""

import hashlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, TiffImagePlugin

from for_each import for_each
from salon_judges.media import Encoding, PicturePolicy, PreparedPicture, SourceLimits, prepare_bytes, prepare_picture
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.scorers import opened_picture
from salon_taxonomy.verdict import Unscored

KEEP = PicturePolicy()
RED, WHITE = (255, 0, 0), (255, 255, 255)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    stream = BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def prepared(data: bytes, policy: PicturePolicy = KEEP, **options: SourceLimits) -> PreparedPicture:
    ready = prepare_bytes(data, policy, **options)
    assert isinstance(ready, PreparedPicture), ready
    assert ready.original_sha256 == hashlib.sha256(data).hexdigest()
    assert ready.media.data is not None
    assert ready.media.sha256 == hashlib.sha256(ready.media.data).hexdigest()
    with Image.open(BytesIO(ready.media.data)) as shown:
        assert shown.size == (ready.width, ready.height)
    if policy == KEEP:
        for given in (data, Media.from_bytes(data), Image.open(BytesIO(data))):
            assert np.array_equal(np.asarray(opened_picture(given)), pixels(ready)), given
    return ready


def pixels(ready: PreparedPicture) -> np.ndarray:
    assert ready.media.data is not None
    with Image.open(BytesIO(ready.media.data)) as shown:
        return np.asarray(shown.convert("RGB"))


def why(data: bytes, policy: PicturePolicy = KEEP, **options: SourceLimits) -> str:
    verdict = prepare_bytes(data, policy, **options)
    assert isinstance(verdict, Unscored), verdict
    return verdict.detail


def drawing(width: int = 40, height: int = 30) -> Image.Image:
    """Four colours in the corners, so that every turn shows."""
    values = np.zeros((height, width, 3), np.uint8)
    values[: height // 2, : width // 2] = RED
    values[: height // 2, width // 2 :] = (0, 255, 0)
    values[height // 2 :, : width // 2] = (0, 0, 255)
    values[height // 2 :, width // 2 :] = (200, 200, 0)
    return Image.fromarray(values)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_plain_picture_is_sent_byte_for_byte(kind: str, tmp_path: Path) -> None:
    data = encoded(drawing(), kind)
    (tmp_path / "1.png").write_bytes(data)
    ready = prepare_picture(tmp_path / "1.png", KEEP, tmp_path)
    assert isinstance(ready, PreparedPicture)
    assert (ready.media.data, ready.notes, ready.width, ready.height) == (data, (), 40, 30)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF", "AVIF"])
def test_other_formats_become_png(kind: str) -> None:
    ready = prepared(encoded(drawing(), kind))
    assert ready.media.data is not None
    assert ready.media.data.startswith(b"\x89PNG")
    assert ready.notes == ()


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(encoded(drawing(), "JPEG"))
    (tmp_path / "2.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (tmp_path / "3.jpg").write_bytes(encoded(drawing(), "PPM"))
    assert isinstance(prepare_picture(tmp_path / "1.png", KEEP, tmp_path), PreparedPicture)
    for name in ("2.png", "3.jpg"):
        verdict = prepare_picture(tmp_path / name, KEEP, tmp_path)
        assert isinstance(verdict, Unscored)
        assert "none of the picture formats" in verdict.detail


@pytest.mark.parametrize(
    ("policy", "size"),
    [
        (PicturePolicy(longest_side=20), (20, 15)),
        (PicturePolicy(longest_side=40), (40, 30)),
        (PicturePolicy(most_pixels=300), (20, 15)),
        (PicturePolicy(longest_side=30, most_pixels=100), (11, 8)),
        (PicturePolicy(longest_side=4000), (40, 30)),
    ],
)
def test_large_pictures_are_made_smaller_and_small_ones_stay(policy: PicturePolicy, size: tuple[int, int]) -> None:
    ready = prepared(encoded(drawing()), policy)
    assert (ready.width, ready.height) == size
    assert (ready.original_width, ready.original_height) == (40, 30)
    assert ("made smaller" in ready.notes) == (size != (40, 30))


@pytest.mark.parametrize(("width", "height"), [(1, 5000), (5000, 1), (3, 4000)])
def test_lines_keep_at_least_one_pixel_a_side_and_the_limits(width: int, height: int) -> None:
    ready = prepared(encoded(Image.new("RGB", (width, height))), PicturePolicy(longest_side=100, most_pixels=50))
    assert ready.width >= 1
    assert ready.height >= 1
    assert ready.width * ready.height <= 50


def test_a_policy_out_of_range_is_refused() -> None:
    for wrong in ({"longest_side": 0}, {"most_pixels": -1}, {"quality": 0}, {"quality": 101}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            PicturePolicy(**wrong)


@pytest.mark.parametrize("encoding", [Encoding.JPEG, Encoding.WEBP, Encoding.PNG])
def test_an_encoding_that_is_asked_for_is_what_is_sent(encoding: Encoding) -> None:
    starts = {Encoding.JPEG: b"\xff\xd8", Encoding.WEBP: b"RIFF", Encoding.PNG: b"\x89PNG"}
    for kind in ("PNG", "JPEG", "GIF"):
        ready = prepared(encoded(drawing(), kind), PicturePolicy(encoding=encoding))
        assert ready.media.data is not None
        assert ready.media.data.startswith(starts[encoding])
        assert ready.notes == ()
    whole = encoded(drawing())
    assert prepared(whole, PicturePolicy(encoding=Encoding.PNG)).media.data == whole


def test_quality_changes_the_bytes_of_a_jpeg() -> None:
    low, high = (prepared(encoded(drawing()), PicturePolicy(encoding=Encoding.JPEG, quality=q)) for q in (30, 95))
    assert len(low.media.data or b"") < len(high.media.data or b"")


def test_metadata_are_not_written_into_a_new_file() -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    data = encoded(drawing(), "JPEG", exif=exif)
    assert b"a secret place" in data
    assert b"a secret place" not in (prepared(data, PicturePolicy(longest_side=20)).media.data or b"")


# ------------------------------------------------------------------------------------------------------- orientation


TURNED = {1: 0, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1, 7: 1, 8: 1}


@for_each("orientation", TURNED)
@for_each("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_orientation_of_exif_is_applied(kind: str, orientation: int) -> None:
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    upright = drawing()
    stored = upright.transpose(undo[orientation]) if orientation in undo else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    options: dict[str, object] = {"quality": 95} if kind in ("JPEG", "WEBP") else {}
    ready = prepared(encoded(stored, kind, exif=exif, **options))
    assert (ready.width, ready.height, ready.original_width, ready.original_height) == (40, 30, 40, 30)
    # In the middle of each quarter, where lossy formats blur nothing.
    assert np.abs(pixels(ready)[5::20, 8::24].astype(int) - np.asarray(upright)[5::20, 8::24]).max() < 30


@pytest.mark.parametrize("size", [(1, 1), (40, 1), (3, 9), (100, 101)])
def test_a_turned_jpeg_keeps_its_colours_however_small(size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    ready = prepared(encoded(Image.new("RGB", size, RED), "JPEG", exif=exif, quality=100))
    assert (ready.width, ready.height) == size[::-1]
    assert np.abs(pixels(ready).astype(int) - RED).max() <= 3


@pytest.mark.parametrize("exif", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0" + b"\xff" * 60])
def test_broken_exif_does_not_cost_the_picture(exif: bytes) -> None:
    data = encoded(drawing(), "JPEG", exif=exif)
    assert prepared(data).media.data == data


def test_an_orientation_that_means_nothing_turns_nothing() -> None:
    exif = Image.Exif()
    exif[0x0112] = 99
    data = encoded(drawing(), "JPEG", exif=exif)
    assert prepared(data).media.data == data


# ------------------------------------------------------------------------------------------------------------ colours


def test_transparent_parts_are_laid_onto_white() -> None:
    image = Image.new("RGBA", (4, 2), (*RED, 255))
    image.putpixel((0, 0), (0, 0, 0, 0))
    image.putpixel((1, 0), (*RED, 128))
    for kind in ("PNG", "WEBP", "TIFF"):
        ready = prepared(encoded(image, kind, **({"lossless": True} if kind == "WEBP" else {})))
        shown = pixels(ready)
        assert ready.notes == ("transparent parts laid onto white",)
        assert tuple(shown[0, 0]) == WHITE
        assert np.abs(shown[0, 1].astype(int) - (255, 127, 127)).max() <= 1
        assert tuple(shown[1, 3]) == RED


def test_an_alpha_channel_that_hides_nothing_changes_nothing() -> None:
    data = encoded(Image.new("RGBA", (4, 2), (*RED, 255)))
    assert prepared(data).media.data == data


def test_transparency_by_palette_grey_or_one_colour_is_laid_onto_white() -> None:
    palette = Image.new("P", (2, 1), 0)
    palette.putpalette([*RED, 0, 0, 255])
    palette.putpixel((1, 0), 1)
    cases = [
        encoded(palette, "PNG", transparency=0),
        encoded(palette, "PNG", transparency=bytes([0, 255])),
        encoded(palette, "GIF", transparency=0),
        encoded(Image.fromarray(np.array([[0, 90]], np.uint8)), "PNG", transparency=0),
        encoded(Image.fromarray(np.array([[RED, (0, 0, 255)]], np.uint8)), "PNG", transparency=RED),
        encoded(Image.fromarray(np.array([[[0, 0], [90, 255]]], np.uint8), "LA"), "PNG"),
        encoded(Image.fromarray(np.array([[0, 23130]], np.uint16)), "PNG", transparency=0),
    ]
    for data in cases:
        shown = pixels(prepared(data))
        assert tuple(shown[0, 0]) == WHITE
        assert tuple(shown[0, 1]) in ((0, 0, 255), (90, 90, 90))


@pytest.mark.parametrize("mode", ["L", "P", "1"])
def test_grey_palette_and_black_and_white_files_stay_as_they_are(mode: str) -> None:
    data = encoded(drawing().convert(mode))
    assert prepared(data).media.data == data
    assert np.array_equal(pixels(prepared(data, PicturePolicy(encoding=Encoding.PNG))), pixels(prepared(data)))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_of_grey_are_brought_to_eight_not_clipped(kind: str) -> None:
    values = np.array([[0, 128 * 257, 255 * 257, 65535, 1000]], np.uint16)
    ready = prepared(encoded(Image.fromarray(values), kind))
    assert ready.notes == ("brought to 8 bits",)
    assert pixels(ready)[0, :, 0].tolist() == [0, 128, 255, 255, 4]


def test_numbers_from_0_to_1_are_a_picture_and_others_are_not_guessed_at() -> None:
    def tiff(values: np.ndarray) -> bytes:
        return encoded(Image.fromarray(values), "TIFF")

    assert pixels(prepared(tiff(np.array([[0, 0.5, 1]], np.float32))))[0, :, 0].tolist() == [0, 128, 255]
    for wrong in ([[0, 255.0]], [[0, np.nan]], [[-0.1, 1]], [[np.inf, 1]]):
        assert "do not say what white is" in why(tiff(np.array(wrong, np.float32)))
    assert "32 bits" in why(tiff(np.array([[0, 70000]], np.int32)))


@pytest.mark.parametrize(("ink", "shown"), [((0, 0, 0, 0), WHITE), ((0, 255, 255, 0), RED), ((0, 0, 0, 255), (0, 0, 0))])
@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_printing_inks_become_the_colours_they_make(
    kind: str, ink: tuple[int, int, int, int], shown: tuple[int, int, int]
) -> None:
    ready = prepared(encoded(Image.new("CMYK", (16, 16), ink), kind))
    assert "CMYK turned into RGB without a colour profile" in ready.notes
    assert np.abs(pixels(ready)[8, 8].astype(int) - shown).max() <= 2


def test_lab_is_read_by_its_own_meaning() -> None:
    grey = Image.merge("LAB", [Image.new("L", (4, 4), value) for value in (255, 128, 128)])
    assert np.abs(pixels(prepared(encoded(grey, "TIFF"))).astype(int) - 255).max() <= 2


def _linear_profile() -> bytes:
    """sRGB's primaries with a gamma of 1, so that a middle grey must come out lighter."""
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = int.from_bytes(profile[128:132], "big")
    for place in range(132, 132 + 12 * count, 12):
        name, at = bytes(profile[place : place + 4]), int.from_bytes(profile[place + 4 : place + 8], "big")
        size = int.from_bytes(profile[place + 8 : place + 12], "big")
        if name.endswith(b"TRC"):
            curve = b"curv" + bytes(4) + (1).to_bytes(4, "big") + (256).to_bytes(2, "big")
            profile[at : at + len(curve)] = curve
        if name == b"desc":
            profile[at : at + size] = bytes(profile[at : at + size]).replace(
                "sRGB".encode("utf-16-be"), "flat".encode("utf-16-be")
            )
    return bytes(profile)


def test_a_colour_profile_is_applied_unless_it_is_srgb() -> None:
    grey = Image.new("RGB", (8, 8), (128, 128, 128))
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    plain = encoded(grey, icc_profile=srgb)
    assert prepared(plain).media.data == plain
    ready = prepared(encoded(grey, icc_profile=_linear_profile()))
    assert ready.notes == ("colours brought to sRGB by its profile",)
    assert np.abs(pixels(ready).astype(int) - 188).max() <= 2
    assert b"iCCP" not in (ready.media.data or b"")


def test_a_broken_profile_is_left_aside_and_said_so() -> None:
    data = encoded(drawing(), "JPEG", icc_profile=b"not a profile")
    ready = prepared(data)
    assert ready.media.data == data
    assert ready.notes == ("its colour profile does not fit and was left aside",)
    inks = prepared(encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", icc_profile=b"not a profile"))
    assert np.abs(pixels(inks)[8, 8].astype(int) - RED).max() <= 2


# ---------------------------------------------------------------------------------------------- several frames, limits


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF", "AVIF"])
def test_of_an_animated_picture_the_first_frame_is_shown_and_noted(kind: str) -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in (RED, (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100} if kind == "AVIF" else {}
    ready = prepared(encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options))
    assert "first of several frames" in ready.notes
    assert np.abs(pixels(ready)[8, 8].astype(int) - RED).max() <= 3


def test_more_pixels_than_allowed_are_refused_before_any_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL.PngImagePlugin import PngImageFile

    monkeypatch.setattr(PngImageFile, "load", lambda self: pytest.fail("decoded"))
    limits = SourceLimits(most_pixels=1199)
    assert why(encoded(drawing()), limits=limits) == "the picture has 40 × 30 pixels; at most 1,199 are decoded"


@pytest.mark.parametrize("size", [(100_000, 100_000), (2**31 - 1, 2**31 - 1), (0, 5)])
def test_a_head_that_promises_an_absurd_size_is_refused(size: tuple[int, int]) -> None:
    import zlib

    head = b"IHDR" + size[0].to_bytes(4, "big") + size[1].to_bytes(4, "big") + b"\x08\x02\0\0\0"
    bomb = b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + head + zlib.crc32(head).to_bytes(4, "big")
    body = b"IDAT" + zlib.compress(b"")
    assert why(bomb + (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big"))


def test_no_global_setting_of_pillow_is_touched() -> None:
    before = (Image.MAX_IMAGE_PIXELS, TiffImagePlugin.READ_LIBTIFF)
    prepared(encoded(drawing(), "TIFF"))
    assert before == (Image.MAX_IMAGE_PIXELS, TiffImagePlugin.READ_LIBTIFF)
