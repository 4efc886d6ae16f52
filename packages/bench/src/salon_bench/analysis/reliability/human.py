"""Does a metric rank models as people do, and do the people agree? From rows of ratings.

R³-Bench, section 4.2 and Table 6: SROCC and KROCC over the models, Fleiss' κ over the annotators.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salon_ranking.agreement import AgreementError, UndefinedError, fleiss_counts, fleiss_kappa, kendall, spearman
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class HumanValidation:
    """A metric beside the mean opinion of people.

    Attributes:
        dimension: what people rated.
        models: that have both a metric and ratings, best by people first.
        metric: of each model.
        opinion: mean rating of each model.
        srocc: Spearman's ρ over the models; None where it does not exist.
        krocc: Kendall's τ-b over the models; None where it does not exist.
        fleiss: Fleiss' κ of the ratings as categories, a generation being a thing; None where it does not exist.
        fleiss_problem: why κ does not exist; None when it does.
        raters: different persons.
        ratings: that were used.
    """

    dimension: str
    models: tuple[str, ...]
    metric: Mapping[str, float]
    opinion: Mapping[str, float]
    srocc: float | None
    krocc: float | None
    fleiss: float | None
    fleiss_problem: str | None
    raters: int
    ratings: int


def validate(metric: Mapping[str, float], ratings: "pl.DataFrame", dimension: str) -> HumanValidation:
    """Hold a metric against ratings.

    Args:
        metric: of each model; more is better.
        ratings: columns ``model``, ``generation_id``, ``rater_id``, ``dimension``, ``value`` (more is better), as in
            ``records.Rating``; several samples of a model are averaged over all their ratings.
        dimension: which of them.

    Raises:
        InputError: there is no rating of that dimension, or fewer than two models have both a metric and ratings.

    Example:
        >>> import polars as pl
        >>> rows = [("a", "1", "x", 1.0), ("a", "1", "y", 1.0), ("b", "2", "x", 0.0), ("b", "2", "y", 0.0)]
        >>> frame = pl.DataFrame(rows, schema=["model", "generation_id", "rater_id", "value"], orient="row")
        >>> found = validate({"a": 0.9, "b": 0.2}, frame.with_columns(dimension=pl.lit("match")), "match")
        >>> found.srocc, found.fleiss
        (1.0, 1.0)
    """
    import polars as pl

    mine = ratings.filter((pl.col("dimension") == dimension) & pl.col("value").is_not_null())
    if mine.is_empty():
        allowed = sorted(ratings["dimension"].unique())
        raise InputError("there is no rating of this dimension", column="dimension", value=dimension, allowed=allowed)
    both = mine.filter(pl.col("model").is_in(list(metric)))
    means = dict(both.group_by("model").agg(pl.col("value").mean()).sort("model").iter_rows())
    if len(means) < 2:
        allowed = sorted(ratings["model"].unique())
        problem = "fewer than two models have both a metric and ratings:"
        raise InputError(problem, column="model", value=sorted(metric), allowed=allowed)
    order = tuple(sorted(means, key=lambda name: (-means[name], name)))
    x, y = [metric[name] for name in order], [means[name] for name in order]
    srocc: float | None = None
    krocc: float | None = None
    with suppress(UndefinedError):
        srocc, krocc = spearman(x, y), kendall(x, y)
    fleiss, problem_of_fleiss = _fleiss(both)
    return HumanValidation(
        dimension=dimension,
        models=order,
        metric={name: metric[name] for name in order},
        opinion=means,
        srocc=srocc,
        krocc=krocc,
        fleiss=fleiss,
        fleiss_problem=problem_of_fleiss,
        raters=both["rater_id"].n_unique(),
        ratings=both.height,
    )


def validate_all(
    metrics: Mapping[str, Mapping[str, float]], ratings: "pl.DataFrame", dimension: str
) -> "dict[str, HumanValidation | InputError]":
    """Hold the metric of each of several judges against the same ratings.

    Args:
        metrics: judge → metric of each model.
        ratings: as for :func:`validate`.
        dimension: which of them.

    Returns:
        What :func:`validate` found for each judge, in their order; for one that scored fewer than two of the rated models,
        the error that says so.

    Raises:
        InputError: as :func:`validate`, when no judge can be held against the ratings.
    """
    found: dict[str, HumanValidation | InputError] = {}
    for judge, metric in metrics.items():
        try:
            found[judge] = validate(metric, ratings, dimension)
        except InputError as error:
            found[judge] = error
    errors = [each for each in found.values() if isinstance(each, InputError)]
    if len(errors) == len(found) and errors:
        raise errors[0]
    return found


def _fleiss(ratings: "pl.DataFrame") -> tuple[float | None, str | None]:
    table = fleiss_counts(ratings, thing="generation_id", label="value").drop("thing")
    try:
        return fleiss_kappa(table.to_numpy()), None
    except (UndefinedError, AgreementError) as error:
        return None, error.problem
