"""``salon votes raters``: find raters who answer without looking, with the reason."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath, OutputPath, StorePath
from salon_console.options import OUTPUT
from salon_console.output import deliver, fitted
from salon_console.table_files import write_table
from salon_ranking.cli.output import FORMAT, HELP, console, plain, seed_option
from salon_ranking.cli.vote_options import row_options
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_ranking.raters.rater_report import RaterReport

_MOST_LINES = 50


@click.command(context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("--consensus", type=click.Choice(["majority", "model"]), help="What others think. Default: majority.")
@click.option("--run-length", type=int, metavar="NUMBER", help="Same option in a row; 0: judge by probability. Default: 24.")
@click.option(
    "--reference",
    type=InputPath(tables=True),
    help="Answers that experts must know: prompt_id, model_a, model_b, winner (a file like INPUT).",
)
@click.option("--all", "everybody", is_flag=True, help=f"Show more than {_MOST_LINES} raters.")
@click.option(
    "--audit", type=OutputPath(endings=(".csv",), what="sample"), help="Write battles to be judged again: a .csv file."
)
@click.option("--audit-share", type=float, default=0.25, show_default=True, help="Share of each rater's battles for --audit.")
@seed_option("sample")
@OUTPUT
@click.option(
    "--store",
    metavar="STORE",
    type=StorePath(tables=True),
    help="Also add the reasons to rater_flags of this result store, a directory or a URL.",
)
@FORMAT
@row_options
def raters(
    battles: Path,
    rows: Mapping[str, Any],
    reference: Path | None,
    everybody: bool,
    audit: Path | None,
    audit_share: float,
    seed: int,
    output: Path | None,
    store: StoreAddress | None,
    format_: str,
    **policy_options: Any,
) -> None:
    """Look at raters: missed anchors, too fast, one option again and again, one-sided, against everybody else.

    INPUT is a CSV, JSON Lines or Parquet file, or the directory of a result store, with the columns rater_id, model_a,
    model_b and winner. The checks also use prompt_id, mode, side_a_shown, started_at, answered_at, is_anchor and
    expected_winner; a check whose columns are missing is left out and said to be.

    A flag is a finding, so the exit code is 0. Nothing is deleted.

    \b
    Example:
      salon votes raters votes.csv
      salon votes raters salon-results --output raters.html --store salon-results
      salon votes raters votes.parquet --run-length 30 --format json
      salon votes raters votes.parquet --reference exam.csv --audit again.csv --audit-share 0.25
    """
    from salon_console.numbers import counted, frame_cells
    from salon_ranking.cli.sinks import open_sink
    from salon_ranking.extras import drawing
    from salon_ranking.files import scan
    from salon_ranking.raters.policy import RaterPolicy
    from salon_ranking.raters.rater_report import check_raters, to_csv, to_json
    from salon_ranking.raters.table_rows import report_cells
    from salon_ranking.raters.votes import Votes

    sink = None if store is None else open_sink(store)
    chosen = {name: value for name, value in policy_options.items() if value is not None}
    if "run_length" in chosen:
        chosen["run_length"] = chosen["run_length"] or None  # 0: by probability
    policy = RaterPolicy(**chosen)
    cast = Votes.read(battles, **rows)
    known = None if reference is None else scan(reference)
    report = check_raters(cast, policy, reference=known)

    def page() -> str:
        with drawing():
            from salon_ranking.report.raters_page import raters_page
        return raters_page(report)

    deliver(
        lambda: report_cells(report.table),
        report.table,
        form=format_,
        output=output,
        show=lambda: _show(report, None if everybody else _MOST_LINES),
        json=lambda: to_json(report),
        csv=lambda: to_csv(report),
        made={".html": page},
    )
    if sink is not None:
        added = sink("rater_flags", report.records(), "raters")
        click.echo(f"Added {counted(added, 'row')} to rater_flags in {store}", err=True)
    if audit is not None:
        import polars as pl

        from salon_ranking.raters.audit import audit_sample

        sample = audit_sample(cast.battles.frame, share=audit_share, seed=seed, source=str(battles))
        lists = pl.selectors.by_dtype(pl.List(pl.String))
        values = sample.with_columns(lists.list.join(" "))
        write_table(audit, lambda: frame_cells(values), values)
        click.echo(f"Wrote {audit} ({counted(sample.height, 'battle')})", err=True)


def _show(report: "RaterReport", most: int | None) -> None:
    """Print the report as a table under its header."""
    from salon_ranking.raters.table_rows import report_cells

    terminal = console(width=160)
    terminal.print(plain(report.header), style="dim")
    terminal.print(fitted(report_cells(report.table, most)))
    if most is not None and report.table.height > most:
        click.echo(f"{report.table.height - most:,} more; --all shows them.", err=True)
