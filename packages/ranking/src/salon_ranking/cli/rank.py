"""``salon votes rank``: a leaderboard from a file of votes or a result store."""

from collections.abc import Mapping
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath, OutputPath, StorePath
from salon_console.options import output_option
from salon_console.table_files import RESULT_ENDINGS, TABLE_ENDINGS
from salon_ranking.cli.model_options import model_options
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP, seed_option
from salon_ranking.cli.vote_options import vote_options
from salon_taxonomy.errors import IncompleteError


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("--baseline", metavar="NAME", help="Fix this model at 1000. Default: the lowest rated well-played model.")
@click.option("--by", metavar="COLUMN", help="One leaderboard per value of this column, such as scenario.")
@click.option(
    "--bootstrap", "replicates", type=int, default=1000, show_default=True, help="Replicates for the intervals; 0: none."
)
@seed_option("intervals")
@click.option(
    "--cluster",
    metavar="COLUMN",
    multiple=True,
    help="Votes with the same value (a prompt, a rater) hang together. Give it twice for two-way clusters.",
)
@click.option(
    "--repeated-ids",
    type=click.Choice(["refuse", "count"]),
    default="refuse",
    show_default=True,
    help="When a battle_id is in two rows: stop and name them, or count both.",
)
@CONFIDENCE
@click.option(
    "--prior-ties",
    type=float,
    default=0.0,
    show_default=True,
    help="Drawn battles given to every model against a mean opponent.",
)
@click.option(
    "--components",
    type=click.Choice(["refuse", "separate"]),
    default="refuse",
    show_default=True,
    help="When battles do not connect all models by wins and losses: stop, or rank each group by itself.",
)
@click.option(
    "--interval",
    type=click.Choice(["percentile", "bca", "sandwich"]),
    help="Bootstrap percentiles, the same corrected for bias and skewness, or analytic. Default: percentile; for --ties, "
    "--covariate and --method firth, whose refits are slow, sandwich.",
)
@click.option("--ranks", is_flag=True, help="Add the best and worst rank of each model, for all models at once.")
@click.option(
    "--listing", is_flag=True, help="Add whether each model may be listed: interval at most 20 wide, one match at most 3."
)
@click.option("--explain", metavar="MODEL", help="Say in sentences how this model was rated and what it still needs.")
@click.option("--differences", type=OutputPath(endings=TABLE_ENDINGS), help="Write every pair's difference to a file.")
@click.option(
    "--contributions",
    type=OutputPath(endings=TABLE_ENDINGS),
    help="Write what each prompt adds to each rating to a file.",
)
@click.option("--prompt", metavar="COLUMN", default="prompt_id", show_default=True, help="The column for --contributions.")
@click.option(
    "--against",
    metavar="INPUT",
    type=InputPath(tables=True),
    help="Compare with these votes: both ratings and ranks, and the difference of each model with its interval.",
)
@click.option(
    "--held-out",
    metavar="INPUT",
    type=InputPath(tables=True),
    help="Also report how well the ratings predict these votes, which INPUT must not have: log-loss per battle.",
)
@click.option("--side-by-side", is_flag=True, help="With --by: all groups in one table, with the changes of rank.")
@click.option("--threads", type=int, help="Default: all processors. The result does not depend on it.")
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
@click.option(
    "--records",
    type=OutputPath(endings=(".csv", ".parquet", ".jsonl"), what="records"),
    help="Also write rows for a store's leaderboards: .csv, .parquet or .jsonl.",
)
@FORMAT
@model_options
@vote_options
def rank(choice: Mapping[str, Any], **options: Any) -> None:
    """Rank models by their battles: Bradley-Terry ratings on the Elo scale with intervals.

    INPUT is a CSV, JSON Lines or Parquet file with the columns model_a, model_b and winner (model_a, model_b, both_good,
    both_bad or tie), or the directory of a result store.

    \b
    Example:
      salon votes rank votes.csv
      salon votes rank votes.parquet --baseline my-model-v1 --output board.html
      salon votes rank votes.csv --output board.tex
      salon votes rank salon-results --by scenario --cluster suite --prior-ties 1 --format json
      salon votes rank votes.parquet --interval sandwich --cluster prompt_id --cluster rater_id --ranks
      salon votes rank votes.parquet --by mode --side-by-side
      salon votes rank june.csv --against may.csv --cluster prompt_id
      salon votes rank june.csv --held-out july.csv --ties davidson
      salon votes rank votes.parquet --explain my-model-v2 --contributions prompts.csv
      salon votes rank votes.csv --ties davidson --both-bad own
      salon votes rank votes.parquet --ties davidson --interval percentile --cluster prompt_id --bootstrap 200
      salon votes rank votes.csv --covariate length_a,length_b --position-bias
      salon votes rank votes.csv --method firth
      salon votes rank votes.csv --method elo --k 4 --orders 100
      salon votes rank votes.parquet --exclude-flagged --store salon-results
      salon votes rank votes.csv --records rows.parquet && salon store import salon-results leaderboards rows.parquet
    """
    from salon_ranking.cli.output import progress
    from salon_ranking.cli.rank_answer import compared, rank_boards, read_input, score_table
    from salon_ranking.cli.rank_output import show_answer, show_scores, store_answer, write_answer
    from salon_ranking.cli.rank_request import ModelChoice, RankRequest, check_request
    from salon_ranking.cli.sinks import open_sink

    request = RankRequest(choice=ModelChoice(**choice), **options)
    check_request(request)
    sink = None if request.store is None else open_sink(request.store)
    rank_input = read_input(request)
    if request.against is not None:
        show_scores(compared(request, rank_input.battles), request)
        return
    if not request.choice.is_fit:
        with progress() as stage:
            scores = score_table(request, rank_input, stage)
        show_scores(scores, request)
        return
    with progress() as stage:
        answer = rank_boards(request, rank_input, stage)
    show_answer(request, answer)
    write_answer(request, rank_input, answer)
    if not all(board.converged for board in answer.boards):
        raise IncompleteError("the ratings did not converge; they are not the estimate")
    if sink is not None:
        store_answer(request, rank_input, answer, sink)
