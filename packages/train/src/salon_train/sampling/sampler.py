"""A multi-bucket plan as a torch sampler, with the repetition that TRL's GRPO trainer counts on."""

from collections.abc import Iterator

from torch.utils.data import Sampler

from salon_taxonomy.errors import InputError
from salon_train.sampling.buckets import MultiBucketPlan
from salon_train.sampling.draws import ChunkStream


class MultiBucketSampler(Sampler[int]):
    """Yields the numbers of examples, chunk by chunk, in the form of TRL's ``RepeatSampler``.

    Each example stands ``mini_repeat_count`` times in a row (a group of completions), and each chunk ``repeat_count`` times
    (a generation batch is used for several steps). The order is a function of the plan's seed, the epoch and the position: a
    second sampler, on another rank or after a restart, yields the same. There is no generator to save.

    Args:
        plan: whose chunks.
        mini_repeat_count: at least 1.
        repeat_count: at least 1.

    Raises:
        InputError: a count below 1.

    Example:
        >>> from salon_train.sampling import Ratio
        >>> plan = MultiBucketPlan.of([("normal",), ("hand",)] * 2, chunk_size=2, ratio=Ratio({"normal": 1, "hand": 1}))
        >>> drawn = list(MultiBucketSampler(plan, mini_repeat_count=2, repeat_count=2))
        >>> len(drawn), drawn[0] == drawn[1], drawn[:4] == drawn[4:8], sorted({index % 2 for index in drawn[:4]})
        (16, True, True, [0, 1])
    """

    def __init__(self, plan: MultiBucketPlan, *, mini_repeat_count: int = 1, repeat_count: int = 1) -> None:
        for name, value in (("mini_repeat_count", mini_repeat_count), ("repeat_count", repeat_count)):
            if value < 1:
                raise InputError("must be 1 or more", column=name, value=value)
        self.plan = plan
        self.mini_repeat_count = mini_repeat_count
        self.repeat_count = repeat_count
        self.epoch = 0
        self._resting: ChunkStream | None = None

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is; torch's and accelerate's loaders do."""
        if epoch < 0:
            raise InputError("must be 0 or more", column="epoch", value=epoch)
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        """One epoch."""
        stream = self._at(self.epoch)
        group = range(self.mini_repeat_count)
        for _ in range(self.plan.chunks_per_epoch):
            repeated = [index for index in self.plan.next_chunk(stream) for _ in group]
            for _ in range(self.repeat_count):
                yield from repeated

    def __len__(self) -> int:
        """Of one epoch, repetitions counted."""
        return self.plan.chunks_per_epoch * self.plan.chunk_size * self.mini_repeat_count * self.repeat_count

    def _at(self, epoch: int) -> ChunkStream:
        """The stream at the start of an epoch; goes on from the last such start, so that few chunks are drawn in vain."""
        start = epoch * self.plan.chunks_per_epoch
        stream = self._resting
        if stream is None or stream.position > start:
            stream = self.plan.stream()
        self.plan.advance(stream, start)
        self._resting = stream
        return stream.copied()
