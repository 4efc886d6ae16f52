"""Run all monitors of a run: one call per step, one row for the log, one verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from salon_rewards.monitors.batch import AnswerForm, StepBatch
from salon_rewards.monitors.contradiction import ReasoningContradiction
from salon_rewards.monitors.divergence import RewardMetricDivergence
from salon_rewards.monitors.label_flooding import LabelFlooding
from salon_rewards.monitors.length_drift import LengthDrift
from salon_rewards.monitors.one_verdict import AlwaysArtifact, AlwaysNormal
from salon_rewards.monitors.prompt_editing import PromptEditing
from salon_rewards.monitors.reading import Alarm, Monitor, Reading
from salon_rewards.monitors.template_reasoning import TemplateReasoning
from salon_rewards.monitors.unreadable import Unreadable
from salon_taxonomy.errors import InputError, member_of

_COMMON: tuple[type[Any], ...] = (
    AlwaysNormal,
    AlwaysArtifact,
    TemplateReasoning,
    LengthDrift,
    RewardMetricDivergence,
    Unreadable,
)
MONITORS: Mapping[AnswerForm, tuple[type[Any], ...]] = MappingProxyType(
    {
        AnswerForm.MAGICMIRROR: (LabelFlooding, ReasoningContradiction, *_COMMON),
        AnswerForm.R3: (PromptEditing, ReasoningContradiction, *_COMMON),
    }
)
"""The monitors that say something about completions of a grammar."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What all monitors say of one step.

    Attributes:
        step: the step.
        readings: one per monitor, in the board's order.
        completions: how many completions the step had.
        unreadable: how many of them no grammar takes.
    """

    step: int
    readings: tuple[Reading, ...]
    completions: int
    unreadable: int

    @property
    def verdict(self) -> Alarm:
        """The gravest verdict of any monitor; ok where none has any."""
        return max((item.verdict for item in self.readings if item.verdict), key=lambda alarm: alarm.severity, default=Alarm.OK)

    @property
    def alarms(self) -> tuple[Reading, ...]:
        """The readings that warn or stop, gravest first."""
        loud = [reading for reading in self.readings if reading.verdict in (Alarm.WARN, Alarm.STOP)]
        return tuple(sorted(loud, key=lambda reading: reading.verdict is not Alarm.STOP))

    def row(self) -> dict[str, object]:
        """Return one flat row for a logger: ``step``, ``verdict``, and ``NAME`` and ``NAME/verdict`` for each monitor."""
        row: dict[str, object] = {"step": self.step, "verdict": str(self.verdict)}
        for reading in self.readings:
            row[reading.name] = reading.value
            row[f"{reading.name}/verdict"] = None if reading.verdict is None else str(reading.verdict)
        return row


class MonitorBoard:
    """Runs its monitors over one step after another. Picklable: kept with a checkpoint, it continues where it was.

    Args:
        monitors: each with a name of its own.
        grammar: how the completions are written.

    Raises:
        InputError: for no monitors, or two of one name.
    """

    def __init__(self, monitors: Sequence[Monitor], *, grammar: AnswerForm | str = AnswerForm.MAGICMIRROR) -> None:
        self.grammar = member_of(AnswerForm, grammar, "grammar", column="grammar")
        names = [monitor.name for monitor in monitors]
        if not names:
            raise InputError("needs at least one monitor", column="monitors")
        if len(set(names)) < len(names):
            raise InputError("two monitors have one name", column="monitors", value=names)
        self.monitors = tuple(monitors)
        self._step: int | None = None

    def look(self, completions: Sequence[object], *, step: int, source: str | None = None, **columns: Any) -> Watched:
        """Return what all monitors say of one step's completions. Arguments are those of :meth:`StepBatch.read`.

        Raises:
            InputError: as there, and for a step that is not after the last one.
        """
        if self._step is not None and step <= self._step:
            raise InputError(f"must be after step {self._step}, the last one", source=source, column="step", value=step)
        batch = StepBatch.read(completions, step=step, grammar=self.grammar, source=source, **columns)
        self._step = step
        readings = tuple(monitor.look(batch) for monitor in self.monitors)
        return Watched(step, readings, len(batch.completions), batch.unreadable)


def watch(*monitors: Monitor, grammar: AnswerForm | str = AnswerForm.MAGICMIRROR) -> MonitorBoard:
    r"""Return a board of these monitors; without any, of all that say something about completions of this grammar.

    Example:
        >>> board = watch()
        >>> text = r'<think>Fine.</think>\boxed{{"Whether Normal": true}}'
        >>> truth = ['{"Whether Normal": true}', '{"Whether Normal": false, "Type of Deformity": {}}'] * 32
        >>> seen = board.look([text] * 64, step=1, truth=truth)
        >>> str(seen.verdict), [(item.name, item.value) for item in seen.alarms]
        ('stop', [('always_normal', 1.0), ('template_reasoning', 1.0)])
    """
    if not monitors:
        monitors = tuple(build() for build in MONITORS[member_of(AnswerForm, grammar, "grammar", column="grammar")])
    return MonitorBoard(monitors, grammar=grammar)
