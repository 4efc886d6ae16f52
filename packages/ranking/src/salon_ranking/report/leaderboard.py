"""The page of one or more leaderboards: an interval plot each, the numbers beneath, and how they were made above."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from salon_console import numbers
from salon_console.numbers import counted
from salon_console.page import Block, Figure, PageSection, Table, render_page
from salon_ranking.battles import Battles
from salon_ranking.leaderboard.analyses import Analyses
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.ranking import ranked_like
from salon_ranking.raters.rater_report import RaterReport
from salon_ranking.report.sections import (
    beside,
    compared_groups,
    interval_convergence,
    listing_status,
    parameters,
    rank_intervals,
    rater_quality,
    win_rates,
)

_LEAD = (
    "Points are ratings on the Elo scale: 400 points are odds of ten to one. Bars are intervals; where two bars overlap far, "
    "the order of the two models is not settled."
)


def how_it_was_made(board: Leaderboard) -> list[tuple[str, str]]:
    """Return pairs of name and value: what shaped the numbers, and what could not be rated."""
    plural = "" if board.options.prior_ties == 1 else "s"
    ties = (
        f"{board.options.prior_ties:g} drawn battle{plural} per model against a mean opponent"
        if board.options.prior_ties
        else "none"
    )
    facts = [
        ("Battles", f"{board.battles:,} between {counted(board.table.height, 'model')}, from {board.source}"),
        ("Model", board.model),
        ("Prior", ties),
        ("Baseline", f"{' and '.join(board.baselines[:3])} fixed at {board.options.baseline_rating:g}"),
    ]
    if board.ci_method is not None:
        drawn = f"{board.replicates:,} replicates, seed {board.options.seed}, {board.degenerate:,} degenerate"
        how = f"{board.ci_method}; {drawn}" if board.replicates else f"{board.ci_method}{board.looks}"
        facts.append((f"{100 * board.options.confidence:.4g}% interval", how))
    if board.controlled:
        facts.append(("Covariates", board.controlled))
    if board.weight is not None:
        facts.append(("Weights", board.weight))
    if board.components > 1:
        facts.append(
            (
                "Components",
                f"{board.components}, each ranked by itself; {counted(board.left_out, 'battle')} between them left out",
            )
        )
    if board.planned:
        facts.append(("Planned", board.planning))
    if board.excluded is not None:
        facts.append(("Flagged raters", board.excluded.sentence))
    facts += [("Warning", said) for said in board.warnings]
    if not board.converged:
        facts.append(("Not converged", f"after {board.iterations} iterations the gradient is {board.gradient_norm:.1e}"))
    return facts


def leaderboard_page(
    boards: Sequence[Leaderboard],
    *,
    title: str,
    battles: Battles | None = None,
    raters: RaterReport | Path | None = None,
    analyses: Sequence[Analyses] = (),
) -> str:
    """Return one self-contained HTML page.

    Args:
        boards: one leaderboard, or one per group in the order in which they are to be read; not empty.
        title: the page's heading.
        battles: all battles behind the boards; with them, the page shows win rates and convergence too.
        raters: a report about raters, or a table with one row per rater, to be shown at the end.
        analyses: acceptability and goodness of fit, one for each board; or nothing.

    Raises:
        BattleError: the table of raters cannot be read.

    Example:
        >>> import polars as pl
        >>> from salon_ranking import Battles, rank
        >>> votes = pl.DataFrame({"model_a": ["x"] * 3, "model_b": ["y"] * 3, "winner": ["model_a", "tie", "model_b"]})
        >>> "<h1>Votes</h1>" in leaderboard_page([rank(Battles.from_frame(votes), replicates=20)], title="Votes")
        True
    """
    sections = [PageSection(board.group or "Leaderboard", _board(board, alone=len(boards) == 1)) for board in boards]
    sections += parameters(boards)
    sections += _beneath(boards, battles)
    sections += beside(boards, analyses) if analyses else []
    sections += rater_quality(raters, boards[0].excluded)
    return render_page(title, lead=_LEAD, facts=how_it_was_made(boards[0]) if len(boards) == 1 else [], sections=sections)


def _beneath(boards: Sequence[Leaderboard], battles: Battles | None) -> list[PageSection]:
    """Return the sections below: rank intervals, groups compared, and diagnostics of the battles."""
    alone = len(boards) == 1
    sections = [*rank_intervals(boards[0]), *listing_status(boards[0])] if alone else compared_groups(boards, battles)
    if battles is None:
        return sections
    if alone:
        whole = boards[0]
    else:
        one = boards[0]
        whole = replace(ranked_like(one, battles), cluster=one.cluster)
    return [*sections, *win_rates(battles, whole), *interval_convergence(battles, whole)]


def _board(board: Leaderboard, *, alone: bool) -> tuple[Block, ...]:
    confidence = f"{100 * board.options.confidence:.4g}% interval"
    columns = ("Rank", "Model", "Elo", confidence, "Matches", "Win rate")
    rows = [
        (*numbers.rating_cells(row), numbers.count(row["matches"]), numbers.share(row["win_rate"]))
        for row in board.table.iter_rows(named=True)
    ]
    caption = f"{board.table.height:,} models, best on top." if board.components == 1 else "Each component by itself."
    table = Table(columns, rows, frozenset(columns) - {"Model"}, board.group or "Leaderboard")
    figure = Figure(board.plot(), caption, table)
    return (figure,) if alone else (board.header, *(f"Warning: {said}" for said in board.warnings), figure)
