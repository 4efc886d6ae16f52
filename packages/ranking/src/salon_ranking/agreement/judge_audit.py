"""How far to trust a judge that compares pairs: accuracy against people, missing verdicts, position, calibration.

Two accuracies are in use, and differ by tens of points on the same verdicts: among pairs that people decided and the judge
answered (``accuracy``), and over all pairs with the kind of tie, a missing verdict being wrong (``exact``: GenAI-Bench's rule).
By the second a judge that always decides cannot be right more often than people decide (``decided``).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import polars as pl

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING, count, counted
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.agreement.cluster_bootstrap import Floats, cluster_interval
from salon_ranking.agreement.errors import AgreementError
from salon_ranking.agreement.labels import label_statistics
from salon_ranking.agreement.pair_rows import numbers_of, refuse_nested
from salon_ranking.battles import Battles
from salon_ranking.correction.pairing import KEYS, common_key, oriented
from salon_ranking.files import Frame, as_lazy
from salon_ranking.leaderboard.board import NOT_GIVEN
from salon_ranking.options import Confidence, checked
from salon_ranking.table_checks import absent_values, named
from salon_ranking.uncertainty.means import Ends, ratio_with_interval
from salon_taxonomy.enums import Winner

_A, _B = Winner.MODEL_A.value, Winner.MODEL_B.value
TIES: Final = (Winner.TIE.value, Winner.BOTH_GOOD.value, Winner.BOTH_BAD.value)
_WORDS: Final = (_A, _B, *TIES)
_BINS: Final = 10
_REACH: Final = 0.05
"""Of the interval of an accuracy, for ``needed``."""
_POWER: Final = 0.8
"""The chance that an audit with ``needed`` pairs tells two judges apart."""
_NORMAL: Final = NormalDist()
CLUSTER, _CHANCE = "__cluster", "__chance"
"""Columns of our own, beside those of the user."""
_OF_ORIENTED: Final = ("first", "second", "score", "first_generation", "second_generation")
"""Columns of battles whose sides were put in order."""


@dataclass(frozen=True, eq=False)
class JudgeAudit(ShownResult):
    """How well judges agree with people about pairs.

    Attributes:
        table: one row per judge, then one per judge and value of the column that it is split by: ``judge``, ``part`` (null:
            all), ``pairs``, ``missing`` (pairs without a verdict), ``decided`` (share of pairs that people decided),
            ``accuracy`` (among decided pairs with a verdict; a tie of the judge is half), ``exact`` (over all pairs: the same
            of first, second and the kind of tie; a missing verdict is wrong), ``first`` (share of the judge's decisions for
            the side it saw first; ½: no bias), ``same_in_both_orders`` (share of pairs judged in both orders with one
            verdict), ``brier`` and ``ece`` (of the chance that the judge gave, among decided pairs; 0 is best; of a pair
            judged in both orders the mean chance). Each but ``ece`` has ``…_low`` and ``…_high``. ``needed``: the pairs with
            which the interval of ``accuracy`` would be ± 0.05. Null where nothing is known.
        agreement: how far judges agree with each other, as :func:`label_statistics`, with intervals by a
            bootstrap of clusters; empty for a single judge.
        calibration: one row per judge and tenth of its chance: ``judge``, ``from``, ``to``, ``pairs``, ``chance`` (mean),
            ``share`` (of pairs in which people chose the first). Empty without chances.
        wrong: pairs that people decided the other way, one row per verdict: first where most people agreed (``votes_a``,
            ``votes_b``), and among those where the judge was surest.
        differences: one row per two judges: ``judge``, ``other``, ``pairs`` (decided, with a verdict of both), ``difference``
            of their accuracy on these, ``low``, ``high``, and ``needed``: the pairs with which four of five audits tell them
            apart, if the difference is as large as found. Empty for a single judge.
        confidence: of the intervals.
    """

    table: pl.DataFrame
    agreement: pl.DataFrame
    calibration: pl.DataFrame
    wrong: pl.DataFrame
    differences: pl.DataFrame
    source: str
    split: str | None
    clusters: str
    confidence: float

    @property
    def header(self) -> str:
        """One sentence on how the table was made."""
        judges = self.table["judge"].n_unique()
        parts = "" if self.split is None else f", by {self.split}"
        return (
            f"{self.source}: {counted(judges, 'judge')} against people{parts}; {100 * self.confidence:.4g}% interval: "
            f"Student's t over {self.clusters}; missing verdicts are left out of accuracy and wrong in exact."
        )

    def cells(self, frame: pl.DataFrame) -> Table:
        """Return rows of the table as people read them."""
        named = {
            "accuracy": "accuracy",
            "exact": "exact",
            "first": "shown first",
            "same_in_both_orders": "same both ways",
            "brier": "Brier",
            "ece": "ECE",
        }
        measures = [name for name in named if frame[name].null_count() < frame.height]
        columns = ["judge", *([] if self.split is None else [self.split]), "pairs", "missing", "decided"]
        columns += [named[name] for name in measures]
        columns += ["pairs for ±5%"]
        rows = []
        for row in frame.iter_rows(named=True):
            part = [] if self.split is None else ["all" if row["part"] is None else row["part"]]
            counts = [f"{row['pairs']:,}", f"{row['missing']:,}", f"{100 * row['decided']:.1f}%"]
            rows.append((row["judge"], *part, *counts, *(_cell(row, name) for name in measures), count(row["needed"])))
        return Table(tuple(columns), rows, frozenset(columns) - {"judge", self.split or ""})

    def view(self) -> ResultView:
        """Return the table, and accuracies as a chart."""
        points = [
            PlotRow(row["judge"] if row["part"] is None else f"{row['judge']}: {row['part']}", *_ends(row, "accuracy"))
            for row in self.table.iter_rows(named=True)
        ]
        chart = ForestPlot("Accuracy against people (½: guessing)", points, 0.5)
        return ResultView(self.header, self.cells(self.table), chart)


def _ends(row: Mapping[str, Any], name: str) -> tuple[Any, Any, Any]:
    return row[name], row.get(f"{name}_low"), row.get(f"{name}_high")


def _cell(row: Mapping[str, Any], name: str) -> str:
    value, low, high = _ends(row, name)
    if value is None:
        return MISSING
    scale, form = (1.0, "{:.3f}") if name in ("brier", "ece") else (100.0, "{:.1f}")
    text = form.format(scale * value) + ("" if scale == 1.0 else "%")
    return text if low is None else f"{text} ({form.format(scale * low)} – {form.format(scale * high)})"


@checked
def audit_judges(
    pairs: Frame,
    *,
    split: str | None = None,
    chance_of_a: str | None = None,
    cluster: str | None = None,
    confidence: Confidence = 0.95,
    source: str = "pairs",
) -> JudgeAudit:
    """Hold the verdicts of judges against the choices of people.

    Args:
        pairs: one row per pair, judge and order: ``battle_id``; ``winner``, what people chose, and ``verdict``, the judge's
            (model_a, model_b, tie, both_good or both_bad; a null verdict is missing). In place of ``verdict``: ``score_a`` and
            ``score_b`` of a scorer; the higher wins, equal ones are a tie, and a null is missing. And, where known: ``judge``;
            ``side_a_shown``, left where the judge saw model_a first; ``prompt_id``.
        split: a column; each of its values gets rows of its own.
        chance_of_a: the column with the judge's chance, from 0 to 1, that model_a is better.
        cluster: the column of the clusters of intervals; ``prompt_id`` where there is one, else ``battle_id``.
        confidence: of the intervals, between 0 and 1.
        source: what errors and the header call the pairs.

    Raises:
        AgreementError: a column is missing; a winner, a verdict, a score or a chance is unknown; a judge has two verdicts
            about one pair in one order, or people two choices.

    Example:
        >>> rows = {"battle_id": range(6), "winner": ["model_a"] * 4 + ["tie", "model_b"], "verdict": ["model_a"] * 5 + [None]}
        >>> found = audit_judges(rows).table
        >>> found.select("pairs", "missing", "accuracy", pl.col("decided", "exact").round(3)).row(0)
        (6, 1, 1.0, 0.833, 0.667)
    """
    frame = checked_pairs(as_lazy(pairs, error=AgreementError).collect(), source, split, chance_of_a, cluster)
    frame, cluster = clustered(frame, cluster)
    judges = sorted(frame["judge"].unique())
    rows = []
    for judge in judges:
        own = frame.filter(judge=judge)
        parts = [] if split is None else sorted(own[split].cast(pl.String).fill_null(NOT_GIVEN).unique())
        for part in [None, *parts]:
            chosen = own if part is None else own.filter(pl.col(split or "").cast(pl.String).fill_null(NOT_GIVEN) == part)
            rows.append({"judge": judge, "part": part, **_measured(chosen, confidence)})
    numbers = {name: pl.Float64 for name in rows[0] if name not in ("judge", "part", "pairs", "missing", "needed")}
    table = pl.DataFrame(rows, schema_overrides={"part": pl.String, "needed": pl.Int64, **numbers})
    agreement, verdicts = pl.DataFrame(), frame.filter(pl.col("verdict").is_not_null())
    if len(judges) > 1 and verdicts.height:
        sides = verdicts.select(pl.col("side_a_shown").unique().drop_nulls())
        if sides.height:  # a verdict without an order, as a scorer's, is the same in each
            one = verdicts.filter(pl.col("side_a_shown").is_null()).drop("side_a_shown").join(sides, how="cross")
            verdicts = pl.concat([verdicts.filter(pl.col("side_a_shown").is_not_null()), one.select(verdicts.columns)])
        verdicts = verdicts.with_columns(
            thing=pl.concat_str("battle_id", pl.col("side_a_shown").fill_null(""), separator="\x1f")
        )
        statistics = label_statistics(
            verdicts, thing="thing", rater="judge", label="verdict", confidence=confidence, replicates=0
        )
        agreement = _with_intervals(statistics.table.filter(pl.col("rater_a").is_not_null()), verdicts, confidence)
    decided = frame.filter(pl.col("winner").is_in([_A, _B]) & pl.col("verdict").is_in([_A, _B]))
    surest = [*_clearness(frame), (pl.col(_CHANCE) - 0.5).abs()]
    wrong = decided.filter(pl.col("winner") != pl.col("verdict"))
    wrong = wrong.sort(surest, descending=True, nulls_last=True, maintain_order=True)
    calibration = pl.concat([_tenths(decided_by, judge) for judge, decided_by in _with_chances(frame)] or [pl.DataFrame()])
    differences = _differences(frame, judges, confidence)
    wrong = wrong.drop(CLUSTER, _CHANCE)
    return JudgeAudit(table, agreement, calibration, wrong, differences, source, split, cluster, confidence)


def _clearness(frame: pl.DataFrame) -> list[pl.Expr]:
    """Return how far people agreed about a pair, and how many they were; nothing where votes are not known."""
    if not {"votes_a", "votes_b"} <= {*frame.columns}:
        return []
    a, b = (pl.col(name).cast(pl.Float64, strict=False) for name in ("votes_a", "votes_b"))
    return [(pl.max_horizontal(a, b) / (a + b)).fill_nan(None), a + b]


def _differences(frame: pl.DataFrame, judges: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return the differences of two judges' accuracy on pairs that both judged."""
    of_judge = {
        judge: credits_of(frame.filter(judge=judge))["accuracy"].group_by("battle_id", CLUSTER).agg(pl.col("value").mean())
        for judge in judges
    }
    power = 1.0 + _NORMAL.inv_cdf(_POWER) / max(_NORMAL.inv_cdf(0.5 + confidence / 2.0), 1e-9)
    rows = []
    for judge, other in combinations(judges, 2):
        both = of_judge[judge].join(of_judge[other].select("battle_id", less="value"), on="battle_id")
        both = both.select(CLUSTER, value=pl.col("value") - pl.col("less"))
        difference, ends = mean_of_credits(both, confidence, within=(-1.0, 1.0))
        needed = None if not difference else _needed(both.height, difference, ends, abs(difference) / power)
        rows.append((judge, other, both.height, difference, *ends, needed))
    numbers = {"pairs": pl.Int64, "difference": pl.Float64, "low": pl.Float64, "high": pl.Float64, "needed": pl.Int64}
    return pl.DataFrame(rows, schema={"judge": pl.String, "other": pl.String, **numbers}, orient="row")


def _needed(pairs: int, value: float | None, ends: Ends, reach: float) -> int | None:
    """Return with how many pairs an interval would reach so far, as widths shrink with the root of the pairs."""
    low, high = ends
    if value is None or low is None or high is None:
        return None
    return max(1, math.ceil(pairs * (max(value - low, high - value) / reach) ** 2))


def clustered(frame: pl.DataFrame, cluster: str | None = None) -> tuple[pl.DataFrame, str]:
    """Return pairs with the cluster of each in ``CLUSTER``, and the column that it is from."""
    has_prompts = "prompt_id" in frame.columns and not absent_values(frame["prompt_id"]).all()
    cluster = cluster or ("prompt_id" if has_prompts else "battle_id")
    alone = pl.concat_str(pl.lit("\x1f"), pl.col("battle_id"))  # a row without a cluster is one of its own
    return frame.with_columns(named(pl.col(cluster).cast(pl.String)).fill_null(alone).alias(CLUSTER)), cluster


def with_verdicts(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return pairs with a scorer's scores as numbers, and with their verdicts where the column is missing.

    Raises:
        AgreementError: a score is not a finite number.
    """
    if not {"score_a", "score_b"} <= {*frame.columns}:
        return frame
    refuse_nested(frame, ["score_a", "score_b"], source)
    frame = frame.with_columns(numbers_of(frame, name, source) for name in ("score_a", "score_b"))
    if "verdict" in frame.columns:
        return frame
    a, b = pl.col("score_a"), pl.col("score_b")
    decided = pl.when(a > b).then(pl.lit(_A)).when(a < b).then(pl.lit(_B))
    return frame.with_columns(verdict=decided.when(a == b).then(pl.lit(TIES[0])))


def checked_pairs(
    frame: pl.DataFrame, source: str, split: str | None = None, chance: str | None = None, cluster: str | None = None
) -> pl.DataFrame:
    """Return pairs with a verdict, a judge, a side and a chance, in their types; null where unknown.

    Raises:
        AgreementError: as :func:`audit_judges`.
    """
    frame = with_verdicts(frame, source)
    needed = ["battle_id", "winner", "verdict", *(name for name in (split, chance, cluster) if name is not None)]
    for name in needed:
        if name not in frame.columns:
            hint = (
                "Rows have battle_id, winner (of people), and verdict (of a judge) or score_a, score_b; --judged adds these, "
                "and `salon bench audit` asks a judge."
            )
            raise AgreementError("missing column", source=source, value=name, found=frame.columns, hint=hint)
    if not frame.height:
        raise AgreementError("there are no pairs", source=source)
    optional = {"judge", "side_a_shown", "prompt_id"} & {*frame.columns}
    for name in (*needed, *sorted(optional)):
        if frame[name].dtype.is_nested() or frame[name].dtype == pl.Binary:
            raise AgreementError("holds no single values:", source=source, column=name, value=str(frame[name].dtype))
    frame = frame.with_columns(pl.col("battle_id", "winner", "verdict").cast(pl.String))
    frame = frame.with_columns(pl.col("verdict").replace("", None))
    for name, may_miss in (("battle_id", False), ("winner", False), ("verdict", True)):
        known = pl.col(name).is_not_null() if name == "battle_id" else pl.col(name).is_in(_WORDS)
        _refuse(frame, name, known.fill_null(False) | (pl.col(name).is_null() & may_miss), source, _WORDS)
    judge = named(pl.col("judge").cast(pl.String)) if "judge" in frame.columns else pl.lit("judge")
    side = pl.col("side_a_shown").cast(pl.String) if "side_a_shown" in frame.columns else pl.lit(None, dtype=pl.String)
    frame = frame.with_columns(judge=judge.fill_null("judge"), side_a_shown=side)
    _refuse(frame, "side_a_shown", pl.col("side_a_shown").is_null() | pl.col("side_a_shown").is_in(["left", "right"]), source)
    value = pl.lit(None, dtype=pl.Float64) if chance is None else pl.col(chance).cast(pl.Float64, strict=False)
    frame = frame.with_columns(value.alias(_CHANCE))
    if chance is not None:
        is_number = pl.col(chance).is_null() | pl.col(_CHANCE).is_between(0.0, 1.0).fill_null(False)
        _refuse(frame, chance, is_number, source, ["0 to 1"])
    twice = frame.filter(pl.struct("battle_id", "judge", "side_a_shown").is_duplicated())
    if twice.height:
        problem = "a judge has two verdicts about one pair in one order:"
        raise AgreementError(problem, source=source, column="battle_id", value=twice["battle_id"][0])
    several = frame.group_by("battle_id", maintain_order=True).agg(pl.col("winner").n_unique()).filter(pl.col("winner") > 1)
    if several.height:
        raise AgreementError("people have two choices about a pair:", source=source, value=several["battle_id"][0])
    return frame


def _refuse(frame: pl.DataFrame, name: str, right: pl.Expr, source: str, allowed: Any = None) -> None:
    rows = frame.select(~right).to_series().arg_true()
    if len(rows):
        number = int(rows[0])
        value = frame[name][number]
        raise AgreementError("is wrong:", source=source, row=number + 1, column=name, value=value, allowed=allowed)


def credits_of(own: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the cluster and the value of every observation of each share, of the pairs of one judge."""
    tie = pl.col("verdict").is_in(TIES)
    is_decided, has_verdict = pl.col("winner").is_in([_A, _B]), pl.col("verdict").is_not_null()
    any_tie = (pl.col("winner").is_in(TIES) & (pl.col("verdict") == TIES[0])) | (tie & (pl.col("winner") == TIES[0]))
    exact = ((pl.col("winner") == pl.col("verdict")) | any_tie).fill_null(False)
    right = pl.when(tie).then(0.5).otherwise((pl.col("winner") == pl.col("verdict")).cast(pl.Float64))
    left = pl.col("side_a_shown") == "left"
    chosen_first = pl.when(left).then(pl.col("verdict") == _A).otherwise(pl.col("verdict") == _B).cast(pl.Float64)
    has_order = pl.col("side_a_shown").is_not_null() & pl.col("verdict").is_in([_A, _B])
    both = (
        own.filter(has_verdict & pl.col("side_a_shown").is_not_null())
        .group_by("battle_id", CLUSTER, maintain_order=True)
        .agg(value=(pl.col("verdict").n_unique() == 1).cast(pl.Float64), orders=pl.len())
        .filter(pl.col("orders") == 2)
    )
    squared = (pl.col("chance") - pl.col("chosen")).pow(2)
    return {
        "accuracy": own.filter(is_decided & has_verdict).select("battle_id", CLUSTER, value=right),
        "exact": own.select(CLUSTER, value=exact.cast(pl.Float64)),
        "first": own.filter(has_order).select(CLUSTER, value=chosen_first),
        "same_in_both_orders": both,
        "brier": _chances(own).select(CLUSTER, value=squared),
    }


def mean_of_credits(
    observed: pl.DataFrame, confidence: float, within: tuple[float, float] = (0.0, 1.0)
) -> tuple[float | None, Ends]:
    """Return the mean of ``value``, with its interval by Student's t over clusters."""
    sums = observed.group_by(CLUSTER).agg(pl.col("value").sum(), pl.len().alias("rows")).sort(CLUSTER)
    numbers = sums.select("value", "rows").cast(pl.Float64).to_numpy()
    return ratio_with_interval(numbers, confidence=confidence, within=within)


def _measured(own: pl.DataFrame, confidence: float) -> dict[str, Any]:
    """Return the numbers of one judge."""
    is_decided = pl.col("winner").is_in([_A, _B])
    result: dict[str, Any] = {
        "pairs": own["battle_id"].n_unique(),
        "missing": own.filter(pl.col("verdict").is_null())["battle_id"].n_unique(),
        "decided": own.unique("battle_id").select(is_decided.mean()).item(),
    }
    for name, observed in credits_of(own).items():
        value, ends = mean_of_credits(observed, confidence)
        result |= {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    result["ece"] = _calibration_error(_chances(own))
    ends = result["accuracy_low"], result["accuracy_high"]
    result["needed"] = _needed(result["pairs"], result["accuracy"], ends, _REACH)
    return result


def _with_intervals(table: pl.DataFrame, verdicts: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """Return the rows of κ with intervals by a bootstrap of clusters."""
    codes = {word: number for number, word in enumerate(_WORDS)}
    coded = verdicts.select("thing", "judge", CLUSTER, code=pl.col("verdict").replace_strict(codes, return_dtype=pl.Int64))
    ends = []
    for a, b, kappa in table.select("rater_a", "rater_b", "value").iter_rows():
        both = coded.filter(judge=a).join(coded.filter(judge=b).select("thing", other="code"), on="thing")
        cluster = both[CLUSTER].rank("dense").cast(pl.Int64).to_numpy() - 1
        cell = (both["code"] * len(_WORDS) + both["other"]).to_numpy()
        counts = np.zeros((int(cluster.max(initial=-1)) + 1, len(_WORDS) ** 2))
        np.add.at(counts, (cluster, cell), 1.0)
        ends.append((None, None) if kappa is None else cluster_interval(counts, _kappas, confidence))
    drawn = pl.DataFrame(ends, schema={"ci_low": pl.Float64, "ci_high": pl.Float64}, orient="row")
    return table.with_columns(drawn["ci_low"], drawn["ci_high"])


def _kappas(counts: Floats) -> Floats:
    """Return Cohen's κ of flattened square tables, shape (tables, k²); NaN where all answers are one."""
    tables = counts.reshape(len(counts), len(_WORDS), len(_WORDS)) / counts.sum(axis=1)[:, None, None]
    chance = np.einsum("ti,ti->t", tables.sum(axis=2), tables.sum(axis=1))
    equal = np.einsum("tii->t", tables)
    return np.where(chance < 1.0, (equal - chance) / np.where(chance < 1.0, 1.0 - chance, 1.0), np.nan)


def _with_chances(frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for judge in sorted(frame.filter(pl.col(_CHANCE).is_not_null())["judge"].unique()):
        yield judge, _chances(frame.filter(judge=judge))


def _chances(own: pl.DataFrame) -> pl.DataFrame:
    """Return the chance of each decided pair, over its orders the mean, and 1 where people chose the first, else 0."""
    known = own.filter(pl.col(_CHANCE).is_not_null() & pl.col("winner").is_in([_A, _B]))
    chosen = (pl.col("winner").first() == _A).cast(pl.Float64)
    return known.group_by("battle_id", CLUSTER, maintain_order=True).agg(chance=pl.col(_CHANCE).mean(), chosen=chosen)


def _tenths(decided: pl.DataFrame, judge: str = "") -> pl.DataFrame:
    """Return chances and choices by tenths of the chance."""
    number = (pl.col("chance") * _BINS).floor().clip(0, _BINS - 1).cast(pl.Int64)
    grouped = decided.group_by(number.alias("bin")).agg(
        pairs=pl.len(), chance=pl.col("chance").mean(), share=pl.col("chosen").mean()
    )
    ends = {"judge": pl.lit(judge), "from": pl.col("bin") / _BINS, "to": (pl.col("bin") + 1) / _BINS}
    return grouped.sort("bin").select(**ends, pairs="pairs", chance="chance", share="share")


def _calibration_error(decided: pl.DataFrame) -> float | None:
    """Return the expected calibration error over ten bins (Guo et al. 2017, arXiv:1706.04599)."""
    if not decided.height:
        return None
    bins = _tenths(decided)
    gap = np.abs((bins["chance"] - bins["share"]).to_numpy())
    return float(np.average(gap, weights=bins["pairs"].to_numpy()))


def pairs_of_votes(people: Battles, judged: Battles, *, chance_of_a: str | None = None) -> pl.DataFrame:
    """Return votes and verdicts about the same battles as pairs for :func:`audit_judges`.

    They are matched by the ids of battles, else by both generations, else by prompt and pair. What people chose is what most
    votes say, a tie where that is no single thing. ``judge`` is the verdict's ``rater_id``; a pair that people voted on and a
    judge did not decide is a missing verdict of that judge.

    Args:
        people: votes.
        judged: verdicts, of any number of judges.
        chance_of_a: the verdicts' column with the chance that model_a is better; returned for the pair's first model.

    Raises:
        OptionError: they have no such column in common.
        AgreementError: they have weights, a rater voted twice on a battle, or a chance is not between 0 and 1.
    """
    for battles in (people, judged):
        if battles.weight is not None:
            problem = "weights of battles are not looked at; leave them out"
            raise AgreementError(problem, source=battles.source, value=battles.weight)
    if chance_of_a in _OF_ORIENTED:
        raise AgreementError("is a name of our own; rename the column", source=judged.source, value=chance_of_a)
    votes, verdicts = oriented(people), oriented(judged)
    if {"battle_id", "rater_id"} <= {*votes.columns}:
        twice = votes.filter(pl.struct("battle_id", "rater_id").is_duplicated())
        if twice.height:
            problem = "a rater voted twice on"
            raise AgreementError(problem, source=people.source, column="battle_id", value=twice["battle_id"][0])
    key = list(KEYS[common_key(votes, verdicts, (people.source, judged.source))])
    in_order = pl.col("model_a") == pl.col("first")
    turned = pl.when(in_order).then("winner").otherwise(pl.col("winner").replace({_A: _B, _B: _A}))
    kept = [name for name in ("prompt_id", "first", "second") if name not in key and name in votes.columns]
    chosen = (
        votes.with_columns(winner=turned.cast(pl.String))
        .group_by(*key, "winner", maintain_order=True)
        .agg(pl.len().alias("votes"), *(pl.col(name).first().alias(f"{name} of people") for name in kept))
        .with_columns(
            most=pl.col("votes").max().over(key),
            votes_a=pl.col("votes").filter(pl.col("winner") == _A).sum().over(key),
            votes_b=pl.col("votes").filter(pl.col("winner") == _B).sum().over(key),
        )
        .filter(pl.col("votes") == pl.col("most"))
        .group_by(key, maintain_order=True)
        .agg(
            pl.when(pl.len() == 1).then(pl.col("winner").first()).otherwise(pl.lit(TIES[0])).alias("choice"),
            pl.col("votes_a", "votes_b").first(),
            *(pl.col(f"{name} of people").first() for name in kept),
        )
    )
    judge = pl.col("rater_id").cast(pl.String) if "rater_id" in verdicts.columns else pl.lit("judge")
    side = pl.col("side_a_shown").cast(pl.String) if "side_a_shown" in verdicts.columns else pl.lit(None, dtype=pl.String)
    flipped = side.replace({"left": "right", "right": "left"})
    answers = verdicts.drop("votes_a", "votes_b", strict=False).with_columns(
        judge=judge.fill_null("judge"), verdict=turned.cast(pl.String)
    )
    if chance_of_a is not None and chance_of_a in answers.columns:
        chance = pl.col(chance_of_a).cast(pl.Float64, strict=False)
        is_number = pl.col(chance_of_a).is_null() | chance.is_between(0.0, 1.0).fill_null(False)
        _refuse(answers, chance_of_a, is_number, judged.source, ["0 to 1"])
        answers = answers.with_columns(pl.when(in_order).then(chance).otherwise(1.0 - chance).alias(chance_of_a))
    answers = answers.with_columns(side_a_shown=pl.when(in_order).then(side).otherwise(flipped))
    asked = chosen.join(answers.select("judge").unique(maintain_order=True), how="cross")
    matched = asked.join(answers, on=[*key, "judge"], how="left", maintain_order="left").with_columns(winner="choice")
    for name in kept:
        known = pl.col(name) if name in matched.columns else pl.lit(None, dtype=pl.String)
        matched = matched.with_columns(pl.coalesce(known, pl.col(f"{name} of people")).alias(name))
    pair = pl.col("battle_id") if "battle_id" in key else pl.struct(key).struct.json_encode()
    named = matched.with_columns(battle_id=pair, model_a="first", model_b="second")
    return named.drop("choice", *(f"{name} of people" for name in kept))
