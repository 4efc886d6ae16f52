"""Template reasoning: the same thought whatever the picture shows.

What a reward teaches that reads the answer only. The number is how much of a reasoning is also in the reasonings about
pictures whose truth is another: words in runs of three, so that a template with a few open slots is caught as well.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import fmean
from typing import Final

from salon_rewards.monitors.batch import ReadCompletion, StepBatch
from salon_rewards.monitors.pool import PooledMonitor
from salon_rewards.monitors.reading import Reading, Thresholds
from salon_taxonomy.answers import MagicMirrorAnswer

MOST_REASONINGS: Final = 128
"""Of more, every second, third, … is looked at."""
MOST_WORDS: Final = 150
"""Of longer reasonings the rest is not looked at."""
_RUN: Final = 3


def shared_words(reasonings: Sequence[tuple[Hashable, str]]) -> float | None:
    """Return how much of a reasoning is found in those about other subjects, on average.

    For each reasoning: the share of its runs of three words that a random reasoning about another subject holds, too. 1 where
    all say the same, 0 where no two about different subjects share three words in a row.

    Args:
        reasonings: pairs of what the picture shows (anything hashable) and what was thought about it.

    Returns:
        From 0 to 1; None where all are about one subject.

    Example:
        >>> shared_words([("hand", "The hand has six fingers."), ("cup", "The cup has no handle.")])
        0.0
        >>> shared_words([("hand", "I looked closely."), ("cup", "I looked closely.")])
        1.0
    """
    runs = [(subject, _runs(text)) for subject, text in reasonings]
    everywhere: Counter[tuple[str, ...]] = Counter()
    within: dict[Hashable, Counter[tuple[str, ...]]] = {}
    sizes = Counter(subject for subject, _ in runs)
    for subject, sentences in runs:
        everywhere.update(sentences)
        within.setdefault(subject, Counter()).update(sentences)
    shares = []
    for subject, sentences in runs:
        others = len(runs) - sizes[subject]
        if others:
            own = within[subject]
            shares.append(sum([everywhere[run] - own[run] for run in sentences]) / (len(sentences) * others))
    return fmean(shares) if shares else None


class TemplateReasoning(PooledMonitor[tuple[Hashable, str]]):
    """:func:`shared_words` of the step's reasonings, where the subject is the truth's labels (without a truth: the picture).

    Thoughts about pictures of the same kind may agree; thoughts about different kinds may not. An empty block is a template.

    Args:
        warn: 0.6: a policy that takes one of few fixed sentences by chance, or says "normal" to half of all pictures, is below.
        stop: 0.9: nine in ten words are there whatever the picture shows.

    Example:
        >>> text = r'<think>I looked closely.</think>\\boxed{{"Whether Normal": true}}'
        >>> seen = TemplateReasoning().look(StepBatch.read([text] * 40, step=0))
        >>> seen.value, str(seen.verdict)
        (1.0, 'stop')
    """

    name = "template_reasoning"
    own = Thresholds(0.6, 0.9)

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        thoughts = [
            ((batch.step, item.group), (_subject(item, batch.step), item.reasoning))
            for item in batch.completions
            if item.reasoning is not None
        ]
        pooled = self._pool.add(thoughts)
        looked_at = [thought for _, thought in pooled[:: -(-len(pooled) // MOST_REASONINGS) or 1]]
        unreadable = len(batch.completions) - len(thoughts)
        value = shared_words(looked_at) if self._pool.enough(pooled) else None
        if value is None:
            enough = self._pool.enough(pooled)
            why = (
                "all are about one kind of picture" if enough else self._pool.shortfall(pooled, "completions with a reasoning")
            )
            return self._none(batch, why, samples=len(looked_at), unreadable=unreadable)
        return self._reading(
            batch,
            value,
            samples=len(looked_at),
            unreadable=unreadable,
            detail=f"{value:.0%} of a reasoning is also in those about other pictures",
        )


def _subject(completion: ReadCompletion, step: int) -> Hashable:
    """Return what a completion is about."""
    if isinstance(completion.truth, MagicMirrorAnswer):
        return tuple(sorted((l2, *sorted(l3)) for l2, l3 in completion.truth.labels.items())), completion.truth.normal
    return step, completion.group


def _runs(text: str) -> set[tuple[str, ...]]:
    words = text[: 20 * MOST_WORDS].lower().split()[:MOST_WORDS]
    if len(words) < _RUN:
        return {tuple(words)}
    return set(zip(words, words[1:], words[2:], strict=False))
