"""No interval leaves the range of its number: [0, 1] for a share, a rate or an F1, the scale for a mean of marks."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_bench.suites.artifact_bench.accuracy import AccuracyCounts, average_interval
from salon_bench.suites.contract.metrics import share_with_wilson
from salon_bench.suites.contract.tables import interval_over_prompts
from salon_curate.audits import estimates
from salon_judges.formats.artifact_bench import QuestionLevel, QuestionTask
from salon_ranking import Battles
from salon_ranking.agreement import label_statistics
from salon_ranking.diagnostics.both_bad import acceptability
from salon_ranking.opinion import Checks, MosRatings, mean_opinion_scores
from salon_ranking.uncertainty.means import mean_with_interval
from salon_ranking.uncertainty.proportions import wilson_interval
from salon_train.over_seeds import SeedMean

Ends = tuple[float | None, float | None]
Counts = list[tuple[int, int]]
COUNTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda two: (two[0], sum(two))), min_size=4, max_size=4)
"""Four times how many of how many."""


def of_wilson(counts: Counts) -> Iterator[Ends]:
    for confidence in (0.5, 0.95, 0.999999):
        yield from zip(*(ends.tolist() for ends in wilson_interval(*zip(*counts, strict=True), confidence)), strict=True)


def of_suites(counts: Counts) -> Iterator[Ends]:
    for good, all_ in counts:
        yield share_with_wilson(good, all_)[1]
        values = [1.0] * good + [0.0] * (all_ - good)
        yield mean_with_interval(values, within=(0.0, 1.0))[1]
        yield mean_with_interval([value / 3 + 2 / 3 for value in values], within=(0.0, 1.0))[1]
        known = pl.DataFrame({"prompt_id": [f"p{place // 2}" for place in range(all_)], "value": values})
        yield interval_over_prompts("d", known.cast({"prompt_id": pl.String, "value": pl.Float64}), shares=["d"])[1]


def of_artifact_bench(counts: Counts) -> Iterator[Ends]:
    task = next(iter(QuestionTask))
    tallies = {(task, level): AccuracyCounts(*count) for level, count in zip(QuestionLevel, counts, strict=False) if count[1]}
    if len(tallies) == len(QuestionLevel):
        low, high = average_interval(tallies, task)
        yield (None if low is None else low / 100, None if high is None else high / 100)


def of_checks(counts: Counts) -> Iterator[Ends]:
    rows = [("m", f"t{place}", number < good) for place, (good, all_) in enumerate(counts) for number in range(all_)]
    if rows:
        frame = pl.DataFrame(rows, schema=["model", "test_point", "satisfied"], orient="row")
        yield from Checks.from_frame(frame).shares().select("ci_low", "ci_high").rows()


def of_acceptability(counts: Counts) -> Iterator[Ends]:
    rows = [("a", "b", "both_bad" if number < good else "model_a") for good, all_ in counts for number in range(all_)]
    if rows:
        battles = Battles.from_frame(pl.DataFrame(rows, schema=["model_a", "model_b", "winner"], orient="row"))
        yield from acceptability(battles).select("ci_low", "ci_high").rows()


def of_audits(counts: Counts) -> Iterator[Ends]:
    names = ("kept", "kept near", "dropped", "dropped near")
    found = estimates(dict.fromkeys(names, 50), dict(zip(names, counts, strict=True)), draws=200)
    yield from ((each.low, each.high) for each in found)


def of_marks(counts: Counts) -> Iterator[Ends]:
    """Means of marks from 0 to 1: with two evaluations of each prompt, with one, and within scenarios."""
    for evaluations in (1, 2):
        rows = [
            (f"p{place}.{number // evaluations}", f"g{place}.{number}", float(number < good), f"s{place % 2}")
            for place, (good, all_) in enumerate(counts)
            for number in range(all_)
        ]
        if rows:
            names = ["prompt_id", "generation_id", "value", "scenario"]
            marks = pl.DataFrame(rows, schema=names, orient="row").with_columns(
                rating_id=pl.col("generation_id"), model=pl.lit("m"), dimension=pl.lit("d"), rater_id=pl.lit("r")
            )
            found = mean_opinion_scores(MosRatings.from_frame(marks, scale=(0.0, 1.0)), confidence=0.99, replicates=200)
            yield from found.select("ci_low", "ci_high").rows()


def of_seeds(counts: Counts) -> Iterator[Ends]:
    shares = [good / all_ for good, all_ in counts if all_]
    found = SeedMean.of(shares)
    yield found.low, found.high
    found = SeedMean.of([share - 0.5 for share in shares], differences=True)
    yield (found.low + 1) / 2, (found.high + 1) / 2


def of_agreement(counts: Counts) -> Iterator[Ends]:
    """α and κ, which are between -1 and 1, as (x + 1) / 2."""
    rows = [
        (f"t{place}.{number}", rater, str((number + place * rater) % 3 if number < good else 0))
        for place, (good, all_) in enumerate(counts)
        for number in range(all_)
        for rater in (0, 1)
    ]
    if rows:
        frame = pl.DataFrame(rows, schema=["t", "r", "l"], orient="row")
        found = label_statistics(frame, thing="t", rater="r", label="l", replicates=50, confidence=0.9).table
        for low, high in found.select("ci_low", "ci_high").rows():
            yield None if low is None else (low + 1) / 2, None if high is None else (high + 1) / 2


MAKERS: tuple[Callable[[Counts], Iterator[Ends]], ...] = (
    of_wilson,
    of_suites,
    of_artifact_bench,
    of_checks,
    of_acceptability,
    of_audits,
    of_marks,
    of_agreement,
    of_seeds,
)


@settings(max_examples=25, deadline=None)
@given(COUNTS)
def test_an_interval_stays_within_the_range_of_its_number(counts: Counts) -> None:
    for maker in MAKERS:
        for low, high in maker(counts):
            for end in (low, high):
                assert end is None or np.isnan(end) or 0.0 <= end <= 1.0, (maker.__name__, low, high)
            if low is not None and high is not None and not np.isnan(low):
                assert low <= high, (maker.__name__, low, high)
