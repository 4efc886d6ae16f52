"""``salon train sft | grpo | evaluate | export``, and what runs begin with: presets, a tiny model. Parse, one call, print."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import rich_click as click

from salon_console.file_options import InputPath, OutputPath, refuse_overwriting
from salon_console.options import FORMAT, OUTPUT
from salon_console.output import as_json, deliver, print_json
from salon_console.table_files import Table
from salon_taxonomy.errors import InputError
from salon_train.run.cli import FILE, changes_of, set_option, stage_options, train_and_show

if TYPE_CHECKING:
    from salon_train.configuration import Configuration
    from salon_train.run.dry_run import StageDryRun
    from salon_train.run.stage import Trained


@click.command()
@stage_options()
def sft(**options: Any) -> None:
    """SFT warm-up (cold start): train on annotated answers.

    A second call continues from the last checkpoint, with the same rows and, on the processor, to the same weights as without
    a break. The result is in FOLDER/sft/model.

    \b
    salon train sft run.toml --dry-run
    salon train sft run.toml
    salon train sft run.toml --set sft.steps=10 --again
    """
    _train("sft", **options)


@click.command()
@stage_options()
def grpo(**options: Any) -> None:
    """Let a model write answers and learn from their rewards (group relative policy optimization).

    A second call continues from the last checkpoint. A run that degenerates (all rewards equal, no answer readable, a number
    that is not finite) is ended with exit code 1 and the reason. The result is in FOLDER/grpo/model.

    \b
    salon train grpo run.toml --dry-run
    salon train grpo run.toml
    """
    _train("grpo", **options)


@click.command()
@FILE
@click.option(
    "--of", "which", default="grpo", show_default=True, metavar="STAGE|FOLDER", help="sft, grpo, model (untrained) or a folder."
)
@click.option("--answers", type=OutputPath(), help="Also write the answers, as JSON Lines.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many pictures, the first ones. Default: all of them.")
@click.option("--bootstrap", "replicates", type=click.IntRange(min=0), default=1000, show_default=True, help="0: no intervals.")
@set_option()
@OUTPUT
@FORMAT
def evaluate(
    file: Path,
    which: str,
    answers: Path | None,
    limit: int | None,
    replicates: int,
    changes: tuple[str, ...],
    output: Path | None,
    form: str,
) -> None:
    """Evaluate a model on the held-out pictures: F1 by label, macro, micro and artifact or not, with intervals.

    Answers are greedy, about every picture (evaluation.limit is for evaluation during training). Also shown: share of 'normal'
    answers, answer length, and unreadable answers (they count as giving no label).

    \b
    salon train evaluate run.toml --of sft
    salon train evaluate run.toml --of grpo --answers answers.jsonl
    salon train evaluate run.toml --of model --format json
    """
    from rich.console import Console
    from rich.progress import Progress

    from salon_bench.cli.assessor import show_evaluation
    from salon_train.assessor.evaluation import measure

    configuration = _read(file, changes)
    if answers is not None and not answers.absolute().parent.is_dir():
        raise InputError("there is no such folder", source=answers.parent, column="--answers", value=answers.name)
    data = configuration.data
    files = {name: Path(name) for name in (*data.train, *data.sft, *data.held_out)}
    outputs = {"--answers": answers, "--output": output}
    refuse_overwriting({name: path for name, path in outputs.items() if path is not None}, files)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("answering", total=None)
        held_out = measure(configuration, which, limit=limit, progressed=lambda count: bar.advance(task, count))
    if answers is not None:
        held_out.write(answers)
    about = {"of": which, "pictures": len(held_out.texts), **held_out.metrics()}
    evaluation = held_out.evaluation(replicates=replicates, seed=configuration.run.seed)
    show_evaluation(evaluation, "main", form, output, about=about)
    if form == "table":
        printed = {
            name: value for name, value in held_out.metrics().items() if name.startswith(("normal", "invalid", "length"))
        }
        click.echo("  ".join(f"{name} {value:.4g}" for name, value in printed.items() if value is not None))


@click.command()
@FILE
@click.argument("folder", type=InputPath(made=True))
@click.option("--of", "which", default="grpo", show_default=True, metavar="STAGE|FOLDER", help="sft, grpo or a folder.")
@set_option()
def export(file: Path, folder: Path, which: str, changes: tuple[str, ...]) -> None:
    """Write a trained model into FOLDER, whole: adapters merged, processor, and a card with what was measured.

    The folder loads through transformers' Auto classes, and is a judge: transformers:FOLDER.

    \b
    salon train export run.toml assessor
    salon train export run.toml cold-start --of sft
    """
    from salon_train.assessor.export import export as write

    written = write(_read(file, changes), which, folder)
    merged = ", adapters merged" if written.merged else ""
    click.echo(f"{written.folder}: {written.parameters:,} parameters{merged}. As a judge: transformers:{written.folder}")


@click.command()
@click.argument("name", required=False)
@click.option("--launch", "launching", is_flag=True, help="NAME is a file for `accelerate launch --config_file`.")
@OUTPUT
@FORMAT
def presets(name: str | None, launching: bool, output: Path | None, form: str) -> None:
    """List the recipes that runs begin with, or print the one with NAME, to be completed with your paths.

    A recipe is a configuration with every setting that its paper published.

    \b
    Example:
      salon train presets
      salon train presets magicmirror-7b > run.toml
      salon train presets fsdp --launch > accelerate.yaml
    """
    from salon_train.configuration import recipes

    if name is not None and (form == "json" or output is not None):
        option = "--format json" if form == "json" else "--output"
        raise click.UsageError(f"{option} goes with the list; a recipe is printed as the file that it is")
    if name is not None:
        click.echo(recipes.launch(name) if launching else recipes.preset(name), nl=False)
        return
    names, files = recipes.preset_names(), recipes.launch_names()
    if launching:
        raise click.UsageError(f"--launch needs the NAME of a file; there are: {', '.join(files)}")
    about = {each: recipes.about(each) for each in names}
    deliver(
        Table(("preset", "what it is"), list(about.items())),
        [{"preset": each, "about": words} for each, words in about.items()],
        form=form,
        output=output,
        further=[f"For accelerate launch (`salon train presets NAME --launch`): {', '.join(files)}"],
        json=lambda: as_json({"presets": about, "launch": list(files)}),
    )


@click.command()
@FILE
@click.option(
    "--architecture",
    type=click.Choice(["llava", "qwen2_5_vl"]),
    default="llava",
    show_default=True,
    help="Which family it belongs to.",
)
@click.option("--image-size", type=click.IntRange(min=16), default=64, show_default=True, help="Pixels of a side that it sees.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random weights; same seed, same files.")
@click.option("--again", is_flag=True, help="Replace the model in the folder.")
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

    from salon_train.models.shapes import KNOWN
    from salon_train.run.display import spinner

    console = Console(stderr=True)
    configuration = _read(file, ())
    name = configuration.model.name
    if name in KNOWN:
        hint = 'Name a folder, such as "tiny".'
        problem = "is a model on the hub, whose place a tiny one must not take:"
        raise InputError(problem, source=file, key="model.name", value=name, hint=hint)
    folder = file.absolute().parent / name
    if (folder / "config.json").exists() and not again:
        raise InputError(
            "the folder contains a model", source=file, key="model.name", value=str(folder), hint="--again replaces it."
        )
    with spinner(console, "loading PyTorch and transformers"):
        from salon_train.models.tiny import Architecture, TinyShape, build_tiny_model
        from salon_train.run.callbacks import quiet
    with spinner(console, "reading the configured rows"):
        texts = _texts(configuration)
    with quiet(), spinner(console, f"learning a tokenizer from {len(texts):,} texts, writing the model"):
        built = build_tiny_model(
            folder, texts, seed=seed, architecture=Architecture(architecture), shape=TinyShape(image_size=image_size)
        )
    if form == "json":
        facts = {"folder": str(folder), "architecture": str(built.architecture), "seed": seed}
        print_json({**facts, "parameters": built.parameters, "vocabulary": built.vocabulary})
        return
    click.echo(f"{name}: {built.architecture}, {built.parameters:,} parameters, {built.vocabulary} tokens, seed {seed}")


def _train(stage: Literal["sft", "grpo"], file: Path, changes: tuple[str, ...], **options: Any) -> None:
    configuration = _read(file, changes)

    def plan(environment: Mapping[str, str]) -> "StageDryRun":
        from salon_train.assessor.dry_run import dry_run

        return dry_run(configuration, stage, environment)

    def train() -> "Callable[..., Trained]":
        from salon_train.assessor.stages import train_grpo, train_sft

        return partial(train_sft if stage == "sft" else train_grpo, configuration)

    train_and_show(plan, train, **options)


def _read(file: Path, changes: tuple[str, ...]) -> "Configuration":
    from salon_train.configuration import read_configuration

    return read_configuration(file, changes=changes_of(changes))


def _texts(configuration: "Configuration") -> list[str]:
    """Return every different question and answer of the configured examples, in order."""
    from salon_train.assessor.rows import rows_of
    from salon_train.data.question import Wording, answered, asked

    data = configuration.data
    texts: dict[str, None] = {}
    for example in rows_of([*data.train, *data.sft], data).examples:
        messages = asked(example, data.question or Wording.FULL) + answered(example, reasoning=data.reasoning)
        texts.update(dict.fromkeys(message["content"] for message in messages))
    return list(texts)
