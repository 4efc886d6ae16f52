"""The result store at ten thousand commits, beside plain Delta, Parquet and DuckDB: python benchmarks/bench_store_scale.py

Prints one table: medians of the time on the wall, and of the processor's time, which other work on the machine changes less.
Open, first query, first append and compaction are of a new process, imports of libraries included.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl

from salon_store import SCHEMAS, ResultStore, checked

COMMITS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000


def battles(rows: int, prefix: str) -> pl.DataFrame:
    return pl.DataFrame({"battle_id": [f"{prefix}-{row}" for row in range(rows)]}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
    )


IN_A_NEW_PROCESS = """
import sys, time
from pathlib import Path
import polars as pl
path, what = sys.argv[1:]
rows = pl.DataFrame({"battle_id": [f"new-{what}-{row}" for row in range(10)]}).with_columns(
    model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
)
from salon_store import ResultStore
def now():
    return time.perf_counter(), time.process_time()
start = now()
store = ResultStore.open(path)
opened = now()
if what == "sql":
    store.sql("SELECT winner, count(*) FROM battles GROUP BY winner")
elif what.startswith("append"):
    store.append("battles", rows, run_id="new")
elif what == "compact":
    store.compact()
first, last = (start, opened) if what == "open" else (opened, now())
print(last[0] - first[0], last[1] - first[1])
"""


def in_a_new_process(path: Path, what: str) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS, str(path), what], capture_output=True, text=True, check=True)
    wall, processor = map(float, done.stdout.split()[-2:])
    return wall, processor


WRITER = """
import sys, time
import polars as pl
from salon_store import ResultStore
store = ResultStore.open(sys.argv[1])
start = time.perf_counter()
for batch in range(20):
    rows = pl.DataFrame({"battle_id": [f"{sys.argv[2]}-{batch}-{row}" for row in range(1000)]}).with_columns(
        model_a=pl.lit("x"), model_b=pl.lit("y"), winner=pl.lit("tie"), rater_id=pl.lit("r"), mode=pl.lit("public")
    )
    store.append("battles", rows, run_id="w")
print(start, time.perf_counter())
"""


def timed(work: Callable[[], object]) -> tuple[float, float]:
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def middle(times: Iterable[tuple[float, float]]) -> tuple[float, float]:
    wall, processor = zip(*times, strict=True)
    return median(wall), median(processor)


def shown(what: str, times: tuple[float, float] | str) -> None:
    print(f"| {what} | {times if isinstance(times, str) else f'{times[0]:.3f} s | {times[1]:.3f} s'} |", flush=True)


def appends(folder: Path) -> None:
    store = ResultStore.open(folder / "appends")
    shown(
        "append of 1,000 rows, one process",
        middle(timed(lambda n=n: store.append("battles", battles(1000, f"{n}"), run_id="r")) for n in range(40)),
    )
    path = str(folder / "writers")
    ResultStore.open(path)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(n)], stdout=subprocess.PIPE, text=True) for n in range(4)
    ]
    spans = [tuple(map(float, writer.communicate()[0].split())) for writer in writers]
    seconds = max(end for _, end in spans) - min(start for start, _ in spans)
    shown("4 processes, 20 appends of 1,000 rows each", f"{80_000 / seconds:,.0f} rows/s | ")


def peers(folder: Path) -> None:
    """The same 1,000 rows, 40 times: no keys are looked for, nothing is flushed to the disk."""
    import duckdb
    from deltalake import write_deltalake

    frames = [checked(battles(1000, str(number)), SCHEMAS["battles"]) for number in range(40)]
    shown(
        "peer: write_deltalake, 1,000 rows",
        middle(timed(lambda f=f: write_deltalake(folder / "plain", f, mode="append")) for f in frames),
    )
    (folder / "parquet").mkdir()
    shown(
        "peer: a Parquet file, 1,000 rows",
        middle(timed(lambda f=f, n=n: f.write_parquet(folder / "parquet" / f"{n}.parquet")) for n, f in enumerate(frames)),
    )
    with duckdb.connect(str(folder / "plain.duckdb")) as connection:
        connection.register("given", frames[0].to_arrow())
        connection.execute("CREATE TABLE battles AS FROM given WHERE false")

        def insert(frame: pl.DataFrame) -> None:
            connection.register("given", frame.to_arrow())
            connection.execute("INSERT INTO battles FROM given")

        shown("peer: INSERT into a DuckDB file, 1,000 rows", middle(timed(lambda f=f: insert(f)) for f in frames))


def scattered(path: Path, commits: int) -> None:
    """Make a store with so many commits of ten battles. The log is written by hand, as Salon writes it, to save an hour."""
    store = ResultStore.open(path)
    table = store._tables["battles"]
    version = 0
    for commit in range(1, commits + 1):
        file, facts = table.write(checked(battles(10, str(commit)), SCHEMAS["battles"]), "r", commit)
        add = {"path": file.name, "partitionValues": {}, "size": file.bytes, "modificationTime": file.modified}
        lines = [
            {"commitInfo": {"timestamp": file.modified, "operation": "WRITE", "salon": "append", "salonRun": "r"}},
            {"add": add | {"dataChange": True, "stats": facts}},
        ]
        version += 1
        log = path / "battles" / "_delta_log" / f"{version:020}.json"
        log.write_text("\n".join(map(json.dumps, lines)) + "\n")
        if commit % 100 == 0:  # what an append does then
            table.log.snapshot().table.create_checkpoint()
            table.tidy()
            version = table.log.version()


def scale(folder: Path) -> None:
    path = folder / "many"
    scattered(path, COMMITS)
    shown(f"{COMMITS:,} commits: first open, catalog included", in_a_new_process(path, "open"))
    shown(f"{COMMITS:,} commits: open", middle(in_a_new_process(path, "open") for _ in range(3)))
    shown(f"{COMMITS:,} commits: first SQL", middle(in_a_new_process(path, "sql") for _ in range(3)))
    shown(f"{COMMITS:,} commits: first append ever, which hashes all keys", in_a_new_process(path, "append"))
    shown(f"{COMMITS:,} commits: first append of a process", middle(in_a_new_process(path, f"append{n}") for n in range(3)))
    store = ResultStore.open(path)
    store.append("battles", battles(10, "warm"), run_id="r")
    shown(
        f"{COMMITS:,} commits: further appends of a process",
        middle(timed(lambda n=n: store.append("battles", battles(10, f"warm{n}"), run_id="r")) for n in range(10)),
    )
    shown(
        "peer: polars.scan_delta, count by winner",
        timed(lambda: pl.scan_delta(str(path / "battles")).group_by("winner").len().collect()),
    )
    shown(f"{COMMITS:,} commits: compact", in_a_new_process(path, "compact"))
    shown("after it: first SQL", in_a_new_process(path, "sql"))


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        folder = Path(name)
        print("| work | wall | processor |\n| --- | --- | --- |")
        appends(folder)
        peers(folder)
        scale(folder)
