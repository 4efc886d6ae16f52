"""What counts as a store, and how one is opened."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from salon_store import SCHEMAS, NotAStoreError, ReadOnlyError, ResultStore, StoreError, open_table
from salon_taxonomy.errors import InputError

Battles = Callable[..., pl.DataFrame]
pytestmark = pytest.mark.real_store


def test_opening_twice_is_harmless(store: ResultStore, battles: Battles) -> None:
    store.append("battles", battles(2), run_id="r")
    assert ResultStore.open(store.path).read("battles").collect().height == 2


def test_a_directory_with_other_things_is_not_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NotAStoreError, match=r"thesis\.tex"):
        ResultStore.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_missing_store_is_not_made_unless_asked(tmp_path: Path) -> None:
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotAStoreError, match="no such store"):
            ResultStore.open(tmp_path / "nowhere", **options)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises((NotAStoreError, StoreError), match="file"):
        ResultStore.open(tmp_path / "file")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "other"}', '{"format": "salon-store", "schema_version": "x"}'])
def test_a_store_json_that_cannot_be_understood_is_named(store: ResultStore, content: str) -> None:
    (store.path / "store.json").write_text(content)
    with pytest.raises(NotAStoreError, match=r"store\.json cannot be understood"):
        ResultStore.open(store.path)


@pytest.mark.parametrize("version", [1, 5, 99])
def test_a_store_of_another_layout_is_refused_and_left_alone(store: ResultStore, version: int) -> None:
    note = store.path / "store.json"
    other = json.dumps(json.loads(note.read_text()) | {"schema_version": version})
    note.write_text(other)
    for read_only in (False, True):
        with pytest.raises(NotAStoreError, match=f"schema version {version}, this Salon knows version 6"):
            ResultStore.open(store.path, read_only=read_only)
    assert note.read_text() == other


def test_a_table_gains_the_columns_that_its_record_gained(
    tmp_path: Path, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    with monkeypatch.context() as before:
        columns = SCHEMAS["battles"].columns
        scenario = columns.pop("scenario")
        before.setattr("salon_store.store.columns_digest", lambda: "older")
        try:
            ResultStore.open(path).append("battles", battles(2), run_id="r")
        finally:
            rest = {name: columns.pop(name) for name in list(columns)[list(columns).index("labels") :]}
            columns.update({"scenario": scenario} | rest)
    assert list(SCHEMAS["battles"].columns)[8:10] == ["scenario", "labels"]
    assert ResultStore.open(path, read_only=True).sql("FROM battles")["scenario"].to_list() == [None, None]
    store = ResultStore.open(path)
    store.append("battles", battles(1, "new").with_columns(scenario=pl.lit("people")), run_id="r")
    assert store.read("battles").collect()["scenario"].to_list() == [None, None, "people"]
    assert store.sql("SELECT scenario FROM battles")["scenario"].to_list() == [None, None, "people"]
    store.compact()
    assert DeltaTable(path / "battles").schema().fields[-1].name == "scenario"
    missing = {name: table.log.snapshot().missing_columns for name, table in store._tables.items()}
    assert missing == {name: {"scenario"} if name == "battles" else frozenset() for name in SCHEMAS}
    assert store.verify().sound


def test_reading_writes_nothing(store: ResultStore, battles: Battles) -> None:
    store.append("battles", battles(2), run_id="r")

    def snapshot() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in store.path.rglob("*")}

    before = snapshot()
    reader = ResultStore.open(store.path, read_only=True)
    assert reader.read("battles").collect().height == 2
    assert reader.sql("SELECT count(*) AS n FROM battles")["n"].item() == 2
    assert reader.verify().sound
    assert sum(info.rows for info in reader.tables()) == 2
    assert snapshot() == before


def test_a_store_opened_for_reading_refuses_to_write(store: ResultStore, battles: Battles) -> None:
    reader = ResultStore.open(store.path, read_only=True)
    for write in (
        lambda: reader.append("battles", battles(), run_id="r"),
        lambda: reader.journal("r"),
        reader.compact,
        reader.recover,
        lambda: reader.verify(set_aside=True),
    ):
        with pytest.raises(ReadOnlyError):
            write()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; any other user makes this run")
def test_a_directory_that_may_not_be_written_is_a_store_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(StoreError, match="Permission"):
        ResultStore.open(tmp_path / "results")


@pytest.mark.parametrize("table", SCHEMAS)
def test_an_empty_table_has_its_schema_everywhere(store: ResultStore, table: str) -> None:
    assert store.read(table).collect_schema() == SCHEMAS[table].polars
    shown = store.sql(f'FROM "{table}"')
    assert shown.schema == SCHEMAS[table].polars
    assert shown.is_empty()


def test_a_filter_and_a_choice_of_columns_reach_the_files(store: ResultStore, battles: Battles) -> None:
    store.append("battles", battles(3), run_id="r")
    plan = store.read("battles").filter(pl.col("winner") == "tie").select("model_a").explain()
    assert "SELECTION" in plan
    assert "PROJECT 2/21" in plan


def test_other_packages_read_a_table_through_the_source(store: ResultStore, battles: Battles, tmp_path: Path) -> None:
    store.append("battles", battles(3), run_id="r")
    found = open_table(store.path, "battles")
    assert found is not None
    assert found.collect().height == 3
    assert open_table(tmp_path / "votes.csv", "battles") is None
    assert open_table(tmp_path, "battles") is None
    with pytest.raises(InputError, match="no table"):
        open_table(store.path, "votes")
