"""How many requests one rater, or one network, may send: buckets that fill steadily. Kept in memory, never written."""

from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from time import monotonic
from typing import Final

_MOST_BUCKETS: Final = 100_000


class Limits:
    """Buckets by key; each holds ``most`` tokens and gains ``per_second``.

    Args:
        most: requests that may come at once.
        per_second: requests that may come for ever.
        clock: seconds.

    Example:
        >>> limits = Limits(2, 1.0, clock=lambda: 0.0)
        >>> [limits.allow("one") for _ in range(3)], limits.allow("other")
        ([True, True, False], True)
    """

    def __init__(self, most: float, per_second: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._per_second = per_second
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allow(self, key: str) -> bool:
        """Take a token; False when the bucket is empty."""
        now = self._clock()
        tokens, at = self._buckets.pop(key, (self._most, now))
        tokens = min(self._most, tokens + (now - at) * self._per_second)
        allowed = tokens >= 1.0
        self._buckets[key] = (tokens - allowed, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return allowed


def network_of(address: str) -> str:
    """Return the network of an address: /24 of IPv4, /48 of IPv6; the text itself where it is no address.

    Example:
        >>> network_of("203.0.113.9"), network_of("2001:db8:1:2::9"), network_of("testclient")
        ('203.0.113.0', '2001:db8:1::', 'testclient')
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    kept = 24 if parsed.version == 4 else 48
    width = parsed.max_prefixlen
    return str(type(parsed)(int(parsed) >> (width - kept) << (width - kept)))
