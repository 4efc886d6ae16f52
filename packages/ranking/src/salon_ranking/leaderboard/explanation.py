"""``explain``: one model's rating in sentences: how it came about, who is close, and what it still needs."""

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.errors import UnknownModelError
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.differences import differences_of_board
from salon_ranking.leaderboard.listing import MOST_EFFECT, MOST_WIDTH, listing
from salon_ranking.options import Threads, checked, workers

_RIVALS = 3


@checked
def explain(board: Leaderboard, battles: Battles, model: str, *, threads: Threads | None = None) -> tuple[str, ...]:
    """Explain how ``model`` was rated, its closest rivals, and how many more matches it needs by MEF's listing rule.

    Args:
        board: with intervals.
        battles: the battles that the board ranks.
        threads: by default all processors that this process may use; the result does not depend on it.

    Raises:
        UnknownModelError: the model is not on the board.
        OptionError: the board has no intervals or is not of these battles, or ``threads`` is outside its range.

    Example:
        >>> from salon_ranking import rank
        >>> votes = pl.DataFrame({"model_a": ["x"] * 90, "model_b": ["y"] * 90, "winner": ["model_a", "model_b", "tie"] * 30})
        >>> battles = Battles.from_frame(votes)
        >>> print(explain(rank(battles, interval="sandwich", baseline="y"), battles, "x")[0])
        x is rated 1,000 (rank 1 of 2), 95% interval 941 – 1,059 by sandwich.
    """
    from salon_console import numbers

    workers(threads)
    if model not in board.table["model"]:
        raise UnknownModelError("unknown model", source=board.source, value=model, allowed=board.table["model"].to_list())
    rule = listing(board, battles).row(by_predicate=pl.col("model") == model, named=True)
    row = board.table.row(by_predicate=pl.col("model") == model, named=True)
    rivals = board.table.filter((pl.col("component") == row["component"]) & pl.col("rating").is_not_null())
    if row["component"] is None:
        return (f"{model} has no rating: all of its battles were judged both-bad and left out.",)
    if row["rating"] is None:
        return (f"{model} has no rating: it won all or lost all of its battles, or met no model that can be compared with it.",)
    options = board.options
    sentences = [
        f"{model} is rated {numbers.rating(row['rating'])} (rank {row['rank']} of {rivals.height}), "
        f"{100 * options.confidence:.4g}% interval {numbers.interval(row['ci_low'], row['ci_high'])} by {board.ci_method}.",
        f"It won {numbers.count(row['wins'])}, drew {numbers.count(row['ties'])} and lost {numbers.count(row['losses'])} of "
        f"{numbers.count(row['matches'])} matches; ties half a win, its win rate is {numbers.share(row['win_rate'])}.",
    ]
    if model in board.baselines:
        sentences.append(
            f"It is the baseline: its rating is fixed at {options.baseline_rating:g}, and its uncertainty is in the others."
        )
    if options.prior_ties:
        drawn = numbers.count(options.prior_ties)
        sentences.append(f"A prior of {drawn} drawn battles against a mean opponent pulls it, as every model, to the middle.")
    return (*sentences, *_rivalry(board, battles, model, threads), _needs(rule, board.cluster))


def _rivalry(board: Leaderboard, battles: Battles, model: str, threads: int | None) -> list[str]:
    """Return the closest models, closest first, and whether the gap to each is settled."""
    from salon_console import numbers

    gaps = differences_of_board(board, battles, threads=threads)
    own = gaps.table.filter((pl.col("model_a") == model) | (pl.col("model_b") == model))
    sentences = []
    for row in own.sort("difference", maintain_order=True).head(_RIVALS).iter_rows(named=True):
        above = row["model_b"] == model
        rival = row["model_a"] if above else row["model_b"]
        settled = "significant" if row["significant"] else "not significant"
        ends = numbers.interval(row["ci_low"], row["ci_high"])
        sentences.append(
            f"{rival} is {numbers.rating(row['difference'])} points {'above' if above else 'below'} it (interval of the "
            f"difference {ends}): {settled} after Holm's correction over all pairs."
        )
    return sentences


def _needs(rule: dict[str, object], cluster: str | None) -> str:
    limits = f"an interval of at most {MOST_WIDTH:g} points, and at most {MOST_EFFECT:g} points by one match"
    width, effect = rule["width"], rule["match_effect"]
    if rule["listed"] is None:
        return f"The listing rule ({limits}) says nothing of the baseline, whose rating is fixed."
    if not isinstance(width, float) or not isinstance(effect, float):
        return f"Whether it meets the listing rule ({limits}) cannot be said: its interval is not known."
    now = f"its interval is {width:.1f} points wide, and one match changes its rating by up to {effect:.2f}"
    if rule["listed"]:
        return f"It meets the listing rule ({limits}): {now}."
    same = "" if cluster is None else f", each with new values of {cluster},"
    return (
        f"It does not meet the listing rule yet ({limits}): {now}. If all models play on in proportion{same} and width goes on "
        f"shrinking as one over the square root of the matches, it needs about {rule['matches_needed']:,} more matches: an "
        "extrapolation."
    )
