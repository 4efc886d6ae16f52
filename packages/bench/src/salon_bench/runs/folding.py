"""Two ways of having a store fold its journals: in this process, or in one of its own.

The libraries that read and write parts take five times the memory of asking judges, and hold the interpreter while they
work. A run that is still asking therefore leaves folding to a second process.
"""

import json
import subprocess
import sys
from pathlib import Path

from salon_store.errors import StoreError

_CHILD = "import sys; from salon_bench.runs.folding import child; sys.exit(child(sys.argv[1]))"


def fold_here(store: Path) -> None:
    """Fold in this process.

    Raises:
        SalonError: for a directory that is no store, or that cannot be written.
    """
    from salon_store import ResultStore

    ResultStore.open(store)


def fold_apart(store: Path) -> None:
    """Fold in a process of its own, and wait for it. Ctrl-C at the terminal does not reach it.

    Raises:
        StoreError: when it fails; the journals are still there.
    """
    done = subprocess.run(  # noqa: S603  (this interpreter, a fixed program)
        [sys.executable, "-c", _CHILD, str(store)], capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
        raise StoreError(f"{store}: the rows are safe in the journal, but could not be folded into parts: {last[0]}")


def child(store: str) -> int:
    """What the second process does; returns its exit code."""
    from salon_store import ResultStore
    from salon_taxonomy.errors import SalonError

    try:
        ResultStore.open(store)
    except SalonError as error:
        sys.stderr.write(json.dumps(str(error)) + "\n")
        return 2
    return 0
