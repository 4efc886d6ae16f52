"""Which board predicts a source that it has not seen? ``python -m studies.ledger`` leaves out one source at a time.

From all other sources, less the numbers that they quote from it, four boards are made; each predicts the order of every pair
of models in the columns of the source that was left out. The result is in ``docs/ledger.md``.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_published.consensus import PRIOR_TIES
from salon_published.derived_battles import derive_battles
from salon_published.ledger import compared_scores
from salon_published.manifest import GenerationTask
from salon_published.registry import registry
from salon_ranking import Battles, fit
from salon_ranking.uncertainty.means import mean_with_interval

Board = Mapping[str, float]
FEWEST_PAIRS: Final = 5
"""A source with fewer predictable pairs is left out of the means."""
ROUNDS: Final = 40
RIDGE: Final = 0.3
"""Of the abilities, in standard deviations of a column: an ability that one number supports is drawn to the middle."""


def newer(train: pl.DataFrame) -> Board:
    """Return the month of release of each model: a later one is taken for better."""
    months = {model.id: model.released for model in registry().models if model.released is not None}
    return {model: float(months[model].replace("-", "")) for model in train["model"].unique() if model in months}


def mean_of_z(train: pl.DataFrame) -> Board:
    """Return the mean of each model's standardised scores."""
    z = (pl.col("merit") - pl.col("merit").mean()) / (pl.col("merit").std() + 1e-12)
    means = train.with_columns(z=z.over("track")).group_by("model").agg(pl.col("z").mean())
    return dict(means.drop_nulls().iter_rows())


def hierarchical(train: pl.DataFrame) -> Board:
    """Return abilities of the model score = difficulty + slope · ability, one difficulty and slope per benchmark and track.

    Alternating least squares with a ridge on abilities and on slopes (towards 1); a source's numbers weigh 1 / √columns, so
    that one with many columns does not decide alone.
    """
    z = (pl.col("merit") - pl.col("merit").mean()) / (pl.col("merit").std() + 1e-12)
    columns = pl.col("track").n_unique().over("source")
    rows = train.with_columns(z=z.over("measures").fill_null(0.0), weight=1.0 / columns.sqrt())
    models = rows["model"].unique().sort()
    m = rows["model"].replace_strict(models, range(len(models)), return_dtype=pl.Int64).to_numpy()
    measures = rows["measures"].unique().sort()
    c = rows["measures"].replace_strict(measures, range(len(measures)), return_dtype=pl.Int64).to_numpy()
    values, weight = rows["z"].to_numpy(), rows["weight"].to_numpy()

    def summed(index: NDArray[np.int64], terms: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(index, weight * terms).astype(np.float64)

    ability = summed(m, values) / summed(m, np.ones(len(m)))
    for _ in range(ROUNDS):
        own = ability[m]
        n, of_a, of_aa = summed(c, np.ones(len(c))), summed(c, own), summed(c, own * own)
        of_z, of_az = summed(c, values), summed(c, own * values)
        slope = np.clip(((of_az + 1.0) * n - of_a * of_z) / ((of_aa + 1.0) * n - of_a**2), 0.05, 5.0)
        difficulty = (of_z - slope * of_a) / n
        ability = summed(m, slope[c] * (values - difficulty[c])) / (summed(m, slope[c] ** 2) + RIDGE)
        ability = (ability - ability.mean()) / ability.std()
    return dict(zip(models.to_list(), ability.tolist(), strict=True))


def bradley_terry(train: pl.DataFrame) -> Board:
    """Return the ratings of derived battles: the board of ``salon papers board``."""
    found = fit(Battles.from_frame(derive_battles(train)), prior_ties=PRIOR_TIES)
    return dict(zip(found.models, found.log_strengths.tolist(), strict=True))


BOARDS: Final[dict[str, Callable[[pl.DataFrame], Board]]] = {
    "newer is better": newer,
    "mean of z-scores": mean_of_z,
    "hierarchical": hierarchical,
    "Bradley–Terry": bradley_terry,
}


def without_quotes(train: pl.DataFrame, test: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``train`` that do not repeat a number of ``test``."""
    same = train.join(test.select("measures", "model", other="value"), on=["measures", "model"], how="left").with_columns(
        quoted=((pl.col("value") - pl.col("other")).abs() <= pl.col("step")).fill_null(False)
    )
    rows = ["source", "table", "column", "model"]
    quoted = same.filter("quoted").unique(rows)
    return train.join(quoted, on=rows, how="anti", maintain_order="left")


def right_pairs(test: pl.DataFrame, board: Board) -> tuple[float, int]:
    """Return how many pairs of unequal scores a board orders right (equal ratings: a half), and how many there are."""
    right, pairs = 0.0, 0
    for _, column in test.group_by("track", maintain_order=True):
        merit = column["merit"].to_numpy()
        rating = np.array([board[model] for model in column["model"]])
        truth, said = np.sign(merit[:, None] - merit), np.sign(rating[:, None] - rating)
        unequal = np.triu(truth != 0, 1)
        right += float((truth == said)[unequal].sum()) + 0.5 * float((said == 0)[unequal].sum())
        pairs += int(unequal.sum())
    return right, pairs


def left_out(task: str) -> Iterator[tuple[str, dict[str, float], int]]:
    """Yield each source of a task with the share of its pairs that every board predicts, and the number of pairs.

    Pairs of models that some board does not know are left out for all boards.
    """
    sign = pl.when(pl.col("direction") == "higher").then(1.0).otherwise(-1.0)
    scores = compared_scores(task).with_columns(merit=sign * pl.col("value"))
    for source in scores["source"].unique(maintain_order=True):
        test = scores.filter(source=source)
        train = without_quotes(scores.filter(pl.col("source") != source), test)
        boards = {name: make(train) for name, make in BOARDS.items()}
        known = test.filter(pl.col("model").is_in(list(set.intersection(*(set(board) for board in boards.values())))))
        right = {name: right_pairs(known, board) for name, board in boards.items()}
        pairs = next(iter(right.values()))[1]
        if pairs >= FEWEST_PAIRS:
            yield source, {name: hits / pairs for name, (hits, _) in right.items()}, pairs


def table(tasks: list[str]) -> str:
    """Return the result as Markdown: the mean over sources of the share of pairs in the right order, with 95% intervals."""
    names = [*BOARDS, "hierarchical less Bradley–Terry"]
    lines = [f"| task | sources | pairs | {' | '.join(names)} |", "| --- " * (len(names) + 3) + "|"]
    for task in tasks:
        found = list(left_out(task))
        columns = [[shares[name] for _, shares, _ in found] for name in BOARDS]
        gains = [shares["hierarchical"] - shares["Bradley–Terry"] for _, shares, _ in found]
        cells = [_cell(values) for values in (*columns, gains)]
        lines.append(f"| {task} | {len(found)} | {sum(pairs for *_, pairs in found):,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(values: list[float]) -> str:
    mean, (low, high) = mean_with_interval(values)
    return f"{mean:.3f}" if low is None or high is None else f"{mean:.3f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1:] or [str(task) for task in GenerationTask]) + "\n")
