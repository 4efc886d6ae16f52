"""``salon train image``: an image policy learns from a reward. Parse, one library call, print."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, resumable
from salon_taxonomy.errors import InputError
from salon_train.run.cli import changes_of, of_option, report_once, set_option, show_trained


@click.command("image")
@click.option(
    "--demo",
    type=click.Choice(["words"]),
    help="Train a small policy to write three letters, rewarded by a text recogniser, in minutes on a processor. With "
    "--output, --seed and --again alone.",
)
@click.option(
    "--model",
    "policy__model",
    metavar="NAME",
    help="Stable Diffusion 3 or 3.5: of the hub, or a folder. Required without --demo.",
)
@click.option(
    "--prompts",
    "prompts__file",
    metavar="FILE",
    type=InputPath(),
    help="Prompts that earn a reward, one in a line; or a table.",
)
@click.option("--reward", "paid__reward", metavar="NAME", help="scorer:NAME, scorer:./metrics.py:FUNCTION, suite:NAME.")
@click.option(
    "--preferences",
    "preferences__file",
    metavar="PAIRS",
    type=InputPath(tables=True),
    help="Learn from pairs of `salon votes pairs` in place of a reward (Diffusion-DPO).",
)
@click.option("--output", "run__folder", required=True, type=InputPath(file_okay=False, made=True), help="Folder of the run.")
@click.option("--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="Of the reward, as JSON or text; repeat.")
@click.option("--judge", metavar="SPEC", help="The judge of a reward that asks one: KIND:MODEL@URL or a TOML file.")
@click.option(
    "--on-unscored",
    "paid__on_unscored",
    metavar="POLICY",
    help="For a missing score: nan (it takes no part), mean, raise, a number. Default: nan.",
)
@click.option(
    "--held-out",
    "evaluation__held_out",
    metavar="FILE",
    type=InputPath(),
    help="Prompts that earn no reward, for measurements.",
)
@click.option("--device", "policy__device", metavar="NAME", help="cuda, cuda:1, or cpu for a small model. Default: cuda.")
@click.option(
    "--dtype", "policy__dtype", metavar="NAME", help="Of the frozen weights: bfloat16 or float32. Default: by the device."
)
@click.option("--width", "policy__width", type=int, help="Of a picture in pixels. Default: the model's own.")
@click.option("--height", "policy__height", type=int, help="Likewise.")
@click.option("--steps", "image__steps", type=int, help="Updates. Default: 300.")
@set_option("image.kl=0.01", "default")
@click.option("--seed", "run__seed", type=int, help="Of adapters, prompts, noise and windows. Default: 0.")
@click.option("--again", is_flag=True, help="Remove what the run has done before, and begin again.")
@FORMAT
@resumable
def image(
    demo: str | None,
    parameters: tuple[str, ...],
    judge: str | None,
    changes: tuple[str, ...],
    again: bool,
    form: str,
    **options: Any,
) -> None:
    """Train a text-to-image model of your own on a reward of its pictures: Flow-GRPO with adapters (LoRA).

    With --preferences it learns from votes about pictures instead: Diffusion-DPO. A reward then only measures --held-out.

    --set changes every other setting, SECTION.NAME=VALUE: policy.guidance, policy.rank, image.group, image.window, image.kl,
    image.learning_rate, preferences.beta, evaluation.every, checkpoints.every, monitors.on_stop; a wrong name is answered with
    all names of its section.

    A second call continues from the last checkpoint. The result is OUTPUT/image/model/pytorch_lora_weights.safetensors, for
    pipeline.load_lora_weights; `salon train report OUTPUT` draws the curves.

    --demo words needs no model: it makes and trains one of its own. OUTPUT/report.html has pictures before and after; a call
    with another --seed adds to it.

    \b
    Example:
      salon train image --demo words --output words
      salon train image --model stabilityai/stable-diffusion-3.5-medium --prompts prompts.txt --held-out held_out.txt \\
          --reward scorer:pickscore --device cuda --width 512 --height 512 --output run
      salon train image --model ./tiny-sd3 --prompts prompts.txt --reward scorer:./metrics.py:redness --device cpu --output run
      salon train image --model ./tiny-sd3 --preferences pairs.parquet --device cpu --output run
    """
    from rich.console import Console

    if demo is not None:
        folder, seed = options.pop("run__folder"), options.pop("run__seed") or 0
        _write_words(folder, seed, options | {"parameters": parameters, "judge": judge, "changes": changes}, again, form)
        return
    if options["policy__model"] is None:
        raise click.UsageError("Missing option '--model', or '--demo words' for a small model.")
    from salon_rewards.serving.cli import reward_parameters
    from salon_train.configuration.image import configured
    from salon_train.configuration.reading import put
    from salon_train.run.display import ConsoleWatcher, spinner

    console = Console(stderr=True)
    values: dict[str, dict[str, Any]] = {}
    if read := reward_parameters(parameters, judge):
        values["paid"] = {"parameters": read}
    for name, value in options.items():
        section, _, setting = name.partition("__")
        if value is not None:
            values.setdefault(section, {})[setting] = str(value) if isinstance(value, Path) else value
    for key, value in changes_of(changes).items():
        put(values, key, value)
    try:
        configuration = configured(values)
    except InputError as error:
        raise of_option(error, image, {name.replace("__", "."): name for name in options}) from error
    with spinner(console, "loading PyTorch and diffusers"):
        from salon_train.image_policy.stage import train_image_policy
    with report_once(), ConsoleWatcher(console) as watcher:
        trained = train_image_policy(configuration, watcher=watcher, again=again)
    show_trained(trained, form)


def _write_words(folder: Path, seed: int, others: dict[str, Any], again: bool, form: str) -> None:
    """Run the demonstration of words, and write its page.

    Raises:
        InputError: an option is given that plays no part, or as :func:`~salon_train.demo.words_study.run_words`.
    """
    from shutil import rmtree

    from rich.console import Console

    from salon_console.output import as_json, deliver
    from salon_console.table_files import Table
    from salon_taxonomy.whole_files import write_whole
    from salon_train.over_seeds import SeedBars
    from salon_train.report.cli import check_page_libraries

    names = {each.name: each.opts[0] for each in image.params}
    for name, value in others.items():
        if value not in (None, False, ()):
            raise InputError("plays no part with --demo; it takes --output, --seed, --again and --format", source=names[name])
    check_page_libraries()
    from salon_train.demo.words_page import CAPTION, COLUMNS, word_rows, words_page
    from salon_train.demo.words_study import WordSettings, run_words

    if again:
        rmtree(folder / f"seed-{seed}", ignore_errors=True)
    settings = WordSettings()
    with SeedBars(Console(stderr=True)) as bars:
        results = run_words(folder, seed=seed, settings=settings, tell=bars)
    write_whole(folder / "report.html", words_page(results, settings, folder))
    deliver(
        Table(COLUMNS, word_rows(results), frozenset(COLUMNS[1:])),
        [{"arm": each.arm, "seed": each.seed, **asdict(each.chosen), "cpu_s": each.cpu_s} for each in results],
        form=form,
        output=None,
        further=[CAPTION, f"page: {folder / 'report.html'}"],
        json=lambda: as_json([asdict(each) for each in results]),
    )
