"""The work of ``salon votes rank``: read votes, leave out flagged raters, make leaderboards and the analyses beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from salon_console.table_files import Maker
from salon_ranking.battles import Battles
from salon_ranking.battles.encoding import counting
from salon_ranking.battles.repeated_ids import ID
from salon_ranking.cli.output import Stage
from salon_ranking.cli.rank_request import RankRequest
from salon_ranking.diagnostics.both_bad import settle_both_bad
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import json_text
from salon_ranking.leaderboard.analyses import Analyses, analyses_of, rows_of
from salon_ranking.leaderboard.board import Leaderboard, made_of
from salon_ranking.leaderboard.ranking import rank
from salon_ranking.options import Progress

if TYPE_CHECKING:  # what only some options need is imported there: all of it costs every command a tenth of a second
    from salon_ranking.leaderboard.contributions import Contributions
    from salon_ranking.leaderboard.differences import Differences
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
    differences: "Differences | None"
    contributions: "Contributions | None"


@dataclass(frozen=True, eq=False)
class OtherTable:
    """A table that is not a leaderboard of a fit, and how it was made.

    Attributes:
        made: how it was made, under the names that a leaderboard has for that; null is what the method does not have.
        further: tables by name, such as ``acceptability``.
        charts: makes the files of its chart, by their ending.
        is_comparison: whether two sets of votes are compared.
    """

    header: str
    table: pl.DataFrame
    made: Mapping[str, object] = field(default_factory=dict)
    further: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    charts: Mapping[str, Maker] = field(default_factory=dict)
    is_comparison: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before the numbers are believed."""
        return tuple(self.made.get("warnings") or ())  # type: ignore[arg-type]

    def document(self) -> str:
        """Return a JSON object: how it was made, and the rows of all tables. Null is what is not known."""
        tables = {name: rows_of(table) for name, table in self.further.items()}
        return json_text({**self.made, "header": self.header, "rows": rows_of(self.table), **tables})


def read_input(request: RankRequest) -> RankInput:
    """Read the votes; leave out flagged raters where that is asked for.

    Raters are checked by the default policy, or taken from the table ``--raters``. A page checks them in any case, where
    the votes name their raters; without ``--exclude-flagged`` all battles are kept.

    Raises:
        BattleError: the votes or the table cannot be read, or every battle is a flagged rater's.
    """
    ids = ID if request.repeated_ids == "refuse" else None
    whole = Battles.read(request.battles, cluster_by=request.cluster, ids=ids, **request.votes)  # type: ignore[arg-type]
    if request.choice.equal_pairs is not None:
        whole = whole.with_equal_pairs(request.choice.equal_pairs)
    if request.exclude_flagged:
        return _without_flagged(whole, request.raters)
    if request.raters is not None or not request.wants_page or "rater_id" not in whole.frame.collect_schema().names():
        return RankInput(whole, None, request.raters)
    try:
        return RankInput(whole, None, _report(whole))
    except BattleError:  # ratings need none of the columns that the checks of raters stumble over
        return RankInput(whole)


def _without_flagged(whole: Battles, table: Path | None) -> RankInput:
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


def compared(request: RankRequest, battles: Battles) -> OtherTable:
    """Compare the votes with those of ``--against``.

    Raises:
        RankingError: as :func:`salon_ranking.compare_votes`.
    """
    from salon_ranking.leaderboard.comparison import compare_votes

    other = read_input(replace(request, battles=request.against)).battles  # type: ignore[arg-type]
    how = {**request.choice.model, "confidence": request.confidence, "prior_ties": request.prior_ties}
    found = compare_votes(battles, other, **how)  # type: ignore[arg-type]
    return OtherTable(found.header, found.table, charts=found.view().makers(), is_comparison=True)


def score_table(request: RankRequest, rank_input: RankInput, stage: Stage) -> OtherTable:
    """Score the models by a method that is not a fitted model; the header reports flagged raters left out.

    Raises:
        OptionError: the method has no baseline or no prior; or as :func:`salon_ranking.online_elo`.
    """
    from salon_ranking.models.online_elo import online_elo

    choice = request.choice
    if request.prior_ties:
        raise OptionError(f"{choice.method} has no prior", value=request.prior_ties)
    battles, acceptable = settle_both_bad(rank_input.battles, choice.both_bad, confidence=request.confidence)
    if request.baseline is not None:
        raise OptionError("online Elo has no baseline", value=request.baseline)
    found = online_elo(
        battles,
        k=choice.k,
        order_by=choice.order_by,
        out_of_order="sort" if choice.sort else "refuse",
        orders=choice.orders,
        seed=request.seed,
        threads=request.threads,
        progress=stage("random orders"),
    )
    made = made_of(
        found,
        battles=battles.count,
        source=battles.source,
        weight=battles.weight,
        baselines=(),
        left_out=0,
        warnings=battles.unrated_note,
        excluded=None if rank_input.exclusion is None else rank_input.exclusion.counts,
    )
    header = found.header if rank_input.exclusion is None else f"{found.header} {rank_input.exclusion.header}"
    return OtherTable(header, found.table, made, {} if acceptable is None else {"acceptability": acceptable})


def rank_boards(request: RankRequest, rank_input: RankInput, stage: Stage) -> RankAnswer:
    """Make one board, or one per group, with the analyses that were asked for.

    Raises:
        RankingError: as :func:`salon_ranking.rank` and the analyses that were asked for.
    """
    rated, acceptable = settle_both_bad(rank_input.battles, request.choice.both_bad, confidence=request.confidence)
    boards = _boards(request, rated, stage("bootstrap"))
    if rank_input.exclusion is not None:
        boards = tuple(replace(board, excluded=rank_input.exclusion.counts) for board in boards)
    if request.listing:
        from salon_ranking.leaderboard.listing import with_listing

        boards = (with_listing(boards[0], rated),)
    unseen = None if request.held_out is None else read_input(replace(request, battles=request.held_out)).battles
    if unseen is not None:
        unseen, _ = settle_both_bad(unseen, request.choice.both_bad, confidence=request.confidence)
    analyses = analyses_of(
        boards,
        rated,
        every=rank_input.battles,
        by=request.by,
        acceptable=acceptable is not None,
        diagnose=request.choice.diagnose,
        held_out=unseen,
    )
    return RankAnswer(
        boards=boards,
        rated=rated,
        analyses=analyses,
        differences=None if request.differences is None else _differences(request, boards[0], rated, stage("differences")),
        contributions=None if request.contributions is None else _contributions(request, boards[0], rated, stage("prompts")),
    )


def _boards(request: RankRequest, rated: Battles, progress: Progress) -> tuple[Leaderboard, ...]:
    options: dict[str, Any] = {
        "baseline": request.baseline,
        "replicates": request.replicates,
        "seed": request.seed,
        "confidence": request.confidence,
        "prior_ties": request.prior_ties,
        "components": request.components,
        "interval": request.interval,
        "ranks": request.ranks,
        **request.choice.model,
        "threads": request.threads,
        "progress": progress,
    }
    if request.by is not None:
        from salon_ranking.leaderboard.groups import rank_by

        return rank_by(rated, request.by, **options)
    return (rank(rated, **options),)


def _differences(request: RankRequest, board: Leaderboard, rated: Battles, progress: Progress) -> "Differences":
    from salon_ranking.leaderboard.differences import differences_of_board

    return differences_of_board(board, rated, threads=request.threads, progress=progress)


def _contributions(request: RankRequest, board: Leaderboard, rated: Battles, progress: Progress) -> "Contributions":
    from salon_ranking.leaderboard.contributions import contributions

    baseline = board.baselines[0] if board.baselines else None
    return contributions(
        rated,
        column=request.prompt,
        baseline=baseline,
        prior_ties=board.options.prior_ties,
        threads=request.threads,
        progress=progress,
    )
