"""Split a chunk into buckets by a ratio, exact per chunk or in the long run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import MAIN_BUCKETS

_LARGEST_SUM = 10_000
"""A ratio with a longer period is refused: what it says could not be seen in any batch."""


@dataclass(frozen=True)
class Ratio:
    """Parts of the buckets, such as 4:1:1:1:1.

    One slot after another goes to a bucket by the quota method (Balinski and Young, 1975), so that after every slot each
    bucket's count is less than one away from its exact share, and after every ``period`` slots it is exact. A chunk takes the
    next slots of that endless sequence; a chunk whose size is a multiple of the period has the exact ratio.

    Attributes:
        parts: a whole number of at least 1 for each bucket.

    Raises:
        InputError: without buckets, a part below 1 or not whole, or parts that add up to more than 10,000.

    Example:
        >>> ratio = Ratio({"normal": 4, "hand": 1, "foot": 1})
        >>> ratio.period, ratio.quotas(12, 0)
        (6, {'normal': 8, 'hand': 2, 'foot': 2})
        >>> [tuple(ratio.quotas(4, number).values()) for number in range(3)]
        [(3, 1, 0), (3, 0, 1), (2, 1, 1)]
    """

    parts: Mapping[str, int]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("a ratio needs at least one bucket", column="ratio")
        for bucket, part in self.parts.items():
            if not isinstance(part, int) or isinstance(part, bool) or part < 1:
                hint = "Leave a bucket out of the ratio to draw none of it."
                raise InputError("a part must be a whole number of at least 1:", column=bucket, value=part, hint=hint)
        if sum(self.parts.values()) > _LARGEST_SUM:
            raise InputError(f"the parts add up to more than {_LARGEST_SUM:,}:", column="ratio", value=str(self))
        object.__setattr__(self, "parts", dict(self.parts))

    @classmethod
    def parsed(cls, text: str, buckets: tuple[str, ...] = MAIN_BUCKETS) -> "Ratio":
        """Read ``4:1:1:1:1``; a bucket with the part 0 is left out.

        Raises:
            InputError: not as many whole numbers as buckets.

        Example:
            >>> Ratio.parsed("2:1:0:0:0").parts
            {'normal': 2, 'L2: Irrational Element Interaction': 1}
        """
        numbers = [part.strip() for part in text.split(":")]
        if len(numbers) != len(buckets) or not all(part.isascii() and part.isdigit() for part in numbers):
            wanted = f"must be {len(buckets)} whole numbers with colons between them, one for each bucket, not"
            raise InputError(wanted, column="ratio", value=text, allowed=buckets)
        return cls({bucket: int(part) for bucket, part in zip(buckets, numbers, strict=True) if int(part)})

    def __str__(self) -> str:
        """As in ``4:1:1:1:1``."""
        return ":".join(str(part) for part in self.parts.values())

    @property
    def buckets(self) -> tuple[str, ...]:
        """The buckets, in the order in which they were given."""
        return tuple(self.parts)

    @cached_property
    def period(self) -> int:
        """The shortest chunk that can have the exact ratio."""
        return self._sum // gcd(*self.parts.values())

    def quotas(self, chunk_size: int, number: int) -> dict[str, int]:
        """Return how many of each bucket the chunk of that number (from 0) takes; they add up to ``chunk_size``."""
        if chunk_size % self.period == 0:
            return {bucket: chunk_size * part // self._sum for bucket, part in self.parts.items()}
        before, after = self._after(number * chunk_size), self._after((number + 1) * chunk_size)
        return {bucket: late - early for bucket, early, late in zip(self.parts, before, after, strict=True)}

    def different_quotas(self, chunk_size: int) -> Iterator[dict[str, int]]:
        """Yield the quotas of every chunk until they repeat; one where the size is a multiple of the period."""
        for number in range(self.period // gcd(self.period, chunk_size)):
            yield self.quotas(chunk_size, number)

    def share(self, bucket: str) -> float:
        """Return the part of all slots that a bucket gets, from 0 to 1."""
        return self.parts.get(bucket, 0) / self._sum

    @cached_property
    def _sum(self) -> int:
        return sum(self.parts.values())

    def _after(self, slots: int) -> list[int]:
        whole, rest = divmod(slots, self.period)
        shrink = gcd(*self.parts.values())
        return [whole * part // shrink + extra for part, extra in zip(self.parts.values(), self._counts[rest], strict=True)]

    @cached_property
    def _counts(self) -> list[tuple[int, ...]]:
        """What each bucket has after 0, 1, … slots of one period."""
        parts = [part // gcd(*self.parts.values()) for part in self.parts.values()]
        counts = [0] * len(parts)
        table = [tuple(counts)]
        for slot in range(1, self.period + 1):
            open_ = [b for b, part in enumerate(parts) if counts[b] * self.period < part * slot]  # may not pass its upper quota
            first = min(open_, key=lambda b: ((counts[b] + 1) / parts[b], b))
            counts[first] += 1
            table.append(tuple(counts))
        return table


DEFAULT_RATIO: Final = Ratio(dict(zip(MAIN_BUCKETS, (4, 1, 1, 1, 1), strict=True)))
"""Normal to the four main L2 labels (MagicMirror, section 3.1)."""
