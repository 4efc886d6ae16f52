"""Folders of drawn pictures: the same files for any number of processes, interruptions and calls."""

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from salon_bench.suites.assessors import MagicDataRow, magicdata_rows
from salon_synthetic.artifacts import draw_examples, example_folder
from salon_synthetic.artifacts.example_folder import write_examples
from salon_taxonomy.errors import InputError
from salon_train.data import read_examples

SOURCE = partial(draw_examples, seed=5, size=16)
CHILD = """
import sys
from functools import partial
from pathlib import Path
from salon_synthetic.artifacts import draw_examples, example_folder
example_folder.CHUNK = 40
example_folder.write_examples(Path(sys.argv[1]), partial(draw_examples, seed=5, size=16), 4000, settings={"seed": 5})
"""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_files_do_not_depend_on_processes_or_on_how_many_calls_made_them(tmp_path, monkeypatch):
    monkeypatch.setattr(example_folder, "CHUNK", 30)
    assert write_examples(tmp_path / "one", SOURCE, 100, settings={"seed": 5}) == 100
    assert write_examples(tmp_path / "two", SOURCE, 100, settings={"seed": 5}, workers=2) == 100
    for count, drawn in ((0, 0), (45, 45), (45, 0), (100, 55)):
        assert write_examples(tmp_path / "three", SOURCE, count, settings={"seed": 5}) == drawn
    one = files(tmp_path / "one")
    assert len(one) == 102
    assert one == files(tmp_path / "two") == files(tmp_path / "three")


def test_reasoning_and_hard_positives_come_back_as_examples(tmp_path):
    write_examples(tmp_path, SOURCE, 60, settings={"seed": 5})
    drawn = list(SOURCE(60))
    read = read_examples(tmp_path / "examples.jsonl").examples
    assert [each.reasoning for each in read] == [each.reasoning for each in drawn]
    assert [each.hard_positive for each in read] == [each.hard_positive for each in drawn]
    assert None not in [each.reasoning for each in read]
    assert any(each.hard_positive for each in read)


def test_a_killed_call_is_completed_by_the_next(tmp_path, monkeypatch):
    folder = tmp_path / "killed"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(folder)])
    while len(list(folder.glob("unfinished/0*.jsonl"))) < 2 and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not (folder / "examples.jsonl").exists()
    monkeypatch.setattr(example_folder, "CHUNK", 40)
    finished = len(list(folder.glob("unfinished/0*.jsonl")))
    count = (finished + 2) * 40
    assert write_examples(folder, SOURCE, count, settings={"seed": 5}) == 80
    write_examples(tmp_path / "whole", SOURCE, count, settings={"seed": 5})
    rows = {"examples.jsonl", "settings.json"}
    found, wanted = files(folder), files(tmp_path / "whole")
    assert all(found[name] == wanted[name] for name in wanted)
    assert {name for name in found if not name.startswith("pictures/")} == rows


def test_magicdata_rows_reads_what_was_written(tmp_path):
    told = []
    write_examples(tmp_path, SOURCE, 20, settings={}, watch=lambda done, total: told.append((done, total)))
    rows = list(magicdata_rows(tmp_path / "examples.jsonl"))
    examples = list(SOURCE(20, start=0))
    assert all(isinstance(row, MagicDataRow) for row in rows)
    assert [row.answer for row in rows] == [example.truth for example in examples]
    assert [row.prompt for row in rows] == [example.prompt for example in examples]
    assert [(tmp_path / row.image).read_bytes() for row in rows] == [example.image for example in examples]
    assert told == [(0, 20), (20, 20)]


def test_what_is_in_the_folder_is_never_mixed_with_something_else(tmp_path):
    write_examples(tmp_path / "drawn", SOURCE, 3, settings={"seed": 5})
    with pytest.raises(InputError, match="other settings"):
        write_examples(tmp_path / "drawn", SOURCE, 3, settings={"seed": 6})
    with pytest.raises(InputError, match="more than"):
        write_examples(tmp_path / "drawn", SOURCE, 2, settings={"seed": 5})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("Dear Ada")
    with pytest.raises(InputError, match="is not empty"):
        write_examples(tmp_path / "other", SOURCE, 3, settings={"seed": 5})
    with pytest.raises(InputError, match="cannot be written"):
        write_examples(tmp_path / "other" / "letter.txt", SOURCE, 3, settings={"seed": 5})
    with pytest.raises(InputError, match="at least 1"):
        write_examples(tmp_path / "new", SOURCE, 3, settings={}, workers=0)
    assert not (tmp_path / "new").exists()
