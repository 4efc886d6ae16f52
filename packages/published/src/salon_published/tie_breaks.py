"""Every way to put equal values in an order: what a rank correlation could be if ties had been broken."""

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import factorial, prod


def tie_breaks(values: Sequence[float], limit: int) -> Iterator[list[float]]:
    """Return the values as dense ranks, once for every order of equal ones.

    With more than ``limit`` orders, only the given one.

    Example:
        >>> list(tie_breaks([0.9, 0.9, 0.8], 10))
        [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]
    """
    groups = {value: [i for i, other in enumerate(values) if other == value] for value in sorted(set(values))}
    if prod(factorial(len(members)) for members in groups.values()) > limit:
        yield list(values)
        return
    for orders in product(*(permutations(members) for members in groups.values())):
        places = [0.0] * len(values)
        for position, index in enumerate(index for order in orders for index in order):
            places[index] = float(position)
        yield places
