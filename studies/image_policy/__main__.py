"""Run the study of image policies: ``python -m studies.image_policy FOLDER``."""

from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.console import Console

from salon_console.output import as_json, print_continues, print_parts
from salon_console.table_files import Table
from salon_taxonomy.whole_files import write_whole
from salon_train.over_seeds import SeedBars
from studies.image_policy.page import CAPTION, COLUMNS, arm_rows, image_study_page
from studies.image_policy.study import QUICK, ImageStudySettings, PolicyArm, run_image_study

_ARMS = [arm.value for arm in PolicyArm][1:]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(1, 100), default=1, show_default=True, help="Runs from random weights to the end.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="The others follow it.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    type=click.Choice(_ARMS),
    help="To compare; repeat. Default: all.",
)
@click.option("--steps", type=click.IntRange(1), help="Of every arm after the start. Default: 120.")
@click.option("--quick", is_flag=True, help="A tiny network and few steps: to see that everything works; it shows nothing.")
def main(folder: Path, seeds: int, first_seed: int, arms: tuple[str, ...], steps: int | None, quick: bool) -> None:
    """Let an image policy learn from a reward of its pictures, on a processor, offline, beside its controls.

    FOLDER keeps weights, pictures, numbers.json and report.html; the same command continues.
    """
    settings = QUICK if quick else ImageStudySettings()
    if steps is not None:
        lengths = {name: replace(getattr(settings, name), steps=steps) for name in ("reward", "longer", "preferences")}
        settings = replace(settings, **lengths)
    with SeedBars(Console(stderr=True)) as bars:
        results = run_image_study(
            folder,
            seeds=range(first_seed, first_seed + seeds),
            arms=[PolicyArm(arm) for arm in arms or PolicyArm],
            settings=settings,
            tell=bars,
            on_start=lambda done, total: print_continues(done, total, "arms", folder) if done else None,
        )
    write_whole(folder / "numbers.json", as_json([asdict(result) for result in results]) + "\n")
    write_whole(folder / "report.html", image_study_page(results, settings, folder))
    table = Table(tuple(COLUMNS), arm_rows(results), frozenset(COLUMNS[1:]))
    print_parts(table, CAPTION, f"page: {folder / 'report.html'}")


if __name__ == "__main__":
    main()
