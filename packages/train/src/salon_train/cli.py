"""``salon train``: whether this machine can train, and the commands that do."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from salon_train.doctor import Diagnosis


_COMMANDS: dict[str, str] = {
    "data": "salon_train.data.cli:data",
    "demo": "salon_train.lab.cli:demo",
    "evaluate": "salon_train.trainers.cli:evaluate",
    "export": "salon_train.trainers.cli:export",
    "grpo": "salon_train.trainers.cli:grpo",
    "preset": "salon_train.trainers.cli:preset",
    "presets": "salon_train.trainers.cli:presets",
    "refine": "salon_train.refining.cli:refine",
    "refine-demo": "salon_train.refining.cli:refine_demo",
    "report": "salon_train.report.cli:report",
    "sft": "salon_train.trainers.cli:sft",
    "tiny": "salon_train.models.cli:tiny",
    "world": "salon_train.world.cli:world",
}
"""Commands that stand in a file of their own (``module:attribute``); imported when they are called."""


class TrainGroup(click.RichGroup):
    """A group that imports some of its commands only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command; None for an unknown name."""
        if cmd_name in _COMMANDS:
            from importlib import import_module

            module, _, name = _COMMANDS[cmd_name].partition(":")
            command: click.Command = getattr(import_module(module), name)
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=TrainGroup, context_settings={"help_option_names": ["-h", "--help"]})
def train() -> None:
    """Train assessors and refiners on the scores that benchmarks report.

    \b
    salon train doctor
    """


@train.command()
@click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
@click.pass_context
def doctor(context: click.Context, output: str) -> None:
    """Check whether this machine can train, by running one real train step on every device.

    Prints versions, devices and what is missing. Exits with 0 when training can start here, with 1 when it cannot; a
    machine without an accelerator is slow, not ill.

    \b
    salon train doctor
    salon train doctor --format json
    """
    from salon_train.doctor import diagnose

    diagnosis = diagnose()
    if output == "json":
        click.echo(json.dumps({"ready": diagnosis.ready, **asdict(diagnosis)}, indent=2))
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
