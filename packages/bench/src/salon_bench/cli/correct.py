"""``salon results correct``: means of models as people mark them, out of a judge's scores and some marks of people."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, RunOrFile
from salon_console.options import FORMAT, STORE, confidence_option, output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", metavar="RUN...", type=RunOrFile(), nargs=-1, required=True)
@click.option("--people", type=InputPath(tables=True), required=True, help="People's marks: a table, or a store.")
@click.option("--judge", metavar="NAME", help="Where the runs have several.")
@click.option("--dimension", metavar="NAME", help="What was scored, where there are several.")
@click.option("--baseline", metavar="MODEL", help="Show differences from this model.")
@click.option(
    "--cluster",
    type=click.Choice(["prompt_id", "rater_id"]),
    multiple=True,
    help="What hangs together: marks of a prompt, or by a rater; repeat for both. Default: prompt_id.",
)
@click.option("--probability", metavar="COLUMN", help="The chance with which a mark's picture was shown; default: equal.")
@click.option("--drawn", type=InputPath(tables=True), help="What `salon results draw` wrote, in place of --probability.")
@confidence_option()
@STORE
@output_option(RESULT_ENDINGS)
@FORMAT
def correct(
    sources: tuple[str, ...],
    people: Path,
    judge: str | None,
    dimension: str | None,
    baseline: str | None,
    cluster: tuple[str, ...],
    probability: str | None,
    drawn: Path | None,
    confidence: float,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Correct a judge's scores by people: means that people would give, out of many scores and a few marks.

    RUN is a run of the store or a table of scores. --people are rows with prompt_id and model (or generation_id), rater_id and
    value, on the scale of the judge, of a random part of the pictures. Shown are each model's mean by the judge corrected, by
    people alone and by the judge alone, and what one mark counts for; of yes and no (1 and 0) the share by the judge's
    sensitivity and specificity, too. For votes between two pictures: `salon votes correct`.

    \b
    Example:
      salon results correct RUN --people marks.csv --dimension alignment
      salon results correct scores.parquet --people marks.csv --cluster prompt_id --cluster rater_id --output means.html
    """
    from salon_bench.analysis.correction import marks_and_scores, with_chances
    from salon_bench.runs.score_rows import read_marks, read_scores
    from salon_ranking import correct_means
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.correction.drawing import PROBABILITY
    from salon_ranking.errors import RankingError
    from salon_ranking.files import read_table
    from salon_taxonomy.errors import InputError

    if drawn is not None and probability is not None:
        raise InputError("give either --probability or --drawn")
    marks, judged = marks_and_scores(
        read_scores(sources, store), read_marks(people, probability), judge=judge, dimension=dimension
    )
    if drawn is not None:
        marks, probability = with_chances(marks, read_table(drawn, "scores", RankingError)), PROBABILITY
    means = correct_means(marks, judged, baseline=baseline, cluster_by=cluster, probability=probability, confidence=confidence)
    facts = {"factor": means.factor, "counts_for": means.counts_for, "warnings": means.warnings}
    charts = means.view().makers()
    table = OtherTable(means.header, means.table, facts, charts=charts, cells=means.cells, warnings=means.warnings)
    show_table(table, form, output)
