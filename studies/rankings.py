"""Do the intervals of rankings cover, and how many pair votes is one ranking worth?"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import click
import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import Battles, fit
from salon_ranking.leaderboard.differences import differences

Floats = NDArray[np.float64]
NAMES = np.array([f"m{number}" for number in range(6)])
SPREAD = np.linspace(-1.0, 1.0, 6)
"""Log-strengths of the league: 347 Elo points from the last to the first."""


PICTURES = 2_400


@dataclass(frozen=True)
class Setting:
    """How a league is ranked, and how its intervals are made.

    Attributes:
        prompts: standard deviation of each model's effect of a prompt.
        raters: the same of a rater, of whom there are 25.
        clusters: the columns to cluster by.
        ties: ``"any"``: neighbours are put on one place by chance, one in four; ``"near"``: those less than 0.4 apart;
            ``"coin"``: these in a random order.
    """

    name: str
    prompts: float = 0.0
    raters: float = 0.0
    clusters: tuple[str, ...] = ("prompt_id",)
    ties: str = ""


SETTINGS = (
    Setting("independent rankings, no clusters", clusters=()),
    Setting("independent rankings"),
    Setting("prompts with tastes, no clusters", prompts=0.7, clusters=()),
    Setting("prompts with tastes", prompts=0.7),
    Setting("prompts and 25 raters with tastes", prompts=0.7, raters=0.5, clusters=("prompt_id", "rater_id")),
    Setting("neighbours tied by chance", ties="any"),
    Setting("near equals tied", ties="near"),
    Setting("near equals in a random order", ties="coin"),
)


def drawn(
    random: np.random.Generator, strength: Floats, rankings: int, size: int, setting: Setting, prompts: int = 40
) -> pl.DataFrame:
    """Return rankings of ``size`` random models each, by utilities with Gumbel noise."""
    prompt, rater = random.integers(0, prompts, rankings), random.integers(0, 25, rankings)
    model = np.argsort(random.random((rankings, 6)), axis=1)[:, :size]
    tastes = strength + setting.prompts * random.normal(size=(prompts, 6))[prompt]
    tastes = tastes + setting.raters * random.normal(size=(25, 6))[rater]
    utility = np.take_along_axis(tastes, model, axis=1) + random.gumbel(size=(rankings, size))
    order = np.argsort(-utility, axis=1)
    falling = np.take_along_axis(utility, order, axis=1)
    apart = np.ones((rankings, size - 1), dtype=np.bool_)
    if setting.ties:
        apart = random.random(apart.shape) > 0.25 if setting.ties == "any" else -np.diff(falling, axis=1) > 0.4
    place = np.cumsum(np.column_stack([np.ones(rankings, dtype=np.int64), apart]), axis=1)
    if setting.ties == "coin":
        place = 1 + np.argsort(np.argsort(place + random.random(place.shape), axis=1), axis=1)
    number = np.arange(rankings)
    return pl.DataFrame(
        {
            "ranking_id": np.repeat(number, size),
            "prompt_id": np.repeat(prompt, size),
            "rater_id": np.repeat(rater, size),
            "model": NAMES[np.take_along_axis(model, order, axis=1)].ravel(),
            "place": place.ravel(),
        }
    )


def truth(setting: Setting) -> dict[str, float]:
    """Return the log-strengths; where prompts and raters have tastes, those that 200,000 rankings of as many prompts give."""
    plain = Setting("", prompts=float(np.hypot(setting.prompts, setting.raters)))
    if not plain.prompts:
        return dict(zip(NAMES.tolist(), SPREAD.tolist(), strict=True))
    found = fit(drawn(np.random.default_rng(1), SPREAD, 200_000, 4, plain, prompts=200_000))
    return dict(zip(found.models, found.log_strengths.tolist(), strict=True))


def covered(seed: int, setting: Setting, known: dict[str, float]) -> Floats:
    """Return, over all differences of one league: the share whose interval holds the truth, mean width, ratio to the truth."""
    frame = drawn(np.random.default_rng([seed, 1]), SPREAD, 200, 4, setting)
    table = differences(Battles.from_frame(frame, cluster_by=setting.clusters)).table
    rows = table.select("model_a", "model_b", "difference", "ci_low", "ci_high").rows()
    gaps = np.array([(known[a] - known[b], *numbers) for a, b, *numbers in rows])
    gaps[:, 0] *= 400 / np.log(10)
    holds = (gaps[:, 2] <= gaps[:, 0]) & (gaps[:, 0] <= gaps[:, 3])
    return np.array([holds.mean(), (gaps[:, 3] - gaps[:, 2]).mean(), (gaps[:, 1] @ gaps[:, 0]) / (gaps[:, 0] @ gaps[:, 0])])


def strengths(seed: int, size: int, spread: float) -> Floats:
    """Return the log-strengths that rankings of a size give, together of 2,400 pictures."""
    frame = drawn(np.random.default_rng([seed, size]), spread * SPREAD, PICTURES // size, size, SETTINGS[0])
    return fit(frame).log_strengths


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=1_000)
    leagues = range(parser.parse_args().leagues)
    with ProcessPoolExecutor() as pool:
        click.echo("| 200 rankings of four, 40 prompts | covered | mean width | spread |")
        click.echo("| --- | --- | --- | --- |")
        for setting in SETTINGS:
            work = partial(covered, setting=setting, known=truth(setting))
            share, width, ratio = np.mean(list(pool.map(work, leagues, chunksize=20)), axis=0)
            click.echo(f"| {setting.name} | {100 * share:.1f}% | {width:.0f} | × {ratio:.2f} |")
        click.echo("\n| pictures in a ranking | pair votes, equal models | pair votes, models 347 points apart |")
        click.echo("| --- | --- | --- |")
        variance = {
            (size, spread): np.var(
                list(pool.map(partial(strengths, size=size, spread=spread), leagues, chunksize=20)), axis=0
            ).sum()
            for size in (2, 3, 4, 6)
            for spread in (0.0, 1.0)
        }
        for size in (3, 4, 6):
            worth = [variance[2, spread] * PICTURES / 2 / (variance[size, spread] * PICTURES / size) for spread in (0.0, 1.0)]
            click.echo(f"| {size} | {worth[0]:.1f} | {worth[1]:.1f} |")


if __name__ == "__main__":
    main()
