"""``salon votes import``: votes of another arena as a table with Salon's columns, words and names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import output_option
from salon_console.table_files import VALUE_ENDINGS
from salon_ranking.cli.output import HELP
from salon_ranking.cli.vote_options import row_options, spelling_options


@click.command("import", context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@output_option(VALUE_ENDINGS, what="The votes, as every command of `salon votes` reads them")
@spelling_options
@row_options
def import_votes(battles: Path, output: Path | None, votes: Mapping[str, Any], rows: Mapping[str, Any]) -> None:
    """Turn votes of another arena into a table that every command of `salon votes` reads.

    Columns, winners and models get Salon's names; all other columns stay as they are. Without --output, CSV is printed.
    Files of HPDv3, Pick-a-Pic, VideoGen-RewardBench and other released sets of pairs are known by their columns; a row of
    theirs that cannot be used is left out and named.

    \b
    Example:
      salon votes import theirs.csv --votes lmarena --columns judge=rater_id --names merge --output votes.csv
      salon votes import hpdv3/all.json --output votes.parquet
      salon votes import dirty.csv --columns id=battle_id --repeated-ids first --no-winner leave-out --output votes.csv
      salon votes raters votes.csv
    """
    import polars as pl

    from salon_console.numbers import counted, frame_cells
    from salon_console.table_files import encoded, write_table
    from salon_ranking.agreement.pair_sets import form_of, read_pairs
    from salon_ranking.battles import Battles
    from salon_ranking.options import refuse_rankings

    form = form_of(battles) if battles.is_file() and not any(votes.values()) else "plain"
    if form == "plain":
        read = Battles.read(battles, weight=None, anchors="count", **votes, **rows)
    else:
        remarks: list[str] = []
        pairs = read_pairs(battles, form, remarks=remarks)
        for remark in remarks:
            click.echo(remark, err=True)
        named = pairs.filter(pl.col("model_a") != pl.col("model_b"))
        click.echo(f"{form}: {counted(pairs.height - named.height, 'pair')} without two different models left out", err=True)
        named = named.rename({"picture_a": "generation_a", "picture_b": "generation_b"})
        read = Battles.from_frame(named, source=str(battles), weight=None, anchors="count", **rows)
    refuse_rankings(read)
    table = read.frame.collect().drop("__row", strict=False)
    if output is None:
        click.echo(encoded(table, "csv").decode(), nl=False)
    else:
        write_table(output, lambda: frame_cells(table), table)
    for remark in read.remarks:
        click.echo(remark, err=True)
    click.echo(counted(table.height, "battle"), err=True)
