"""``salon results gate``: did a new build get worse than the base by more than a margin?"""

import sys
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, RunOrFile
from salon_console.options import FAILS_WITH, FORMAT, STORE, FiniteRange, output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("base", metavar="BASE", type=RunOrFile())
@click.argument("new", metavar="NEW", type=RunOrFile())
@click.option("--margin", type=FiniteRange(min=0, min_open=True), help="How much worse any dimension may be, in its unit.")
@click.option(
    "--plan", type=InputPath(dir_okay=False), help="A TOML file with a margin for each measure, in place of --margin."
)
@click.option(
    "--battles",
    type=InputPath(tables=True),
    help="Battles between the two, for the measure preferred: a table or a store as for `salon votes rank`.",
)
@click.option("--allow-unclear", is_flag=True, help="Exit with 0 also where a measure cannot be decided.")
@STORE
@output_option((*RESULT_ENDINGS, ".xml"))
@FORMAT
@click.pass_context
def gate(
    context: click.Context,
    base: str,
    new: str,
    margin: float | None,
    plan: Path | None,
    battles: Path | None,
    allow_unclear: bool,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Hold the build NEW against BASE: fail when a measure is worse by more than its margin, or may be.

    Exits with 0 when no measure is worse, with 1 when one is, with 3 when none is but one may be (cannot say), and with 2 when
    the builds cannot be compared or the answer cannot be written.

    BASE and NEW are runs of one suite and judge over the same prompts, tables of their scores, or folders of pictures named by
    prompt; a run of another store is STORE#RUN. Each measure is better, not worse, worse, or cannot say (then `needed` is how
    many prompts an equal build would take to pass with 80%). A plan names measures in [measures.NAME]:

    \b
      a dimension of the scores       margin = 0.2, and better = "lower" where less is better
      psnr, ssim, ms_ssim             at_least = 0.95: the new picture against the base's
      colour_difference, lpips, …     at_most = 2.0: the same
      similarity                      at_least = 0.98: the same, by features
      fid, kid, cmmd, …               at_most = 5.0: whole sets, by features
      preferred                       margin = 0.1: wins less losses in --battles

    and above them level = 0.05, primary = NAME where one of them alone decides, and features =
    "transformers:NAME" or "./FILE.py:FUNCTION". The file of --output is a page (with the
    pictures that fell most), a table or, as .xml, a JUnit report. Where --store is a result store, the answer is kept in its
    table gates; no store is made for it.

    \b
    Example:
      salon results gate RUN_BASE RUN_NEW --margin 0.2
      salon results gate base/ new/ --plan gate.toml --output gate.html
    """
    context.meta[FAILS_WITH] = 2  # 1 means that the build is worse
    from rich.console import Console

    from salon_bench.analysis.gate import GatePlan
    from salon_bench.analysis.gate.builds import hold_builds
    from salon_bench.analysis.gate.history import keep_gate
    from salon_bench.cli.progress_bar import Bar
    from salon_bench.report.gate_page import gate_page
    from salon_console.numbers import counted
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_taxonomy.errors import InputError, SalonError

    if (margin is None) == (plan is None):
        raise InputError("give either --margin or --plan")
    asked = GatePlan({}, margin) if plan is None else GatePlan.read(plan)
    rows = None if battles is None else Battles.read(battles).frame.collect()
    is_page = output is not None and output.suffix.lower() == ".html"
    with Bar(Console(stderr=True), "pictures") as bar:
        held = hold_builds(base, new, asked, store, battles=rows, shows_pictures=is_page, progress=bar.counted)
    result = held.gate
    facts = {"passed": result.passed, "level": result.level}
    further = {name: table for name, table in (("worst", result.worst), ("speed", held.speed)) if table.height}
    files = {**result.view().makers(), ".html": lambda: gate_page(held), ".xml": result.junit}
    show_table(OtherTable(result.header, result.table, facts, further, files, result.cells, tuple(held.remarks)), form, output)
    sys.stdout.flush()  # what cannot be written is no verdict
    try:
        added = keep_gate(held.rows, store)
    except (SalonError, OSError) as error:
        click.echo(f"Warning: the verdict is not in the table gates of {store}: {error}", err=True)
    else:
        if added is not None:
            click.echo(f"Added {counted(added, 'row')} to gates in {store}", err=True)
    if "worse" in result.deciding["verdict"]:
        context.exit(1)
    if not result.passed and not allow_unclear:
        context.exit(3)
