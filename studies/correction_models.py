"""Do the intervals of corrected judges hold with ties, where people prefer one side of the screen, and of three judges?"""

import argparse
import math

import click
import numpy as np
import polars as pl

from salon_ranking import Battles, correct_ratings
from salon_ranking.errors import UnratableError
from salon_ranking.models.options import Ties

MODELS, BATTLES, VOTES = 6, 3_000, 400
TIE, SIDE = 0.55, 0.4
"""Davidson's ν, and the log-odds by which people prefer the left picture. With ν, and with κ = 1 + ν of Rao and Kupper, a fifth
of the battles are ties."""
POINTS = 400 / math.log(10)
TIE_MODELS: dict[str, Ties] = {"davidson": "davidson", "rao-kupper": "rao-kupper"}
GUESSES = {"davidson": (0.2,), "rao-kupper": (0.1,), "side_a_shown": (0.2,), "three judges": (0.2, 0.35, 0.5)}
"""The part of the battles that each judge guesses, so that it (of three, the first) agrees with people on eight of ten."""


def league(kind: str, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Return people's votes and judges' verdicts on all battles, and the true strengths.

    Judges see what people see, each with a taste for each model, and guess a part; each is shown its own sides.
    """
    random = np.random.default_rng(seed)
    strength = random.normal(0, 0.5, MODELS)
    a = random.integers(0, MODELS, BATTLES)
    b = (a + random.integers(1, MODELS, BATTLES)) % MODELS
    gap = strength[a] - strength[b]
    tie = np.full(BATTLES, math.log(TIE) if kind == "davidson" else -math.inf)
    left = random.choice([1, -1], (1 + len(GUESSES[kind]), BATTLES))
    bias = SIDE * left[0] * (kind == "side_a_shown")
    noise = random.gumbel(size=(3, BATTLES))  # the difference of two of these is logistic

    def seen(lean: np.ndarray) -> np.ndarray:
        if kind == "rao-kupper":
            felt = gap + lean + noise[0] - noise[1]
            return np.where(np.abs(felt) < math.log(1 + TIE), 2, np.where(felt > 0, 0, 1))
        half = (gap + lean) / 2
        best: np.ndarray = np.argmax(np.stack([half, -half, tie]) + noise, axis=0)
        return best

    said = [seen(bias)]
    for guesses in GUESSES[kind]:
        taste = random.normal(0, 0.3, MODELS)
        judge = seen(taste[a] - taste[b])
        said.append(np.where(random.random(BATTLES) < guesses, random.permutation(judge), judge))
    names = np.array([f"m{number}" for number in range(MODELS)])
    frame = pl.DataFrame({"battle_id": np.arange(BATTLES).astype(str), "model_a": names[a], "model_b": names[b]})
    words = np.array(["model_a", "model_b", "tie"])
    votes, *verdicts = (
        frame.with_columns(
            winner=pl.Series(words[winner]),
            side_a_shown=pl.Series(np.where(side > 0, "left", "right")),
            rater_id=pl.lit(f"judge {number}"),
        )
        for number, (winner, side) in enumerate(zip(said, left, strict=True))
    )
    return votes.drop("rater_id"), pl.concat(verdicts), strength


def coverage(kind: str, leagues: int) -> tuple[list[float], int]:
    """Return agreement, ties, coverage of ratings and of the parameter, what a vote counts for; and boards that failed.

    NaN is the parameter of a model without one.
    """
    truth = {"davidson": TIE, "rao-kupper": 1 + TIE}.get(kind, SIDE)
    rows: list[tuple[float, ...]] = []
    for seed in range(leagues):
        people, judged, strength = league(kind, seed)
        drawn = people[np.random.default_rng((seed, 1)).choice(BATTLES, VOTES, replace=False)]
        votes, verdicts = Battles.from_frame(drawn), Battles.from_frame(judged, ids=None)
        try:
            covariates = [kind] if kind == "side_a_shown" else []
            ties = TIE_MODELS.get(kind, "half")
            board = correct_ratings(votes, verdicts, baseline="m0", ties=ties, covariates=covariates)
        except UnratableError:
            continue
        agreed = (people["winner"] == judged["winner"][:BATTLES]).to_numpy().mean()
        tied = (people["winner"] == "tie").to_numpy().mean()
        ends, right = board.table.sort("model")[1:], 1000 + POINTS * (strength[1:] - strength[0])
        held = ((ends["ci_low"].to_numpy() <= right) & (right <= ends["ci_high"].to_numpy())).mean()
        ends_of = board.parameters.select("ci_low", "ci_high").rows()
        parameter = ends_of[0][0] <= truth <= ends_of[0][1] if ends_of else math.nan
        rows.append((agreed, tied, held, parameter, board.counts_for or math.nan))
    return np.mean(rows, axis=0).tolist(), leagues - len(rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=300)
    leagues = parser.parse_args().leagues
    click.echo(
        "kind: agreement (of the first judge), ties, ratings held, parameter held, one vote counts for, boards that failed"
    )
    for kind in GUESSES:
        (agreement, ties, held, parameter, counts), failed = coverage(kind, leagues)
        click.echo(f"{kind}: {agreement:.0%}, {ties:.0%}, {held:.1%}, {parameter:.1%}, {counts:.2f}, {failed}")


if __name__ == "__main__":
    main()
