"""``salon train refiner`` and ``refiner-demo``: train a refiner, and the small study of its rewards. Parse, one call, print."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT, resumable
from salon_console.output import as_json, deliver, print_continues
from salon_console.table_files import Table
from salon_train.run.cli import changes_of, stage_options, train_and_show

if TYPE_CHECKING:
    from salon_train.refiner.study import ArmResult
    from salon_train.run.dry_run import StageDryRun
    from salon_train.run.stage import Trained

_ARMS = ["reason", "questions", "hrm", "hrm-ungated", "hrm-guarded"]


@click.command()
@stage_options("refine.steps=10")
def refiner(file: Path, changes: tuple[str, ...], **given: Any) -> None:
    """Train a refiner: a policy that sees what is wrong with a picture and says how to mend it.

    GRPO on two rewards: the verdict, and how sure the policy itself is of the picture that an editor made of its
    instruction. Instructions that rewrite the prompt earn nothing; when the editor fails, the group abstains.

    A second call goes on from the last checkpoint. A run that degenerates (all rewards equal, no reply readable, no edit any
    more, a non-finite number) or games its reward (it rewrites the prompt, passes every picture, …) is ended with exit code
    1 and the reason. The result is in FOLDER/refine/model, which `salon refine --judge transformers:FOLDER/refine/model`
    takes.

    \b
    Example:
      salon synthetic scenes generate --output drawn --per-category 50
      salon train presets r3-refiner-7b > refiner.toml
      salon train refiner refiner.toml --dry-run
      salon train refiner refiner.toml
    """
    from salon_train.refiner.settings import read_refiner_configuration

    configuration = read_refiner_configuration(file, changes=changes_of(changes))

    def plan(environment: Mapping[str, str]) -> "StageDryRun":
        from salon_train.refiner.dry_run import dry_run

        return dry_run(configuration, environment)

    def train() -> "Callable[..., Trained]":
        from salon_train.refiner.stage import train_refiner

        return partial(train_refiner, configuration)

    train_and_show(plan, train, **given)


@click.command("refiner-demo")
@click.argument("folder", type=InputPath(file_okay=False, made=True))
@click.option("--seeds", type=click.IntRange(1, 10), default=3, show_default=True, help="Runs from random weights to the end.")
@click.option("--first-seed", type=click.IntRange(0), default=0, show_default=True, help="The others follow it.")
@click.option(
    "--arm", "arms", multiple=True, type=click.Choice(_ARMS), help="A reward to compare; repeat. Default: all of them."
)
@click.option("--steps", type=click.IntRange(min=1), help="Of GRPO. Default: the study's own.")
@OUTPUT
@FORMAT
@resumable
def refiner_demo(
    folder: Path, seeds: int, first_seed: int, arms: tuple[str, ...], steps: int | None, output: Path | None, form: str
) -> None:
    """See on a CPU which reward teaches a refiner to mend pictures, and which one teaches it to evade.

    A tiny policy learns from a teacher with bad habits and then from each reward, on drawn scenes with the draw editor. The
    table is beside R³-Bench's Table 4. Every policy is kept below FOLDER; the same command continues.

    \b
    Example:
      salon train refiner-demo study
      salon train refiner-demo quick --seeds 1 --arm hrm
      salon train refiner-demo fresh --seeds 5 --first-seed 10
    """
    from salon_train.refiner.study import Arm, StudySettings, run_study

    settings = StudySettings()
    if steps is not None:
        settings = StudySettings(grpo=settings.grpo.model_copy(update={"steps": steps}))
    results = run_study(
        folder,
        seeds=range(first_seed, first_seed + seeds),
        arms=[Arm(each) for each in arms or _ARMS],
        settings=settings,
        told=lambda line: click.echo(line, err=True),
        on_start=lambda done, total: print_continues(done, total, "arms", folder) if done else None,
    )
    means, differences = _tables(results)
    count = len({each.seed for each in results})
    ended = f"{count} {'seed' if count == 1 else 'seeds'}; 95% intervals over seeds. Policies: {folder}"
    deliver(
        means,
        [{"arm": each.arm, "seed": each.seed, **asdict(each.evaluation), "cpu_s": each.cpu_s} for each in results],
        form=form,
        output=output,
        further=[differences, ended],
        json=lambda: as_json([asdict(each) for each in results]),
    )


def _tables(results: "Sequence[ArmResult]") -> tuple[Table, Table]:
    """Return the rewards' means over seeds, and their differences paired by seed."""
    from salon_train.over_seeds import SeedMean
    from salon_train.refiner.study import PUBLISHED, Arm, paired

    rows: list[tuple[str, ...]] = []
    for arm in Arm:
        mine = [each.evaluation for each in results if each.arm is arm]
        if not mine:
            continue
        cells = [[each.s_ref for each in mine], [each.s_rect for each in mine], [each.verdict for each in mine]]
        evasive = [each.illusory for each in mine if each.illusory is not None]
        shown = [SeedMean.of(values).text() if values else "none" for values in (*cells, evasive)]
        published = [f"{value:.2f}" for value in PUBLISHED.get(arm, ())]
        rows.append((arm, *shown, *(published or ("", ""))))
    differences: list[tuple[str, ...]] = []
    pairs = [
        *((arm, Arm.COLD_START) for arm in Arm if arm is not Arm.COLD_START),
        (Arm.HRM, Arm.REASON),
        (Arm.HRM, Arm.HRM_GUARDED),
    ]
    for arm, other in pairs:
        found = paired(results, arm, other)
        if found:
            s_ref, s_rect = zip(*found.values(), strict=True)
            shown = [SeedMean.of(values, differences=True).text("+.3f") for values in (s_ref, s_rect)]
            differences.append((f"{arm} − {other}", *shown))
    return (
        Table(("reward", "S_ref", "S_rect", "verdict", "illusory", "R³-Bench: S_ref", "R³-Bench: S_rect"), rows),
        Table(("difference, paired by seed", "S_ref", "S_rect"), differences),
    )
