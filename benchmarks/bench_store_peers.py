"""The store beside other ways to keep tables: append of 1,000 rows, a count over 100 commits, a removed file.

Peers are no dependencies: install those that are wanted into an environment of their own and name its interpreter.

    python benchmarks/bench_store_peers.py                       Salon, plain Delta, Parquet, DuckDB
    PEERS/bin/python benchmarks/bench_store_peers.py iceberg lance ducklake

Medians of 100 appends; processor's time of the process, and time on the wall. A peer that is missing is left out.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

COMMITS, ROWS = 100, 1000
NAMES = ("battle_id", "model_a", "model_b", "winner", "rater_id", "mode")


def rows(commit: int) -> dict[str, list[str]]:
    return {"battle_id": [f"{commit}-{row}" for row in range(ROWS)]} | {name: [name] * ROWS for name in NAMES[1:]}


def salon(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import polars as pl

    from salon_store import ResultStore

    store = ResultStore.open(folder / "salon")
    fixed = {"winner": pl.lit("tie"), "mode": pl.lit("public"), "model_b": pl.lit("y")}
    return (
        lambda n: store.append("battles", pl.DataFrame(rows(n)).with_columns(**fixed), run_id="r"),
        lambda: store.sql("SELECT count(*) FROM battles WHERE winner <> ''").item(),
    )


def delta(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import polars as pl
    from deltalake import write_deltalake

    path = str(folder / "delta")
    return (
        lambda n: write_deltalake(path, pl.DataFrame(rows(n)), mode="append"),
        lambda: pl.scan_delta(path).select(pl.col("winner").count()).collect().item(),
    )


def parquet(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import polars as pl

    (folder / "parquet").mkdir()
    return (
        lambda n: pl.DataFrame(rows(n)).write_parquet(folder / "parquet" / f"{n}.parquet"),
        lambda: pl.scan_parquet(folder / "parquet").select(pl.col("winner").count()).collect().item(),
    )


def duckdb(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    return _sql(f"ATTACH '{folder / 'plain.duckdb'}' AS lake")


def ducklake(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    return _sql(f"ATTACH 'ducklake:{folder / 'lake.db'}' AS lake (DATA_PATH '{folder / 'lake'}')")


def _sql(attach: str) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    if "ducklake" in attach:
        import duckdb_extension_ducklake  # type: ignore[import-not-found]  # the extension as a wheel

        connection.execute(f"LOAD '{next(Path(duckdb_extension_ducklake.__file__).parent.rglob('*.duckdb_extension'))}'")
    connection.execute(attach)
    connection.execute(f"CREATE TABLE lake.battles ({', '.join(f'{name} VARCHAR' for name in NAMES)})")

    def append(commit: int) -> None:
        connection.register("given", pa.table(rows(commit)))
        connection.execute("INSERT INTO lake.battles FROM given")

    return append, lambda: connection.execute("SELECT count(*) FROM lake.battles WHERE winner <> ''").fetchall()[0][0]


def iceberg(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog  # type: ignore[import-not-found]

    (folder / "iceberg").mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/iceberg.db", warehouse=f"file://{folder}/iceberg")
    catalog.create_namespace("n")
    table = catalog.create_table("n.battles", schema=pa.table(rows(0)).schema)
    return (
        lambda n: table.append(pa.table(rows(n))),
        lambda: len(catalog.load_table("n.battles").scan(selected_fields=("winner",)).to_arrow()),
    )


def lance(folder: Path) -> tuple[Callable[[int], Any], Callable[[], int]]:
    import lance  # type: ignore[import-not-found]
    import pyarrow as pa

    path = str(folder / "battles.lance")
    return (
        lambda n: lance.write_dataset(pa.table(rows(n)), path, mode="append" if n else "create"),
        lambda: len(lance.dataset(path).to_table(columns=["winner"])),
    )


ALL: dict[str, Callable[[Path], tuple[Callable[[int], Any], Callable[[], int]]]] = {
    "salon": salon,
    "delta": delta,
    "parquet": parquet,
    "duckdb": duckdb,
    "iceberg": iceberg,
    "ducklake": ducklake,
    "lance": lance,
}


def clock() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def removed(folder: Path, count: Callable[[], int], before: set[Path]) -> str:
    """What a count says after the newest data file was removed."""
    files = (path for path in folder.rglob("*") if path.suffix in (".parquet", ".lance") and path not in before)
    data = [path for path in files if path.is_file() and "_delta_log" not in path.parts]
    if not data:
        return "there is one file"
    max(data, key=lambda path: path.stat().st_mtime_ns).unlink()
    try:
        return f"{count():,} rows, no error"
    except Exception as error:  # noqa: BLE001 - whatever the peer raises is what is looked for
        return f"error ({type(error).__name__})"


def main(names: list[str]) -> None:
    print(
        "| | append: wall | processor | count: wall | processor | newest data file removed |\n"
        "| --- | --- | --- | --- | --- | --- |"
    )
    for name in names:
        with TemporaryDirectory() as text:
            folder = Path(text)
            try:
                append, count = ALL[name](folder)
            except ImportError as error:
                print(f"| {name} | left out: {error} |")
                continue
            before = set(folder.rglob("*"))
            times = []
            for commit in range(COMMITS):
                start = clock()
                append(commit)
                end = clock()
                times.append((end[0] - start[0], end[1] - start[1]))
            start = clock()
            assert count() == COMMITS * ROWS
            end = clock()
            wall, processor = (median(column) * 1e3 for column in zip(*times, strict=True))
            seconds = f"{(end[0] - start[0]) * 1e3:.0f} ms | {(end[1] - start[1]) * 1e3:.0f} ms"
            print(f"| {name} | {wall:.0f} ms | {processor:.0f} ms | {seconds} | {removed(folder, count, before)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["salon", "delta", "parquet", "duckdb"])
