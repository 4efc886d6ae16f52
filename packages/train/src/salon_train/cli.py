"""``salon train``: whether this machine can train, and the commands that do."""

from dataclasses import asdict

import rich_click as click

from salon_console.doctor import MachineCheck
from salon_console.lazy_commands import LazyCommand, LazyGroup
from salon_console.output import number_text

_COMMANDS = {
    "data": LazyCommand(
        "salon_train.data.cli:data",
        "Annotated pictures in MagicData340K's schema: check and count them, convert them for SFT and GRPO.",
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
    "image": LazyCommand(
        "salon_train.image_cli:image",
        "Train a text-to-image model of your own on a reward of its pictures: Flow-GRPO with adapters (LoRA).",
    ),
    "loop": LazyCommand(
        "salon_train.demo.cli:loop",
        "Close the loop in the drawn world: votes become a reward model, a better generator, and new votes.",
    ),
    "presets": LazyCommand(
        "salon_train.assessor.cli:presets",
        "List the recipes that runs begin with, or print the one with NAME, to be completed with your paths.",
    ),
    "refiner": LazyCommand(
        "salon_train.refiner.cli:refiner",
        "Train a refiner: a policy that sees what is wrong with a picture and says how to mend it.",
    ),
    "report": LazyCommand(
        "salon_train.report.cli:report",
        "Write one self-contained page about a training run: how it went, its curves, its monitors, what the policy wrote.",
    ),
    "reward-model": LazyCommand("salon_train.reward_model.cli:reward_model", "Train a reward model of pictures on votes."),
    "sft": LazyCommand("salon_train.assessor.cli:sft", "SFT warm-up (cold start): train on annotated answers."),
    "tiny": LazyCommand(
        "salon_train.assessor.cli:tiny",
        "Make a tiny model with random weights in the folder that [model] name of CONFIG.toml says.",
    ),
}
"""Commands with a file of their own; imported when they are called."""


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def train() -> None:
    """Train assessors and refiners on the scores that benchmarks report.

    \b
    Example:
      salon doctor
      salon train demo folder
      salon train presets magicmirror-7b > run.toml
      salon train sft run.toml
    """


def check() -> MachineCheck:
    """Run one real train step on every device of this machine, for ``salon doctor``.

    Example:
        >>> check().done
        'train'
    """
    from salon_train.doctor import diagnose

    diagnosis = diagnose()
    libraries = [
        ["python", diagnosis.python, ""],
        *([each.name, each.found or "none", each.wanted] for each in diagnosis.requirements),
    ]
    steps = [
        [
            step.device,
            step.name,
            "" if step.memory_gib is None else f"{step.memory_gib:.1f} GiB",
            *(number_text(value) for value in (step.loss_before, step.loss_after, step.seconds)),
        ]
        for step in diagnosis.steps
    ]
    return MachineCheck(
        done="train",
        tables=[
            (["library", "found", "wanted"], libraries),
            (["device", "name", "memory", "loss before", "after one step", "seconds"], steps),
            (["processors", "torch threads"], [[str(diagnosis.cpus), str(diagnosis.threads or 0)]]),
        ],
        fields=asdict(diagnosis),
        problems=diagnosis.missing,
    )
