"""``salon train demo`` and ``salon train loop``: experiments in the drawn world, on a processor, offline."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT, resumable
from salon_console.output import as_json, deliver, print_continues
from salon_console.table_files import Table
from salon_taxonomy.errors import InputError
from salon_train.report.cli import check_page_libraries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from salon_train.demo.experiment import ArmNumbers

_FIELDS = ("arm", "seed", "stage", "step", "last", "cpu_s", "wall_s")


@click.command()
@click.argument("folder", type=InputPath(file_okay=False, made=True), default=Path("salon-demo"))
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Experiments, each from end to end.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="The others follow it.")
@click.option("--again", is_flag=True, help="Remove what these seeds have done in FOLDER before, and begin again.")
@click.option("--quick", is_flag=True, help="One seed, a few steps, about a minute: checks that every stage runs.")
@OUTPUT
@FORMAT
@resumable
def demo(folder: Path, seeds: int, first_seed: int, again: bool, quick: bool, output: Path | None, form: str) -> None:
    """See a model learn: from random weights to an assessor of drawn pictures, on the processor, in minutes, offline.

    Each seed draws pictures, makes a tiny vision-language model, teaches it to answer by imitation and improves it by
    GRPO with MagicMirror's reward. Pictures, weights and logs stay in FOLDER; its report.html has the curves. A second
    call with the same FOLDER continues after the last finished stage.

    \b
    salon train demo
    salon train demo experiments --seeds 1
    """
    check_page_libraries()
    from rich.console import Console

    from salon_train.demo.page import study_page
    from salon_train.demo.recipe import QUICK, QUICK_WARNING, Recipe
    from salon_train.demo.study import DEMO, finished_stages, run_study
    from salon_train.over_seeds import SeedBars

    recipe = QUICK if quick else Recipe()
    numbers = range(first_seed, first_seed + (1 if quick else seeds))
    err = Console(stderr=True)
    done, stages = (0, 0) if again else finished_stages(folder, seeds=numbers, arms=DEMO)
    if done:
        print_continues(done, stages, "stages", folder)
    try:
        with SeedBars(err) as bars:
            measured = run_study(folder, recipe, seeds=numbers, arms=DEMO, processes=2, again=again, tell=bars)
        page = study_page(measured, recipe, title="A model learns to assess pictures")
        (folder / "report.html").write_text(page, encoding="utf-8")
    except InputError as error:
        raise click.ClickException(str(error)) from error
    table, further = _tables(measured)
    warning = [QUICK_WARNING] if quick else []
    deliver(
        table,
        [{name: getattr(each, name) for name in _FIELDS} | dict(each.numbers) for each in measured],
        form=form,
        output=output,
        further=[*further, *warning, f"curves: {folder / 'report.html'}"],
        json=lambda: as_json([asdict(each) for each in measured]),
    )


def _tables(measured: "Sequence[ArmNumbers]") -> tuple[Table, list[Table | str]]:
    """Return the main table, and what is printed beneath it."""
    from salon_train.demo import summary
    from salon_train.demo.experiment import Ablation
    from salon_train.over_seeds import SeedMean

    rows: list[tuple[str, ...]] = []
    for arm in Ablation:
        risen = summary.rise(measured, arm)
        if risen.seeds:
            before = SeedMean.of(list(summary.starts(measured, arm, "f1_macro").values()))
            rows.append((arm, str(before), str(summary.end(measured, arm, "f1_macro")), str(risen), str(risen.seeds)))
    table = Table(("GRPO", "macro F1 before", "after", "rise within seeds", "seeds"), rows)
    further: list[Table | str] = []
    longer = summary.end(measured, Ablation.SFT_MORE, "f1_macro")
    if longer.seeds:
        further.append(f"{Ablation.SFT_MORE}: macro F1 {longer}")
    return table, further


@click.command()
@click.argument("folder", type=InputPath(file_okay=False, made=True), default=Path("salon-loop"))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything that is drawn.")
@click.option("--quick", is_flag=True, help="1,000 votes in place of 5,000, fewer steps: six minutes.")
@OUTPUT
@FORMAT
@resumable
def loop(folder: Path, seed: int, quick: bool, output: Path | None, form: str) -> None:
    """Close the loop in the drawn world: votes become a reward model, a better generator, and new votes.

    Simulated raters vote on pictures of a small policy. It learns from their votes by Diffusion-DPO, and by Flow-GRPO on a
    reward model that learned from them; fresh raters then vote on all of them, beside the truth, which is known here. A second
    call with the same FOLDER (salon-loop, if none is named) makes only what is missing. --output writes the first table, as
    .json all of them.

    \b
    Example:
      salon train loop --quick
      salon train loop experiment --seed 1
    """
    from rich.console import Console

    from salon_train.demo.loop import QUICK, LoopSettings, run_loop
    from salon_train.over_seeds import SeedBars
    from salon_train.run.callbacks import quiet

    with quiet(), SeedBars(Console(stderr=True)) as bars:
        result = run_loop(folder, seed=seed, settings=QUICK if quick else LoopSettings(), tell=bars)
    arms = Table(
        ("Arm", "Truth", "Gain over base", "Votes: Elo", "Win rate", "Learned", "Held out"),
        [
            (
                row["arm"],
                _interval(row["truth"]),
                _interval(row["gain"], "+.3f"),
                _interval([row["rating"], row["ci_low"], row["ci_high"]], ".0f"),
                f"{row['win_rate']:.3f}",
                *(_interval(row[name]) for name in ("learned", "held_out")),
            )
            for row in result["arms"]
        ],
    )
    accuracy = Table(
        ("Who tells fresh votes", "prompts", "accuracy"),
        [(row["scorer"], row["prompts"], _interval(row["accuracy"])) for row in result["accuracy"]],
    )
    numbers = ("learned", "held_out", "proxy", "ink", "diversity")
    points = Table(
        ("arm", "step", *numbers),
        [(row["arm"], str(row["step"]), *(f"{row[name]:.3f}" for name in numbers)) for row in result["points"]],
        frozenset(("step", *numbers)),
    )
    deliver(
        arms,
        result["arms"],
        form=form,
        output=output,
        further=[_LOOP, accuracy, points],
        json=lambda: as_json(result),
    )


_LOOP = (
    "Truth: mean obedience of pictures, with 95% intervals over prompts; learned prompts have votes, held-out ones do not. "
    "Votes: fresh raters on all pairs of arms. Accuracy: share of fresh votes on the base's pictures for the one with the "
    "higher score; the mean rater is the best possible. By step: truth, and what the reward model gives (proxy)."
)
"""How to read the tables of ``salon train loop``."""


def _interval(values: "Sequence[float | None]", form: str = ".3f") -> str:
    """Return an estimate with its interval, if it has one."""
    estimate, low, high = (None if value is None else format(value, form) for value in values)
    return f"{estimate}" if low is None else f"{estimate} [{low}, {high}]"
