"""Journals that are opened without the store: what is written, what is refused, and what is not loaded for it."""

import subprocess
import sys
from pathlib import Path

import pytest

from salon_store import JournalInUseError, NotAStoreError, ResultStore, StoreError
from salon_store.recording import open_journal
from salon_taxonomy.records import Prompt


def prompt(number: int) -> Prompt:
    return Prompt(prompt_id=f"p{number}", suite="s", text="t")


def test_rows_are_in_the_table_once_somebody_opens_the_store(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "results", "r")
    assert journal is not None
    journal.add("prompts", [prompt(1), prompt(2)])
    journal.sync()
    journal.leave()
    journal.leave()
    store = ResultStore.open(tmp_path / "results")
    assert store.read("prompts").collect()["prompt_id"].to_list() == ["p1", "p2"]
    assert store.journals_waiting() == ()


def test_a_journal_without_rows_leaves_nothing_behind(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "results", "r")
    assert journal is not None
    journal.leave()
    assert list((tmp_path / "results" / "journal").iterdir()) == []


def test_a_live_journal_is_refused_and_one_left_behind_is_pointed_out(tmp_path: Path) -> None:
    first = open_journal(tmp_path / "results", "r")
    assert first is not None
    with pytest.raises(JournalInUseError):
        open_journal(tmp_path / "results", "r")
    first.add("prompts", prompt(1))
    first.leave()
    assert open_journal(tmp_path / "results", "r") is None
    ResultStore.open(tmp_path / "results")
    again = open_journal(tmp_path / "results", "r")
    assert again is not None
    again.leave()


def test_it_cannot_be_folded_from_this_side(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "results", "r")
    assert journal is not None
    journal.add("prompts", prompt(1))
    with pytest.raises(StoreError, match="leave"):
        journal.close()
    assert ResultStore.open(tmp_path / "results").read("prompts").collect().height == 1


def test_other_directories_and_older_stores_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NotAStoreError, match="thesis"):
        open_journal(tmp_path, "r")
    ResultStore.open(tmp_path / "old")
    note = tmp_path / "old" / "store.json"
    note.write_text(note.read_text().replace('"schema_version": ', '"schema_version": 1, "was": '))
    with pytest.raises(NotAStoreError, match="schema version 1"):
        open_journal(tmp_path / "old", "r")


def test_nothing_that_reads_tables_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from salon_store.recording import open_journal; open_journal(sys.argv[1], 'r').leave();"
        "print({'polars', 'duckdb', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "results")], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
