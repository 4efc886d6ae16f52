"""``salon train sft | grpo | evaluate | export``, and the presets that runs begin with. Parse, one call, print."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_taxonomy.errors import IncompleteError, InputError, SalonError
from salon_taxonomy.file_options import InputPath, OutputPath, refuse_overwriting
from salon_train.run.processes import Processes, leave, said_elsewhere

if TYPE_CHECKING:
    from salon_train.configuration import Configuration
    from salon_train.configuration.schema import StageConfiguration
    from salon_train.run.dry_run import DryRun
    from salon_train.run.folder import Stage

_FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
_FILE = click.argument("file", metavar="CONFIG.toml", type=InputPath())
_SET = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="A setting in place of the file's: grpo.steps=10. Repeat."
)
_AGAIN = click.option("--again", is_flag=True, help="Remove what the stage has done before, and begin again.")
_DRY = click.option("--dry-run", is_flag=True, help="Check everything, print the plan, and train nothing.")


@click.command()
@_FILE
@_SET
@_AGAIN
@_DRY
@_FORMAT
def sft(file: Path, changes: tuple[str, ...], again: bool, dry_run: bool, form: str) -> None:
    """Cold start: teach a model the form of answers, by imitation.

    A second call goes on from the last checkpoint, with the same rows and, on the processor, to the same weights as without
    a break. The result is in FOLDER/sft/model.

    \b
    salon train sft run.toml --dry-run
    salon train sft run.toml
    salon train sft run.toml --set sft.steps=10 --again
    """
    train_and_show(_read(file, changes), "sft", again=again, dry_run=dry_run, form=form)


@click.command()
@_FILE
@_SET
@_AGAIN
@_DRY
@_FORMAT
def grpo(file: Path, changes: tuple[str, ...], again: bool, dry_run: bool, form: str) -> None:
    """Let a model write answers and learn from their rewards (group relative policy optimization).

    A second call goes on from the last checkpoint. A run that degenerates (all rewards equal, no answer readable, a non-finite
    number) is ended with exit code 1 and the reason. The result is in FOLDER/grpo/model.

    \b
    salon train grpo run.toml --dry-run
    salon train grpo run.toml
    """
    train_and_show(_read(file, changes), "grpo", again=again, dry_run=dry_run, form=form)


@click.command()
@_FILE
@click.option(
    "--of", "which", default="grpo", show_default=True, metavar="STAGE|FOLDER", help="sft, grpo, model (untrained) or a folder."
)
@click.option("--answers", type=OutputPath(), help="Also write the answers, as JSON Lines.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many pictures, the first ones. Default: all of them.")
@click.option("--bootstrap", "replicates", type=click.IntRange(min=0), default=1000, show_default=True, help="0: no intervals.")
@_SET
@_FORMAT
def evaluate(
    file: Path,
    which: str,
    answers: Path | None,
    limit: int | None,
    replicates: int,
    changes: tuple[str, ...],
    form: str,
) -> None:
    """Evaluate a model on the held-out pictures: F1 by label, macro, micro and artifact or not, with intervals.

    Answers are greedy, about every picture (evaluation.limit is for evaluation during training). Beside F1 stand how often the
    model says that a picture is normal, how long its answers are, and how many cannot be read (they count as giving no label).

    \b
    salon train evaluate run.toml --of sft
    salon train evaluate run.toml --of grpo --answers answers.jsonl
    salon train evaluate run.toml --of model --format json
    """
    from rich.console import Console
    from rich.progress import Progress

    from salon_bench.cli.assessor import show_evaluation
    from salon_train.assessor.measuring import measure

    configuration = _read(file, changes)
    if answers is not None and not answers.absolute().parent.is_dir():
        raise InputError("there is no such folder", source=answers.parent, column="--answers", value=answers.name)
    if answers is not None:
        data = configuration.data
        files = {name: Path(name) for name in (*data.train, *data.sft, *data.held_out)}
        refuse_overwriting({"--answers": answers}, files)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("answering", total=None)
        held_out = measure(configuration, which, limit=limit, progressed=lambda count: bar.advance(task, count))
    if answers is not None:
        held_out.write(answers)
    if form == "json":
        _print_json({"of": which, "pictures": len(held_out.texts), **held_out.metrics()})
        return
    show_evaluation(held_out.evaluation(replicates=replicates, seed=configuration.run.seed), "main", form)
    shown = {name: value for name, value in held_out.metrics().items() if name.startswith(("normal", "invalid", "length"))}
    click.echo("  ".join(f"{name} {value:.4g}" for name, value in shown.items() if value is not None))


@click.command()
@_FILE
@click.argument("folder", type=InputPath())
@click.option("--of", "which", default="grpo", show_default=True, metavar="STAGE|FOLDER", help="sft, grpo or a folder.")
@_SET
def export(file: Path, folder: Path, which: str, changes: tuple[str, ...]) -> None:
    """Write a trained model into FOLDER, whole: adapters merged, processor, and a card with what was measured.

    The folder loads through transformers' Auto classes, and is a judge: transformers:FOLDER.

    \b
    salon train export run.toml assessor
    salon train export run.toml cold-start --of sft
    """
    from salon_train.run.export import export as write

    written = write(_read(file, changes), which, folder)
    merged = ", adapters merged" if written.merged else ""
    click.echo(f"{written.folder}: {written.parameters:,} parameters{merged}. As a judge: transformers:{written.folder}")


@click.command()
@_FORMAT
def presets(form: str) -> None:
    """List the recipes that runs begin with, and the files for `accelerate launch`.

    \b
    salon train presets
    """
    from salon_train.configuration import launch_names, preset_names
    from salon_train.configuration.recipes import about

    if form == "json":
        _print_json({"presets": {name: about(name) for name in preset_names()}, "launch": list(launch_names())})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("preset", "what it is", box=None)
    for name in preset_names():
        table.add_row(name, about(name))
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    click.echo(f"For accelerate launch (`salon train preset --launch NAME`): {', '.join(launch_names())}")


@click.command()
@click.argument("name")
@click.option("--launch", "launching", is_flag=True, help="NAME is a file for `accelerate launch --config_file`.")
def preset(name: str, launching: bool) -> None:
    """Print the preset NAME: a configuration with every published setting, to be completed with your paths.

    \b
    salon train preset magicmirror-7b > run.toml
    salon train preset fsdp --launch > accelerate.yaml
    """
    from salon_train.configuration import recipes

    click.echo(recipes.launch(name) if launching else recipes.preset(name), nl=False)


def train_and_show(configuration: "StageConfiguration", stage: "Stage", *, again: bool, dry_run: bool, form: str) -> None:
    """Plan or run one stage of a configured run, and print what it ended with; the same for every stage."""
    processes = Processes.of(os.environ)
    if dry_run and not processes.first:
        return
    if dry_run:
        from salon_train.run.callbacks import quiet

        if stage == "refine":
            from salon_train.refiner.dry_run import dry_run as refiner_plan

            plan_of: Any = partial(refiner_plan, configuration)  # type: ignore[arg-type]  # a refiner's, for this stage
        else:
            from salon_train.assessor.dry_run import dry_run as assessor_plan

            plan_of = partial(assessor_plan, configuration, stage)  # type: ignore[arg-type]
        with quiet():
            plan = plan_of(os.environ)
        show_plan(plan, form)
        return
    from rich.console import Console

    from salon_train.run.display import HELD_OUT, ConsoleWatcher, facts_of, said

    console = Console(stderr=True, quiet=not processes.first)
    with said(console, "loading PyTorch and transformers"):
        if stage == "refine":
            from salon_train.refiner.stage import train_refiner

            train: Any = train_refiner
        else:
            from salon_train import assessor

            train = assessor.train_sft if stage == "sft" else assessor.train_grpo
    with one_voice(), ConsoleWatcher(console) as watcher:
        trained = train(configuration, environment=os.environ, watcher=watcher, again=again)
    if not processes.first:
        return
    if form == "json":
        _print_json(
            {
                "model": str(trained.model),
                "steps": trained.steps,
                "resumed_from": trained.resumed_from,
                "already_finished": trained.already,
                "first": trained.first,
                "last": trained.last,
                "evaluation": dict(trained.evaluation),
            }
        )
        return
    rewards = [numbers["reward"] for numbers in (trained.first, trained.last) if "reward" in numbers]
    paid = f", reward {rewards[0]:.3f} to {rewards[1]:.3f}" if len(rewards) == 2 else ""
    click.echo(f"{'Finished before' if trained.already else 'Finished'}: {trained.steps} steps{paid}.")
    if trained.evaluation:
        click.echo(f"Held out: {facts_of(trained.evaluation, HELD_OUT)}")
    click.echo(f"Model: {trained.model}")


@contextmanager
def one_voice() -> Iterator[None]:
    """Of several processes that raise the same error the first one prints it; all of them exit with its code."""
    try:
        yield
    except SalonError as error:
        if not said_elsewhere(error):
            raise
        sys.exit(1 if isinstance(error, IncompleteError) else 2)
    leave()


def show_plan(plan: "DryRun", form: str) -> None:
    """Print what a stage would do, as a table or as JSON."""
    if form == "json":
        _print_json(plan.as_dict())
        return
    from rich.console import Console
    from rich.table import Table

    parts = Table("part", "parameters", "that learn", box=None)
    for part, count in plan.parameters.items():
        parts.add_row(part, f"{count:,}", f"{plan.learning[part]:,}")
    whole, learning = sum(plan.parameters.values()), sum(plan.learning.values())
    parts.add_row("all", f"{whole:,}", f"{learning:,} ({100 * learning / whole:.2f} %)")
    memory = Table("memory on one device", "GiB", box=None)
    for name, held in plan.memory.parts.items():
        memory.add_row(name, f"{held / (1 << 30):.2f}")
    memory.add_row("all (estimated)", f"{plan.memory.total / (1 << 30):.2f}")
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    console.print(parts, "", memory, "", sep="\n")
    click.echo(
        f"{plan.steps} steps of {plan.batch} sequences ({plan.device_batch} at once on each of {plan.devices} devices, "
        f"{plan.accumulated} passes), {plan.prompts} prompts at once, {plan.epochs:.2f} epochs"
    )
    if plan.quota:
        click.echo("prompts at once by bucket: " + ", ".join(f"{bucket} {count}" for bucket, count in plan.quota.items()))
    click.echo("examples by bucket: " + ", ".join(f"{bucket} {count}" for bucket, count in plan.examples.items()))
    click.echo(f"held out: {plan.held_out} pictures; longest question counted: {plan.tokens or 'unknown'} tokens")
    if plan.rewards:
        shown = [
            f"{name} × {weight:g}" if isinstance(weight, float) else f"{name} ({weight})"
            for name, weight in plan.rewards.items()
        ]
        click.echo("rewards: " + ", ".join(shown))
    for judge in plan.judges:
        click.echo(f"judge answers: {judge}")
    if plan.editor:
        click.echo(f"editor: {plan.editor}")
    for note in plan.notes:
        click.echo(f"note: {note}", err=True)


def _read(file: Path, changes: tuple[str, ...]) -> "Configuration":
    from salon_train.configuration import read_configuration

    return read_configuration(file, changes=changes_of(changes))


def changes_of(given: tuple[str, ...]) -> Mapping[str, Any]:
    """``grpo.steps=10`` as a key and a TOML value; a word that is no TOML is a text."""
    import tomllib

    changes = {}
    for each in given:
        key, sign, value = each.partition("=")
        if not sign or not key.strip():
            raise InputError("is no KEY=VALUE", source="--set", value=each)
        try:
            changes[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            changes[key.strip()] = value.strip()
    return changes


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
