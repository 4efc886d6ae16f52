"""``salon train image-demo``: an image policy learns from a reward of its pictures. Parse, one library call, print."""

from dataclasses import asdict, replace
from pathlib import Path

import rich_click as click

from salon_taxonomy.cli.options import FORMAT, OUTPUT, resumable
from salon_taxonomy.cli.output import as_json, deliver, print_continues
from salon_taxonomy.file_options import InputPath
from salon_taxonomy.table_files import Table
from salon_taxonomy.whole_files import write_whole
from salon_train.report.cli import check_page_libraries

_ARMS = ["cps", "sde", "cps-without-kl", "shuffled", "imitation", "best-of-group"]


@click.command("image-demo")
@click.argument("folder", type=InputPath(file_okay=False, made=True))
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="Runs from random weights to the end.")
@click.option("--first-seed", type=click.IntRange(0, 10**9), default=0, show_default=True, help="The others follow it.")
@click.option("--arm", "arms", multiple=True, type=click.Choice(_ARMS), help="What to compare; repeat. Default: all of them.")
@click.option("--steps", type=click.IntRange(1), help="Of learning from the reward, and of its controls. Default: 150.")
@click.option("--quick", is_flag=True, help="A tiny network and few steps: to see that everything works; it shows nothing.")
@OUTPUT
@FORMAT
@resumable
def image_demo(
    folder: Path,
    seeds: int,
    first_seed: int,
    arms: tuple[str, ...],
    steps: int | None,
    quick: bool,
    output: Path | None,
    form: str,
) -> None:
    """See an image policy learn from a reward of its pictures: Flow-GRPO on a processor, offline, beside its controls.

    A small rectified flow imitates a teacher who draws 40% of its pictures wrong, and then learns from a reward that
    measures pixels, paid through the adapter that Flow-GRPO's trainers use. Numbers cover prompts that earn a reward, prompts
    that never do, and diversity. FOLDER keeps weights, pictures, numbers.json and report.html; the same command continues.

    \b
    Example:
      salon train image-demo policy
      salon train image-demo policy --arm cps --arm shuffled
      salon train image-demo policy --seeds 3
    """
    check_page_libraries()
    from rich.console import Console

    from salon_train.image_policy.page import CAPTION, COLUMNS, arm_rows, image_study_page
    from salon_train.image_policy.study import QUICK, ImageStudySettings, PolicyArm, run_image_study
    from salon_train.over_seeds import SeedBars

    settings = QUICK if quick else ImageStudySettings()
    if steps is not None:
        settings = replace(settings, reward=replace(settings.reward, steps=steps), longer=replace(settings.longer, steps=steps))
    with SeedBars(Console(stderr=True)) as bars:
        results = run_image_study(
            folder,
            seeds=range(first_seed, first_seed + seeds),
            arms=[PolicyArm(each) for each in arms or _ARMS],
            settings=settings,
            tell=bars,
            on_start=lambda done, total: print_continues(done, total, "arms", folder) if done else None,
        )
    numbers = [asdict(each) for each in results]
    write_whole(folder / "numbers.json", as_json(numbers) + "\n")
    write_whole(folder / "report.html", image_study_page(results, settings, folder))
    deliver(
        Table(tuple(COLUMNS), arm_rows(results), frozenset(COLUMNS[1:])),
        [{"arm": each.arm, "seed": each.seed, **asdict(point)} for each in results for point in each.points],
        form=form,
        output=output,
        further=[CAPTION, f"page: {folder / 'report.html'}"],
        json=lambda: as_json(numbers),
    )
