"""Is the policy gaming its reward? The monitors of ``salon_rewards``, which see every generation batch while GRPO trains.

completions ──► RunWatch ──► MonitorBoard ──► ``watched`` in log.jsonl; ``warned`` when a monitor begins to; a stop ends the run
evaluation  ──►    ┘ the held-out metric, for its divergence from the reward

``watched`` holds ``verdict`` (the gravest), ``completions``, ``unreadable`` and ``readings``, one object for each monitor,
made for SQL (docs/monitors.md): ``monitor``, ``value`` and ``verdict`` (null where missing), ``threshold`` (null: none),
``samples`` and ``detail``.
"""

import io
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_rewards.monitors import MONITORS, Alarm, AnswerForm, Monitor, MonitorBoard, Reading, Watched
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import MonitorsSection
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import TrainingEvent, TrainingWatcher

if TYPE_CHECKING:
    from salon_train.run.completion_parsing import SampledCompletions

_STATE: Final = "monitors.pickle"
_OF_MONITORS: Final = ("salon_rewards.monitors.", "salon_train.image_policy.picture_monitors")
"""Modules whose classes monitors are made of."""
_ELSEWHERE: Final[Mapping[str, Mapping[str, float]]] = {"unreadable": {"stop": math.inf}}
"""A policy that cannot write answers yet games nothing; ``[degeneration] invalid_answers`` gives it up in time."""


def board_of(section: MonitorsSection, grammar: AnswerForm) -> MonitorBoard | None:
    """Return the monitors that a configuration asks for; None: none.

    Args:
        section: of the configuration.
        grammar: how the completions are written.

    Raises:
        InputError: for a monitor that does not exist, or thresholds that are not allowed.

    Example:
        >>> section = MonitorsSection(which=("length_drift",), thresholds={"length_drift": (2, 5)})
        >>> board = board_of(section, AnswerForm.MAGICMIRROR)
        >>> board.monitors[0].thresholds
        Thresholds(warn=2.0, stop=5.0)
    """
    if not section.on:
        return None
    builders = {build.name: build for build in MONITORS[grammar]}
    for key, names in (("which", section.which or ()), ("thresholds", section.thresholds)):
        for name in names:
            if name not in builders:
                raise InputError("unknown monitor", key=f"monitors.{key}", value=name, allowed=builders)
    monitors: list[Monitor] = []
    for name in section.which or builders:
        options = dict(_ELSEWHERE.get(name, {}))
        if name in section.thresholds:
            options = dict(zip(("warn", "stop"), section.thresholds[name], strict=True))
        try:
            monitors.append(builders[name](**options))
        except InputError as error:
            key = f"monitors.thresholds.{name}"
            raise InputError(f"{error.problem}:", key=key, value=section.thresholds.get(name)) from None
    return MonitorBoard(monitors, grammar=grammar)


class _MonitorsOnly(pickle.Unpickler):
    """Reads monitors and their numbers, and no function of any module: a folder from elsewhere runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that monitors are made of.

        Raises:
            UnpicklingError: it is anything else.
        """
        known = module.startswith(_OF_MONITORS) or (module, name) == ("collections", "deque")
        loaded = super().find_class(module, name) if known and "." not in name else None
        if not isinstance(loaded, type) or loaded.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a monitor")
        return loaded


class RunWatch:
    """Shows a board what a run samples and how it does on held-out pictures; runs on the main process only.

    A listener of :class:`~salon_train.trl.grpo.PolicyTrainer` (:meth:`sampled`) and a watcher of events
    (:meth:`happened`, for evaluations) at once.

    Args:
        board: the monitors, of completions or of pictures.
        section: what follows from a warning and from a stop.
        watcher: told what the monitors say.
        steps: optimizer steps of the whole run.
        metric: what of an evaluation is held against the reward, by name.
    """

    look_at = "completions (completions.jsonl)"
    """What a person looks at when a monitor has ended a run."""
    go_on = 'set monitors.on_{verdict} = "log" or monitors.thresholds'
    """What lets the run continue all the same."""

    def __init__(
        self,
        board: Any,
        section: MonitorsSection,
        watcher: TrainingWatcher,
        *,
        steps: int,
        metric: str,
    ) -> None:
        self._metric = metric
        self._board = board
        self._section = section
        self._watcher = watcher
        self._steps = steps
        self._evaluated: list[tuple[int, float]] = []
        self._loud: dict[str, Alarm | None] = {}

    def sampled(self, sampled: "SampledCompletions") -> None:
        """Look at one generation batch.

        Raises:
            DegeneratedError: a monitor says stop, or warns where the configuration wants no warning.
        """
        evaluated, self._evaluated = dict(self._evaluated), []
        held_out = evaluated.pop(sampled.step, None)
        for step, value in evaluated.items():  # at which nothing was sampled
            self._report(self._board.look([], step=step, reward=[], held_out=value))
        rows = sampled.completions
        seen = self._board.look(
            [each.text for each in rows],
            step=sampled.step,
            truth=None if all(each.truth is None for each in rows) else [each.truth for each in rows],
            reward=[each.total for each in rows],
            example_id=[each.example_id or f"group {each.group}" for each in rows],
            completion_tokens=[each.tokens for each in rows],
            held_out=held_out,
        )
        self._report(seen)

    def happened(self, event: TrainingEvent) -> None:
        """Keep the metric of an evaluation until the next completions are sampled, by the same weights where it can be."""
        value = event.facts.get(self._metric) if event.what == "evaluated" else None
        if isinstance(value, int | float):
            self._evaluated.append((event.step, float(value)))

    def save(self, folder: Path) -> None:
        """Keep what the monitors have seen beside a checkpoint."""
        (folder / _STATE).write_bytes(pickle.dumps((self._board, self._evaluated, self._loud)))

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint, with the current thresholds; monitors that it does not know begin again.

        Raises:
            InputError: the file was changed: it holds anything but monitors and their numbers, which is not run.
        """
        path = folder / _STATE
        if not path.is_file():
            return
        try:
            board, self._evaluated, self._loud = _MonitorsOnly(io.BytesIO(path.read_bytes())).load()
            known: dict[str, Any] = {monitor.name: monitor for monitor in board.monitors}
        except Exception as error:  # whatever bytes that were changed can raise
            problem = f"cannot be read: it was changed, or another version wrote it ({type(error).__name__}: {error})"
            raise InputError(problem, source=path, hint="Begin again with --again.") from error
        fresh, self._board = self._board, board
        configured: list[Any] = list(fresh.monitors)
        for monitor in configured:
            if monitor.name in known:
                known[monitor.name].thresholds = monitor.thresholds
        board.monitors = tuple(known.get(monitor.name, monitor) for monitor in configured)

    def _report(self, seen: Watched) -> None:
        """Log what the monitors report, and end the run where the configuration says so."""
        counted = {"verdict": str(seen.verdict), "completions": seen.completions, "unreadable": seen.unreadable}
        self._tell("watched", seen.step, {**counted, "readings": [_log_row(item) for item in seen.readings]})
        acts = {Alarm.WARN: self._section.on_warn, Alarm.STOP: self._section.on_stop}
        for alarm in seen.alarms:
            if alarm.verdict in acts and acts[alarm.verdict] == "stop":
                raise DegeneratedError(f"monitor {alarm.name}", seen.step, self._sentence(alarm))
            if self._loud.get(alarm.name) is not alarm.verdict:
                facts = {"monitor": alarm.name, "verdict": str(alarm.verdict), "value": alarm.value}
                self._tell("warned", seen.step, {**facts, "threshold": alarm.threshold, "detail": alarm.detail})
        self._loud = {alarm.name: alarm.verdict for alarm in seen.alarms}

    def _sentence(self, alarm: Reading) -> str:
        crossed = "below" if alarm.downwards else "at or above"
        return (
            f"ended at step {alarm.step}: the monitor {alarm.name} says {alarm.verdict}: {alarm.value:.4g} is {crossed} "
            f"{alarm.threshold:.4g} ({alarm.detail}).\n"
            f"The policy games its reward: look at {self.look_at}, and change the reward. To go on all the same, "
            f"{self.go_on.format(verdict=alarm.verdict)}."
        )

    def _tell(self, what: str, step: int, facts: Mapping[str, Any]) -> None:
        self._watcher.happened(TrainingEvent(what, step, self._steps, facts))


def _log_row(reading: Reading) -> dict[str, object]:
    """Return a reading for the log; an infinite threshold, which JSON does not know, is null."""
    return {
        "monitor": reading.name,
        "value": reading.value,
        "verdict": None if reading.verdict is None else str(reading.verdict),
        "threshold": reading.threshold if math.isfinite(reading.threshold) else None,
        "samples": reading.samples,
        "detail": reading.detail,
    }
