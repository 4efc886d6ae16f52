"""Shuffled pools that are drawn to their end before they begin again, and chunks that take no example twice."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from random import Random

from salon_taxonomy.errors import InputError

_LONGEST_WAIT = 4
"""Cycles that a queue may hold; only pools that share nearly all their examples reach it."""
_LARGEST_FACTOR = 1_000


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often a hard positive is drawn for each time that another normal picture is.

    Hard positives are normal pictures of what generators often fail at, drawn right. Without them an assessor learns that
    whatever has hands is an artifact (MagicMirror, section 3.1; ablation in Tables 4 and 6). The paper gives no factor.

    Attributes:
        factor: at least 1, which is no resampling; exact for fractions: 2.5 is two and three times in turn.

    Raises:
        InputError: below 1, above 1,000, or not a number.

    Example:
        >>> [Resampling(2.5).copies(cycle) for cycle in range(4)]
        [2, 3, 2, 3]
        >>> round(Resampling(3).share([True, False, False, False]), 3)
        0.5
    """

    factor: Fraction | float | int

    def __post_init__(self) -> None:
        if not isinstance(self.factor, int | float | Fraction) or not 1 <= self.factor <= _LARGEST_FACTOR:
            raise InputError(f"must lie between 1 and {_LARGEST_FACTOR:,}", column="positive_factor", value=self.factor)

    @property
    def exact(self) -> Fraction:
        """The factor as a fraction, read from its shortest decimal form: 1.1 is 11/10."""
        return self.factor if isinstance(self.factor, Fraction) else Fraction(str(self.factor))

    def copies(self, cycle: int) -> int:
        """Return how often cycle number ``cycle`` (from 0) contains a hard positive; the first n cycles contain ⌊n·factor⌋."""
        return int((cycle + 1) * self.exact) - int(cycle * self.exact)

    def share(self, hard: Sequence[bool]) -> float:
        """Return the long-run share of hard positives among the normal pictures drawn, 0 to 1.

        Args:
            hard: of every normal picture, whether it is one.

        Returns:
            NaN without pictures.
        """
        weight = self.exact * sum(hard)
        total = weight + len(hard) - sum(hard)
        return float(weight / total) if total else float("nan")


class PoolDraws:
    """One pool: its examples in random order, again and again.

    An example that the chunk already contains waits for the next chunk, at the front.

    Args:
        bucket: the name; a part of the seed.
        members: the examples, at least one, each once.
        seed: with the bucket and the number of the cycle it determines the order.
        hard: the members that ``resampling`` shows more often.
        resampling: how often.
    """

    __slots__ = ("_bucket", "_cycle", "_hard", "_queue", "_resampling", "_seed", "members")

    def __init__(
        self, bucket: str, members: Collection[int], seed: int, hard: Collection[int] = (), resampling: Resampling | None = None
    ) -> None:
        self.members = members
        self._bucket = bucket
        self._seed = seed
        self._hard = hard
        self._resampling = resampling
        self._cycle = 0
        self._queue: deque[int] = deque()

    def take(self, used: Collection[int]) -> int | None:
        """Return the next example that is not taken; None when all are."""
        queue = self._queue
        if queue and queue[0] not in used:  # nearly always
            return queue.popleft()
        for position, index in enumerate(queue):
            if index not in used:
                del queue[position]
                return index
        if all(index in used for index in self.members):
            return None
        self._refill()
        return self.take(used)

    def claim(self, index: int) -> None:
        """Draw this example out of its turn."""
        if index not in self._queue:
            self._refill()
        self._queue.remove(index)

    def give_back(self, index: int) -> None:
        """Undo a draw: the example is next."""
        self._queue.appendleft(index)

    def _refill(self) -> None:
        cycle = list(self.members)
        if self._resampling is not None and self._hard:
            again = self._resampling.copies(self._cycle) - 1
            cycle += [index for index in self._hard for _ in range(again)]
        if len(self._queue) > _LONGEST_WAIT * len(cycle):  # other pools take an example in every chunk: it waits once
            waiting = set(self._queue)
            cycle = [index for index in cycle if index not in waiting]
        self._queue.extend(shuffled(cycle, f"pool/{self._seed}/{self._bucket}/{self._cycle}"))
        self._cycle += 1


class ChunkStream:
    """Chunks one after another, from the first of epoch 0 on.

    Args:
        pools: the draws of every bucket.
        seed: of the order within chunks.
    """

    def __init__(self, pools: Mapping[str, PoolDraws], seed: int) -> None:
        self._pools = pools
        self._seed = seed
        self._random = Random(f"order within chunks/{seed}")  # noqa: S311 - no secret
        self.position = 0

    def draw(self, quotas: Mapping[str, int]) -> dict[int, str]:
        """Return the examples of the next chunk with the bucket that each was drawn for, in the order of drawing.

        Raises:
            InputError: the pools cannot fill the quotas, because they are too small or share too many examples.
        """
        held: dict[int, str] = {}
        for bucket, quota in quotas.items():
            take = self._pools[bucket].take
            for _ in range(quota):
                index = take(held)
                if index is not None:
                    held[index] = bucket
                    continue
                asked: set[str] = set()
                if not self._place(bucket, held, asked):
                    raise _too_small({each: (self._pools[each].members, quotas[each]) for each in quotas if each in asked})
        self.position += 1
        return held

    def ordered(self, held: Mapping[int, str], quotas: Mapping[str, int]) -> tuple[int, ...]:
        """Return the chunk that was drawn last, in random order, in as many blocks as can all have the same quotas."""
        blocks = gcd(*quotas.values())
        parts: list[list[int]] = [[] for _ in range(blocks)]
        drawn = dict.fromkeys(quotas, 0)
        for index, bucket in held.items():
            parts[drawn[bucket] * blocks // quotas[bucket]].append(index)
            drawn[bucket] += 1
        random = self._random.random
        return tuple(index for part in parts for index in sorted(part, key=lambda _: random()))

    def pass_over(self, quotas: Mapping[str, int]) -> None:
        """Draw the next chunk and throw it away."""
        for _ in self.draw(quotas):
            self._random.random()

    def _place(self, bucket: str, held: dict[int, str], asked: set[str]) -> bool:
        """Draw one more for a bucket, if need be by exchange with others (an augmenting path).

        ``asked`` gathers the buckets that took part; after a failure their pools together are too small.
        """
        asked.add(bucket)
        draws = self._pools[bucket]
        index = draws.take(held)
        if index is not None:
            held[index] = bucket
            return True
        for wanted in draws.members:
            owner = held[wanted]
            if owner not in asked and self._place(owner, held, asked):
                draws.claim(wanted)
                self._pools[owner].give_back(wanted)
                held[wanted] = bucket
                return True
        return False


def shuffled(rows: list[int], key: str) -> list[int]:
    """In an order that depends on the key alone, and is the same in every version of Python."""
    random = Random(key)  # noqa: S311 - no secret
    return sorted(rows, key=lambda _: random.random())


def _too_small(pools: Mapping[str, tuple[Collection[int], int]]) -> InputError:
    pictures = len({index for members, _ in pools.values() for index in members})
    asked = sum(quota for _, quota in pools.values())
    names = " and ".join(repr(bucket) for bucket in pools)
    if len(pools) == 1:
        what = f"the bucket {names} has {pictures} examples; a chunk takes {asked} different ones of it"
    else:
        what = f"the buckets {names} have {pictures} examples between them; a chunk takes {asked} different ones of them"
    hint = "Add examples, make the chunk smaller, or leave the bucket out of the ratio or give it a smaller part."
    return InputError(what, column="ratio", hint=hint)
