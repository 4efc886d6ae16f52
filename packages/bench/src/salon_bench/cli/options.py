"""Options that several commands of ``salon bench`` have in common, and the judges, limits and watchers that they mean."""

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from salon_console.file_options import InputPath
from salon_console.options import several
from salon_taxonomy.errors import InputError, cannot_write

if TYPE_CHECKING:
    from salon_bench.runs.progress import Watcher
    from salon_bench.runs.suite_runner import Pace
    from salon_judges.asking.spending import RunLimits
    from salon_taxonomy.plugins import ManagedJudge
    from salon_taxonomy.protocols import Judge


_LONGEST_LINE: Final = 1 << 16

GENERATIONS: Final = click.option(
    "--generations",
    "sources",
    multiple=True,
    required=True,
    type=InputPath(),
    help="Its pictures: a folder or a table; one for each --model, in the same order.",
)
limit_options: Final = several(
    click.option("--max-cost", type=float, metavar="USD", help="Ask nothing more once this much was spent."),
    click.option("--max-tokens", type=int, help="Ask nothing more once so many tokens were read and written."),
    click.option("--max-calls", type=int, help="Ask at most so many questions."),
    click.option("--deadline", type=float, metavar="SECONDS", help="Ask nothing more after this time."),
)
"""Limits on cost, tokens, calls and time."""

LOG_JSON: Final = click.option("--log-json", metavar="FILE", help="Append the log as JSON lines; - is standard error.")

work_options: Final = several(
    click.option("--concurrency", type=click.IntRange(1, 4096), help="Questions in flight. Default: what the judge allows."),
    limit_options,
    click.option(
        "--allow-incomplete",
        is_flag=True,
        help="Exit with 0 though work is left; questions without a reply are unscored for good.",
    ),
    LOG_JSON,
)
"""The options of every command that asks a judge."""

_LIMITS: Final = ("max_cost", "max_tokens", "max_calls", "deadline")


def opened(settings: Any, work: Mapping[str, Any]) -> "ManagedJudge":
    """Return the judge that has these settings, with the concurrency that was asked for.

    Raises:
        InputError: for a limit on cost and a judge without prices, or a secret that is not set.
    """
    from salon_judges.clients.specification import open_settings, with_concurrency

    if work["max_cost"] is not None and getattr(settings, "prices", settings) is None:
        hint = "Give the judge as a TOML file with [prices], or limit --max-tokens or --max-calls."
        raise InputError("a limit on cost needs a judge with prices", source="--max-cost", value=settings.title, hint=hint)
    concurrency = work["concurrency"]
    return open_settings(settings if concurrency is None else with_concurrency(settings, concurrency), os.environ)


def limits_of(work: Mapping[str, Any]) -> "RunLimits":
    """Return the limits on cost, tokens, calls and time.

    Raises:
        InputError: for a limit that is not above 0; names the option.
    """
    from salon_judges.asking.spending import RunLimits

    for option in _LIMITS:
        limit = work[option]
        if limit is not None and not 0 < limit < math.inf:
            raise InputError("a limit must be a number above 0, not", source=f"--{option.replace('_', '-')}", value=limit)
    return RunLimits(work["max_cost"], work["max_tokens"], work["max_calls"], work["deadline"])


def pace_of(judge: "Judge", work: Mapping[str, Any]) -> "Pace":
    """Return how much at once: what was asked for, else what the judge allows."""
    from salon_bench.runs.suite_runner import Pace

    allowed = getattr(getattr(judge, "settings", None), "limits", None)
    return Pace(work["concurrency"] or getattr(allowed, "concurrency", None) or Pace().concurrency)


def _refuse_other_files(log: Path) -> None:
    """Refuse to append to a file that is no log, such as a picture or the prompts.

    Raises:
        InputError: the first line of the file is no line of a log.
        OSError: the file cannot be read.
    """
    if not log.is_file() or not log.stat().st_size:
        return
    with log.open("rb") as file:
        first = file.readline(_LONGEST_LINE)
    try:
        line = json.loads(first)
    except ValueError:
        line = None
    if not isinstance(line, dict) or "what" not in line:
        problem, hint = "lines would be added to a file that is no log:", "Name a new file."
        raise InputError(problem, source="--log-json", value=str(log), hint=hint)


@contextmanager
def watching(work: Mapping[str, Any], label: str) -> "Iterator[Watcher]":
    """Yield a bar on a terminal, and the log that was asked for.

    Raises:
        InputError: when the log cannot be written.
    """
    from salon_bench.runs.progress import JsonLog, Watchers

    watchers: list[Watcher] = []
    with ExitStack() as stack:
        if sys.stderr.isatty():
            from rich.console import Console

            from salon_bench.cli.progress_bar import Bar

            watchers.append(stack.enter_context(Bar(Console(stderr=True), label)))
        if work["log_json"] == "-":
            watchers.append(JsonLog(sys.stderr))
        elif work["log_json"]:
            try:
                _refuse_other_files(Path(work["log_json"]))
                watchers.append(JsonLog(stack.enter_context(Path(work["log_json"]).open("a", encoding="utf-8"))))
            except OSError as error:
                raise cannot_write(error, work["log_json"]) from error
        yield Watchers(tuple(watchers))
