"""Which examples come up at every step of a whole run, decided before the first: so a resumed run cannot see others.

examples ──► prompt_plan: one index per prompt, chunk after chunk ──► PlannedSampler: each repeated as TRL wants it
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from torch.utils.data import Sampler

from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import SamplingSection
from salon_train.data import NORMAL, TrainingExample


def prompt_plan(
    examples: Sequence[TrainingExample], sampling: SamplingSection, *, chunk: int, chunks: int, seed: int
) -> list[int]:
    """The examples of a whole run: ``chunks`` times ``chunk`` indices; every chunk holds the ratio.

    Raises:
        InputError: a bucket has no example, or the ratio does not come out in a chunk.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> examples = [TrainingExample(str(number), b"", MagicMirrorAnswer(True)) for number in range(4)]
        >>> sorted(prompt_plan(examples, SamplingSection(strategy="shuffled"), chunk=2, chunks=2, seed=0))
        [0, 1, 2, 3]
    """
    if sampling.strategy == "shuffled":
        pool = _Pool(_weighted(examples, range(len(examples)), sampling), f"{seed} shuffled")
        return [next(pool) for _ in range(chunk * chunks)]
    quota = quotas(sampling, chunk)
    pools = {}
    for bucket, count in quota.items():
        own = [place for place, example in enumerate(examples) if bucket in example.buckets]
        if count and not own:
            hint = "Leave the bucket out of the ratio, or add data."
            raise InputError("no example is in this bucket:", key="sampling.ratio", value=bucket, hint=hint)
        pools[bucket] = _Pool(_weighted(examples, own, sampling), f"{seed} {bucket}")
    plan: list[int] = []
    luck = random.Random(f"{seed} order")  # noqa: S311 - no secret
    for _ in range(chunks):
        drawn = [next(pools[bucket]) for bucket, count in quota.items() for _ in range(count)]
        luck.shuffle(drawn)
        plan += drawn
    return plan


def quotas(sampling: SamplingSection, chunk: int) -> dict[str, int]:
    """Prompts of each bucket in a chunk.

    Raises:
        InputError: when the ratio does not come out.

    Example:
        >>> list(quotas(SamplingSection(), 16).values())
        [8, 2, 2, 2, 2]
    """
    whole = sum(sampling.ratio.values())
    if chunk % whole:
        shown = ":".join(map(str, sampling.ratio.values()))
        hint = f"Choose batches of prompts that are a multiple of {whole} (grpo.generation_batch / grpo.generations)."
        raise InputError(f"{chunk} prompts at once cannot hold the ratio", key="sampling.ratio", value=shown, hint=hint)
    return {bucket: share * chunk // whole for bucket, share in sampling.ratio.items() if share}


def _weighted(examples: Sequence[TrainingExample], places: Sequence[int], sampling: SamplingSection) -> list[int]:
    """Places, with those of hard positives as often as wanted (a fraction: the first ones once more)."""
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
    """A plan in the order that TRL's trainers want: each index ``together`` times in a row, each chunk ``repeats`` times.

    This is the contract of TRL's ``RepeatSampler``: members of a group stand beside each other, and a chunk comes again
    for every step that learns from its completions.

    Example:
        >>> list(PlannedSampler([7, 8, 9, 4], chunk=2, together=2, repeats=1))
        [7, 7, 8, 8, 9, 9, 4, 4]
    """

    def __init__(self, plan: Sequence[int], *, chunk: int, together: int = 1, repeats: int = 1) -> None:
        self.plan = plan
        self._chunk = chunk
        self._together = together
        self._repeats = repeats

    def __len__(self) -> int:
        return len(self.plan) * self._together * self._repeats

    def __iter__(self) -> Iterator[int]:
        for start in range(0, len(self.plan), self._chunk):
            chunk = self.plan[start : start + self._chunk]
            for _ in range(self._repeats):
                for place in chunk:
                    for _ in range(self._together):
                        yield place


def counted(examples: Sequence[TrainingExample]) -> dict[str, int]:
    """How many examples are in each bucket (first buckets only)."""
    return dict(Counter(example.buckets[0] for example in examples))
