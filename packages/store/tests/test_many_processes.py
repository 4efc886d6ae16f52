"""Several processes at once: writers, readers and a compaction lose nothing, double nothing and never meet a lock error."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest

from salon_store import ResultStore
from salon_store.errors import RefusedWriteError

pytestmark = pytest.mark.real_store

WRITER = """
import sys, time
import polars as pl
from salon_store import ResultStore
path, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
store = ResultStore.open(path)
print("ready", flush=True)
end, batch = time.monotonic() + seconds, 0
while time.monotonic() < end:
    ids = [f"{name}-{batch}-{row}" for row in range(7)]
    rows = pl.DataFrame({"battle_id": ids}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit(name), mode=pl.lit("public")
    )
    store.append("battles", rows, run_id=name)
    batch += 1
print(batch, flush=True)
"""

COMPACTOR = """
import sys, time
from pathlib import Path
from salon_store import ResultStore
path, seconds = sys.argv[1], float(sys.argv[2])
store = ResultStore.open(path)
print("ready", flush=True)
end, merged = time.monotonic() + seconds, 0
while time.monotonic() < end:
    merged += sum(table.files_merged for table in store.compact())
    current = {file.name for file in store._tables["battles"].log.snapshot().files}
    for file in Path(path, "battles").glob("run-*"):  # sooner than any vacuum
        if file.name not in current and time.time() - file.stat().st_mtime > 1:
            file.unlink()
    time.sleep(0.05)
print(merged, flush=True)
"""


def started(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(process: "subprocess.Popen[str]") -> int:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return int(out.split()[-1])


def whole_batches(ids: list[str]) -> dict[str, int]:
    """How many batches of each writer there are; no row twice, no batch in part, no batch missing before a later one."""
    assert len(ids) == len(set(ids))
    batches = Counter(tuple(name.split("-")[:2]) for name in ids)
    assert set(batches.values()) <= {7}
    counts: Counter[str] = Counter(writer for writer, _ in batches)
    assert set(batches) == {(writer, str(batch)) for writer, count in counts.items() for batch in range(count)}
    return dict(counts)


def collected(reader: ResultStore) -> pl.DataFrame:
    """The lazy frame's files may be removed before it is collected: far sooner here than the retention of a vacuum."""
    while True:
        try:
            return reader.read("battles").select("battle_id").collect()
        except FileNotFoundError:
            continue


def write_read_and_compact(path: Path, seconds: float) -> int:
    """Returns how often the table was read while it was written and compacted."""
    ResultStore.open(path)
    writers = [started(WRITER, path, name, seconds) for name in ("ann", "bob")]
    compactor = started(COMPACTOR, path, seconds)
    reader = ResultStore.open(path, read_only=True)
    seen: dict[str, int] = {}
    readings = 0
    while any(process.poll() is None for process in writers):
        frame = collected(reader)
        now = whole_batches(frame["battle_id"].to_list())
        asked = whole_batches(reader.sql("SELECT battle_id FROM battles")["battle_id"].to_list())
        assert all(now.get(name, 0) >= count for name, count in seen.items())
        assert all(asked.get(name, 0) >= count for name, count in now.items())
        with duckdb.connect(str(path / "catalog.duckdb"), read_only=True) as shell:
            assert shell.execute("SELECT count(*) FROM runs").fetchall() == [(0,)]
        seen, readings = asked, readings + 1
    written = {"ann": finished(writers[0]), "bob": finished(writers[1])}
    assert min(written.values()) > 1
    assert finished(compactor) > 0
    assert whole_batches(reader.read("battles").collect()["battle_id"].to_list()) == written
    outcome = ResultStore.open(path).verify()
    assert outcome.problems == ()
    return readings


@pytest.mark.slow
def test_two_write_while_one_reads_and_one_compacts(tmp_path: Path) -> None:
    assert write_read_and_compact(tmp_path / "results", 4.0) > 1


@pytest.mark.study
def test_two_write_while_one_reads_and_one_compacts_for_half_a_minute(tmp_path: Path) -> None:
    assert write_read_and_compact(tmp_path / "results", 30.0) > 10


def test_processes_that_make_a_store_at_once_make_one(tmp_path: Path) -> None:
    writers = [started(WRITER, tmp_path / "results", f"w{number}", 0.2) for number in range(4)]
    written = {f"w{number}": finished(writer) for number, writer in enumerate(writers)}
    store = ResultStore.open(tmp_path / "results")
    assert whole_batches(store.read("battles").collect()["battle_id"].to_list()) == written


SAME_KEYS = """
import sys
import polars as pl
from salon_store import ResultStore
store = ResultStore.open(sys.argv[1])
rows = pl.DataFrame({"battle_id": [f"b{row}" for row in range(50)]}).with_columns(
    model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
)
print(sum(store.append("battles", rows, run_id="same", on_duplicate="skip").rows_written for _ in range(5)), flush=True)
"""


def test_processes_that_import_the_same_rows_at_once_write_them_once(tmp_path: Path) -> None:
    importers = [started(SAME_KEYS, tmp_path / "results") for _ in range(3)]
    assert sorted(finished(importer) for importer in importers) == [0, 0, 50]


def test_a_reader_meets_no_gap_while_parts_are_merged_and_removed_in_its_own_process(store: ResultStore) -> None:
    rows = pl.DataFrame({"battle_id": ["a"]}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
    )
    for number in range(6):
        store.append("battles", rows.with_columns(battle_id=pl.lit(f"a{number}")), run_id="r")
        store.compact()
        assert store.read("battles").collect().height == number + 1


@pytest.mark.parametrize("made_meanwhile", [True, False])
def test_a_table_that_another_process_makes_first_is_taken_and_another_refusal_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_meanwhile: bool
) -> None:
    """Of two that commit the first version at once, delta-rs refuses one: "Protocol changed since last commit"."""
    from deltalake import DeltaTable
    from deltalake.exceptions import CommitFailedError

    create = DeltaTable.create

    def beaten(*arguments: object, **options: object) -> None:
        if made_meanwhile:
            create(*arguments, **options)  # type: ignore[arg-type]
        raise CommitFailedError("Protocol changed since last commit")

    monkeypatch.setattr(DeltaTable, "create", beaten)
    if not made_meanwhile:
        with pytest.raises(RefusedWriteError, match="the table could not be made"):
            ResultStore.open(tmp_path / "results")
        return
    assert {info.rows for info in ResultStore.open(tmp_path / "results").tables()} == {0}
