"""Data files, keys, versions and compaction of one table."""

import dataclasses
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from hypothesis import example, given
from hypothesis import strategies as st

from for_each import for_each
from salon_store import DamagedFileError, DamagedTableError, DuplicateKeyError, ResultStore, StoreError, delta, tables
from salon_store.delta import DeltaLog
from salon_store.errors import UnconfirmedError
from salon_store.keys import KeyIndex
from salon_store.run_names import content_of, data_file_name, file_stem, may_hold, owner_of, run_of
from salon_store.schemas import SCHEMAS
from salon_store.tables import StoreTable
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError

Battles = Callable[..., pl.DataFrame]
RUN_IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


def ids(store: ResultStore) -> list[str]:
    found = store.read("battles").collect()["battle_id"].to_list()
    assert sorted(found) == sorted(store.sql("SELECT battle_id FROM battles")["battle_id"].to_list())
    return sorted(found)


def files(store: ResultStore, table: str = "battles") -> list[Path]:
    return sorted((store.path / table).glob("*.parquet"))


def spoil(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.chmod(0o644)
    path.write_bytes(change(path.read_bytes()))


@pytest.fixture
def filled(store: ResultStore, battles: Battles) -> ResultStore:
    for number in range(5):
        store.append("battles", battles(2, f"{number}-"), run_id="r")
    return store


# Names


@given(RUN_IDS)
@example("冷启动" * 20)
def test_any_run_id_makes_safe_file_names(run_id: str) -> None:
    stem = file_stem(run_id)
    assert Path(stem).name == stem
    assert not stem.startswith((".", "+"))
    assert set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-~%")
    assert len(stem) <= 120
    name = data_file_name(run_id, 7, "a" * 64)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
    assert content_of(name) == "a" * 64
    assert len(name) < 255
    assert may_hold(name, run_id)
    assert may_hold(data_file_name(run_of(name), 7, "b" * 64), run_id)  # a merge of this run's files
    assert not may_hold(name, run_id[:-1] + ("b" if run_id[-1] == "a" else "a"))


def test_the_run_of_a_data_file_is_in_its_name() -> None:
    assert owner_of(data_file_name("night 7/α_β~1", 1, "0" * 64)) == "run 'night 7/α_β~1'"
    assert file_stem("x" * 150 + "1") != file_stem("x" * 150 + "2")


@pytest.mark.parametrize(
    "run_id", ["../../etc/passwd", "..", ".", "a/b", "a\x00b", "-rf", "*", "x'; DROP VIEW battles; --", "é"]
)
def test_a_hostile_run_id_stays_inside_its_table(store: ResultStore, battles: Battles, run_id: str) -> None:
    outcome = store.append("battles", battles(2), run_id=run_id)
    assert outcome.file is not None
    assert (store.path / "battles" / outcome.file).is_file()
    assert store.sql("SELECT count(*) AS n FROM battles")["n"].item() == 2


@pytest.mark.parametrize("run_id", ["", "x" * 201, "\ud800"])
def test_an_unusable_run_id_is_refused(store: ResultStore, battles: Battles, run_id: str) -> None:
    with pytest.raises(InputError, match="run's id"):
        store.append("battles", battles(), run_id=run_id)


# Files


def test_files_are_read_only_and_named_after_their_content(filled: ResultStore) -> None:
    for path in files(filled):
        assert content_of(path.name) == file_sha256(path)
        assert not path.stat().st_mode & 0o222


def test_rows_are_read_in_the_order_in_which_they_were_appended(store: ResultStore, battles: Battles) -> None:
    for number in range(12):
        store.append("battles", battles(1, f"{number}-"), run_id="r")
    assert store.read("battles").collect()["battle_id"].to_list() == [f"{number}-0" for number in range(12)]


def test_no_rows_make_no_file(store: ResultStore, battles: Battles) -> None:
    assert store.append("battles", battles(0), run_id="r").file is None
    assert store.append("battles", [], run_id="r").file is None
    assert [info.files for info in store.tables()] == [0] * len(SCHEMAS)


def test_a_file_that_no_commit_has_is_not_read(filled: ResultStore) -> None:
    (filled.path / "battles" / ".123-4.tmp").write_bytes(b"half a file")
    shutil.copy(files(filled)[0], filled.path / "battles" / "copy.parquet")
    assert len(ids(filled)) == 10


def test_a_store_whose_path_looks_like_a_pattern_sees_only_its_own_files(tmp_path: Path, battles: Battles) -> None:
    odd = ResultStore.open(tmp_path / "a*b [1] key=2 'x' 100%")
    plain = ResultStore.open(tmp_path / "axb [1] key=2 'x'")
    odd.append("battles", battles(2), run_id="odd")
    plain.append("battles", battles(3), run_id="plain")
    assert odd.read("battles").collect().height == 2
    assert odd.sql("SELECT count(*) AS n FROM battles")["n"].item() == 2
    assert plain.read("battles").collect().height == 3
    odd.append("battles", battles(2, "more"), run_id="odd")
    odd.compact()
    assert odd.read("battles").collect().height == 4 and odd.verify().sound


@for_each("name", ["a%41", "a%aFb", "a#b", "a?b", "runs?/a"])
def test_a_path_that_delta_rs_would_decode_or_cut_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="percent sign"):
        ResultStore.open(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@for_each("name", ["plain", "a b", "a*b", "a [1]", "key=2", "{x}", "100%", "a%4", "a%gg", "ü 'x'", "a&b;c"])
def test_a_store_is_whole_wherever_it_lies(tmp_path: Path, battles: Battles, name: str) -> None:
    store = ResultStore.open(tmp_path / name)
    for number in range(2):
        store.append("battles", battles(2, f"{number}-"), run_id="r")
    store.compact()
    assert len(ids(store)) == 4 and [change.version for change in store.history("battles")] == [3, 2, 1, 0]
    assert ResultStore.open(tmp_path / name).verify(set_aside=True).problems == ()


def test_a_store_that_was_copied_is_checked_once_by_content(filled: ResultStore, tmp_path: Path) -> None:
    shutil.copytree(filled.path, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = ResultStore.open(tmp_path / "copy", read_only=True)
    assert ids(copy) == ids(filled)
    times = [path.stat().st_mtime_ns // 1_000_000 for path in files(copy)]
    assert times == [path.stat().st_mtime_ns // 1_000_000 for path in files(filled)]


def test_two_files_of_the_same_size_that_were_swapped_are_noticed(filled: ResultStore) -> None:
    first, second = files(filled)[:2]
    assert first.stat().st_size == second.stat().st_size
    first.rename(filled.path / "between")
    second.rename(first)
    (filled.path / "between").rename(second)
    for read in (lambda: ids(filled), lambda: filled.sql("SELECT count(*) FROM battles"), filled.tables, filled.compact):
        with pytest.raises(DamagedFileError, match="run 'r', cannot be used: its bytes are not those that were written"):
            read()


@pytest.mark.parametrize("kept", [0, 50, -50])
def test_a_file_that_was_cut_stops_appends_to_its_table_and_no_other(filled: ResultStore, battles: Battles, kept: int) -> None:
    spoil(files(filled)[0], lambda content: content[:kept])
    for store in (filled, ResultStore.open(filled.path)):
        with pytest.raises(DamagedFileError, match=r"run-r-0000000001-.*: this data file of table battles, run 'r', .* bytes"):
            store.append("battles", battles(1, "n"), run_id="r")
        prompt = pl.DataFrame([{"prompt_id": f"p{id(store)}", "suite": "s", "text": "t"}])
        assert store.append("prompts", prompt, run_id="r").rows_written == 1


def test_a_log_that_was_removed_or_has_a_gap_is_an_error(filled: ResultStore, battles: Battles) -> None:
    (filled.path / "battles" / "_delta_log" / "00000000000000000003.json").unlink()
    for work in (lambda: ids(filled), lambda: filled.append("battles", battles(1, "n"), run_id="r"), filled.compact):
        with pytest.raises(DamagedTableError, match="log of table battles"):
            work()
    shutil.rmtree(filled.path / "battles")
    with pytest.raises(DamagedTableError, match="log of table battles"):
        ids(filled)
    assert [problem.kind for problem in ResultStore.open(filled.path).verify().problems] == ["log"]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "change", [lambda lines, _: [], lambda lines, _: lines[:1], lambda lines, before: before], ids=["empty", "cut", "another"]
)
def test_a_commit_that_is_not_as_it_was_written_is_an_error(
    store: ResultStore, battles: Battles, version: int, change: Callable[[list[str], list[str]], list[str]]
) -> None:
    for number in range(3):
        store.append("battles", battles(2, f"{number}-"), run_id="r")
    log = store.path / "battles" / "_delta_log"
    before, spoiled = ((log / f"{number:020}.json").read_text().splitlines(True) for number in (version - 1, version))
    (log / f"{version:020}.json").write_text("".join(change(spoiled, before)))
    uses: list[Callable[[], object]] = [lambda: ids(store), lambda: store.sql("FROM battles"), store.tables, store.compact]
    if version == 3 and not change(spoiled, before):  # like a newest commit that is removed, or one that a power cut stopped
        uses = []
    for work in uses:
        with pytest.raises(DamagedTableError, match=r"log of table battles .*version 3"):
            work()
    assert {problem.kind for problem in store.verify().problems} == {"log"}
    assert store.sql("FROM runs").is_empty()


def test_what_the_operating_system_refuses_is_a_store_error(
    store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "x.parquet")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(StoreError, match="No space left"):
        store.append("battles", battles(1), run_id="r")
    assert [path.name for path in (store.path / "battles").iterdir()] == ["_delta_log"]


# Keys


def test_a_key_in_the_table_is_refused_by_row_or_skipped_and_counted(store: ResultStore, battles: Battles) -> None:
    store.append("battles", battles(3), run_id="r")
    both = pl.concat([battles(1, "new"), battles(3)])
    with pytest.raises(DuplicateKeyError) as caught:
        store.append("battles", both, run_id="r")
    assert (caught.value.row, caught.value.column, caught.value.value) == (2, "battle_id", "b0")
    outcome = store.append("battles", both, run_id="r", on_duplicate="skip")
    assert (outcome.rows_written, outcome.rows_skipped) == (1, 3)
    assert store.append("battles", both, run_id="r", on_duplicate="skip").file is None
    assert store.read("battles").collect()["battle_id"].to_list() == ["b0", "b1", "b2", "new0"]


def test_a_key_that_comes_twice_in_one_frame_is_refused_or_its_first_row_kept(store: ResultStore, battles: Battles) -> None:
    twice = pl.concat([battles(2), battles(1).with_columns(winner=pl.lit("tie"))])
    with pytest.raises(DuplicateKeyError) as caught:
        store.append("battles", twice, run_id="r")
    assert caught.value.row == 3
    assert store.append("battles", twice, run_id="r", on_duplicate="skip").rows_skipped == 1
    assert store.read("battles").collect()["winner"].to_list() == ["model_a", "model_a"]


def test_nulls_in_a_compound_key_are_equal_to_each_other(store: ResultStore) -> None:
    row = {"run_id": "r", "suite": "s", "task": "t", "subject_model": "m", "dimension": "d", "value": 1.0, "judge": "j"}
    store.append("scores", pl.DataFrame([row]), run_id="r")
    with pytest.raises(DuplicateKeyError):
        store.append("scores", pl.DataFrame([row | {"value": 2.0}]), run_id="r")
    assert store.append("scores", pl.DataFrame([row | {"prompt_id": "p"}]), run_id="r").rows_written == 1
    assert store.append("scores", pl.DataFrame([row | {"prompt_id": "p"}]), run_id="r", on_duplicate="skip").rows_written == 0


def test_keys_whose_hashes_collide_are_still_told_apart(
    store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl.DataFrame, "hash_rows", lambda self: pl.repeat(7, self.height, dtype=pl.UInt64, eager=True))
    store.append("battles", battles(3), run_id="r")
    assert store.append("battles", battles(3, "other"), run_id="r").rows_written == 3
    with pytest.raises(DuplicateKeyError):
        store.append("battles", battles(1), run_id="r")


@pytest.mark.parametrize("spoiled", [None, b"", b"nonsense" * 1000])
def test_a_key_written_by_another_store_object_is_found_with_or_without_the_cache(
    store: ResultStore, battles: Battles, spoiled: bytes | None
) -> None:
    ResultStore.open(store.path).append("battles", battles(3), run_id="r")
    ResultStore.open(store.path).append("battles", battles(3, "c"), run_id="r")
    if spoiled is not None:
        for path in (store.path / ".cache").iterdir():
            path.write_bytes(spoiled)
    for opened in (ResultStore.open(store.path), store, ResultStore.open(store.path)):
        for prefix in ("b", "c"):
            with pytest.raises(DuplicateKeyError):
                opened.append("battles", battles(1, prefix), run_id="r")
    assert store.append("battles", battles(3, "d"), run_id="r").rows_written == 3


@pytest.mark.parametrize("kept", [0, 1, 5, 8, 16])
def test_a_cache_that_lacks_hashes_lets_no_key_in_twice(store: ResultStore, battles: Battles, kept: int) -> None:
    for prefix in ("b", "c"):
        store.append("battles", battles(3, prefix), run_id="r")
    ResultStore.open(store.path).append("battles", battles(3, "d"), run_id="r")
    (path,) = (store.path / ".cache").glob("*.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("UPDATE keys SET hashes = substr(hashes, 1, ?)", [kept]).rowcount > 0
    for prefix in ("b", "c"):
        with pytest.raises(DuplicateKeyError):
            ResultStore.open(store.path).append("battles", battles(3, prefix), run_id="r")


class Overtaken:
    """Lets another writer commit between the reading of a version and the commit on top of it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.times = 0
        self.commit = DeltaLog.commit

    def __call__(self, log: DeltaLog, *arguments: object, **options: object) -> bool:
        self.times += 1
        if self.times == 1:
            self.work()
        return self.commit(log, *arguments, **options)  # type: ignore[arg-type]


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As between machines: nothing but the log keeps writers apart."""
    from contextlib import nullcontext

    for module in ("tables", "store", "catalog"):
        monkeypatch.setattr(f"salon_store.{module}.locked", lambda _: nullcontext())


@pytest.mark.usefixtures("without_locks")
def test_a_key_that_another_machine_commits_meanwhile_is_refused_or_skipped(
    filled: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ResultStore.open(filled.path)
    for on_duplicate in ("refuse", "skip"):
        both = pl.concat([battles(2, f"{on_duplicate}-same"), battles(2, f"{on_duplicate}-own")])
        overtaken = Overtaken(lambda: other.append("battles", battles(2, f"{on_duplicate}-same"), run_id="other"))  # noqa: B023
        with monkeypatch.context() as patch:
            patch.setattr(DeltaLog, "commit", lambda *a, **k: overtaken(*a, **k))  # noqa: B023
            if on_duplicate == "refuse":
                with pytest.raises(DuplicateKeyError, match="refuse-same0"):
                    filled.append("battles", both, run_id="mine")
            else:
                outcome = filled.append("battles", both, run_id="mine", on_duplicate="skip")
                assert (outcome.rows_written, outcome.rows_skipped) == (2, 2)
    assert len(ids(filled)) == len(set(ids(filled))) == 10 + 2 + 2 + 2
    assert len(files(filled)) == 5 + 2 + 1
    assert filled.verify().sound


@pytest.mark.usefixtures("without_locks")
def test_a_compaction_that_another_overtakes_merges_nothing_twice(
    filled: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ids(filled)
    other = ResultStore.open(filled.path)
    for work, merged in ((other.compact, 0), (lambda: other.append("battles", battles(1, "new"), run_id="r"), 2)):
        overtaken = Overtaken(work)
        with monkeypatch.context() as patch:
            patch.setattr(DeltaLog, "commit", lambda *a, **k: overtaken(*a, **k))  # noqa: B023
            assert sum(table.files_merged for table in filled.compact()) == merged
        before = ids(filled)
        filled.append("battles", battles(1, f"more{merged}-"), run_id="r")
    assert len(set(before)) == 12
    assert filled.verify().sound


def test_an_append_whose_answer_is_lost_is_not_repeated(
    filled: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unanswered(self: DeltaTable, *arguments: object, **options: object) -> None:
        original(self, *arguments, **options)  # type: ignore[arg-type]
        raise OSError(110, "Connection timed out")

    original = DeltaTable.create_write_transaction
    monkeypatch.setattr(DeltaTable, "create_write_transaction", unanswered)
    assert filled.append("battles", battles(2, "new"), run_id="r").rows_written == 2
    assert len(ids(filled)) == 12


# Versions


def test_a_version_can_be_read_back_by_number_and_by_time(store: ResultStore, battles: Battles) -> None:
    moments = []
    for number in range(3):
        store.append("battles", battles(2, f"{number}-"), run_id=f"run{number}")
        moments.append(datetime.now(UTC))
    store.compact()
    for number in range(3):
        for at in (number + 1, moments[number]):
            assert store.read("battles", at=at).collect().height == 2 * (number + 1)
            assert store.sql("SELECT count(*) AS n FROM battles", at=at)["n"].item() == 2 * (number + 1)
    assert store.sql("SELECT count(*) AS n FROM battles, runs", at=moments[0])["n"].item() == 0
    changes = store.history("battles")
    assert [(change.version, change.operation, change.run_id, change.rows) for change in changes[:4]] == [
        (4, "compact", None, 6),
        (3, "append", "run2", 2),
        (2, "append", "run1", 2),
        (1, "append", "run0", 2),
    ]
    for at in (9, datetime(2000, 1, 1, tzinfo=UTC)):
        with pytest.raises(InputError):
            store.read("battles", at=at)
    with pytest.raises(InputError, match="a version is of one table"):
        store.sql("SELECT 1 FROM battles, runs", at=1)


def test_a_time_without_a_zone_is_refused_as_each_machine_would_take_it_for_another(store: ResultStore) -> None:
    later = datetime(2100, 1, 1)
    with pytest.raises(InputError, match="needs its zone"):
        store.read("battles", at=later)
    with pytest.raises(InputError, match="needs its zone"):
        store.sql("SELECT count(*) FROM battles", at=later)


def test_commits_that_come_meanwhile_and_gaps_change_no_number_in_the_history(store: ResultStore, battles: Battles) -> None:
    for number in range(26):  # the last but one has a checkpoint, so what is before it is read for the history only
        store.append("battles", battles(1, f"{number}-"), run_id=f"run{number}")
    log = store._tables["battles"].log
    opened = log.snapshot().table
    before = {change.version: change for change in store.history("battles")}
    store.append("battles", battles(1, "late"), run_id="late")
    assert list(log.commits(opened)) == sorted(before)
    assert log._version_at(opened, datetime.now(UTC)) == 26
    (store.path / "battles" / "_delta_log" / f"{7:020}.json").write_text("")
    changes = {change.version: change.run_id for change in store.history("battles")}
    assert changes == {number: change.run_id for number, change in before.items() if number != 7} | {27: "late"}
    (problem,) = store.verify().problems
    assert (problem.kind, "1 of 28 commits" in problem.detail) == ("log", True)


def test_a_clock_that_is_behind_does_not_hide_later_versions(
    store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append("battles", battles(1, "a"), run_id="r")
    path = store.path / "battles" / "_delta_log" / "00000000000000000001.json"
    stamp = next(change for change in store.history("battles") if change.version == 1).at
    late = int((stamp + timedelta(hours=2)).timestamp() * 1000)
    path.write_text(path.read_text().replace(f'"timestamp":{int(stamp.timestamp() * 1000)}', f'"timestamp":{late}'))
    store.append("battles", battles(1, "b"), run_id="r")
    assert store.read("battles", at=stamp + timedelta(hours=3)).collect().height == 2


def test_a_version_whose_files_were_vacuumed_is_refused(filled: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    filled.compact()
    assert sum(map(len, filled.vacuum().values())) == 0
    assert ids(filled) == sorted(filled.read("battles", at=5).collect()["battle_id"])
    for path in [*files(filled), *(filled.path / "battles" / "_delta_log").iterdir()]:
        stamp = path.stat().st_mtime - 8 * 86400
        if not path.name.startswith("merged"):
            os.utime(path, (stamp, stamp))
    assert len(filled.vacuum()["battles"]) == 5
    assert len(ids(filled)) == 10
    for read in (lambda: filled.read("battles", at=5), lambda: filled.sql("FROM battles", at=5)):
        with pytest.raises(InputError, match=r"version 5 of table battles can no longer be read.*vacuum"):
            read()
    assert filled.verify().sound
    with pytest.raises(InputError, match="retention"):
        filled.vacuum(retention=timedelta(minutes=59))


def test_vacuum_keeps_what_a_version_of_the_retention_has_and_what_is_being_written(
    filled: ResultStore, battles: Battles
) -> None:
    def aged(paths: list[Path], hours: float) -> None:
        for path in paths:
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - hours * 3600))

    log = filled.path / "battles" / "_delta_log"
    aged([*files(filled), *log.iterdir()], 200)  # an old table …
    filled.compact()  # … that was merged just now: readers may have the old files open
    fresh = filled.path / "battles" / data_file_name("writing", 9, "0" * 64)
    fresh.write_bytes(b"being written")
    assert filled.vacuum()["battles"] == []
    aged([*files(filled), *log.iterdir()], 200)
    assert len(filled.vacuum()["battles"]) == 6
    assert len(ids(filled)) == 10


@pytest.mark.parametrize("misdated", [7, 8])
def test_vacuum_keeps_what_a_recent_version_has_when_a_clock_was_behind(
    filled: ResultStore, battles: Battles, misdated: int
) -> None:
    log = filled.path / "battles" / "_delta_log"
    old = [*files(filled), *log.iterdir()]  # versions 0 to 5
    filled.append("battles", battles(1, "young"), run_id="r")
    behind = filled.append("battles", battles(1, "behind"), run_id="r").file
    filled.compact()  # version 8
    dated = {7: [log / f"{7:020}.json", filled.path / "battles" / str(behind)], 8: [log / f"{8:020}.json"]}
    for path in [*old, *dated[misdated]]:
        os.utime(path, (time.time() - 200 * 3600,) * 2)
    assert filled.vacuum()["battles"] == []
    assert [filled.read("battles", at=version).collect().height for version in (5, 6, 7, 8)] == [10, 11, 12, 12]


# Compaction


def test_small_files_become_one(filled: ResultStore) -> None:
    before = ids(filled)
    (done,) = [table for table in filled.compact() if table.files_merged]
    assert (done.table, done.files_merged, done.files_written) == ("battles", 5, 1)
    assert ids(filled) == before
    assert filled.tables()[list(SCHEMAS).index("battles")].files == 1
    assert not any(table.files_merged for table in filled.compact())
    assert filled.verify().sound


def test_compacting_again_and_again_keeps_every_row(filled: ResultStore, battles: Battles) -> None:
    for number in range(4):
        filled.append("battles", battles(2, f"more{number}-"), run_id="r")
        filled.compact()
        assert len(ids(filled)) == len(set(ids(filled))) == 10 + 2 * (number + 1)
        assert filled.append("battles", battles(2, "0-"), run_id="r", on_duplicate="skip").rows_skipped == 2


def test_large_files_are_left_alone_and_groups_stay_below_the_target(filled: ResultStore) -> None:
    size = max(path.stat().st_size for path in files(filled))
    assert not any(table.files_merged for table in filled.compact(target_bytes=size))
    (done,) = [table for table in filled.compact(target_bytes=size * 2) if table.files_merged]
    assert (done.files_merged, done.files_written) == (4, 2)


def test_rows_of_a_run_lie_together_after_a_compaction(store: ResultStore) -> None:
    row = {"suite": "s", "task": "t", "subject_model": "m", "dimension": "d", "value": 1.0, "judge": "j"}
    for number in range(6):
        run = f"run{number % 2}"
        store.append("scores", pl.DataFrame([row | {"run_id": run, "prompt_id": str(number)}]), run_id=run)
    store.compact()
    assert store.read("scores").collect()["run_id"].to_list() == ["run0"] * 3 + ["run1"] * 3


def test_a_frame_that_was_made_before_the_compaction_can_still_be_collected(filled: ResultStore) -> None:
    frame = filled.read("battles")
    filled.compact()
    assert frame.collect().height == 10


def test_a_file_whose_bytes_changed_is_named_and_nothing_is_merged(filled: ResultStore) -> None:
    path = files(filled)[2]
    status = path.stat()
    spoil(path, lambda content: content[:40] + bytes([content[40] ^ 0xFF]) + content[41:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(DamagedFileError, match=path.name):
        filled.compact()
    assert len(files(filled)) == 5


# Crashes


class Crash(BaseException):
    """The process dies here."""


def crashing_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Die at the given call that touches the disk; nothing after it reaches the disk either."""
    count = 0

    def counted(original: Callable[..., object]) -> Callable[..., object]:
        def touching(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count >= call:
                raise Crash
            return original(*arguments, **options)

        return touching

    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    for name in ("replace", "unlink", "rename", "write_text", "write_bytes"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    monkeypatch.setattr(StoreTable, "write", counted(StoreTable.write))
    monkeypatch.setattr(DeltaTable, "create_write_transaction", counted(DeltaTable.create_write_transaction))


def crashes(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> Iterator[int]:
    """Do the work, dying ever later, until it comes to its end."""
    call = 0
    while True:
        call += 1
        with monkeypatch.context() as patch:
            crashing_at(patch, call)
            try:
                work()
            except Crash:
                pass
            else:
                return
        yield call


@pytest.mark.slow  # a crash at every step
def test_a_crash_at_any_step_of_a_compaction_loses_and_doubles_no_row(
    filled: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ids(filled)
    steps = 0
    for steps in crashes(monkeypatch, filled.compact):
        again = ResultStore.open(filled.path)
        assert ids(again) == expected
        assert again.verify().sound
        # Something to merge for the next, later crash.
        again.append("battles", battles(1, f"after{steps}-"), run_id="r")
        expected = sorted([*expected, f"after{steps}-0"])
    assert steps > 6
    assert ids(ResultStore.open(filled.path)) == expected
    assert filled.verify().sound


def test_a_crash_at_any_step_of_an_append_keeps_all_of_its_rows_or_none(
    filled: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = set(ids(filled))
    tries = iter(range(100))
    steps = 0
    for steps in crashes(monkeypatch, lambda: filled.append("battles", battles(3, f"try{next(tries)}-"), run_id="r")):
        now = set(ids(ResultStore.open(filled.path)))
        assert now - known in (set(), {f"try{steps - 1}-{number}" for number in range(3)})
        assert known <= now
        assert ResultStore.open(filled.path, read_only=True).verify().sound
        known = now
    assert steps >= 5
    assert len(ids(filled)) == len(known) + 3


def test_a_crash_at_any_step_of_a_fold_keeps_every_row_once(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from salon_taxonomy.records import Prompt

    def journal_of(number: int) -> None:
        journal = store.journal(f"run{number}")
        journal.add("prompts", [Prompt(prompt_id=f"{number}-{row}", suite="s", text="t") for row in range(3)])
        with journal.path.open("ab") as file:
            file.write(b"torn")
        journal._file.close()

    journal_of(0)
    steps = 0
    for steps in crashes(monkeypatch, store.recover):
        ResultStore.open(store.path)
        found = store.read("prompts").collect()["prompt_id"].to_list()
        assert sorted(found) == sorted({f"{number}-{row}" for number in range(steps) for row in range(3)})
        assert len(list((store.path / "journal" / "set-aside").iterdir())) == steps
        journal_of(steps)
    assert steps >= 6


def test_a_journal_that_was_committed_and_not_removed_is_folded_once_by_its_transaction(store: ResultStore) -> None:
    from salon_taxonomy.records import Prompt

    journal = store.journal("night")
    journal.add("prompts", [Prompt(prompt_id="p", suite="s", text="t")])
    content = journal.path.read_bytes()
    journal.close()
    version = store.history("prompts")[0].version
    journal.path.write_bytes(content)
    (folded,) = ResultStore.open(store.path).recovered
    assert (folded.rows_written, folded.rows_skipped) == (0, 1)
    assert store.history("prompts")[0].version == version
    assert not journal.path.exists()


@pytest.mark.parametrize("runs", [1, 3])
def test_many_small_commits_leave_few_files_with_the_same_rows_and_names(
    store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    monkeypatch.setattr(tables, "_TIDY_EVERY", 5)
    monkeypatch.setattr(tables, "_MANY", 4)
    for number in range(17):  # the last one merges
        store.append("battles", battles(2, f"{number}-"), run_id=f"run {number % runs}")
        reader = ResultStore.open(store.path, read_only=True)
        assert reader.read("battles").collect().height == 2 * (number + 1)
        with pytest.raises(DuplicateKeyError):
            store.append("battles", battles(1, f"{number // 2}-"), run_id="again")
    info = {each.table: each for each in store.tables()}["battles"]
    assert info.rows == 34
    assert info.files <= 2 * (4 + 5)
    snapshot = store._tables["battles"].log.snapshot()
    assert {owner_of(file.name) for file in snapshot.files} == {"run 'run 0'" if runs == 1 else "several runs"}
    fresh = ResultStore.open(store.path)
    with pytest.raises(DuplicateKeyError):
        fresh.append("battles", battles(1, "11-"), run_id="again")
    assert store.verify().sound
    assert store.read("battles", at=7).collect().height == 12  # of these seven, one is a merge


def test_a_merge_that_fails_fails_no_append(store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_TIDY_EVERY", 3)
    monkeypatch.setattr(tables, "_MANY", 2)

    def full(*_: object) -> None:
        raise StoreError("no room")

    monkeypatch.setattr(tables.StoreTable, "_merged", full)
    for number in range(7):
        assert store.append("battles", battles(1, f"{number}-"), run_id="r").rows_written == 1
    monkeypatch.undo()
    assert store.verify().sound


def test_older_checkpoints_go_but_one_in_a_while_and_every_version_can_still_be_read(
    tmp_path: Path, battles: Callable[..., pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_CHECKPOINT_EVERY", 2)
    monkeypatch.setattr(delta, "_KEPT_CHECKPOINTS", 6)
    store = ResultStore.open(tmp_path / "s")
    for number in range(30):
        store.append("battles", battles(1, f"b{number}-"), run_id="r")
    there = sorted(int(path.name[:20]) for path in (tmp_path / "s" / "battles" / "_delta_log").glob("*.checkpoint.parquet"))
    # Those of the last twice six versions, and of every sixth before them.
    assert there == [version for version in range(2, 31, 2) if version >= 30 - 2 * 6 or version % 6 == 0]
    assert [store.read("battles", at=version).collect().height for version in range(31)] == list(range(31))


def test_a_checkpoint_is_written_with_every_so_manyth_commit_and_merging_keeps_the_rows(
    tmp_path: Path, battles: Callable[..., pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "_CHECKPOINT_EVERY", 3)
    store = ResultStore.open(tmp_path / "s")
    for number in range(8):
        store.append("battles", battles(1, f"b{number}-"), run_id="r")
    log = tmp_path / "s" / "battles" / "_delta_log"
    assert sorted(int(path.name[:20]) for path in log.glob("*.checkpoint.parquet")) == [3, 6]
    store.compact()
    last = max(log.glob("*.json")).read_text(encoding="utf-8").splitlines()
    actions = [action for line in last for name, action in json.loads(line).items() if name in ("add", "remove")]
    assert len(actions) == 9 and not any(action["dataChange"] for action in actions), "readers of changes see none"
    first = (log / f"{1:020}.json").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["add"]["dataChange"] for line in first if '"add"' in line] == [True]


def test_only_the_very_append_that_was_not_confirmed_is_confirmed_by_repeating_it(
    tmp_path: Path, battles: Callable[..., pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run with other rows is another append, and so are the same rows of another run."""
    flush = delta.DeltaLog.flush
    for other_rows, other_run in ((True, False), (False, True), (False, False)):
        store = ResultStore.open(tmp_path / f"{other_rows}{other_run}")

        def refused(log: delta.DeltaLog, version: int) -> None:
            raise UnconfirmedError("the disk did not confirm it")

        monkeypatch.setattr(delta.DeltaLog, "flush", refused)
        with pytest.raises(UnconfirmedError):
            store.append("battles", battles(2, "a"), run_id="r")
        monkeypatch.setattr(delta.DeltaLog, "flush", flush)
        rows, run = battles(2, "b" if other_rows else "a"), "s" if other_run else "r"
        if other_run:
            with pytest.raises(DuplicateKeyError):
                store.append("battles", rows, run_id=run)
        else:
            assert store.append("battles", rows, run_id=run).rows_written == 2
        assert store.read("battles").collect().height == (4 if other_rows else 2)


@for_each(("runs", "owner"), [(("a",), "run 'a'"), (("a", "b"), "several runs"), (("a", "b", "c"), "several runs")])
def test_a_merged_file_is_named_after_the_one_run_whose_rows_it_has(
    tmp_path: Path, battles: Battles, runs: tuple[str, ...], owner: str
) -> None:
    store = ResultStore.open(tmp_path / "results")
    for number in range(6):
        store.append("battles", battles(1, f"{number}-"), run_id=runs[number % len(runs)])
    store.compact()
    assert [file.owner for file in store._tables["battles"].log.snapshot().files] == [owner]


@given(st.lists(st.integers(1, 120), max_size=12), st.integers(10, 120))
def test_groups_hold_each_file_of_up_to_half_the_target_once_and_stay_within_it(sizes: list[int], target: int) -> None:
    some = [delta.DataFile(data_file_name("r", place, "0" * 64), size, 1, 0) for place, size in enumerate(sizes)]
    groups = list(tables._groups(some, target, by_run=False))
    grouped = [file for group in groups for file in group]
    small = [file for file in some if 2 * file.bytes <= target]
    assert [file for file in small if file in grouped] == grouped and len(set(grouped)) == len(grouped)
    assert all(len(group) > 1 and sum(file.bytes for file in group) <= target for group in groups)
    if sum(file.bytes for file in small) <= target:
        assert groups == ([small] if len(small) > 1 else [])


@given(st.lists(st.none() | st.text("ab", min_size=60, max_size=68), min_size=1, max_size=4))
def test_ranges_of_columns_are_in_the_log_where_there_are_values_and_both_ends_are_short(names: list[str | None]) -> None:
    columns = {"run_id": names, "prompt_id": ["p"] * len(names), "value": [1.0] * len(names)}
    frame = pl.DataFrame(columns, schema_overrides={"run_id": pl.String})
    read = json.loads(delta.statistics(frame, SCHEMAS["scores"]))
    assert (read["numRecords"], read["minValues"]["prompt_id"], read["maxValues"]["prompt_id"]) == (len(names), "p", "p")
    given_names = [name for name in names if name is not None]
    short = bool(given_names) and len(min(given_names)) <= 64 and len(max(given_names)) <= 64
    assert read["minValues"].get("run_id") == (min(given_names) if short else None)
    assert read["maxValues"].get("run_id") == (max(given_names) if short else None)
    assert read["nullCount"].get("run_id") == (names.count(None) if short else None)
    assert "value" not in read["minValues"]


def test_many_small_files_are_looked_for_at_every_so_many_commits(
    store: ResultStore, battles: Battles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_TIDY_EVERY", 4)
    looks: list[int] = []
    monkeypatch.setattr(StoreTable, "tidy", lambda table: looks.append(table.log.version()))
    for number in range(9):
        store.append("battles", battles(1, f"{number}-"), run_id="r")
    assert looks == [4, 8]


def test_tables_without_rows_have_no_files_and_no_bytes_also_in_a_store_opened_for_reading(filled: ResultStore) -> None:
    for opened in (filled, ResultStore.open(filled.path, read_only=True)):
        for info in opened.tables():
            own = files(filled, info.table)
            assert info.bytes == sum(path.stat().st_size for path in own) and info.files == len(own)
            assert info.rows == (10 if info.table == "battles" else 0)


def test_files_that_are_gone_already_are_removed_again_without_a_word(filled: ResultStore) -> None:
    place = filled._place
    names = [path.name for path in files(filled)]
    place.remove("battles", [names[1], names[0], names[1]])
    assert [path.name for path in files(filled)] == names[2:]


def test_a_compaction_adds_no_rows_to_the_history_and_every_change_counts_its_own(filled: ResultStore) -> None:
    DeltaTable(filled.path / "battles").alter.set_table_properties({"delta.appendOnly": "false"})
    (foreign, *_) = filled.history("battles")
    assert (foreign.rows, foreign.files_added, foreign.files_removed, foreign.run_id) == (0, 0, 0, None)
    filled.compact()
    changes = filled.history("battles")
    counted = [(change.rows, change.files_added, change.files_removed) for change in changes[:3]]
    assert counted == [(10, 1, 5), (0, 0, 0), (2, 1, 0)]


def test_files_of_another_number_of_rows_than_their_log_says_give_no_keys(filled: ResultStore, battles: Battles) -> None:
    some = [dataclasses.replace(file, rows=3) for file in filled._tables["battles"].log.snapshot().files]
    index = KeyIndex(SCHEMAS["battles"], filled.path / "elsewhere")
    with pytest.raises(StoreError, match="its log counts 15 rows, its files have 10"):
        index.split(battles(1), some, filled._tables["battles"]._rows)
