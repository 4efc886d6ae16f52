"""Which judged battle each human vote is about, and both as scores of the first model of the pair."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.errors import OptionError
from salon_taxonomy.enums import Winner

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
_SCORES = {Winner.MODEL_A.value: 1.0, Winner.MODEL_B.value: 0.0}
"""What model_a gets; any other outcome is half a win."""


@dataclass(frozen=True, eq=False)
class Paired:
    """Judged battles, and the votes of people about some of them.

    Attributes:
        models: all of them, in ascending order.
        first, second: the models of each judged battle by number, in ascending order, shape (N,).
        judged: the judge's score of the first, shape (N,): 1, 0.5 or 0.
        battle: the judged battle of each vote, shape (n,).
        people: the vote's score of the first model, shape (n,).
        weight: of each vote, shape (n,), mean 1: the inverse of the chance that its battle was shown to people.
        groups: the clusters of the votes followed by the judged battles, shape (n + N,) each: by one column, or by two and
            their crossings.
    """

    models: tuple[str, ...]
    first: Codes
    second: Codes
    judged: Floats
    battle: NDArray[np.int64]
    people: Floats
    weight: Floats
    groups: tuple[Codes, ...]


def paired(people: Battles, judged: Battles, probability: str | None) -> Paired:
    """Match votes with judged battles by ``battle_id``, or by prompt and pair where either lacks it.

    Raises:
        OptionError: a vote is about no judged battle, or two judged battles have one key; the column of probabilities
            is missing; battles have weights.
    """
    if people.weight is not None or judged.weight is not None:
        raise OptionError("weights of battles cannot be corrected; leave them out", value=people.weight or judged.weight)
    votes, verdicts = _oriented(people), _oriented(judged)
    by_id = "battle_id" in votes.columns and "battle_id" in verdicts.columns
    key = ["battle_id", "first", "second"] if by_id else ["prompt_id", "first", "second"]
    for frame, name in ((votes, people.source), (verdicts, judged.source)):
        if key[0] not in frame.columns:
            problem = "votes and verdicts are matched by battle_id, or by prompt_id and pair; no such column"
            raise OptionError(problem, source=name, column=key[0])
    verdicts = verdicts.with_row_index("battle")
    twice = verdicts.filter(pl.struct(key).is_duplicated())
    if twice.height:
        raise OptionError("two verdicts about one battle; leave in one judge's, one of each order's", value=twice[key[0]][0])
    matched = votes.join(verdicts.select(*key, "battle"), on=key, how="left", maintain_order="left")
    strays = matched.filter(pl.col("battle").is_null())
    if strays.height:
        what = f"{strays.height} of {votes.height} votes are about no judged battle, such as that of"
        raise OptionError(what, source=people.source, column=key[0], value=strays[key[0]][0])
    models = pl.concat([verdicts["first"], verdicts["second"]]).unique().sort().to_list()
    number = {model: place for place, model in enumerate(models)}
    first, second = (verdicts[side].replace_strict(number, return_dtype=pl.UInt32).to_numpy() for side in ("first", "second"))
    return Paired(
        tuple(models),
        first,
        second,
        verdicts["score"].to_numpy(),
        matched["battle"].cast(pl.Int64).to_numpy(),
        matched["score"].to_numpy(),
        _weights(matched, probability, people.source),
        _groups(matched, verdicts, cluster_columns(people.cluster_by), people.source),
    )


def _oriented(battles: Battles) -> pl.DataFrame:
    """Return the battles with ``first`` and ``second`` in ascending order and ``score``, the first model's."""
    frame = battles.frame.collect()
    score = pl.col("winner").cast(pl.String).replace_strict(_SCORES, default=0.5, return_dtype=pl.Float64)
    a, b = pl.col("model_a").cast(pl.String), pl.col("model_b").cast(pl.String)
    return frame.with_columns(
        first=pl.min_horizontal(a, b), second=pl.max_horizontal(a, b), score=pl.when(a < b).then(score).otherwise(1.0 - score)
    )


def _weights(votes: pl.DataFrame, probability: str | None, source: str) -> Floats:
    if probability is None:
        return np.ones(votes.height)
    if probability not in votes.columns:
        raise OptionError("no such column", source=source, column=probability)
    chance = votes[probability].cast(pl.Float64, strict=False)
    wrong = votes.with_row_index("row", 1).filter(~(chance.is_between(0.0, 1.0, closed="right").fill_null(False)))
    if wrong.height:
        problem = f"row {wrong['row'][0]}: a probability is above 0 and at most 1, not"
        raise OptionError(problem, source=source, column=probability, value=wrong[probability][0])
    weights = 1.0 / chance.to_numpy()
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def _groups(votes: pl.DataFrame, verdicts: pl.DataFrame, cluster: Sequence[str], source: str) -> tuple[Codes, ...]:
    """Return clusters: by battle where no column of the verdicts is named, and by each named column."""
    shared = [column for column in cluster if column in verdicts.columns]
    of_people = [column for column in cluster if column not in verdicts.columns]
    if len(shared) > 1 or len(of_people) > 1:
        problem = "clusters are one column that the verdicts have (prompt_id), and one that they lack (rater_id), not"
        raise OptionError(problem, source=source, value=", ".join(cluster))
    battle = np.concatenate([votes["battle"].to_numpy(), np.arange(verdicts.height)])
    ways = [battle if not shared else (verdicts[shared[0]].cast(pl.String).rank("dense").to_numpy() - 1)[battle]]
    if of_people:
        raters = votes[of_people[0]].cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
        alone = raters.max(initial=-1) + 1 + np.arange(verdicts.height)
        ways.append(np.concatenate([raters, alone]))
        crossed = ways[0].astype(np.int64) * (int(ways[1].max(initial=0)) + 1) + ways[1]
        ways.append(np.unique(crossed, return_inverse=True)[1])
    return tuple(np.ascontiguousarray(way.astype(np.uint32)) for way in ways)
