"""``kill -9`` at random moments: no acknowledged row is lost, none is doubled, none is there by half."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from salon_store import ResultStore

APPENDS_AND_COMPACTS = """
import sys
import polars as pl
from salon_store import ResultStore
store = ResultStore.open(sys.argv[1])
batch = int(sys.argv[2])
while True:
    ids = [f"{batch}-{row}" for row in range(50)]
    rows = pl.DataFrame({"battle_id": ids}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
    )
    store.append("battles", rows, run_id="r")
    print(batch, flush=True)
    batch += 1
    if batch % 3 == 0:
        store.compact()
"""

JOURNALS = """
import sys
from salon_store import ResultStore
from salon_taxonomy.records import Prompt
store = ResultStore.open(sys.argv[1])
batch = int(sys.argv[2])
while True:
    with store.journal("night") as journal:
        for _ in range(40):
            journal.add("prompts", [Prompt(prompt_id=f"{batch}-{row}", suite="s", text="t" * 200) for row in range(50)])
            print(batch, flush=True)
            batch += 1
"""


def acknowledged_until_killed(code: str, path: Path, first: int, seconds: float) -> int:
    """Let the code run for so long after its first acknowledgement, kill it, and return the batch that comes next."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(first)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{first}\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGKILL, "")
    return max([first, *(int(line) for line in out.splitlines(keepends=True) if line.endswith("\n"))]) + 1


@pytest.mark.parametrize(
    ("code", "table", "key"), [(APPENDS_AND_COMPACTS, "battles", "battle_id"), (JOURNALS, "prompts", "prompt_id")]
)
@pytest.mark.parametrize(
    "seed", [pytest.param(0), pytest.param(1, marks=pytest.mark.study), pytest.param(2, marks=pytest.mark.slow)]
)
def test_no_acknowledged_row_is_lost_and_none_is_doubled(tmp_path: Path, code: str, table: str, key: str, seed: int) -> None:
    draw = random.Random(seed)
    first = 0
    for _ in range(3 if seed == 0 else 15):
        acknowledged = acknowledged_until_killed(code, tmp_path / "results", first, draw.uniform(0.0, 0.4))
        store = ResultStore.open(tmp_path / "results")
        ids = store.read(table).collect()[key].to_list()
        assert len(ids) == len(set(ids))
        batches = Counter(int(name.split("-")[0]) for name in ids)
        # The batch after the last acknowledged one may be there: the kill came between the write and the answer.
        assert set(batches) in ({*range(acknowledged)}, {*range(acknowledged + 1)})
        assert set(batches.values()) == {50}
        first = len(batches)
    problems = store.verify().problems
    assert all(problem.kind == "set_aside" for problem in problems)
