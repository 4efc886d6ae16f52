"""``kill -9`` at random moments: no acknowledged row is lost, none is doubled, none is there by half."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from salon_store import ResultStore

PROGRAM = """
import os, random, select, sys, time
from datetime import datetime, timedelta
from pathlib import Path
import polars as pl
import salon_store.delta as delta
import salon_store.places as places
from salon_store import ResultStore
from salon_taxonomy.records import Prompt

role, where, work, first, shift = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5])

def shifted(original):  # the files of a machine whose clock is wrong
    def putting(self, table, written, name):
        os.utime(written, (time.time() + shift, time.time() + shift))
        return original(self, table, written, name)
    return putting

if "LD_PRELOAD" not in os.environ:  # libfaketime shifts every clock of the process, this the clocks of Salon's own code
    true_time = time.time
    time.time = lambda: true_time() + shift

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromtimestamp(time.time(), tz)

    delta.datetime = Clock
else:
    shift = 0.0  # of the files: their times are the kernel's
    time.sleep = lambda seconds: select.select([], [], [], seconds)  # libfaketime breaks it
for place in (places.Directory, places.Bucket):
    place.put = shifted(place.put)
store = ResultStore.open(where, work=work)
batch = first
print("ready", flush=True)
while True:
    if role == "compact":
        store.compact()
        store.vacuum(retention=timedelta(hours=1))
        time.sleep(0.05)
    elif role == "read":
        found = store.sql("SELECT count(*) AS n, count(DISTINCT battle_id) AS k FROM battles").row(0)
        assert found[0] == found[1] and found[0] % 50 == 0, found
        time.sleep(0.05)
    elif role == "journal":
        with store.journal(f"night-{first}") as journal:
            for _ in range(20):
                journal.add("prompts", [Prompt(prompt_id=f"{batch}-{row}", suite="s", text="t" * 200) for row in range(50)])
                print(batch, flush=True)
                batch += 1
    else:
        ids = [f"{role}-{batch}-{row}" for row in range(40)] + [f"both-{batch}-{row}" for row in range(10)]
        rows = pl.DataFrame({"battle_id": ids}).with_columns(
            model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit(role), mode=pl.lit("public")
        )
        for part in (rows[:40], rows[40:]):  # the second belongs to two writers
            store.append("battles", part, run_id=role, on_duplicate="skip")
        print(batch, flush=True)
        batch += 1
"""
SHIFTS = (-3 * 86400.0, 0.0, 86400.0)


@dataclass
class Writer:
    """A process that is killed and started again, and what it has acknowledged."""

    role: str
    where: str
    work: Path
    environment: dict[str, str]
    acknowledged: int = 0
    process: "subprocess.Popen[str] | None" = None
    killed: int = 0
    errors: list[str] = field(default_factory=list)

    def start(self, shift: float) -> None:
        arguments = [self.role, self.where, str(self.work), str(self.acknowledged), str(shift)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment | ({"FAKETIME": f"{shift:+.0f}s"} if "LD_PRELOAD" in self.environment else {}),
        )

    def ready(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == "ready\n", self.process.communicate()

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        out, err = self.process.communicate(timeout=60)
        assert (self.process.returncode, err) == (-signal.SIGKILL, "")
        told = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n") and line.strip().isdecimal()]
        self.acknowledged = max([self.acknowledged, *(batch + 1 for batch in told)])
        self.killed += 1


def study(where: str, folder: Path, environment: dict[str, str], kills: int, seed: int, longest: float) -> None:
    """Writers, a journal, a compaction and a reader at once; one after the other is killed and started again."""
    draw = random.Random(seed)
    shared = "AWS_REGION" not in environment  # a directory's processes share its locks; a bucket's machines share nothing
    writers = [
        Writer(role, where, folder / ("work" if shared else role), environment) for role in ("ann", "bob", "journal", "compact")
    ]
    for writer in writers:
        writer.start(draw.choice(SHIFTS))
    for writer in writers:
        writer.ready()
    while sum(writer.killed for writer in writers) < kills:
        time.sleep(draw.uniform(0.0, longest))
        writer = draw.choice(writers)
        writer.kill()
        writer.start(draw.choice(SHIFTS))
        writer.ready()
    for writer in writers:
        writer.kill()
    for writer in writers:  # folds what its killed process left behind
        store = ResultStore.open(where, work=writer.work)
    ids = Counter(store.read("battles").collect()["battle_id"].to_list())
    prompts = Counter(store.read("prompts").collect()["prompt_id"].to_list())
    assert max(ids.values()) == max(prompts.values()) == 1
    batches = Counter(tuple(name.split("-")[:2]) for name in ids)
    for writer in writers[:2]:
        own = {int(batch) for role, batch in batches if role == writer.role}
        assert own in ({*range(writer.acknowledged)}, {*range(writer.acknowledged + 1)})
        assert {*range(writer.acknowledged)} <= {int(batch) for role, batch in batches if role == "both"}
    assert {count for (role, _), count in batches.items() if role == "both"} == {10}
    assert {count for (role, _), count in batches.items() if role != "both"} == {40}
    written = Counter(int(name.split("-")[0]) for name in prompts)
    assert {*range(writers[2].acknowledged)} <= set(written) <= {*range(writers[2].acknowledged + 1)}
    assert set(written.values()) == {50}
    assert writers[0].acknowledged + writers[1].acknowledged + writers[2].acknowledged > 0
    assert [problem for problem in store.verify().problems if problem.kind != "set_aside"] == []
    versions = sorted(change.version for change in store.history("battles"))
    assert versions == [*range(versions[-1] + 1)]
    heights = [store.read("battles", at=version).select(pl.len()).collect().item() for version in versions[-5:]]
    assert heights == sorted(heights)
    assert store.read("battles", at=datetime.now(UTC) + timedelta(days=9)).select(pl.len()).collect().item() == len(ids)
    print(f"{sum(writer.killed for writer in writers)} kills, {len(ids) + len(prompts):,} rows, none lost or doubled")  # noqa: T201


@pytest.mark.slow
def test_no_acknowledged_row_is_lost_and_none_is_doubled(tmp_path: Path) -> None:
    study(str(tmp_path / "results"), tmp_path, {}, kills=6, seed=0, longest=0.4)


FEW_OR_MANY = pytest.mark.parametrize(
    "kills", [pytest.param(3, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.study)], ids=["few", "many"]
)


@FEW_OR_MANY
@pytest.mark.timeout(3600)
def test_no_acknowledged_row_is_lost_and_none_is_doubled_in_a_bucket(
    tmp_path: Path, bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch, kills: int
) -> None:
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    study(f"s3://bucket/kills-{kills}", tmp_path, bucket, kills=kills, seed=1, longest=1.5)


@FEW_OR_MANY
@pytest.mark.timeout(3600)
def test_clocks_that_are_days_apart_lose_and_double_nothing(tmp_path: Path, kills: int) -> None:
    libraries = [*Path("/usr/lib").glob("*/faketime/libfaketime.so.1")]
    if not libraries:
        pytest.skip("needs libfaketime (Debian: apt-get install faketime)")
    environment = {"LD_PRELOAD": str(libraries[0]), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    study(str(tmp_path / "results"), tmp_path, environment, kills=kills, seed=3, longest=0.6)


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_three_hundred_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    study(str(tmp_path / "results"), tmp_path, {}, kills=300, seed=2, longest=0.6)
