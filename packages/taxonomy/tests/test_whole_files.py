"""A file is written whole or not at all, whatever goes wrong and wherever the process is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import new_folder, replacing, write_json_lines, write_whole


def fail_in_block(path: Path) -> None:
    with replacing(path) as unfinished:
        unfinished.write_text("half")
        raise KeyError("stopped")


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (fail_in_block, KeyError),
        (lambda path: write_json_lines(path, [{"a": 1}, {"a": object()}]), TypeError),
        (lambda path: write_json_lines(path.with_suffix(".csv"), []), InputError),
        (lambda path: write_whole(path.parent / "missing" / "a.txt", "new"), InputError),
        (lambda path: write_whole(path / "below a file", "new", parents=True), InputError),
    ],
    ids=["block", "no json", "ending", "no folder", "file as folder"],
)
def test_a_failure_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, write: Callable[[Path], object], error: type[Exception]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("old")
    with pytest.raises(error):
        write(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize("flushed", [False, True])
def test_what_is_written_is_read_and_missing_folders_are_made_on_demand(tmp_path: Path, flushed: bool) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    write_whole(path, "a \ud800 \u00e9", parents=True, flushed=flushed)
    assert path.read_bytes() == b"a ? \xc3\xa9"
    assert write_json_lines(path, iter([{"a": "\u00e9"}, {}])) == 2
    assert path.read_text(encoding="utf-8") == '{"a": "\u00e9"}\n{}\n'


@pytest.mark.parametrize("link", [False, True])
def test_a_pipe_takes_what_is_written_and_stays(tmp_path: Path, link: bool) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / "out"
    os.mkfifo(pipe)
    if link:
        path.symlink_to(pipe)
    else:
        pipe.rename(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(path, "new", flushed=True)
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert path.is_fifo() and path.is_symlink() == link


def test_a_link_stays_and_leads_to_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link.txt"
    link.symlink_to("folder/rows.txt")
    write_whole(link, "new")
    assert link.is_symlink() and (tmp_path / "folder" / "rows.txt").read_text() == "new"


@pytest.mark.parametrize("kind", ["missing", "empty", "private", "link"])
def test_a_new_folder_that_failed_is_as_before_and_can_be_made_again(tmp_path: Path, kind: str) -> None:
    folder, other = tmp_path / "new", tmp_path / "other"
    other.mkdir()
    if kind == "link":
        folder.symlink_to(other)
    elif kind != "missing":
        folder.mkdir(0o700 if kind == "private" else 0o755)

    def state() -> list[tuple[str, int]]:
        return sorted((each.name, each.lstat().st_mode) for each in tmp_path.rglob("*"))

    before = state()
    with pytest.raises(KeyError), new_folder(folder):
        (folder / "below").mkdir()
        (folder / "below" / "half").write_text("a")
        (folder / "half").write_text("a")
        (folder / "away").symlink_to(tmp_path)
        raise KeyError
    assert state() == before
    with new_folder(folder):
        (folder / "whole").write_text("a")
    assert [each.name for each in folder.iterdir()] == ["whole"]


def test_a_killed_writer_leaves_one_of_its_contents(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    code = """
import sys
from pathlib import Path
from salon_taxonomy.whole_files import write_whole
for number in range(10**9):
    write_whole(Path(sys.argv[1]), f"{number} " * 20_000)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as process:
        try:
            seen: set[str] = set()
            while len(seen) < 20:
                if path.exists():
                    seen.add(path.read_text())
            os.kill(process.pid, signal.SIGKILL)
        finally:
            process.kill()
    for text in (*seen, path.read_text()):
        assert text == text[: text.index(" ") + 1] * 20_000


def test_only_what_is_to_outlive_a_power_cut_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    monkeypatch.setattr("salon_taxonomy.whole_files.flush", lambda path: flushed.append(path.name))
    path = tmp_path / "rows.jsonl"
    write_whole(path, "a")
    write_json_lines(path, [{"a": 1}])
    with replacing(path) as unfinished:
        unfinished.write_text("b")
    assert flushed == []
    write_whole(path, "c", flushed=True)
    assert len(flushed) == 2 and flushed[1] == tmp_path.name  # the bytes first, then the name
