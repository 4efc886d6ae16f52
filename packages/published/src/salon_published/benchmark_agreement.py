"""How far benchmarks agree on the order of the models that they share."""

from collections.abc import Mapping
from itertools import combinations

import polars as pl

from salon_ranking.agreement import spearman

FEWEST_IN_COMMON = 4
"""Below this many shared models no correlation is given: with three, any order is likely."""

_SCHEMA = {"one": pl.String, "other": pl.String, "common": pl.Int64, "spearman": pl.Float64}


def agreement(boards: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    """Return Spearman's ρ of every pair of boards, over the models that both rate.

    Args:
        boards: for each benchmark its models' ratings (any scale on which more is better).

    Returns:
        One row per pair with ``one``, ``other``, ``common`` (models in both) and ``spearman``, in [-1, 1] and
        null where fewer than four models are shared or where one board ties them all; ordered by ``common``, most first.

    Example:
        >>> a = {"w": 4.0, "x": 3.0, "y": 2.0, "z": 1.0}
        >>> agreement({"A": a, "B": a}).row(0)
        ('A', 'B', 4, 1.0)
    """
    rows = []
    for one, other in combinations(boards, 2):
        common = sorted(boards[one].keys() & boards[other].keys())
        rho = None
        if len(common) >= FEWEST_IN_COMMON:
            x = [boards[one][model] for model in common]
            y = [boards[other][model] for model in common]
            if len(set(x)) > 1 and len(set(y)) > 1:
                rho = spearman(x, y)
        rows.append((one, other, len(common), rho))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row").sort("common", descending=True, maintain_order=True)
