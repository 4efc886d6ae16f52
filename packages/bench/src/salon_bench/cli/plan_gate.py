"""``salon results plan-gate``: how many prompts and seeds does a gate need?"""

from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath, RunOrFile
from salon_console.options import FORMAT, HELP, OUTPUT, STORE, FiniteRange, seed_option
from salon_taxonomy.store_address import StoreAddress


@click.command("plan-gate", context_settings=HELP)
@click.argument("pilot", metavar="PILOT...", nargs=-1, required=True, type=RunOrFile())
@click.option(
    "--margin",
    "margins",
    multiple=True,
    type=FiniteRange(min=0, min_open=True),
    help="How much worse a dimension may be, in its unit; may be repeated.",
)
@click.option("--plan", type=InputPath(dir_okay=False), help="The gate's TOML file, for its margins and level.")
@click.option("--battles", type=InputPath(tables=True), help="Battles between the two, for the measure preferred of the plan.")
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="A dimension; may be repeated. Default: all.")
@click.option(
    "--power",
    type=FiniteRange(0.5, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="With which an equal build passes.",
)
@seed_option("Of the studies.")
@STORE
@OUTPUT
@FORMAT
def plan_gate(
    pilot: tuple[str, ...],
    margins: tuple[float, ...],
    plan: Path | None,
    battles: Path | None,
    measures: tuple[str, ...],
    power: float,
    seed: int,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Plan a gate from a PILOT: how many prompts and seeds show that a build is not worse by a margin.

    PILOT is two runs, tables of scores or folders of pictures, of the same prompts and seeds: the base and another build. Or it
    is one run or table, with several seeds for each prompt: then a build is planned for whose seeds have nothing in common with
    the base's. Rows of a prompt in a table are in the order of their seeds.

    For every margin and number of seeds up to the pilot's: the prompts, the power, and how often a build that is worse by the
    margin passes, both simulated from the pilot. For a limit of the plan it is the pilot's own build that shall pass.

    \b
    Example:
      salon results plan-gate RUN_BASE RUN_NEW --margin 0.1 --margin 0.2
      salon results plan-gate base.parquet --plan gate.toml --power 0.9
      salon results plan-gate base/ new/ --plan gate.toml
    """
    from dataclasses import replace

    from rich.console import Console

    from salon_bench.analysis.gate import GatePlan, MeasureRule, planning
    from salon_bench.analysis.gate.builds import hold_builds
    from salon_bench.analysis.gate.plan import LEVEL
    from salon_bench.cli.progress_bar import Bar
    from salon_bench.runs.score_rows import frame_of
    from salon_ranking.battles import Battles
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_taxonomy.errors import InputError

    if len(pilot) > 2:
        raise InputError("give one pilot or two, the base first", value=pilot[2])
    if bool(margins) == (plan is not None):
        raise InputError("give either --margin or --plan")
    if battles is not None and plan is None:
        raise InputError("--battles needs a --plan with [measures.preferred]")
    sides = [frame_of([]) if Path(each).is_dir() else planning.pilot_scores(each, store) for each in pilot]
    dimensions = sorted({*sides[0]["dimension"]})
    asked = None if plan is None else GatePlan.read(plan)
    known = dimensions if asked is None else [*asked.measures]
    for name in measures:
        if name not in known:
            raise InputError("there is no such measure:", value=name, allowed=known)
    paired = []
    if asked is None:
        rules = [(name, MeasureRule(margin)) for name in dimensions for margin in margins if name in (measures or known)]
    else:
        asked = replace(asked, measures={name: asked.measures[name] for name in measures or known}, primary=None)
        rules = list(asked.of_scores(dimensions, has_battles=battles is not None).items())
        if len(rules) < len(asked.measures):
            if len(pilot) < 2:
                raise InputError("measures of pictures and battles need two builds, not", value=pilot[0])
            rows = None if battles is None else Battles.read(battles).frame.collect()
            with Bar(Console(stderr=True), "pictures") as bar:
                held = hold_builds(pilot[0], pilot[1], asked, store, battles=rows, progress=bar.counted)
            paired = [each for each in held.gate.measures if each.name not in dict(rules)]
    if not rules and not paired:
        raise InputError("has no measure that can be planned", source=plan or pilot[0])
    level = LEVEL if asked is None else asked.level
    other = sides[1] if len(sides) > 1 else None
    sizes = planning.plan_gate(sides[0], other, rules, further=paired, power=power, level=level, seed=seed)
    facts = {"power": sizes.power, "level": sizes.level}
    further = {"variances": sizes.components}
    show_table(OtherTable(sizes.header, sizes.table, facts, further, cells=sizes.cells, warnings=sizes.warnings), form, output)
