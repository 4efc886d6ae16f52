"""``salon results reliability``: how far the scores of runs can be trusted. Parse, a library call for each part, print."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import RunOrFile
from salon_console.options import FORMAT, STORE, confidence_option, output_option, seed_option
from salon_console.output import as_json, cells, deliver, print_table
from salon_console.shown_result import joined_views
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.analysis.reliability.comparing import SubjectComparison
    from salon_bench.analysis.reliability.score_table import ScoreTable


@click.command()
@click.argument("run_ids", metavar="RUN...", type=RunOrFile(), nargs=-1, required=True)
@click.option("--dimension", required=True, help="Which scores: s_rect, overall, match, …")
@click.option(
    "--unscored",
    type=click.Choice(["leave-out", "zero"]),
    default="leave-out",
    show_default=True,
    help="An item without a verdict for a model: leave it out for all, or count 0.",
)
@click.option("--sizes", help="Items per subsample: 200,400. Default: a quarter, a half and three quarters of all.")
@click.option("--rounds", type=click.IntRange(1), default=500, show_default=True, help="Subsamples per size.")
@click.option("--replicates", type=click.IntRange(1), default=1000, show_default=True, help="Of the bootstrap.")
@confidence_option("Of intervals.")
@seed_option("Of every draw.", 42)
@STORE
@output_option(RESULT_ENDINGS, what="Also write the differences to this file")
@FORMAT
def reliability(
    run_ids: tuple[str, ...],
    dimension: str,
    unscored: str,
    sizes: str | None,
    rounds: int,
    replicates: int,
    confidence: float,
    seed: int,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Are the differences between the models of some RUNs more than chance, and would fewer items rank them alike?

    Paired bootstrap of every pair on the same items, ranks with ties, and how the ranking fares on stratified subsamples, for
    each judge. Whether judges agree with each other and with people: `salon results agreement`.

    \b
    Example:
      salon results reliability RUN_A RUN_B RUN_C --dimension s_rect --unscored zero --sizes 200,400
      salon results reliability RUN_A RUN_B --dimension s_rect --format json
    """
    from salon_bench.analysis.reliability.comparing import compare
    from salon_bench.analysis.reliability.score_table import score_tables
    from salon_bench.runs.score_rows import read_scores

    tables = score_tables(read_scores(run_ids, store), dimension, missing="zero" if unscored == "zero" else "leave-out")
    how: dict[str, Any] = {"rounds": rounds, "replicates": replicates, "confidence": confidence, "seed": seed}
    compared = [(table, compare(table, sizes=_sizes(sizes), **how)) for table in tables]

    def show() -> None:
        for table, comparison in compared:
            _show(table, comparison)

    view = joined_views([comparison.view() for _, comparison in compared], [table.judge for table, _ in compared], "judge")
    values = [{"judge": table.judge, **asdict(each)} for table, found in compared for each in found.differences]
    deliver(
        view.table,
        values,
        form=form,
        output=output,
        show=show,
        json=lambda: as_json(_document(compared)),
        made=view.makers(),
    )


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    wrong = [part for part in parts if not (part.isascii() and part.isdigit() and len(part) < 10)]
    if wrong or not parts:
        raise InputError(
            "sizes are whole numbers with commas between them, not", source="--sizes", value=wrong[0] if wrong else text
        )
    return [int(part) for part in parts]


def _document(compared: "Sequence[tuple[ScoreTable, SubjectComparison]]") -> dict[str, Any]:
    judges = [
        {
            "judge": table.judge,
            "dimension": table.dimension,
            "items": len(table.items),
            "left_out": table.left_out,
            "unscored": dict(table.unscored),
            "standings": [asdict(each) for each in comparison.standings],
            "differences": [{**asdict(each), "significant": each.significant} for each in comparison.differences],
            "stability": None if comparison.stability is None else asdict(comparison.stability),
        }
        for table, comparison in compared
    ]
    return {"judges": judges}


def _show(table: "ScoreTable", comparison: "SubjectComparison") -> None:
    share = f", {table.left_out} left out because a model has no verdict on them" if table.left_out else ""
    click.echo(f"{table.dimension} by {table.judge}: {len(table.items)} items{share}")
    header = ["rank", "with ties", "model", "mean", "unscored"]
    _show_rows(header, [[e.rank, e.rank_with_ties, e.model, e.value, table.unscored[e.model]] for e in comparison.standings])
    first = comparison.differences[0]
    click.echo(
        f"\nDifferences: paired bootstrap, {first.replicates} replicates, {first.confidence:.0%} intervals, seed {first.seed}"
    )
    cells = comparison.view().table
    print_table(cells.columns, cells.rows, right=cells.numeric)
    stability = comparison.stability
    if stability is None:
        click.echo("\nNo ranking to be stable: all models have the same mean.")
        return
    click.echo(f"\nRank stability: {stability.rounds} stratified subsamples of each size ({stability.strata} strata)")
    names = ["items", "tau", "tau_low", "tau_high", "exact", "tau_significant", "exact_significant"]
    _show_rows(
        names,
        [[e.size, e.tau, e.tau_low, e.tau_high, e.exact, e.tau_significant, e.exact_significant] for e in stability.sizes],
    )


def _show_rows(header: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    numeric = [name for place, name in enumerate(header) if any(isinstance(line[place], int | float) for line in lines)]
    print_table(header, cells([dict(zip(header, line, strict=True)) for line in lines]), right=numeric)
