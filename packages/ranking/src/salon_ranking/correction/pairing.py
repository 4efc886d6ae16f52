"""Which judged battle each human vote is about, and both as scores of the first model of the pair."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.battles import Battles, cluster_columns
from salon_ranking.correction.terms import Further, names_of, with_terms
from salon_ranking.errors import CovariateError, OptionError
from salon_ranking.models.options import FitOptions
from salon_ranking.models.ties import TieModel
from salon_ranking.options import refuse_rankings
from salon_taxonomy.enums import Winner

Floats = NDArray[np.float64]
Codes = NDArray[np.uint32]
Indices = NDArray[np.int64]
TIE = 0.5
"""The score of a tie."""
_SCORES = {Winner.MODEL_A.value: 1.0, Winner.MODEL_B.value: 0.0}
"""What model_a gets; any other outcome is half a win."""
_GENERATIONS = ("first_generation", "second_generation")
KEYS = {
    "battle_id": ("battle_id", "first", "second"),
    "generation_a and generation_b": _GENERATIONS,
    "prompt_id and pair": ("prompt_id", "first", "second"),
}
"""What is the same of a vote and of the verdict about its battle."""
_NO_PARTS = np.empty(0, dtype=np.object_)
MOST_JUDGES = 6
"""So many judges are corrected together at most."""


@dataclass(frozen=True, eq=False)
class Paired:
    """Judged battles, and the votes of people about some of them.

    Attributes:
        models: all of them, in ascending order.
        first, second: the models of each judged battle by number, in ascending order, shape (N,).
        judged: the judge's score of the first, shape (N,): 1, 0.5 or 0; of several judges their weighted mean.
        verdicts: the same of each judge, shape (N, judges).
        judges: their names, in ascending order.
        battle: the judged battle of each vote, shape (n,).
        people: the vote's score of the first model, shape (n,).
        weight: of each vote, shape (n,), mean 1: the inverse of the chance that its battle was shown to people.
        groups: the clusters of the votes followed by the judged battles, shape (n + N,) each: by one column, or by two and
            their crossings.
        matched_by: what a vote and its verdict have in common, of ``KEYS``.
        parts: the value of each judged battle in the column that boards are split by, shape (N,); empty without one.
        left_out: battles that not all judges decided, and votes about them.
        further: what is fitted beside strengths; None: nothing.
    """

    models: tuple[str, ...]
    first: Codes
    second: Codes
    judged: Floats
    verdicts: Floats
    judges: tuple[str, ...]
    battle: NDArray[np.int64]
    people: Floats
    weight: Floats
    groups: tuple[Codes, ...]
    matched_by: str
    parts: NDArray[np.object_] = field(default_factory=lambda: _NO_PARTS)
    left_out: tuple[int, int] = (0, 0)
    further: Further | None = None

    def of_part(self, part: str) -> "Paired":
        """Return the battles of one part and their votes."""
        chosen = self.parts == part
        voted = chosen[self.battle]
        position = np.cumsum(chosen) - 1
        known = np.unique(np.concatenate([self.first[chosen], self.second[chosen]]))
        groups = tuple(
            np.unique(group[np.concatenate([voted, chosen])], return_inverse=True)[1].astype(np.uint32) for group in self.groups
        )
        weight = self.weight[voted]
        return replace(
            self,
            models=tuple(self.models[model] for model in known),
            first=np.searchsorted(known, self.first[chosen]).astype(np.uint32),
            second=np.searchsorted(known, self.second[chosen]).astype(np.uint32),
            judged=self.judged[chosen],
            verdicts=self.verdicts[chosen],
            battle=position[self.battle[voted]],
            people=self.people[voted],
            weight=weight / weight.mean() if len(weight) else weight,
            groups=groups,
            parts=_NO_PARTS,
            left_out=(0, 0),
            further=self.further and self.further.taken(voted, chosen),
        )


def paired(
    people: Battles, judged: Battles, probability: str | None, by: str | None = None, model: FitOptions | None = None
) -> Paired:
    """Match votes with judged battles by the first of ``KEYS`` by which any is matched.

    Where battles have verdicts of several judges (``rater_id``), those count that all of them decided.

    Args:
        people: votes.
        judged: verdicts.
        probability: the column with each vote's chance.
        by: a column of the verdicts, for ``Paired.parts``.
        model: what is fitted beside strengths; None: nothing.

    Raises:
        CovariateError: a covariate is missing, incomplete or of no use in one of both, or differs between judges of a battle.
        OptionError: a vote is about no judged battle, or a judge has two verdicts about one; a vote and its verdict have two
            prompts; a verdict has no cluster; a column is missing; battles have weights; there are more than six judges.
    """
    if people.weight is not None or judged.weight is not None:
        raise OptionError("weights of battles cannot be corrected; leave them out", value=people.weight or judged.weight)
    votes, verdicts = oriented(people), oriented(judged)
    if by is not None and by not in verdicts.columns:
        raise OptionError("no such column", source=judged.source, column=by, allowed=verdicts.columns)
    covariates = () if model is None else model.parsed_covariates
    votes, verdicts, terms = with_terms(votes, verdicts, covariates, (people.source, judged.source))
    matched_by = common_key(votes, verdicts, (people.source, judged.source))
    key = list(KEYS[matched_by])
    for name, term in zip(names_of(terms), terms, strict=True):
        differs = verdicts.filter(pl.col(name).n_unique().over(key) > 1)
        if differs.height:
            problem = "verdicts on one battle have different values of a covariate"
            raise CovariateError(problem, source=judged.source, column=term.covariate.name, value=differs[key[0]][0])
    verdicts, scores, judges = _by_judge(verdicts, key, judged.source)
    left_out, partly = verdicts.height - scores.drop_nulls().height, 0
    if left_out:
        whole = scores.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        partly = votes.join(verdicts.filter(~whole), on=key, how="semi", maintain_order="left").height
        votes = votes.join(verdicts.filter(~whole), on=key, how="anti", maintain_order="left")
        verdicts, scores = verdicts.filter(whole), scores.drop_nulls()
    verdicts = verdicts.with_row_index("battle")
    prompt = {"prompt_id"} & {*votes.columns} & {*verdicts.columns} - {*key}
    chance = {probability} & {*verdicts.columns} - {*votes.columns, *key}
    of_verdict = verdicts.select(*key, "battle", *prompt, *chance)
    matched = votes.join(of_verdict, on=key, how="left", maintain_order="left", suffix="_of_verdict")
    strays = matched.filter(pl.col("battle").is_null())
    if strays.height:
        what = f"{strays.height} of {votes.height} votes are about no judged battle, such as that of"
        raise OptionError(what, source=people.source, column=matched_by, value=strays[key[0]][0])
    others = matched.filter(pl.col("prompt_id") != pl.col("prompt_id_of_verdict")) if prompt else matched.clear()
    if others.height:
        what = (
            f"{others.height} of {votes.height} votes have another prompt_id than the verdict that they match, such as that of"
        )
        raise OptionError(what, source=people.source, column=matched_by, value=others[key[0]][0])
    models = pl.concat([verdicts["first"], verdicts["second"]]).unique().sort().to_list()
    number = {model: place for place, model in enumerate(models)}
    first, second = (verdicts[side].replace_strict(number, return_dtype=pl.UInt32).to_numpy() for side in ("first", "second"))
    further = None
    if model is not None and not model.is_plain:
        columns, wide = names_of(terms), len(terms)
        of_votes, of_verdicts = (
            np.array(frame.select(columns).to_numpy(), dtype=np.float64, order="C").reshape(frame.height, wide)
            for frame in (matched, verdicts)
        )
        tie_model: TieModel = "rao-kupper" if model.ties == "rao-kupper" else "davidson"
        further = Further(terms, of_votes, of_verdicts, (scores.to_numpy() == TIE).mean(axis=1), tie_model)
    return Paired(
        tuple(models),
        first,
        second,
        scores.mean_horizontal().to_numpy(),
        scores.to_numpy(),
        judges,
        matched["battle"].cast(pl.Int64).to_numpy(),
        matched["score"].to_numpy(),
        inverse_weights(matched, probability, people.source),
        groups_of(matched, verdicts, cluster_columns(people.cluster_by), (people.source, judged.source)),
        matched_by,
        _NO_PARTS if by is None else verdicts[by].cast(pl.String).fill_null("(not given)").to_numpy(),
        (left_out, partly),
        further,
    )


def _by_judge(verdicts: pl.DataFrame, key: list[str], source: str) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """Return one row per battle, the scores of each judge about it (null: none), and the judges' names.

    Raises:
        OptionError: a judge has two verdicts about a battle, or there are too many judges.
    """
    repeated = verdicts.filter(pl.struct(key).is_duplicated())
    if repeated.is_empty():
        return verdicts, verdicts.select(judge="score"), ("judge",)
    judge = ["rater_id"] if "rater_id" in verdicts.columns else []
    twice = repeated.filter(pl.struct(*key, *judge).is_duplicated())
    if twice.height:
        problem = "two verdicts of one judge about one battle; leave in one of each order's"
        raise OptionError(problem, source=source, column=key[0], value=twice[key[0]][0])
    named = verdicts.with_columns(judge=pl.col("rater_id").cast(pl.String).fill_null("(not named)"))
    judges = sorted(named["judge"].unique())
    if len(judges) > MOST_JUDGES:
        raise OptionError(f"at most {MOST_JUDGES} judges are corrected together, not", source=source, value=len(judges))
    battles = verdicts.unique(key, keep="first", maintain_order=True)
    scores = [
        battles.select(key).join(named.filter(judge=name), on=key, how="left", maintain_order="left")["score"].rename(name)
        for name in judges
    ]
    return battles, pl.DataFrame(scores), tuple(judges)


def common_key(votes: pl.DataFrame, verdicts: pl.DataFrame, sources: tuple[str, str]) -> str:
    held = {name: list(key) for name, key in KEYS.items() if {*key} <= {*votes.columns} & {*verdicts.columns}}
    if not held:
        problem = f"votes and verdicts are matched by {', or by '.join(KEYS)}; none of these is in both of"
        raise OptionError(problem, value=" and ".join(sources))
    return next((name for name, key in held.items() if votes.join(verdicts, on=key, how="semi").height), next(iter(held)))


def oriented(battles: Battles) -> pl.DataFrame:
    """Return the battles with ``first`` and ``second`` in ascending order and ``score``, the first model's.

    Raises:
        OptionError: the table holds rankings.
    """
    refuse_rankings(battles)
    frame = battles.frame.collect().drop("battle", "prompt_id_of_verdict", strict=False)
    names = ("battle_id", "prompt_id", "model_a", "model_b", "generation_a", "generation_b")
    frame = frame.with_columns(pl.col(name).cast(pl.String) for name in names if name in frame.columns)
    score = pl.col("winner").cast(pl.String).replace_strict(_SCORES, default=0.5, return_dtype=pl.Float64)
    in_order = pl.col("model_a") < pl.col("model_b")

    def sorted_sides(name: str) -> list[pl.Expr]:
        a, b = pl.col(f"{name}_a"), pl.col(f"{name}_b")
        return [pl.when(in_order).then(a).otherwise(b), pl.when(in_order).then(b).otherwise(a)]

    first, second = sorted_sides("model")
    columns = {"first": first, "second": second, "score": pl.when(in_order).then(score).otherwise(1.0 - score)}
    if {"generation_a", "generation_b"} <= {*frame.columns}:
        columns |= dict(zip(_GENERATIONS, sorted_sides("generation"), strict=True))
    return frame.with_columns(**columns)


def inverse_weights(votes: pl.DataFrame, probability: str | None, source: str) -> Floats:
    """Return 1 over the column of probabilities, over its mean, shape (votes,); ones without a column.

    Raises:
        OptionError: the column is missing, or a probability is not above 0 and at most 1.
    """
    if probability is None:
        return np.ones(votes.height)
    if probability not in votes.columns:
        raise OptionError("no such column", source=source, column=probability)
    chance = votes[probability].cast(pl.Float64, strict=False)
    wrong = (
        votes.select(probability)
        .with_row_index("of file", 1)
        .filter(~(chance.is_between(0.0, 1.0, closed="right").fill_null(False)))
    )
    if wrong.height:
        problem = f"row {wrong['of file'][0]}: a probability is above 0 and at most 1, not"
        raise OptionError(problem, source=source, column=probability, value=wrong[probability][0])
    weights = 1.0 / chance.to_numpy()
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def groups_of(
    votes: pl.DataFrame, verdicts: pl.DataFrame, cluster: Sequence[str], sources: tuple[str, str]
) -> tuple[Codes, ...]:
    """Return clusters: by verdict where no column of the verdicts is named, and by each named column.

    Args:
        votes: with the row of the verdict that each is about in ``battle``.
        verdicts: what was judged.
        cluster: columns of the verdicts, or of the votes alone; at most one of each.
        sources: what votes and verdicts are called in errors.

    Returns:
        Of the votes followed by the verdicts, shape (n + N,) each: one, or by two columns and their crossings.

    Raises:
        OptionError: two columns of one kind, or a verdict without a cluster.
    """
    shared = [column for column in cluster if column in verdicts.columns]
    of_people = [column for column in cluster if column not in verdicts.columns]
    if len(shared) > 1 or len(of_people) > 1:
        problem = "clusters are one column that the verdicts have (prompt_id), and one that they lack (rater_id), not"
        raise OptionError(problem, source=sources[0], value=", ".join(cluster))
    if shared and verdicts[shared[0]].null_count():
        raise OptionError("a verdict has no cluster", source=sources[1], column=shared[0])
    battle = np.concatenate([votes["battle"].to_numpy(), np.arange(verdicts.height)])
    ways = [battle if not shared else _codes(verdicts[shared[0]])[battle]]
    if of_people:
        raters = _codes(votes[of_people[0]])
        alone = raters.max(initial=-1) + 1 + np.arange(verdicts.height)
        ways.append(np.concatenate([raters, alone]))
        crossed = ways[0].astype(np.int64) * (int(ways[1].max(initial=0)) + 1) + ways[1]
        ways.append(np.unique(crossed, return_inverse=True)[1])
    return tuple(np.ascontiguousarray(way.astype(np.uint32)) for way in ways)


def _codes(names: pl.Series) -> NDArray[np.int64]:
    """Return one number per name, from 0 on."""
    first_row = names.to_frame("name").with_row_index("row").select(pl.col("row").first().over("name"))
    return np.unique(first_row.to_series().to_numpy(), return_inverse=True)[1].astype(np.int64)
