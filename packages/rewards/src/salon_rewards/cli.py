"""``salon rewards``: which rewards there are, and what one completion earns."""

import errno
import json
import sys
from dataclasses import asdict
from pathlib import Path

import rich_click as click
from rich.console import Console
from rich.table import Table

from salon_rewards.catalog import REWARDS
from salon_rewards.magicmirror import ConsistencyMode, MagicMirrorReward, magicmirror_reward
from salon_rewards.monitors.cli import audit_command
from salon_taxonomy.answers import MagicMirrorAnswer, Unparsed, parse_magicmirror, parse_magicmirror_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_FORMAT = click.option(
    "--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
_CONSISTENCY: dict[str, Verdict[bool]] = {
    "yes": Scored(True),
    "no": Scored(False),
    "abstained": Unscored(Reason.ABSTAINED, "the judge abstained"),
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def rewards() -> None:
    """Score answers the way a trainer pays for them.

    \b
    salon rewards list
    salon rewards score magicmirror --truth truth.json --answer reply.txt
    """


rewards.add_command(audit_command)


@rewards.command("list")
@_FORMAT
def list_(output: str) -> None:
    """List the rewards with their ranges and sources.

    \b
    salon rewards list --format json
    """
    if output == "json":
        click.echo(json.dumps([asdict(entry) for entry in REWARDS], indent=2))
        return
    table = Table("reward", "pays for", "range", "source")
    for entry in REWARDS:
        table.add_row(entry.name, entry.summary, f"{entry.lowest:g} to {entry.highest:g}", entry.source)
    Console().print(table)


@rewards.group()
def score() -> None:
    """Score one completion with one reward, and show what each component paid.

    \b
    salon rewards score magicmirror --truth truth.json --answer reply.txt
    """


@score.command()
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
@click.option("--without-reasoning", is_flag=True, help="Take answers that have no <think> block.")
@_FORMAT
def magicmirror(truth: str, answer: str, consistency: str | None, mode: str, without_reasoning: bool, output: str) -> None:
    """Score one answer of an artifact assessor against the truth (MagicMirror's multi-level reward).

    What holds a brace or a tag is the text itself, - is standard input, and anything else is a file if it exists. A
    completion that breaks the format is no error: it earns 0, and the reason is shown.

    \b
    salon rewards score magicmirror --truth truth.json --answer reply.txt
    salon rewards score magicmirror \\
        --truth '{"Whether Normal": true}' \\
        --answer '<think>Fine.</think>\\boxed{{"Whether Normal": true}}'
    """
    if truth == answer == "-":
        raise InputError("only one of --truth and --answer can be standard input", source="--answer", value=answer)
    reward = magicmirror_reward(
        parse_magicmirror(_text(answer, "--answer")),
        _truth(truth),
        consistency=None if consistency is None else _CONSISTENCY[consistency],
        mode=ConsistencyMode(mode),
        require_reasoning=not without_reasoning,
    )
    if output == "json":
        click.echo(json.dumps(reward.as_dict(), indent=2))
    else:
        _print(reward)


def _print(reward: MagicMirrorReward) -> None:
    table = Table("component", "value", "weight")
    for name in ("format", "l1", "l2", "l3"):
        table.add_row(name, f"{getattr(reward, name):g}", f"{getattr(reward.weights, name):g}")
    if reward.consistency is not None:
        weight = f"{reward.weights.consistency:g}" if reward.mode is ConsistencyMode.TERM else "gate"
        table.add_row("consistency", _shown(reward.consistency), weight)
    table.add_section()
    table.add_row("total", _shown(reward.total), "")
    Console().print(table)
    if reward.flaw is not None:
        click.echo(f"format: {reward.flaw.reason}: {reward.flaw.detail}", err=True)


def _shown(verdict: Verdict[float]) -> str:
    return f"{verdict.value:g}" if isinstance(verdict, Scored) else f"unscored ({verdict.reason})"


def _truth(given: str) -> MagicMirrorAnswer:
    """The truth, as bare JSON or as a whole reply."""
    text = _text(given, "--truth")
    bare = parse_magicmirror_json(text)
    outcome = parse_magicmirror(text) if isinstance(bare, Unparsed) and "\\boxed{" in text else bare
    if isinstance(outcome, Unparsed):
        raise InputError(
            f"no MagicMirror labels ({outcome.reason}: {outcome.detail})",
            source="--truth",
            value=text,
            hint='Give JSON such as {"Whether Normal": true}, or a file that holds it.',
        )
    return outcome.answer


def _text(given: str, option: str) -> str:
    """What an option that takes FILE, TEXT or - stands for."""
    if given == "-":
        return _decoded(sys.stdin.buffer.read(), "standard input")
    if not given or set(given) & set("{<\n\0"):
        return given
    try:
        return _decoded(Path(given).read_bytes(), given)
    except FileNotFoundError as error:
        if " " in given:
            return given
        raise InputError("there is no such file, and it is no answer either", source=option, value=given) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return given
        raise InputError(f"cannot be read ({error.strerror})", source=option, value=given) from error


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 at byte {error.start}", source=source) from error
