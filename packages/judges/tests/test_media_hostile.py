"""Whatever bytes a file holds, the answer is a picture or a reason; and a damaged file never passes for a whole one."""

import warnings
from io import BytesIO

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_judges.media import Encoding, PicturePolicy, PreparedPicture, SourceLimits, prepare_bytes
from salon_taxonomy.verdict import Reason, Unscored

LIMITS = SourceLimits(most_pixels=1_000_000)
POLICIES = [PicturePolicy(), PicturePolicy(longest_side=9), PicturePolicy(encoding=Encoding.JPEG)]
STARTS = [
    b"",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"\xff\xd8\xff\xe0\0\x10JFIF",
    b"\xff\xd8\xff\xe1\0\xffExif\0\0II*\0",
    b"GIF89a",
    b"BM",
    b"II*\0\x08\0\0\0",
    b"MM\0*\0\0\0\x08",
    b"II+\0\x08\0\0\0",
    b"RIFF\x20\0\0\0WEBPVP8 ",
    b"RIFF\x20\0\0\0WEBPVP8L",
    b"RIFF\x20\0\0\0WEBPVP8X",
    b"\0\0\0\x20ftypavif",
    b"\0\0\0\x20ftypmif1",
]


def _files() -> dict[str, bytes]:
    """A small valid file of every kind, some with all the extras that decoders stumble over."""
    noise = np.random.default_rng(0).integers(0, 255, (24, 32, 4), np.uint8)
    image, clear = Image.fromarray(noise[..., :3].copy()), Image.fromarray(noise)
    exif = Image.Exif()
    exif[0x0112] = 6
    made = {
        "png": ("PNG", image, {"exif": exif}),
        "png-alpha": ("PNG", clear, {}),
        "png-16": ("PNG", Image.fromarray(noise.view(np.uint16)[..., 0].copy()), {}),
        "png-palette": ("PNG", image.convert("P"), {"transparency": 3}),
        "apng": ("PNG", image, {"save_all": True, "append_images": [image.rotate(90)]}),
        "jpeg": ("JPEG", image, {"exif": exif, "quality": 60}),
        "jpeg-progressive": ("JPEG", image, {"progressive": True}),
        "jpeg-cmyk": ("JPEG", image.convert("CMYK"), {}),
        "gif": ("GIF", image.convert("P"), {"save_all": True, "append_images": [image.rotate(90)]}),
        "bmp": ("BMP", image, {}),
        "tiff": ("TIFF", image, {"exif": exif}),
        "tiff-lzw": ("TIFF", image, {"compression": "tiff_lzw"}),
        "tiff-float": ("TIFF", image.convert("F").point(lambda value: value / 255), {}),
        "webp": ("WEBP", image, {}),
        "webp-lossless": ("WEBP", clear, {"lossless": True}),
        "webp-animated": ("WEBP", image, {"save_all": True, "append_images": [image.rotate(90)]}),
        "avif": ("AVIF", image, {"speed": 10}),
    }
    files = {}
    for name, (kind, picture, options) in made.items():
        stream = BytesIO()
        picture.save(stream, kind, **options)
        files[name] = stream.getvalue()
    return files


FILES = _files()
CHECKED = ("png", "png-alpha", "png-16", "png-palette", "apng")


def outcome(data: bytes, policy: PicturePolicy = POLICIES[0]) -> PreparedPicture | Unscored:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ready = prepare_bytes(data, policy, limits=LIMITS)
    if isinstance(ready, Unscored):
        assert ready.reason is Reason.BAD_MEDIA
        assert ready.detail
        assert ready.detail.isprintable()
        assert len(ready.detail) < 2000
    else:
        assert ready.width >= 1
        assert ready.height >= 1
    return ready


def pixels(ready: PreparedPicture) -> np.ndarray:
    with Image.open(BytesIO(ready.media.data or b"")) as shown:
        return np.asarray(shown.convert("RGB"))


@for_each("name", FILES)
def test_the_whole_files_are_pictures(name: str) -> None:
    for policy in POLICIES:
        assert isinstance(outcome(FILES[name], policy), PreparedPicture)


@given(st.sampled_from(STARTS), st.binary(max_size=300), st.sampled_from(POLICIES))
@settings(max_examples=300)
def test_bytes_at_random_are_answered_in_words(start: bytes, rest: bytes, policy: PicturePolicy) -> None:
    outcome(start + rest, policy)


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere_is_refused_or_still_whole(name: str) -> None:
    data = FILES[name]
    whole = outcome(data)
    assert isinstance(whole, PreparedPicture)
    for length in range(0, len(data), max(1, len(data) // 150)):
        ready = outcome(data[:length])
        if isinstance(ready, PreparedPicture):
            assert np.array_equal(pixels(ready), pixels(whole)), (
                f"{name} cut to {length} of {len(data)} bytes shows another picture"
            )


@given(st.sampled_from(sorted(FILES)), st.lists(st.tuples(st.integers(0), st.integers(0, 7)), min_size=1, max_size=6))
@example("gif", [(10, 0)])
@settings(max_examples=60)
def test_flipped_bits_raise_nothing_and_do_not_pass_a_check_sum(name: str, flips: list[tuple[int, int]]) -> None:
    data = bytearray(FILES[name])
    for place, bit in flips:
        data[place % len(data)] ^= 1 << bit
    ready = outcome(bytes(data))
    if isinstance(ready, PreparedPicture) and name in CHECKED:
        whole = outcome(FILES[name])
        assert isinstance(whole, PreparedPicture)
        assert np.array_equal(pixels(ready), pixels(whole))


@given(st.sampled_from(sorted(FILES)), st.data())
@settings(max_examples=60)
def test_pieces_cut_out_and_doubled_raise_nothing(name: str, data: st.DataObject) -> None:
    whole = FILES[name]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    outcome(whole[:start] + whole[end:], data.draw(st.sampled_from(POLICIES)))
    outcome(whole[:end] + whole[start:], data.draw(st.sampled_from(POLICIES)))


def test_warnings_turned_into_errors_are_no_exception_either() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in FILES:
            for length in range(0, len(FILES[name]), max(1, len(FILES[name]) // 20)):
                prepare_bytes(FILES[name][:length], PicturePolicy(), limits=LIMITS)


def test_text_that_expands_without_end_is_refused() -> None:
    import zlib

    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    whole = FILES["png-alpha"]
    bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(80 << 20)))
    assert isinstance(outcome(whole[:33] + bomb + whole[33:]), Unscored)
