"""From rows about pictures to MagicBench's scores.

    score = 100 · (1 − pictures with the flaw / pictures)          MagicMirror, Equation 4

Human, Animal and Object are about the pictures of that class, Interaction and Overall about all; each sub-category has the
score of its class over its own pictures. Which pictures count, and whose flaws, is up to :class:`~.fidelity.CountingRules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.suites.contract.metrics import REPLICATES, resampled_sums
from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.contract.tables import line, reasons_sentence, summary_of
from salon_bench.suites.magicbench.fidelity import CountingRules
from salon_judges.formats.magicbench_subjects import COUNTED_LABELS, Dimension, SubCategory, SubjectClass
from salon_ranking.uncertainty.means import CONFIDENCE
from salon_ranking.uncertainty.proportions import wilson_interval
from salon_ranking.uncertainty.quantiles import standard_interval
from salon_taxonomy.answers.reading import Fidelity
from salon_taxonomy.errors import InputError

SEED: Final = 0

_NEEDED: Final = ("prompt_id", "generation_id", "task", "dimension", "value", "unscored_reason")


@dataclass(frozen=True)
class _Metric:
    """One number of the summary, picture by picture, before it is added up.

    Attributes:
        name, group: as in the summary.
        counted: shape (pictures,); whether the picture is in the denominator.
        flawed: shape (pictures,); whether it is in the numerator.
        member: shape (pictures,); whether it belongs to the metric at all: what is not counted of these is unscored.
    """

    name: str
    group: str | None
    counted: NDArray[np.bool_]
    flawed: NDArray[np.bool_]
    member: NDArray[np.bool_]

    @property
    def share(self) -> bool:
        """Whether every picture of the numerator is one of the denominator."""
        return not (self.flawed & ~self.counted).any()


def summarize(scores: pl.DataFrame, fidelity: Fidelity) -> Summary:
    """Return the five scores and eight sub-scores of one subject model, with 95% intervals.

    Args:
        scores: rows of :meth:`~.suite.MagicBench.examine`, columns as in the store; other rows are left alone.
        fidelity: whose rules count. ``released`` needs rows of the suite ``magicbench-released``.

    Returns:
        Values from 0 to 100 (by the released rules Human, Animal and Object can fall below 0); null where nothing was
        scored. A value from a panel of judges counts as the majority's; an even split as no verdict.

    Raises:
        InputError: a column is missing, a task is no sub-category, or the released rules are asked of pictures
            without an assessment because they lack their subject.
    """
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise InputError("the scores lack the column", value=missing[0], found=scores.columns)
    pictures = _pictures(scores)
    rules = CountingRules.of(fidelity)
    metrics = list(_metrics(pictures, rules))
    one_each = pictures["prompt_id"].n_unique() == pictures.height
    strange = any(not metric.share for metric in metrics)
    low, high = _intervals(metrics, pictures, one_each)
    rows = [
        line(
            metric.name,
            metric.group,
            _value(metric),
            (low[place], high[place]),
            scored=int(np.count_nonzero(metric.counted)),
            unscored=int(np.count_nonzero(metric.member & ~metric.counted)),
        )
        for place, metric in enumerate(metrics)
    ]
    return summary_of(rows, _notes(pictures, scores, fidelity, one_each, strange))


def _pictures(scores: pl.DataFrame) -> pl.DataFrame:
    """Return one row per picture, in a fixed order: prompt, task, and a nullable truth for every dimension."""
    ours = scores.filter(pl.col("dimension").is_in([str(each) for each in Dimension]))
    unknown = ours.filter(~pl.col("task").is_in([str(each) for each in SubCategory]))
    if unknown.height:
        raise InputError("unknown sub-category", column="task", value=unknown["task"][0], allowed=SubCategory)
    key = ["task", "prompt_id", "generation_id"]
    answer = pl.when(pl.col("value") > 0.5).then(True).when(pl.col("value") < 0.5).then(False)
    columns = [answer.filter(pl.col("dimension") == str(each)).first().cast(pl.Boolean).alias(str(each)) for each in Dimension]
    asked = (pl.col("dimension") == str(Dimension.NORMAL)).any().alias("assessed")
    return ours.group_by(key).agg(*columns, asked).sort(key, nulls_last=True)


def _metrics(pictures: pl.DataFrame, rules: CountingRules) -> Iterator[_Metric]:
    if rules.need_readable_assessment and pictures.filter(~pl.col("subject") & ~pl.col("assessed")).height:
        hint = "Judge them with the suite magicbench-released, or count by the paper's rules."
        raise InputError("the released rules need the assessment of pictures without their subject", hint=hint)
    task = pictures["task"].to_numpy()
    everything = np.ones(pictures.height, dtype=np.bool_)
    absent, present = _is(pictures, "subject", False), _is(pictures, "subject", True)
    readable = pictures["normal"].is_not_null().to_numpy()
    counted = (absent | present) & readable if rules.need_readable_assessment else absent | (present & readable)
    of_class = {each: np.isin(task, [str(c) for c in SubCategory if c.subject_class is each]) for each in SubjectClass}
    flagged = {name: present & _is(pictures, name, False) for name in COUNTED_LABELS}

    yield _Metric("interaction", None, counted, counted & flagged[Dimension.INTERACTION], everything)
    for dimension, members in of_class.items():
        label = counted & flagged[Dimension(dimension)]
        whose = counted if rules.count_flags_of_all_classes else members
        flawed = (label & whose) | (counted & absent & members)
        yield _Metric(dimension, None, counted & members, flawed, members)
    wrong = counted & (absent | (present & _is(pictures, "normal", False)))
    yield _Metric("overall", None, counted, wrong, everything)
    for category in SubCategory:
        members = task == str(category)
        flawed = counted & members & (absent | flagged[Dimension(category.subject_class)])
        yield _Metric(category.subject_class, category, counted & members, flawed, members)


def _is(pictures: pl.DataFrame, dimension: str, value: bool) -> NDArray[np.bool_]:
    return (pictures[str(dimension)] == value).fill_null(False).to_numpy()


def _value(metric: _Metric) -> float | None:
    pictures = int(np.count_nonzero(metric.counted))
    return 100.0 * (1.0 - int(np.count_nonzero(metric.flawed)) / pictures) if pictures else None


def _intervals(metrics: list[_Metric], pictures: pl.DataFrame, one_each: bool) -> tuple[list[float | None], list[float | None]]:
    """Wilson's interval where pictures are independent and the score is a share; else the bootstrap over prompts."""
    flawed = np.array([np.count_nonzero(metric.flawed) for metric in metrics])
    counted = np.array([np.count_nonzero(metric.counted) for metric in metrics])
    low, high = wilson_interval(counted - np.minimum(flawed, counted), counted, CONFIDENCE)
    wanted = [place for place, metric in enumerate(metrics) if counted[place] and not (metric.share and one_each)]
    if wanted:
        low[wanted], high[wanted] = _bootstrap([metrics[place] for place in wanted], pictures)
    ends = [[None if np.isnan(end) else round(100.0 * float(end), 9) for end in side] for side in (low, high)]
    return ends[0], ends[1]


def _bootstrap(metrics: list[_Metric], pictures: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals of shares of sound pictures; prompts are drawn with replacement within their sub-category."""
    task, prompt = pictures["task"].rle_id().to_numpy(), pictures.select(pl.struct("task", "prompt_id").rle_id())
    prompt_of = prompt.to_series().to_numpy()
    first = np.flatnonzero(np.diff(prompt_of, prepend=-1))
    sums = np.stack([metric.flawed for metric in metrics] + [metric.counted for metric in metrics], axis=1)
    per_prompt = np.add.reduceat(sums.astype(np.float64), first, axis=0)
    strata = np.unique(task[first], return_inverse=True)[1]
    drawn = resampled_sums(per_prompt, REPLICATES, SEED, strata, count=int(strata.max()) + 1).sum(axis=1)
    flawed, counted = drawn[:, : len(metrics)], drawn[:, len(metrics) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(counted > 0, 1.0 - flawed / counted, np.nan)
    value = 1.0 - per_prompt[:, : len(metrics)].sum(axis=0) / per_prompt[:, len(metrics) :].sum(axis=0)
    ends = []
    for number in range(len(metrics)):
        prompts = np.bincount(strata[per_prompt[:, len(metrics) + number] > 0])
        prompts = prompts[prompts > 0]
        units = int(prompts.sum()) if prompts.min() > 1 else 0  # a single prompt says nothing about others
        ends.append(standard_interval(shares[:, [number]], value[[number]], units, CONFIDENCE, len(prompts)))
    low, high = (np.clip([side[0] for side in sides], 0.0, 1.0) for sides in zip(*ends, strict=True))
    return low, high


def _notes(pictures: pl.DataFrame, scores: pl.DataFrame, fidelity: Fidelity, one_each: bool, strange: bool) -> Iterator[str]:
    absent = int(_is(pictures, "subject", False).sum())
    there = int(pictures["subject"].is_not_null().sum())
    yield {
        "paper": "Counted by the paper's rules: an image without its subject is an artifact of its class.",
        "released": "Counted by the rules of the released script: Human, Animal and Object count flags on images of all "
        "classes, and an image whose assessment cannot be read is left out even when its subject is missing.",
    }[fidelity]
    unscored = pictures.height - there
    unknown = f" Of {unscored} more it is not known: no picture, or no reply." if unscored else ""
    yield f"{absent} of {there} images lack their subject.{unknown}"
    yield from reasons_sentence(scores.filter(pl.col("dimension") == str(Dimension.OVERALL)), "Left out")
    wilson = "Wilson's score intervals, 95%"
    bootstrap = f"Student's t, bootstrap over prompts within sub-categories, {REPLICATES} replicates, seed {SEED}"
    if not one_each:
        yield f"Several images per prompt: 95% intervals by {bootstrap}."
    elif strange:
        yield f"{wilson}; scores that count flags on images of other classes have {bootstrap}."
    else:
        yield f"{wilson}."
