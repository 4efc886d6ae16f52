"""From rows about pictures to PRISM-Bench's scores, in points of 100.

    axis score of a track     10 · mean of the axis's verdicts               PRISM-Bench, section 3.2
    track score               mean of its alignment and its aesthetic score
    overall                   mean of the seven tracks

By the released rules a track's score is the mean of all its verdicts, and overall the mean of the verdicts of all tracks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.suites.contract.metrics import REPLICATES, resampled_sums
from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.contract.tables import SUMMARY_COLUMNS, reasons_sentence
from salon_bench.suites.prism.fidelity import CountingRules
from salon_judges.formats.prism_tracks import Axis, Track
from salon_ranking.uncertainty.means import CONFIDENCE
from salon_ranking.uncertainty.quantiles import standard_interval
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.errors import InputError

Floats = NDArray[np.float64]

SEED: Final = 0
AVERAGE: Final = "average"
"""The metric that joins the two axes."""

POINTS: Final = 10.0
"""From a judge's points of 10 to points of 100."""

_AXES = tuple(Axis)
_TRACKS = tuple(Track)
_NEEDED: Final = ("prompt_id", "task", "dimension", "value", "unscored_reason")


@dataclass(frozen=True)
class Sums:
    """What the numbers are made of, prompt by prompt.

    Attributes:
        track: shape (prompts,); place of each prompt's track in :class:`Track`.
        prompt: shape (prompts,); ids, in ascending order within a track.
        total: shape (prompts, 2); sum of the verdicts on alignment and on aesthetics, in points of 10.
        scored, unscored: shape (prompts, 2); how many verdicts were had and how many not.
    """

    track: NDArray[np.int64]
    prompt: tuple[str, ...]
    total: Floats
    scored: Floats
    unscored: Floats


def summarize(scores: pl.DataFrame, fidelity: Fidelity = "paper", *, replicates: int = REPLICATES, seed: int = SEED) -> Summary:
    """Return overall and the seven tracks of one subject model: average, alignment and aesthetics, with 95% intervals.

    Args:
        scores: rows of :meth:`~.suite.PrismBench.examine`, columns as in the store; rows of other dimensions are left alone.
        fidelity: whose rules count.
        replicates: of the bootstrap; 0 gives no intervals.
        seed: of its draws.

    Returns:
        Values from 0 to 100, null where nothing was scored; by the paper's rules the numbers over all tracks are null unless
        each of the seven has one. ``scored`` and ``unscored`` count verdicts. Intervals are Student's t
        with the standard error of a bootstrap that draws prompts with replacement within their track; what rests on a single
        prompt of a track, or on fewer than five, has none.

    Raises:
        InputError: a column is missing, a task is no track, or ``replicates`` or ``seed`` is below 0.
    """
    if replicates < 0 or seed < 0:
        raise InputError("replicates and seed must be 0 or more, not", value=min(replicates, seed))
    rules, totals = CountingRules.of(fidelity), sums(scores)
    value = numbers(by_track(totals.track, totals.total), by_track(totals.track, totals.scored), rules)
    drawn = resampled(totals.track, np.stack([totals.total, totals.scored], axis=1), replicates, seed)
    drawn[:, lone(totals)] = np.nan
    low, high = ends_of(numbers(drawn[..., 0, :], drawn[..., 1, :], rules), value, prompts_of(totals))
    low, high = np.maximum(low, 0.0), np.minimum(high, 100.0)
    table = pl.DataFrame(
        {
            "metric": [metric for metric, _ in names()],
            "group": [group for _, group in names()],
            "value": value,
            "ci_low": np.where(np.isnan(value), np.nan, low.round(9)),
            "ci_high": np.where(np.isnan(value), np.nan, high.round(9)),
            "scored": counts(totals.track, totals.scored),
            "unscored": counts(totals.track, totals.unscored),
        },
        schema=SUMMARY_COLUMNS,
        strict=False,
    ).with_columns(pl.col("value", "ci_low", "ci_high").fill_nan(None))
    return Summary(table, tuple(_notes(totals, scores, fidelity, replicates, seed)))


def names() -> list[tuple[str, str | None]]:
    """Return metric and group of the numbers, in the order of :func:`numbers`: overall first, then track by track."""
    groups = [None, *(str(track) for track in _TRACKS)]
    return [(metric, group) for group in groups for metric in (AVERAGE, *(str(axis) for axis in _AXES))]


def sums(scores: pl.DataFrame) -> Sums:
    """Return verdicts added up by prompt.

    Raises:
        InputError: a column is missing, or a task is no track.
    """
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise InputError("the scores lack the column", value=missing[0], found=scores.columns)
    ours = scores.filter(pl.col("dimension").is_in([str(axis) for axis in _AXES]))
    unknown = ours.filter(~pl.col("task").is_in([str(track) for track in _TRACKS]).fill_null(False))
    if unknown.height:
        raise InputError("unknown track", column="task", value=unknown["task"][0], allowed=_TRACKS)
    cells = [
        part.alias(f"{name} {axis}")
        for axis in _AXES
        for mine in [pl.col("value").filter(pl.col("dimension") == str(axis))]
        for name, part in {"total": mine.sort().sum(), "scored": mine.count(), "unscored": mine.null_count()}.items()
    ]
    number_of = {str(track): number for number, track in enumerate(_TRACKS)}
    number = pl.col("task").replace_strict(number_of, return_dtype=pl.Int64).alias("track")
    table = ours.with_columns(number).group_by("track", "prompt_id").agg(cells).sort("track", "prompt_id", nulls_last=True)
    total, scored, unscored = (
        table.select(f"{name} {axis}" for axis in _AXES).cast(pl.Float64).to_numpy().reshape(-1, len(_AXES))
        for name in ("total", "scored", "unscored")
    )
    return Sums(table["track"].to_numpy(), tuple(table["prompt_id"].fill_null("")), total, scored, unscored)


def by_track(track: NDArray[np.int64], column: Floats) -> Floats:
    """Return a column of shape (prompts, 2) added up to shape (tracks, 2)."""
    added = np.zeros((len(_TRACKS), len(_AXES)))
    np.add.at(added, track, column)
    return added


def numbers(total: Floats, scored: Floats, rules: CountingRules) -> Floats:
    """Return the numbers of :func:`names` from sums by track.

    Args:
        total, scored: shape (…, tracks, 2).
        rules: whose rules count.

    Returns:
        Shape (…, numbers), in points of 100; NaN where there is no verdict.
    """
    axis = _ratio(total, scored)
    pooled = _ratio(total.sum(axis=-1), scored.sum(axis=-1))
    average = pooled if rules.pool else axis.mean(axis=-1)
    if rules.pool:
        over_all = _ratio(total.sum(axis=-2), scored.sum(axis=-2))
        whole = _ratio(total.sum(axis=(-2, -1)), scored.sum(axis=(-2, -1)))
    else:
        over_all, whole = axis.mean(axis=-2), average.mean(axis=-1)
    tracks = np.concatenate([average[..., None], axis], axis=-1)
    overall = np.concatenate([whole[..., None], over_all], axis=-1)
    joined = POINTS * np.concatenate([overall[..., None, :], tracks], axis=-2)
    return np.asarray(joined.reshape(*joined.shape[:-2], math.prod(joined.shape[-2:])))


def counts(track: NDArray[np.int64], column: Floats) -> Floats:
    """Return how many verdicts stand behind each of the numbers; shape (numbers,)."""
    added = by_track(track, column)
    tracks = np.concatenate([added.sum(axis=-1, keepdims=True), added], axis=-1)
    numbers: Floats = np.concatenate([tracks.sum(axis=0, keepdims=True), tracks])
    return numbers.reshape(-1)


def resampled(track: NDArray[np.int64], columns: Floats, replicates: int, seed: int) -> Floats:
    """Return sums by track over prompts drawn with replacement within their track.

    Args:
        track: shape (prompts,).
        columns: shape (prompts, …).

    Returns:
        Shape (replicates, tracks, …); 0 for a track without prompts.
    """
    return resampled_sums(columns, replicates, seed, track, count=len(_TRACKS))


def prompts_of(totals: Sums) -> NDArray[np.int64]:
    """Return how many prompts of each track are behind the average and each axis, shape (tracks, 3)."""
    axes = by_track(totals.track, (totals.scored > 0).astype(np.float64)).astype(np.int64)
    fewer = axes.min(axis=1, keepdims=True)
    return np.concatenate([np.where(fewer > 0, fewer, axes.max(axis=1, keepdims=True)), axes], axis=1)


def ends_of(drawn: Floats, value: Floats, prompts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return intervals of the numbers, shape (numbers,): by the prompts of all tracks, then by those of each.

    Args:
        drawn: shape (replicates, numbers).
        value: shape (numbers,).
        prompts: shape (tracks, 3).
    """
    units = np.concatenate([prompts.sum(axis=0), prompts.ravel()])
    strata = np.concatenate([np.maximum(np.count_nonzero(prompts, axis=0), 1), np.ones(prompts.size, dtype=np.int64)])
    ends = [
        standard_interval(drawn[:, [place]], value[[place]], int(count), CONFIDENCE, int(strata[place]))
        for place, count in enumerate(units)
    ]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])


def lone(totals: Sums) -> NDArray[np.bool_]:
    """Return where an axis of a track rests on a single prompt; shape (tracks, 2, 2).

    The second axis is that of the sums, total and number of verdicts.
    """
    prompts = by_track(totals.track, (totals.scored > 0).astype(np.float64))
    return np.repeat((prompts == 1)[:, None], 2, axis=1)


def _ratio(total: Floats, number: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(number != 0, total / number, np.nan))


def _notes(totals: Sums, scores: pl.DataFrame, fidelity: Fidelity, replicates: int, seed: int) -> Iterator[str]:
    yield {
        "paper": "Counted by the paper's rules: a track is the mean of its alignment and its aesthetics, overall is the "
        "mean of the seven tracks.",
        "released": "Counted by the rules of the released script: all verdicts of a track, and for overall those of all "
        "tracks, are pooled.",
    }[fidelity]
    had = counts(totals.track, totals.scored)[3:].reshape(len(_TRACKS), -1)[:, 1:]
    lacking = [str(track) for track, each in zip(_TRACKS, had, strict=True) if not each.all()]
    if lacking and fidelity == "paper":
        yield f"Numbers over all tracks need all seven; these lack verdicts: {', '.join(lacking)}."
    elif lacking:
        yield f"The numbers over all tracks are about fewer than seven; these lack verdicts: {', '.join(lacking)}."
    ours = scores.filter(pl.col("dimension").is_in([str(axis) for axis in _AXES]))
    yield from reasons_sentence(ours, "Missing verdicts")
    if replicates:
        yield f"95% intervals: Student's t, bootstrap over prompts within tracks, {replicates} replicates, seed {seed}."
