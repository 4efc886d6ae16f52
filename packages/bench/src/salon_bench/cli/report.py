"""``salon results compare``, ``leaderboard``, ``export`` and ``report``: parse, make one library call, print."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_taxonomy.cli.options import STORE, bootstrap_option, confidence_option, format_option, seed_option
from salon_taxonomy.cli.output import as_json, print_table
from salon_taxonomy.file_options import OutputPath
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.analysis.comparison import Comparison
    from salon_bench.analysis.leaderboard import SuiteBoard

_HELP = {"help_option_names": ["-h", "--help"]}
_PAGE_HELP = "Write here instead of to the screen; a page needs it."


_OUTPUT = click.option("--output", type=OutputPath(), help=_PAGE_HELP)
_SIDE = click.option(
    "--thumbnail",
    "side",
    type=click.IntRange(16, 2048),
    default=320,
    show_default=True,
    help="Longest side of pictures, in pixels.",
)


@click.command("compare", context_settings=_HELP)
@click.argument("run_a", metavar="RUN_A")
@click.argument("run_b", metavar="RUN_B")
@STORE
@click.option("--subject-a", metavar="NAME", help="Whose rows of RUN_A; needed where it has several subjects.")
@click.option("--subject-b", metavar="NAME", help="Whose rows of RUN_B.")
@click.option("--across-versions", is_flag=True, help="Compare although judge, suite or rule of asking have other versions.")
@bootstrap_option()
@confidence_option()
@seed_option("Of the resampling.")
@click.option("--biggest", type=click.IntRange(0), default=12, show_default=True, help="How many changes to list.")
@_SIDE
@format_option("table", "json", "html")
@_OUTPUT
def compare(
    run_a: str,
    run_b: str,
    store: StoreAddress,
    subject_a: str | None,
    subject_b: str | None,
    across_versions: bool,
    replicates: int,
    confidence: float,
    seed: int,
    biggest: int,
    side: int,
    form: str,
    output: Path | None,
) -> None:
    """Compare RUN_A with RUN_B, prompt by prompt: mean differences with intervals, by category, and the biggest changes.

    Prompts that are scored on both sides are paired, the others are counted. Two subjects under one judge, or two judges of
    one subject (with --across-versions).

    \b
    Example:
      salon bench runs
      salon results compare prism-a-qwen-1a2b3c4d prism-b-qwen-5e6f7a8b
      salon results compare RUN_A RUN_B --format html --output comparison.html
    """
    from salon_bench.analysis.compare import compare as compared

    form = _page_form(form, output)
    found = compared(
        store,
        run_a,
        run_b,
        subject_a=subject_a,
        subject_b=subject_b,
        across_versions=across_versions,
        replicates=replicates,
        confidence=confidence,
        seed=seed,
        biggest=biggest,
    )
    if form == "html":
        from salon_bench.report.comparison_page import comparison_page

        _give(comparison_page(store, found, side=side), output)
    elif form == "json":
        _give(as_json({**asdict(found), "across_versions": found.across_versions}), output)
    else:
        _show_comparison(found)


@click.command("leaderboard", context_settings=_HELP)
@click.argument("suite_name", metavar="SUITE")
@STORE
@click.option("--metric", metavar="NAME", help="What ranks. Default: overall, average, or the suite's first number.")
@click.option("--all-versions", is_flag=True, help="Older judge versions too, each on a board of its own.")
@format_option("table", "json", "csv", "html")
@_OUTPUT
def leaderboard(
    suite_name: str, store: StoreAddress, metric: str | None, all_versions: bool, form: str, output: Path | None
) -> None:
    """Rank the subjects of all finished runs of SUITE by the suite's own numbers; one board for every judge version.

    Shows the newest version of each judge. json and csv have every number with its interval and how much was scored.

    \b
    Example:
      salon results leaderboard prism
      salon results leaderboard magicbench --metric human --format csv
      salon results leaderboard prism --all-versions --output board.html --format html
    """
    from salon_bench.analysis.leaderboard import leaderboards
    from salon_bench.suites.contract.registry import suite_named

    form = _page_form(form, output)
    boards = leaderboards(store, suite_named(suite_name), metric=metric, all_versions=all_versions)
    if form == "html":
        from salon_bench.report.board_page import board_page

        _give(board_page(boards), output)
    elif form == "csv":
        from polars import concat

        _give(concat([each.table() for each in boards]).write_csv(), output)
    elif form == "json":
        _give(as_json([_board_fields(each) for each in boards]), output)
    else:
        _show_boards(boards)


@click.command("export", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option("--wide", is_flag=True, help="One row per picture, a column for each dimension; default: one row per score.")
@format_option("csv", "jsonl", "parquet", default=None, help_="Default: by --output, or csv.")
@click.option("--output", type=OutputPath(), help="Write here instead of to the screen.")
def export(run_ids: tuple[str, ...], store: StoreAddress, wide: bool, form: str | None, output: Path | None) -> None:
    """Write the verdicts of runs as one table, with prompts, pictures and labels.

    \b
    Example:
      salon results export prism-a-qwen-1a2b3c4d --output verdicts.csv
      salon results export RUN_A RUN_B --wide --output verdicts.parquet
    """
    from salon_bench.analysis.export import encoded_rows, exported, form_of
    from salon_ranking.numbers import counted
    from salon_taxonomy.whole_files import write_whole

    chosen = form_of(form, output)
    rows = exported(store, run_ids, wide=wide)
    if output is None:
        click.echo(encoded_rows(rows, chosen), nl=False)
        return
    write_whole(output, encoded_rows(rows, chosen), flushed=True)
    click.echo(f"{counted(rows.height, 'row')} in {output}", err=True)


@click.command("report", context_settings=_HELP)
@click.argument("run_ids", metavar="RUN...", nargs=-1, required=True)
@STORE
@click.option("--output", type=OutputPath(), required=True, help="The page to write.")
@click.option(
    "--pictures",
    "most_pictures",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="At most so many, for each suite.",
)
@_SIDE
@click.option(
    "--longest-reply",
    type=click.IntRange(0),
    default=4000,
    show_default=True,
    help="Characters of a reply; the rest is cut off.",
)
def report(
    run_ids: tuple[str, ...], store: StoreAddress, output: Path, most_pictures: int, side: int, longest_reply: int
) -> None:
    """Write one self-contained page about runs: their numbers, and every picture with its verdicts and the judge's own words.

    With two subjects the pictures stand side by side, prompt by prompt. The page fetches nothing and can be mailed.

    \b
    Example:
      salon results report prism-a-qwen-1a2b3c4d --output page.html
      salon results report RUN_A RUN_B --output page.html --thumbnail 512
    """
    from salon_bench.report.run_page import run_page

    page = run_page(store, run_ids, most_pictures=most_pictures, side=side, longest_reply=longest_reply)
    _give(page, output)


# ---------------------------------------------------------------------------------------------------------------- output


def _page_form(form: str, output: Path | None) -> str:
    """The form, with an output's ending ``.html`` as good as --format html; a page is not for the screen."""
    if form == "table" and output is not None:
        suffix = output.suffix.lower().lstrip(".")
        if suffix not in ("html", "json", "csv"):
            raise click.UsageError(f"--output {output}: say --format; a table is for the screen")
        return suffix
    if form == "html" and output is None:
        raise click.UsageError("--format html needs --output page.html")
    return form


def _give(text: str, output: Path | None) -> None:
    from salon_taxonomy.whole_files import write_whole

    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    content = text.encode("utf-8", "replace")
    write_whole(output, content, flushed=True)
    size = f"{len(content) / 1e6:,.1f} MB" if len(content) >= 1e5 else f"{len(content) / 1e3:,.0f} kB"
    click.echo(f"{size} in {output}", err=True)


def _board_fields(board: "SuiteBoard") -> dict[str, object]:
    from salon_bench.report.board_page import suite_notes

    named = {name: getattr(board, name) for name in ("suite", "judge", "judge_version", "metric")}
    return {**named, "notes": [*board.notes, *suite_notes(board)], "rows": board.table().to_dicts()}


def _show_comparison(found: "Comparison") -> None:
    from salon_bench.report.comparison_page import gap_cells, gap_header, move_names
    from salon_bench.report.gallery import plain, value_text

    for mark, side in (("A", found.a), ("B", found.b)):
        click.echo(f"{mark}  {plain(str(side))}  (run {side.run_id})")
    click.echo(f"{found.prompts} prompts, {found.changed} with a difference\n")
    print_table(gap_header(), [gap_cells(gap) for gap in found.gaps])
    if found.changes:
        click.echo("\nBiggest changes")
        moves = [
            "; ".join(f"{plain(name)} {value_text(a)} | {value_text(b)}" for name, a, b in move_names(change))
            for change in found.changes
        ]
        lines = [
            [plain(each.prompt_id), plain(", ".join(each.categories)), said]
            for each, said in zip(found.changes, moves, strict=True)
        ]
        print_table(["prompt", "of", "A | B"], lines)
    click.echo()
    for note in found.notes:
        click.echo(plain(note))


def _show_boards(boards: "Sequence[SuiteBoard]") -> None:
    from salon_bench.report.board_page import main_cells, suite_notes
    from salon_bench.report.gallery import plain

    for number, board in enumerate(boards):
        click.echo("\n" * (number > 0) + plain(f"{board.suite}, judged by {board.judge}, version {board.judge_version}\n"))
        print_table(*main_cells(board))
        for note in (*board.notes, *suite_notes(board)):
            click.echo(plain(note))
