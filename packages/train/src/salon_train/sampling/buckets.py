"""Multi-bucket sampling as a pure function of seed, epoch and position.

A chunk is the examples of one generation batch (GRPO) or one optimizer step (SFT). Each takes its quota from every bucket's
shuffled pool; a pool is drawn to its end before it begins again, also across epochs (MagicMirror, section 3.1).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from salon_taxonomy.errors import InputError
from salon_train.sampling.draws import ChunkStream, PoolDraws, Resampling
from salon_train.sampling.ratio import DEFAULT_RATIO, Ratio


@dataclass(frozen=True)
class MultiBucketPlan:
    """Examples in their buckets, the ratio, and the size of a chunk; checked.

    Attributes:
        pools: of each bucket of the ratio, the numbers of its examples; one with two labels is in two pools.
        ratio: how many of each.
        chunk_size: different examples in a chunk.
        chunks_per_epoch: how long an epoch is.
        seed: of every draw.
        hard: the hard positives, in whichever pools they are.
        resampling: how often those are shown.
        examples: in the whole data set, those in no pool included.

    Example:
        >>> plan = MultiBucketPlan.of([("normal",)] * 6 + [("hand",)] * 2, chunk_size=3, ratio=Ratio({"normal": 2, "hand": 1}))
        >>> plan.chunks_per_epoch, [len(chunk) for chunk in plan.chunks(epoch=0)]
        (2, [3, 3])
        >>> sorted(index for chunk in plan.chunks(epoch=0) for index in chunk if index >= 6)
        [6, 7]
    """

    pools: Mapping[str, tuple[int, ...]]
    ratio: Ratio
    chunk_size: int
    chunks_per_epoch: int
    seed: int
    hard: frozenset[int]
    resampling: Resampling
    examples: int

    @classmethod
    def of(
        cls,
        buckets: Sequence[Collection[str]],
        *,
        chunk_size: int,
        ratio: Ratio = DEFAULT_RATIO,
        seed: int = 0,
        chunks_per_epoch: int | None = None,
        hard_positives: Sequence[bool] | None = None,
        positive_factor: float = 1,
        uneven: bool = False,
    ) -> "MultiBucketPlan":
        """Sort examples into pools, and check that every chunk can be filled.

        Args:
            buckets: of each example, its buckets (``TrainingExample.buckets``); those that the ratio does not name are left
                aside.
            chunk_size: different examples in a chunk.
            ratio: parts of the buckets.
            seed: of every draw; 0 or more.
            chunks_per_epoch: default: as many as the examples in the pools fill, as TRL counts; at least one.
            hard_positives: of each example, whether it is one; None: none is.
            positive_factor: how often those are drawn for each time that another example of their pool is.
            uneven: allow a ``chunk_size`` that is no multiple of the ratio's period. Chunks then differ by one example of a
                bucket, and the ratio is exact over every ``period`` of them.

        Raises:
            InputError: no such chunk can be made: its size is below 1 or does not fit the ratio, a pool is smaller than its
                quota, or pools share too many examples; ``hard_positives`` is of another length; or they cannot be shown as
                often as the factor says, because a chunk takes none twice.
        """
        if chunk_size < 1:
            raise InputError("must be 1 or more", column="chunk_size", value=chunk_size)
        if seed < 0:
            raise InputError("must be 0 or more", column="seed", value=seed)
        if chunk_size % ratio.period and not uneven:
            raise _no_multiple(chunk_size, ratio)
        pools: dict[str, list[int]] = {bucket: [] for bucket in ratio.buckets}
        for index, names in enumerate(buckets):
            for name in dict.fromkeys(names):
                if name in pools:
                    pools[name].append(index)
        drawn = {index for pool in pools.values() for index in pool}
        length = max(1, len(drawn) // chunk_size) if chunks_per_epoch is None else chunks_per_epoch
        if length < 1:
            raise InputError("must be 1 or more", column="chunks_per_epoch", value=length)
        plan = cls(
            {bucket: tuple(pool) for bucket, pool in pools.items()},
            ratio,
            chunk_size,
            length,
            seed,
            _hard(hard_positives, buckets),
            Resampling(positive_factor),
            len(buckets),
        )
        plan._check()
        return plan

    def quotas(self, number: int) -> dict[str, int]:
        """Return how many of each bucket the chunk of that number takes, counted from the first of epoch 0."""
        return self.ratio.quotas(self.chunk_size, number)

    def chunks(self, epoch: int = 0, start: int = 0) -> Iterator[tuple[int, ...]]:
        """Yield the chunks of an epoch, from number ``start`` on; each holds ``chunk_size`` different examples.

        Their order is random, in blocks that each have the exact ratio where ``chunk_size`` is a multiple of its period: ranks
        that get whole blocks have the ratio for themselves.

        Note:
            A chunk depends on all before it. They are drawn and thrown away, a few microseconds for each
            example; :meth:`stream` continues from where it is.
        """
        stream = self.stream()
        self.advance(stream, epoch * self.chunks_per_epoch + start)
        for _ in range(start, self.chunks_per_epoch):
            yield self.next_chunk(stream)

    def stream(self) -> ChunkStream:
        """Return the chunks from the first of epoch 0 on, without end; for :meth:`next_chunk` and :meth:`advance`."""
        draws = {
            bucket: PoolDraws(bucket, pool, self.seed, self._hard_in(bucket), self.resampling)
            for bucket, pool in self.pools.items()
        }
        return ChunkStream(draws, self.seed)

    def next_chunk(self, stream: ChunkStream) -> tuple[int, ...]:
        """Return the next chunk of a stream."""
        quotas = self.quotas(stream.position)
        return stream.ordered(stream.draw(quotas), {bucket: quota for bucket, quota in quotas.items() if quota})

    def advance(self, stream: ChunkStream, position: int) -> None:
        """Pass over chunks until the next one has that number."""
        while stream.position < position:
            stream.pass_over(self.quotas(stream.position))

    def _hard_in(self, bucket: str) -> tuple[int, ...]:
        return tuple(index for index in self.pools[bucket] if index in self.hard) if self.hard else ()

    def _check(self) -> None:
        """Whether every chunk can be filled. A pool as large as a chunk always can; the others are tried."""
        self._check_resampling()
        if all(len(pool) >= self.chunk_size for pool in self.pools.values()):
            return
        for quotas in self.ratio.different_quotas(self.chunk_size):
            self.stream().draw(quotas)

    def _check_resampling(self) -> None:
        factor = self.resampling.exact
        for bucket, pool in self.pools.items():
            hard = len(self._hard_in(bucket))
            most = max(quotas[bucket] for quotas in self.ratio.different_quotas(self.chunk_size)) if hard else 0
            if hard and factor > 1 and factor * most >= len(pool) + hard * (factor - 1):
                problem = f"a chunk takes {most} different examples of {bucket!r}, so {hard} hard positives among {len(pool)}"
                hint = "Take a smaller factor, a smaller chunk, or more examples."
                times = self.resampling.factor
                raise InputError(f"{problem} cannot be shown so often:", column="positive_factor", value=times, hint=hint)


def _hard(marks: Sequence[bool] | None, buckets: Sequence[Collection[str]]) -> frozenset[int]:
    if marks is None:
        return frozenset()
    if len(marks) != len(buckets):
        raise InputError(f"must be as many as the {len(buckets)} examples, not", column="hard_positives", value=len(marks))
    return frozenset(index for index, mark in enumerate(marks) if mark)


def _no_multiple(chunk_size: int, ratio: Ratio) -> InputError:
    below = chunk_size // ratio.period * ratio.period
    sizes = f"{below} or {below + ratio.period}" if below else str(ratio.period)
    hint = f"Take {sizes}, or allow uneven chunks, which hold the ratio {ratio} in the long run."
    return InputError(
        f"must be a multiple of {ratio.period} for the ratio {ratio}, not", column="chunk_size", value=chunk_size, hint=hint
    )


def counted(chunk: Sequence[int], buckets: Sequence[Collection[str]]) -> Counter[str]:
    """Count the examples of a chunk by bucket; one with two labels counts twice.

    Example:
        >>> counted([0, 1], [("hand", "foot"), ("hand",)])
        Counter({'hand': 2, 'foot': 1})
    """
    return Counter(name for index in chunk for name in buckets[index])
