"""Pixel measures: equal to scikit-image and torchmetrics, and what must hold of each."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from for_each import for_each
from salon_ranking.pixels import LEAST_SIDE, WINDOW, colour_difference, ms_ssim, psnr, ssim
from salon_taxonomy.errors import InputError

MEASURES: dict[str, tuple[Callable[..., float], int, float]] = {
    "psnr": (psnr, 1, math.inf),
    "ssim": (ssim, WINDOW, 1.0),
    "ms_ssim": (ms_ssim, LEAST_SIDE, 1.0),
    "colour_difference": (colour_difference, 1, 0.0),
}
"""Each with its least side and its value of equal pictures."""
EXPONENTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def pictures(seed: int, height: int, width: int, noise: float = 12.0) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A smooth picture with colours and edges, and the same with noise."""
    random = np.random.default_rng(seed)
    walk = np.cumsum(np.cumsum(random.normal(0.0, 3.0, (height, width, 3)), 0), 1) / max(height, width) ** 0.5
    base = np.clip(128.0 + walk, 0, 255)
    base[height // 3 :, : width // 2] = random.integers(0, 256, 3)
    return base.astype(np.uint8), np.clip(base + random.normal(0.0, noise, base.shape), 0, 255).astype(np.uint8)


@for_each("size", [(11, 11), (40, 64), (97, 33)])
@for_each("noise", [1.0, 12.0, 90.0])
def test_measures_equal_those_of_scikit_image(size, noise):
    a, b = pictures(3, *size, noise)
    assert psnr(a, b) == pytest.approx(peak_signal_noise_ratio(a, b, data_range=255), abs=1e-9)
    options = {"data_range": 255, "channel_axis": 2, "gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    assert ssim(a, b) == pytest.approx(structural_similarity(a, b, **options), abs=1e-9)
    assert colour_difference(a, b) == pytest.approx(deltaE_ciede2000(rgb2lab(a), rgb2lab(b)).mean(), abs=1e-6)


@pytest.mark.slow  # importing torchmetrics takes many seconds
def test_measures_equal_those_of_torchmetrics_where_its_window_lies_within():
    """Its SSIM and the coarsest scale of its MS-SSIM are of padded pictures: here they are cropped, and scales multiplied."""
    from torch import from_numpy
    from torch.nn.functional import avg_pool2d
    from torchmetrics.functional.image import peak_signal_noise_ratio as torch_psnr
    from torchmetrics.functional.image import structural_similarity_index_measure as torch_ssim

    for size, noise in (((176, 176), 12.0), ((199, 181), 60.0)):
        a, b = pictures(5, *size, noise)
        one, other = (from_numpy(picture).permute(2, 0, 1)[None].double() for picture in (a, b))
        assert psnr(a, b) == pytest.approx(float(torch_psnr(one, other, data_range=255.0)), rel=1e-6)
        product = 1.0
        for scale, exponent in enumerate(EXPONENTS):
            whole = torch_ssim(one, other, data_range=255.0, return_full_image=True)[1][..., 5:-5, 5:-5].mean()
            contrast = torch_ssim(one, other, data_range=255.0, return_contrast_sensitivity=True)[1]
            if scale == 0:
                assert ssim(a, b) == pytest.approx(float(whole), abs=1e-6)
            product *= float(whole if scale == len(EXPONENTS) - 1 else contrast) ** exponent
            one, other = avg_pool2d(one, 2), avg_pool2d(other, 2)
        assert ms_ssim(a, b) == pytest.approx(product, abs=1e-6)


def test_colour_differences_of_all_kinds_of_pairs_equal_scikit_image():
    random = np.random.default_rng(8)
    corners = np.array([(r, g, b) for r in (0, 90, 255) for g in (0, 90, 255) for b in (0, 90, 255)], np.uint8)
    pairs = np.stack(np.broadcast_arrays(corners[:, None], corners[None]), -2).reshape(-1, 2, 3)
    pairs = np.concatenate([pairs, random.integers(0, 256, (500, 2, 3), dtype=np.uint8)])
    expected = deltaE_ciede2000(rgb2lab(pairs[:, 0]), rgb2lab(pairs[:, 1]))
    found = [colour_difference(one[None, None], other[None, None], threads=1) for one, other in pairs]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@given(seed=st.integers(0, 2**32), more=st.tuples(st.integers(0, 40), st.integers(0, 40)), noise=st.floats(0.5, 100.0))
def test_what_holds_of_every_measure_at_every_size(seed, more, noise):
    for measure, least, best in MEASURES.values():
        # Five scales leave out the last rows and columns of other sides, which a flip makes the first.
        height, width = (least + (each - each % 16 if measure is ms_ssim else each) for each in more)
        a, b = pictures(seed, height, width, noise)
        value = measure(a, b)
        assert measure(b, a) == value and measure(a, a.copy()) == best
        for axes in (0, 1):
            assert measure(np.flip(a, axes), np.flip(b, axes)) == pytest.approx(value, rel=1e-9)
        if measure is not psnr:
            assert measure(a, b, threads=1) == measure(a, b, threads=5) == value


@for_each("name", list(MEASURES))
def test_more_noise_is_worse(name):
    measure, _, best = MEASURES[name]
    values = [measure(*pictures(11, 180, 190, noise)) for noise in (0.5, 2.0, 8.0, 32.0, 128.0)]
    assert values == sorted(values, reverse=best > 0.0)
    assert len(set(values)) == len(values)


@for_each("name", list(MEASURES))
def test_what_is_no_pair_of_pictures_is_refused(name):
    measure, least, _ = MEASURES[name]
    good = np.zeros((least, least, 3), np.uint8)
    not_pictures = [good.astype(float), np.full(good.shape, np.nan), good[..., 0], good[..., :2], good[None], None, "1.png"]
    for wrong in [*not_pictures, good.tolist(), good.astype(np.int16)]:
        for pair in ((good, wrong), (wrong, good)):
            with pytest.raises(InputError, match="must be 8-bit RGB"):
                measure(*pair)
    with pytest.raises(InputError, match=f"sizes differ: {least}x{least} and {least + 1}x{least}"):
        measure(good, np.zeros((least, least + 1, 3), np.uint8))
    for small in (np.zeros((least - 1, least, 3), np.uint8), np.zeros((least, least - 1, 3), np.uint8)):
        with pytest.raises(InputError, match=f"needs {least} pixels or more in height and width, not"):
            measure(small, small)


def test_a_part_of_a_picture_and_one_turned_are_read_where_they_are():
    a, b = pictures(2, 60, 80)
    for part in (np.s_[5:40, 10:70], np.s_[::-1, ::2]):
        assert ssim(a[part], b[part]) == ssim(a[part].copy(), b[part].copy())
        assert psnr(a[part], b[part]) == psnr(a[part].copy(), b[part].copy())
