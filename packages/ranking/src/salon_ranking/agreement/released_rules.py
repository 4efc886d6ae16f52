"""Accuracies of judges by the rules that released sets of pairs have, beside ours, with the reason why they differ.

Each rule is the mean of credits, one per pair, group or prompt, so that all have intervals over prompts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking.agreement.errors import AgreementError
from salon_ranking.agreement.judge_audit import CLUSTER, TIES, checked_pairs, clustered, credits_of, mean_of_credits
from salon_ranking.agreement.pair_sets import FORMS
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame, as_lazy
from salon_ranking.options import Confidence, checked
from salon_taxonomy.enums import Winner

_DECISIONS: Final = (Winner.MODEL_A.value, Winner.MODEL_B.value)
_COMPARISONS: Final = {"3pair": 3, "4pair": 6}
_FOLDS: Final = 5
_STEPS: Final = np.arange(11) / 10.0
"""The thresholds of Pick-a-Pic, for differences of probabilities."""
_IS_DECIDED, _SAID = pl.col("winner").is_in(_DECISIONS), pl.col("verdict").is_not_null()
_RIGHT: Final = pl.when(_IS_DECIDED).then(pl.col("winner") == pl.col("verdict")).otherwise(pl.col("verdict").is_in(TIES))
"""Whether a verdict is people's choice; all kinds of tie are one."""
Floats = NDArray[np.float64]
Credits = Callable[[pl.DataFrame], pl.DataFrame | None]
"""Returns a cluster and a value from 0 to 1 for each observation; None where a rule has nothing to count."""


@dataclass(frozen=True)
class ReleasedRule:
    """A released rule of accuracy.

    Attributes:
        name: whose it is, and which.
        credits: what it counts.
        why: why its number differs from ours.
        ours: what we count instead, where it is not the accuracy of :func:`audit_judges`.
    """

    name: str
    credits: Credits
    why: str
    ours: Credits = lambda own: credits_of(own)["accuracy"]


def _values(own: pl.DataFrame, value: pl.Expr | Floats) -> pl.DataFrame:
    expression = value if isinstance(value, pl.Expr) else pl.Series(value)
    return own.select(CLUSTER, value=expression.cast(pl.Float64))


def _strict(own: pl.DataFrame) -> pl.DataFrame:
    return _values(own.filter(_IS_DECIDED & _SAID), pl.col("winner") == pl.col("verdict"))


def _individual(own: pl.DataFrame) -> pl.DataFrame:
    return _values(own, _RIGHT.fill_null(False))


def _groups(own: pl.DataFrame) -> pl.DataFrame | None:
    """Credit each group of 3 or 6 comparisons that are all right."""
    comparisons = _COMPARISONS.get(own["category"][0] or "")
    if comparisons is None:
        return None
    whole = (_RIGHT.fill_null(False).sum() == comparisons) & (pl.len() == comparisons)
    return own.group_by(CLUSTER).agg(value=whole.cast(pl.Float64))


def _inversions(own: pl.DataFrame) -> pl.DataFrame:
    """Credit each prompt that was judged whole with 1 − inversions / pairs."""
    of_tie = (
        pl.when(pl.col("verdict").is_in(TIES)).then(0.5).otherwise((pl.col("winner") != pl.col("verdict")).cast(pl.Float64))
    )
    inverted = pl.when(_IS_DECIDED).then(of_tie).otherwise(0.0)
    whole = own.filter(_SAID.all().over(CLUSTER))
    return whole.group_by(CLUSTER).agg(value=1.0 - inverted.mean())


def _scored(own: pl.DataFrame) -> tuple[pl.DataFrame, Floats, NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return pairs with two scores: their gaps, whether people tied, and whether the higher score is people's choice."""
    if not {"score_a", "score_b"} <= {*own.columns}:
        return None
    rows = own.filter(pl.col("score_a").is_not_null() & pl.col("score_b").is_not_null())
    if not rows.height:
        return None
    difference = (rows["score_a"] - rows["score_b"]).to_numpy()
    sign = rows.select(
        pl.when(pl.col("winner") == _DECISIONS[0]).then(1).when(pl.col("winner") == _DECISIONS[1]).then(-1).otherwise(0)
    )
    people = sign.to_series().to_numpy()
    return rows, np.abs(difference), people == 0, difference * people > 0


def _best_threshold(
    gap: Floats, tied: NDArray[np.bool_], right: NDArray[np.bool_], candidates: Floats, tie: float = 0.0
) -> float:
    """Return the lowest threshold of ties with the best accuracy; it does not depend on the order of the pairs.

    ``tie`` is the credit of a tie on one side.
    """
    order = np.argsort(gap)
    below = np.searchsorted(gap[order], candidates, side="right")
    inside = np.where(tied, 1.0, tie)[order]
    outside = np.where(tied, tie, right)[order]
    credit = np.append(0.0, np.cumsum(inside))[below] + outside.sum() - np.append(0.0, np.cumsum(outside))[below]
    return float(candidates[int(np.argmax(credit))])


def _at_best(*, zero: bool) -> Credits:
    """Return the rule with the best threshold on these very pairs; among them 0, or the gaps of scores alone."""

    def credited(own: pl.DataFrame) -> pl.DataFrame | None:
        scored = _scored(own)
        if scored is None:
            return None
        rows, gap, tied, right = scored
        candidates = np.unique(np.append(gap, 0.0) if zero else gap)
        best = _best_threshold(gap, tied, right, candidates)
        return _values(rows, np.where(gap <= best, tied, right).astype(float))

    return credited


def _two_way(own: pl.DataFrame) -> pl.DataFrame | None:
    """Return the rule with the best threshold for pairs that are no part of a group of three or six."""
    return None if own["category"][0] in _COMPARISONS else _at_best(zero=True)(own)


def _across(candidates: Callable[[Floats], Floats], tie: float) -> Credits:
    """Return the rule with thresholds from other prompts: five folds of prompts, each with that of the other four."""

    def credited(own: pl.DataFrame) -> pl.DataFrame | None:
        scored = _scored(own)
        if scored is None:
            return None
        rows, gap, tied, right = scored
        fold = (rows[CLUSTER].rank("dense") % _FOLDS).to_numpy()
        if len(np.unique(fold)) < 2:
            return None
        threshold = np.empty(len(gap))
        for number in np.unique(fold):
            other = fold != number
            threshold[~other] = _best_threshold(gap[other], tied[other], right[other], candidates(gap[other]), tie)
        is_tie = gap <= threshold
        return _values(rows, np.where(is_tie, np.where(tied, 1.0, tie), np.where(tied, tie, right)))

    return credited


def _pick_a_pic(own: pl.DataFrame) -> pl.DataFrame | None:
    """Credit ½ for a tie on one side, with thresholds from other prompts where scores are probabilities."""
    scored = _scored(own)
    numbers = None if scored is None else scored[0].select("score_a", "score_b").to_numpy()
    if numbers is not None and numbers.min() >= 0 and numbers.max() <= 1:
        credited = _across(lambda gap: _STEPS, 0.5)(own)
        if credited is not None:
            return credited
    one_tie = ~_IS_DECIDED | pl.col("verdict").is_in(TIES)
    return _values(own.filter(_SAID), pl.when(_RIGHT).then(1.0).when(one_tie).then(0.5).otherwise(0.0))


_ACROSS_TIES: Final = _across(lambda gap: np.unique(np.append(gap, -1.0)), 0.0)
_TEST_SET: Final = "its threshold of ties is chosen on these very pairs; ours on other prompts (five folds)"
_EQUAL: Final = "equal scores are wrong in theirs, half right in ours"
RULES: Final[dict[str, tuple[ReleasedRule, ...]]] = {
    "plain": (),
    "genai-bench": (
        ReleasedRule(
            "GenAI-Bench",
            lambda own: credits_of(own)["exact"],
            "ties of people count, and a missing verdict is wrong in theirs",
        ),
    ),
    "mmrb2": (
        ReleasedRule(
            "MMRB2", _strict, "each order is an observation in both; a tie of the judge is wrong in theirs, half in ours"
        ),
    ),
    "imagerewarddb": (ReleasedRule("ImageReward", _strict, _EQUAL),),
    "imagerewarddb-metadata": (ReleasedRule("ImageReward", _strict, _EQUAL),),
    "hpdv3": (ReleasedRule("HPSv3", _strict, _EQUAL),),
    "mj-bench": (
        ReleasedRule(
            "MJ-Bench", _strict, "equal scores, whose released treatment is not known, are wrong in theirs, half in ours"
        ),
    ),
    "videoreward": (),
    "videogen-rewardbench": (
        ReleasedRule("VideoGen-RewardBench, without ties", _strict, _EQUAL),
        ReleasedRule(
            "VideoGen-RewardBench, with ties",
            _at_best(zero=False),
            f"{_TEST_SET}, with no ties at all as one choice",
            _ACROSS_TIES,
        ),
    ),
    "editreward-bench": (
        ReleasedRule("EditReward-Bench, single", _individual, "ties of people count, and a missing verdict is wrong in theirs"),
        ReleasedRule("EditReward-Bench, group", _groups, "all 3 or 6 comparisons of a group must be right in theirs"),
        ReleasedRule("EditReward-Bench, with ties", _two_way, _TEST_SET, _ACROSS_TIES),
    ),
    "hpdv2": (
        ReleasedRule(
            "HPDv2", _inversions, "pairs that people tied count as right in theirs, and prompts are averaged, not pairs"
        ),
    ),
    "pick-a-pic": (
        ReleasedRule("Pick-a-Pic", _pick_a_pic, "ties of people count, and a tie on one side is half right in theirs"),
    ),
}
"""The rules of each form of :func:`read_pairs`."""
_BY_CATEGORY: Final = ("mj-bench", "videogen-rewardbench", "editreward-bench")
"""Their categories are other questions, and have numbers of their own."""


@checked
def released_accuracy(pairs: Frame, form: str, *, confidence: Confidence = 0.95, source: str = "pairs") -> pl.DataFrame:
    """Return the accuracy of each judge by the rules that a released set has, beside ours.

    Args:
        pairs: as :func:`read_pairs` returns them, with verdicts or scores.
        form: the form that they were read with.
        confidence: of the intervals, between 0 and 1; Student's t over prompts. A threshold counts as given.
        source: what errors call the pairs.

    Returns:
        One row per judge and rule, and per category where a set has numbers for each: ``judge``, ``part`` (the category; null:
        all), ``rule``, ``rows`` (observations of the released rule), ``released`` and ``ours``, each with ``…_low`` and
        ``…_high``, and ``why`` they differ. Rules of scores are left out without scores. No row for a set without rules.

    Raises:
        OptionError: the form is unknown.
        AgreementError: as :func:`audit_judges`.

    Example:
        >>> scores = {"score_a": [0.9, 0.5, 0.2], "score_b": [0.1, 0.5, 0.3]}
        >>> rows = {"battle_id": ["x", "y", "z"], "winner": ["model_a", "model_a", "model_b"], **scores}
        >>> released_accuracy(rows, "imagerewarddb").select("rule", "rows", pl.col("released", "ours").round(3)).row(0)
        ('ImageReward', 3, 0.667, 0.833)
    """
    if form not in FORMS:
        raise OptionError("unknown form of pairs", value=form, allowed=FORMS)
    frame, _ = clustered(checked_pairs(as_lazy(pairs, error=AgreementError).collect(), source))
    if "category" not in frame.columns:
        frame = frame.with_columns(category=pl.lit(None, pl.String))
    rows = [row for judge in sorted(frame["judge"].unique()) for row in _of_judge(frame.filter(judge=judge), form, confidence)]
    words = dict.fromkeys(("judge", "part", "rule"), pl.String)
    ends = [f"{name}{end}" for name in ("released", "ours") for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, schema={**words, "rows": pl.Int64, **dict.fromkeys(ends, pl.Float64), "why": pl.String})


def _of_judge(own: pl.DataFrame, form: str, confidence: float) -> Iterator[dict[str, Any]]:
    parts = sorted(own["category"].cast(pl.String).unique().drop_nulls()) if form in _BY_CATEGORY else []
    for part in parts or [None]:
        chosen = own if part is None else own.filter(pl.col("category").cast(pl.String) == part)
        for rule in RULES[form]:
            observed = rule.credits(chosen)
            if observed is None or not observed.height:
                continue
            row = {"judge": own["judge"][0], "part": part, "rule": rule.name, "rows": observed.height, "why": rule.why}
            for name, counted in (("released", observed), ("ours", rule.ours(chosen))):
                value, (low, high) = (None, (None, None)) if counted is None else mean_of_credits(counted, confidence)
                row |= {name: value, f"{name}_low": low, f"{name}_high": high}
            yield row
