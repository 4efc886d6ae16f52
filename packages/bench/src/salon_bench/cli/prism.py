"""``salon bench prism``: check text, compare languages and judges. Parse, one library call, print."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, LANGUAGE, OUTPUT, STORE, bootstrap_option, output_of, seed_option
from salon_console.output import MISSING, as_json, deliver
from salon_console.table_files import Table
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl

    from salon_taxonomy.answers.reading import Fidelity

_SEED = seed_option("Another seed draws otherwise.")
_REPLICATES = bootstrap_option()


@click.group()
def prism() -> None:
    """PRISM-Bench's own tools; the benchmark itself is `salon bench run prism` and `prism-zh`.

    \b
    Example:
      salon bench prism agreement --scores scores.csv --people marks.csv
    """


@prism.command()
@click.option(
    "--scores", "sources", multiple=True, metavar="RUN|FILE", help="A judge's scores; a second time: another judge's."
)
@click.option("--people", type=InputPath(tables=True), help="People's marks: a table, or a store.")
@click.option("--dimension", help="Which marks, where the table of people holds several dimensions.")
@click.option(
    "--level",
    type=click.Choice(["models", "pictures"]),
    default="models",
    show_default=True,
    help="Over what two judges are compared.",
)
@STORE
@_REPLICATES
@_SEED
@OUTPUT
@FORMAT
def agreement(
    sources: tuple[str, ...],
    people: Path | None,
    dimension: str | None,
    level: str,
    store: StoreAddress,
    replicates: int,
    seed: int,
    output: Path | None,
    form: str,
) -> None:
    """Do judge and people, or two judges, agree? Spearman's rho and Kendall's tau for each track.

    People's marks are a table with prompt_id, model (or generation_id), rater_id and value: several raters for each picture,
    their mean is compared with the judge's score.

    \b
    Example:
      salon bench prism agreement --scores scores.csv --people marks.csv
      salon bench prism agreement --scores RUN_A --scores RUN_B --store results --level pictures
    """
    from salon_bench.suites.prism import agreement as study
    from salon_bench.suites.prism.score_rows import read_marks, read_scores

    if (len(sources), people is not None) not in ((1, True), (2, False)):
        raise click.UsageError("Give --scores with --people, or --scores twice.")
    if dimension is not None and people is None:
        raise click.UsageError("--dimension is about the marks of --people.")
    options = {"replicates": replicates, "seed": seed}
    scores = [read_scores(source, store) for source in sources]
    if people is not None:
        found = study.judge_beside_people(scores[0], read_marks(people, dimension), **options)
    else:
        found = study.judge_beside_judge(scores[0], scores[1], level, **options)
    _show(found.table, found.notes, form, output)


@prism.command()
@click.option("--english", required=True, metavar="RUN|FILE", help="Scores of one model on PRISM-Bench.")
@click.option("--chinese", required=True, metavar="RUN|FILE", help="Scores of the same model on PRISM-Bench-ZH.")
@click.option("--fidelity", type=click.Choice(["paper", "released"]), default="paper", show_default=True, help="Whose rules.")
@STORE
@_REPLICATES
@_SEED
@OUTPUT
@FORMAT
def bilingual(
    english: str,
    chinese: str,
    fidelity: "Fidelity",
    store: StoreAddress,
    replicates: int,
    seed: int,
    output: Path | None,
    form: str,
) -> None:
    """One model in both languages, side by side, with the interval of the difference.

    \b
    Example:
      salon bench prism bilingual --english RUN_EN --chinese RUN_ZH --store results
      salon bench prism bilingual --english en.csv --chinese zh.csv --format json
    """
    from salon_bench.suites.prism.bilingual import side_by_side
    from salon_bench.suites.prism.score_rows import read_scores

    one, other = read_scores(english, store), read_scores(chinese, store)
    found = side_by_side(one, other, fidelity, replicates=replicates, seed=seed)
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
    from salon_bench.suites.prism.score_rows import frame_of
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
