"""``salon ratings tasks`` and ``import``: marks of pictures collected in Label Studio or Argilla."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.options import output_option
from salon_console.table_files import VALUE_ENDINGS
from salon_ranking.cli.output import HELP

if TYPE_CHECKING:
    from salon_ranking.opinion.annotation_tools import Tool


@click.command(context_settings=HELP)
@click.argument("generations", metavar="GENERATIONS", type=InputPath(tables=True))
@click.option(
    "--dimension", "dimensions", metavar="NAME", multiple=True, required=True, help="What is marked; may be repeated."
)
@click.option("--to", "tool", type=click.Choice(["label-studio", "argilla"]), required=True, help="Whose form is written.")
@click.option("--scale", nargs=2, type=int, default=(1, 5), show_default=True, help="The lowest and the highest mark.")
@click.option("--output", metavar="FILE", required=True, type=OutputPath(endings=(".json",)), help="The tasks: .json.")
@click.option(
    "--settings",
    metavar="FILE",
    type=OutputPath(endings=(".xml", ".json"), what="settings"),
    help="Also write what the tool must know of the questions: .xml for Label Studio, .json for Argilla.",
)
def tasks(
    generations: Path, dimensions: tuple[str, ...], tool: "Tool", scale: tuple[int, int], output: Path, settings: Path | None
) -> None:
    """Make tasks for people who mark pictures in Label Studio or Argilla, one for each generation.

    GENERATIONS is a table with generation_id, prompt_id, model, uri (the picture's address, as the tool can open it) and, if
    there is one, prompt (its text). No task names a model. `salon ratings import` reads the answers.

    \b
    Example:
      salon ratings tasks made.csv --dimension beauty --dimension truth --to argilla --output records.json --settings set.json
      salon ratings tasks made.csv --dimension beauty --to label-studio --output tasks.json --settings view.xml
    """
    from salon_ranking.errors import BattleError
    from salon_ranking.files import json_text, read_table
    from salon_ranking.opinion.annotation_tools import MarkRange, rating_tasks, tool_settings
    from salon_taxonomy.whole_files import write_whole

    frame = read_table(generations, "generations", BattleError)
    found = rating_tasks(frame, dimensions, tool, scale=MarkRange(*scale), source=str(generations))
    if settings is not None:
        write_whole(settings, tool_settings(dimensions, tool, scale=MarkRange(*scale)), flushed=True)
    write_whole(output, json_text(found) + "\n", flushed=True)
    click.echo(f"Wrote {len(found):,} tasks to {output}", err=True)


@click.command("import", context_settings=HELP)
@click.argument("answers", metavar="ANSWERS", type=InputPath())
@click.option(
    "--generations",
    metavar="GENERATIONS",
    required=True,
    type=InputPath(tables=True),
    help="The table of `salon ratings tasks`.",
)
@output_option(VALUE_ENDINGS, what="The ratings, as `salon ratings mos` reads them")
def import_(answers: Path, generations: Path, output: Path | None) -> None:
    """Turn the answers of Label Studio or Argilla into ratings for `salon ratings mos` and `agreement`.

    ANSWERS is the JSON export of Label Studio, or the list of Argilla's records as JSON; its content says which. Answers that
    their author skipped or discarded are counted and left out.

    \b
    Example:
      salon ratings import export.json --generations made.csv --output ratings.csv
      salon ratings mos ratings.csv
    """
    from salon_console.numbers import counted, frame_cells
    from salon_console.table_files import write_table
    from salon_ranking.errors import BattleError
    from salon_ranking.files import read_table
    from salon_ranking.opinion.annotation_tools import collected_marks

    frame = read_table(generations, "generations", BattleError)
    found = collected_marks(answers, frame, source=str(generations))
    if output is None:
        click.echo(found.ratings.write_csv(), nl=False)
    else:
        write_table(output, lambda: frame_cells(found.ratings), found.ratings)
    raters = found.ratings["rater_id"].n_unique()
    click.echo(f"{counted(found.ratings.height, 'rating')} by {counted(raters, 'rater')}, {found.skipped:,} skipped", err=True)
