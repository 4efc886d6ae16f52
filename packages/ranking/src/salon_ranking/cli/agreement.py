"""``salon ratings agreement``: how far raters agree beyond chance."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import bootstrap_option, output_option
from salon_console.output import deliver
from salon_console.table_files import RESULT_ENDINGS
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP, seed_option, show

if TYPE_CHECKING:
    from salon_ranking.agreement.kappa import Weights
    from salon_ranking.agreement.krippendorff import Level


@click.command(context_settings=HELP)
@click.argument("labels", metavar="INPUT", type=InputPath(tables=True))
@click.option("--thing", metavar="COLUMN", default="generation_id", show_default=True, help="What was labelled.")
@click.option("--rater", metavar="COLUMN", default="rater_id", show_default=True, help="Who labelled it.")
@click.option("--label", metavar="COLUMN", default="value", show_default=True, help="The label, or the mark.")
@click.option(
    "--level",
    type=click.Choice(["nominal", "ordinal", "interval"]),
    default="nominal",
    show_default=True,
    help="How labels differ, for Krippendorff's alpha: any two alike, by their order, by their distance.",
)
@click.option(
    "--weights",
    type=click.Choice(["none", "linear", "quadratic"]),
    default="none",
    show_default=True,
    help="Of Cohen's kappa: how much more a large difference counts.",
)
@bootstrap_option("Resamples of things; 0: no intervals.")
@CONFIDENCE
@seed_option("resamples")
@output_option(RESULT_ENDINGS)
@FORMAT
def agreement(
    labels: Path,
    thing: str,
    rater: str,
    label: str,
    level: "Level",
    weights: "Weights",
    replicates: int,
    confidence: float,
    seed: int,
    output: Path | None,
    format_: str,
) -> None:
    """Measure how far raters agree beyond chance: Krippendorff's alpha, Fleiss' kappa, and Cohen's kappa of every pair.

    INPUT has one row per label: a CSV, JSON Lines or Parquet file, or the directory of a result store (its table ratings). A
    statistic that does not exist has no value but a reason, such as things with different numbers of raters for Fleiss' kappa.

    \b
    Example:
      salon ratings agreement labels.csv --thing picture --rater who --label says
      salon ratings agreement ratings.csv --level ordinal --weights quadratic
      salon ratings agreement salon-results --output agreement.tex
    """
    from salon_ranking.agreement.errors import AgreementError
    from salon_ranking.agreement.labels import label_statistics
    from salon_ranking.files import read_table

    frame = read_table(labels, "ratings", AgreementError)
    try:
        statistics = label_statistics(
            frame,
            thing=thing,
            rater=rater,
            label=label,
            level=level,
            weights=weights,
            replicates=replicates,
            confidence=confidence,
            seed=seed,
        )
    except AgreementError as error:
        raise error.at(source=labels) from error
    view = statistics.view()
    deliver(
        view.table,
        statistics.table,
        form=format_,
        output=output,
        show=lambda: show(view.header, view.table),
        made=view.makers(),
    )
