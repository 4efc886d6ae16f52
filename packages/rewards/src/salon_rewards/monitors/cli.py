"""``salon reward audit``: was the reward of a logged run gamed, by what, and since which step."""

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT
from salon_console.output import deliver
from salon_console.table_files import Table
from salon_rewards.line_files import shown
from salon_rewards.monitors.audit import Audit, MonitorHistory, audit, read_log
from salon_rewards.monitors.batch import AnswerForm
from salon_rewards.monitors.monitor_set import MONITORS, MonitorBoard
from salon_rewards.monitors.reading import Alarm, Monitor, Reading
from salon_taxonomy.errors import InputError

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE = 20
_LONG = ("steps", "values", "verdicts")
"""Fields of a monitor that have a value for each step."""


@click.command("audit")
@click.argument("file", metavar="FILE|-", type=InputPath())
@click.option(
    "--grammar",
    type=click.Choice([str(grammar) for grammar in AnswerForm]),
    default="magicmirror",
    show_default=True,
    help="How the completions are written: an assessor's labels, or a refiner's verdict and instruction.",
)
@click.option("--reward-column", default="reward", show_default=True, metavar="NAME", help="The column of rewards.")
@click.option(
    "--held-out-column", default="held_out", show_default=True, metavar="NAME", help="The column of the held-out metric."
)
@click.option("--lower-is-better", is_flag=True, help="The held-out metric is an error: it gets worse when it rises.")
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="MONITOR=WARN,STOP",
    help="Other thresholds for one monitor; inf never stops. May be given again.",
)
@OUTPUT
@FORMAT
def audit_command(
    file: Path,
    grammar: str,
    reward_column: str,
    held_out_column: str,
    lower_is_better: bool,
    thresholds: Sequence[str],
    output: Path | None,
    form: str,
) -> None:
    """Search the log of a training run for a policy that games its reward; exit with 1 on a stop.

    FILE, gzipped or not, holds one JSON object per line: step and completion, and where there are some truth, reward,
    example_id, completion_tokens, and the held_out metric of the step.

    \b
    salon reward audit completions.jsonl
    salon reward audit completions.jsonl --threshold length_drift=2,inf --format json
    """
    chosen = AnswerForm(grammar)
    board = MonitorBoard(_monitors(chosen, thresholds, lower_is_better), grammar=chosen)
    steps = read_log(file, reward_column=reward_column, held_out_column=held_out_column)
    report = audit(steps, board, source=shown(file))
    deliver(
        _table(report),
        [{name: value for name, value in _plain_history(each).items() if name not in _LONG} for each in report.histories],
        form=form,
        output=output,
        further=_sentences(report),
        json=lambda: json.dumps(_plain(report), indent=2),
    )
    if report.verdict is Alarm.STOP:
        sys.exit(1)


def _monitors(grammar: AnswerForm, thresholds: Sequence[str], lower_is_better: bool) -> list[Monitor]:
    """Return the grammar's monitors with the thresholds asked for."""
    builders = {build.name: build for build in MONITORS[grammar]}
    settings: dict[str, dict[str, object]] = {}
    for option in thresholds:
        name, _, pair = option.partition("=")
        if name not in builders:
            raise InputError("unknown monitor", source="--threshold", value=name, allowed=builders)
        try:
            warn, stop = (float(part) for part in pair.split(","))
        except ValueError:
            raise InputError("needs two numbers, as in length_drift=2,4", source="--threshold", value=option) from None
        if math.isnan(stop):
            raise InputError("must be a number", source="--threshold", value=option)
        settings[name] = {"warn": warn, "stop": stop}
    if lower_is_better:
        settings.setdefault("reward_metric_divergence", {})["higher_is_better"] = False
    return [build(**settings.get(name, {})) for name, build in builders.items()]


def _table(report: Audit) -> Table:
    columns = ("monitor", "verdict", "first", "last", "worst", "at step", "threshold", f"steps {_span(report)}")
    rows = []
    for history in report.histories:
        worst = history.worst
        if worst is None or worst.verdict is None:
            rows.append((history.name, "–", "", "", "", "", "", history.why_none))
            continue
        rows.append(
            (
                history.name,
                str(worst.verdict),
                _number(history.first),
                _number(history.last),
                _number(worst),
                str(worst.step),
                f"{worst.threshold:.3g}",
                _curve([item.value for item in history.readings]),
            )
        )
    return Table(columns, rows, frozenset(columns[2:7]))


def _sentences(report: Audit) -> list[str]:
    unreadable = f", {report.unreadable} of them unreadable" if report.unreadable else ""
    sentences = [f"{report.completions:,} completions of {len(report.steps):,} steps{unreadable}: {report.verdict}"]
    for history in report.histories:
        since = history.alarmed
        warned = history.warned
        if since is not None and since.verdict is not None and warned is not None:
            before = f" (warned at step {warned.step})" if warned.step < since.step else ""
            sentences.append(f"{since.verdict}: {history.name} from step {since.step}{before}: {since.detail}")
    return sentences


def _span(report: Audit) -> str:
    return f"{report.steps[0].step} to {report.steps[-1].step}"


def _number(reading: Reading | None) -> str:
    return "" if reading is None or reading.value is None else f"{reading.value:.3g}"


def _curve(values: Sequence[float | None]) -> str:
    """Draw a line of blocks from the lowest to the highest value; a dot where a value is missing."""
    width = min(_CURVE, len(values))
    had = [value for value in values if value is not None]
    low, high = min(had), max(had)
    signs = []
    for cell in range(width):
        part = [v for v in values[cell * len(values) // width : (cell + 1) * len(values) // width] if v is not None]
        if not part:
            signs.append("·")
        else:
            share = (sum(part) / len(part) - low) / (high - low) if high > low else 0.0
            signs.append(_BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)])
    return "".join(signs)


def _plain(report: Audit) -> dict[str, object]:
    return {
        "verdict": str(report.verdict),
        "completions": report.completions,
        "unreadable": report.unreadable,
        "steps": len(report.steps),
        "monitors": [_plain_history(history) for history in report.histories],
    }


def _plain_history(history: MonitorHistory) -> dict[str, object]:
    marks = {
        "first": history.first,
        "last": history.last,
        "worst": history.worst,
        "warned": history.warned,
        "alarmed": history.alarmed,
    }
    return {
        "name": history.name,
        "verdict": None if history.worst is None else str(history.worst.verdict),
        **{name: None if item is None else item.as_dict() for name, item in marks.items()},
        "why_none": history.why_none or None,
        "steps": [item.step for item in history.readings],
        "values": [item.value for item in history.readings],
        "verdicts": [None if item.verdict is None else str(item.verdict) for item in history.readings],
    }
