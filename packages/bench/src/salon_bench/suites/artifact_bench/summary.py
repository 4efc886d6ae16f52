"""The rows of a run → the numbers of Artifact-Bench, in percent, with what could not be scored."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from salon_bench.suites.artifact_bench.accuracy import (
    AccuracyCounts,
    Tallies,
    average,
    average_interval,
    falls_with_difficulty,
    interval,
    total,
)
from salon_bench.suites.artifact_bench.diagnosis import confusion, diagnoses, lines
from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.contract.tables import line, summary_of
from salon_judges.formats.artifact_bench import (
    CHOSE_FIRST,
    CORRECT,
    FRAMES_LEFT_OUT,
    SAID_YES,
    SWAPPED,
    QuestionLevel,
    QuestionTask,
)
from salon_ranking.uncertainty.proportions import sign_test
from salon_taxonomy.verdict import Reason

if TYPE_CHECKING:
    import polars as pl


HUMAN_BASELINE: Final[dict[tuple[QuestionTask, QuestionLevel], tuple[float, int]]] = {
    (QuestionTask.RVAC, QuestionLevel.L1): (95.6, 250),
    (QuestionTask.RVAC, QuestionLevel.L2): (92.6, 149),
    (QuestionTask.RVAC, QuestionLevel.L3): (90.1, 101),
    (QuestionTask.PVRC, QuestionLevel.L1): (88.0, 125),
    (QuestionTask.PVRC, QuestionLevel.L2): (86.2, 87),
    (QuestionTask.PVRC, QuestionLevel.L3): (81.6, 38),
    (QuestionTask.AID, QuestionLevel.L1): (82.9, 140),
    (QuestionTask.AID, QuestionLevel.L2): (79.0, 157),
    (QuestionTask.AID, QuestionLevel.L3): (77.4, 53),
}
"""Percent of right answers as printed, and the number of questions, for each task and level of the released benchmark."""

HUMAN_TOTAL: Final = 87.7
"""``Total`` of the human experts, in percent, as printed."""


INVALID: Final = tuple(
    each.value for each in (Reason.EMPTY, Reason.REFUSED, Reason.TRUNCATED, Reason.MALFORMED, Reason.OFF_MENU)
)
"""Reasons that count as a wrong answer (Artifact-Bench, appendix A.3: Invalid): the judge replied, without an answer."""


def summarize(scores: "pl.DataFrame") -> Summary:
    """Return one judge's numbers.

    Args:
        scores: the rows of one run and one subject, as the store has them.

    Returns:
        ``accuracy`` per task and level, ``Avg`` and ``total``; ``said generated`` (RVAC), ``chose the first`` and, where both
        orders were asked, ``accuracy in both orders`` and ``same video in both orders`` (PVRC); ``jaccard``, ``option
        accuracy``, ``precision`` and ``recall`` (AID); ``human accuracy`` as published. All in percent. ``scored`` counts
        replies with an answer (for precision the times that a label was chosen, for recall the times that it was there),
        ``unscored`` the others: those without an answer count as wrong.
    """

    tallies = tallies_of(scores)
    rows = [*_accuracies(tallies), *_choices(scores)]
    answers = diagnoses(scores, INVALID)
    unanswered = sum(each.chosen is None for each in answers)
    for metric, group, value, size in lines(answers):
        rows.append(line(metric, group, value, scored=size, unscored=unanswered))
    rows += _humans(tallies)
    return summary_of(rows, _notes(scores, tallies, confusion(answers)))


def tallies_of(scores: "pl.DataFrame") -> Tallies:
    """Return the counts of every task and level that has questions, easiest level first."""
    import polars as pl

    answers = scores.filter(pl.col("dimension") == CORRECT)
    invalid = pl.col("unscored_reason").is_in(INVALID)
    counted = answers.group_by("task").agg(
        right=(pl.col("value") > 0.5).sum(),
        answered=pl.col("value").is_not_null().sum(),
        invalid=(pl.col("value").is_null() & invalid).sum(),
        left_out=(pl.col("value").is_null() & ~invalid).sum(),
    )
    known = {row.pop("task"): AccuracyCounts(**row) for row in counted.to_dicts()}
    wanted = [(task, level) for task in QuestionTask for level in QuestionLevel]
    return {(task, level): known[f"{task} {level}"] for task, level in wanted if f"{task} {level}" in known}


def _accuracies(tallies: Tallies) -> Iterator[dict[str, Any]]:
    for task in QuestionTask:
        mine = {key: tally for key, tally in tallies.items() if key[0] is task}
        for (_, level), tally in mine.items():
            yield _of_tally("accuracy", f"{task} {level}", tally)
        if mine:
            whole = sum(mine.values(), AccuracyCounts())
            low, high = average_interval(mine, task)
            yield {**_of_tally("accuracy", f"{task} Avg", whole), "value": average(mine, task), "ci_low": low, "ci_high": high}
    if tallies:
        yield {**_of_tally("accuracy", "total", sum(tallies.values(), AccuracyCounts())), "value": total(tallies)}


def _choices(scores: "pl.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield what was chosen, whatever was right: leanings of the judge."""
    import polars as pl

    for dimension, metric, group in ((SAID_YES, "said generated", "rvac"), (CHOSE_FIRST, "chose the first", "pvrc")):
        values = scores.filter(pl.col("dimension").is_in([dimension, dimension + SWAPPED]))
        if values.height:
            yield _share(metric, group, values["value"])
    wide = scores.filter(pl.col("dimension").is_in([CORRECT, CORRECT + SWAPPED]) & pl.col("task").str.starts_with("pvrc"))
    if not wide.filter(pl.col("dimension") == CORRECT + SWAPPED).height:
        return
    both = wide.pivot("dimension", index=["task", "prompt_id"], values="value")
    one, other = pl.col(CORRECT), pl.col(CORRECT + SWAPPED)
    yield _share("accuracy in both orders", "pvrc", both.select((one * other).alias("both"))["both"])
    yield _share("same video in both orders", "pvrc", both.select((one == other).cast(pl.Float64).alias("same"))["same"])


def _humans(tallies: Tallies) -> Iterator[dict[str, Any]]:
    for (task, level), (percent, questions) in HUMAN_BASELINE.items():
        if (task, level) in tallies:
            yield line("human accuracy", f"{task} {level}", percent, scored=questions, unscored=0)
    if len(tallies) == len(HUMAN_BASELINE):
        questions = sum(count for _, count in HUMAN_BASELINE.values())
        yield line("human accuracy", "total", HUMAN_TOTAL, scored=questions, unscored=0)


def _share(metric: str, group: str, values: "pl.Series") -> dict[str, Any]:
    known = values.drop_nulls()
    return _of_tally(metric, group, AccuracyCounts(int((known > 0.5).sum()), len(known))) | {
        "unscored": len(values) - len(known)
    }


def _of_tally(metric: str, group: str, tally: AccuracyCounts) -> dict[str, Any]:
    low, high = interval(tally)
    unscored = tally.invalid + tally.left_out
    return line(metric, group, tally.percent, (low, high), scored=tally.answered, unscored=unscored)


def _notes(scores: "pl.DataFrame", tallies: Tallies, confused: "pl.DataFrame") -> Iterator[str]:
    import polars as pl

    whole = sum(tallies.values(), AccuracyCounts())
    yield (
        f"{whole.invalid} replies hold no answer and count as wrong (Invalid); {whole.left_out} questions got no reply or have "
        "a video that cannot be read, and do not count."
    )
    for task in QuestionTask:
        falls = falls_with_difficulty(tallies, task)
        if falls is not None:
            by_level = " → ".join(f"{tallies[task, level].percent:.1f}" for level in QuestionLevel)
            yield f"{task}: accuracy {'falls' if falls else 'does not fall'} with difficulty ({by_level})."
    yield from _position(scores)
    if confused.height:
        top = ", ".join(f"{row['missed']} → {row['chosen']} ({row['weight']:.1f})" for row in confused.head(3).to_dicts())
        yield f"Most often missed → chosen instead: {top}."
    thinned = scores.filter((pl.col("dimension") == FRAMES_LEFT_OUT) & (pl.col("value") > 0))
    if thinned.height:
        left_out = int(thinned["value"].sum())
        yield f"In {thinned.height} questions {left_out} frames were thinned out, because the judge takes no more."
    yield (
        "Intervals: 95%, Wilson's for shares of questions, combined over levels for Avg (Zou and Donner 2008); none where "
        "options of one question hang together. Human accuracy is the published row (artifact-bench:2), about the "
        "released questions."
    )


def _position(scores: "pl.DataFrame") -> Iterator[str]:
    """Yield the share of first videos where the order decided, with its sign test."""
    import polars as pl

    dimensions = scores.filter(pl.col("dimension").is_in([CHOSE_FIRST, CHOSE_FIRST + SWAPPED]))
    if not dimensions.filter(pl.col("dimension") == CHOSE_FIRST + SWAPPED).height:
        return
    pairs = dimensions.drop_nulls("value").group_by("task", "prompt_id").agg(pl.len(), first=pl.col("value").sum())
    biased = pairs.filter((pl.col("len") == 2) & (pl.col("first") != 1))
    first = biased.filter(pl.col("first") == 2).height
    p = float(sign_test([first], [biased.height])[0])
    whole = pairs.filter(pl.col("len") == 2).height
    yield (
        f"pvrc: in {biased.height} of {whole} pairs the place decided: the first {first} times, the second "
        f"{biased.height - first} times (sign test p = {p:.3g})."
    )
