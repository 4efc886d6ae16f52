"""How far judges agree with each other and with people: rank correlations over models or over pictures.

rows of scores  ──► each judge's value of every model or picture ──┬─► Spearman's ρ and Kendall's τ-b of every pair of judges,
rows of ratings ──► the mean of people's marks ────────────────────┘   and of every judge and people, with intervals

Sources: PRISM-Bench, Table 3 (judges and people, track by track); R³-Bench, section 4.2, Tables 6 and 8 (two judges, people).
Intervals are percentile intervals of a seeded bootstrap, in which pictures of one prompt are drawn together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_bench.suites.contract.metrics import REPLICATES
from salon_console.numbers import frame_cells
from salon_console.output import number_text
from salon_console.shown_result import ResultView, ShownResult
from salon_ranking.agreement import AgreementError, UndefinedError, alpha, fleiss_counts, fleiss_kappa, kendall, spearman
from salon_ranking.uncertainty.means import CONFIDENCE
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_taxonomy.errors import InputError, member_of

Floats = NDArray[np.float64]

PEOPLE: Final = "people"
"""The name of the raters beside those of the judges."""
FEWEST: Final = 3
"""Below this many pictures or models no coefficient is given."""
SEED: Final = 0
_COEFFICIENTS: Final[dict[str, Callable[[Floats, Floats], float]]] = {"spearman": spearman, "kendall": kendall}
_SCHEMA: Final = {
    "task": pl.String,
    "dimension": pl.String,
    "first": pl.String,
    "second": pl.String,
    "items": pl.Int64,
    "left_out": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in _COEFFICIENTS for end in ("", "_low", "_high")},
    "same_rank": pl.Float64,
    "reason": pl.String,
}
_NEEDED: Final = ("task", "prompt_id", "generation_id", "subject_model", "dimension", "value", "judge", "judge_version")
_PICTURE: Final = ["task", "prompt_id", "generation_id", "model"]


class AgreementLevel(StrEnum):
    """What judges and people are compared over."""

    MODELS = "models"
    """The mean of each model; models are drawn."""
    PICTURES = "pictures"
    """The value of each picture; those of a prompt are drawn together."""


@dataclass(frozen=True, slots=True)
class JudgeAgreement(ShownResult):
    """Agreement of every pair of judges, and of every judge with people.

    Attributes:
        table: one row per task, dimension and pair: ``task`` (null over all), ``dimension``, ``first``, ``second``, ``items``
            (models or pictures that both have), ``left_out`` (those that only one has), ``spearman`` and ``kendall`` (in
            [-1, 1]) with ``_low`` and ``_high``, ``same_rank`` (share of the models with the same rank under both; null over
            pictures), and ``reason``: why there is no coefficient, or no interval. Null is *does not exist*, never 0.
        models: one row per task, dimension and model: ``task``, ``dimension``, ``model``, and of each judge, and of people,
            the value and ``… rank`` (1 is best; equal values share the better rank). Empty over pictures.
        notes: sentences for people.
    """

    table: pl.DataFrame
    models: pl.DataFrame
    notes: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the table with intervals in brackets, without columns that have no value."""
        printed = self.table.with_columns(
            pl.struct(name, f"{name}_low", f"{name}_high").map_elements(_with_interval, pl.String, skip_nulls=False).alias(name)
            for name in _COEFFICIENTS
        )
        kept = [name for name in printed.columns if not name.endswith(("_low", "_high")) and not printed[name].is_null().all()]
        cells = frame_cells(printed.select(kept))
        return ResultView("", replace(cells, numeric=cells.numeric | _COEFFICIENTS.keys()), notes=self.notes)


def agreement(
    scores: pl.DataFrame,
    ratings: pl.DataFrame | None = None,
    *,
    level: AgreementLevel | str = AgreementLevel.MODELS,
    by_task: bool = False,
    dimensions: Sequence[str] = (),
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> JudgeAgreement:
    """Correlate the values that judges and people give to models or pictures.

    Args:
        scores: rows with the columns of ``records.Score``, of any number of judges and models. Two versions of a judge are
            two judges.
        ratings: one row per mark, with ``value``, ``rater_id`` and the picture: ``generation_id``, or ``prompt_id`` and
            ``model``; with several dimensions those of the same name are taken. Their mean is the side ``people``.
        level: what is compared.
        by_task: each task of the suite on its own.
        dimensions: their mean is compared, of pictures that have all of them; default: each dimension on its own.
        replicates: of the bootstrap; 0 gives no intervals.
        seed: of its draws.

    Raises:
        InputError: there is one judge and no rating, a column is missing, a dimension or the level is unknown, a picture has
            two scores by one judge or two marks by one rater, or ``replicates`` or ``seed`` is below 0.

    Example:
        >>> rows = [(judge, model, value) for judge in "xy" for model, value in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
        >>> frame = pl.DataFrame(rows, schema=["judge", "subject_model", "value"], orient="row").with_columns(
        ...     task=pl.lit("t"), prompt_id=pl.lit("p"), generation_id="subject_model", dimension=pl.lit("d"),
        ...     judge_version=pl.lit("1"))
        >>> agreement(frame, replicates=0).table.select("first", "second", "kendall", "same_rank").row(0)
        ('x', 'y', 1.0, 1.0)
    """
    level = member_of(AgreementLevel, level, "level")
    if replicates < 0 or seed < 0:
        raise InputError("replicates and seed must be 0 or more, not", value=min(replicates, seed))
    missing = [name for name in _NEEDED if name not in scores.columns]
    if missing:
        raise InputError("the scores lack the column", value=missing[0], found=scores.columns)
    level = AgreementLevel(level)
    known = sorted(scores["dimension"].drop_nulls().unique())
    unknown = [name for name in dimensions if name not in known]
    if unknown:
        raise InputError("the scores have no such dimension:", value=unknown[0], allowed=known)
    rows = scores.rename({"subject_model": "model"}).with_columns(_judge_name(scores))
    judges = sorted(rows["judge"].unique())
    if len(judges) < 2 and ratings is None:
        hint = "Name the run of another judge, or people's marks with --ratings."
        raise InputError("there are no other judges or raters to compare with", value=judges, hint=hint)
    notes = [] if ratings is None else _about_people(ratings)
    lines: list[dict[str, object]] = []
    models: list[pl.DataFrame] = []
    over_models = level is AgreementLevel.MODELS
    for together in [list(dimensions)] if dimensions else [[name] for name in known]:
        chosen = rows.filter(pl.col("dimension").is_in(together))
        sides = {judge: _judged(chosen.filter(judge=judge), together, level, by_task) for judge in judges}
        if ratings is not None:
            sides[PEOPLE] = _marked(ratings, chosen, together, level, by_task)
        lines += [{"dimension": " + ".join(together), **line} for line in _pairs(sides, level, replicates, seed)]
        models += [_standings(sides, " + ".join(together))] if over_models else []
    if replicates:
        drawn = "models" if over_models else "prompts"
        notes.append(f"95% intervals: percentile bootstrap over {drawn}, {replicates} replicates, seed {seed}.")
    standings = pl.concat(models, how="diagonal") if models else pl.DataFrame()
    return JudgeAgreement(pl.DataFrame(lines, schema=_SCHEMA), standings, tuple(notes))


def _judge_name(scores: pl.DataFrame) -> pl.Expr:
    """Return the judge's name, with its version where the rows have several versions of it."""
    versions = scores.group_by("judge").agg(pl.col("judge_version").n_unique())
    several = versions.filter(pl.col("judge_version") > 1)["judge"].to_list()
    named = pl.concat_str("judge", pl.col("judge_version").fill_null(""), separator=" ").str.strip_chars_end()
    return pl.when(pl.col("judge").is_in(several)).then(named).otherwise(pl.col("judge")).alias("judge")


def _judged(rows: pl.DataFrame, dimensions: Sequence[str], level: AgreementLevel, by_task: bool) -> pl.DataFrame:
    """Return a judge's values: ``task``, the item's columns, ``cluster`` and ``value`` (null where a dimension is missing)."""
    # A missing picture has no generation_id: and no value either.
    known = rows.filter(pl.col("generation_id").is_not_null() | pl.col("value").is_not_null())
    _refuse_repeated(
        known, [*_PICTURE, "dimension"], "a picture has several scores of one dimension; give one run of each judge:"
    )
    named = [pl.col("value").filter(pl.col("dimension") == name) for name in dimensions]
    if level is AgreementLevel.MODELS:
        means = [each.sort().mean().cast(pl.Float64).alias(str(place)) for place, each in enumerate(named)]
        table = _tasks(rows, by_task).group_by("task", "model").agg(means)
    else:
        first = [each.first().cast(pl.Float64).alias(str(place)) for place, each in enumerate(named)]
        table = rows.group_by(_PICTURE).agg(first)
        table = _tasks(table, by_task)
    columns = [pl.col(str(place)) for place in range(len(named))]
    value = sum(columns[1:], columns[0]) / len(columns)
    return table.with_columns(value=value, cluster="model" if level is AgreementLevel.MODELS else "prompt_id").drop(
        str(place) for place in range(len(named))
    )


def _marked(
    ratings: pl.DataFrame, scores: pl.DataFrame, dimensions: Sequence[str], level: AgreementLevel, by_task: bool
) -> pl.DataFrame:
    """Return the means of people's marks of the pictures that were judged, with the columns of :func:`_judged`."""
    mine = ratings
    if "dimension" in ratings.columns and ratings["dimension"].n_unique() > 1:
        mine = ratings.filter(pl.col("dimension").is_in(list(dimensions)))
        if mine.is_empty():
            allowed = sorted(map(str, ratings["dimension"].unique()))
            problem = "the ratings hold several dimensions, and none is called"
            raise InputError(problem, column="dimension", value=" or ".join(dimensions), allowed=allowed)
    key = ["generation_id"] if _has_ids(mine) else ["prompt_id", "model"]
    pictures = scores.select(_PICTURE).unique().drop_nulls(key)
    _refuse_repeated(
        pictures.join(mine, on=key, how="semi"),
        key,
        "several pictures of the judge are called the same; give the ratings a generation_id:",
    )
    marks = mine.select(*key, "value").join(pictures, on=key, how="inner")
    if level is AgreementLevel.MODELS:
        means = _tasks(marks, by_task).group_by("task", "model").agg(pl.col("value").sort().mean())
        return means.with_columns(cluster="model")
    means = marks.group_by(_PICTURE).agg(pl.col("value").sort().mean())
    return _tasks(means, by_task).with_columns(cluster="prompt_id")


def _tasks(frame: pl.DataFrame, by_task: bool) -> pl.DataFrame:
    return frame if by_task else frame.with_columns(task=pl.lit(None, pl.String))


def _has_ids(ratings: pl.DataFrame) -> bool:
    return "generation_id" in ratings.columns and not ratings["generation_id"].is_null().any()


def _about_people(ratings: pl.DataFrame) -> list[str]:
    """Check the marks; count them, and describe how far the raters agree, dimension by dimension."""
    key = ["generation_id"] if _has_ids(ratings) else ["prompt_id", "model"]
    for column in (*key, "rater_id", "value"):
        if column not in ratings.columns:
            raise InputError("the ratings lack the column", value=column, found=ratings.columns)
    dimension = ["dimension"] if "dimension" in ratings.columns else []
    _refuse_repeated(ratings, [*key, *dimension, "rater_id"], "a rater has marked a picture twice:")
    notes = []
    named = ratings.with_columns(thing=pl.concat_str(*(pl.col(name).cast(pl.String) for name in key), separator="\0"))
    for part in named.partition_by(dimension, maintain_order=True) if dimension else [named]:
        of = f" of {part['dimension'][0]}" if dimension else ""
        statistics = {
            "Krippendorff's alpha (ordinal)": lambda part=part: (
                alpha(part, thing="thing", rater="rater_id", value="value", level="ordinal").value
            ),
            "Fleiss' kappa": lambda part=part: fleiss_kappa(
                fleiss_counts(part, thing="thing", label="value").drop("thing").to_numpy()
            ),
        }
        statistics_text = ", ".join(f"{name} {_defined(compute)}" for name, compute in statistics.items())
        raters = part["rater_id"].n_unique()
        notes.append(
            f"{part['thing'].n_unique()} rated pictures, {part.height} marks{of} by {raters} raters: {statistics_text}."
        )
    return notes


def _defined(compute: Callable[[], float]) -> str:
    try:
        return f"{compute():.3f}"
    except (UndefinedError, AgreementError) as error:
        return f"none ({error.problem.rstrip(':')})"


def _pairs(sides: Mapping[str, pl.DataFrame], level: AgreementLevel, replicates: int, seed: int) -> Iterator[dict[str, object]]:
    """Compare every two sides, task by task; of people's pictures alone those that they rated."""
    key = ["task", "model"] if level is AgreementLevel.MODELS else _PICTURE
    tasks = pl.concat([frame["task"] for frame in sides.values()]).unique().sort().to_list()
    for first, second in combinations(sides, 2):
        how: Literal["right", "full"] = "right" if second == PEOPLE else "full"
        both = sides[first].join(sides[second], on=key, how=how, coalesce=True, nulls_equal=True, suffix="_other")
        cluster = pl.coalesce("cluster", "cluster_other")
        values = both.select("task", first="value", second="value_other", cluster=cluster)
        for number, task in enumerate(tasks):
            mine = values.filter(pl.col("task").eq_missing(pl.lit(task, pl.String)))
            whole = mine.drop_nulls(["first", "second"]).sort("cluster", "first", "second")
            x, y = whole["first"].to_numpy(), whole["second"].to_numpy()
            counts = {"items": whole.height, "left_out": mine.height - whole.height}
            coefficients = _coefficients(
                x, y, whole["cluster"].rle_id().to_numpy(), replicates, np.random.default_rng([seed, number])
            )
            if level is AgreementLevel.MODELS and whole.height:
                ranks = whole.select(pl.col("first", "second").rank("min", descending=True))
                coefficients["same_rank"] = ranks.select((pl.col("first") == pl.col("second")).mean()).item()
            yield {"task": task, "first": first, "second": second, **counts, **coefficients}


def _standings(sides: Mapping[str, pl.DataFrame], dimension: str) -> pl.DataFrame:
    """Return the value and the rank of each model by each side, best by the first side first."""
    table: pl.DataFrame | None = None
    for name, frame in sides.items():
        rank = pl.col("value").rank("min", descending=True).over("task").alias(f"{name} rank")
        mine = frame.select("task", "model", rank, pl.col("value").alias(name)).select("task", "model", name, f"{name} rank")
        table = mine if table is None else table.join(mine, on=["task", "model"], how="full", coalesce=True, nulls_equal=True)
    if table is None:
        raise InputError("there is no judge", value=0)
    table = table.sort("task", f"{next(iter(sides))} rank", "model", nulls_last=True)
    return table.select("task", pl.lit(dimension).alias("dimension"), pl.exclude("task"))


def _coefficients(
    first: Floats, second: Floats, cluster: NDArray[np.integer], replicates: int, random: np.random.Generator
) -> dict[str, object]:
    if len(first) < FEWEST:
        return {"reason": f"fewer than {FEWEST} on both sides"}
    try:
        values = {name: statistic(first, second) for name, statistic in _COEFFICIENTS.items()}
    except UndefinedError as error:
        return {"reason": error.problem.rstrip(":")}
    coefficients: dict[str, object] = dict(values)
    begins = np.flatnonzero(np.diff(cluster, prepend=-1))
    if replicates and len(begins) > 1:
        drawn = _drawn(first, second, begins, replicates, random)
        low, high = expanded_interval(drawn, np.array(list(values.values())), len(begins), CONFIDENCE)
        for number, name in enumerate(_COEFFICIENTS):
            ends = {"low": low[number], "high": high[number]}
            # An interval is made wider for few clusters, and a coefficient has no value beyond 1.
            coefficients |= {
                f"{name}_{end}": None if np.isnan(value) else float(np.clip(value, -1, 1)) for end, value in ends.items()
            }
        constant = int(np.isnan(drawn[:, 0]).sum())
        if constant and np.isnan([*low, *high]).any():
            coefficients["reason"] = (
                f"no interval: one side's values are all the same in {constant:,} of {replicates:,} resamples"
            )
    return coefficients


def _drawn(first: Floats, second: Floats, begins: NDArray[np.integer], replicates: int, random: np.random.Generator) -> Floats:
    """Return coefficients of resampled clusters, shape (replicates, 2); NaN where one side of a resample is constant."""
    members = np.split(np.arange(len(first)), begins[1:])
    drawn = np.full((replicates, len(_COEFFICIENTS)), np.nan)
    for row in drawn:
        rows = np.concatenate([members[place] for place in random.integers(0, len(members), len(members))])
        x, y = first[rows], second[rows]
        if x.min() < x.max() and y.min() < y.max():
            row[:] = [statistic(x, y) for statistic in _COEFFICIENTS.values()]
    return drawn


def _refuse_repeated(frame: pl.DataFrame, key: list[str], problem: str) -> None:
    repeated = frame.filter(~pl.struct(key).is_first_distinct())
    if repeated.height:
        raise InputError(problem, value=list(repeated.select(key).row(0)))


def _with_interval(ends: Mapping[str, float | None]) -> str:
    value, low, high = ends.values()
    return number_text(value, ".3f") + ("" if low is None or high is None else f" [{low:.3f}, {high:.3f}]")
