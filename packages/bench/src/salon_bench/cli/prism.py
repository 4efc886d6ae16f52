"""``salon bench prism``: compare languages. Parse, one library call, print."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import RunOrFile
from salon_console.options import FORMAT, OUTPUT, STORE, bootstrap_option
from salon_console.output import MISSING, as_json, deliver
from salon_console.table_files import Table
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

    from salon_taxonomy.answers.reading import Fidelity


@click.group()
def prism() -> None:
    """PRISM-Bench's own tools; the benchmark itself is `salon bench run prism` and `prism-zh`.

    \b
    Example:
      salon bench prism bilingual --english RUN_EN --chinese RUN_ZH --store results
    """


@prism.command()
@click.option("--english", required=True, metavar="RUN|FILE", type=RunOrFile(), help="Scores of one model on PRISM-Bench.")
@click.option(
    "--chinese", required=True, metavar="RUN|FILE", type=RunOrFile(), help="Scores of the same model on PRISM-Bench-ZH."
)
@click.option("--fidelity", type=click.Choice(["paper", "released"]), default="paper", show_default=True, help="Whose rules.")
@STORE
@bootstrap_option()
@OUTPUT
@FORMAT
def bilingual(
    english: str,
    chinese: str,
    fidelity: "Fidelity",
    store: StoreAddress,
    replicates: int,
    output: Path | None,
    form: str,
) -> None:
    """Compare one model in both languages, with the interval of the difference.

    \b
    Example:
      salon bench prism bilingual --english RUN_EN --chinese RUN_ZH --store results
      salon bench prism bilingual --english en.csv --chinese zh.csv --format json
    """
    from salon_bench.runs.score_rows import read_scores
    from salon_bench.suites.prism.bilingual import side_by_side

    one, other = read_scores([english], store), read_scores([chinese], store)
    compared = side_by_side(one, other, fidelity, replicates=replicates)
    _show(compared.table, compared.notes, form, output)


def _show(table: "pl.DataFrame", notes: Iterable[str], form: str, output: Path | None) -> None:
    remarks = list(notes)
    numeric = frozenset(name for name, kind in table.schema.items() if kind.is_numeric())
    cells = Table(tuple(table.columns), [[_cell(value) for value in row] for row in table.iter_rows()], numeric)
    deliver(cells, table, form=form, output=output, json=lambda: as_json({"rows": table.to_dicts(), "notes": remarks}))
    for note in remarks if form == "table" else ():
        click.echo(note)


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    return f"{value:.3f}" if isinstance(value, float) else str(value)
