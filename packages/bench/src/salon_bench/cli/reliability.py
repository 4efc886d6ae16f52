"""``salon results reliability``: how far the scores of runs can be trusted. Parse, a library call for each part, print."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, STORE, confidence_option, output_option, seed_option
from salon_console.output import as_json, cells, deliver, number_text, print_table
from salon_console.shown_result import joined_views
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.analysis.reliability.comparing import SubjectComparison
    from salon_bench.analysis.reliability.evaluators import JudgeSwap
    from salon_bench.analysis.reliability.human import HumanValidation
    from salon_bench.analysis.reliability.score_table import ScoreTable

    _People: TypeAlias = dict[str, HumanValidation | InputError]


@click.command()
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
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
@click.option("--ratings", type=InputPath(tables=True), help="What people said: a file of ratings, or a store.")
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
    ratings: Path | None,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Are the differences between the models of some RUNs more than chance, and would another judge say the same?

    Paired bootstrap of every pair on the same items, ranks with ties, and how the ranking fares on stratified subsamples.
    With runs of several judges: a rank table. With --ratings: does the metric, by each judge, rank as people do, and do they
    agree?

    \b
    Example:
      salon results reliability RUN_A RUN_B RUN_C --dimension s_rect --unscored zero --sizes 200,400
      salon results reliability RUN_A RUN_B --dimension s_rect --ratings ratings.csv --format json
    """
    from salon_bench.analysis.reliability.comparing import compare
    from salon_bench.analysis.reliability.evaluators import swap_evaluators
    from salon_bench.analysis.reliability.human import validate_all
    from salon_bench.analysis.reliability.score_table import read_scores, score_tables

    tables = score_tables(read_scores(store, run_ids), dimension, missing="zero" if unscored == "zero" else "leave-out")
    how: dict[str, Any] = {"rounds": rounds, "replicates": replicates, "confidence": confidence, "seed": seed}
    compared = [(table, compare(table, sizes=_sizes(sizes), **how)) for table in tables]
    swap = swap_evaluators({table.judge: table.means for table in tables}) if len(tables) > 1 else None
    human = None
    if ratings is not None:
        from salon_ranking.opinion.ratings import MosRatings

        metrics = {table.judge: table.means for table in tables}
        human = validate_all(metrics, MosRatings.read(ratings).scored, dimension)

    def show() -> None:
        for table, comparison in compared:
            _show(table, comparison)
        if swap is not None:
            _show_swap(swap)
        if human is not None:
            _show_human(human)

    view = joined_views([comparison.view() for _, comparison in compared], [table.judge for table, _ in compared])
    values = [{"judge": table.judge, **asdict(each)} for table, found in compared for each in found.differences]
    deliver(
        view.table,
        values,
        form=form,
        output=output,
        show=show,
        json=lambda: as_json(_document(compared, swap, human)),
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


def _document(
    compared: "Sequence[tuple[ScoreTable, SubjectComparison]]", swap: "JudgeSwap | None", human: "_People | None"
) -> dict[str, Any]:
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
    people = None if human is None else [_people(judge, found) for judge, found in human.items()]
    return {"judges": judges, "swap": None if swap is None else asdict(swap), "human": people}


def _people(judge: str, found: "HumanValidation | InputError") -> dict[str, Any]:
    if isinstance(found, InputError):
        return {"judge": judge, "problem": str(found)}
    return {"judge": judge, "problem": None, **asdict(found)}


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
    found = comparison.stability
    if found is None:
        click.echo("\nNo ranking to be stable: all models have the same mean.")
        return
    click.echo(f"\nRank stability: {found.rounds} stratified subsamples of each size ({found.strata} strata)")
    names = ["items", "tau", "tau_low", "tau_high", "exact", "tau_significant", "exact_significant"]
    _show_rows(
        names, [[e.size, e.tau, e.tau_low, e.tau_high, e.exact, e.tau_significant, e.exact_significant] for e in found.sizes]
    )


def _show_swap(swap: "JudgeSwap") -> None:
    click.echo("\nThe same models by several judges (score and rank)")
    header = ["model", *(f"{judge} {what}" for judge in swap.judges for what in ("score", "rank"))]
    lines = [
        [name, *(cell for judge in swap.judges for cell in (swap.scores[judge][name], swap.ranks[judge][name]))]
        for name in swap.models
    ]
    _show_rows(header, lines)
    for each in swap.agreements:
        click.echo(
            f"{each.first} and {each.second}: Spearman {_number(each.spearman)}, Kendall {_number(each.kendall)}, "
            f"same rank {each.same_rank:.0%}"
        )
    if swap.left_out:
        click.echo(f"Not scored by all judges: {', '.join(swap.left_out)}")


def _show_human(human: "_People") -> None:
    """Each model by people and by each judge; then each judge's correlations, and how far the people agree."""
    found = {judge: each for judge, each in human.items() if not isinstance(each, InputError)}
    first = next(iter(found.values()))
    click.echo(f"\nPeople on {first.dimension}: {first.ratings} ratings by {first.raters} raters")
    opinion = {name: value for each in found.values() for name, value in each.opinion.items()}
    order = sorted(opinion, key=lambda name: (-opinion[name], name))
    _show_rows(
        ["model", "people", *(f"by {judge}" for judge in found)],
        [[name, opinion[name], *(each.metric.get(name) for each in found.values())] for name in order],
    )
    for judge, each in human.items():
        if isinstance(each, InputError):
            click.echo(f"{judge}: {each}")
            continue
        kappa = _number(each.fleiss) if each.fleiss_problem is None else f"none ({each.fleiss_problem})"
        click.echo(
            f"{judge}, {len(each.models)} models: SROCC {_number(each.srocc)}, KROCC {_number(each.krocc)}, "
            f"Fleiss' kappa of their raters {kappa}"
        )


def _number(value: float | None) -> str:
    return "none" if value is None else number_text(value)


def _show_rows(header: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    numeric = [name for place, name in enumerate(header) if any(isinstance(line[place], int | float) for line in lines)]
    print_table(header, cells([dict(zip(header, line, strict=True)) for line in lines]), right=numeric)
