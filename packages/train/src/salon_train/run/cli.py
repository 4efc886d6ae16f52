"""Options and output of every stage's command: parse, plan or train, print."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, Decorator, resumable, several
from salon_console.output import print_continues, print_json, print_parts
from salon_console.table_files import Table
from salon_taxonomy.errors import IncompleteError, InputError, SalonError
from salon_train.run.processes import Processes, leave, said_elsewhere

if TYPE_CHECKING:
    from salon_train.run.dry_run import StageDryRun
    from salon_train.run.memory import MemoryEstimate
    from salon_train.run.stage import Trained

FILE = click.argument("file", metavar="CONFIG.toml", type=InputPath())


def set_option(example: str = "grpo.steps=10", instead: str = "file's") -> Decorator:
    """Return the option ``--set KEY=VALUE``, a setting ``instead`` of the file's or of the default."""
    return click.option(
        "--set", "changes", multiple=True, metavar="KEY=VALUE", help=f"A setting in place of the {instead}: {example}. Repeat."
    )


def stage_options(example: str = "grpo.steps=10") -> Decorator:
    """Return a decorator that adds what every stage's command takes: the file, --set, --again, --dry-run, --format."""
    return several(
        FILE,
        set_option(example),
        click.option("--again", is_flag=True, help="Remove what the stage has done before, and begin again."),
        click.option("--dry-run", is_flag=True, help="Check everything, print the plan, and train nothing."),
        FORMAT,
        resumable,
    )


def train_and_show(
    plan: Callable[[Mapping[str, str]], "StageDryRun"],
    train: Callable[[], Callable[..., "Trained"]],
    *,
    again: bool,
    dry_run: bool,
    form: str,
) -> None:
    """Plan or run one stage, and print what it ended with.

    Args:
        plan: the stage's dry run, given the environment.
        train: imports and returns the function that trains; it takes ``environment``, ``watcher`` and ``again``.
        again: remove what the stage has done before.
        dry_run: print the plan, and train nothing.
        form: ``table`` or ``json``.
    """
    processes = Processes.of(os.environ)
    if dry_run and not processes.first:
        return
    if dry_run:
        from salon_train.run.callbacks import quiet

        with quiet():
            shown_plan = plan(os.environ)
        show_plan(shown_plan, form)
        return
    from rich.console import Console

    from salon_train.run.display import ConsoleWatcher, spinner

    console = Console(stderr=True, quiet=not processes.first)
    with spinner(console, "loading PyTorch and transformers"):
        training = train()
    with report_once(), ConsoleWatcher(console) as watcher:
        trained = training(environment=os.environ, watcher=watcher, again=again)
    if processes.first:
        show_trained(trained, form)


def show_trained(trained: "Trained", form: str) -> None:
    """Print what a stage ended with, as a few lines or as JSON."""
    if trained.already:
        print_continues(trained.steps, trained.steps, "steps", trained.model.parent)
    if form == "json":
        print_json(
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
        from salon_train.run.display import HELD_OUT, facts_of

        click.echo(f"Held out: {facts_of(trained.evaluation, HELD_OUT)}")
    click.echo(f"Model: {trained.model}")


@contextmanager
def report_once() -> Iterator[None]:
    """Of several processes that raise the same error the first one prints it; all of them exit with its code."""
    try:
        yield
    except SalonError as error:
        if not said_elsewhere(error):
            raise
        sys.exit(1 if isinstance(error, IncompleteError) else 2)
    leave()


def show_plan(plan: "StageDryRun", form: str) -> None:
    """Print what a stage would do, as a table or as JSON."""
    if form == "json":
        print_json(plan.as_dict())
        return
    show_sizes(plan.parameters, plan.learning, plan.memory)
    click.echo(
        f"{plan.steps} steps of {plan.batch} sequences ({plan.device_batch} at once on each of {plan.devices} devices, "
        f"{plan.accumulated} passes), {plan.prompts} prompts at once, {plan.epochs:.2f} epochs"
    )
    if plan.quota:
        click.echo("prompts at once by bucket: " + ", ".join(f"{bucket} {count}" for bucket, count in plan.quota.items()))
    click.echo("examples by bucket: " + ", ".join(f"{bucket} {count}" for bucket, count in plan.examples.items()))
    click.echo(f"held out: {plan.held_out} pictures; longest question counted: {plan.tokens or 'unknown'} tokens")
    if plan.rewards:
        rewards = [
            f"{name} × {weight:g}" if isinstance(weight, float) else f"{name} ({weight})"
            for name, weight in plan.rewards.items()
        ]
        click.echo("rewards: " + ", ".join(rewards))
    for judge in plan.judges:
        click.echo(f"judge answers: {judge}")
    if plan.editor:
        click.echo(f"editor: {plan.editor}")
    for note in plan.notes:
        click.echo(f"note: {note}", err=True)


def show_sizes(parameters: Mapping[str, int], learning: Mapping[str, int], memory: "MemoryEstimate") -> None:
    """Print parameters by part, those that learn, and the memory that they take."""
    parts = [(part, f"{count:,}", f"{learning[part]:,}") for part, count in parameters.items()]
    whole, learned = sum(parameters.values()), sum(learning.values())
    parts.append(("all", f"{whole:,}", f"{learned:,} ({100 * learned / whole:.2f}%)"))
    held = [(name, f"{held / (1 << 30):.2f}") for name, held in memory.parts.items()]
    held.append(("all (estimated)", f"{memory.total / (1 << 30):.2f}"))
    columns = ("part", "parameters", "that learn")
    print_parts(Table(columns, parts), "", Table(("memory on one device", "GiB"), held, frozenset({"GiB"})), "")


def changes_of(settings: tuple[str, ...]) -> Mapping[str, Any]:
    """``grpo.steps=10`` as a key and a TOML value; a value that is not valid TOML is used as text."""
    import tomllib

    changes = {}
    for change in settings:
        key, sign, value = change.partition("=")
        if not sign or not key.strip():
            raise InputError("is no KEY=VALUE", source="--set", value=change, hint="Such as --set grpo.steps=10.")
        try:
            changes[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            changes[key.strip()] = value.strip()
    return changes


def of_option(error: InputError, command: click.Command, names: Mapping[str, str]) -> InputError:
    """Return the error of a setting with the option that set it; without an option of its own with ``--set`` and its key.

    Args:
        error: its ``key`` is ``section.name``.
        command: which has the options.
        names: the name of the command's parameter by key.
    """
    options = {each.name: each.opts[0] for each in command.params}
    option = options.get(names.get(str(error.key), ""))
    key = None if option else error.key
    return InputError(error.problem, source=option or "--set", key=key, value=error.value, allowed=error.allowed)
