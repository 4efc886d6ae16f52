"""``salon results gates``: how measures moved over the last builds."""

from pathlib import Path

import rich_click as click

from salon_console.options import FORMAT, HELP, STORE, output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings=HELP)
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="A measure; may be repeated. Default: all.")
@click.option("--last", type=click.IntRange(min=1), default=10, show_default=True, help="So many gates.")
@STORE
@output_option(RESULT_ENDINGS)
@FORMAT
def gates(measures: tuple[str, ...], last: int, store: StoreAddress, output: Path | None, form: str) -> None:
    """Show the last gates of a result store: differences in margins over builds, as a table and a chart.

    Every `salon results gate` whose --store is a result store is kept there, in the table gates. The file of --output is a
    chart (.svg, .png), a page with chart and table (.html) or a table.

    \b
    Example:
      salon results gates --measure beauty --last 20
      salon results gates --output drift.svg
    """
    from salon_bench.analysis.gate.history import read_gates
    from salon_ranking.cli.other_table import OtherTable, show_table

    history = read_gates(store, measures=measures, last=last)
    show_table(OtherTable(history.header, history.table, charts=history.makers(), cells=history.cells), form, output)
