"""``salon results agreement``: do judges agree with each other, and with people? Parse, one library call, print."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, RunOrFile
from salon_console.options import FORMAT, STORE, bootstrap_option, output_option
from salon_console.output import as_json, deliver
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", metavar="RUN...", type=RunOrFile(), nargs=-1, required=True)
@click.option("--ratings", type=InputPath(tables=True), help="People's marks: a table, or a store.")
@click.option(
    "--dimension", "dimensions", multiple=True, metavar="NAME", help="What was scored; repeat: their mean. Default: each alone."
)
@click.option("--by", type=click.Choice(["task"]), help="Each task on its own: a track, a category, a suite file's group.")
@click.option(
    "--level",
    type=click.Choice(["models", "pictures"]),
    default="models",
    show_default=True,
    help="What is compared: the means of models, or the scores of pictures.",
)
@STORE
@bootstrap_option()
@output_option(RESULT_ENDINGS)
@FORMAT
def agreement(
    sources: tuple[str, ...],
    ratings: Path | None,
    dimensions: tuple[str, ...],
    by: str | None,
    level: str,
    store: StoreAddress,
    replicates: int,
    output: Path | None,
    form: str,
) -> None:
    """Do the judges of some RUNs agree with each other, and with people? Spearman's rho and Kendall's tau.

    RUN is a run of the store or a table of scores. RATINGS are rows with prompt_id and model (or generation_id), rater_id and
    value, several raters for each picture; their mean is compared, and how far they agree is printed. Over models, each
    judge's scores and ranks are printed, too. How far raters alone agree: `salon ratings agreement`.

    \b
    Example:
      salon results agreement RUN_A RUN_B --dimension s_rect
      salon results agreement RUN_A RUN_B --by task --dimension alignment --dimension aesthetic
      salon results agreement scores.csv --ratings marks.csv --level pictures
    """
    from salon_bench.analysis.agreement import agreement as compared
    from salon_bench.runs.score_rows import read_marks, read_scores
    from salon_console.numbers import frame_cells

    marks = None if ratings is None else read_marks(ratings)
    result = compared(
        read_scores(sources, store),
        marks,
        level=level,
        by_task=by is not None,
        dimensions=dimensions,
        replicates=replicates,
    )
    view = result.view()
    models = [] if result.models.is_empty() else [frame_cells(result.models.drop([] if by else ["task"]))]
    document = {"pairs": result.table.to_dicts(), "models": result.models.to_dicts(), "notes": list(result.notes)}
    deliver(
        view.table,
        result.table,
        form=form,
        output=output,
        further=[*models, *result.notes],
        json=lambda: as_json(document),
        made=view.makers(),
    )
