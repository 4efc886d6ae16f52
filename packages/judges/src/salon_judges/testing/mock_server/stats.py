"""What the mock server counts, so that a test can prove that nothing was paid twice."""

from collections import Counter
from dataclasses import dataclass, field

from salon_judges.testing.mock_server.faults import ANSWERED, ServerFault
from salon_judges.testing.mock_server.rules import Asked
from salon_judges.testing.mock_server.script import ScriptLine

_NO_COMPLETION = frozenset(set(ServerFault) - ANSWERED)


@dataclass(slots=True)
class Stats:
    """Counts since the server started.

    Attributes:
        requests: to ``/v1/chat/completions``, whatever came of them.
        paid: completions that were sent whole, spoiled ones included: what a provider would bill.
        paid_again: of these, unspoiled ones for a request (equal byte for byte) that had got an unspoiled one before.
        left: clients that closed the connection before their answer was sent.
        in_flight: requests being served now.
        most_in_flight: the largest number at once.
        faults: how often each fault happened, by its name.
    """

    requests: int = 0
    paid: int = 0
    paid_again: int = 0
    left: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    _served: set[str] = field(default_factory=set, repr=False)

    def arrived(self) -> None:
        """Count a request that came in."""
        self.requests += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def met(self, fault: ServerFault) -> None:
        """Count a request that will fail in this way."""
        self.faults[fault.value] += 1

    def sent(self, asked: Asked, line: ScriptLine) -> None:
        """Count a request that was answered as the line says."""
        self.in_flight -= 1
        if line.fault in _NO_COMPLETION or line.body is not None:
            return
        self.paid += 1
        if line.fault is None:
            self.paid_again += asked.sha256 in self._served
            self._served.add(asked.sha256)

    def gave_up(self) -> None:
        """Count a request whose client left before it was answered."""
        self.in_flight -= 1
        self.left += 1

    def document(self) -> dict[str, int | dict[str, int]]:
        """Return the counts as ``GET /stats`` gives them; ``distinct`` is the number of different requests served unspoiled."""
        return {
            "requests": self.requests,
            "paid": self.paid,
            "paid_again": self.paid_again,
            "distinct": len(self._served),
            "left": self.left,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "faults": dict(sorted(self.faults.items())),
        }
