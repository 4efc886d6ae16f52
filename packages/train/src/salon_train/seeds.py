"""Torch's generators, from seeds of any size."""

import hashlib

import torch


def torch_seed(number: int) -> int:
    """Return the seed of torch's generators for a number: 0 to 2**32 - 1.

    Of a larger seed torch's generator of the processor reads the low 32 bits alone, so that 2**40 and 0 draw the same. Numbers
    of 32 bits are their own seeds; others are hashed.

    Args:
        number: whole, of any size and sign.

    Example:
        >>> torch_seed(7), torch_seed(2**40), torch_seed(2**41)
        (7, 716065193, 1351573292)
    """
    if 0 <= number < 2**32:
        return number
    return int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:4], "big")


def generator_of(number: int) -> torch.Generator:
    """Return a generator of the processor, seeded with :func:`torch_seed`.

    Example:
        >>> bool(torch.rand((), generator=generator_of(0)) == torch.rand((), generator=generator_of(2**40)))
        False
    """
    return torch.Generator().manual_seed(torch_seed(number))
