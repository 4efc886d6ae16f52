"""A command that needs a damaged part of a store names it and fails; one that does not need it is not affected."""

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_store import ResultStore

COMMANDS = {
    "ls": ("store", "ls", "{store}"),
    "sql": ("store", "sql", "{store}", "SELECT winner, count(*) AS n FROM battles GROUP BY winner ORDER BY n"),
    "import": ("store", "import", "{store}", "battles", "{votes}"),
    "import of lost keys": ("store", "import", "{store}", "battles", "{lost}", "--on-duplicate", "skip"),
    "compact": ("store", "compact", "{store}"),
    "verify": ("store", "verify", "{store}"),
    "rank": ("votes", "rank", "{store}", "--bootstrap", "0"),
    "raters": ("votes", "raters", "{store}"),
    "quickstart": ("quickstart", "--dir", "{store}", "--top", "1"),
    "other table": ("store", "sql", "{store}", "SELECT count(*) AS n FROM prompts"),
}
"""What each command is given; all but the last need the battles."""


def votes(count: int, prefix: str, winner: str) -> pl.DataFrame:
    ids = [f"{prefix}{number}" for number in range(count)]
    sides = ["model_a", "model_b", winner]
    return pl.DataFrame({"battle_id": ids, "winner": [sides[number % 3] for number in range(count)]}).with_columns(
        model_a=pl.lit("flux"), model_b=pl.lit("sdxl"), rater_id=pl.lit("ann"), mode=pl.lit("public")
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound store of three parts of two runs, one part compacted, and files to import."""
    folder = tmp_path_factory.mktemp("sound")
    store = ResultStore.open(folder / "results")
    store.append("battles", votes(9, "a", "tie"), run_id="monday")
    store.append("battles", votes(30, "b", "model_b"), run_id="tuesday")
    store.append("battles", votes(300, "c", "model_a"), run_id="wednesday")
    store.append("prompts", pl.DataFrame([{"prompt_id": "p", "suite": "s", "text": "a cat"}]), run_id="monday")
    votes(3, "new", "tie").write_parquet(folder / "votes.parquet")
    votes(30, "b", "model_b").write_parquet(folder / "lost.parquet")
    return folder


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "copy")


def salon(folder: Path, command: str) -> Result:
    places = {"store": folder / "results", "votes": folder / "votes.parquet", "lost": folder / "lost.parquet"}
    return CliRunner().invoke(main, [part.format(**places) for part in COMMANDS[command]], prog_name="salon")


def file_of(folder: Path, run: str) -> Path:
    (path,) = (folder / "results" / "battles").glob(f"run-{run}-*.parquet")
    return path


def part(folder: Path) -> Path:
    return file_of(folder, "tuesday")


def deleted(folder: Path) -> None:
    part(folder).unlink()


def all_deleted(folder: Path) -> None:
    for path in (folder / "results" / "battles").glob("*.parquet"):
        path.unlink()


def folder_deleted(folder: Path) -> None:
    shutil.rmtree(folder / "results" / "battles")


def folder_emptied(folder: Path) -> None:
    folder_deleted(folder)
    (folder / "results" / "battles").mkdir()


def truncated(folder: Path) -> None:
    content = part(folder).read_bytes()
    part(folder).chmod(0o644)
    part(folder).write_bytes(content[:-30])


def renamed(folder: Path) -> None:
    part(folder).rename(part(folder).with_name("tuesday-7.parquet"))


def swapped(folder: Path) -> None:
    this, other = part(folder), file_of(folder, "monday")
    this.rename(folder / "between")
    other.rename(this)
    (folder / "between").rename(other)


def overwritten(folder: Path) -> None:
    path = part(folder)
    path.unlink()
    shutil.copy(file_of(folder, "monday"), path)


def flipped(folder: Path) -> None:
    """One bit, which changes the time of modification as any writing does."""
    content = bytearray(part(folder).read_bytes())
    content[len(content) // 2] ^= 1
    part(folder).chmod(0o644)
    part(folder).write_bytes(content)


def log_deleted(folder: Path) -> None:
    shutil.rmtree(folder / "results" / "battles" / "_delta_log")


def log_with_a_gap(folder: Path) -> None:
    (folder / "results" / "battles" / "_delta_log" / f"{2:020}.json").unlink()


def log_garbage(folder: Path) -> None:
    (folder / "results" / "battles" / "_delta_log" / f"{2:020}.json").write_bytes(b"\x00\xff garbage")


def no_directory(folder: Path) -> None:
    shutil.rmtree(folder / "results" / "battles")
    (folder / "results" / "battles").write_text("a file")


def unreadable_directory(folder: Path) -> None:
    """A loop of links: nobody can list it, not even the superuser."""
    shutil.rmtree(folder / "results" / "battles")
    (folder / "results" / "battles").symlink_to(folder / "results" / "battles")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    damage.__name__: (damage, named)
    for damage, named in (
        (deleted, "run-tuesday-"),
        (all_deleted, "run-monday-"),
        (folder_deleted, "battles"),
        (folder_emptied, "battles"),
        (truncated, "run-tuesday-"),
        (renamed, "run-tuesday-"),
        (swapped, "run-"),
        (overwritten, "run-tuesday-"),
        (flipped, "run-tuesday-"),
        (log_deleted, "battles"),
        (log_with_a_gap, "battles"),
        (log_garbage, "battles"),
        (no_directory, "battles"),
        (unreadable_directory, "battles"),
    )
}


EVERY_COMMAND = ("deleted", "folder_deleted", "truncated", "log_garbage")
"""Damages that meet every command: to a file, to the table, and to its log. The others meet each way to read."""


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_command_names_what_is_damaged_and_fails(folder: Path, damage: str) -> None:
    spoil, named = DAMAGES[damage]
    spoil(folder)
    for command in COMMANDS if damage in EVERY_COMMAND else ("ls", "sql", "verify", "rank", "other table"):
        done = salon(folder, command)
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
        if command == "other table":
            assert done.exit_code == 0, done.output
            continue
        assert done.exit_code != 0, (command, done.output)
        assert named in done.output, (command, done.output)
        assert "battles" in done.output, (command, done.output)
        if named in ("run-tuesday-", "run-monday-"):
            assert f"run '{named.split('-')[1]}'" in done.output, (command, done.output)
    aside = CliRunner().invoke(main, ["store", "verify", str(folder / "results"), "--set-aside"], prog_name="salon")
    assert aside.exit_code == 1, aside.output
    if named != "battles" and damage in EVERY_COMMAND:
        for command in ("ls", "sql", "import", "compact", "quickstart"):
            assert salon(folder, command).exit_code == 0, command


def test_a_bit_that_was_flipped_is_found_by_verify(folder: Path) -> None:
    content = bytearray(part(folder).read_bytes())
    part(folder).chmod(0o644)
    for place in range(0, len(content), len(content) // 8):
        flipped = content.copy()
        flipped[place] ^= 4
        part(folder).write_bytes(flipped)
        done = salon(folder, "verify")
        assert (done.exit_code, ": altered: run 'tuesday'" in done.output) == (1, True)


@pytest.fixture
def refusing_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder's store on a read-only disk, also for the superuser."""
    store = str(folder / "results")

    def refused(original: Callable[..., Any], writes: Callable[..., bool]) -> Callable[..., Any]:
        def touching(path: Any, *arguments: Any, **options: Any) -> Any:
            if not isinstance(path, int) and os.fsdecode(path).startswith(store) and writes(*arguments, **options):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fsdecode(path))
            return original(path, *arguments, **options)

        return touching

    def always(*_: Any, **__: Any) -> bool:
        return True

    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused(os.open, lambda flags, *_, **__: bool(flags & writing)))
        patch.setattr(io, "open", refused(io.open, lambda mode="r", *_, **__: bool(set(mode) & set("wax+"))))
        for name in ("mkdir", "rename", "replace", "unlink", "rmdir", "utime"):
            patch.setattr(os, name, refused(getattr(os, name), always))
        yield folder


def test_a_store_that_cannot_be_written_is_read_verified_and_never_written(folder: Path, refusing_writes: Path) -> None:
    for command in COMMANDS:
        done = salon(folder, command)
        assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.exception)
        writes = command in ("import", "import of lost keys", "compact", "quickstart")
        assert done.exit_code == (1 if writes else 0), (command, done.output)
        if writes:
            assert "Read-only file system" in done.output
