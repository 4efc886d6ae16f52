"""``salon results gate``: did a new build get worse than the base by more than a margin?"""

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath, RunOrFile
from salon_console.options import FAILS_WITH, FORMAT, STORE, FiniteRange, output_option
from salon_console.table_files import RESULT_ENDINGS
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    import polars as pl


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
    from salon_bench.analysis.gate import gate as held
    from salon_bench.analysis.gate.history import gate_rows, keep_gate
    from salon_bench.analysis.gate.measuring import measured
    from salon_bench.analysis.gate.pictures import BuildPictures, pictures_of, refuse_other_prompts
    from salon_bench.analysis.gate.speed import picture_seconds, speed
    from salon_bench.cli.progress_bar import Bar
    from salon_bench.report.gate_page import gate_page
    from salon_bench.runs.score_rows import frame_of, is_same_source, read_scores
    from salon_console.numbers import counted
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_taxonomy.errors import InputError, SalonError

    if is_same_source(base, new, store):
        raise InputError("BASE and NEW are one and the same", value=new)
    if (margin is None) == (plan is None):
        raise InputError("give either --margin or --plan")
    asked = GatePlan({}, margin) if plan is None else GatePlan.read(plan)
    sides = [frame_of([]) if Path(each).is_dir() else read_scores([each], store) for each in (base, new)]
    refuse_other_prompts(base, new, store)
    files, against, sets = [BuildPictures(), BuildPictures()], None, None
    if asked.of_pictures or (output is not None and output.suffix.lower() == ".html"):
        files = [pictures_of(each, side, store) for each, side in zip((base, new), sides, strict=True)]
    if asked.of_pictures:
        for each, side in zip((base, new), files, strict=True):
            if not side.files:
                hint = "Give runs, or folders of pictures."
                raise InputError("has no pictures, which measures with a limit need", source=each, hint=hint)
        with Bar(Console(stderr=True), "pictures") as bar:
            against, sets = measured(files[0].files, files[1].files, asked, names=(base, new), progress=bar.counted)
    rows = None if battles is None else Battles.read(battles).frame.collect()
    models = None if rows is None else _models(rows, (base, new), sides)
    found = held(sides[0], sides[1], asked, names=(base, new), against=against, battles=rows, models=models, sets=sets)
    made = {"passed": found.passed, "level": found.level}
    times = [picture_seconds(each, side, store) for each, side in zip((base, new), sides, strict=True)]
    faster = speed(times[0], times[1], asked.level)
    further = {name: table for name, table in (("worst", found.worst), ("speed", faster)) if table.height}
    files_made = {**found.view().makers(), ".html": lambda: gate_page(found, files[0], files[1], faster), ".xml": found.junit}
    small = [] if sets is None or sets.is_empty() else sets.drop_nulls("reason").select("measure", "reason").rows()
    warnings = tuple(f"{name}: {reason}." for name, reason in small)
    show_table(OtherTable(found.header, found.table, made, further, files_made, found.cells, warnings), form, output)
    sys.stdout.flush()  # what cannot be written is no verdict
    inputs = [each for each in (against, sets, rows) if each is not None]
    try:
        kept = gate_rows(found, sides[0], sides[1], asked, further=inputs, faster=next(iter(faster["faster"].to_list()), None))
        added = keep_gate(kept, store)
    except (SalonError, OSError) as error:
        click.echo(f"Warning: the verdict is not in the table gates of {store}: {error}", err=True)
    else:
        if added is not None:
            click.echo(f"Added {counted(added, 'row')} to gates in {store}", err=True)
    if "worse" in found.deciding["verdict"]:
        context.exit(1)
    if not found.passed and not allow_unclear:
        context.exit(3)


def _models(battles: "pl.DataFrame", names: tuple[str, str], sides: "Sequence[pl.DataFrame]") -> tuple[str, str]:
    """Return what battles call the base and the new build: the name of the file or folder, its model's, or base and new."""
    from salon_taxonomy.errors import InputError

    called = [
        [name, Path(name).name, Path(name).stem, *side["subject_model"].unique().sort(), word]
        for name, side, word in zip(names, sides, ("base", "new"), strict=True)
    ]
    there = {*battles["model_a"]} | {*battles["model_b"]}
    for pair in product(*called):
        if {*pair} == there and pair[0] != pair[1]:
            return pair[0], pair[1]
    hint = "Call them as the files, folders or models of BASE and NEW, or base and new."
    raise InputError("the battles are not between the two builds:", source="--battles", value=sorted(there), hint=hint)
