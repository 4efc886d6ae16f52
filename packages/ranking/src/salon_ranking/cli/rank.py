"""``salon votes rank``: a leaderboard from a file of votes or a result store."""

from collections.abc import Mapping
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath, StorePath
from salon_console.options import output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_ranking.cli.fit_options import BOTH_BAD, CLUSTER, rank_options
from salon_ranking.cli.output import FORMAT, HELP
from salon_ranking.cli.vote_options import row_options, vote_options
from salon_taxonomy.errors import IncompleteError


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("--by", metavar="COLUMN", help="One leaderboard per value of this column, such as scenario.")
@CLUSTER
@click.option("--ranks", is_flag=True, help="Add the best and worst rank of each model, for all models at once.")
@click.option(
    "--listing", is_flag=True, help="Add whether each model may be listed: interval at most 20 wide, one match at most 3."
)
@click.option("--diagnose", is_flag=True, help="Also say how well the model fits: deviance, worst pairs, cycles.")
@click.option(
    "--held-out",
    metavar="INPUT",
    type=InputPath(tables=True),
    help="Also report how well the ratings predict these votes, which INPUT must not have: log-loss per battle.",
)
@BOTH_BAD
@click.option(
    "--equal-pairs",
    type=click.IntRange(1),
    metavar="N",
    help="Weigh battles by 1 / max(battles of their pair, N): all pairs with N battles or more count alike.",
)
@output_option(RESULT_ENDINGS, what="Write this file, and show no table unless --format is given")
@click.option(
    "--exclude-flagged",
    is_flag=True,
    help="Leave out the battles of raters flagged by `salon votes raters`, or by the table --raters; report how many and why.",
)
@click.option(
    "--raters",
    metavar="FILE",
    type=InputPath(tables=True),
    help="A table that `salon votes raters --output` wrote (.csv, .parquet): for --exclude-flagged, and for an HTML page.",
)
@click.option(
    "--store",
    metavar="STORE",
    type=StorePath(tables=True),
    help="Also add the rows to this result store (a directory or a URL), with the reasons of --exclude-flagged.",
)
@FORMAT
@rank_options
@vote_options
@row_options
def rank(fit: Mapping[str, Any], ranks: bool, **request: Any) -> None:
    """Rank models by their battles: Bradley-Terry ratings on the Elo scale with intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model_a, model_b and winner (model_a, model_b, both_good,
    both_bad or tie), or the directory of a result store. A table of rankings has one row per ranked picture instead:
    ranking_id, model and place (1 is best; equal places are ties; or unplaced).

    \b
    Example:
      salon votes rank votes.csv
      salon votes rank votes.parquet --baseline my-model-v1 --output board.html
      salon votes rank votes.csv --output board.tex
      salon votes rank rankings.csv --cluster prompt_id --ranks
      salon votes rank votes.csv --where "category = 'text'" --no-winner leave-out --repeated-ids first
      salon votes rank salon-results --by scenario --cluster suite --prior-ties 1 --format json
      salon votes rank votes.parquet --interval sandwich --cluster prompt_id --cluster rater_id --ranks
      salon votes rank june.csv --held-out july.csv --ties davidson
      salon votes rank votes.csv --ties davidson --both-bad own
      salon votes rank votes.parquet --ties davidson --interval percentile --cluster prompt_id --bootstrap 200
      salon votes rank votes.csv --covariate length_a,length_b --covariate side_a_shown
      salon votes rank votes.csv --estimator firth
      salon votes rank votes.parquet --exclude-flagged --store salon-results
    """
    from salon_ranking.cli.output import progress
    from salon_ranking.cli.rank_answer import rank_boards, read_input
    from salon_ranking.cli.rank_output import show_answer, store_answer, write_answer
    from salon_ranking.cli.rank_request import RankRequest
    from salon_ranking.cli.sinks import open_sink
    from salon_ranking.leaderboard.options import RankOptions

    asked = RankRequest(options=RankOptions(ranks=ranks, **fit), **request)
    asked.check()
    sink = None if asked.store is None else open_sink(asked.store)
    rank_input = read_input(asked)
    with progress() as stage:
        answer = rank_boards(asked, rank_input, stage)
    show_answer(asked, answer)
    write_answer(asked, rank_input, answer)
    if not all(board.converged for board in answer.boards):
        raise IncompleteError("the ratings did not converge; they are not the estimate")
    if sink is not None:
        store_answer(asked, rank_input, answer, sink)
