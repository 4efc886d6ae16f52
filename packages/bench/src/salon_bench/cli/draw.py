"""``salon results draw``: which judged pictures people should mark."""

from pathlib import Path

import rich_click as click

from salon_console.file_options import RunOrFile
from salon_console.options import FORMAT, STORE, output_option, seed_option
from salon_console.table_files import TABLE_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sources", metavar="RUN...", type=RunOrFile(), nargs=-1, required=True)
@click.option("--count", "-n", type=click.IntRange(min=1), required=True, help="Pictures to draw.")
@click.option("--dimension", metavar="NAME", help="What was scored, where there are several.")
@click.option("--by-doubt", is_flag=True, help="Draw doubtful pictures more often. Default: all alike.")
@seed_option("Of the draw.")
@STORE
@output_option(TABLE_ENDINGS)
@FORMAT
def draw(
    sources: tuple[str, ...],
    count: int,
    dimension: str | None,
    by_doubt: bool,
    seed: int,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Draw judged pictures for people to mark, with known chances.

    RUN is a run of the store or a table of scores; several are several judges. The output has a row for each picture, those
    drawn first, with its chance (probability) and whether it is drawn: give it to `salon arena serve --only`, and later with
    the marks to `salon results correct --drawn`.

    By doubt, pictures are drawn more often on which judges lie apart, or whose chance of yes is near a half. Where one judge
    agreed with people on nine of ten pictures that saved a quarter of the marks, on eight of ten a tenth, on seven of ten
    nothing (simulated).

    \b
    Example:
      salon results draw RUN --count 200 --output drawn.csv
      salon results draw RUN_A RUN_B --count 200 --by-doubt --output drawn.csv
    """
    import polars as pl

    from salon_bench.analysis.correction import draw_pictures
    from salon_bench.runs.score_rows import located_run, read_scores
    from salon_bench.runs.view import RunView
    from salon_console import numbers
    from salon_ranking.cli.other_table import OtherTable, show_table

    scores = read_scores(sources, store)
    if dimension is not None:
        scores = scores.filter(pl.col("dimension") == dimension)
    table = draw_pictures(scores, count, by_doubt=by_doubt, seed=seed)
    runs = [located_run(source, store) for source in sources if not source.lower().endswith(TABLE_ENDINGS)]
    if runs:  # the arena names a file by prompt, model and sample
        stores = {str(address): RunView(address, run) for address, run in runs}
        samples = [view.read("generations").select("generation_id", "sample").collect() for view in stores.values()]
        generations = pl.concat(samples).unique("generation_id", keep="first", maintain_order=True)
        table = table.join(generations, on="generation_id", how="left", maintain_order="left")
    every = table["probability"].to_numpy()
    low, high = every.min(), every.max()
    chances = f"{low:.3g} to {high:.3g}" if by_doubt else f"{low:.3g} each"
    header = f"{numbers.counted(count, 'picture')} drawn of {table.height:,}; chances: {chances}; seed {seed}."
    show_table(OtherTable(header, table, {"seed": seed}, is_long=True), form, output)
