"""``salon results compare``, ``leaderboard``, ``export`` and ``report``: parse, make one library call, print."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import OutputPath
from salon_console.options import STORE, bootstrap_option, confidence_option, format_option, output_option
from salon_console.output import as_json, deliver, print_table
from salon_console.shown_result import joined_views
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.analysis.comparison import Comparison
    from salon_bench.analysis.leaderboard import SuiteBoard
    from salon_console.table_files import ValueForm

_HELP = {"help_option_names": ["-h", "--help"]}
_OUTPUT = output_option(RESULT_ENDINGS, what="Write this file, and print nothing unless --format is given")
_FORMAT = format_option(
    "table", "json", "csv", default=None, help_="What is printed. Default: table, or nothing with --output."
)


@click.command("compare", context_settings=_HELP)
@click.argument("run_a", metavar="RUN_A")
@click.argument("run_b", metavar="RUN_B")
@STORE
@click.option("--model-a", metavar="NAME", help="Whose rows of RUN_A; needed where it has several models.")
@click.option("--model-b", metavar="NAME", help="Whose rows of RUN_B.")
@click.option("--across-versions", is_flag=True, help="Compare although judge, suite or rule of asking have other versions.")
@bootstrap_option()
@confidence_option()
@_FORMAT
@_OUTPUT
def compare(
    run_a: str,
    run_b: str,
    store: StoreAddress,
    model_a: str | None,
    model_b: str | None,
    across_versions: bool,
    replicates: int,
    confidence: float,
    form: str | None,
    output: Path | None,
) -> None:
    """Compare RUN_A with RUN_B, prompt by prompt: mean differences with intervals, by category, and the biggest changes.

    Prompts that are scored on both sides are paired, the others are counted. Two models under one judge, or two judges of
    one model (with --across-versions).

    \b
    Example:
      salon bench runs
      salon results compare prism-a-qwen-1a2b3c4d prism-b-qwen-5e6f7a8b
      salon results compare RUN_A RUN_B --output comparison.html
    """
    from salon_bench.analysis.compare import compare as compared

    comparison = compared(
        store,
        run_a,
        run_b,
        model_a=model_a,
        model_b=model_b,
        across_versions=across_versions,
        replicates=replicates,
        confidence=confidence,
    )

    def page() -> str:
        from salon_bench.report.comparison_page import comparison_page

        return comparison_page(store, comparison)

    view = comparison.view()
    deliver(
        view.table,
        [asdict(gap) for gap in comparison.gaps],
        form=form,
        output=output,
        show=lambda: _show_comparison(comparison),
        json=lambda: as_json({**asdict(comparison), "across_versions": comparison.across_versions}),
        made={**view.makers(), ".html": page},
    )


@click.command("leaderboard", context_settings=_HELP)
@click.argument("suite_name", metavar="SUITE")
@STORE
@click.option("--metric", metavar="NAME", help="What ranks. Default: overall, average, or the suite's first number.")
@click.option("--judge", metavar="NAME", help="The board of this judge alone.")
@click.option("--all-versions", is_flag=True, help="Older judge versions too, each on a board of its own.")
@_FORMAT
@_OUTPUT
def leaderboard(
    suite_name: str,
    store: StoreAddress,
    metric: str | None,
    judge: str | None,
    all_versions: bool,
    form: str | None,
    output: Path | None,
) -> None:
    """Rank the models of all finished runs of SUITE by the suite's own numbers; one board for every judge version.

    Shows the newest version of each judge. json and csv have every number with its interval and how much was scored.

    \b
    Example:
      salon results leaderboard prism
      salon results leaderboard magicbench --metric human --format csv
      salon results leaderboard prism --all-versions --output board.html
    """
    from polars import concat

    from salon_bench.analysis.leaderboard import leaderboards
    from salon_bench.suites.contract.registry import suite_named

    boards = leaderboards(store, suite_named(suite_name), metric=metric, judge=judge, all_versions=all_versions)

    def page() -> str:
        from salon_bench.report.board_page import board_page

        return board_page(boards)

    view = joined_views([each.view() for each in boards], [f"{each.judge} {each.judge_version}" for each in boards], "judge")
    deliver(
        view.table,
        concat([each.table() for each in boards]),
        form=form,
        output=output,
        show=lambda: _show_boards(boards),
        json=lambda: as_json([_board_fields(each) for each in boards]),
        made={**view.makers(), ".html": page},
    )


@click.command("export", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option("--wide", is_flag=True, help="One row per picture, a column for each dimension; default: one row per score.")
@format_option("csv", "jsonl", default=None, help_="What is printed. Default: csv, or nothing with --output.")
@output_option(what="Write this file")
def export(run_ids: tuple[str, ...], store: StoreAddress, wide: bool, form: "ValueForm | None", output: Path | None) -> None:
    """Write the verdicts of runs as one table, with prompts, pictures and labels.

    \b
    Example:
      salon results export prism-a-qwen-1a2b3c4d --output verdicts.csv
      salon results export RUN_A RUN_B --wide --output verdicts.parquet
    """
    from salon_bench.analysis.export import exported
    from salon_console.numbers import counted, frame_cells
    from salon_console.table_files import encoded, write_table

    rows = exported(store, run_ids, wide=wide)
    if form is not None or output is None:
        click.echo(encoded(rows, form or "csv"), nl=False)
    if output is not None:
        write_table(output, lambda: frame_cells(rows), rows)
        click.echo(f"{counted(rows.height, 'row')} in {output}", err=True)


@click.command("report", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option(
    "--output",
    metavar="FILE",
    type=OutputPath(endings=RESULT_ENDINGS),
    required=True,
    help=f"The page to write (.html), or the numbers alone: {', '.join(RESULT_ENDINGS)}.",
)
@click.option(
    "--pictures",
    "most_pictures",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="At most so many, for each suite.",
)
def report(run_ids: tuple[str, ...], store: StoreAddress, output: Path, most_pictures: int) -> None:
    """Write one self-contained page about runs: their numbers, and every picture with its verdicts and the judge's own words.

    With two models the pictures stand side by side, prompt by prompt. The page fetches nothing and can be mailed.

    \b
    Example:
      salon results report prism-a-qwen-1a2b3c4d --output page.html
      salon results report RUN_A RUN_B --output page.html
      salon results report RUN_A RUN_B --output numbers.tex
    """
    from salon_bench.report.run_page import run_page
    from salon_bench.runs.view import run_numbers
    from salon_console.table_files import write_table
    from salon_taxonomy.whole_files import write_whole

    if output.suffix.lower() != ".html":
        view, values = run_numbers(store, run_ids)
        write_table(output, view.table, values, made=view.makers())
        click.echo(f"Wrote {output}", err=True)
        return
    content = run_page(store, run_ids, most_pictures=most_pictures).encode("utf-8", "replace")
    write_whole(output, content, flushed=True)
    size = f"{len(content) / 1e6:,.1f} MB" if len(content) >= 1e5 else f"{len(content) / 1e3:,.0f} kB"
    click.echo(f"{size} in {output}", err=True)


# ---------------------------------------------------------------------------------------------------------------- output


def _board_fields(board: "SuiteBoard") -> dict[str, object]:
    from salon_bench.report.board_page import suite_notes

    named = {name: getattr(board, name) for name in ("suite", "judge", "judge_version", "metric")}
    return {**named, "notes": [*board.notes, *suite_notes(board)], "rows": board.table().to_dicts()}


def _show_comparison(comparison: "Comparison") -> None:
    from salon_bench.report.comparison_page import move_names
    from salon_bench.report.gallery import plain, value_text

    for mark, side in (("A", comparison.a), ("B", comparison.b)):
        click.echo(f"{mark}  {plain(str(side))}  (run {side.run_id})")
    click.echo(f"{comparison.prompts} prompts, {comparison.changed} with a difference\n")
    cells = comparison.view().table
    print_table(cells.columns, cells.rows, right=cells.numeric)
    if comparison.changes:
        click.echo("\nBiggest changes")
        moves = [
            "; ".join(f"{plain(name)} {value_text(a)} | {value_text(b)}" for name, a, b in move_names(change))
            for change in comparison.changes
        ]
        lines = [
            [plain(each.prompt_id), plain(", ".join(each.categories)), said]
            for each, said in zip(comparison.changes, moves, strict=True)
        ]
        print_table(["prompt", "of", "A | B"], lines)
    click.echo()
    for note in comparison.notes:
        click.echo(plain(note))


def _show_boards(boards: "Sequence[SuiteBoard]") -> None:
    from salon_bench.report.board_page import suite_notes
    from salon_bench.report.gallery import plain

    for number, board in enumerate(boards):
        click.echo("\n" * (number > 0) + plain(f"{board.suite}, judged by {board.judge}, version {board.judge_version}\n"))
        cells = board.view().table
        print_table(cells.columns, cells.rows, right=cells.numeric)
        for note in (*board.notes, *suite_notes(board)):
            click.echo(plain(note))
