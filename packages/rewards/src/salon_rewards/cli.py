"""``salon reward``: which rewards there are, what a file of completions earns, and why one completion earns what it does."""

import errno
import json
import sys
from dataclasses import asdict
from pathlib import Path

import rich_click as click

from salon_console.lazy_commands import LazyCommand, LazyGroup
from salon_console.options import FORMAT, OUTPUT
from salon_console.output import as_json, deliver
from salon_console.table_files import Table
from salon_rewards.batch import labels_of
from salon_rewards.catalog import ASKED, REWARDS, source_names
from salon_rewards.magicmirror import REASONING_RULES, ConsistencyMode, MagicMirrorReward, ReasoningRule, magicmirror_reward
from salon_taxonomy.answers import MagicMirrorAnswer, Unparsed, parse_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_CONSISTENCY: dict[str, Verdict[bool]] = {
    "yes": Scored(True),
    "no": Scored(False),
    "abstained": Unscored(Reason.ABSTAINED, "the judge abstained"),
}

_TERMS = ("format", "l1", "l2", "l3")

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
    salon reward explain --truth truth.json --answer reply.txt
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


@reward.command()
@click.option("--truth", required=True, metavar="FILE|TEXT|-", help="The annotators' labels: JSON, or a boxed reply.")
@click.option("--answer", required=True, metavar="FILE|TEXT|-", help="The completion to score, as the model wrote it.")
@click.option("--consistency", type=click.Choice(list(_CONSISTENCY)), help="Another model's verdict on the reasoning.")
@click.option(
    "--mode",
    type=click.Choice([str(mode) for mode in ConsistencyMode]),
    default="term",
    show_default=True,
    help="Whether consistency is a term of the sum, or a gate before it.",
)
@click.option(
    "--reasoning",
    type=click.Choice(list(REASONING_RULES)),
    default="content",
    show_default=True,
    help="Which reasoning the format asks for: words, a <think> block (the paper's rule), or none.",
)
@OUTPUT
@FORMAT
def explain(
    truth: str, answer: str, consistency: str | None, mode: str, reasoning: ReasoningRule, output: Path | None, form: str
) -> None:
    """Show what one answer of an artifact assessor earns against the truth, and why (MagicMirror's multi-level reward).

    What holds a brace or a tag is the text itself, - is standard input, and anything else is a file if it exists. A
    completion that breaks the format is no error: it earns 0, and the reason is shown.

    \b
    salon reward explain --truth truth.json --answer reply.txt
    salon reward explain \\
        --truth '{"Whether Normal": true}' \\
        --answer '<think>Fine.</think>\\boxed{{"Whether Normal": true}}'
    """
    if truth == answer == "-":
        raise InputError("only one of --truth and --answer can be standard input", source="--answer", value=answer)
    earned = magicmirror_reward(
        parse_magicmirror(_text(answer, "--answer")),
        _truth(truth),
        consistency=None if consistency is None else _CONSISTENCY[consistency],
        mode=ConsistencyMode(mode),
        reasoning=reasoning,
    )
    values = [
        {"component": name, "value": value, "weight": getattr(earned.weights, name, None)}
        for name, value in earned.as_dict().items()
        if name in (*_TERMS, "consistency", "total")
    ]
    values = [row for row in values if row["component"] != "consistency" or earned.consistency is not None]
    deliver(_table(earned), values, form=form, output=output, json=lambda: json.dumps(earned.as_dict(), indent=2))
    if form == "table" and earned.flaw is not None:
        click.echo(f"format: {earned.flaw.reason}: {earned.flaw.detail}", err=True)


def _table(reward: MagicMirrorReward) -> Table:
    rows = [(name, f"{getattr(reward, name):g}", f"{getattr(reward.weights, name):g}") for name in _TERMS]
    if reward.consistency is not None:
        weight = f"{reward.weights.consistency:g}" if reward.mode is ConsistencyMode.TERM else "gate"
        rows.append(("consistency", _shown(reward.consistency), weight))
    rows.append(("total", _shown(reward.total), ""))
    return Table(("component", "value", "weight"), rows)


def _shown(verdict: Verdict[float]) -> str:
    return f"{verdict.value:g}" if isinstance(verdict, Scored) else f"unscored ({verdict.reason})"


def _truth(option_text: str) -> MagicMirrorAnswer:
    """Return the truth, as bare JSON or as a whole reply."""
    text = _text(option_text, "--truth")
    outcome = labels_of(text)
    if isinstance(outcome, Unparsed):
        raise InputError(
            f"no MagicMirror labels ({outcome.reason}: {outcome.detail})",
            source="--truth",
            value=text,
            hint='Give JSON such as {"Whether Normal": true}, or a file that holds it.',
        )
    return outcome.answer


def _text(value: str, option: str) -> str:
    """Return the text of an option that takes FILE, TEXT or -."""
    if value == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if not value or set(value) & set("{<\n\0"):
        return value
    try:
        return _decoded(Path(value).read_bytes(), value)
    except FileNotFoundError as error:
        if " " in value:
            return value
        raise InputError("there is no such file, and it is no answer either", source=option, value=value) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return value
        raise InputError(f"cannot be read ({error.strerror})", source=option, value=value) from error


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 at byte {error.start}", source=source) from error
