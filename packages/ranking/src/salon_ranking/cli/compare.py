"""``salon votes compare``: models with each other, groups of votes side by side, or two sets of votes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_ranking.cli.fit_options import BOTH_BAD, CLUSTER, interval_options, model_options
from salon_ranking.cli.output import FORMAT, HELP, read_rated
from salon_ranking.cli.vote_options import row_options

if TYPE_CHECKING:
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable
    from salon_ranking.diagnostics.both_bad import BothBad
    from salon_ranking.leaderboard.options import RankOptions


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.argument("other", metavar="[OTHER]", required=False, type=InputPath(tables=True))
@click.option("--by", metavar="COLUMN", help="The values of this column, such as mode: a leaderboard of each, side by side.")
@CLUSTER
@BOTH_BAD
@row_options
@output_option(RESULT_ENDINGS)
@FORMAT
@model_options
@interval_options
def compare(
    battles: Path,
    other: Path | None,
    by: str | None,
    cluster: tuple[str, ...],
    both_bad: "BothBad",
    rows: dict[str, Any],
    output: Path | None,
    format_: str,
    fit: dict[str, Any],
) -> None:
    """Compare models with each other, groups of votes side by side, or two sets of votes.

    INPUT and OTHER are what `salon votes rank` reads. INPUT alone: the difference of every two models, with interval and
    significance. With --by: ratings and ranks by each group, the places gained, and each model's difference to its rating in
    the first group, tested. With OTHER: ratings and ranks by both sets, and each model's difference with its interval.
    Raters and prompts that have votes on both sides are named by --cluster. Files with words, names or columns of their own
    go through `salon votes import` first.

    \b
    Example:
      salon votes compare votes.csv --interval sandwich
      salon votes compare votes.parquet --by mode --cluster rater_id --no-winner leave-out
      salon votes compare june.csv may.csv --cluster prompt_id
    """
    from salon_ranking.cli.other_table import show_table
    from salon_ranking.cli.output import progress
    from salon_ranking.errors import OptionError
    from salon_ranking.leaderboard.options import RankOptions

    if other is not None and by is not None:
        raise OptionError("--by compares groups of one set of votes; it does not go with a second", value=str(other))
    options = RankOptions(**fit)
    if other is not None and options.interval not in (None, "sandwich"):
        raise OptionError("two sets of votes are compared by sandwiches, not", value=f"--interval {options.interval}")
    rated, _ = read_rated(battles, both_bad, cluster=cluster, rankings=other is None and by is None, rows=rows)
    if other is not None:
        comparison = _sets(rated, read_rated(other, both_bad, cluster=cluster, rows=rows)[0], options)
    elif by is not None:
        with progress() as stage:
            comparison = _groups(rated, by, options.into(RankOptions, progress=stage("groups")))
    else:
        with progress() as stage:
            comparison = _models(rated, options.into(RankOptions, progress=stage("differences")))
    show_table(comparison, format_, output)


def _models(battles: "Battles", options: "RankOptions") -> "OtherTable":
    from salon_ranking.cli.other_table import OtherTable
    from salon_ranking.leaderboard.differences import differences_of

    pairs = differences_of(battles, options)
    return OtherTable(pairs.header, pairs.table, charts=pairs.view().makers())


def _groups(battles: "Battles", column: str, options: "RankOptions") -> "OtherTable":
    from salon_ranking.cli.other_table import OtherTable
    from salon_ranking.leaderboard.group_comparison import groups_compared

    compared = groups_compared(battles, column, options)
    charts = compared.view().makers()
    return OtherTable(compared.header, compared.table, charts=charts, cells=compared.cells, warnings=compared.warnings)


def _sets(battles: "Battles", other: "Battles", options: "RankOptions") -> "OtherTable":
    from salon_ranking.cli.other_table import OtherTable
    from salon_ranking.leaderboard.comparison import votes_compared
    from salon_ranking.leaderboard.options import ComparisonOptions

    comparison = votes_compared(battles, other, options.into(ComparisonOptions))
    return OtherTable(comparison.header, comparison.table, charts=comparison.view().makers())
