"""Verify names everything that is not as it was written."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from for_each import for_each
from salon_store import DamagedFileError, DamagedTableError, NotAStoreError, Problem, ResultStore, StoreError
from salon_store.checks import checked
from salon_store.delta import DeltaLog
from salon_store.errors import explained
from salon_store.schemas import SCHEMAS

Battles = Callable[..., pl.DataFrame]


@pytest.fixture
def filled(store: ResultStore, battles: Battles) -> ResultStore:
    for number in range(3):
        store.append("battles", battles(4, f"{number}-"), run_id="r")
    return store


def file_of(store: ResultStore, number: int) -> Path:
    (path,) = (store.path / "battles").glob(f"*-{number:010}-*.parquet")
    return path


def smuggled(store: ResultStore, rows: pl.DataFrame) -> None:
    """Commit rows without looking at them, as another engine could."""
    table = store._tables["battles"]
    snapshot = table.log.snapshot()
    assert table.log.commit(snapshot, add=[table.write(rows, "smuggled", snapshot.version + 1)], operation="append")


def spoiled(store: ResultStore, number: int, change: Callable[[bytes], bytes]) -> Path:
    part = file_of(store, number)
    part.chmod(0o644)
    part.write_bytes(change(part.read_bytes()))
    return part


def only(store: ResultStore, **options: bool) -> Problem:
    (problem,) = ResultStore.open(store.path).verify(**options).problems
    return problem


def test_a_store_as_it_was_written_is_sound(filled: ResultStore) -> None:
    outcome = filled.verify()
    assert outcome.sound
    assert (outcome.files, outcome.rows, outcome.journals_waiting, outcome.uncommitted) == (3, 12, (), ())


@pytest.mark.parametrize("removed", [1, 2, 3])
def test_data_files_whose_commits_were_removed_from_the_end_of_the_log_are_named(filled: ResultStore, removed: int) -> None:
    newest = [file_of(filled, number) for number in range(4 - removed, 4)]
    for commit in sorted((filled.path / "battles" / "_delta_log").glob("*.json"))[-removed:]:
        commit.unlink()
    outcome = ResultStore.open(filled.path, read_only=True).verify()
    assert list(map(str, outcome.uncommitted)) == list(map(str, newest)) and outcome.rows == 12 - 4 * removed
    assert filled.verify().problems == outcome.problems


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-100],
        lambda content: content[:3],
        lambda content: b"",
        lambda content: content[:60] + bytes([content[60] ^ 1]) + content[61:],
        lambda content: content + b"x",
    ],
)
def test_a_part_that_was_cut_or_changed_is_named_and_moved_only_when_asked(
    filled: ResultStore, change: Callable[[bytes], bytes]
) -> None:
    part = spoiled(filled, 2, change)
    problem = only(filled)
    assert (problem.path, problem.kind, problem.moved_to) == (part, "altered", None)
    assert part.exists()
    moved = only(filled, set_aside=True).moved_to
    assert moved == filled.path / "set-aside" / "battles" / part.name
    assert moved.exists()
    assert not part.exists()
    assert sorted(filled.read("battles").collect()["battle_id"]) == sorted(f"{n}-{k}" for n in (0, 2) for k in range(4))
    assert filled.append("battles", filled.read("battles").collect(), run_id="r", on_duplicate="skip").rows_skipped == 8
    assert (only(filled).path, only(filled).kind) == (moved, "set_aside")


def test_a_key_that_stands_twice_is_named(filled: ResultStore, battles: Battles) -> None:
    rows = checked(battles(2, "0-"), SCHEMAS["battles"])
    smuggled(filled, rows)
    problem = only(filled)
    assert problem.kind == "duplicates"
    assert "2 keys are" in problem.detail
    assert "0-1 × 2" in problem.detail


def test_one_key_that_stands_twice_is_one_key(filled: ResultStore, battles: Battles) -> None:
    rows = checked(battles(1, "0-"), SCHEMAS["battles"])
    smuggled(filled, rows)
    assert only(filled).detail == "1 key is there more than once: 0-0 × 2"


def test_a_row_that_the_table_does_not_allow_is_named(filled: ResultStore, battles: Battles) -> None:
    rows = checked(battles(1, "z"), SCHEMAS["battles"]).with_columns(winner=pl.lit("A"))
    smuggled(filled, rows)
    problem = only(filled)
    assert problem.kind == "rows"
    assert "'A'" in problem.detail


def test_a_part_of_another_schema_is_named(filled: ResultStore, battles: Battles) -> None:
    smuggled(filled, battles(1).with_columns(weight=pl.lit("heavy")))
    problem = only(filled)
    assert problem.kind == "schema"
    assert "weight" in problem.detail


def test_a_foreign_file_is_named(filled: ResultStore) -> None:
    foreign = filled.path / "battles" / "votes.parquet"
    foreign.write_bytes(b"x")
    assert (only(filled).path, only(filled).kind) == (foreign, "foreign")


def test_a_part_that_was_set_aside_and_then_deleted_is_not_missing(filled: ResultStore) -> None:
    spoiled(filled, 2, lambda content: content[:-100])
    filled.verify(set_aside=True)
    shutil.rmtree(filled.path / "set-aside")
    assert ResultStore.open(filled.path).verify().sound


@pytest.mark.parametrize("compacted", [False, True])
def test_a_file_that_was_deleted_is_missing_until_it_is_put_back_or_given_up(
    filled: ResultStore, battles: Battles, compacted: bool
) -> None:
    if compacted:
        filled.compact()
    path = filled.path / "battles" / filled._tables["battles"].log.snapshot().files[0].name if compacted else file_of(filled, 2)
    content = path.read_bytes()
    path.unlink()
    for work in (
        lambda: filled.append("battles", battles(1, "new"), run_id="r"),
        lambda: filled.append("battles", battles(4, "1-"), run_id="r"),
        filled.tables,
        lambda: filled.read("battles"),
    ):
        problem = only(filled)
        assert (problem.path, problem.kind, problem.moved_to) == (path, "missing", None)
        with pytest.raises(
            DamagedTableError, match=f"{path.name}: this data file of table battles, .* is missing, with its rows"
        ):
            work()
    path.write_bytes(content)
    assert ResultStore.open(filled.path).verify().sound
    path.unlink()
    assert only(filled, set_aside=True).kind == "missing"
    assert ResultStore.open(filled.path).verify().sound
    left = 0 if compacted else 8
    assert filled.read("battles").collect().height == left
    assert filled.append("battles", battles(4, "1-"), run_id="again").rows_written == 4


def test_a_file_that_another_engine_committed_is_refused_by_name(filled: ResultStore, battles: Battles) -> None:
    from deltalake import write_deltalake

    write_deltalake(filled.path / "battles", checked(battles(1, "x"), SCHEMAS["battles"]), mode="append")
    for read in (filled.tables, lambda: filled.sql("FROM battles"), lambda: filled.append("battles", battles(1), run_id="r")):
        with pytest.raises(DamagedFileError, match="not written by Salon"):
            read()
    assert only(filled, set_aside=True).kind == "altered"
    assert filled.read("battles").collect().height == 12


def test_a_table_that_store_json_leaves_out_is_never_read_as_empty(filled: ResultStore) -> None:
    note = filled.path / "store.json"
    content = json.loads(note.read_text())
    note.write_text(json.dumps(content | {"tables": [name for name in content["tables"] if name != "battles"]}))
    opened = ResultStore.open(filled.path, create=False, read_only=True)
    (problem,) = opened.verify().problems
    assert problem.detail.startswith("store.json leaves out a table that has rows: 'battles'")
    assert str(problem.path).endswith("store.json") and str(problem.path) not in problem.detail
    shutil.move(filled.path / "battles", filled.path.parent / "moved")
    empty = opened.tables()[list(SCHEMAS).index("battles")]
    assert (empty.table, empty.rows, empty.files, empty.bytes) == ("battles", 0, 0, 0)  # nothing is there, which is no fault
    shutil.move(filled.path.parent / "moved", filled.path / "battles")
    for ask in (lambda: opened.read("battles"), lambda: opened.sql("FROM battles"), opened.tables, opened.history):
        with pytest.raises(NotAStoreError, match="leaves out a table that has rows: 'battles'"):
            ask()
    assert ResultStore.open(filled.path).read("battles").collect().height == 12  # opening for writing lists it again


def test_what_is_no_journal_is_named_and_neither_read_nor_removed(filled: ResultStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("password\n")
    journals = filled.path / "journal"
    (journals / "link.jsonl").symlink_to(secret)
    (journals / "folder.jsonl").mkdir()
    os.mkfifo(journals / "pipe.jsonl")
    opened = ResultStore.open(filled.path)
    problems = {Path(str(problem.path)).name: problem.kind for problem in opened.verify().problems}
    assert problems == {"link.jsonl": "foreign", "folder.jsonl": "foreign", "pipe.jsonl": "foreign"}
    assert secret.read_text() == "password\n" and (journals / "link.jsonl").is_symlink()
    assert not any(
        b"password" in path.read_bytes() for path in filled.path.rglob("*") if path.is_file() and not path.is_symlink()
    )
    with pytest.raises(StoreError):
        opened.journal("link").__enter__()


def test_a_pipe_in_place_of_a_data_file_is_damage_and_keeps_nobody_waiting(filled: ResultStore) -> None:
    path = file_of(filled, 1)
    path.unlink()
    os.mkfifo(path)
    assert only(filled).kind == "altered" and "no regular file" in only(filled).detail
    with pytest.raises(DamagedFileError):
        filled.read("battles")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_place_of_store_json_is_named_and_keeps_nobody_waiting(
    filled: ResultStore, make: Callable[[Path], None]
) -> None:
    metadata = filled.path / "store.json"
    metadata.unlink()
    make(metadata)
    with pytest.raises(NotAStoreError, match="no regular file"):
        ResultStore.open(filled.path)


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_what_stands_in_place_of_a_commit_is_named(filled: ResultStore, make: Callable[[Path], None]) -> None:
    commit = max((filled.path / "battles" / "_delta_log").glob("*.json"))
    commit.unlink()
    make(commit)
    assert commit in {Path(problem.path) for problem in filled.verify().problems if problem.kind == "log"}


def test_a_file_that_is_damaged_again_and_again_is_set_aside_beside_the_others(filled: ResultStore) -> None:
    path = file_of(filled, 1)
    content, kept = path.read_bytes(), []
    for damage in (b"first", b"second", b"third"):
        path.write_bytes(damage)
        problems = ResultStore.open(filled.path).verify(set_aside=True).problems
        kept += [problem.moved_to for problem in problems if problem.moved_to]
        assert not path.exists()
    assert [target.read_bytes() for target in kept] == [b"first", b"second", b"third"] and content not in kept
    assert len(set(kept)) == 3


@for_each(
    ("error", "path", "detail"),
    [
        (PermissionError(13, "Permission denied", "/x/0.json"), "/x/0.json", "[Errno 13] Permission denied: '/x/0.json'"),
        (OSError("no name"), None, "no name"),
    ],
)
def test_a_log_that_cannot_be_read_is_named_by_its_file_or_its_table(
    filled: ResultStore, monkeypatch: pytest.MonkeyPatch, error: OSError, path: str | None, detail: str
) -> None:
    def refused(log: DeltaLog) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "snapshot", refused)
        problems = [problem for problem in filled.verify().problems if problem.kind == "log"]
    assert problems and {problem.detail for problem in problems} == {detail}
    names = {str(problem.path) for problem in problems}
    assert names == {path} if path is not None else all(Path(name).is_dir() for name in names)


def test_what_the_system_refuses_names_the_file_and_the_reason() -> None:
    for error, words in (
        (TimeoutError(110, "Connection timed out", "/x/a"), "/x/a: Connection timed out"),
        (OSError("odd"), "here: odd"),
        (IsADirectoryError(21, "Is a directory"), "here: Is a directory"),
    ):
        with pytest.raises(StoreError) as raised, explained("here"):
            raise error
        assert str(raised.value) == words and raised.value.__cause__ is error
