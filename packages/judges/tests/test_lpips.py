"""LPIPS with random weights in place of ImageNet's: the value of torchmetrics, symmetric, 0 for equal pictures."""

import numpy as np
import pytest

from salon_judges.scorers import lpips as room
from salon_taxonomy.errors import InputError

torch = pytest.importorskip("torch")
torchmetrics = pytest.importorskip("torchmetrics")
torchvision = pytest.importorskip("torchvision")


@pytest.fixture(autouse=True)
def random_weights(monkeypatch):
    """Stands for the download: the network is the real one, its weights are drawn."""
    real = torchvision.models.alexnet

    def drawn(**_):
        torch.manual_seed(0)
        return real(weights=None)

    monkeypatch.setattr(torchvision.models, "alexnet", drawn)
    room._loaded.cache_clear()
    yield
    room._loaded.cache_clear()


def pictures(side: int = 64):
    random = np.random.default_rng(0)
    base = random.integers(0, 255, (side, side + 8, 3)).astype(np.uint8)
    return base, (base + random.integers(0, 40, base.shape)).clip(0, 255).astype(np.uint8)


def test_lpips_is_that_of_torchmetrics_in_both_orders_and_zero_for_equal_pictures():
    base, new = pictures()
    metric = torchmetrics.image.lpip.LearnedPerceptualImagePatchSimilarity(net_type="alex", normalize=True)
    batch = [torch.from_numpy(each).permute(2, 0, 1)[None].float() / 255 for each in (base, new)]
    found = [room.lpips(base, new), room.lpips(new, base), room.lpips(base, new)]
    assert found == pytest.approx([float(metric(*batch))] * 3, abs=1e-6) and found[0] > 0
    assert room.lpips(base, base) == 0.0


def test_pictures_that_are_too_small_and_weights_that_cannot_be_had_are_named(monkeypatch):
    small = np.zeros((8, 8, 3), np.uint8)
    with pytest.raises(InputError, match="too small for LPIPS"):
        room.lpips(small, small)

    def none(**_):
        raise OSError("no network")

    monkeypatch.setattr(torchvision.models, "alexnet", none)
    room._loaded.cache_clear()
    with pytest.raises(InputError, match=r"cannot be loaded \(no network\)"):
        room.lpips(*pictures())
