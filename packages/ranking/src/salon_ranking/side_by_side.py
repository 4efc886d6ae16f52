"""``compare``: several boards side by side, such as experts' and the public's, and who climbs or falls between them."""

from collections.abc import Sequence

import polars as pl

from salon_ranking.errors import OptionError
from salon_ranking.leaderboard import RANK_DIGITS, Leaderboard


def compare(boards: Sequence[Leaderboard]) -> pl.DataFrame:
    """Ratings and ranks of all boards side by side, with rank changes against the first.

    Ranks are counted anew among the models that every board rates, as a place among ten says nothing beside a place among
    eight; a model that some board does not rate has no rank here.

    Returns:
        One row per model, in the order of the first board, then the others: ``model``, and for every board, by its group
        (``all`` for all battles): ``rating G``, ``rank G``, and from the second on ``change G`` (places gained
        against the first board; negative: lost).

    Raises:
        OptionError: fewer than two boards, two with the same group, or one whose models cannot all be compared.

    Example:
        >>> from salon_ranking import Battles, rank_by
        >>> votes = pl.DataFrame(
        ...     {
        ...         "model_a": ["x"] * 6,
        ...         "model_b": ["y"] * 6,
        ...         "winner": ["model_a", "model_a", "model_b", "model_b", "model_b", "model_a"],
        ...         "mode": ["expert"] * 3 + ["public"] * 3,
        ...     }
        ... )
        >>> compare(rank_by(Battles.from_frame(votes), "mode", replicates=0)).select("model", "^rank.*|change.*$").rows()
        [('x', 1, 2, -1), ('y', 2, 1, 1)]
    """
    names = [board.group or "all" for board in boards]
    if len(boards) < 2 or len(set(names)) < len(names):
        raise OptionError("side by side stand two or more boards of different groups, not", value=names)
    for board in boards:
        if board.components > 1:
            problem = "its models cannot all be compared, so it has no places to set beside others"
            raise OptionError(problem, source=board.source, value=board.group)
    shared = set.intersection(*(set(board.table["model"]) for board in boards))
    models = list(dict.fromkeys(model for board in boards for model in board.table["model"]))
    table = pl.DataFrame({"model": pl.Series(models, dtype=pl.String)})
    for board, name in zip(boards, names, strict=True):
        among = pl.when(pl.col("model").is_in(list(shared))).then(pl.col("rating").round(RANK_DIGITS))
        place = among.rank("min", descending=True).cast(pl.Int64)
        own = board.table.select("model", pl.col("rating").alias(f"rating {name}"), place.alias(f"rank {name}"))
        table = table.join(own, on="model", how="left", maintain_order="left")
    changes = [(pl.col(f"rank {names[0]}") - pl.col(f"rank {name}")).alias(f"change {name}") for name in names[1:]]
    ordered = ["model"]
    for name in names:
        ordered += [f"rating {name}", f"rank {name}", *([f"change {name}"] if name != names[0] else [])]
    return table.with_columns(changes).select(ordered)
