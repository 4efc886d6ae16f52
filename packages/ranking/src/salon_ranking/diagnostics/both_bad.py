"""The handling of ``both_bad``: a tie, left out, or left out with the acceptability of each model.

Counted as a tie it means that two models are equally good, which hides that neither was good enough. With
``"own"`` those battles leave the rating, and :func:`acceptability` gives how often a model's battles were *not*
judged both-bad. That share depends on a model's opponents: a pair is both-bad only if the other one failed, too. It is
the plain, always defined number; an additive model of both failures is not, as it cannot tell the two models apart when
the graph of the pairs that met is bipartite.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import weight_of
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import reading
from salon_ranking.models.league import check_battles
from salon_ranking.options import Confidence, Rankable, takes_battles
from salon_ranking.uncertainty.proportions import wilson_interval
from salon_taxonomy.enums import Winner

BothBad: TypeAlias = Literal["tie", "drop", "own"]


@takes_battles
def settle_both_bad(
    battles: Rankable, handling: BothBad, *, confidence: Confidence = 0.95
) -> tuple[Battles, pl.DataFrame | None]:
    """Return the battles to rate, and the acceptability of every model where that was asked for.

    Args:
        handling: ``"tie"`` leaves the battles as they are; ``"drop"`` and ``"own"`` take both-bad battles out of the
            rating (the source's name says how many; models that have no others stay on every board, last and without a
            rating); ``"own"`` also gives the table of :func:`acceptability`.

    Raises:
        OptionError: an unknown handling, a confidence outside 0 … 1, or rankings, which only ``"tie"`` leaves as they are.
        BattleError: there are no battles, or nothing is left to rate.

    Example:
        >>> winners = ["model_a", "model_b", "both_bad"]
        >>> votes = pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"))
        >>> rest, table = settle_both_bad(Battles.from_frame(votes), "own")
        >>> rest.source, table["acceptable"].round(3).to_list()
        ('battles without 1 both-bad', [0.667, 0.667])
    """
    if handling == "tie":
        return battles, None
    if battles.orders is not None:
        raise OptionError("both-bad is a winner of battles; with rankings it must be tie, not", value=handling)
    _check_rows(battles)
    is_bad = pl.col("winner").cast(pl.String) == Winner.BOTH_BAD.value
    with reading(battles.source):
        kept = battles.frame.filter(~is_bad)
    rest = battles.with_rows(kept)
    left_out = battles.count - rest.count
    if rest.count == 0:
        raise BattleError(
            "every battle was judged both-bad", source=battles.source, hint="Count them as ties (--both-bad tie)."
        )
    named = f"{battles.source} without {left_out:,} both-bad"
    rest = replace(rest, source=named, both_bad=battles.frame.filter(is_bad))
    return rest, acceptability(battles, confidence=confidence) if handling == "own" else None


@takes_battles
def acceptability(battles: Battles, *, confidence: Confidence = 0.95) -> pl.DataFrame:
    """Return how often a model's battles were not judged both-bad, with Wilson intervals (Wilson 1927).

    Returns:
        One row per model, in the order of names: ``model``, ``matches``, ``both_bad`` (sums of weights), ``acceptable`` (a
        share), ``ci_low`` and ``ci_high``. With weights, the interval uses (Σw)²/Σw² as the number of battles (Kish 1965).

    Example:
        >>> winners = ["model_a"] * 6 + ["both_bad"] * 2
        >>> votes = pl.DataFrame({"winner": winners}).with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"))
        >>> acceptability(Battles.from_frame(votes)).select(pl.col("acceptable", "ci_low").round(3)).row(0)
        (0.75, 0.409)
    """
    _check_rows(battles)
    bad = pl.col("winner").cast(pl.String) == Winner.BOTH_BAD.value
    with reading(battles.source):
        sides = [
            battles.rows.select(
                pl.col(side).cast(pl.String).alias("model"), weight_of(battles.weight).alias("w"), bad.alias("bad")
            )
            for side in ("model_a", "model_b")
        ]
        sums = (
            pl.concat(sides)
            .group_by("model")
            .agg(
                good=pl.col("w").filter(~pl.col("bad")).sum(),
                both_bad=pl.col("w").filter(pl.col("bad")).sum(),
                squares=(pl.col("w") ** 2).sum(),
            )
            .with_columns(matches=pl.col("good") + pl.col("both_bad"))
            .sort("model")
            .collect(engine="streaming")
        )
    good, matches, squares = (sums[name].to_numpy() for name in ("good", "matches", "squares"))
    share, number = good / matches, matches**2 / squares
    low, high = wilson_interval(share * number, number, confidence)
    ends = {"acceptable": share, "ci_low": low, "ci_high": high}
    return sums.select("model", "matches", "both_bad").with_columns(**{name: pl.Series(v) for name, v in ends.items()})


def _check_rows(battles: Battles) -> None:
    """Check that there are battles, and that they are more than counts."""
    check_battles(battles)
    with reading(battles.source):
        rows = battles.frame.head(1).collect().height
    if not rows:
        hint = "An arena keeps no battles; build Battles from all of them."
        raise BattleError("only counts are left, which do not tell both-bad from other ties", source=battles.source, hint=hint)
