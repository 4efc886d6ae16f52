"""Do 95% intervals of mean opinion scores, shares of checks and differences of metrics hold the truth in 95% of studies?

The study (1,000 simulations each) runs with ``-m study``; add ``-s`` to see its table. A short version always runs.
"""

import sys
from collections.abc import Callable
from functools import cache

import numpy as np
import polars as pl
import pytest

from salon_ranking.agreement import label_statistics, paired_bootstrap
from salon_ranking.opinion import MosRatings, mean_opinion_scores
from salon_ranking.opinion.checks import wilson_interval

SIMULATIONS = 1000


def mos(rng: np.random.Generator, number: int) -> list[bool]:
    """Two models, 60 prompts, 4 generations of each prompt with qualities of their own, marked by 3 raters.

    The interval is about these prompts: the truth is the mean of what the model makes of them.
    """
    quality = rng.normal([[55.0], [45.0]], 8.0, (2, 60))
    generation = quality[:, :, None] + rng.normal(0, 6, (2, 60, 4))
    marks = generation[..., None] + rng.normal(0, 5, (2, 60, 4, 3))
    model, prompt, sample, rater = (axis.ravel() for axis in np.indices(marks.shape))
    frame = pl.DataFrame({"model": model, "prompt_id": prompt, "sample": sample, "rater_id": rater, "value": marks.ravel()})
    frame = frame.with_columns(
        pl.col("model", "prompt_id", "rater_id").cast(pl.String),
        rating_id=pl.int_range(pl.len()),
        generation_id=pl.format("{}-{}-{}", "model", "prompt_id", "sample"),
        dimension=pl.lit("beauty"),
        scale_min=pl.lit(-100.0),
        scale_max=pl.lit(200.0),
    )
    overall = mean_opinion_scores(MosRatings.from_frame(frame)).sort("model")
    low, high = (overall[end].to_numpy() for end in ("ci_low", "ci_high"))
    truth = quality.mean(axis=1)
    return ((low <= truth) & (truth <= high)).tolist()


def wilson(rng: np.random.Generator, number: int) -> list[bool]:
    """Shares of satisfied checks between 0.1 and 0.9, of 120 to 400 checks: over the shares, as one is discrete."""
    truth, trials = rng.uniform(0.1, 0.9, 20), rng.integers(120, 400, 20)
    low, high = wilson_interval(rng.binomial(trials, truth), trials)
    return ((low <= truth) & (truth <= high)).tolist()


def paired(rng: np.random.Generator, number: int) -> list[bool]:
    """Two systems on the same 150 items, whose difficulties they share."""
    hard = rng.normal(0, 1, 150)
    first, second = hard + rng.normal(0.2, 0.5, 150), hard + rng.exponential(0.5, 150)
    found = paired_bootstrap(first, second, replicates=1000, seed=number)
    return [found.ci_low <= 0.2 - 0.5 <= found.ci_high]


def paired_accuracy(rng: np.random.Generator, number: int) -> list[bool]:
    """The same, with an item right or wrong."""
    ability = rng.normal(0, 1, 300)
    chances = [1 / (1 + np.exp(-ability - shift)) for shift in (0.6, 0.0)]
    first, second = (np.asarray(rng.random(300) < chance, dtype=float) for chance in chances)
    found = paired_bootstrap(first, second, replicates=1000, seed=number)
    return [found.ci_low <= accuracy_gap() <= found.ci_high]


@cache
def accuracy_gap() -> float:
    """What endlessly many items would give."""
    ability = np.random.default_rng(8).normal(0, 1, 4_000_000)
    return float((1 / (1 + np.exp(-ability - 0.6)) - 1 / (1 + np.exp(-ability))).mean())


def labels(rng: np.random.Generator, number: int) -> list[bool]:
    """Krippendorff's α, Fleiss' κ and Cohen's κ: three raters mark 100 pictures from 0 to 4 around what they are worth."""
    found = label_statistics(
        marks(rng, 100),
        thing="thing",
        rater="rater",
        label="mark",
        level="ordinal",
        weights="linear",
        replicates=400,
        seed=number,
    )
    ends = found.table.select("ci_low", "ci_high").rows()[:3]
    return [low <= truth <= high for (low, high), truth in zip(ends, agreement_of_all(), strict=True)]


def marks(rng: np.random.Generator, things: int) -> pl.DataFrame:
    worth = rng.integers(0, 5, things)
    given = np.clip(np.rint(worth + rng.normal(0, 0.9, (3, things))), 0, 4).astype(int)
    rater, thing = (axis.ravel() for axis in np.indices(given.shape))
    return pl.DataFrame({"thing": thing, "rater": rater, "mark": given.ravel()})


@cache
def agreement_of_all() -> list[float]:
    """What endlessly many pictures would give."""
    names = {"thing": "thing", "rater": "rater", "label": "mark"}
    known = label_statistics(marks(np.random.default_rng(9), 100_000), **names, level="ordinal", weights="linear", replicates=0)
    return known.table["value"].to_list()[:3]


KINDS = (labels, mos, wilson, paired, paired_accuracy)


def coverage(kind: Callable[[np.random.Generator, int], list[bool]], simulations: int) -> float:
    rng = np.random.default_rng(0)
    return float(np.mean([held for number in range(simulations) for held in kind(rng, number)]))


@pytest.mark.study
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_95_percent_intervals_cover_the_truth_in_93_to_97_percent_of_studies(
    kind: Callable[[np.random.Generator, int], list[bool]],
):
    share = coverage(kind, SIMULATIONS)
    sys.stdout.write(f"\n{kind.__name__:60} {100 * share:5.1f}%\n")
    assert 0.93 <= share <= 0.97, share


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_intervals_of_a_few_studies_hold_the_truth_about_as_often_as_they_say(
    kind: Callable[[np.random.Generator, int], list[bool]],
):
    assert 0.86 <= coverage(kind, 60) <= 1.0
