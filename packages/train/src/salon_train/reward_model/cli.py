"""``salon train reward-model``: votes become a reward model. Parse, one library call, print."""

from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, resumable
from salon_taxonomy.errors import InputError
from salon_train.run.cli import changes_of, of_option, report_once, set_option, show_trained

_LOSSES = ("bradley-terry", "davidson", "rao-kupper", "unsure")


@click.command("reward-model")
@click.argument("pairs", metavar="PAIRS", type=InputPath(tables=True))
@click.option(
    "--backbone", required=True, metavar="NAME", help="CLIP, SigLIP or a vision-language model: of the hub, or a folder."
)
@click.option("--output", required=True, type=InputPath(file_okay=False, made=True), help="Folder of the run.")
@click.option(
    "--loss",
    type=click.Choice(_LOSSES),
    default="bradley-terry",
    show_default=True,
    help="davidson, rao-kupper: ties count. unsure: rewards with a deviation.",
)
@click.option(
    "--rank", type=click.IntRange(0), help="Of adapters (LoRA); 0: the head alone learns. Default: every weight does."
)
@click.option("--epochs", type=click.IntRange(1), default=4, show_default=True, help="Passes over the pairs.")
@set_option("learning.learning_rate=1e-5", "default")
@click.option("--device", default="cpu", show_default=True, help="cuda, cuda:1, or cpu.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of adapters and the order of the pairs.")
@click.option("--again", is_flag=True, help="Remove what the run has done before, and begin again.")
@FORMAT
@resumable
def reward_model(
    pairs: Path, backbone: str, output: Path, changes: tuple[str, ...], again: bool, form: str, **options: Any
) -> None:
    """Train a reward model of pictures on votes.

    PAIRS is a file of `salon votes pairs` (prompt, chosen, rejected, votes, split; with --undecided for losses with ties), or
    any table with prompt, chosen and rejected. A second call continues from the last checkpoint. The result is a scorer:
    `salon bench run scorer --scorer reward-model:OUTPUT/reward-model/model`, and a reward of that name.

    --set changes every other setting, SECTION.NAME=VALUE: learning.batch, learning.learning_rate, and learning.rater_noise,
    the chance that a vote is for the other picture.

    \b
    Example:
      salon votes pairs results --held-out 0.2 --output pairs.parquet
      salon train reward-model pairs.parquet --backbone openai/clip-vit-base-patch32 --rank 16 --device cuda --output run
    """
    from rich.console import Console

    from salon_train.configuration.reading import put
    from salon_train.configuration.reward_model import configured
    from salon_train.run.display import ConsoleWatcher, said

    sections = {
        "backbone": ("rank", "device"),
        "run": ("seed",),
        "learning": ("loss", "epochs"),
    }
    values: dict[str, dict[str, Any]] = {
        section: {name: options[name] for name in names} for section, names in sections.items()
    }
    values["backbone"]["name"] = backbone
    values["run"]["folder"] = str(output)
    values["preferences"] = {"file": str(pairs)}
    for key, value in changes_of(changes).items():
        put(values, key, value)
    try:
        configuration = configured(values)
    except InputError as error:
        settings = {f"{section}.{name}": name for section, names in sections.items() for name in names}
        raise of_option(error, reward_model, settings) from error
    console = Console(stderr=True)
    with said(console, "loading PyTorch and transformers"):
        from salon_train.reward_model.stage import train_reward_model
    with report_once(), ConsoleWatcher(console) as watcher:
        trained = train_reward_model(configuration, watcher=watcher, again=again)
    show_trained(trained, form)
