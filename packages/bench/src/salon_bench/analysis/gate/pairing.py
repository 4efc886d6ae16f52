"""Pair two builds by prompt: their scores, measures of the new pictures against the base's, and battles between the two."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from salon_bench.analysis.between_builds import FLICKER, MEASURES
from salon_bench.analysis.gate.plan import DIVERSITY, PREFERRED, MeasureRule
from salon_console.numbers import counted
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Winner

SIMILARITY: Final = "similarity"
"""The cosine of the features of the new picture and the base's."""
PSNR: Final = "psnr"
PEAK: Final = 255.0
"""The largest value of a colour channel."""
IDENTITY: Final = {name: measure.equal for name, measure in MEASURES.items()} | {FLICKER: 0.0, SIMILARITY: 1.0}
"""Measures of two pictures, with their value where both are the same; the others are worse."""
_FARTHEST: Final = dict.fromkeys(IDENTITY, 1.0) | {
    PSNR: PEAK**2,
    "ssim": 2.0,
    "colour_difference": 120.0,
    FLICKER: 2.0 * PEAK,
    SIMILARITY: 2.0,
}
"""How far a picture that cannot be measured counts from there; of PSNR in squared error. No sRGB colours are 120 apart."""
_VERSION: Final = ("suite", "dimension", "task", "judge", "judge_version")
_KEY: Final = (*_VERSION, "prompt_id")


@dataclass(frozen=True, eq=False, slots=True)
class PairedMeasure:
    """One measure of both builds.

    Attributes:
        name: of the measure.
        pairs: a row per prompt: ``prompt_id``, ``base``, ``new`` (null: a verdict is missing), ``silent`` (the new build lacks
            more of them). PSNR is here as mean squared error: the mean of a prompt that did not change has no PSNR.
        rule: of the plan.
        margin: how far ``new`` may be from ``base``: the rule's, or the distance from the identity to its limit.
        lower: whether less is better, of the columns of ``pairs``.
        size: how much a prompt can fall at most.
        silence: how far a prompt fell whose new picture has no value.
        identical: of a measure with a limit, the prompts whose pictures are equal.
        seeds: pictures of a prompt, in the median.
    """

    name: str
    pairs: pl.DataFrame
    rule: MeasureRule
    margin: float
    lower: bool
    size: float
    silence: float
    identical: int | None = None
    seeds: int = 1


def of_scores(
    base: pl.DataFrame, new: pl.DataFrame, rules: Mapping[str, MeasureRule], names: tuple[str, str]
) -> list[PairedMeasure]:
    """Return measures that are dimensions of both builds' scores.

    Args:
        base, new: rows with the columns of ``records.Score``.
        rules: by dimension.
        names: what to call the two.

    Raises:
        InputError: a side has several models, they were judged by different versions, a side lacks prompts, samples or
            pictures that the other has, or a value is outside the measure's range.
    """
    for side, name in ((base, names[0]), (new, names[1])):
        models = side["subject_model"].unique().sort().to_list()
        if len(models) != 1:
            raise InputError("has scores of several models, or of none", source=name, value=", ".join(models))
    own = pl.col("dimension").is_in(list(rules))
    sides = [side.filter(own).with_columns(pl.col("value").cast(pl.Float64)) for side in (base, new)]
    asked = [{*side.select(_VERSION).unique().rows()} for side in sides]
    if asked[0] != asked[1]:
        row = min(asked[0] ^ asked[1], key=repr)
        other = names[0] if row in asked[1] else names[1]
        hint = "Judge both builds with the same suite, judge and version."
        raise InputError(
            "the builds were not judged alike; no score of", source=other, value=" ".join(map(str, row)), hint=hint
        )
    pairs = _paired(sides[0], sides[1], names)
    measures = []
    for name, rule in rules.items():
        values = pl.concat([side.filter(dimension=name)["value"].drop_nulls() for side in sides])
        size = most_fall(name, values, 0.0, rule)
        measures.append(
            PairedMeasure(name, pairs.filter(dimension=name), rule, rule.margin or 0.0, rule.lower, size, silence=size)
        )
    return measures


def most_fall(name: str, values: pl.Series, anchor: float, rule: MeasureRule) -> float:
    """Return how much a prompt can fall at most: the measure's range, or that of the values and the anchor.

    Raises:
        InputError: a value is not finite, or outside the range.
    """
    numbers = values.to_numpy()
    outside = ~np.isfinite(numbers)
    if rule.range is not None:
        outside |= (numbers < rule.range[0]) | (numbers > rule.range[1])
    if outside.any():
        allowed = None if rule.range is None else [*rule.range]
        raise InputError(
            "has a value outside its range:", key=f"measures.{name}", value=float(numbers[outside][0]), allowed=allowed
        )
    if rule.range is not None:
        return rule.range[1] - rule.range[0]
    return float(numbers.max(initial=anchor) - numbers.min(initial=anchor))


def _paired(base: pl.DataFrame, new: pl.DataFrame, names: tuple[str, str]) -> pl.DataFrame:
    """Return one row per dimension and prompt: ``base``, ``new`` (null: a verdict is missing)."""
    sides = []
    for side, name in ((base, names[0]), (new, names[1])):
        loose = side.filter(pl.col("prompt_id").is_null())
        if loose.height:
            raise InputError("has scores without a prompt_id, which have no pair:", source=name, value=loose["dimension"][0])
        twice = side.drop_nulls("generation_id").filter(pl.struct(*_KEY, "generation_id").is_duplicated())
        if twice.height:
            raise InputError("has two scores of one picture, such as of prompt", source=name, value=twice["prompt_id"][0])
        has_ids = pl.col("generation_id").is_not_null().any().over("dimension")
        has_picture = pl.col("value").is_not_null() | pl.col("generation_id").is_not_null() | ~has_ids
        grouped = side.with_columns(found=has_picture).group_by(_KEY, maintain_order=True)
        counts = {"rows": pl.len(), "unscored": pl.col("value").null_count(), "found": pl.col("found").sum()}
        sides.append(grouped.agg(pl.col("value").sort().mean(), **counts))
    both = sides[0].join(sides[1], on=_KEY, how="full", coalesce=True, suffix="_new", nulls_equal=True).sort(_KEY)
    if not both.height:
        raise InputError("has no score of a prompt", source=names[0])
    for column, problem in (("rows", "lacks samples of"), ("found", "has no pictures for")):
        for mine, other, name in ((column, f"{column}_new", names[0]), (f"{column}_new", column, names[1])):
            gone = both.filter(pl.col(mine).fill_null(0) < pl.col(other).fill_null(0))
            if gone.height:
                lacking, prompts = gone["prompt_id"].n_unique(), counted(both["prompt_id"].n_unique(), "prompt")
                hint = "Both builds need the same prompts and seeds."
                where = f"{gone['prompt_id'][0]} ({gone['dimension'][0]})"
                raise InputError(f"{problem} {lacking:,} of {prompts}, such as", source=name, value=where, hint=hint)
    known = (pl.col("unscored") == 0) & (pl.col("unscored_new") == 0)
    return both.group_by("dimension", "prompt_id", maintain_order=True).agg(
        base=pl.when(known.all()).then(pl.col("value").mean()),
        new=pl.when(known.all()).then(pl.col("value_new").mean()),
        silent=(pl.col("unscored_new") > pl.col("unscored")).any(),
    )


def of_pictures(against: pl.DataFrame, rules: Mapping[str, MeasureRule]) -> list[PairedMeasure]:
    """Return the measures with a limit, from values of the new pictures against the base's.

    Args:
        against: of :func:`~salon_bench.analysis.between_builds.between`.
        rules: of the plan.

    Raises:
        InputError: a limit is on the wrong side, the identity does not keep it or is outside the range, or a value is.
    """
    measures = []
    for name, rule in rules.items():
        best, limit = IDENTITY[name], limit_of(name, rule, IDENTITY[name])
        if rule.range is not None and not rule.range[0] <= best <= rule.range[1]:
            raise InputError(
                f"must contain {best:g}, that of equal pictures, not", key=f"measures.{name}.range", value=rule.range
            )
        is_same = pl.col("identical") & pl.col("reason").is_null()
        rows = against.filter(measure=name).with_columns(identical=is_same)
        value = pl.when(is_same).then(best).otherwise(pl.col("value"))
        if name == PSNR:
            value, best, limit = PEAK**2 / 10.0 ** (value / 10.0), 0.0, PEAK**2 / 10.0 ** (limit / 10.0)
        rows = rows.with_columns(value=value)
        pairs = rows.group_by("prompt_id", maintain_order=True).agg(
            base=pl.lit(best).first(),
            new=pl.when(pl.col("value").is_not_null().all()).then(pl.col("value").sort().mean()),
            silent=pl.col("value").is_null().any(),
            same=pl.col("identical").all(),
            pictures=pl.len(),
        )
        size = most_fall(name, rows["value"].drop_nulls(), best, rule)
        same, far = int(pairs["same"].sum()), max(size, _FARTHEST[name])
        counts = {"identical": same, "seeds": _seeds(pairs)}
        measures.append(PairedMeasure(name, pairs, rule, abs(limit - best), best == 0.0, size, silence=far, **counts))
    return measures


def limit_of(name: str, rule: MeasureRule, best: float) -> float:
    """Return a measure's limit.

    Args:
        name: of the measure.
        rule: of the plan.
        best: its value where nothing changed; less is better where that is 0.

    Raises:
        InputError: the limit is on the wrong side.
    """
    limit = rule.limit or 0.0
    if rule.lower is not (best == 0.0) or limit == best or (limit > best) is not rule.lower:
        word = "at_most, above 0" if best == 0.0 else f"at_least{'' if best == math.inf else f', below {best:g}'}"
        raise InputError(f"needs {word}, not", key=f"measures.{name}", value=limit)
    return limit


def of_diversity(pairs: pl.DataFrame, rule: MeasureRule) -> PairedMeasure:
    """Return how unlike each prompt's pictures are.

    Args:
        pairs: a row per prompt: ``prompt_id``, ``base``, ``new`` (Vendi scores; null: a picture has no features), ``silent``,
            ``pictures`` (of a side).
        rule: of the plan: its margin.

    Raises:
        InputError: a limit, less as better, or a range; a prompt with one picture; or a margin that nothing could exceed.
    """
    if rule.limit is not None or rule.lower or rule.range is not None:
        raise InputError("takes a margin alone, and higher is better", key=f"measures.{DIVERSITY}")
    single = pairs.filter(pl.col("pictures") < 2)
    if single.height:
        hint = "Make pictures of several seeds."
        raise InputError(
            "diversity needs two pictures or more of each prompt, not one of", value=single["prompt_id"][0], hint=hint
        )
    margin, whole = rule.margin or 0.0, (pairs.select(pl.mean("base")).item() or 1.0) - 1.0
    if margin >= whole:
        hint = f"Equal pictures have 1, and the base's {whole + 1.0:.4g} in the mean."
        raise InputError(
            "is as large as all diversity of the base:", key=f"measures.{DIVERSITY}.margin", value=margin, hint=hint
        )
    size = float(pairs.select(pl.max("pictures")).item()) - 1.0
    return PairedMeasure(DIVERSITY, pairs, rule, margin, lower=False, size=size, silence=size, seeds=_seeds(pairs))


def _seeds(pairs: pl.DataFrame) -> int:
    return int(pairs.select(pl.median("pictures")).item() or 1)


def of_battles(battles: pl.DataFrame, rule: MeasureRule, base: str, new: str, prompts: Collection[str] = ()) -> PairedMeasure:
    """Return how much more often the new build won than the base, by prompt.

    A win is 1, a tie 0, a loss −1.

    Args:
        battles: rows with the columns of ``records.Battle``; of a prompt, judges are averaged in each order, and then
            the orders.
        rule: of the plan: its margin.
        base, new: the names of the models.
        prompts: of the builds. One without a battle has no value, and is in the low end as lost; where the rule says that
            prompts were sampled, it takes no part.

    Raises:
        InputError: the battles are not between these two.
    """
    if rule.limit is not None or rule.lower:
        raise InputError("takes a margin, and higher is better", key=f"measures.{PREFERRED}")
    stray = ({*battles["model_a"]} | {*battles["model_b"]}) ^ {base, new}
    if stray:
        raise InputError("the battles must be between the two builds", value=min(stray), allowed=[base, new])
    won = pl.when(pl.col("winner") == Winner.MODEL_A.value).then(1.0).when(pl.col("winner") == Winner.MODEL_B.value).then(-1.0)
    gained = won.otherwise(0.0) * pl.when(pl.col("model_a") == new).then(1.0).otherwise(-1.0)
    weight = pl.col("weight").fill_null(1.0) if "weight" in battles.columns else pl.lit(1.0)
    rows = battles.select("prompt_id", "model_a", gained=gained * weight, weight=weight).filter(pl.col("weight") > 0.0)
    if rows["prompt_id"].null_count():
        raise InputError("the battles need a prompt_id", column="prompt_id")
    orders = rows.group_by("prompt_id", "model_a").agg(new=pl.col("gained").sum() / pl.col("weight").sum())
    pairs = orders.group_by("prompt_id", maintain_order=True).agg(
        base=pl.lit(0.0).first(), new=pl.col("new").sort().mean(), silent=pl.lit(False).first()
    )
    gone = [] if rule.sampled else sorted({*prompts} - {*pairs["prompt_id"]})
    missing = {"prompt_id": gone, "base": [0.0] * len(gone), "new": [None] * len(gone), "silent": [True] * len(gone)}
    pairs = pl.concat([pairs, pl.DataFrame(missing, schema=pairs.schema)]).sort("prompt_id")
    return PairedMeasure(PREFERRED, pairs, rule, rule.margin or 0.0, lower=False, size=1.0, silence=1.0)
