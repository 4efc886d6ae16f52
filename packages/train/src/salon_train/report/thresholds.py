"""The thresholds that a run's monitors were held against: its own settings, or what the monitors have by themselves."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from salon_rewards.monitors import MONITORS, AnswerForm, Thresholds
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import MonitorsSection
from salon_train.image_policy.picture_monitors import PictureBoard
from salon_train.report.folders import StageRun
from salon_train.report.history import MONITOR
from salon_train.run.monitor_hook import board_of

_PREFIX = "monitors.thresholds."
FACTOR_MONITORS = frozenset({"length_drift"})
"""Monitors that are held against a factor both ways: they warn at the threshold and at 1 over it."""


def thresholds_of(stage: StageRun) -> dict[str, Thresholds]:
    """By monitor, for those that the log has readings of and that Salon knows.

    Where the folder does not say what the monitors were told, a threshold that a warning in the log names counts.

    Raises:
        InputError: what the folder says of thresholds makes no sense.
    """
    own = {key.removeprefix(_PREFIX): pair for key, pair in (stage.besides or {}).items() if key.startswith(_PREFIX)}
    thresholds: dict[str, Thresholds] = {}
    for grammar in AnswerForm:
        known = {build.name for build in MONITORS[grammar]}
        thresholds |= _held(stage, grammar, {name: pair for name, pair in own.items() if name in known})
    if stage.folder.name == "image":
        thresholds |= _held(stage, None, own)
    if stage.besides is None:
        for warning in stage.history.warned:
            if warning.monitor in thresholds and warning.threshold is not None and warning.verdict in ("warn", "stop"):
                thresholds[warning.monitor] = _moved(
                    thresholds[warning.monitor], warning.monitor, warning.verdict, warning.threshold
                )
    return {name: held for name, held in thresholds.items() if MONITOR + name in stage.history.curves}


def _held(stage: StageRun, grammar: AnswerForm | None, own: Mapping[str, object]) -> dict[str, Thresholds]:
    """Return the thresholds of the monitors of a grammar; None: of pictures."""
    try:
        section = MonitorsSection.model_validate({"thresholds": own})
        board: Any = PictureBoard(section) if grammar is None else board_of(section, grammar)
    except (ValidationError, InputError) as error:
        problem = error.problem if isinstance(error, InputError) else error.errors()[0]["msg"]
        source = stage.folder / "changeable.json"
        raise InputError(f"holds thresholds that are refused ({problem.rstrip(':')})", source=source, value=dict(own)) from None
    return {monitor.name: monitor.thresholds for monitor in board.monitors}


def _moved(held: Thresholds, monitor: str, verdict: str, value: float) -> Thresholds:
    """With one of the two as the log names it."""
    if monitor in FACTOR_MONITORS and 0 < value < 1:
        value = 1 / value
    warn, stop = (value, max(held.stop, value)) if verdict == "warn" else (min(held.warn, value), value)
    return Thresholds(warn, stop)


def drawn_levels(monitor: str, held: Thresholds) -> list[tuple[str, float]]:
    """Return each finite threshold with its kind; a factor twice.

    Example:
        >>> drawn_levels("unreadable", Thresholds(0.3, math.inf)), drawn_levels("length_drift", Thresholds(2.0, 4.0))
        ([('warn', 0.3)], [('warn', 2.0), ('warn', 0.5), ('stop', 4.0), ('stop', 0.25)])
    """
    levels = []
    for kind, value in (("warn", held.warn), ("stop", held.stop)):
        if math.isfinite(value):
            levels += [(kind, value), (kind, 1 / value)] if monitor in FACTOR_MONITORS else [(kind, value)]
    return levels
