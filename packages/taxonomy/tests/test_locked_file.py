"""Files that one process holds: whether one is held can be asked without keeping anybody from taking it."""

import os
from pathlib import Path
from threading import Event, Thread

from salon_taxonomy.locked_file import LockedFile, is_held


def test_a_file_is_held_from_its_opening_to_its_last_close(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert not is_held(path) and not path.exists()
    held = LockedFile.opened(path, create=True)
    assert held is not None and is_held(path) and LockedFile.opened(path, create=True) is None
    again = held.again()
    held.close()
    assert is_held(path)
    again.close()
    assert not is_held(path)


def test_what_is_no_file_is_not_held(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    assert not any(map(is_held, (tmp_path / "fifo", tmp_path / "link", tmp_path)))


def test_asking_keeps_nobody_from_taking_the_file(tmp_path: Path) -> None:
    path, stop = tmp_path / "journal", Event()
    path.touch()

    def ask() -> None:
        while not stop.is_set():
            is_held(path)

    askers = [Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(100):
            held = LockedFile.opened(path, create=True)
            assert held is not None
            held.close()
    finally:
        stop.set()
        for asker in askers:
            asker.join()
