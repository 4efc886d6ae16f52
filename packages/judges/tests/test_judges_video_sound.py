"""The sound of videos: loudness beside a measure written from the standard, and samples that are no numbers."""

import io
from fractions import Fraction

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from salon_judges.media.video_sound import LEVEL, RATE, levelled_sound, loudness
from salon_taxonomy.verdict import Unscored

TIMES = np.arange(2 * RATE) / RATE
TONE = 0.1 * np.sin(2 * np.pi * 997 * TIMES)


def video(wave: NDArray[np.float64]) -> bytes:
    """A video of two seconds with this mono sound, sample for sample."""
    out = io.BytesIO()
    with av.open(out, "w", format="matroska") as container:
        pictures = container.add_stream("libx264", rate=10)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("pcm_f32le", rate=RATE, layout="mono")
        for number in range(20):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), number * 5, np.uint8), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            container.mux(pictures.encode(frame))
        container.mux(pictures.encode())
        heard = av.AudioFrame.from_ndarray(wave[None].astype(np.float32), format="flt", layout="mono")
        heard.sample_rate, heard.pts, heard.time_base = RATE, 0, Fraction(1, RATE)
        container.mux(sound.encode(heard))
        container.mux(sound.encode())
    return out.getvalue()


def filtered(b: tuple[float, ...], a: tuple[float, ...], wave: NDArray[np.float64]) -> NDArray[np.float64]:
    made = np.zeros_like(wave)
    x1 = x2 = y1 = y2 = 0.0
    for place, x in enumerate(wave):
        y = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1, y2, y1, made[place] = x1, x, y1, y, y
    return made


def measured(wave: NDArray[np.float64]) -> float:
    """Integrated loudness by ITU-R BS.1770-4 of a mono sound that two channels share, at 48,000 samples per second."""
    shelf = filtered((1.53512485958697, -2.69169619938640, 1.19839281085285), (-1.69065929318241, 0.73248077421585), wave)
    weighted = filtered((1.0, -2.0, 1.0), (-1.99004745483398, 0.99007225036621), shelf)
    blocks = [weighted[begin : begin + 19_200] for begin in range(0, len(weighted) - 19_199, 4_800)]
    power = np.array([np.mean(block**2) for block in blocks])
    levels = -0.691 + 10 * np.log10(power)
    loud = levels > -70
    loud &= levels > -0.691 + 10 * np.log10(power[loud].mean()) - 10
    return float(-0.691 + 10 * np.log10(power[loud].mean()))


@pytest.mark.parametrize("seed", [0, 1])
def test_loudness_is_that_of_the_standard_for_noise_with_a_quiet_part(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.05, 2 * RATE)
    noise[50_000 + 9_000 * seed :] *= 0.02  # below the relative gate
    assert loudness(video(noise)) == pytest.approx(measured(noise), abs=0.05)
    assert loudness(video(TONE)) == pytest.approx(measured(TONE), abs=0.05)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e30])
def test_samples_that_are_no_numbers_or_too_large_become_some(wrong: float) -> None:
    wave = TONE.copy()
    wave[RATE : RATE + 100] = wrong
    assert isinstance(loudness(video(wave)), float | Unscored)
    heard = np.concatenate([frame.to_ndarray().reshape(-1) for frame in levelled_sound(video(wave), 2.0)])
    assert np.isfinite(heard).all() and abs(heard).max() <= 1.0


def test_a_levelled_copy_has_the_level_and_the_length() -> None:
    heard = np.concatenate([frame.to_ndarray().reshape(-1, 2) for frame in levelled_sound(video(TONE), 3.0)])
    assert heard.shape == (3 * RATE, 2) and not heard[2 * RATE + 2_000 :].any(), "behind it is silence"
    assert measured(heard[:, 0] * np.sqrt(2)) == pytest.approx(LEVEL, abs=0.3)
