"""A store of directories of parts (layouts 1 to 5) becomes one of Delta tables, once, whatever kills it."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable

from salon_store import DamagedTableError, NotAStoreError, ResultStore
from salon_store.checks import checked
from salon_store.schemas import SCHEMAS
from salon_taxonomy.digest import file_sha256

Battles = Callable[..., pl.DataFrame]
pytestmark = pytest.mark.real_store
CALL = {
    "call_id": "c",
    "run_id": "r",
    "judge": "j",
    "judge_version": "1",
    "request_sha256": "0" * 64,
    "attempt": 1,
    "status": "ok",
}


def write_part(directory: Path, name: str, rows: pl.DataFrame, *, supersedes: tuple[str, ...] = ()) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    footer = {"salon.schema_version": "4", "salon.supersedes": json.dumps(supersedes)}
    rows.write_parquet(directory / name, metadata=footer)
    size = (directory / name).stat().st_size
    with (directory / "checksums.jsonl").open("a") as file:
        for state in ("written", "standing"):
            entry = {"part": name, "sha256": file_sha256(directory / name), "bytes": size, "state": state}
            file.write(json.dumps(entry) + "\n")


@pytest.fixture
def old(tmp_path: Path, battles: Battles) -> Path:
    """A store of layout 4: two runs, a compaction whose parts are still there, a table of layout 1, columns that came later."""
    root = tmp_path / "old [4]"
    rows = checked(battles(6, "b"), SCHEMAS["battles"])
    write_part(root / "battles", "mon%20day-1.parquet", rows[:2].drop("plan_rule", "plan_stream"))
    write_part(root / "battles", "tuesday-2.parquet", rows[2:4])
    write_part(root / "battles", "tuesday-3.parquet", rows[4:])
    write_part(root / "battles", "+compacted-4.parquet", rows[2:], supersedes=("tuesday-2.parquet", "tuesday-3.parquet"))
    calls = checked(pl.DataFrame([CALL]), SCHEMAS["judge_calls"])
    write_part(root / "judge_calls", "r-1.parquet", calls.drop("cached", "case_id", "generation_id", "step", "finish"))
    content = {"format": "salon-store", "schema_version": 4, "made_with": 3, "migrations": [], "tables": list(SCHEMAS)}
    (root / "store.json").write_text(json.dumps(content))
    return root


def contents(store: ResultStore) -> tuple[object, ...]:
    battles = store.read("battles").collect()
    calls = store.read("judge_calls").collect()
    return (
        battles["battle_id"].to_list(),
        battles["plan_rule"].null_count(),
        calls["cached"].to_list(),
        calls["step"].to_list(),
    )


WANTED = ([f"b{number}" for number in range(6)], 6, [False], [None])


def test_a_store_of_parts_is_migrated_once_and_its_rows_are_the_same(old: Path, battles: Battles) -> None:
    with pytest.raises(NotAStoreError, match="must be brought to 6"):
        ResultStore.open(old, read_only=True)
    store = ResultStore.open(old)
    assert contents(store) == WANTED
    assert store.sql("SELECT count(*) AS n, count(plan_rule) AS p FROM battles").rows() == [(6, 0)]
    with duckdb.connect(str(old / "catalog.duckdb"), read_only=True) as connection:
        assert connection.execute("SELECT count(*), count(plan_rule) FROM battles").fetchall() == [(6, 0)]
    assert store.verify().sound
    left = sorted(path.name.split("-")[1] for path in (old / "battles").glob("*.parquet"))
    assert len(left) == 2
    assert not list(old.glob("*/checksums.jsonl"))
    versions = [change.version for change in store.history()]
    assert [change.version for change in ResultStore.open(old).history()] == versions
    assert store.append("battles", battles(3, "b"), run_id="r", on_duplicate="skip").rows_skipped == 3
    store.append("battles", battles(1, "new").with_columns(plan_rule=pl.lit("x")), run_id="r")
    store.compact()
    assert contents(ResultStore.open(old, read_only=True))[:2] == ([*WANTED[0], "new0"], 6)
    assert store.verify().sound


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("stride", [pytest.param(7, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.study)])
def test_a_migration_that_is_killed_at_any_point_is_continued(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int
) -> None:
    step = 0
    while True:
        step += stride
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(old, tmp_path / "copy")
        count = 0

        def counted(original: Callable[..., object]) -> Callable[..., object]:
            def touching(*arguments: object, **options: object) -> object:
                nonlocal count
                count += 1
                if count == step:  # noqa: B023
                    raise Killed
                return original(*arguments, **options)

            return touching

        with monkeypatch.context() as patch:
            for name in ("link", "utime"):
                patch.setattr(os, name, counted(getattr(os, name)))
            for name in ("replace", "unlink"):
                patch.setattr(Path, name, counted(getattr(Path, name)))
            for name in ("create_write_transaction", "create"):
                patch.setattr(DeltaTable, name, counted(getattr(DeltaTable, name)))
            try:
                ResultStore.open(tmp_path / "copy")
            except Killed:
                pass
            else:
                break
        store = ResultStore.open(tmp_path / "copy")
        assert contents(store) == WANTED
        assert store.verify().sound
        assert not list((tmp_path / "copy").glob("*/checksums.jsonl"))
    assert step > 20


@pytest.mark.parametrize("damage", ["missing", "altered", "foreign", "record"])
def test_a_damaged_store_keeps_its_layout(old: Path, damage: str) -> None:
    part = old / "battles" / "mon%20day-1.parquet"
    if damage == "missing":
        part.unlink()
    elif damage == "altered":
        part.write_bytes(part.read_bytes()[:-1] + b"x")
    elif damage == "foreign":
        part = shutil.copy(part, old / "battles" / "x-9.parquet")
    else:
        part = old / "battles" / "checksums.jsonl"
        part.write_text("garbage\n")
    with pytest.raises(DamagedTableError, match=part.name):
        ResultStore.open(old)
    assert json.loads((old / "store.json").read_text())["schema_version"] == 4


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


def test_a_file_system_without_links_gets_copies_of_the_same_rows(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(old, tmp_path / "linked")
    linked = contents(ResultStore.open(tmp_path / "linked"))

    def refused(*arguments: object) -> None:
        raise OSError(1, "no links here")

    monkeypatch.setattr(os, "link", refused)
    store = ResultStore.open(old)
    assert contents(store) == linked and store.verify().sound
