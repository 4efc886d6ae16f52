"""``salon votes draw``: which judged battles people should vote on."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import output_option
from salon_console.table_files import TABLE_ENDINGS
from salon_ranking.cli.output import FORMAT, HELP, seed_option


@click.command(context_settings=HELP)
@click.argument("verdicts", metavar="VERDICTS", type=InputPath(tables=True))
@click.option("--count", "-n", type=click.IntRange(min=1), required=True, help="Battles to draw.")
@click.option(
    "--chance-of-a",
    metavar="COLUMN",
    help="The judge's chance that model_a wins: near a half drawn more often. Default: all alike.",
)
@seed_option("the draw")
@output_option(TABLE_ENDINGS)
@FORMAT
def draw(verdicts: Path, count: int, chance_of_a: str | None, seed: int, output: Path | None, format_: str) -> None:
    """Draw judged battles for people to vote on, with known chances.

    VERDICTS is what `salon votes rank` reads. The output has its rows, those drawn first, with the chance of each (probability)
    and whether it is drawn: give it to `salon arena serve --only`, and later with the votes to `salon votes correct --judged`.

    Equal chances serve best unless the judge is good and says how sure it is: where it agreed with people in nine of ten
    battles --chance-of-a saved a fifth of the votes, in eight of ten a twentieth, in seven of ten none (simulated).

    \b
    Example:
      salon votes draw verdicts.parquet --count 60 --output drawn.csv
      salon votes draw verdicts.parquet --count 200 --chance-of-a p_a --output drawn.parquet
    """
    from salon_console import numbers
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_ranking.correction.drawing import battle_numbers, draw_for_people

    battles = Battles.read(verdicts, ids=None)
    table = draw_for_people(battles, count=count, chance_of_a=chance_of_a, seed=seed)
    chances = table["probability"].to_numpy()
    battle_count = int(battle_numbers(battles).max()) + 1
    range_ = f"{chances.min():.3g} each" if chance_of_a is None else f"{chances.min():.3g} to {chances.max():.3g}"
    header = f"{numbers.counted(count, 'battle')} drawn of {battle_count:,}; chances: {range_}; seed {seed}."
    first = table.sort("drawn", descending=True, maintain_order=True)
    show_table(OtherTable(header, first, {"seed": seed}), format_, output)
