"""Does drawing by the judge's doubt save votes, or marks? Leagues and pictures with a judge that says how sure it is."""

import argparse

import click
import numpy as np
import polars as pl

from salon_ranking import Battles, correct_means, correct_ratings, draw_for_people
from salon_ranking.correction.drawing import drawn_rows

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


def saved_marks(spread: float, leagues: int) -> tuple[float, float]:
    """Return the same of yes/no answers about 2,000 pictures of 5 models, of which people mark 200."""
    agreed, ratios = [], []
    for seed in range(leagues):
        random = np.random.default_rng(seed)
        model, prompt = np.tile(np.arange(5), 400), np.repeat(np.arange(400), 5)
        plain = random.normal(size=2_000) + 0.5 * random.normal(size=400)[prompt] + np.linspace(-0.5, 0.5, 5)[model]
        people = random.random(2_000) < 1 / (1 + np.exp(-spread * plain))
        taste = random.normal(0, 0.5, 5)[model]
        chance = 1 / (1 + np.exp(-(spread * plain + taste + 0.5 * random.normal(size=2_000))))
        agreed.append(float(((chance > 0.5) == people).mean()))
        pictures = pl.DataFrame(
            {"generation_id": np.arange(2_000).astype(str), "model": [f"m{number}" for number in model], "value": chance}
        )
        squares = []
        for doubt in (np.ones(2_000), np.sqrt(chance * (1 - chance))):
            chances, drawn = drawn_rows(doubt, 200, seed)
            marks = pl.DataFrame({"generation_id": pictures["generation_id"], "value": people * 1.0, "p": chances}).filter(
                drawn
            )
            table = correct_means(marks, pictures, probability="p").table
            squares.append(float(np.mean((table["ci_high"] - table["ci_low"]).drop_nulls().to_numpy() ** 2)))
        ratios.append(squares[1] / squares[0])
    return float(np.mean(agreed)), 1.0 - float(np.mean(ratios))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=200)
    leagues = parser.parse_args().leagues
    for what, save in (("votes", saved), ("marks", saved_marks)):
        click.echo(f"agreement of judge and people, {what} saved at equal width")
        for spread in SPREADS:
            agreement, share = save(spread, leagues)
            click.echo(f"{agreement:.0%}, {share:.0%}")


if __name__ == "__main__":
    main()
