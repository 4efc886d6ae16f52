"""Of several machines that share a store, one works on a run at a time."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from salon_store import JournalInUseError, ResultStore
from salon_store.delta import DeltaLog
from salon_store.leases import Lease
from salon_taxonomy.records import Run

SHORT = 0.6


@pytest.fixture
def log(store: ResultStore) -> DeltaLog:
    return store._tables["runs"].log


def test_a_lease_is_held_by_one_and_free_when_it_is_released(log: DeltaLog) -> None:
    for _ in range(2):
        lease = Lease.take(log, "night", seconds=SHORT)
        with pytest.raises(JournalInUseError, match="another machine"):
            Lease.take(log, "night", seconds=SHORT)
        other = Lease.take(log, "day", seconds=SHORT)
        other.release()
        lease.release()
        lease.release()


def test_of_many_that_want_a_lease_at_once_one_gets_it(log: DeltaLog) -> None:
    def taken(_: int) -> Lease | None:
        try:
            return Lease.take(log, "night", seconds=SHORT)
        except JournalInUseError:
            return None

    with ThreadPoolExecutor(4) as pool:
        held = [lease for lease in pool.map(taken, range(4)) if lease is not None]
    assert len(held) == 1
    held[0].release()


def test_the_lease_of_a_process_that_died_runs_out(store: ResultStore, log: DeltaLog) -> None:
    program = "import os, sys; from salon_store import ResultStore; from salon_store.leases import Lease; "
    program += "Lease.take(ResultStore.open(sys.argv[1])._tables['runs'].log, 'night', seconds=0.6); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", program, str(store.path)], check=False).returncode == 9
    Lease.take(log, "night", seconds=SHORT).release()
    run = Run(run_id="night", suite="s", salon_version="1")
    assert store.append("runs", [run], run_id="night").rows_written == 1
    assert store.verify().sound


def test_a_pipe_in_place_of_what_this_machine_left_is_no_counter(log: DeltaLog, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    Lease.take(log, "night", seconds=SHORT, mark=tmp_path / "other").release()
    os.mkfifo(mark)
    held = Lease.take(log, "day", seconds=SHORT)
    with pytest.raises(JournalInUseError, match="another machine"):
        Lease.take(log, "day", seconds=SHORT, mark=mark)
    held.release()
    Lease.take(log, "day", seconds=SHORT, mark=mark).release()


@pytest.mark.slow  # waits for a lease to run out
def test_a_run_in_a_bucket_is_worked_on_by_one_machine(
    bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    original: Callable[..., Lease] = Lease.take
    monkeypatch.setattr(Lease, "take", partial(original, seconds=20))
    here, there = (ResultStore.open("s3://bucket/leases", work=tmp_path / name) for name in ("here", "there"))
    with here.journal("night"):
        with pytest.raises(JournalInUseError, match="another machine"):
            there.journal("night")
        there.journal("day").close()
    there.journal("night").close()
