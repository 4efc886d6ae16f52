"""Abort a run in which no reward differs, no answer can be read, or a number is not finite.

Such a run burns hours and ends with weights that are worth nothing, so it is ended with a message and exit code 1. What was
saved before stays.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from salon_taxonomy.errors import IncompleteError
from salon_train.configuration.schema import DegenerationSection


class DegeneratedError(IncompleteError):
    """A training run was ended: no reward differs, no answer can be read, or a number is not finite.

    Attributes:
        reason: ``equal_rewards``, ``invalid_answers``, ``unscored``, ``reward``, ``loss``, ``gradient`` or ``monitor NAME``.
        step: optimizer steps that had been done.
    """

    def __init__(self, reason: str, step: int, text: str) -> None:
        self.reason = reason
        self.step = step
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class SampledBatch:
    """What the monitor needs to know of one generation batch.

    Attributes:
        groups: the sums of rewards of each group's completions; NaN for a completion that no reward scored.
        readable: how many completions follow the grammar of answers.
    """

    groups: Sequence[Sequence[float]]
    readable: int

    @property
    def unscored(self) -> int:
        """Completions that no reward scored."""
        return sum(math.isnan(value) for group in self.groups for value in group)

    @property
    def completions(self) -> int:
        """All of them."""
        return sum(len(group) for group in self.groups)

    @property
    def equal(self) -> int:
        """Groups in which nothing can be learned: all their scored completions earned the same."""
        return sum(len({value for value in group if not math.isnan(value)}) < 2 for group in self.groups)


@dataclass(frozen=True, slots=True)
class Hints:
    """What to do about each way to degenerate, in the words of the command that ran.

    Attributes:
        invalid_answers: no completion can be read.
        unscored: no reward scores any completion.
        equal_rewards: all rewards of every group are equal.
        made: the word for a completion.
    """

    invalid_answers: str
    unscored: str
    equal_rewards: str
    made: str = "completion"


ASSESSOR_HINTS: Final = Hints(
    "Train longer with `salon train sft` first, or allow longer completions (grpo.longest).",
    "Look at the judge that the rewards ask; log.jsonl counts what they abstained from.",
    "Raise grpo.temperature or grpo.generations, or begin with a model that errs in more than one way.",
)


class DegenerationMonitor:
    """Counts bad generation batches in a row.

    Args:
        limits: how many are too many.
        hints: of the message.

    Example:
        >>> monitor = DegenerationMonitor(DegenerationSection(equal_rewards=2))
        >>> monitor.sampled(SampledBatch([[1.0, 1.0], [0.0, 0.0]], readable=4), step=7)
        >>> monitor.sampled(SampledBatch([[2.0, 2.0], [1.0, 1.0]], readable=4), step=8)
        Traceback (most recent call last):
        ...
        salon_train.run.early_abort.DegeneratedError: ended at step 8: for 2 generation batches in a row ...
    """

    def __init__(self, limits: DegenerationSection, hints: Hints = ASSESSOR_HINTS) -> None:
        self._limits = limits
        self._hints = hints
        self._equal = 0
        self._invalid = 0
        self._unscored = 0

    def sampled(self, batch: SampledBatch, *, step: int) -> None:
        """Look at one generation batch.

        Raises:
            DegeneratedError: when it is one bad batch too many.
        """
        all_unscored = batch.unscored == batch.completions
        self._unscored = self._unscored + 1 if all_unscored else 0
        self._equal = self._equal + 1 if not all_unscored and batch.equal == len(batch.groups) else 0
        self._invalid = self._invalid + 1 if not batch.readable else 0
        output = self._hints.made
        equal = f"the {output}s of every group earned the same, so nothing is learned"
        for reason, times, what in (
            ("invalid_answers", self._invalid, f"no {output} could be read as an answer"),
            ("unscored", self._unscored, f"no reward scored any {output}"),
            ("equal_rewards", self._equal, equal),
        ):
            limit = getattr(self._limits, reason)
            if limit and times >= limit:
                raise degenerated(reason, step, times, what, getattr(self._hints, reason))

    def loss(self, value: float, *, step: int) -> None:
        """Look at a loss.

        Raises:
            DegeneratedError: when it is not finite.
        """
        check_finite("loss", value, step=step)

    def gradient(self, norm: float, *, step: int) -> None:
        """Look at the norm of a gradient, before the weights are changed by it.

        Raises:
            DegeneratedError: when it is not finite.
        """
        check_finite("gradient", norm, step=step)


def check_finite(
    what: str, value: float, *, step: int, hint: str = "Lower the learning rate, or compute in float32 (model.compute)."
) -> None:
    """End a run at a number that is not finite.

    Args:
        what: ``loss`` or ``gradient``.
        value: the number.
        step: optimizer steps done.
        hint: what to change.

    Raises:
        DegeneratedError: it is not finite.
    """
    if not math.isfinite(value):
        sentence = f"ended at step {step}: the {what} is {value}; the weights were not changed by it."
        raise DegeneratedError(what, step, f"{sentence}\n{hint} The last checkpoint is from before.")


def degenerated(reason: str, step: int, batches: int, what: str, hint: str) -> DegeneratedError:
    """Return the error of a run in which, for so many generation batches in a row, something went wrong."""
    return DegeneratedError(reason, step, f"ended at step {step}: for {batches} generation batches in a row {what}.\n{hint}")
