"""Which judged battles people should vote on: a random part with known chances."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles
from salon_ranking.correction.pairing import KEYS, Floats, oriented
from salon_ranking.errors import OptionError
from salon_ranking.options import Options, Range, Seed, with_options

DRAWN = "drawn"
PROBABILITY = "probability"
_FLOOR = 0.25
"""No spread counts as less than this share of their mean: no vote weighs too much where the judge is sure and wrong."""


@dataclass(frozen=True, kw_only=True)
class DrawOptions(Options):
    """How battles are drawn.

    Attributes:
        count: how many.
        chance_of_a: a column with the judge's chance that model_a wins, from 0 to 1 (a soft answer; the share of several
            judges, or of both orders): battles near a half are drawn more often. None: all alike.
        seed: of the draw.
    """

    count: Annotated[int, Range(1, 10**9)]
    chance_of_a: str | None = None
    seed: Seed = 0


@with_options(DrawOptions)
def draw_for_people(judged: Battles, options: DrawOptions) -> pl.DataFrame:
    """Draw judged battles for people to vote on, so that ``correct_ratings`` may use the votes.

    Exactly ``count`` battles are drawn, each with its own chance, by systematic sampling in random order (Madow 1949,
    doi:10.1214/aoms/1177729988); with ``battle_id`` whatever order the rows have. Without a column all chances are equal. With
    one they are in proportion to the square root of p (1 - p), what people's answers spread by if the judge's chance p were
    true, but not below a fifth of the mean chance.

    Args:
        judged: one verdict per battle, or one of each judge (``rater_id``).
        options: as keywords, the fields of :class:`DrawOptions`.

    Returns:
        The verdicts, with ``probability``, in (0, 1], and ``drawn``, true for those on ``count`` battles: what the arena's
        ``--only`` and ``correct_ratings(probability="probability")`` read.

    Raises:
        OptionError: there are fewer battles, the column is missing, or one of its values is no number from 0 to 1.

    Example:
        >>> verdicts = {"model_a": ["x"] * 4, "model_b": ["y"] * 4, "winner": ["model_a"] * 4, "p": [0.5, 0.99, 0.5, 0.99]}
        >>> drawn = draw_for_people(verdicts, count=2, chance_of_a="p")
        >>> drawn["probability"].round(2).to_list(), drawn["drawn"].sum()
        ([0.83, 0.17, 0.83, 0.17], 2)
    """
    frame = judged.frame.collect().drop("__row", PROBABILITY, DRAWN, strict=False)
    battle = battle_numbers(judged)
    first = np.unique(battle, return_index=True)[1]
    if len(first) < options.count:
        raise OptionError("there are fewer battles than are to be drawn:", source=judged.source, value=len(first))
    spread = np.ones(len(first))
    if options.chance_of_a is not None:
        spread = np.bincount(battle, _spread(frame, options.chance_of_a, judged.source)) / np.bincount(battle)
    by_id = np.arange(len(first))
    if "battle_id" in frame.columns:
        by_id = frame["battle_id"].cast(pl.String).gather(first).arg_sort().to_numpy()
    chances, drawn = drawn_rows(spread[by_id], options.count, options.seed)
    inverse = np.argsort(by_id)
    return frame.with_columns(pl.Series(PROBABILITY, chances[inverse][battle]), pl.Series(DRAWN, drawn[inverse][battle]))


def battle_numbers(judged: Battles) -> NDArray[np.int64]:
    """Return the battle of each verdict, by number from 0.

    Verdicts of several judges are on one battle where they share an id, both pictures, or prompt and pair; each judge has one.
    """
    frame = oriented(judged)
    if "rater_id" in frame.columns and frame["rater_id"].n_unique() > 1:
        for key in KEYS.values():
            if {*key} <= {*frame.columns} and not any(frame[name].null_count() for name in key):
                one, of_judge = (
                    frame.select(pl.struct(names).is_duplicated().any()).item() for names in (key, (*key, "rater_id"))
                )
                if one and not of_judge:
                    name = pl.concat_str(pl.col(key).cast(pl.String), separator="\x1f")
                    return frame.select(name.rank("dense")).to_series().cast(pl.Int64).to_numpy() - 1
    return np.arange(frame.height)


def drawn_rows(spread: Floats, count: int, seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Draw ``count`` of several rows, with chances in proportion to their spread, or to a quarter of its mean if that is more.

    Args:
        spread: of each row, 0 or more, shape (n,).
        count: at most n.
        seed: of the draw.

    Returns:
        The chances, in (0, 1], and which rows are drawn, shape (n,) each.

    Example:
        >>> chances, drawn = drawn_rows(np.array([1.0, 1.0, 0.0, 2.0]), 2, seed=0)
        >>> chances.round(2).tolist(), int(drawn.sum())
        ([0.47, 0.47, 0.12, 0.94], 2)
    """
    chances = _chances(np.maximum(spread, _FLOOR * spread.mean()), count)
    random = np.random.default_rng(seed)
    order = random.permutation(len(spread))
    steps = np.floor(np.cumsum(chances[order]) * (1.0 - 1e-12) + random.random())
    drawn = np.zeros(len(spread), dtype=np.bool_)
    drawn[order] = np.diff(steps, prepend=0.0) > 0.0
    return chances, drawn


def _spread(frame: pl.DataFrame, column: str, source: str) -> Floats:
    if column not in frame.columns:
        raise OptionError("no such column", source=source, column=column, allowed=frame.columns)
    chance = frame[column].cast(pl.Float64, strict=False)
    wrong = ~chance.is_between(0.0, 1.0).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"row {row + 1}: a chance is a number from 0 to 1, not"
        raise OptionError(problem, source=source, column=column, value=str(frame[column][row]))
    values = chance.to_numpy()
    return np.sqrt(values * (1.0 - values)) + 1e-9


def _chances(spread: Floats, count: int) -> Floats:
    """Return chances in proportion to the spread that add up to ``count``, none above 1."""
    chances = np.zeros(len(spread))
    sure = np.zeros(len(spread), dtype=np.bool_)
    while True:
        rest = count - int(sure.sum())
        chances = np.where(sure, 1.0, spread * rest / max(float(spread[~sure].sum()), 1e-300))
        above = ~sure & (chances >= 1.0)
        if not above.any():
            return chances
        sure |= above
