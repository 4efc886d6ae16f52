"""Does a loss with ties teach a reward model more than leaving ties out of the same votes? ``python -m studies.ties FOLDER``.

Walls between blue and red: the prompt says which is better. Votes are Davidson's, with ties; each is about a pair of its own.
The same votes teach the same CLIP of random weights by ``davidson``, by ``bradley-terry`` with a tie as half a vote for either,
and by ``bradley-terry`` without the ties. Measured on new pairs: how often the better picture has the higher reward, and the
correlation of the rewards' differences with the true ones.
"""

import math
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import polars as pl
from PIL import Image

from salon_console.output import print_parts
from salon_console.table_files import Table
from salon_judges.scorers.reward_network import RewardNetwork
from salon_train.configuration.reward_model import configured
from salon_train.data.preferences import picture, read_preferences
from salon_train.models.tiny import build_tiny_clip
from salon_train.over_seeds import SeedMean
from salon_train.reward_model.stage import train_reward_model

ARMS: Final = {
    "davidson": ("davidson", True),
    "half votes": ("bradley-terry", True),
    "ties left out": ("bradley-terry", False),
}
"""The loss, and whether ties are learned from."""
PROMPTS: Final = ("a red wall", "a blue wall")
_STRENGTH: Final = 4.0
_TEST: Final = 1000


def draw_votes(folder: Path, votes: int, *, seed: int, nu: float = 1.0) -> pl.DataFrame:
    """Draw walls, and a vote about each pair; of new pairs the better one is ``chosen``, and ``gap`` is the true difference."""
    random, rows = np.random.default_rng(seed), []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(votes + _TEST):
        prompt, shades = PROMPTS[number % 2], random.random(2)
        names = [f"{number}{side}.png" for side in "ab"]
        for name, shade in zip(names, shades, strict=True):
            Image.new("RGB", (16, 16), (int(255 * shade), int(255 * random.random()), int(255 * (1 - shade)))).save(
                folder / name
            )
        gap = _STRENGTH * float(shades[0] - shades[1]) * (1 if prompt == PROMPTS[0] else -1)
        chances = np.array([math.exp(gap / 2), math.exp(-gap / 2), nu])
        won = int(random.choice(3, p=chances / chances.sum())) if number < votes else int(gap < 0)
        chosen, rejected = names if won != 1 else reversed(names)
        row = {"prompt": prompt, "chosen": chosen, "rejected": rejected, "votes_chosen": float(won != 2)}
        rows.append(row | {"votes_rejected": 0.0, "ties": float(won == 2), "new": number >= votes, "gap": abs(gap)})
    return pl.DataFrame(rows)


def measure(folder: Path, votes: int, *, seed: int) -> dict[str, dict[str, float]]:
    """Return ``right`` and ``correlation`` of each arm, and the share of ties."""
    table = draw_votes(folder, votes, seed=seed)
    clip = folder / "clip"
    build_tiny_clip(clip, PROMPTS, seed=seed, width=32)
    table.filter("new").write_csv(folder / "new.csv")
    new, truth = read_preferences(folder / "new.csv"), table.filter("new")["gap"].to_numpy()
    found: dict[str, dict[str, float]] = {}
    for arm, (loss, with_ties) in ARMS.items():
        learned = table.filter(~pl.col("new") & (pl.lit(with_ties) | (pl.col("ties") == 0.0)))
        learned.write_csv(folder / f"{arm}.csv")
        values: dict[str, Any] = {
            "run": {"folder": str(folder / arm), "seed": seed},
            "backbone": {"name": str(clip)},
            "preferences": {"file": str(folder / f"{arm}.csv")},
            "learning": {"loss": loss, "epochs": 10, "learning_rate": 1e-3},
        }
        network = RewardNetwork.read(train_reward_model(configured(values)).model)
        prompts = [pair.prompt for pair in new]
        chosen, rejected = (
            network(network.prepared([picture(getattr(pair, side)) for pair in new], prompts))[0].detach().numpy()
            for side in ("chosen", "rejected")
        )
        gaps = chosen - rejected
        signs = np.where(np.random.default_rng(0).random(len(gaps)) < 0.5, 1.0, -1.0)
        found[arm] = {"right": float((gaps > 0).mean()), "correlation": float(np.corrcoef(signs * gaps, signs * truth)[0, 1])}
    return found | {"ties": {"share": float(table.filter(~pl.col("new"))["ties"].to_numpy().mean())}}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--votes", "counts", multiple=True, type=click.IntRange(1), default=(200, 800), show_default=True)
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="From 0.")
def main(folder: Path, counts: tuple[int, ...], seeds: int) -> None:
    """Measure each arm with each number of votes and each seed."""
    rows = []
    for count in counts:
        measured = [measure(folder / f"votes-{count}" / f"seed-{seed}", count, seed=seed) for seed in range(seeds)]
        for arm in ARMS:
            right, correlation = ([one[arm][name] for one in measured] for name in ("right", "correlation"))
            more = [one[arm]["right"] - one["ties left out"]["right"] for one in measured]
            told = [SeedMean.of(right), SeedMean.of(correlation), SeedMean.of(more, differences=True)]
            share = np.mean([one["ties"]["share"] for one in measured])
            rows.append([str(count), f"{share:.2f}", arm, *(str(each) for each in told)])
    columns = ("votes", "ties", "arm", "right", "correlation", "right, less ties left out")
    print_parts(Table(columns, rows))


if __name__ == "__main__":
    main()
