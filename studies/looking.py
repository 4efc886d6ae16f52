"""How often is a board wrong at some look, if it is looked at every few votes?"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import click
import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import Battles
from salon_ranking.errors import RankingError
from salon_ranking.leaderboard.differences import differences
from salon_ranking.models.options import Estimator
from salon_ranking.scheduling import Inventory, ScheduleState, next_pairs
from salon_ranking.uncertainty.options import Interval


@dataclass(frozen=True)
class Setting:
    """A league and how it is looked at. The first two models are equal; those after them are ``spread`` apart in all."""

    name: str
    models: int
    votes: int = 3_000
    every: int = 25
    spread: float = 0.0
    raters: int = 0
    in_turn: bool = False
    planned: bool = False
    firth: bool = False

    @property
    def strengths(self) -> NDArray[np.float64]:
        """Log-strengths, shape (models,)."""
        return np.append(np.zeros(2), np.linspace(-0.5, 0.5, self.models - 2) * self.spread)


KINDS: Final[tuple[Interval, ...]] = ("sandwich", "anytime")
SETTINGS = (
    Setting("2 models", 2),
    Setting("6 equal models", 6),
    Setting("6 models", 6, spread=1.0),
    Setting("6 models, Firth", 6, spread=1.0, every=100, firth=True),
    Setting("6 models, pairs planned in two streams", 6, spread=1.0, every=100, planned=True),
    Setting("6 equal models, 60 raters with tastes", 6, every=100, raters=60),
    Setting("6 equal models, 60 such raters in turn", 6, every=100, raters=60, in_turn=True),
    Setting("6 equal models, 20 such raters in turn", 6, votes=2_000, every=100, raters=20, in_turn=True),
)


def growing(setting: Setting, random: np.random.Generator) -> Iterator[pl.DataFrame]:
    """Yield the votes after each look."""
    names = np.array([f"m{number}" for number in range(setting.models)])
    strength = setting.strengths
    tastes = random.normal(0, 0.5, (max(setting.raters, 1), setting.models)) * bool(setting.raters)
    plan, votes = Inventory.full(names.tolist(), [f"p{number}" for number in range(200)]), None
    for begin in range(0, setting.votes, setting.every):
        number = np.arange(begin, begin + setting.every)
        if setting.planned:
            state = ScheduleState.of(None if votes is None else Battles.from_frame(votes), inventory=plan)
            pairs = next_pairs(state, setting.every, seed=int(random.integers(2**62)))
            a, b = (np.searchsorted(names, pairs[side].to_numpy()) for side in ("model_a", "model_b"))
            kept = pairs.select("plan_rule", "plan_stream")
        else:
            a = random.integers(0, setting.models, setting.every)
            b = (a + random.integers(1, setting.models, setting.every)) % setting.models
            kept = pl.DataFrame()
        in_turn = number * setting.raters // setting.votes
        rater = in_turn if setting.in_turn else random.integers(0, max(setting.raters, 1), setting.every)
        gap = strength[a] - strength[b] + tastes[rater, a] - tastes[rater, b]
        won = random.random(setting.every) < 1 / (1 + np.exp(-gap))
        rows = {"model_a": names[a], "model_b": names[b], "winner": np.where(won, "model_a", "model_b"), "rater_id": rater}
        new = pl.DataFrame(rows).with_columns(pl.col("rater_id").cast(pl.String))
        votes = pl.concat([frame for frame in (votes, new.hstack(kept)) if frame is not None])
        yield votes


def league(seed: int, setting: Setting) -> NDArray[np.float64]:
    """Return one row per kind of interval: the first pair was ever wrong, any pair was, and the last width."""
    seen = np.zeros((len(KINDS), 3))
    strength = {f"m{number}": value for number, value in enumerate(setting.strengths)}
    estimator: Estimator = "firth" if setting.firth else "maximum-likelihood"
    for votes in growing(setting, np.random.default_rng([seed, setting.models, setting.raters])):
        battles = Battles.from_frame(votes, cluster_by="rater_id" if setting.raters else None)
        for row, interval in enumerate(KINDS):
            try:
                table = differences(battles, interval=interval, estimator=estimator).table
            except RankingError:  # not yet comparable
                continue
            for higher, lower, low, p_holm in table.select("model_a", "model_b", "ci_low", "p_holm").iter_rows():
                seen[row, 0] += {higher, lower} == {"m0", "m1"} and low is not None and low > 0
                seen[row, 1] += strength[higher] <= strength[lower] and p_holm is not None and p_holm < 0.05
            seen[row, 2] = (table["ci_high"] - table["ci_low"]).to_numpy().mean()
    seen[:, :2] = seen[:, :2] > 0
    return seen


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=1_000)
    parser.add_argument("--only", default="", help="settings whose name contains this")
    asked = parser.parse_args()
    leagues = asked.leagues
    click.echo("| league | looks | one pair | any pair | one pair, anytime | any pair, anytime | width |")
    click.echo("| --- | --- | --- | --- | --- | --- | --- |")
    with ProcessPoolExecutor() as pool:
        for setting in (each for each in SETTINGS if asked.only in each.name):
            seen = np.array(list(pool.map(partial(league, setting=setting), range(leagues), chunksize=5)))
            once, always = seen.mean(axis=0)
            looks = setting.votes // setting.every
            shares = " | ".join(f"{100 * share:.1f}%" for share in (*once[:2], *always[:2]))
            click.echo(f"| {setting.name} | {looks} | {shares} | × {always[2] / once[2]:.2f} |")


if __name__ == "__main__":
    main()
