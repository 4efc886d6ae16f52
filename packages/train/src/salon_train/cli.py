"""``salon train``: whether this machine can train, and the commands that do."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import rich_click as click

from salon_taxonomy.cli.options import FORMAT
from salon_taxonomy.cli.output import print_json
from salon_taxonomy.lazy_commands import LazyCommand, LazyGroup

if TYPE_CHECKING:
    from salon_train.doctor import Diagnosis


_COMMANDS = {
    "data": LazyCommand(
        "salon_train.data.cli:data",
        "Annotated pictures in MagicData340K's schema: check them, count them, convert them for SFT and GRPO.",
    ),
    "demo": LazyCommand(
        "salon_train.demo.cli:demo",
        "See a model learn: from random weights to an assessor of drawn pictures, on the processor, in minutes, offline.",
    ),
    "evaluate": LazyCommand(
        "salon_train.assessor.cli:evaluate",
        "Evaluate a model on the held-out pictures: F1 by label, macro, micro and artifact or not, with intervals.",
    ),
    "export": LazyCommand(
        "salon_train.assessor.cli:export",
        "Write a trained model into FOLDER, whole: adapters merged, processor, and a card with what was measured.",
    ),
    "grpo": LazyCommand(
        "salon_train.assessor.cli:grpo",
        "Let a model write answers and learn from their rewards (group relative policy optimization).",
    ),
    "image-demo": LazyCommand(
        "salon_train.image_policy.cli:image_demo",
        "See an image policy learn from a reward of its pictures: Flow-GRPO on a processor, offline, beside its controls.",
    ),
    "preset": LazyCommand(
        "salon_train.assessor.cli:preset",
        "Print the preset NAME: a configuration with every published setting, to be completed with your paths.",
    ),
    "presets": LazyCommand(
        "salon_train.assessor.cli:presets", "List the recipes that runs begin with, and the files for `accelerate launch`."
    ),
    "refine": LazyCommand(
        "salon_train.refiner.cli:refine",
        "Train a refiner: a policy that sees what is wrong with a picture and says how to mend it.",
    ),
    "refine-demo": LazyCommand(
        "salon_train.refiner.cli:refine_demo",
        "See on a CPU which reward teaches a refiner to mend pictures, and which one teaches it to evade.",
    ),
    "report": LazyCommand(
        "salon_train.report.cli:report",
        "Write one self-contained page about a training run: how it went, its curves, its monitors, what the policy wrote.",
    ),
    "sft": LazyCommand("salon_train.assessor.cli:sft", "SFT warm-up (cold start): train on annotated answers."),
    "tiny": LazyCommand(
        "salon_train.assessor.tiny:tiny",
        "Make a tiny model with random weights in the folder that [model] name of CONFIG.toml says.",
    ),
    "world": LazyCommand(
        "salon_train.world:world", "Pictures with exact truth, to learn from: drawn ones, and damaged photographs."
    ),
}
"""Commands with a file of their own; imported when they are called."""


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def train() -> None:
    """Train assessors and refiners on the scores that benchmarks report.

    \b
    salon train doctor
    """


@train.command()
@FORMAT
@click.pass_context
def doctor(context: click.Context, form: str) -> None:
    """Check whether this machine can train, by running one real train step on every device.

    Prints versions, devices and what is missing. Exits with 0 when training can start here, with 1 when it cannot; a
    machine without an accelerator is slow, not ill.

    \b
    salon train doctor
    salon train doctor --format json
    """
    from salon_train.doctor import diagnose

    diagnosis = diagnose()
    if form == "json":
        print_json({"ready": diagnosis.ready, **asdict(diagnosis)})
    else:
        _print(diagnosis)
    if not diagnosis.ready:
        context.exit(1)


def _print(diagnosis: "Diagnosis") -> None:
    from rich.console import Console
    from rich.table import Table

    libraries = Table("library", "found", "wanted")
    libraries.add_row("python", diagnosis.python, "")
    for requirement in diagnosis.requirements:
        libraries.add_row(requirement.name, requirement.found or "none", requirement.wanted)
    devices = Table("device", "name", "memory", "loss before", "after one step", "seconds")
    for step in diagnosis.steps:
        memory = "" if step.memory_gib is None else f"{step.memory_gib:.1f} GiB"
        figures = [_figure(value) for value in (step.loss_before, step.loss_after, step.seconds)]
        devices.add_row(step.device, step.name, memory, *figures)
    console = Console()
    console.print(libraries)
    console.print(devices)
    console.print(f"{diagnosis.cpus} processors, {diagnosis.threads or 0} torch threads", highlight=False)
    for problem in diagnosis.missing:
        click.echo(f"missing: {problem}", err=True)
    click.echo("ready to train" if diagnosis.ready else "not ready to train")


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
