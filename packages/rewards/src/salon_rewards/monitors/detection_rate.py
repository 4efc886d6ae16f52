"""The share of completions in which a fallible detector finds something: what the monitors with a lexicon have in common."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TypeVar

from salon_rewards.monitors.batch import StepBatch
from salon_rewards.monitors.confidence import wilson_lower
from salon_rewards.monitors.reading import Reading, Thresholds, no_reading, reading
from salon_rewards.monitors.window import Grouped, Pool

T = TypeVar("T")


def detected_share(
    name: str,
    batch: StepBatch,
    thresholds: Thresholds,
    pool: Pool[T],
    looked_at: Sequence[Grouped[T]],
    *,
    what: str,
    mistaken: float,
    unreadable: int,
    detail: Callable[[float, Sequence[T]], str],
) -> Reading:
    """Return the reading of a step: the share, 0 to 1, of completions in which the detector fires.

    An alarm also needs the lower end of Wilson's interval, over pictures, to be above the detector's own mistakes.

    Args:
        name: the monitor's.
        batch: the step.
        thresholds: the monitor's.
        pool: the newest steps; the step is added to it.
        looked_at: what the detector says of each completion, with its picture; what is false counts as nothing found.
        what: is looked at, for a reading that has too little of it.
        mistaken: how often the detector may be mistaken, 0 to 1.
        unreadable: completions of the step that say nothing to this monitor.
        detail: the reading's words, from the share and what the detector says of all that are pooled.

    Example:
        >>> seen = [(picture, True) for picture in range(32)]
        >>> batch = StepBatch.read(["?"], step=0)
        >>> said = {"what": "words", "mistaken": 0.1, "unreadable": 0, "detail": lambda share, found: f"{share:.0%}"}
        >>> detected_share("any", batch, Thresholds(0.2, 0.5), Pool(), seen, **said).detail
        '100%'
        >>> detected_share("any", batch, Thresholds(0.2, 0.5), Pool(), seen[:9], **said).detail
        '9 words, 32 are needed'
    """
    pooled = pool.add(looked_at)
    if not pool.enough(pooled):
        why = pool.wanting(pooled, what)
        return no_reading(name, batch, thresholds, why, samples=len(pooled), unreadable=unreadable)
    found = [each for _, each in pooled]
    share = fmean(bool(each) for each in found)
    return reading(
        name,
        batch,
        share,
        thresholds,
        samples=len(pooled),
        unreadable=unreadable,
        sure=wilson_lower(share, len({picture for picture, _ in pooled})) > mistaken,
        detail=detail(share, found),
    )
