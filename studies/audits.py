"""Do the intervals of Cohen's kappa hold in an audit of two judges, where prompts have several pairs?"""

import argparse

import click
import numpy as np
import polars as pl

from salon_ranking.agreement import audit_judges

PROMPTS = (30, 100)
_TRUTH = 40_000
"""Prompts of the study whose value counts as true."""


def measured(prompts: int, seed: int) -> tuple[float, float, float]:
    """Return kappa and its interval, of three pairs per prompt; some prompts are hard."""
    random = np.random.default_rng(seed)
    pairs = 3 * prompts
    hard, chosen = np.repeat(random.random(prompts), 3), random.integers(0, 2, pairs)
    words = np.array(["model_a", "model_b", "tie"])
    frames = []
    for judge in ("one", "two"):
        says = np.where(random.random(pairs) < 0.1 + 0.4 * hard, random.integers(0, 3, pairs), chosen)
        columns = {
            "battle_id": [f"b{number}" for number in range(pairs)],
            "prompt_id": [f"p{number // 3}" for number in range(pairs)],
            "winner": words[chosen],
            "verdict": words[says],
        }
        frames.append(pl.DataFrame(columns).with_columns(judge=pl.lit(judge)))
    value, low, high = audit_judges(pl.concat(frames)).agreement.select("value", "ci_low", "ci_high").row(0)
    return value, low, high


def held(prompts: int, studies: int) -> float:
    """Return in which share of studies the interval holds the true kappa."""
    true = measured(_TRUTH, studies)[0]
    ends = [measured(prompts, seed)[1:] for seed in range(studies)]
    return float(np.mean([low <= true <= high for low, high in ends]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    studies = parser.parse_args().studies
    click.echo("prompts, kappa held")
    for prompts in PROMPTS:
        click.echo(f"{prompts}, {held(prompts, studies):.1%}")


if __name__ == "__main__":
    main()
