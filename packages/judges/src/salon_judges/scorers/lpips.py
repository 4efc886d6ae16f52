"""LPIPS, the distance of two pictures as a trained network sees them, by torchmetrics; needs the extra ``lpips``.

Zhang et al. 2018 (arXiv 1801.03924), version 0.1: the linear weights come with torchmetrics, the network's are torchvision's
own for ImageNet, which it downloads once or finds in torch's cache.
"""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra

Network = Literal["alex", "vgg"]
_COMPUTING = Lock()


def lpips(a: NDArray[np.uint8], b: NDArray[np.uint8], *, network: Network = "alex") -> float:
    """Return LPIPS of two pictures; 0 where they are equal, more where they are farther apart.

    Args:
        a: 8-bit RGB, shape (height, width, 3).
        b: of the same size.
        network: whose features are compared.

    Raises:
        InputError: the extra is not installed, the weights cannot be loaded, or the pictures are too small for the network.
    """
    with _COMPUTING:
        return _loaded(network)(a, b)


@cache
def _loaded(network: Network) -> Callable[[NDArray[np.uint8], NDArray[np.uint8]], float]:
    metrics: Any = extra("torchmetrics.image.lpip", "lpips", "salon-judges")
    import torch

    try:
        metric = metrics.LearnedPerceptualImagePatchSimilarity(net_type=network, normalize=True).eval()
    except (OSError, RuntimeError, ModuleNotFoundError) as error:
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the weights of LPIPS cannot be loaded ({message})", value=network) from error

    def distance(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
        pictures = [torch.from_numpy(np.array(each)).permute(2, 0, 1)[None].float() / 255 for each in (a, b)]
        try:
            with torch.inference_mode():
                value = float(metric(*pictures))
        except RuntimeError as error:
            raise InputError(f"the pictures are too small for LPIPS ({str(error).splitlines()[0]})") from error
        finally:
            metric.reset()
        return value

    return distance
