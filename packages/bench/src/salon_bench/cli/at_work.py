"""Turn the options of ``options.py`` into judges, limits, pace and watchers of a run.

For command lines only: a bar is drawn on a terminal's standard error.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from salon_bench.runs.limits import Limits
    from salon_bench.runs.progress import Watcher
    from salon_bench.runs.suite_runner import Pace
    from salon_taxonomy.plugins import ManagedJudge
    from salon_taxonomy.protocols import Judge

_LIMITS: Final = ("max_cost", "max_tokens", "max_calls", "deadline")


def opened(settings: Any, work: Mapping[str, Any], environment: Mapping[str, str]) -> "ManagedJudge":
    """The judge that has these settings, with the concurrency that was asked for.

    Raises:
        InputError: for a limit on cost and a judge without prices, or a secret that is not set.
    """
    from salon_bench.judges.specification import open_settings, with_concurrency

    if work["max_cost"] is not None and getattr(settings, "prices", settings) is None:
        hint = "Give the judge as a TOML file with [prices], or limit --max-tokens or --max-calls."
        raise InputError("a limit on cost needs a judge with prices", source="--max-cost", value=settings.title, hint=hint)
    concurrency = work["concurrency"]
    return open_settings(settings if concurrency is None else with_concurrency(settings, concurrency), environment)


def limits_of(work: Mapping[str, Any]) -> "Limits":
    """How far to go.

    Raises:
        InputError: for a limit that is not above 0; names the option.
    """
    from salon_bench.runs.limits import Limits

    for option in _LIMITS:
        limit = work[option]
        if limit is not None and not 0 < limit < math.inf:
            raise InputError("a limit must be a number above 0, not", source=f"--{option.replace('_', '-')}", value=limit)
    return Limits(work["max_cost"], work["max_tokens"], work["max_calls"], work["deadline"])


def pace_of(judge: "Judge", work: Mapping[str, Any]) -> "Pace":
    """How much at once: what was asked for, else what the judge allows."""
    from salon_bench.runs.suite_runner import Pace

    allowed = getattr(getattr(judge, "settings", None), "limits", None)
    return Pace(work["concurrency"] or getattr(allowed, "concurrency", None) or Pace().concurrency)


@contextmanager
def watching(work: Mapping[str, Any], label: str) -> "Iterator[Watcher]":
    """A bar on a terminal, and the log that was asked for.

    Raises:
        InputError: when the log cannot be written.
    """
    from salon_bench.runs.progress import JsonLog, Watchers

    watchers: list[Watcher] = []
    with ExitStack() as stack:
        if sys.stderr.isatty() and not work["quiet"]:
            from rich.console import Console

            from salon_bench.cli.progress_bar import Bar

            watchers.append(stack.enter_context(Bar(Console(stderr=True), label)))
        if work["log_json"] == "-":
            watchers.append(JsonLog(sys.stderr))
        elif work["log_json"]:
            try:
                watchers.append(JsonLog(stack.enter_context(Path(work["log_json"]).open("a", encoding="utf-8"))))
            except OSError as error:
                raise InputError(f"the log cannot be written ({error.strerror})", source=work["log_json"]) from error
        yield Watchers(tuple(watchers))
