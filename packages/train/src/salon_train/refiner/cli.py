"""``salon train refiner``: train a refiner. Parse, one call, print."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_train.run.cli import changes_of, stage_options, train_and_show

if TYPE_CHECKING:
    from salon_train.run.dry_run import StageDryRun
    from salon_train.run.stage import Trained


@click.command()
@stage_options("refine.steps=10")
def refiner(file: Path, changes: tuple[str, ...], **options: Any) -> None:
    """Train a refiner: a policy that sees what is wrong with a picture and says how to mend it.

    GRPO on two rewards: the verdict, and how sure the policy itself is of the picture that an editor made of its
    instruction. Instructions that rewrite the prompt earn nothing; when the editor fails, the group abstains.

    A second call continues from the last checkpoint. A run that degenerates (all rewards equal, no reply readable, no edit any
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

    train_and_show(plan, train, **options)
