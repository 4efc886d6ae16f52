"""A cache of at most so many bytes; the least recently used value is dropped first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByteBounded(Generic[K, V]):
    """Values by key, made once, as many as fit. Safe to use from several threads.

    A value that is larger than the whole cache is made, given out, and not kept. Two threads that ask for one key at the same
    time share one making; when it raises, both see the error and nothing is kept.

    Args:
        most_bytes: how much the values may weigh together.
        weight: the bytes of one value.

    Example:
        >>> cache = ByteBounded(10, len)
        >>> [cache.get(key, lambda key=key: key * 4) for key in "abab"], cache.made, cache.bytes
        (['aaaa', 'bbbb', 'aaaa', 'bbbb'], 2, 8)
        >>> cache.get("c", lambda: "cccc"), "a" in cache, "b" in cache, len(cache)
        ('cccc', False, True, 2)
    """

    def __init__(self, most_bytes: int, weight: Callable[[V], int]) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self.made = 0
        """How often a value had to be made."""
        self._weight = weight
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._making: dict[K, Future[V]] = {}
        self._lock = Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of a key; ``make`` is called, outside the lock, when it is not there."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            coming = self._making.get(key)
            mine = coming is None
            if coming is None:
                coming = self._making[key] = Future()
                self.made += 1
        if not mine:
            return coming.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._making[key]
            coming.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            self._keep(key, value)
        coming.set_result(value)
        return value

    def __len__(self) -> int:
        """How many values are kept."""
        return len(self._kept)

    def __contains__(self, key: object) -> bool:
        """Whether a value is kept."""
        return key in self._kept

    def _keep(self, key: K, value: V) -> None:
        weight = self._weight(value)
        if weight > self.most_bytes:
            return
        self._kept[key] = value
        self.bytes += weight
        while self.bytes > self.most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self.bytes -= self._weight(oldest)
