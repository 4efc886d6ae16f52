"""``salon votes pairs``: votes as preference data for reward models and preference training."""

import json
import sys
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FiniteRange, output_option
from salon_console.table_files import VALUE_ENDINGS
from salon_ranking.cli.output import HELP, seed_option
from salon_ranking.cli.vote_options import row_options

_RELEASED = ("hpdv3", "imagerewarddb", "pick-a-pic", "videoreward")
_WITH_LISTS = ("trl", "hpdv3", "imagerewarddb")


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option(
    "--generations", type=InputPath(tables=True), help="Where pictures are: generation_id, uri. Default: the store's."
)
@click.option("--prompts", type=InputPath(tables=True), help="Texts: prompt_id, text. Default: the store's.")
@click.option("--held-out", type=FiniteRange(0, 1), default=0.1, show_default=True, help="Share of prompts for testing.")
@click.option("--undecided", is_flag=True, help="Keep pairs with as many votes for either, for losses with ties.")
@click.option("--exclude-flagged", is_flag=True, help="Leave out the votes of raters that `salon votes raters` flags.")
@click.option(
    "--form",
    type=click.Choice(["table", "trl", "croissant", *_RELEASED]),
    default="table",
    show_default=True,
    help="trl: messages with images, for TRL's DPO trainer. croissant: also NAME.croissant.json beside NAME.parquet. The "
    "others: the columns of a released set.",
)
@seed_option("split")
@output_option(VALUE_ENDINGS, what="The pairs")
@row_options
def pairs(
    battles: Path,
    generations: Path | None,
    prompts: Path | None,
    held_out: float,
    undecided: bool,
    exclude_flagged: bool,
    form: str,
    seed: int,
    output: Path | None,
    rows: dict[str, Any],
) -> None:
    """Turn votes into preference data: one row per pair of pictures, chosen and rejected.

    INPUT is what `salon votes rank` reads: votes of people, verdicts of judges, or both. All votes on one pair are one row,
    with their counts and the margin; pairs with as many votes for either are left out and counted (--undecided keeps them).
    Prompts of one text, of nearly the same words or with a picture in common are in one split. Without --output, CSV is
    printed. With --form trl a row asks which of two pictures is better, the answers being chosen and rejected: JSON Lines,
    JSON or Parquet. With --form croissant a file of Croissant metadata, beside the Parquet file, says what its columns are.

    \b
    Example:
      salon votes pairs salon-results --output preferences.parquet
      salon votes pairs votes.csv --prompts prompts.jsonl --exclude-flagged --held-out 0.2 --output preferences.jsonl
      salon votes pairs salon-results --form trl --output judge.jsonl
    """
    from salon_console.numbers import frame_cells
    from salon_console.table_files import Table, encoded, write_table
    from salon_ranking.battles import Battles
    from salon_ranking.cli.rank_answer import without_flagged
    from salon_ranking.errors import BattleError
    from salon_ranking.files import read_table
    from salon_ranking.preferences import preference_pairs, released_rows, trl_rows

    if form == "croissant" and (output is None or output.suffix.lower() != ".parquet"):
        raise click.UsageError("--form croissant describes a Parquet file; end the name of --output with .parquet.")
    if form in _WITH_LISTS and output is not None and output.suffix.lower() == ".csv":
        raise click.UsageError(f"--form {form} has lists, which CSV cannot hold; end the name of --output with .jsonl.")
    read = Battles.read(battles, **rows)
    if exclude_flagged:
        read = without_flagged(read, None).battles
    store = battles if battles.is_dir() and (battles / "store.json").is_file() else None
    places, texts = (
        None if path is None else read_table(path, table, BattleError)
        for path, table in ((generations or store, "generations"), (prompts or store, "prompts"))
    )
    pairs_made = preference_pairs(
        read,
        generations=places if generations is not None or (places is not None and places.height) else None,
        prompts=texts if prompts is not None or (texts is not None and texts.height) else None,
        held_out=held_out,
        seed=seed,
        undecided=undecided,
        sources=(str(generations or store), str(prompts or store)),
    )
    if form in ("trl", *_RELEASED):
        options: dict[str, Any] = {"seed": seed, "source": str(battles)}
        written = trl_rows(pairs_made.table, **options) if form == "trl" else released_rows(pairs_made.table, form, **options)
        if output is None:
            sys.stdout.buffer.write(encoded(written, "jsonl"))
        else:
            write_table(output, Table((), ()), written)
    elif output is None:
        sys.stdout.buffer.write(encoded(pairs_made.table, "csv"))  # click.echo would strip what looks like a terminal's codes
    else:
        write_table(output, lambda: frame_cells(pairs_made.table), pairs_made.table)
    if form == "croissant" and output is not None:
        from salon_taxonomy.croissant import croissant
        from salon_taxonomy.digest import file_sha256
        from salon_taxonomy.whole_files import write_whole

        files = {output.name: file_sha256(output)}
        described = croissant(
            output.stem, "1.0.0", pairs_made.header, licences=[], files=files, columns=pairs_made.table.schema.to_python()
        )
        text = json.dumps(described, indent=1, ensure_ascii=False) + "\n"
        write_whole(output.with_suffix(".croissant.json"), text)
    for remark in read.remarks:
        click.echo(remark, err=True)
    click.echo(pairs_made.header, err=True)
