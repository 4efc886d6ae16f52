"""Unreadable: completions that no grammar takes. All other monitors look past them, so this one watches how many they are."""

from salon_rewards.monitors.batch import StepBatch
from salon_rewards.monitors.pool import PooledMonitor
from salon_rewards.monitors.reading import Reading, Thresholds


class Unreadable(PooledMonitor[bool]):
    """The share of completions that cannot be read.

    Args:
        warn: 0.3: where three in ten say nothing, shares of the others no longer speak for the policy.
        stop: 0.9: next to nothing is left to learn from; the policy never knew the grammar, or has lost it.

    Example:
        >>> seen = Unreadable(minimum=2).look(StepBatch.read(["", r"\\boxed{}"], step=0))
        >>> seen.value, str(seen.verdict)
        (1.0, 'stop')
    """

    name = "unreadable"
    own = Thresholds(0.3, 0.9)

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        pooled = self._pool.add([((batch.step, item.group), item.answer is None) for item in batch.completions])
        if not self._pool.enough(pooled):
            why = self._pool.shortfall(pooled, "completions")
            return self._none(batch, why, samples=len(pooled), unreadable=batch.unreadable)
        lost = sum(is_lost for _, is_lost in pooled)
        return self._reading(
            batch,
            lost / len(pooled),
            samples=len(pooled),
            unreadable=batch.unreadable,
            detail=f"{lost} of {len(pooled)} completions cannot be read",
        )
