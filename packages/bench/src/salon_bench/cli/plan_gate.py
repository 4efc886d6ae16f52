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
    measures: tuple[str, ...],
    power: float,
    seed: int,
    store: StoreAddress,
    output: Path | None,
    form: str,
) -> None:
    """Plan a gate from a PILOT: how many prompts and seeds show that a build is not worse by a margin.

    PILOT is two runs, or two tables of scores, of the same prompts and seeds: the base and another build. Or it is one, with
    several seeds for each prompt: then a build is planned for whose seeds have nothing in common with the base's. Rows of a
    prompt in a table are in the order of their seeds.

    For every margin and number of seeds up to the pilot's: the prompts, the power, and how often a build that is worse by the
    margin passes, both simulated from the pilot.

    \b
    Example:
      salon results plan-gate RUN_BASE RUN_NEW --margin 0.1 --margin 0.2
      salon results plan-gate base.parquet --plan gate.toml --power 0.9
    """
    from salon_bench.analysis.gate import GatePlan, MeasureRule, planning
    from salon_bench.analysis.gate.pairing import PREFERRED
    from salon_bench.analysis.gate.plan import LEVEL
    from salon_ranking.cli.other_table import OtherTable, show_table
    from salon_taxonomy.errors import InputError

    if len(pilot) > 2:
        raise InputError("give one pilot or two, the base first", value=pilot[2])
    if bool(margins) == (plan is not None):
        raise InputError("give either --margin or --plan")
    sides = [planning.pilot_scores(each, store) for each in pilot]
    dimensions = sorted({*sides[0]["dimension"]})
    asked = None if plan is None else GatePlan.read(plan)
    if asked is not None:
        rules = list(asked.of_scores(dimensions, PREFERRED).items())
    else:
        rules = [(name, MeasureRule(margin)) for name in dimensions for margin in margins]
    for name in measures:
        if name not in dict(rules):
            raise InputError("there is no such measure:", value=name, allowed=sorted(dict(rules)))
    rules = [(name, rule) for name, rule in rules if not measures or name in measures]
    level = LEVEL if asked is None else asked.level
    sizes = planning.plan_gate(sides[0], sides[1] if len(sides) > 1 else None, rules, power=power, level=level, seed=seed)
    made = {"power": sizes.power, "level": sizes.level}
    further = {"variances": sizes.components}
    show_table(OtherTable(sizes.header, sizes.table, made, further, cells=sizes.cells, warnings=sizes.warnings), form, output)
