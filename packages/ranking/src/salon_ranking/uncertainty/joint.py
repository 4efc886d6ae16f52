"""The joint covariance of fits to several groups of battles whose clusters may be in more than one group.

Each group has strengths of its own, so the curvature is block-diagonal; the middle of the sandwich is not, where a rater or a
prompt has votes in two groups. The scores of a cluster are summed over all groups, as in one fit of all their models
(:mod:`salon_ranking.uncertainty.sandwich`), which is how estimates of correlated samples are compared (Weesie 1999, "seemingly
unrelated estimation", Stata Technical Bulletin 52).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.models.likelihood import Floats, PairLikelihood, check_size
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ratings import fitted
from salon_ranking.uncertainty.sandwich import (
    Sandwich,
    clustered,
    correction,
    free_parameters,
    inverse_of,
    models_of_one_cluster,
    prior_of,
    still_models,
)

_BETWEEN = "\x1f"
_NO_WIDTH = 1e-8
"""Units of log-strength; a smaller error counts as 0."""


@dataclass(frozen=True, eq=False)
class JointFit:
    """Fits of several groups with one covariance.

    Attributes:
        names: the group and the model of each strength.
        log_strengths: θ, shape (n,).
        sandwich: the covariance of all strengths.
        unknown: strengths whose error is unknown, as their own battles vary by nothing or lie in one cluster; shape (n,).
    """

    names: tuple[tuple[str, str], ...]
    log_strengths: Floats
    sandwich: Sandwich
    unknown: NDArray[np.bool_]

    def differences(self, rows: Sequence[tuple[str, str, str]], models: Sequence[str]) -> tuple[Floats, Floats, Floats]:
        """Return differences of strengths between two groups, their standard errors and degrees of freedom.

        Strengths count from the mean of ``models``, which are in all groups. An error is NaN where it is unknown.

        Args:
            rows: model, group, and the group that is subtracted.
        """
        number = {name: place for place, name in enumerate(self.names)}
        contrasts = np.zeros((len(rows), len(self.names)))
        unknown = np.zeros(len(rows), dtype=np.bool_)
        for row, (model, group, other) in enumerate(rows):
            for name, sign in ((group, 1.0), (other, -1.0)):
                contrasts[row, [number[name, each] for each in models]] = -sign / len(models)
                contrasts[row, number[name, model]] += sign
                unknown[row] |= self.unknown[number[name, model]]
        variance = np.einsum("ij,jk,ik->i", contrasts, self.sandwich.covariance, contrasts)
        known = ~unknown & (variance > _NO_WIDTH**2)
        error = np.sqrt(np.where(known, variance, np.nan))
        return contrasts @ np.nan_to_num(self.log_strengths), error, self.sandwich.degrees(contrasts)


def joint_method(battles: Battles) -> str:
    """Return how differences between groups are tested, in words."""
    columns = cluster_columns(battles.cluster_by)
    return f"sandwich clustered by {' and '.join(columns)} over all groups" if columns else "sandwich of independent battles"


def joint_fit(groups: Mapping[str, pl.LazyFrame], like: Battles, options: FitOptions) -> JointFit | None:
    """Fit plain Bradley-Terry to each group.

    Args:
        groups: the battles of each, with the columns of weights and clusters that ``like`` names.
        like: how the battles are weighed and clustered; without clusters they are independent.

    Returns:
        None where some group's models cannot all be compared.
    """
    weight = [] if like.weight is None else [like.weight]
    columns = dict.fromkeys(["model_a", "model_b", "winner", *weight, *cluster_columns(like.cluster_by)])
    parts = [
        frame.select(pl.col(*columns).cast(pl.String)).with_columns(
            pl.concat_str(pl.lit(f"{number}{_BETWEEN}"), name).alias(name) for name in ("model_a", "model_b")
        )
        for number, frame in enumerate(groups.values())
    ]
    whole, weight_column = pl.concat(parts), like.weight or False
    battles = Battles.from_frame(whole, like.source, like.cluster_by, weight_column, ids=None, anchors="count")
    models = len(battles.models)
    check_size(models, "a comparison of groups")
    has_clusters = like.cluster_by is not None
    own = options.into(FitOptions, baseline=None, start=None, components="separate")
    ratings = fitted(battles, own, clustered=has_clusters)
    group_of = np.array([int(name.partition(_BETWEEN)[0]) for name in battles.models])
    component = ratings.component if not options.prior_ties else battles.cells.joined()
    if any(len({*component[group_of == number]}) > 1 for number in range(len(groups))):
        return None
    likelihood = PairLikelihood(battles.cells, own, has_clusters)  # of all leagues: they have no term in common
    theta = np.ascontiguousarray(ratings.log_strengths)
    scores, prior = likelihood.at(theta), prior_of(likelihood, theta)
    curvature, bread = scores.curvature(), np.zeros((models, models))
    for number in range(len(groups)):
        block = np.flatnonzero(group_of == number)
        bread[np.ix_(block, block)] = inverse_of(curvature[np.ix_(block, block)], prior[block], len(block))
    weights = likelihood.weights
    unknown = still_models(likelihood, theta)
    if has_clusters:
        sandwich = clustered(scores.by_row(), likelihood.row_groups, bread, prior)
        unknown |= models_of_one_cluster(battles.cells)
    elif weights.min() < weights.max():
        rows = scores.by_row().repeated()
        sandwich = clustered(rows, (np.arange(len(rows.bend), dtype=np.uint32),), bread, prior)
    else:
        first = battles.cells.columns()[0]
        counts = np.bincount(group_of[first], battles.cells.columns()[4])
        factors = np.zeros(models)
        for number in range(len(groups)):
            block = np.flatnonzero(group_of == number)
            freedom = free_parameters(bread[np.ix_(block, block)], prior[block], len(block))
            factors[block] = np.sqrt(correction(float(counts[number]), freedom))
        middle = factors[:, None] * (bread @ scores.products(None) @ bread) * factors
        sandwich = Sandwich(middle + (bread * prior) @ bread, bread)
    labels = list(groups)
    names = tuple((labels[number], name.partition(_BETWEEN)[2]) for number, name in zip(group_of, battles.models, strict=True))
    return JointFit(names, theta, sandwich, unknown)
