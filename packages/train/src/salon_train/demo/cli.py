"""``salon train demo``: a tiny model learns to assess drawn pictures before one's eyes, and the ablations of the paper."""

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
@click.option("--ablations", is_flag=True, help="Run the paper's ablations as well; takes about twice as long.")
@click.option(
    "--even", is_flag=True, help="Also GRPO after the best cold start from pictures whose subjects are wrong equally often."
)
@click.option("--again", is_flag=True, help="Remove what these seeds have done in FOLDER before, and begin again.")
@click.option("--quick", is_flag=True, help="One seed, a few steps, about a minute: checks that every stage runs.")
@OUTPUT
@FORMAT
@resumable
def demo(
    folder: Path,
    seeds: int,
    first_seed: int,
    ablations: bool,
    even: bool,
    again: bool,
    quick: bool,
    output: Path | None,
    form: str,
) -> None:
    """See a model learn: from random weights to an assessor of drawn pictures, on the processor, in minutes, offline.

    Each seed draws pictures, makes a tiny vision-language model, teaches it to answer by imitation and improves it by
    GRPO with MagicMirror's reward. Pictures, weights and logs stay in FOLDER; its report.html has the curves. A second
    call with the same FOLDER goes on after the last finished stage.

    \b
    salon train demo
    salon train demo experiments --seeds 1
    salon train demo experiments --ablations
    salon train demo experiments --even
    """
    check_page_libraries()
    from rich.console import Console

    from salon_train.demo.experiment import Ablation
    from salon_train.demo.page import study_page
    from salon_train.demo.recipe import QUICK, Recipe
    from salon_train.demo.study import ABLATIONS, DEMO, finished_stages, run_study
    from salon_train.over_seeds import SeedBars

    recipe = QUICK if quick else Recipe()
    wanted = {*DEMO, *(ABLATIONS if ablations else ()), *([Ablation.IMPROVE_EVEN] if even else ())}
    arms = tuple(arm for arm in Ablation if arm in wanted)
    numbers = range(first_seed, first_seed + (1 if quick else seeds))
    err = Console(stderr=True)
    done, stages = (0, 0) if again else finished_stages(folder, seeds=numbers, arms=arms)
    if done:
        print_continues(done, stages, "stages", folder)
    try:
        with SeedBars(err) as bars:
            measured = run_study(folder, recipe, seeds=numbers, arms=arms, processes=2, again=again, tell=bars)
        page = study_page(measured, recipe, title="A model learns to assess pictures")
        (folder / "report.html").write_text(page, encoding="utf-8")
    except InputError as error:
        raise click.ClickException(str(error)) from error
    table, further = _tables(measured)
    warning = ["--quick trains for a few steps only: these numbers say nothing about the method."] if quick else []
    deliver(
        table,
        [{name: getattr(each, name) for name in _FIELDS} | dict(each.numbers) for each in measured],
        form=form,
        output=output,
        further=[*further, *warning, f"curves: {folder / 'report.html'}"],
        json=lambda: as_json([asdict(each) for each in measured]),
    )


def _tables(measured: "Sequence[ArmNumbers]") -> tuple[Table, list[Table | str]]:
    """Return the main table, and what is printed beneath it: the ablations."""
    from salon_train.demo import page, summary
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
    ablations = page.ablation_rows(measured)
    if len(ablations) > 4:
        columns = page.SHORT_ABLATION_COLUMNS
        moved = page.direction_rows(summary.directions(measured))
        further += [
            page.ABLATIONS_SAY,
            Table(columns, [row[: len(columns)] for row in ablations], frozenset(columns[2:])),
            Table(page.DIRECTION_COLUMNS, moved, frozenset({"Paper", "Here"})),
        ]
    return table, further
