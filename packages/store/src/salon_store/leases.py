"""The lease of a run: of several machines that share a store, one works on a run at a time.

A lease is a counter in the log of the table ``runs``, an application transaction of its own: odd while it is held, even while
it is free. Taking, renewing and releasing it are commits that count up by a random step, and a commit is a compare-and-swap,
so two machines cannot take it at once. No clocks are compared: a lease whose holder died is taken after the counter has not
moved for the length of the lease, by the waiting machine's own monotonic clock. Where the holder died on this machine (the
counter is as this machine left it, and the lock of the run's journal is free), it is taken at once.

A holder renews and releases its own lease alone: the steps are random, so a counter that it set is known to be its own. One
that was suspended while another took over leaves the lease to that one. Keys do not depend on leases: it writes no key twice.
"""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from salon_store.delta import DeltaLog
from salon_store.errors import JournalInUseError, StoreError
from salon_taxonomy.whole_files import replacing

SECONDS = 30.0
"""The length of a lease; it is renewed three times within."""
_POLLS = 6
_STEPS = 1 << 20


class Lease:
    """A held lease, renewed in a thread until it is released or this process dies."""

    def __init__(self, log: DeltaLog, run_id: str, seconds: float, mark: Path | None) -> None:
        self._log = log
        self._run_id = run_id
        self._seconds = seconds
        self._mark = mark
        self._own: set[int] = set()  # counters that this lease set, or tried to set
        self._released = Event()
        self._thread = Thread(target=self._renewing, name="salon-lease", daemon=True)

    @classmethod
    def take(cls, log: DeltaLog, run_id: str, *, seconds: float = SECONDS, mark: Path | None = None) -> "Lease":
        """Take the lease of a run; waits ``seconds`` for the holder to renew it.

        Args:
            log: of the table ``runs``.
            run_id: the run.
            seconds: the length of the lease.
            mark: a file on this machine for the counter as this machine left it. The caller holds a lock that belongs
                to the mark, such as that of the run's journal.

        Raises:
            JournalInUseError: when another process holds and renews it.
            StoreError: when the log cannot be written.
        """
        lease = cls(log, run_id, seconds, mark)
        held = lease._count()
        if held % 2 and held != lease._left():
            held = lease._wait(held)
        if not lease._commit(held, hold=True):
            raise lease._in_use()
        lease._thread.start()
        return lease

    def release(self) -> None:
        """Let another process take the lease, unless one did already. A second call does nothing."""
        if not self._released.is_set():
            self._released.set()
            self._thread.join()
            with suppress(StoreError):  # it runs out
                count = self._count()
                if count in self._own:
                    self._commit(count, hold=False)

    def _wait(self, held: int) -> int:
        """Return the counter of a lease that is not renewed, or was released."""
        for _ in range(_POLLS):
            time.sleep(self._seconds / _POLLS)
            count = self._count()
            if count % 2 == 0:
                return count
            if count != held:
                raise self._in_use()
        return held

    def _renewing(self) -> None:
        while not self._released.wait(self._seconds / 3):
            with suppress(StoreError):  # the next renewal may succeed
                count = self._count()
                if count not in self._own:
                    return  # another machine took over
                self._commit(count, hold=True)

    def _count(self) -> int:
        return self._log.snapshot().transaction_version(self._name) or 0

    def _commit(self, seen: int, *, hold: bool) -> bool:
        """Count up from what was seen, to an odd number to hold the lease; False when another holder counted first."""
        count = seen + 2 + 2 * secrets.randbelow(_STEPS) - (seen % 2 != hold)
        self._own.add(count)
        while True:
            snapshot = self._log.snapshot()
            current = snapshot.transaction_version(self._name) or 0
            if current not in (seen, count):
                return False
            if current == count or self._log.commit(
                snapshot, operation="lease", run_id=self._run_id, transaction=(self._name, count)
            ):  # found: it was written, only the answer was lost
                self._own = {count}
                self._leave(count)
                return True

    def _left(self) -> int | None:
        """Return the counter as this machine left it."""
        try:
            return None if self._mark is None or not self._mark.is_file() else int(self._mark.read_text())
        except (OSError, ValueError):
            return None

    def _leave(self, count: int) -> None:
        """Write the counter down."""
        if self._mark is not None and (self._mark.is_file() or not self._mark.exists()):  # a pipe would wait for a reader
            with suppress(OSError):
                self._mark.parent.mkdir(parents=True, exist_ok=True)
                with replacing(self._mark) as unfinished:
                    unfinished.write_text(str(count))

    @property
    def _name(self) -> str:
        return f"salon-lease-{self._run_id}"

    def _in_use(self) -> JournalInUseError:
        return JournalInUseError(
            f"run {self._run_id!r} is being worked on by another machine\n"
            "Give this run an id of its own, or wait for the other one."
        )
