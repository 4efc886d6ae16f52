"""``salon votes explain``: one model's rating in sentences, and what each prompt adds to every rating."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.table_files import TABLE_ENDINGS
from salon_ranking.cli.fit_options import BOTH_BAD, CLUSTER, baseline_option, interval_options, model_options
from salon_ranking.cli.output import HELP, read_rated

if TYPE_CHECKING:
    from salon_ranking.diagnostics.both_bad import BothBad


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.argument("model", metavar="MODEL")
@click.option(
    "--contributions",
    type=OutputPath(endings=TABLE_ENDINGS),
    help="Also write what each prompt adds to each rating to a file.",
)
@click.option("--prompt", metavar="COLUMN", default="prompt_id", show_default=True, help="The column for --contributions.")
@CLUSTER
@BOTH_BAD
@baseline_option
@model_options
@interval_options
def explain(
    battles: Path,
    model: str,
    contributions: Path | None,
    prompt: str,
    cluster: tuple[str, ...],
    both_bad: "BothBad",
    fit: dict[str, Any],
) -> None:
    """Say in sentences how a model was rated, who is close, and what it still needs to be listed.

    INPUT is what `salon votes rank` reads, rated by the same options.

    \b
    Example:
      salon votes explain votes.csv my-model-v2
      salon votes explain votes.parquet my-model-v2 --interval sandwich --contributions prompts.csv
    """
    from salon_console.numbers import frame_cells
    from salon_console.table_files import write_table
    from salon_ranking.cli.output import progress
    from salon_ranking.leaderboard.contributions import contributions_of
    from salon_ranking.leaderboard.explanation import explain as explained
    from salon_ranking.leaderboard.options import ContributionOptions, RankOptions
    from salon_ranking.leaderboard.ranking import ranked
    from salon_taxonomy.visible_text import visible

    options = RankOptions(**fit)
    asked = None if contributions is None else options.into(ContributionOptions, column=prompt)
    rated, _ = read_rated(battles, both_bad, cluster=cluster)
    with progress() as stage:
        board = ranked(rated, options.into(RankOptions, progress=stage("bootstrap")))
        sentences = explained(board, rated, model)
        if asked is not None:
            told = asked.into(ContributionOptions, baseline=board.baselines[0], progress=stage("prompts"))
            added = contributions_of(rated, told)
    for sentence in sentences:
        click.echo(visible(sentence))
    if contributions is not None:
        write_table(contributions, partial(frame_cells, added.table), added.table)
        click.echo(visible(added.header), err=True)
