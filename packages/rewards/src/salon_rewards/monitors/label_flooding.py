"""Label flooding: a policy that names every kind of artifact, so that the right one is always among them.

What a reward that pays for recall teaches. The number is labels (L2 and L3 together) of an answer that finds something,
over labels of a truth that does.
"""

from statistics import fmean
from typing import Final

from salon_rewards.monitors.batch import StepBatch
from salon_rewards.monitors.confidence import mean_lower
from salon_rewards.monitors.pool import MINIMUM, WINDOW, Pool, PooledMonitor
from salon_rewards.monitors.reading import Reading, Thresholds
from salon_taxonomy.answers import MagicMirrorAnswer

TYPICAL_LABELS: Final = 2.55
"""Labels of an image with artifacts in MagicData340K: 1.34 L2 and 1.20 L3 (MagicMirror, Table 5: sums over 169,501 images)."""


class LabelFlooding(PooledMonitor[float]):
    """Labels per answer that finds artifacts, over labels per truth that does (a ratio; 1 where both name as many).

    Answers that say "wrong" and not how count with 0 labels. Where the completions bring no flawed truth, the data set's mean
    is the baseline (:data:`TYPICAL_LABELS`). An alarm also needs the lower end of the mean over pictures to be above it.

    Args:
        warn: 2: annotators mark the two most obvious problems, so twice the truth's labels is past what they would ever give.
        stop: 4: of 23 labels some ten per picture, at which every picture is right somewhere.
        minimum: answers with artifacts that a reading needs.
        window: steps that may be pooled to have them.

    Example:
        >>> text = r'<think>Odd</think>\\boxed{{"Whether Normal": false, "Type of Deformity": {"L2: Other Irrationalities":1}}}'
        >>> LabelFlooding(minimum=1).look(StepBatch.read([text], step=0)).detail
        '1.0 labels per answer with artifacts; 2.5 expected'
    """

    name = "label_flooding"
    own = Thresholds(2.0, 4.0)

    def __init__(
        self, warn: float | None = None, stop: float | None = None, *, minimum: int = MINIMUM, window: int = WINDOW
    ) -> None:
        super().__init__(warn, stop, minimum=minimum, window=window)
        self._true: Pool[float] = Pool(minimum, window)

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        labels = [(item.group, item.answer) for item in batch.completions if isinstance(item.answer, MagicMirrorAnswer)]
        pooled = self._pool.add([((batch.step, group), _labels(answer)) for group, answer in labels if not answer.normal])
        truths = [(item.group, item.truth) for item in batch.completions if isinstance(item.truth, MagicMirrorAnswer)]
        true = self._true.add([((batch.step, group), _labels(truth)) for group, truth in truths if not truth.normal])
        unreadable = len(batch.completions) - len(labels)
        if not self._pool.enough(pooled):
            why = self._pool.shortfall(pooled, "answers with artifacts")
            return self._none(batch, why, samples=len(pooled), unreadable=unreadable)
        baseline = max(fmean(count for _, count in true), 1.0) if true else TYPICAL_LABELS
        mean = fmean(count for _, count in pooled)
        return self._reading(
            batch,
            mean / baseline,
            samples=len(pooled),
            unreadable=unreadable,
            sure=mean_lower(pooled) > baseline,
            detail=f"{mean:.1f} labels per answer with artifacts; {baseline:.1f} expected",
        )


def _labels(answer: MagicMirrorAnswer) -> float:
    return float(len(answer.artifacts) + sum(len(artifact.l3) for artifact in answer.artifacts))
