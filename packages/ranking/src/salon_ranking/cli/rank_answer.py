"""The work of ``salon votes rank``: read votes, leave out flagged raters, make leaderboards and the analyses beside them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import counting
from salon_ranking.cli.output import Stage
from salon_ranking.cli.rank_request import RankRequest
from salon_ranking.diagnostics.both_bad import settle_both_bad
from salon_ranking.errors import BattleError
from salon_ranking.leaderboard.analyses import Analyses, analyses_of
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.ranking import ranked
from salon_ranking.options import Progress

if TYPE_CHECKING:  # what only some options need is imported there: all of it costs every command a tenth of a second
    from salon_ranking.raters.exclusion import Exclusion
    from salon_ranking.raters.rater_report import RaterReport


@dataclass(frozen=True, eq=False)
class RankInput:
    """The battles to rank, and the checks of their raters.

    Attributes:
        exclusion: the flagged raters whose battles were left out; None: raters were not checked.
        raters: the report about the raters, or the table that was named instead; None: neither was asked for.
    """

    battles: Battles
    exclusion: "Exclusion | None" = None
    raters: "RaterReport | Path | None" = None


@dataclass(frozen=True, eq=False)
class RankAnswer:
    """Leaderboards, the battles that they rank, and the analyses beside each."""

    boards: tuple[Leaderboard, ...]
    rated: Battles
    analyses: tuple[Analyses, ...]


def read_input(request: RankRequest) -> RankInput:
    """Read the votes; leave out flagged raters where that is asked for.

    Raters are checked by the default policy, or taken from the table ``--raters``. A page checks them in any case, where
    the votes name their raters; without ``--exclude-flagged`` all battles are kept.

    Raises:
        BattleError: the votes or the table cannot be read, or every battle is a flagged rater's.
        OptionError: the table holds rankings, and an option is for battles alone.
    """
    whole = Battles.read(request.battles, cluster_by=request.cluster, **request.rows, **request.votes)
    if whole.orders is not None:
        request.check_rankings(whole.source)
        return RankInput(whole)
    if request.equal_pairs is not None:
        whole = whole.with_equal_pairs(request.equal_pairs)
    if request.exclude_flagged:
        return without_flagged(whole, request.raters)
    if request.raters is not None or not request.wants_page or "rater_id" not in whole.frame.collect_schema().names():
        return RankInput(whole, None, request.raters)
    try:
        return RankInput(whole, None, _report(whole))
    except BattleError:  # ratings need none of the columns that the checks of raters stumble over
        return RankInput(whole)


def without_flagged(whole: Battles, table: Path | None) -> RankInput:
    """Return the battles without those of flagged raters; a table of flags takes the place of the checks."""
    from salon_ranking.raters.exclusion import exclude_flagged
    from salon_ranking.raters.flags import read_flags

    if table is None:
        report = _report(whole)
        exclusion = exclude_flagged(whole.rows.drop("__row"), report, source=whole.source)
        return RankInput(exclusion.battles(whole), exclusion, report)
    exclusion = exclude_flagged(whole.rows.drop("__row"), read_flags(table), source=whole.source)
    return RankInput(exclusion.battles(whole), exclusion, table)


def _report(battles: Battles) -> "RaterReport":
    from salon_ranking.raters.rater_report import check_raters
    from salon_ranking.raters.votes import Votes

    everything = battles.frame if battles.everything is None else battles.everything
    return check_raters(Votes.from_frame(counting(everything, battles.weight), battles.source, ids=None))


def rank_boards(request: RankRequest, rank_input: RankInput, stage: Stage) -> RankAnswer:
    """Make one board, or one per group, with the analyses that were asked for.

    Raises:
        RankingError: as :func:`salon_ranking.rank` and the analyses that were asked for.
    """
    rated, acceptable = settle_both_bad(rank_input.battles, request.both_bad, confidence=request.options.confidence)
    boards = _boards(request, rated, stage("bootstrap"))
    if rank_input.exclusion is not None:
        boards = tuple(replace(board, excluded=rank_input.exclusion.counts) for board in boards)
    if request.listing:
        from salon_ranking.leaderboard.listing import with_listing

        boards = (with_listing(boards[0], rated),)
    unseen = None if request.held_out is None else read_input(replace(request, battles=request.held_out)).battles
    if unseen is not None:
        unseen, _ = settle_both_bad(unseen, request.both_bad, confidence=request.options.confidence)
    analyses = analyses_of(
        boards,
        rated,
        every=rank_input.battles,
        by=request.by,
        acceptable=acceptable is not None,
        diagnose=request.diagnose,
        held_out=unseen,
    )
    return RankAnswer(boards, rated, analyses)


def _boards(request: RankRequest, rated: Battles, progress: Progress) -> tuple[Leaderboard, ...]:
    options = replace(request.options, progress=progress)
    if request.by is not None:
        from salon_ranking.leaderboard.groups import ranked_by

        return ranked_by(rated, request.by, options)
    return (ranked(rated, options),)
