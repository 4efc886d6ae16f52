"""``salon train sft | grpo | evaluate | export``, and the presets that runs begin with. Parse, one call, print."""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from salon_train.configuration import Configuration
    from salon_train.trainers import Trained

_FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
_FILE = click.argument("file", metavar="CONFIG.toml", type=click.Path(path_type=Path))
_SET = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="A setting in place of the file's: grpo.steps=10. Repeat."
)
_AGAIN = click.option("--again", is_flag=True, help="Remove what the stage has done before, and begin anew.")
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
    a break. The result stands in FOLDER/sft/model.

    \b
    salon train sft run.toml --dry-run
    salon train sft run.toml
    salon train sft run.toml --set sft.steps=10 --again
    """
    _train(file, changes, "sft", again, dry_run, form)


@click.command()
@_FILE
@_SET
@_AGAIN
@_DRY
@_FORMAT
def grpo(file: Path, changes: tuple[str, ...], again: bool, dry_run: bool, form: str) -> None:
    """Let a model write answers and learn from their rewards (group relative policy optimization).

    A second call goes on from the last checkpoint. A run that degenerates (all rewards equal, no answer readable, a number
    that is none) is ended with exit code 1 and the reason. The result stands in FOLDER/grpo/model.

    \b
    salon train grpo run.toml --dry-run
    salon train grpo run.toml
    """
    _train(file, changes, "grpo", again, dry_run, form)


def _train(file: Path, changes: tuple[str, ...], stage: str, again: bool, dry_run: bool, form: str) -> None:
    configuration = _read(file, changes)
    from rich.console import Console

    from salon_train import trainers
    from salon_train.trainers.display import ConsoleWatcher
    from salon_train.trainers.run_folder import RunFolder

    if again:
        with RunFolder.of(configuration, stage) as folder:  # type: ignore[arg-type]
            folder.clear()
    run: Callable[..., Trained] = {"sft": trainers.train_sft, "grpo": trainers.train_grpo}[stage]
    with ConsoleWatcher(Console(stderr=True)) as watcher:
        trained = run(configuration, watcher=watcher)
    if form == "json":
        _print_json(
            {
                "model": str(trained.model),
                "steps": trained.steps,
                "resumed_from": trained.resumed_from,
                "already_finished": trained.already,
                "evaluation": dict(trained.evaluation),
            }
        )
        return
    click.echo(f"{'Finished before' if trained.already else 'Finished'}: {trained.steps} steps. Model: {trained.model}")


def _read(file: Path, changes: tuple[str, ...]) -> "Configuration":
    from salon_train.configuration import read_configuration

    return read_configuration(file, changes=_changes(changes))


def _changes(given: tuple[str, ...]) -> Mapping[str, Any]:
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
