"""``salon next-pairs`` and ``salon plan``: which models should meet next, and how many matches a leaderboard will need."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from rich.console import Console

    from salon_ranking.scheduling.shelf import Shelf

_HELP = {"help_option_names": ["-h", "--help"]}
_RULES = ["mef", "information", "uniform"]
_MOST_SHOWN = 100

_format = click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)


@click.command("next-pairs", context_settings=_HELP)
@click.argument("battles", metavar="INPUT", type=click.Path(path_type=Path))
@click.option("-n", "--count", type=int, default=100, show_default=True, help="How many battles to plan.")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="mef",
    show_default=True,
    help="mef: few matches and even matches first; information: what says most about the ratings; uniform: all alike.",
)
@click.option(
    "--models",
    metavar="NAME[,NAME…]",
    multiple=True,
    help="Whom to plan for; may be repeated. Default: everyone with generations, else everyone in INPUT.",
)
@click.option(
    "--generations",
    type=click.Path(path_type=Path),
    help="Table with model, prompt_id and generation_id. Default: that of the store, if INPUT is one.",
)
@click.option("--prompts", type=click.Path(path_type=Path), help="Table with prompt_id, for models that made all of them.")
@click.option("--samples", type=int, default=1, show_default=True, help="With --prompts: samples of each model per prompt.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same battles and seed, same plan.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Also write .csv, .parquet, .json or .jsonl.")
@_format
def next_pairs(
    battles: Path,
    count: int,
    rule: str,
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
    alone starts a new arena), or the directory of a result store.

    \b
    Example:
      salon next-pairs votes.csv -n 100
      salon next-pairs votes.csv --generations made.csv --rule information --output next.csv
      salon next-pairs salon-results --models atelier,brush,canvas -n 20 --format json
    """
    from salon_ranking.battles import Battles
    from salon_ranking.scheduling.output import FRAME_ENDINGS, check_ending, write
    from salon_ranking.scheduling.pairs import next_pairs as plan_pairs
    from salon_ranking.scheduling.state import ScheduleState

    if output is not None:
        check_ending(output, FRAME_ENDINGS)
    names = _names(models)
    found = Battles.read(battles)
    shelf = _shelf(battles, generations, prompts, samples, names or found.models)
    state = ScheduleState.of(found, models=names or None, shelf=shelf)
    plan = plan_pairs(state, count, rule=rule, seed=seed)  # type: ignore[arg-type]
    if format_ == "json":
        click.echo(plan.write_json())
    elif format_ == "csv":
        click.echo(plan.write_csv(), nl=False)
    else:
        shown = [name for name in plan.columns if name in {"model_a", "model_b"} or plan[name].null_count() < plan.height]
        _show(shown, plan.select(shown).head(_MOST_SHOWN).rows())
        if plan.height > _MOST_SHOWN:
            click.echo(f"… and {plan.height - _MOST_SHOWN:,} more (--output or --format shows all)", err=True)
    if output is not None:
        write(output, plan)
        click.echo(f"Wrote {output}", err=True)


def _names(given: Sequence[str]) -> list[str]:
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def _shelf(
    battles: Path, generations: Path | None, prompts: Path | None, samples: int, models: Sequence[str]
) -> "Shelf | None":
    """What there is to show, from the table that was named, or from the store that holds the battles."""
    from salon_ranking.errors import BattleError, OptionError
    from salon_ranking.mos.tables import Table, read_table
    from salon_ranking.scheduling.shelf import Shelf

    if generations is not None and prompts is not None:
        raise OptionError("--generations and --prompts exclude each other", hint="Generations name their prompts.")
    if prompts is not None:
        table = Table(read_table(prompts, "prompts", BattleError), str(prompts), BattleError).with_names(["prompt_id"])
        return Shelf.full(models, table.frame["prompt_id"].to_list(), samples)
    if generations is not None:
        return Shelf.from_frame(read_table(generations, "generations", BattleError), str(generations))
    if battles.is_dir():
        made = read_table(battles, "generations", BattleError)
        return Shelf.from_frame(made, str(battles)) if made.height else None
    return None


def _show(heads: Sequence[str], rows: Sequence[Sequence[Any]], numeric: frozenset[str] = frozenset()) -> None:
    from rich.table import Table

    table = Table(box=None)
    for head in heads:
        table.add_column(head, justify="right" if head in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*("–" if cell is None else _plain(str(cell)) for cell in row))
    _console().print(table)


def _console() -> "Console":
    from rich.console import Console

    # Piped into a file or a program, a table keeps its columns.
    return Console(highlight=False, width=None if sys.stdout.isatty() else 140)


def _plain(text: str) -> str:
    """Text as it is: no markup, and nothing that a terminal could act on."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))
