"""``salon votes correct``: ratings of what people prefer, out of a judge's verdicts and a few votes of people."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_ranking.cli.fit_options import CLUSTER, COVARIATE, TIES
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP

if TYPE_CHECKING:
    from salon_ranking.models.options import Ties


@click.command(context_settings=HELP)
@click.argument("votes", metavar="VOTES", type=InputPath(tables=True))
@click.option("--judged", type=InputPath(tables=True), required=True, help="The verdicts, one per battle and judge.")
@click.option("--baseline", metavar="NAME", help="Fix this model at 1000. Default: that with most verdicts.")
@CLUSTER
@click.option("--by", metavar="COLUMN", help="Also a board for each value of this column of the verdicts, such as category.")
@click.option(
    "--ranks", is_flag=True, help="Also intervals of the ranks; --format json: and the differences of any two models."
)
@TIES
@COVARIATE
@click.option("--probability", metavar="COLUMN", help="The chance with which a vote's battle was shown; default: equal.")
@CONFIDENCE
@output_option(RESULT_ENDINGS)
@FORMAT
def correct(
    votes: Path,
    judged: Path,
    baseline: str | None,
    cluster: tuple[str, ...],
    by: str | None,
    ranks: bool,
    ties: "Ties",
    covariates: tuple[str, ...],
    probability: str | None,
    confidence: float,
    output: Path | None,
    format_: str,
) -> None:
    """Correct a judge by people: ratings of what people prefer, out of many verdicts and a few votes.

    VOTES and --judged are what `salon votes rank` reads. A vote is matched with its verdict by battle_id where ids are shared,
    else by the two generations, else by prompt_id and pair. The votes are of a random part of the judged battles. Shown are
    the ratings by the judge corrected, by people alone and by the judge alone, and what one vote counts for. Several judges
    (rater_id) are used as far as each helps. --ties and --covariate are as of `salon votes rank`; the tie parameter or
    the coefficients come after the board.

    \b
    Example:
      salon votes correct votes.csv --judged verdicts.parquet
      salon votes correct votes.csv --judged verdicts.parquet --cluster prompt_id --cluster rater_id --output board.html
    """
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.correction.ratings import correct_ratings
    from salon_ranking.leaderboard.analyses import rows_of
    from salon_taxonomy.errors import InputError

    if votes.exists() and judged.exists() and votes.samefile(judged):
        raise InputError("the votes and the verdicts are one file", source="--judged", value=str(judged))
    board = correct_ratings(
        Battles.read(votes, cluster_by=cluster),
        Battles.read(judged, ids=None),
        baseline=baseline,
        by=by,
        ranks=ranks,
        ties=ties,
        covariates=covariates,
        probability=probability,
        confidence=confidence,
    )
    facts = {name: getattr(board, name) for name in ("factor", "factors", "counts_for", "warnings")}
    facts["differences"] = rows_of(board.differences)
    tables = {"parameters": board.parameters, "groups": board.groups}
    further = {name: table for name, table in tables.items() if table.height}
    charts = board.view().makers()
    table = OtherTable(board.header, board.table, facts, further, charts, board.cells, board.warnings)
    show_table(table, format_, output)
