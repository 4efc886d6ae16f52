"""``salon train tiny``: the tiny model that a configuration names, made on the spot."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_taxonomy.cli.options import FORMAT
from salon_taxonomy.cli.output import print_json
from salon_taxonomy.errors import InputError
from salon_train.run.cli import FILE

if TYPE_CHECKING:
    from salon_train.configuration.schema import Configuration

_ARCHITECTURES = ("llava", "qwen2_5_vl")


@click.command()
@FILE
@click.option(
    "--architecture", type=click.Choice(_ARCHITECTURES), default="llava", show_default=True, help="Which family it belongs to."
)
@click.option("--image-size", type=click.IntRange(min=16), default=64, show_default=True, help="Pixels of a side that it sees.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random weights; same seed, same files.")
@click.option("--again", is_flag=True, help="Replace the model that stands there.")
@FORMAT
def tiny(file: Path, architecture: str, image_size: int, seed: int, again: bool, form: str) -> None:
    """Make a tiny model with random weights in the folder that [model] name of CONFIG.toml says.

    Its tokenizer is made from the questions and answers that the configuration's own examples lead to, so that an answer is a
    few tokens long. No network is needed. It knows nothing yet: `salon train sft` comes next.

    \b
    salon train tiny run.toml
    salon train tiny run.toml --architecture qwen2_5_vl --seed 1
    """
    from rich.console import Console

    from salon_train.configuration import read_configuration
    from salon_train.models.shapes import KNOWN
    from salon_train.run.display import said

    console = Console(stderr=True)
    configuration = read_configuration(file)
    name = configuration.model.name
    if name in KNOWN:
        hint = 'Name a folder, such as "tiny".'
        problem = "is a model on the hub, whose place a tiny one must not take:"
        raise InputError(problem, source=file, key="model.name", value=name, hint=hint)
    folder = file.absolute().parent / name
    if (folder / "config.json").exists() and not again:
        raise InputError("a model stands there", source=file, key="model.name", value=str(folder), hint="--again replaces it.")
    with said(console, "loading PyTorch and transformers"):
        from salon_train.models.tiny import Architecture, TinyShape, build_tiny_model
        from salon_train.run.callbacks import quiet
    with said(console, "reading the configured rows"):
        texts = _texts(configuration)
    with quiet(), said(console, f"learning a tokenizer from {len(texts):,} texts, writing the model"):
        made = build_tiny_model(
            folder, texts, seed=seed, architecture=Architecture(architecture), shape=TinyShape(image_size=image_size)
        )
    if form == "json":
        facts = {"folder": str(folder), "architecture": str(made.architecture), "seed": seed}
        print_json({**facts, "parameters": made.parameters, "vocabulary": made.vocabulary})
        return
    click.echo(f"{name}: {made.architecture}, {made.parameters:,} parameters, {made.vocabulary} tokens, seed {seed}")


def _texts(configuration: "Configuration") -> list[str]:
    """Every different question and answer of the configured examples, in order."""
    from salon_train.assessor.rows import rows_of
    from salon_train.data.question import Wording, answered, asked

    data = configuration.data
    texts: dict[str, None] = {}
    for example in rows_of([*data.train, *data.sft], data).examples:
        messages = asked(example, data.question or Wording.FULL) + answered(example, reasoning=data.reasoning)
        texts.update(dict.fromkeys(message["content"] for message in messages))
    return list(texts)
