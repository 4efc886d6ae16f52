"""Do the intervals of a corrected judge hold with a tie parameter, and where people prefer one side of the screen?"""

import argparse
import math

import click
import numpy as np
import polars as pl

from salon_ranking import Battles, correct_ratings
from salon_ranking.errors import UnratableError

MODELS, BATTLES, VOTES = 6, 3_000, 400
TIE, SIDE = 0.55, 0.4
"""Davidson's ν, with which a fifth of the battles are ties, and the log-odds by which people prefer the left picture."""
POINTS = 400 / math.log(10)
GUESSES = {"davidson": 0.2, "side_a_shown": 0.2}
"""The part of the battles that the judge guesses, so that it agrees with people on eight of ten."""


def league(kind: str, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return people's votes and a judge's verdicts on all battles, and the true strengths.

    The judge sees what people see, with a taste for each model, and guesses a part; each is shown its own sides.
    """
    random = np.random.default_rng(seed)
    strength, taste = random.normal(0, 0.5, MODELS), random.normal(0, 0.3, MODELS)
    a = random.integers(0, MODELS, BATTLES)
    b = (a + random.integers(1, MODELS, BATTLES)) % MODELS
    gap, leaning = strength[a] - strength[b], taste[a] - taste[b]
    tie = np.full(BATTLES, math.log(TIE) if kind == "davidson" else -math.inf)
    left = random.choice([1, -1], (2, BATTLES))
    bias = SIDE * left[0] * (kind == "side_a_shown")
    noise = random.gumbel(size=(3, BATTLES))  # the difference of two of these is logistic
    seen = (gap + bias) / 2, (gap + leaning) / 2
    people, judge = (np.argmax(np.stack([half, -half, tie]) + noise, axis=0) for half in seen)
    judge = np.where(random.random(BATTLES) < GUESSES[kind], random.permutation(judge), judge)
    names = np.array([f"m{number}" for number in range(MODELS)])
    frame = pl.DataFrame({"battle_id": np.arange(BATTLES).astype(str), "model_a": names[a], "model_b": names[b]})
    words = np.array(["model_a", "model_b", "tie"])
    votes, verdicts = (
        frame.with_columns(winner=pl.Series(words[winner]), side_a_shown=pl.Series(np.where(side > 0, "left", "right")))
        for winner, side in zip((people, judge), left, strict=True)
    )
    return votes, verdicts, strength


def coverage(kind: str, leagues: int) -> tuple[list[float], int]:
    """Return agreement, ties, coverage of ratings and of the parameter, what a vote counts for; and boards that failed."""
    truth = TIE if kind == "davidson" else SIDE
    rows: list[tuple[float, ...]] = []
    for seed in range(leagues):
        people, judged, strength = league(kind, seed)
        drawn = people[np.random.default_rng((seed, 1)).choice(BATTLES, VOTES, replace=False)]
        votes, verdicts = Battles.from_frame(drawn), Battles.from_frame(judged)
        try:
            if kind == "davidson":
                board = correct_ratings(votes, verdicts, baseline="m0", ties="davidson")
            else:
                board = correct_ratings(votes, verdicts, baseline="m0", covariates=[kind])
        except UnratableError:
            continue
        agreed = (people["winner"] == judged["winner"]).to_numpy().mean()
        tied = (people["winner"] == "tie").to_numpy().mean()
        ends, right = board.table.sort("model")[1:], 1000 + POINTS * (strength[1:] - strength[0])
        held = ((ends["ci_low"].to_numpy() <= right) & (right <= ends["ci_high"].to_numpy())).mean()
        row = board.parameters.row(0, named=True)
        parameter = row["ci_low"] <= truth <= row["ci_high"]
        rows.append((agreed, tied, held, parameter, board.counts_for or math.nan))
    return np.mean(rows, axis=0).tolist(), leagues - len(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=300)
    leagues = parser.parse_args().leagues
    click.echo("kind: agreement, ties, ratings held, parameter held, one vote counts for, boards that failed")
    for kind in GUESSES:
        (agreement, ties, held, parameter, counts), failed = coverage(kind, leagues)
        click.echo(f"{kind}: {agreement:.0%}, {ties:.0%}, {held:.1%}, {parameter:.1%}, {counts:.2f}, {failed}")


if __name__ == "__main__":
    main()
