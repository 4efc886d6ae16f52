"""``rank_by``: one leaderboard per scenario, capability or rater."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from salon_ranking._index import reading
from salon_ranking.battles import Battles
from salon_ranking.bradley_terry import fit
from salon_ranking.errors import BattleError
from salon_ranking.leaderboard import NOT_GIVEN, Leaderboard
from salon_ranking.ranking import rank


def rank_by(battles: Battles, column: str, *, baseline: str | None = None, **options: object) -> tuple[Leaderboard, ...]:
    """One leaderboard per value of ``column`` (a scenario, a rater), in ascending order of the values.

    Battles whose value is null form a group of their own, named ``(not given)``. Without a named baseline, all groups
    share the overall default when it plays in each of them; else each group has its own.

    Args:
        options: as for :func:`rank`.

    Raises:
        BattleError: the column is missing; or as :func:`rank`, with the group named.

    Example:
        >>> votes = pl.DataFrame(
        ...     {"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a", "model_b"] * 2, "scenario": ["art"] * 4}
        ... )
        >>> [board.group for board in rank_by(Battles.from_frame(votes), "scenario", replicates=0)]
        ['art']
    """
    groups = _groups(battles, column)
    shared = _shared_baseline(battles, groups, options) if baseline is None else baseline
    boards = []
    for name, group in groups.items():
        board = rank(group, baseline=shared, **options)  # type: ignore[arg-type]
        boards.append(replace(board, source=battles.source, group=name))
    return tuple(boards)


def _groups(battles: Battles, column: str) -> dict[str, Battles]:
    with reading(battles.source):
        schema = battles.frame.collect_schema()
        if column not in schema:
            raise BattleError("missing column to group by", source=battles.source, value=column, allowed=schema.names())
        needed = dict.fromkeys(["model_a", "model_b", "winner", battles.weight, battles.cluster_by, column])
        columns = [pl.col(name) for name in needed if name is not None]
        key = pl.col(column).cast(pl.String).fill_null(NOT_GIVEN).alias("__group")
        text = pl.col("model_a", "model_b", "winner", "__group").cast(pl.Categorical)  # smaller than strings
        frame = battles.frame.select(*columns, key).with_columns(text).collect(engine="streaming")
    parts: Mapping[tuple[object, ...], pl.DataFrame] = frame.partition_by("__group", as_dict=True)
    return {
        name: Battles.from_frame(part, f"{battles.source}, {column} {name!r}", battles.cluster_by, battles.weight)
        for name, part in sorted(((str(key[0]), part) for key, part in parts.items()), key=lambda item: item[0])
    }


def _shared_baseline(battles: Battles, groups: Mapping[str, Battles], options: Mapping[str, object]) -> str | None:
    """The overall default baseline, when it plays in every group."""
    prior_ties = float(options.get("prior_ties", 0.0))  # type: ignore[arg-type]
    if prior_ties == 0.0 and battles.cells.components().any():
        return None
    default = fit(battles, prior_ties=prior_ties).baselines[0]
    return default if all(default in group.models for group in groups.values()) else None
