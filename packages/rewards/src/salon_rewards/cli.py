"""``salon reward``: which rewards there are, and what a file of completions earns."""

from dataclasses import asdict
from pathlib import Path

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup
from salon_console.options import FORMAT, OUTPUT
from salon_console.output import as_json, deliver
from salon_console.table_files import Table
from salon_rewards.catalog import ASKED, REWARDS, source_names

_COMMANDS = {
    "audit": LazyCommand(
        "salon_rewards.monitors.cli:audit_command",
        "Search the log of a training run for a policy that games its reward; exit with 1 on a stop.",
    ),
    "serve": LazyCommand(
        "salon_rewards.serving.cli:serve",
        "Serve REWARD over HTTP: pictures or videos and prompts in, scores out; for trainers in another process.",
    ),
    "score": LazyCommand("salon_rewards.scoring.cli:score", "Score a file of completions with one or several rewards by rule."),
}
"""Commands with a file of their own; imported when they are called."""


@click.group(cls=LazyGroup, lazy_commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def reward() -> None:
    """Score answers the way a trainer pays for them.

    \b
    salon reward list
    salon reward score completions.jsonl --reward magicmirror
    salon reward audit run.jsonl
    salon reward serve scorer:./metrics.py:clip_score
    """


@reward.command("list")
@OUTPUT
@FORMAT
def list_(form: str, output: Path | None) -> None:
    """List the rewards with their ranges and what they need; as JSON with their sources, too.

    \b
    salon reward list
    salon reward list --format json
    """
    rows = [
        (
            entry.name,
            entry.summary,
            f"{entry.lowest:g} to {entry.highest:g}",
            ", ".join([*entry.columns, *([ASKED[entry.asks]] if entry.asks else [])]),
        )
        for entry in REWARDS
    ]
    table = Table(("reward", "pays for", "range", "needs"), rows)
    values = [asdict(entry) for entry in REWARDS]
    deliver(table, values, form=form, output=output, json=lambda: as_json(values))
    for source in source_names() if form == "table" else ():
        click.echo(f"{source}:NAME  rewards of any {source}", err=True)
