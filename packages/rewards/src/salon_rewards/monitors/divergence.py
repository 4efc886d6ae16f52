"""Reward–metric divergence: the reward rises while the metric on held-out pictures falls.

The one sign that all shortcuts share, also those without a monitor of their own. Measured here once: a reward that went from
.824 to .859 while held-out F1 went from .831 to .788.
"""

from collections import deque
from statistics import fmean
from typing import NamedTuple

from salon_rewards.monitors.batch import StepBatch
from salon_rewards.monitors.confidence import rising_probability, theil_sen
from salon_rewards.monitors.reading import Reading, Thresholds, no_reading, reading
from salon_taxonomy.errors import InputError


class _Evaluation(NamedTuple):
    step: int
    reward: float
    metric: float


class RewardMetricDivergence:
    """How far the held-out metric has fallen over the last evaluations, along Theil and Sen's slope (in the metric's unit).

    Never more than lies between the highest and the lowest of them; negative where the metric rose.

    A fall alone rings no bell: the reward must rise over the same evaluations, and both trends must be surer than chance
    (Mann–Kendall, exact, one-sided). Each evaluation is paired with the mean reward of the steps since the one before. Between
    evaluations the last reading stands.

    Args:
        warn: 0.02: two points of F1 lost.
        stop: 0.04: four points lost, which took the run described above all of its gain.
        window: evaluations that count.
        fewest: evaluations that a reading needs; with five, only a fall from each to the next is sure enough to warn.
        reward_chance: how likely a reward without trend may be to rise like this.
        warn_chance: how likely a metric without trend may be to fall like this for a warning; every evaluation asks.
        stop_chance: the same for a stop; 0.001 takes at least seven evaluations.
        higher_is_better: whether a metric that falls gets worse; for an error, say no.

    Raises:
        InputError: for fewer than three evaluations, or a window below them.

    Example:
        >>> monitor = RewardMetricDivergence()
        >>> steps = [StepBatch.read(["?"], step=i, reward=[0.8 + i / 100], held_out=0.85 - i / 100) for i in range(8)]
        >>> seen = [monitor.look(step) for step in steps][-1]
        >>> round(seen.value, 3), str(seen.verdict)
        (0.07, 'stop')
    """

    name = "reward_metric_divergence"

    def __init__(
        self,
        warn: float = 0.02,
        stop: float = 0.04,
        *,
        window: int = 10,
        fewest: int = 5,
        reward_chance: float = 0.05,
        warn_chance: float = 0.01,
        stop_chance: float = 0.001,
        higher_is_better: bool = True,
    ) -> None:
        if fewest < 3:
            raise InputError("must be 3 or more", column="fewest", value=fewest)
        if window < fewest:
            raise InputError("must not be below 'fewest'", column="window", value=window)
        for name, chance in (("reward_chance", reward_chance), ("warn_chance", warn_chance), ("stop_chance", stop_chance)):
            if not 0 < chance <= 1:
                raise InputError("must be a probability above 0", column=name, value=chance)
        self.thresholds = Thresholds(warn, stop)
        self.fewest = fewest
        self.reward_chance, self.warn_chance, self.stop_chance = reward_chance, warn_chance, stop_chance
        self._sign = 1.0 if higher_is_better else -1.0
        self._rewards: list[float] = []
        self._evaluations: deque[_Evaluation] = deque(maxlen=window)

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        self._rewards += [reward for reward in batch.rewards if reward is not None]
        if batch.held_out is not None and self._rewards:
            self._evaluations.append(_Evaluation(batch.step, fmean(self._rewards), self._sign * batch.held_out))
            self._rewards = []
        count = len(self._evaluations)
        if count < self.fewest:
            why = f"{count} evaluations with rewards before them, {self.fewest} are needed"
            return no_reading(self.name, batch, self.thresholds, why, samples=count, unreadable=batch.unreadable)
        steps, rewards, metrics = (list(column) for column in zip(*self._evaluations, strict=True))
        span = steps[-1] - steps[0]
        metric_slope, reward_slope = theil_sen(steps, metrics), theil_sen(steps, rewards)
        if metric_slope is None or reward_slope is None:
            why = "all evaluations are of one step"
            return no_reading(self.name, batch, self.thresholds, why, samples=count, unreadable=batch.unreadable)
        fall = max(min(0.0 - metric_slope * span, max(metrics) - min(metrics)), min(metrics) - max(metrics))
        rises = rising_probability(rewards)
        falls = rising_probability([-metric for metric in metrics])
        diverges = rises <= self.reward_chance and falls <= self.warn_chance
        thresholds = self.thresholds
        if falls > self.stop_chance:
            thresholds = Thresholds(thresholds.warn, float("inf"))
        return reading(
            self.name,
            batch,
            fall,
            thresholds,
            samples=count,
            unreadable=batch.unreadable,
            sure=diverges,
            detail=f"over steps {steps[0]} to {steps[-1]}: reward {reward_slope * span:+.3g} (chance {rises:.2g}), "
            f"held-out metric {-self._sign * fall:+.3g} (chance {falls:.2g})",
        )
