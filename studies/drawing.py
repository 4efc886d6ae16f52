"""Does drawing by the judge's doubt save votes? Leagues with a judge that says how sure it is."""

import argparse

import click
import numpy as np
import polars as pl

from salon_ranking import Battles, correct_ratings, draw_for_people

SPREADS = (0.5, 1.5, 3.0, 6.0)
"""How differently the two pictures of a prompt turn out, in units of people's noise; from guesswork to plain cases."""
MODELS, BATTLES, VOTES = 6, 3_000, 400


def league(spread: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return people's votes and a judge's verdicts on all battles; ``p`` is the judge's chance that model_a wins."""
    random = np.random.default_rng(seed)
    strength, taste = random.normal(0, 0.5, MODELS), random.normal(0, 0.5, MODELS)
    a = random.integers(0, MODELS, BATTLES)
    b = (a + random.integers(1, MODELS, BATTLES)) % MODELS
    better = strength[a] - strength[b] + random.normal(0, spread, BATTLES)
    people = better + random.logistic(size=BATTLES) > 0
    chance = 1 / (1 + np.exp(-(better + taste[a] - taste[b] + 0.5 * random.normal(size=BATTLES))))
    names = np.array([f"m{number}" for number in range(MODELS)])
    frame = pl.DataFrame({"battle_id": np.arange(BATTLES).astype(str), "model_a": names[a], "model_b": names[b], "p": chance})
    votes, verdicts = (pl.Series("winner", np.where(first, "model_a", "model_b")) for first in (people, chance > 0.5))
    return frame.with_columns(votes), frame.with_columns(verdicts)


def saved(spread: float, leagues: int) -> tuple[float, float]:
    """Return in which share of battles judge and people agree, and the share of votes that drawing by doubt saves."""
    agreed, ratios = [], []
    for seed in range(leagues):
        people, judged = league(spread, seed)
        agreed.append(float((people["winner"] == judged["winner"]).to_numpy().mean()))
        squares = []
        for column in (None, "p"):
            drawn = draw_for_people(judged, count=VOTES, chance_of_a=column, seed=seed)
            board = correct_ratings(
                Battles.from_frame(people.filter(drawn["drawn"])),
                Battles.from_frame(drawn),
                baseline="m0",
                probability="probability",
            ).table.filter(pl.col("model") != "m0")
            squares.append(float(np.mean((board["ci_high"] - board["ci_low"]).to_numpy() ** 2)))
        ratios.append(squares[1] / squares[0])
    return float(np.mean(agreed)), 1.0 - float(np.mean(ratios))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=200)
    leagues = parser.parse_args().leagues
    click.echo("agreement of judge and people, votes saved at equal width")
    for spread in SPREADS:
        agreement, share = saved(spread, leagues)
        click.echo(f"{agreement:.0%}, {share:.0%}")


if __name__ == "__main__":
    main()
