"""Which board predicts a source that it has not seen? ``python -m studies.ledger`` leaves out one source at a time.

From all other sources, less the numbers that they quote from it, four boards are made; each predicts the order of every pair
of models in the columns of the source that was left out, and with what chance: σ(slope · difference), the slope of each board
by maximum likelihood over the pairs that it was made from. The result is in ``docs/ledger.md``.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_published.derived_battles import derive_battles
from salon_published.ledger import PRIOR_TIES, compared_scores
from salon_published.manifest import GenerationTask
from salon_published.registry import registry
from salon_ranking import Battles, fit
from salon_ranking.uncertainty.means import mean_with_interval

Board = Mapping[str, float]
FEWEST_PAIRS: Final = 5
"""A source with fewer predictable pairs is left out of the means."""
ROUNDS: Final = 40
NEWTON: Final = 12
"""Steps of the search for a slope."""
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


def leads(scores: pl.DataFrame, board: Board) -> NDArray[np.float64]:
    """Return by how much a board rates the better model of every pair of unequal scores above the worse one."""
    found = []
    for _, column in scores.group_by("track", maintain_order=True):
        merit = column["merit"].to_numpy()
        rating = np.array([board[model] for model in column["model"]])
        order = np.sign(merit[:, None] - merit)
        found.append((order * (rating[:, None] - rating))[np.triu(order != 0, 1)])
    return np.concatenate(found) if found else np.zeros(0)


def slope_of(own: NDArray[np.float64]) -> float:
    """Return the slope at which σ(slope · lead) gives the pairs that a board was made from the greatest likelihood."""
    slope = 1.0 / max(float(np.abs(own).mean()), 1e-9)
    for _ in range(NEWTON):
        chance = 1.0 / (1.0 + np.exp(-np.clip(slope * own, -30, 30)))
        slope += float(((1.0 - chance) * own).sum() / (chance * (1.0 - chance) * own * own).sum())
    return slope


def right_share(ahead: NDArray[np.float64]) -> float:
    """Return the share of pairs in the right order; equal ratings count a half."""
    return float((ahead > 0).mean() + 0.5 * (ahead == 0).mean())


def log_loss(ahead: NDArray[np.float64], slope: float) -> float:
    """Return the mean of -ln of the chance that was given to what the source says; ln 2 = .693 for a coin."""
    return float(np.logaddexp(0.0, -slope * ahead).mean())


def left_out(task: str) -> Iterator[tuple[str, dict[str, float], dict[str, float], int]]:
    """Yield each source of a task with the share of its pairs that every board predicts, its log-loss, and the number of pairs.

    Pairs of models that some board does not know are left out for all boards.
    """
    sign = pl.when(pl.col("direction") == "higher").then(1.0).otherwise(-1.0)
    scores = compared_scores(task).with_columns(merit=sign * pl.col("value"))
    for source in scores["source"].unique(maintain_order=True):
        test = scores.filter(source=source)
        train = without_quotes(scores.filter(pl.col("source") != source), test)
        boards = {name: make(train) for name, make in BOARDS.items()}
        known = test.filter(pl.col("model").is_in(list(set.intersection(*(set(board) for board in boards.values())))))
        ahead = {name: leads(known, board) for name, board in boards.items()}
        pairs = min(len(each) for each in ahead.values())
        if pairs >= FEWEST_PAIRS:
            slopes = {
                name: slope_of(leads(train.filter(pl.col("model").is_in(list(board))), board)) for name, board in boards.items()
            }
            losses = {name: log_loss(each, slopes[name]) for name, each in ahead.items()}
            yield source, {name: right_share(each) for name, each in ahead.items()}, losses, pairs


def table(tasks: list[str]) -> str:
    """Return the result as Markdown: means over sources of the share of pairs in the right order, and of the log-loss."""
    names = [*BOARDS, "hierarchical less Bradley–Terry"]
    head = [f"| task | sources | pairs | {' | '.join(names)} |", "| --- " * (len(names) + 3) + "|"]
    right, losses = list(head), list(head)
    for task in tasks:
        found = list(left_out(task))
        start = f"| {task} | {len(found)} | {sum(pairs for *_, pairs in found):,} | "
        for lines, by_source in ((right, [row[1] for row in found]), (losses, [row[2] for row in found])):
            columns = [[values[name] for values in by_source] for name in BOARDS]
            gains = [values["hierarchical"] - values["Bradley–Terry"] for values in by_source]
            lines.append(start + " | ".join(_cell(values) for values in (*columns, gains)) + " |")
    return "\n".join([*right, "", "Log-loss:", "", *losses])


def _cell(values: list[float]) -> str:
    mean, (low, high) = mean_with_interval(values)
    return f"{mean:.3f}" if low is None or high is None else f"{mean:.3f} [{low:.2f}, {high:.2f}]"


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1:] or [str(task) for task in GenerationTask]) + "\n")
