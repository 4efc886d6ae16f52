"""Run the study of refiners: ``python -m studies.refiner FOLDER``."""

from collections.abc import Sequence
from pathlib import Path

import click

from salon_console.output import print_continues, print_parts
from salon_console.table_files import Table
from salon_train.over_seeds import SeedMean
from studies.refiner.study import PUBLISHED, Arm, ArmResult, StudySettings, paired, run_study

_ARMS = [arm.value for arm in Arm][1:]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(1, 10), default=3, show_default=True, help="Runs from random weights to the end.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="The others follow it.")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    type=click.Choice(_ARMS),
    help="A reward to compare; repeat. Default: all.",
)
@click.option("--steps", type=click.IntRange(1), help="Of GRPO. Default: the study's own.")
def main(folder: Path, seeds: int, first_seed: int, arms: tuple[str, ...], steps: int | None) -> None:
    """See on a CPU which reward teaches a refiner to mend pictures, and which one teaches it to evade.

    A tiny policy learns from a teacher with bad habits and then from each reward, on drawn scenes with the draw editor. The
    table is beside R³-Bench's Table 4. FOLDER keeps every policy and results.jsonl; the same command continues.
    """
    settings = StudySettings()
    if steps is not None:
        settings = StudySettings(grpo=settings.grpo.model_copy(update={"steps": steps}))
    results = run_study(
        folder,
        seeds=range(first_seed, first_seed + seeds),
        arms=[Arm(arm) for arm in arms or Arm],
        settings=settings,
        told=lambda line: click.echo(line, err=True),
        on_start=lambda done, total: print_continues(done, total, "arms", folder) if done else None,
    )
    means, differences = tables(results)
    count = len({result.seed for result in results})
    ended = f"{count} {'seed' if count == 1 else 'seeds'}; 95% intervals over seeds. Policies: {folder}"
    print_parts(means, differences, ended)


def tables(results: Sequence[ArmResult]) -> tuple[Table, Table]:
    """Return the rewards' means over seeds, and their differences paired by seed."""
    rows: list[tuple[str, ...]] = []
    for arm in Arm:
        mine = [each.evaluation for each in results if each.arm is arm]
        if not mine:
            continue
        cells = [[each.s_ref for each in mine], [each.s_rect for each in mine], [each.verdict for each in mine]]
        evasive = [each.illusory for each in mine if each.illusory is not None]
        texts = [SeedMean.of(values).text() if values else "none" for values in (*cells, evasive)]
        published = [f"{value:.2f}" for value in PUBLISHED.get(arm, ())]
        rows.append((arm, *texts, *(published or ("", ""))))
    differences: list[tuple[str, ...]] = []
    pairs = [
        *((arm, Arm.COLD_START) for arm in Arm if arm is not Arm.COLD_START),
        (Arm.HRM, Arm.REASON),
        (Arm.HRM, Arm.HRM_GUARDED),
    ]
    for arm, other in pairs:
        both = paired(results, arm, other)
        if both:
            s_ref, s_rect = zip(*both.values(), strict=True)
            texts = [SeedMean.of(values, differences=True).text("+.3f") for values in (s_ref, s_rect)]
            differences.append((f"{arm} − {other}", *texts))
    return (
        Table(("reward", "S_ref", "S_rect", "verdict", "illusory", "R³-Bench: S_ref", "R³-Bench: S_rect"), rows),
        Table(("difference, paired by seed", "S_ref", "S_rect"), differences),
    )


if __name__ == "__main__":
    main()
