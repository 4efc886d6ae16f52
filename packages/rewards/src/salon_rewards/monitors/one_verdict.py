"""Always normal, always artifact: a policy that gives one verdict whatever it is shown.

What a reward teaches whose data lean to one side. The number says how far the policy has gone from the truth's own rate to
that verdict alone: 0 where it gives the verdict as often as the truth does, 1 where it gives no other, below 0 where less.
"""

from collections.abc import Mapping
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

from salon_rewards.monitors.batch import Answer, AnswerForm, StepBatch
from salon_rewards.monitors.confidence import wilson_lower
from salon_rewards.monitors.pool import MINIMUM, WINDOW, Grouped, PooledMonitor
from salon_rewards.monitors.reading import Reading, Thresholds
from salon_taxonomy.answers import MagicMirrorAnswer
from salon_taxonomy.errors import InputError


class _Said(NamedTuple):
    said: bool
    true: bool | None


class _OneVerdict(PooledMonitor[_Said]):
    """What both monitors share; see there."""

    name = "one_verdict"
    own = Thresholds(0.6, 0.9)
    _normal = True
    _words: Mapping[AnswerForm, str]

    def __init__(
        self,
        warn: float | None = None,
        stop: float | None = None,
        *,
        expected: float | None = None,
        minimum: int = MINIMUM,
        window: int = WINDOW,
    ) -> None:
        if expected is not None and not 0 <= expected < 1:
            raise InputError("must be a share from 0 to below 1", column="expected", value=expected)
        super().__init__(warn, stop, minimum=minimum, window=window)
        self.expected = expected

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        verdicts = [
            ((batch.step, item.group), _Said(_sound(item.answer) is self._normal, self._true(item.truth)))
            for item in batch.completions
            if item.answer is not None
        ]
        pooled = self._pool.add(verdicts)
        unreadable = len(batch.completions) - len(verdicts)
        shortfall = self._shortfall(pooled)
        if shortfall is not None:
            return self._none(batch, shortfall, samples=len(pooled), unreadable=unreadable)
        true = [item.true for _, item in pooled if item.true is not None]
        counted = [(group, item) for group, item in pooled if item.true is not None] if true else pooled
        baseline = fmean(true) if true else self.expected or 0.0
        share = fmean(item.said for _, item in counted)
        pictures = len({group for group, _ in counted})
        verdict = self._words[batch.grammar]
        return self._reading(
            batch,
            (share - baseline) / (1 - baseline),
            samples=len(counted),
            unreadable=unreadable,
            sure=wilson_lower(share, pictures) > baseline,
            detail=f"{share:.0%} say {verdict!r} on {pictures} pictures; {baseline:.0%} expected",
        )

    def _true(self, truth: Answer | None) -> bool | None:
        return None if truth is None else _sound(truth) is self._normal

    def _shortfall(self, pooled: list[Grouped[_Said]]) -> str | None:
        """Return why there is no reading; empty if there is one."""
        if not self._pool.enough(pooled):
            return self._pool.shortfall(pooled, "readable completions")
        true = [item.true for _, item in pooled if item.true is not None]
        if true and len(true) < self._pool.minimum:
            return self._pool.shortfall(true, "readable completions with a truth")
        if true and all(true):
            return "every truth says so, too"
        if not true and self.expected is None:
            return "neither a truth nor an expected rate"
        return None


class AlwaysNormal(_OneVerdict):
    """Measure the distance from the truth's rate of one verdict to giving only that verdict.

    The value is (share − rate) / (1 − rate); without errors on normal pictures, that is the share of flawed ones that pass.
    An alarm also needs the lower end of Wilson's interval, over pictures, to be above the truth's rate.

    Args:
        warn: 0.6: as many flawed pictures pass as in a cold start from annotators who miss 60% of them, which GRPO undoes.
        stop: 0.9: with one answer in ten left there is hardly a group in which two verdicts differ, so nothing is learned back.
        expected: the rate where completions bring no truth; without either there is no reading.
        minimum: readable completions that a reading needs.
        window: steps that may be pooled to have them.

    Example:
        >>> text = r'<think>Fine.</think>\\boxed{{"Whether Normal": true}}'
        >>> seen = AlwaysNormal(expected=0.5).look(StepBatch.read([text] * 64, step=0))
        >>> seen.value, str(seen.verdict), seen.detail
        (1.0, 'stop', "100% say 'normal' on 64 pictures; 50% expected")
    """

    name = "always_normal"
    _normal = True
    _words = MappingProxyType({AnswerForm.MAGICMIRROR: "normal", AnswerForm.R3: "matches"})


class AlwaysArtifact(_OneVerdict):
    """The same for "there is an artifact" (for R³: "does not match the prompt"). Arguments as in :class:`AlwaysNormal`.

    Example:
        >>> text = r'<think>Bad.</think>\\boxed{{"Whether Normal": false, "Type of Deformity": {}}}'
        >>> AlwaysArtifact(expected=0.5).look(StepBatch.read([text] * 3, step=0)).detail
        '3 readable completions, 32 are needed'
    """

    name = "always_artifact"
    _normal = False
    _words = MappingProxyType({AnswerForm.MAGICMIRROR: "artifact", AnswerForm.R3: "does not match"})


def _sound(answer: Answer) -> bool:
    return answer.normal if isinstance(answer, MagicMirrorAnswer) else answer.matches
