"""Videos that Salon encodes: pictures at their times, a tone of the level that was asked for, refusals."""

from fractions import Fraction
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from for_each import for_each
from salon_taxonomy.errors import InputError
from salon_taxonomy.video_encoding import encode

av = pytest.importorskip("av")
PICTURES = [Image.new("RGB", (32, 16), (60 * number, 40, 90)) for number in range(4)]


def sound(content: bytes) -> tuple[np.ndarray, int]:
    """The samples of a film's sound, shape (channels, samples), -1 to 1, and its rate."""
    with av.open(BytesIO(content)) as film:
        frames = list(film.decode(audio=0))
    return np.concatenate([frame.to_ndarray() for frame in frames], axis=1), frames[0].sample_rate


@for_each(("level", "seconds"), [(-20.0, 1.5), (-6.0, 0.5)])
def test_a_tone_has_its_pitch_its_level_and_its_length_in_both_channels(tmp_path: Path, level: float, seconds: float) -> None:
    encode(tmp_path / "a.mp4", PICTURES, size=(32, 16), tone=(seconds, level))
    samples, rate = sound((tmp_path / "a.mp4").read_bytes())
    assert rate == 48_000 and samples.shape[0] == 2 and samples.shape[1] / rate == pytest.approx(seconds, abs=0.05)
    middle = samples[:, rate // 10 : rate // 10 + rate // 4]
    assert np.abs(middle).max() == pytest.approx(10 ** (level / 20), rel=0.03)
    assert np.sqrt((middle**2).mean()) == pytest.approx(10 ** (level / 20) / np.sqrt(2), rel=0.03)
    assert np.allclose(middle[0], middle[1], atol=0.01)
    crossings = (np.diff(np.signbit(middle[0]).astype(int)) != 0).sum()
    assert crossings / 2 / 0.25 == pytest.approx(997, rel=0.01)


@for_each("ending", [".mp4", ".mov", ".mkv", ".webm", ".avi"])
def test_pictures_are_shown_at_their_rate_in_every_container(tmp_path: Path, ending: str) -> None:
    encode(path := tmp_path / f"a{ending}", PICTURES, size=(32, 16), rate=Fraction(5, 2), tone=(0.5, -20.0))
    with av.open(str(path)) as film:
        frames = list(film.decode(video=0))
        assert len(film.streams.audio) == 1
    assert [float(frame.time) for frame in frames] == pytest.approx([0.0, 0.4, 0.8, 1.2], abs=0.002)
    assert {frame.rotation for frame in frames} == {0}
    for frame, picture in zip(frames, PICTURES, strict=True):
        assert np.abs(frame.to_ndarray(format="rgb24").mean((0, 1)) - np.asarray(picture).mean((0, 1))).max() < 12


def test_pictures_are_shown_at_their_stamps_turned_and_into_an_open_file(tmp_path: Path) -> None:
    into = BytesIO()
    encode(Path("a.mp4"), PICTURES, size=(32, 16), stamps=[0, 40, 500, 560], rotation=90, into=into)
    with av.open(BytesIO(into.getvalue())) as film:
        frames = list(film.decode(video=0))
        assert not film.streams.audio
    assert [float(frame.time) for frame in frames] == pytest.approx([0.0, 0.04, 0.5, 0.56], abs=0.002)
    assert {frame.rotation for frame in frames} == {90} and not list(tmp_path.iterdir())


def test_nothing_is_turned_where_nothing_is_said() -> None:
    plain, turned = (BytesIO(), BytesIO())
    encode(Path("a.mp4"), PICTURES, size=(32, 16), into=plain)
    encode(Path("a.mp4"), PICTURES, size=(32, 16), rate=10, rotation=0, into=turned)
    assert plain.getvalue() == turned.getvalue()


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown ending of a video"):
        encode(tmp_path / "a.gif", PICTURES, size=(32, 16))
    assert not list(tmp_path.iterdir())
