"""Agreement of a judge with people, or with another judge: Spearman's ρ and Kendall's τ per track.

    judge_beside_people(scores, ratings)     picture by picture: mean of the raters against the judge       PRISM-Bench, Table 3
    judge_beside_judge(scores, others)       model by model over track scores (as Table 3), or picture by picture

A picture's score by a judge is the mean of its alignment and its aesthetics; without both it has none. Intervals are percentile
intervals of a seeded bootstrap; what stands together in nature is drawn together (see each function).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.suites.contract.metrics import CONFIDENCE, REPLICATES
from salon_bench.suites.prism.scoring import POINTS, SEED
from salon_judges.formats.prism_tracks import Axis, Track
from salon_ranking.agreement import UndefinedError, kendall, spearman
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_taxonomy.errors import InputError

Floats = NDArray[np.float64]

FEWEST: Final = 3
"""Below this many pictures or models no coefficient is given."""
RATERS: Final = 3
"""People who rate each picture in the paper."""

_COEFFICIENTS: Final[dict[str, Callable[[Floats, Floats], float]]] = {"spearman": spearman, "kendall": kendall}
_SCHEMA: Final = {
    "track": pl.String,
    "items": pl.Int64,
    "left_out": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in _COEFFICIENTS for end in ("", "_low", "_high")},
    "reason": pl.String,
}
_NEEDED: Final = ("prompt_id", "generation_id", "subject_model", "task", "dimension", "value")


class AgreementLevel(StrEnum):
    """What two judges are compared over."""

    MODELS = "models"
    """Each model's score on the track."""
    PICTURES = "pictures"
    """Each picture's score."""


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """How far two orders agree.

    Attributes:
        table: one row per track in the paper's order: ``track``, ``items`` (pictures or models that both have), ``left_out``
            (those that only one has), ``spearman``, ``kendall`` (in [-1, 1]) with ``_low`` and ``_high``, and ``reason``:
            why there is no coefficient. Null is *does not exist*, never 0.
        notes: sentences for people.
    """

    table: pl.DataFrame
    notes: tuple[str, ...] = ()


def judge_beside_people(
    scores: pl.DataFrame, ratings: pl.DataFrame, *, replicates: int = REPLICATES, seed: int = SEED
) -> OrderAgreement:
    """Agreement of a judge with the mean of people's marks, picture by picture.

    A picture is found by ``generation_id`` where the ratings have one, else by ``prompt_id`` and ``model``. Pictures of the
    same prompt are drawn together in the bootstrap, because they are not independent.

    Args:
        scores: rows of the suite, of any number of models and one judge.
        ratings: one row per mark, with ``value``, ``rater_id``, and the columns that name the picture; of one dimension.
        replicates: of the bootstrap; 0 gives no intervals.
        seed: of its draws.

    Raises:
        InputError: a column is missing; a picture has two scores of one kind, or two marks by one rater; the ratings hold
            several dimensions.
    """
    key = ["generation_id"] if _has_ids(ratings) else ["prompt_id", "model"]
    people = _people(ratings, key)
    judged = picture_scores(scores).rename({"subject_model": "model"}).drop_nulls(key).join(people, on=key, how="semi")
    _once(judged, key, "several pictures of the judge are called the same; give the ratings a generation_id:")
    both = people.join(judged, on=key, how="left", maintain_order="left")
    orphans = both["track"].null_count()
    pairs = both.drop_nulls("track").select("track", first="value", second="mark", cluster="prompt_id")
    few = people.filter(pl.col("raters") < RATERS).height
    notes = [f"{people.height} rated pictures, {int(people['raters'].sum())} marks; {few} have fewer than {RATERS} raters."]
    if orphans:
        notes.append(f"{orphans} rated pictures have no row of the judge and so no track.")
    return OrderAgreement(agree(pairs, replicates=replicates, seed=seed), (*notes, *_how("prompts", replicates, seed)))


def judge_beside_judge(
    scores: pl.DataFrame,
    others: pl.DataFrame,
    level: AgreementLevel | str = AgreementLevel.MODELS,
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> OrderAgreement:
    """Agreement of two judges about the same models (the paper's way) or the same pictures.

    Args:
        scores, others: rows of the suite, each of one judge and any number of models.
        level: ``models``: over each model's track scores, models drawn with replacement; ``pictures``: over pictures, those of
            the same prompt drawn together.
        replicates: of the bootstrap; 0 gives no intervals.
        seed: of its draws.

    Raises:
        InputError: a column is missing, a picture has two scores of one kind, or the level is unknown.
    """
    if level not in tuple(AgreementLevel):
        raise InputError("unknown level", value=str(level), allowed=AgreementLevel)
    if AgreementLevel(level) is AgreementLevel.MODELS:
        one, other = model_scores(scores), model_scores(others)
        both = one.join(other, on=["track", "model"], how="full", coalesce=True, suffix="_other")
        pairs = both.select("track", first="value", second="value_other", cluster="model")
        return OrderAgreement(agree(pairs, replicates=replicates, seed=seed), _how("models", replicates, seed))
    one, other = picture_scores(scores), picture_scores(others)
    key = ["track", "prompt_id", "generation_id", "subject_model"]
    both = one.join(other, on=key, how="full", coalesce=True, nulls_equal=True, suffix="_other")
    pairs = both.select("track", first="value", second="value_other", cluster="prompt_id")
    return OrderAgreement(agree(pairs, replicates=replicates, seed=seed), _how("prompts", replicates, seed))


def picture_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """One row per picture: ``track, prompt_id, generation_id, subject_model, value`` (points of 100; null without both axes).

    Raises:
        InputError: a column is missing, the rows are of several judges or versions, or a picture has two rows of one
            dimension.
    """
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise InputError("the scores lack the column", value=missing[0], found=scores.columns)
    ours = scores.filter(pl.col("dimension").is_in([str(axis) for axis in Axis]))
    _one_judge(ours)
    key = ["task", "prompt_id", "generation_id", "subject_model"]
    # A missing picture has no generation_id: and no value either.
    known = ours.filter(pl.col("generation_id").is_not_null() | pl.col("value").is_not_null())
    _once(known, [*key, "dimension"], "a picture has several scores of one dimension; give the rows of one judge:")
    axes = [pl.col("value").filter(pl.col("dimension") == str(axis)).first() for axis in Axis]
    mean = sum(axes[1:], axes[0]) / len(axes) * POINTS
    found = ours.group_by(key).agg(value=mean.cast(pl.Float64))
    return found.rename({"task": "track"}).sort("track", "prompt_id", "generation_id", "subject_model", nulls_last=True)


def model_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """One row per track and model: ``track, model, value``: the track score by the paper's rule, in points of 100.

    Raises:
        InputError: as :func:`picture_scores`.
    """
    picture_scores(scores)
    axes = [
        pl.col("value").filter(pl.col("dimension") == str(axis)).sort().mean().cast(pl.Float64).alias(str(axis))
        for axis in Axis
    ]
    found = scores.group_by("task", "subject_model").agg(axes)
    mean = (pl.col(str(Axis.ALIGNMENT)) + pl.col(str(Axis.AESTHETIC))) / 2 * POINTS
    return found.select(track="task", model="subject_model", value=mean).sort("track", "model")


def agree(pairs: pl.DataFrame, *, replicates: int = REPLICATES, seed: int = SEED) -> pl.DataFrame:
    """Coefficients of each track.

    Args:
        pairs: columns ``track``, ``first``, ``second`` (null where one side has no value) and ``cluster``: what is drawn
            together.
        replicates: of the bootstrap.
        seed: of its draws; each track has a stream of its own.

    Returns:
        The table of :class:`OrderAgreement`.
    """
    if replicates < 0 or seed < 0:
        raise InputError("replicates and seed must be 0 or more, not", value=min(replicates, seed))
    rows = []
    for place, track in enumerate(Track):
        mine = pairs.filter(pl.col("track") == str(track))
        whole = mine.drop_nulls(["first", "second"]).sort("cluster", "first", "second")
        row: dict[str, object] = {"track": str(track), "items": whole.height, "left_out": mine.height - whole.height}
        first, second = whole["first"].to_numpy(), whole["second"].to_numpy()
        random = np.random.default_rng([seed, place])
        rows.append(row | _coefficients(first, second, whole["cluster"].rle_id().to_numpy(), replicates, random))
    return pl.DataFrame(rows, schema=_SCHEMA)


def _coefficients(
    first: Floats, second: Floats, cluster: NDArray[np.integer], replicates: int, random: np.random.Generator
) -> dict[str, object]:
    if len(first) < FEWEST:
        return {"reason": f"fewer than {FEWEST} on both sides"}
    try:
        values = {name: statistic(first, second) for name, statistic in _COEFFICIENTS.items()}
    except UndefinedError as error:
        return {"reason": error.problem.rstrip(":")}
    found: dict[str, object] = dict(values)
    begins = np.flatnonzero(np.diff(cluster, prepend=-1))
    if replicates and len(begins) > 1:
        drawn = _drawn(first, second, begins, replicates, random)
        low, high = expanded_interval(drawn, np.array(list(values.values())), len(begins), CONFIDENCE)
        for place, name in enumerate(_COEFFICIENTS):
            ends = {"low": low[place], "high": high[place]}
            found |= {f"{name}_{end}": None if np.isnan(value) else float(value) for end, value in ends.items()}
    return found


def _drawn(first: Floats, second: Floats, begins: NDArray[np.integer], replicates: int, random: np.random.Generator) -> Floats:
    """Coefficients of resampled clusters, shape (replicates, 2); NaN where one side of a resample is constant."""
    members = np.split(np.arange(len(first)), begins[1:])
    drawn = np.full((replicates, len(_COEFFICIENTS)), np.nan)
    for row in drawn:
        rows = np.concatenate([members[place] for place in random.integers(0, len(members), len(members))])
        x, y = first[rows], second[rows]
        if x.min() < x.max() and y.min() < y.max():
            row[:] = [statistic(x, y) for statistic in _COEFFICIENTS.values()]
    return drawn


def _people(ratings: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """One row per rated picture: the key, ``mark`` (mean of the raters) and ``raters``."""
    for column in (*key, "rater_id", "value"):
        if column not in ratings.columns:
            raise InputError("the ratings lack the column", value=column, found=ratings.columns)
    if "dimension" in ratings.columns and ratings["dimension"].n_unique() > 1:
        several = sorted(map(str, ratings["dimension"].unique()))
        raise InputError("the ratings hold several dimensions; choose one", column="dimension", value=several)
    _once(ratings, [*key, "rater_id"], "a rater has marked a picture twice:")
    return ratings.group_by(key).agg(mark=pl.col("value").sort().mean(), raters=pl.col("rater_id").n_unique()).sort(key)


def _has_ids(ratings: pl.DataFrame) -> bool:
    return "generation_id" in ratings.columns and not ratings["generation_id"].is_null().any()


def _one_judge(scores: pl.DataFrame) -> None:
    """Refuse rows of several judges, or of several versions of one: their scores are not comparable."""
    columns = [name for name in ("judge", "judge_version") if name in scores.columns]
    several = scores.select(columns).unique().sort(columns, nulls_last=True)
    if several.height > 1:
        hint = "Compare the rows of one judge in one version; salon bench runs lists them."
        names = [" ".join(str(part) for part in row if part is not None) for row in several.rows()]
        raise InputError("the scores are of several judges or versions:", value=names[:3], hint=hint)


def _once(frame: pl.DataFrame, key: list[str], problem: str) -> None:
    twice = frame.filter(~pl.struct(key).is_first_distinct())
    if twice.height:
        raise InputError(problem, value=list(twice.select(key).row(0)))


def _how(drawn: str, replicates: int, seed: int) -> tuple[str, ...]:
    if not replicates:
        return ()
    return (f"95% intervals: percentile bootstrap over {drawn}, {replicates} replicates, seed {seed}.",)
