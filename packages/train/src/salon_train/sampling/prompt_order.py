"""Plan the examples of every step of a run before the first, so a resumed run sees the same.

examples ──► prompt_plan: one index per prompt, chunk after chunk ──► PlannedSampler: each repeated as TRL wants it
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from torch.utils.data import Sampler

from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import NORMAL, TrainingExample
from salon_train.configuration.schema import SamplingSection
from salon_train.sampling.buckets import MultiBucketPlan
from salon_train.sampling.ratio import Ratio


def prompt_plan(
    examples: Sequence[TrainingExample], sampling: SamplingSection, *, chunk: int, chunks: int, seed: int
) -> list[int]:
    """Return the examples of a whole run: ``chunks`` times ``chunk`` indices; every chunk holds the ratio.

    Raises:
        InputError: a bucket has no example, the ratio does not come out in a chunk, or hard positives are to come up more
            often and no example is one.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> examples = [TrainingExample(str(number), b"", MagicMirrorAnswer(True)) for number in range(4)]
        >>> sorted(prompt_plan(examples, SamplingSection(strategy="shuffled"), chunk=2, chunks=2, seed=0))
        [0, 1, 2, 3]
    """
    check_hard_positives(examples, sampling)
    if sampling.strategy == "shuffled":
        return shuffled_plan(_weighted(examples, range(len(examples)), sampling), chunk * chunks, seed=seed)
    quotas(sampling, chunk)
    drawn = MultiBucketPlan.of(
        [example.buckets for example in examples],
        chunk_size=chunk,
        ratio=ratio_of(sampling),
        seed=seed,
        chunks_per_epoch=chunks,
        hard_positives=[example.hard_positive for example in examples],
        positive_factor=sampling.hard_positives,
    )
    return [place for some in drawn.chunks(epoch=0) for place in some]


def check_hard_positives(examples: Sequence[TrainingExample], sampling: SamplingSection) -> None:
    """Refuse a factor for hard positives that would change nothing.

    Raises:
        InputError: ``sampling.hard_positives`` is above 1, and no normal picture is marked as a hard positive.
    """
    if sampling.hard_positives > 1 and not any(each.hard_positive and NORMAL in each.buckets for each in examples):
        raise InputError(
            "no normal picture of the training data is marked as a hard positive, so nothing can come up more often:",
            key="sampling.hard_positives",
            value=sampling.hard_positives,
            hint="Add a column hard_positive to the rows (true for normal pictures of something that generators often fail at, "
            "such as hands), or set sampling.hard_positives = 1: the ablation without positive resampling.",
        )


def shuffled_plan(places: Sequence[int], count: int, *, seed: int) -> list[int]:
    """``count`` of the places in random order, again and again; each once before any comes twice.

    Example:
        >>> [sorted(shuffled_plan(range(3), 6, seed=0)[half : half + 3]) for half in (0, 3)]
        [[0, 1, 2], [0, 1, 2]]
    """
    pool = _Pool(places, f"{seed} shuffled")
    return [next(pool) for _ in range(count)]


def ratio_of(sampling: SamplingSection) -> Ratio:
    """Return the ratio of the buckets; those with the part 0 are left out."""
    return Ratio({bucket: part for bucket, part in sampling.ratio.items() if part})


def quotas(sampling: SamplingSection, chunk: int) -> dict[str, int]:
    """Return prompts of each bucket in a chunk.

    Raises:
        InputError: when the ratio does not come out.

    Example:
        >>> list(quotas(SamplingSection(), 16).values())
        [8, 2, 2, 2, 2]
    """
    ratio = ratio_of(sampling)
    if chunk % ratio.period:
        hint = f"Choose batches of prompts that are a multiple of {ratio.period} (grpo.generation_batch / grpo.generations)."
        raise InputError(f"{chunk} prompts at once cannot hold the ratio", key="sampling.ratio", value=str(ratio), hint=hint)
    return ratio.quotas(chunk, 0)


def _weighted(examples: Sequence[TrainingExample], places: Sequence[int], sampling: SamplingSection) -> list[int]:
    """Return places, with those of hard positives as often as wanted (a fraction: the first ones once more)."""
    hard = [place for place in places if examples[place].hard_positive and NORMAL in examples[place].buckets]
    whole, rest = divmod(round((sampling.hard_positives - 1) * len(hard)), max(len(hard), 1))
    return [*places, *hard * whole, *hard[:rest]]


class _Pool(Iterator[int]):
    """Indices in random order, again and again; each once before any comes twice."""

    def __init__(self, places: Sequence[int], seed: str) -> None:
        self._places = list(places)
        self._luck = random.Random(seed)  # noqa: S311 - no secret
        self._left: list[int] = []

    def __next__(self) -> int:
        if not self._left:
            self._left = self._places[:]
            self._luck.shuffle(self._left)
        return self._left.pop()


class PlannedSampler(Sampler[int]):
    """Yield a plan in the order of TRL's trainers: each index ``together`` times in a row, each chunk ``repeats`` times.

    This is the contract of TRL's ``RepeatSampler``: members of a group follow each other, and a chunk is repeated for every
    step that learns from its completions. It holds the whole run, so a resumed run, or another process, yields the same.
    A trainer of your own uses it by returning it from ``_get_train_sampler``.

    Args:
        plan: indices of examples, chunk after chunk, for the whole run.
        chunk: different examples per generation batch (GRPO) or optimizer step (SFT), over all processes.
        together: completions per prompt (``num_generations``); 1 for SFT.
        repeats: ``num_iterations * steps_per_generation``; 1 for SFT.

    Raises:
        InputError: if ``chunk``, ``together`` or ``repeats`` is below 1.

    Example:
        >>> list(PlannedSampler([7, 8, 9, 4], chunk=2, together=2, repeats=1))
        [7, 7, 8, 8, 9, 9, 4, 4]
    """

    def __init__(self, plan: Sequence[int], *, chunk: int, together: int = 1, repeats: int = 1) -> None:
        for name, value in (("chunk", chunk), ("together", together), ("repeats", repeats)):
            if value < 1:
                raise InputError("must be 1 or more", column=name, value=value)
        self.plan = plan
        self._chunk = chunk
        self._together = together
        self._repeats = repeats

    def __len__(self) -> int:
        return len(self.plan) * self._together * self._repeats

    def __iter__(self) -> Iterator[int]:
        for start in range(0, len(self.plan), self._chunk):
            chunk = [place for place in self.plan[start : start + self._chunk] for _ in range(self._together)]
            for _ in range(self._repeats):
                yield from chunk


def counted(examples: Sequence[TrainingExample]) -> dict[str, int]:
    """Return how many examples are in each bucket (first buckets only)."""
    return dict(Counter(example.buckets[0] for example in examples))
