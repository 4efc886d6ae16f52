"""``salon votes next`` and ``salon votes simulate``: which models meet next, and how many matches a leaderboard will need."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import OUTPUT, output_option
from salon_console.output import deliver, fitted
from salon_console.table_files import RESULT_ENDINGS, Maker, Table
from salon_ranking.cli.output import CONFIDENCE, FORMAT, HELP, console, plain, progress, seed_option, show
from salon_ranking.extras import drawing
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.store_address import is_url

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from salon_ranking.scheduling.inventory import Inventory
    from salon_ranking.scheduling.pairs import Rule
    from salon_ranking.scheduling.planning import BattlePlan

_RULES: "tuple[Rule, ...]" = ("proportional", "mef", "information", "uniform")
_MOST_SHOWN = 100


@click.command("next", context_settings=HELP)
@click.argument("battles", metavar="INPUT", type=InputPath(tables=True))
@click.option("-n", "--count", type=int, default=100, show_default=True, help="How many battles to plan.")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="proportional",
    show_default=True,
    help="proportional: drawn by what a battle says about the ratings; mef: few matches and even matches first; information: "
    "always what says most (biases ratings); uniform: all alike.",
)
@click.option(
    "--streams",
    type=click.IntRange(1, 2),
    help="2: each half of the battles is planned from the votes on the other half. Default: 2 for proportional, else 1.",
)
@click.option(
    "--models",
    metavar="NAME[,NAME…]",
    multiple=True,
    help="Models to plan for; may be repeated. Default: all with generations, else all in INPUT.",
)
@click.option(
    "--generations",
    type=InputPath(tables=True),
    help="Table with model, prompt_id and generation_id. Default: that of the store, if INPUT is one.",
)
@click.option("--prompts", type=InputPath(tables=True), help="Table with prompt_id, for models that made all of them.")
@click.option("--samples", type=int, default=1, show_default=True, help="With --prompts: samples of each model per prompt.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same battles and seed, same plan.")
@OUTPUT
@FORMAT
def next_pairs(
    battles: Path,
    count: int,
    rule: "Rule",
    streams: int | None,
    models: tuple[str, ...],
    generations: Path | None,
    prompts: Path | None,
    samples: int,
    seed: int,
    output: Path | None,
    format_: str,
) -> None:
    """Plan the next battles to show: two models, a prompt, a sample of each, and who stands on the left.

    INPUT holds the battles so far: a CSV, JSON Lines or Parquet file with the columns model_a, model_b and winner (a header
    alone starts a new arena), or the directory of a result store. Keep the columns plan_rule and plan_stream of the plan with
    its votes: the next plan needs the stream, and a leaderboard says how its battles were planned.

    \b
    Example:
      salon votes next votes.csv -n 100
      salon votes next votes.csv --generations made.csv --rule mef --output next.csv
      salon votes next salon-results --models atelier,brush,canvas -n 20 --format json
    """
    from salon_ranking.battles import Battles
    from salon_ranking.scheduling.pairs import next_pairs as plan_pairs
    from salon_ranking.scheduling.state import ScheduleState

    names = _names(models)
    voted = Battles.read(battles)
    inventory = _inventory(battles, generations, prompts, samples, names or voted.models)
    state = ScheduleState.of(voted, models=names or None, inventory=inventory)
    plan = plan_pairs(state, count, rule=rule, streams=streams, seed=seed)
    deliver(lambda: _pair_cells(plan), plan, form=format_, output=output, show=lambda: _show_pairs(plan))


@click.command("simulate", context_settings=HELP)
@click.argument("battles", metavar="[INPUT]", required=False, type=InputPath(tables=True))
@click.option("--models", type=int, default=20, show_default=True, help="Without INPUT: how many models.")
@click.option(
    "--spread", type=float, default=100.0, show_default=True, help="Without INPUT: standard deviation of ratings, in Elo."
)
@click.option("--ties", type=float, default=0.1, show_default=True, help="Share of ties between equal models.")
@click.option("--noise", type=float, default=0.0, show_default=True, help="Share of votes that raters give at random.")
@click.option("--rule", "rules", type=click.Choice(_RULES), multiple=True, help="May be repeated. Default: all.")
@click.option("--width", type=float, default=20.0, show_default=True, help="Wanted width of the intervals, in Elo points.")
@click.option("--anytime", is_flag=True, help="Plan for intervals that hold at every look, as of an arena's board.")
@CONFIDENCE
@click.option("--leagues", type=int, default=5, show_default=True, help="Simulated leagues per rule.")
@seed_option("plan")
@output_option(RESULT_ENDINGS)
@FORMAT
def simulate(
    battles: Path | None,
    models: int,
    spread: float,
    ties: float,
    noise: float,
    rules: "tuple[Rule, ...]",
    width: float,
    anytime: bool,
    confidence: float,
    leagues: int,
    seed: int,
    output: Path | None,
    format_: str,
) -> None:
    """Simulate schedules: how many matches until the leaderboard can be trusted, by rule.

    Ratings are assumed: a normal spread, or those fitted to INPUT (battles as for `salon votes rank`). Three goals of a new
    arena: the median interval and every interval are narrow enough, and all neighbours are separated; and one of a settled
    arena: the interval of a newcomer is narrow enough.

    \b
    Example:
      salon votes simulate --models 50 --spread 100 --output plan.html
      salon votes simulate votes.csv --rule mef --rule information --width 30
    """
    from salon_ranking.scheduling.planning import assumed_ratings, check_models
    from salon_ranking.scheduling.planning import plan as make_plan
    from salon_ranking.scheduling.simulation import Goals, Voting

    if battles is None:
        check_models(models)
        ratings = assumed_ratings(models, spread)
    else:
        ratings = _fitted(battles)
    with progress() as stage:
        battle_plan = make_plan(
            ratings,
            rules=rules or _RULES,
            voting=Voting(ties, noise),
            goals=Goals(width, confidence=confidence, anytime=anytime),
            leagues=leagues,
            seed=seed,
            progress=stage("simulating"),
        )
    title = "How many battles?" if battles is None else f"Plan: {battles.name}"

    def page() -> str:
        with drawing():
            from salon_ranking.report.plan_page import plan_page
        return plan_page(battle_plan, title=title)

    def svg() -> str:
        with drawing():
            from salon_ranking.report.plan_page import plan_chart
        return plan_chart(battle_plan).svg()

    def png() -> bytes:
        with drawing():
            from salon_ranking.report.plan_page import plan_chart
        return plan_chart(battle_plan).png()

    makers: dict[str, Maker] = {".html": page, ".svg": svg, ".png": png}
    deliver(
        lambda: _plan_cells(battle_plan),
        battle_plan.table,
        form=format_,
        output=output,
        show=lambda: _show_plan(battle_plan),
        made=makers,
    )


def _fitted(battles: Path) -> "NDArray[np.float64]":
    """Return ratings of the models that have battles."""
    from salon_ranking.battles import Battles
    from salon_ranking.models.ratings import fit

    return fit(Battles.read(battles), prior_ties=1.0).ratings


def _names(values: Sequence[str]) -> list[str]:
    return [name.strip() for part in values for name in part.split(",") if name.strip()]


def _inventory(
    battles: Path, generations: Path | None, prompts: Path | None, samples: int, models: Sequence[str]
) -> "Inventory | None":
    """Return the generations to show, from the table that was named, or from the store of the battles."""
    import polars as pl

    from salon_ranking.errors import BattleError, OptionError
    from salon_ranking.files import read_table
    from salon_ranking.scheduling.inventory import Inventory
    from salon_ranking.table_checks import CheckedTable

    if generations is not None and prompts is not None:
        raise OptionError("--generations and --prompts exclude each other", hint="Generations name their prompts.")
    if prompts is not None:
        table = CheckedTable(read_table(prompts, "prompts", BattleError), str(prompts), BattleError).with_names(["prompt_id"])
        table.refuse_wrong()
        return Inventory.full(models, table.frame["prompt_id"].to_list(), samples)
    if generations is not None:
        return Inventory.from_frame(read_table(generations, "generations", BattleError), str(generations))
    if is_url(battles) or Path(battles).is_dir():
        pictures = read_table(battles, "generations", BattleError)
        roles = [role.value for role in MediaRole if role is not MediaRole.RESULT]  # files of prompts, not of models
        pictures = pictures.filter(~pl.col("model").cast(pl.String).is_in(roles))
        return Inventory.from_frame(pictures, str(battles)) if pictures.height else None
    return None


def _pair_cells(plan: "pl.DataFrame") -> Table:
    """Return one row per planned battle; columns in which nothing is known are left out."""
    heads = [name for name in plan.columns if name in {"model_a", "model_b"} or plan[name].null_count() < plan.height]
    rows = [["–" if cell is None else str(cell) for cell in row] for row in plan.select(heads).rows()]
    return Table(tuple(heads), rows)


def _show_pairs(plan: "pl.DataFrame") -> None:
    show(_pair_cells(plan.head(_MOST_SHOWN)))
    if plan.height > _MOST_SHOWN:
        click.echo(f"… and {plan.height - _MOST_SHOWN:,} more (--output or --format shows all)", err=True)


def _plan_cells(plan: "BattlePlan") -> Table:
    """Return one row per goal and rule."""
    from salon_ranking.scheduling.planning import GOAL_HEADS, goal_rows

    heads = tuple(head.lower() for head in GOAL_HEADS)
    return Table(heads, goal_rows(plan.table), frozenset(heads[2:]))


def _show_plan(plan: "BattlePlan") -> None:
    terminal = console()
    terminal.print(plain(plan.header), style="dim")
    terminal.print(fitted(_plan_cells(plan)))
