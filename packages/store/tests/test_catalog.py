"""``catalog.duckdb`` shows plain DuckDB what Salon sees."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import duckdb
import polars as pl
import pytest

from salon_store import SCHEMAS, ResultStore
from salon_store.plugins import open_sink

Battles = Callable[..., pl.DataFrame]
pytestmark = pytest.mark.real_store


def counted(store: ResultStore, table: str = "battles") -> int:
    with duckdb.connect(str(store.catalog()), read_only=True) as connection:
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])


def test_the_catalog_shows_every_append_and_compaction(store: ResultStore, battles: Battles) -> None:
    assert counted(store) == 0
    for number in range(3):
        store.append("battles", battles(2, f"{number}-"), run_id="r")
        assert counted(store) == 2 * (number + 1)
    store.compact()
    assert counted(store) == 6


def test_the_catalog_has_the_columns_of_the_schemas(store: ResultStore) -> None:
    with duckdb.connect(str(store.path / "catalog.duckdb"), read_only=True) as connection:
        for name, schema in SCHEMAS.items():
            described = connection.execute(f'DESCRIBE "{name}"').fetchall()
            assert [row[0] for row in described] == list(schema.columns)


def test_a_shell_that_has_the_catalog_open_hinders_nobody(store: ResultStore, battles: Battles) -> None:
    with duckdb.connect(str(store.path / "catalog.duckdb")) as shell:
        assert shell.execute("SELECT count(*) FROM battles").fetchall() == [(0,)]
        store.append("battles", battles(2), run_id="r")
        assert store.sql("SELECT count(*) AS n FROM battles")["n"].item() == 2
    assert counted(store) == 2


def test_a_store_that_was_moved_has_a_catalog_of_its_new_place(store: ResultStore, battles: Battles, tmp_path: Path) -> None:
    store.append("battles", battles(2), run_id="r")
    shutil.move(store.path, tmp_path / "moved")
    assert counted(ResultStore.open(tmp_path / "moved")) == 2


@pytest.mark.parametrize("name", ["catalog.duckdb", ".locks/catalog.stamp"])
def test_a_pipe_in_place_of_the_catalog_keeps_nobody_waiting(store: ResultStore, name: str) -> None:
    path = store.path / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    opened = Thread(target=ResultStore.open, args=[store.path], daemon=True)
    opened.start()
    opened.join(20)
    assert not opened.is_alive() and path.is_file()


def test_a_lost_or_spoiled_catalog_is_made_again(store: ResultStore, battles: Battles) -> None:
    (store.path / "catalog.duckdb").unlink()
    ResultStore.open(store.path)
    assert counted(store) == 0
    (store.path / "catalog.duckdb").write_bytes(b"nonsense")
    store.append("battles", battles(2), run_id="r")
    assert counted(store) == 2


def test_an_unchanged_store_keeps_its_catalog(store: ResultStore) -> None:
    before = (store.path / "catalog.duckdb").stat().st_ino
    ResultStore.open(store.path)
    assert (store.path / "catalog.duckdb").stat().st_ino == before


def test_a_table_with_a_damaged_part_says_so_and_the_others_are_shown(store: ResultStore, battles: Battles) -> None:
    name = store.append("battles", battles(2), run_id="r").file
    part = store.path / "battles" / str(name)
    part.chmod(0o644)
    part.write_bytes(b"PAR1 nothing")
    (store.path / "catalog.duckdb").unlink()
    ResultStore.open(store.path)
    assert counted(store, "runs") == 0
    with pytest.raises(duckdb.Error, match=r"run-r-0000000001-"):
        counted(store)


def seen_by_plain_duckdb(path: Path, table: str = "battles") -> int:
    with duckdb.connect(str(path / "catalog.duckdb"), read_only=True) as connection:
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])


def test_the_end_of_a_with_block_and_a_sink_bring_the_catalog_up_to_date(store: ResultStore, battles: Battles) -> None:
    with store:
        store.append("battles", battles(2, "a-"), run_id="r")
        assert seen_by_plain_duckdb(store.path) == 0
    assert seen_by_plain_duckdb(store.path) == 2
    sink = open_sink(store.path)
    assert sink is not None and sink("battles", battles(3, "b-"), "r") == 3
    assert seen_by_plain_duckdb(store.path) == 5
    before = (store.path / "catalog.duckdb").stat().st_mtime_ns
    with ResultStore.open(store.path, read_only=True) as reader:
        reader.tables()
    assert (store.path / "catalog.duckdb").stat().st_mtime_ns == before
