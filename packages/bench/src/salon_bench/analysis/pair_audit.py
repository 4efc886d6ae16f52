"""Hold the runs of ``pairs`` and ``pair-scores`` against what people answered about the same pairs."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from salon_bench.suites.contract.suite import whole_case_id
from salon_bench.suites.pairs.suite import BETTER, GOOD, ORDERS, SCORE, SIDES, VERDICT
from salon_judges.asking.stored_tokens import tokens_of
from salon_ranking.agreement.pair_rows import PLAIN
from salon_taxonomy.answers import value_probabilities
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Side, Winner

_MENU: Final[Mapping[str, Sequence[str]]] = {"left": ("left",), "right": ("right",), "tie": ("both",)}
_ON_MENU: Final = 0.5
"""The least probability of the menu; with less, the log-probabilities are not about the verdict."""
_CHANCES: Final = dict.fromkeys(("chance_a", "chance_b", "chance_tie", "chance_of_a"), pl.Float64)
_VERDICTS = {1.0: Winner.MODEL_A.value, 0.0: Winner.MODEL_B.value, 0.5: Winner.TIE.value}


def answered_pairs(pairs: pl.DataFrame, by: str | None = None) -> pl.DataFrame:
    """Return the pairs that people answered about, without what judges said.

    Args:
        pairs: of ``salon_ranking.agreement.read_pairs``.
        by: a column that they must have.

    Raises:
        InputError: the column is missing, people answered about none of the pairs, or two pairs have one id.
    """
    if by is not None and by not in pairs.columns:
        raise InputError("the pairs have no column", value=by, found=pairs.columns)
    answered = pairs.drop("judge", "verdict", "side_a_shown", "score_a", "score_b", strict=False)
    answered = answered.filter(pl.col("winner").is_not_null())
    if answered.is_empty():
        raise InputError("people answered about none of the pairs", column="winner")
    own = [name for name in answered.columns if name in PLAIN or name in ("clear", by)]
    answered = answered.unique(own, keep="first", maintain_order=True)  # a row for each judge, where the file has verdicts
    twice = answered.filter(pl.col("battle_id").is_duplicated())
    if twice.height:
        raise InputError("two pairs have one id:", column="battle_id", value=twice["battle_id"][0])
    return answered


def verdict_chances(scores: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Return how probable the judge's verdicts were, by the log-probabilities of its replies.

    Args:
        scores: rows of runs of the suite ``pairs``.
        calls: their rows of ``judge_calls``.

    Returns:
        One row per verdict with log-probabilities: ``judge``, ``battle_id``, ``side_a_shown``; ``chance_a``, ``chance_b`` and
        ``chance_tie``, which add up to 1; ``chance_of_a``, with half of the tie. None of replies whose tokens do not contain
        the verdict, or have less than half of the probability on the menu.

    Example:
        >>> from salon_judges.asking.stored_tokens import tokens_text
        >>> from salon_taxonomy.protocols import Token
        >>> score = {"run_id": "r", "suite": "pairs", "subject_model": "set", "judge": "j", "prompt_id": "1", "task": "a left"}
        >>> call = {"run_id": "r", "case_id": whole_case_id("pairs", "1", "set"), "step": "a left", "parse_status": "parsed"}
        >>> left, both = ("left", math.log(0.6)), ("both", math.log(0.4))
        >>> tokens = tokens_text([Token('{"verdict":', 0.0), Token("left", left[1], (left, both))])
        >>> scores = pl.DataFrame({**score, "dimension": BETTER, "value": [1.0]})
        >>> found = verdict_chances(scores, pl.DataFrame({**call, "tokens": [tokens]}))
        >>> found.select(pl.col("chance_a", "chance_b", "chance_tie", "chance_of_a").round(3)).row(0)
        (0.6, 0.0, 0.4, 0.8)
    """
    read = calls.filter((pl.col("parse_status") == "parsed") & pl.col("tokens").is_not_null())
    replies = {
        (run, case, str(step).partition("#")[0]): tokens
        for run, case, step, tokens in read.select("run_id", "case_id", "step", "tokens").iter_rows()
    }
    rows = []
    verdicts = scores.filter((pl.col("dimension") == BETTER) & pl.col("task").is_in(ORDERS) & pl.col("value").is_not_null())
    for row in verdicts.iter_rows(named=True):
        case = whole_case_id(row["suite"], row["prompt_id"], row["subject_model"])
        probabilities = value_probabilities(tokens_of(replies.get((row["run_id"], case, row["task"]))), VERDICT, _MENU)
        a_left = row["task"] == ORDERS[0]
        word = {0.5: "both", float(a_left): "left"}.get(row["value"], "right")
        whole = 0.0 if probabilities is None else math.fsum(probabilities.shares.values())
        if probabilities is None or probabilities.word != word or whole < _ON_MENU:
            continue
        left, right, tie = (probabilities.shares[answer] / whole for answer in _MENU)
        a, b = (left, right) if a_left else (right, left)
        side = Side.LEFT.value if a_left else Side.RIGHT.value
        rows.append((row["judge"], row["prompt_id"], side, a, b, tie, a + tie / 2.0))
    names = dict.fromkeys(("judge", "battle_id", "side_a_shown"), pl.String)
    return pl.DataFrame(rows, schema={**names, **_CHANCES}, orient="row")


def judged_pairs(answered: pl.DataFrame, scores: pl.DataFrame, chances: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return people's pairs with the verdicts of judges: the argument of ``audit_judges``.

    Args:
        answered: of :func:`answered_pairs`.
        scores: rows of runs of the suites ``pairs`` or ``pair-scores``.
        chances: of :func:`verdict_chances`.

    Returns:
        One row per pair, judge and order (a scorer has none): the columns of ``answered`` with ``judge``, ``side_a_shown`` and
        ``verdict``, null where it is missing; a scorer's with ``score_a`` and ``score_b``; where there are chances, these.

    Raises:
        InputError: the runs judged none of the pairs.

    Example:
        >>> pairs = pl.DataFrame({"battle_id": ["1"], "winner": ["model_a"]})
        >>> rows = {"prompt_id": "1", "judge": "j", "task": ["a left", "a right"], "dimension": BETTER, "value": [1.0, 0.5]}
        >>> judged_pairs(pairs, pl.DataFrame(rows)).select("side_a_shown", "verdict").rows()
        [('left', 'model_a'), ('right', 'tie')]
    """
    kinds = scores.filter(pl.col("dimension") == GOOD).select(
        "prompt_id",
        "judge",
        "task",
        kind=pl.when(pl.col("value") == 1.0).then(pl.lit(Winner.BOTH_GOOD.value)).otherwise(pl.lit(Winner.BOTH_BAD.value)),
    )
    verdict = pl.col("value").replace_strict(_VERDICTS, default=None, return_dtype=pl.String)
    in_order = (
        scores.filter((pl.col("dimension") == BETTER) & pl.col("task").is_in(ORDERS))
        .join(kinds, on=["prompt_id", "judge", "task"], how="left", maintain_order="left")
        .select(
            "judge",
            pl.col("prompt_id").alias("battle_id"),
            side_a_shown=pl.when(pl.col("task") == ORDERS[0]).then(pl.lit(Side.LEFT.value)).otherwise(pl.lit(Side.RIGHT.value)),
            verdict=pl.coalesce("kind", verdict),
        )
    )
    a, b = (pl.col("value").filter(pl.col("task") == side).first() for side in SIDES)
    by_score = (
        scores.filter((pl.col("dimension") == SCORE) & pl.col("task").is_in(SIDES))
        .group_by("judge", pl.col("prompt_id").alias("battle_id"), maintain_order=True)
        .agg(a.alias("score_a"), b.alias("score_b"))
        .select(
            "judge",
            "battle_id",
            "score_a",
            "score_b",
            side_a_shown=pl.lit(None, dtype=pl.String),
            verdict=pl.when(pl.col("score_a") == pl.col("score_b"))
            .then(pl.lit(Winner.TIE.value))
            .when(pl.col("score_a") > pl.col("score_b"))
            .then(pl.lit(Winner.MODEL_A.value))
            .when(pl.col("score_a") < pl.col("score_b"))
            .then(pl.lit(Winner.MODEL_B.value)),
        )
    )
    verdicts = [frame for frame in (in_order, by_score) if frame.height] or [in_order]
    judged = answered.join(pl.concat(verdicts, how="diagonal"), on="battle_id", how="inner", maintain_order="left")
    if judged.is_empty():
        raise InputError("the runs judged none of the pairs that people answered about")
    if chances is None or chances.is_empty():
        return judged
    key = ["judge", "battle_id", "side_a_shown"]
    return judged.drop(*_CHANCES, strict=False).join(chances, on=key, how="left", maintain_order="left")


def said_about(judged: pl.DataFrame) -> dict[str, str]:
    """Return by pair what people and judges said, as a sentence.

    Example:
        >>> rows = {"battle_id": "1", "winner": "model_a", "judge": "j", "side_a_shown": ["left", "right"]}
        >>> said_about(pl.DataFrame({**rows, "verdict": ["model_b", None]}))
        {'1': 'People chose a; j: b (a left), no verdict (a right).'}
    """
    remarks = {}
    for (pair,), rows in judged.group_by("battle_id", maintain_order=True):
        judges = []
        for (judge,), verdicts in rows.group_by("judge", maintain_order=True):
            orders = [
                f"{_words(verdict)}{'' if side is None else f' (a {side})'}"
                for side, verdict in verdicts.select("side_a_shown", "verdict").iter_rows()
            ]
            judges.append(f"{judge}: {', '.join(orders)}")
        remarks[str(pair)] = "; ".join([f"People chose {_words(rows['winner'][0])}", *judges]) + "."
    return remarks


def _words(verdict: str | None) -> str:
    return "no verdict" if verdict is None else verdict.removeprefix("model_").replace("_", " ")


def missing_verdicts(scores: pl.DataFrame) -> list[str]:
    """Return a sentence for each judge that lacks verdicts: how many, and why.

    Example:
        >>> rows = {"judge": "j", "dimension": BETTER, "value": [None, 1.0], "unscored_reason": ["malformed", None]}
        >>> missing_verdicts(pl.DataFrame(rows))
        ['j: 1 of 2 questions without a verdict: 1 malformed']
    """
    asked = scores.filter(pl.col("dimension").is_in([BETTER, SCORE]))
    sentences = []
    for (judge,), rows in asked.group_by("judge", maintain_order=True):
        lacking = rows.filter(pl.col("value").is_null())
        if lacking.height:
            counts = lacking["unscored_reason"].value_counts(sort=True).rows()
            why = ", ".join(f"{count} {reason}" for reason, count in counts)
            every = "all" if lacking.height == rows.height else f"{lacking.height:,} of"
            sentences.append(f"{judge}: {every} {rows.height:,} questions without a verdict: {why}")
    return sentences


def call_costs(calls: pl.DataFrame) -> pl.DataFrame:
    """Return what verdicts cost, one row per judge.

    Args:
        calls: rows of ``judge_calls``.

    Returns:
        ``judge``; ``calls`` that were sent (not answered by a cache); ``seconds``, the mean time of one; ``tokens`` and
        ``cost_usd``, the means of those that report them; null where none does.

    Example:
        >>> rows = {"judge": "j", "cached": False, "latency_ms": [900.0, 1100.0], "cost_usd": None}
        >>> call_costs(pl.DataFrame({**rows, "prompt_tokens": [10, 12], "completion_tokens": [5, 5]})).row(0)
        ('j', 2, 1.0, 16.0, None)
    """
    return (
        calls.filter(~pl.col("cached"))
        .group_by("judge", maintain_order=True)
        .agg(
            calls=pl.len(),
            seconds=pl.col("latency_ms").mean() / 1000,
            tokens=(pl.col("prompt_tokens") + pl.col("completion_tokens")).mean(),
            cost_usd=pl.col("cost_usd").cast(pl.Float64).mean(),
        )
    )
