"""``salon train reward-model``: votes become a reward model. Parse, one library call, print."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, resumable
from salon_console.output import print_json
from salon_taxonomy.errors import InputError
from salon_train.run.cli import changes_of, of_option, report_once, set_option, show_sizes, show_trained

if TYPE_CHECKING:
    from salon_train.configuration.reward_model import RewardModelConfiguration

_LOSSES = ("bradley-terry", "davidson", "rao-kupper", "unsure")


@click.command("reward-model")
@click.argument("pairs", metavar="PAIRS", type=InputPath(tables=True))
@click.option("--backbone", metavar="NAME", help="CLIP, SigLIP, BLIP or a vision-language model: of the hub, or a folder.")
@click.option(
    "--recipe", metavar="NAME|FILE", help="Settings to begin with: hpsv3, imagereward, videoreward, or a TOML file like them."
)
@click.option("--output", required=True, type=InputPath(file_okay=False, made=True), help="Folder of the run.")
@click.option(
    "--loss",
    type=click.Choice(_LOSSES),
    help="davidson, rao-kupper: ties count. unsure: rewards with a deviation. Default: bradley-terry.",
)
@click.option(
    "--rank", type=click.IntRange(0), help="Of adapters (LoRA); 0: the head alone learns. Default: every weight does."
)
@click.option("--epochs", type=click.IntRange(1), help="Passes over the pairs. Default: 4.")
@set_option("learning.learning_rate=1e-5", "default")
@click.option("--device", default="cpu", show_default=True, help="cuda, cuda:1, or cpu.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of adapters and the order of the pairs.")
@click.option("--again", is_flag=True, help="Remove what the run has done before, and begin again.")
@click.option("--dry-run", is_flag=True, help="Check the pairs, print memory and time, and train nothing.")
@FORMAT
@resumable
def reward_model(
    pairs: Path,
    backbone: str | None,
    recipe: str | None,
    output: Path,
    changes: tuple[str, ...],
    again: bool,
    dry_run: bool,
    form: str,
    **options: Any,
) -> None:
    """Train a reward model of pictures on votes.

    PAIRS is a file of `salon votes pairs` (prompt, chosen, rejected, votes, split; with --undecided for losses with ties), or
    any table with prompt, chosen and rejected. A second call continues from the last checkpoint. The result is a scorer:
    `salon bench run scorer --scorer reward-model:OUTPUT/reward-model/model`, and a reward of that name.

    --recipe begins with the numbers that a paper's authors released (`salon train presets hpsv3` prints them); other options
    and --set come before it. --set changes every other setting, SECTION.NAME=VALUE: learning.batch, learning.device_batch
    (pairs at once; the rest is accumulated), learning.learning_rate, and learning.rater_noise, the chance that a vote is for
    the other picture.

    \b
    Example:
      salon votes pairs results --held-out 0.2 --output pairs.parquet
      salon train reward-model pairs.parquet --backbone openai/clip-vit-base-patch32 --rank 16 --device cuda --output run
      salon train reward-model pairs.parquet --recipe hpsv3 --output run --dry-run
    """
    from rich.console import Console

    from salon_train.configuration.reading import put
    from salon_train.configuration.reward_model import configured
    from salon_train.run.display import ConsoleWatcher, spinner

    sections = {
        "backbone": ("rank", "device"),
        "run": ("seed",),
        "learning": ("loss", "epochs"),
    }
    values: dict[str, Any] = {} if recipe is None else _recipe(recipe)
    for section, names in sections.items():
        values[section] = {
            **values.get(section, {}),
            **{name: options[name] for name in names if options[name] is not None},
        }
    if backbone is not None:
        values["backbone"]["name"] = backbone
    elif recipe is None:
        raise click.UsageError("Missing option '--backbone', or '--recipe' with one.")
    values["run"]["folder"] = str(output)
    values["preferences"] = {"file": str(pairs)}
    for key, value in changes_of(changes).items():
        put(values, key, value)
    try:
        configuration = configured(values)
    except InputError as error:
        settings = {f"{section}.{name}": name for section, names in sections.items() for name in names}
        raise of_option(error, reward_model, settings) from error
    if dry_run:
        _show_plan(configuration, form)
        return
    console = Console(stderr=True)
    with spinner(console, "loading PyTorch and transformers"):
        from salon_train.reward_model.stage import train_reward_model
    with report_once(), ConsoleWatcher(console) as watcher:
        trained = train_reward_model(configuration, watcher=watcher, again=again)
    show_trained(trained, form)


def _recipe(name: str) -> dict[str, Any]:
    """Return the settings of a preset or of a file, by section."""
    from salon_taxonomy.toml_files import parse_toml, read_text
    from salon_train.configuration.recipes import preset, preset_names

    file = Path(name)
    if file.is_file():
        values = parse_toml(read_text(file), source=file)
        for section, settings in values.items():
            if not isinstance(settings, dict):
                hint = f"Write [{section}], and its settings below."
                raise InputError("must be a table, not", source=file, key=section, value=settings, hint=hint)
        return values
    presets = {each: parse_toml(preset(each), source=Path(each)) for each in preset_names()}
    recipes = {each: values for each, values in presets.items() if "backbone" in values}
    if name not in recipes:
        raise InputError("there is no such recipe of a reward model:", source="--recipe", value=name, allowed=[*recipes])
    return recipes[name]


def _show_plan(configuration: "RewardModelConfiguration", form: str) -> None:
    from salon_train.reward_model.dry_run import SPEED
    from salon_train.reward_model.dry_run import dry_run as planned
    from salon_train.run.callbacks import quiet

    with quiet():
        plan = planned(configuration)
    if form == "json":
        print_json(plan.as_dict())
        return
    show_sizes(plan.parameters, plan.learning, plan.memory)
    click.echo(
        f"{plan.steps:,} updates of {plan.batch} pairs ({plan.device_batch} at once); "
        f"{plan.pairs:,} pairs to learn from, {plan.held_out:,} held out; about {plan.tokens:,} tokens for each picture"
    )
    click.echo(f"about {plan.operations:.1e} operations: {plan.hours:.1f} hours at {SPEED:.3g} a second (an A100 at 40%)")
    for note in plan.notes:
        click.echo(f"note: {note}", err=True)
