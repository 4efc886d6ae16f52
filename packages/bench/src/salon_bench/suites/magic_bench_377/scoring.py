"""From rows about pictures and pairs to the numbers of one subject.

Marks are averaged as MEF averages them (``salon_ranking.opinion``: Eq. 3, intervals from Eq. 4's variance between the pictures
of a prompt), test points are shares with Wilson's intervals, win rates are (W + T/2) / N with a bootstrap over prompts.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from salon_bench.suites.contract.metrics import share_with_wilson
from salon_bench.suites.contract.suite import Summary
from salon_bench.suites.contract.tables import Line, line, reasons_sentence, summary_of
from salon_bench.suites.magic_bench_377.questions import MOS, SHOWINGS, TEST_POINTS, WIN, MarkDimension, OrderRule
from salon_bench.suites.magic_bench_377.replies import HIGHEST, LOWEST
from salon_judges.formats.magic_bench_377_labels import points
from salon_ranking.opinion.ratings import MosRatings
from salon_ranking.opinion.scores import mean_opinion_scores
from salon_ranking.uncertainty.means import ratio_with_interval
from salon_ranking.uncertainty.proportions import sign_test

_AGAINST: Final = "against "


def summarize_marks(scores: pl.DataFrame) -> Summary:
    """Return marks and test points of one subject.

    Args:
        scores: rows of :meth:`~.suite.MagicBench377.examine`, columns as in the store; other rows are left alone.

    Returns:
        ``Prompt Following``, ``Structural Accuracy``, ``Aesthetic Quality``: mean marks, 1 to 5. ``test points``: the share of
        checks that are met, 0 to 1, of all (group null) and of each test point that was checked. A panel's value counts as
        its majority's; an even split as no verdict.
    """
    rows = [*_marks(scores), *_checks(scores)]
    notes = (
        "Marks are means over prompts of means over pictures (1 to 5); their 95% intervals know the spread between a prompt's "
        "pictures alone, and one picture per prompt has no interval.",
        "Test points are shares of checks that are met in full; 95% intervals by Wilson, checks taken for independent.",
        *reasons_sentence(scores.filter(pl.col("task").is_in([MOS, TEST_POINTS])), "Rows without a verdict"),
    )
    return summary_of(rows, notes)


def _marks(scores: pl.DataFrame) -> Iterator[Line]:
    mine = scores.filter(pl.col("task") == MOS)
    if mine.is_empty():
        return
    frame = mine.with_row_index("rating_id").select(
        "rating_id",
        "prompt_id",
        pl.col("generation_id").fill_null(pl.format("missing {}", "rating_id")),
        "dimension",
        "value",
        "unscored_reason",
        model=pl.lit("subject"),
        scale_min=pl.lit(float(LOWEST)),
        scale_max=pl.lit(float(HIGHEST)),
        rater_id=pl.lit("judge"),
    )
    opinion = mean_opinion_scores(MosRatings.from_frame(frame))
    by_dimension = {row["dimension"]: row for row in opinion.iter_rows(named=True)}
    for dimension in MarkDimension:
        row = by_dimension.get(dimension)
        if row is not None:
            ends = (row["ci_low"], row["ci_high"])
            yield line(dimension, None, row["mean"], ends, scored=row["ratings"], unscored=row["unscored"])


def _checks(scores: pl.DataFrame) -> Iterator[Line]:
    met = pl.when(pl.col("value") > 0.5).then(True).when(pl.col("value") < 0.5).then(False)
    mine = scores.filter(pl.col("task") == TEST_POINTS).select("dimension", met=met)
    if mine.is_empty():
        return
    yield _share("test points", None, mine["met"])
    for label in points().values():
        answers = mine.filter(pl.col("dimension") == label.name)["met"]
        if len(answers):
            yield _share("test points", label.name, answers)


def summarize_battles(scores: pl.DataFrame, rule: OrderRule = OrderRule.TIE) -> Summary:
    """Return battles of one subject, and how its judge's verdicts depend on the side.

    Args:
        scores: rows of :meth:`~.battles_suite.MagicBench377Battles.examine`, columns as in the store; others are left alone.
        rule: what contradicting showings came to.

    Returns:
        ``win rate``: (W + T/2) / N over all opponents (group null) and against each. ``orders agree``: the share of battles
        whose two showings have the same outcome. ``left wins``: of all showings with a winner, the share that the left
        picture won; one half when sides mean nothing.
    """
    mine = scores.filter(pl.col("dimension").is_in([WIN, *SHOWINGS]) & pl.col("task").str.starts_with(_AGAINST))
    won = mine.filter(pl.col("dimension") == WIN).with_columns(
        opponent=pl.col("task").str.strip_prefix(_AGAINST).str.replace(r" #\d+$", "")
    )
    rows = [_win_rate(None, won)]
    rows += [_win_rate(name, won.filter(pl.col("opponent") == name)) for name in won["opponent"].unique().sort()]
    leaning = _leaning(mine)
    agreed = leaning.select(pl.col("first") + pl.col("second") == 1.0).to_series()  # one picture's gain is the other's loss
    left = mine.filter(pl.col("dimension").is_in(SHOWINGS) & (pl.col("value").is_null() | (pl.col("value") != 0.5)))
    rows += [_share("orders agree", None, agreed), _share("left wins", None, left["value"] > 0.5)]
    return summary_of(rows, (*_battle_notes(leaning, rule), *reasons_sentence(mine, "Rows without a verdict")))


def _leaning(mine: pl.DataFrame) -> pl.DataFrame:
    """Return one row per battle: the left picture's points in the ``first`` and the ``second`` showing; null: no verdict."""
    key = ["task", "prompt_id", "generation_id"]
    columns = [pl.col("value").filter(pl.col("dimension") == name).first().alias(name) for name in SHOWINGS]
    return mine.group_by(key).agg(columns).sort(key, nulls_last=True)


def _battle_notes(leaning: pl.DataFrame, rule: OrderRule) -> Iterator[str]:
    yield {
        OrderRule.TIE: "Every pair was shown in both orders; contradicting orders are a tie.",
        OrderRule.UNSCORED: "Every pair was shown in both orders; contradicting orders are no verdict (abstained).",
        OrderRule.EACH: "Every pair was shown in both orders, and each is a battle of weight 1/2.",
    }[rule]
    lean = (leaning["first"] + leaning["second"] - 1.0).drop_nulls()
    left, right = int((lean > 0).sum()), int((lean < 0).sum())
    p = float(sign_test([left], [left + right])[0])
    yield f"Position: {left} pairs lean to the left, whichever picture it is, {right} to the right; exact binomial p {p:.3g}."
    yield "Win rates: 95% intervals by Student's t over prompts."
    yield "Shares: 95% intervals by Wilson, showings taken for independent."


def _win_rate(opponent: str | None, won: pl.DataFrame) -> Line:
    scored = won.drop_nulls("value")
    unscored = won.height - scored.height
    per_prompt = scored.group_by("prompt_id").agg(pl.col("value").sum(), pl.len()).sort("prompt_id")
    sums = per_prompt.select("value", "len").cast(pl.Float64).to_numpy()
    ends = ratio_with_interval(sums, within=(0.0, 1.0))[1]
    rate = None if scored.is_empty() else scored.select(pl.col("value").mean()).item()
    return line("win rate", opponent, rate, ends, scored=scored.height, unscored=unscored)


def _share(metric: str, group: str | None, answers: pl.Series) -> Line:
    """Return a row about answers of yes, no and null (no verdict)."""
    met, scored = int(answers.sum() or 0), int(answers.count())
    return line(metric, group, *share_with_wilson(met, scored), scored=scored, unscored=len(answers) - scored)
