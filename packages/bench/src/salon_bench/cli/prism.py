"""``salon bench prism``: check text, compare languages. Parse, one library call, print."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, LANGUAGE, OUTPUT, STORE, bootstrap_option, output_of
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
@click.option("--english", required=True, metavar="RUN|FILE", help="Scores of one model on PRISM-Bench.")
@click.option("--chinese", required=True, metavar="RUN|FILE", help="Scores of the same model on PRISM-Bench-ZH.")
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
    """One model in both languages, side by side, with the interval of the difference.

    \b
    Example:
      salon bench prism bilingual --english RUN_EN --chinese RUN_ZH --store results
      salon bench prism bilingual --english en.csv --chinese zh.csv --format json
    """
    from salon_bench.runs.score_rows import read_scores
    from salon_bench.suites.prism.bilingual import side_by_side

    one, other = read_scores([english], store), read_scores([chinese], store)
    found = side_by_side(one, other, fidelity, replicates=replicates)
    _show(found.table, found.notes, form, output)


@prism.command()
@click.option("--prompts", required=True, type=InputPath(), help="The file or folder of prompts.")
@click.option("--generations", required=True, type=InputPath(), help="The folder or table of pictures.")
@click.option("--model", required=True, help="The model that made them.")
@LANGUAGE
@output_of("scores")
@FORMAT
def ocr(prompts: Path, generations: Path, model: str, language: str, output: Path, form: str) -> None:
    """Compare the text in pictures of the text rendering track with the quoted text of the prompt.

    The scores have dimensions of their own, ocr (characters) and ocr-words, and never count as alignment. Needs the extra ocr.

    \b
    Example:
      salon bench prism ocr --prompts prompts.jsonl --generations pictures --model our-model --output ocr.jsonl
    """
    from salon_bench.cli.reporting import announced
    from salon_bench.runs.score_rows import frame_of
    from salon_bench.suites.prism.suite import PrismBench
    from salon_bench.suites.prism.text_check import OcrReader, check_text, summarize_text
    from salon_judges.formats.generations import read_generations
    from salon_taxonomy.whole_files import write_json_lines

    suite, reader = PrismBench(language), OcrReader()
    found = announced(suite.prompts(prompts))
    pictures = read_generations(generations, model, [each.prompt.prompt_id for each in found])
    rows = list(check_text(suite.cases(found, pictures), reader))
    write_json_lines(output, (row.model_dump(mode="json") for row in rows))
    summary = summarize_text(frame_of(rows))
    _show(summary.table, (*summary.notes, f"Read by {reader.version}; rows: {output}"), form, None)


def _show(table: "pl.DataFrame", notes: Iterable[str], form: str, output: Path | None) -> None:
    said = list(notes)
    numeric = frozenset(name for name, kind in table.schema.items() if kind.is_numeric())
    cells = Table(tuple(table.columns), [[_cell(value) for value in row] for row in table.iter_rows()], numeric)
    deliver(cells, table, form=form, output=output, json=lambda: as_json({"rows": table.to_dicts(), "notes": said}))
    for note in said if form == "table" else ():
        click.echo(note)


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    return f"{value:.3f}" if isinstance(value, float) else str(value)
