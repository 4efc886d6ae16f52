"""Rows of one run are removed and put back; every other row, and everything else about the store, stays."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_console import main
from salon_store import JournalInUseError, ResultStore, StoreError
from salon_store.delta import DeltaLog
from salon_store.schemas import SCHEMAS
from salon_store.store import _WITH_RUNS
from salon_store.tables import REMOVE_RUN
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Assessment, Battle, Reward, Run, RunPrompt, Score

SCORE = {"suite": "s", "task": "t", "subject_model": "m", "dimension": "d", "judge": "j"}
RUNS = ("one", "two", "a/b c", "two-more")


def rows_of(run: str, number: int) -> dict[str, list[object]]:
    return {
        "runs": [Run(run_id=run, suite="s", salon_version="1")],
        "run_prompts": [RunPrompt(run_id=run, prompt_id=f"p{n}", prompt_key="k") for n in range(number)],
        "scores": [Score(run_id=run, prompt_id=f"p{n}", value=n, **SCORE) for n in range(number)],
        "rewards": [Reward(run_id=run, step=n, completion_id="c", reward="r", value=1.0) for n in range(number)],
    }


def contents(store: ResultStore) -> dict[str, list[tuple[object, ...]]]:
    return {table: sorted(map(str, store.read(table).collect().rows())) for table in SCHEMAS}


def filled(path: Path, number: int = 3) -> ResultStore:
    store = ResultStore.open(path)
    for run in RUNS:
        for table, rows in rows_of(run, number).items():
            store.append(table, rows, run_id=run)
    vote = Battle(battle_id="b", model_a="x", model_b="y", winner="tie", rater_id="r", mode="judge")
    store.append("battles", [vote], run_id="one")
    return store


@settings(max_examples=3)
@given(st.sampled_from(RUNS), st.sampled_from(["before", "between", "both", "never"]), st.integers(0, 4))
def test_removing_a_run_takes_its_rows_alone_and_undoing_brings_all_of_them_back(tmp_path_factory, run, compacted, number):
    store = filled(tmp_path_factory.mktemp("runs"), number)
    if compacted in ("before", "both"):
        store.compact()
    before = contents(store)
    assert store.remove(run) == {table: len(rows_of(run, number).get(table, [])) for table in _WITH_RUNS}
    left = {table: store.read(table).collect() for table in _WITH_RUNS}
    assert all((frame["run_id"] != run).all() for frame in left.values())
    others = [row for row in RUNS if row != run]
    assert {table: frame.height for table, frame in left.items()} == {
        table: sum(len(rows_of(other, number).get(table, [])) for other in others) for table in _WITH_RUNS
    }
    assert store.verify().sound and store.read("battles").collect().height == 1
    if compacted in ("between", "both"):
        store.compact()
    store.restore(run)
    assert contents(store) == before and store.verify().sound


def test_a_removal_that_was_cut_off_goes_on_and_can_still_be_undone(tmp_path, monkeypatch):
    store = filled(tmp_path / "s")
    before = contents(store)
    commit, calls = DeltaLog.commit, []

    def failing(self, *given, **named):
        calls.append(named)
        if len(calls) == 3:
            raise StoreError("the disk is full")
        return commit(self, *given, **named)

    monkeypatch.setattr(DeltaLog, "commit", failing)
    with pytest.raises(StoreError):
        store.remove("two")
    monkeypatch.undo()
    assert sum(store.remove("two").values()) > 0 and store.verify().sound
    store.restore("two")
    assert contents(store) == before


def test_a_removal_whose_answer_is_lost_is_counted(tmp_path, monkeypatch):
    def unanswered(self, *arguments, **options):
        original(self, *arguments, **options)
        raise OSError(110, "Connection timed out")

    store = filled(tmp_path / "s")
    original = DeltaTable.create_write_transaction
    monkeypatch.setattr(DeltaTable, "create_write_transaction", unanswered)
    assert store.remove("two") == {table: len(rows_of("two", 3).get(table, [])) for table in _WITH_RUNS}
    assert len([change for change in store.history() if change.operation == REMOVE_RUN]) == 4


def test_what_is_not_there_is_named_and_nothing_changes(tmp_path):
    store = filled(tmp_path / "s")
    before = contents(store)
    with pytest.raises(InputError, match="Did you mean 'two-more'"):
        store.remove("two-mor")
    with pytest.raises(InputError, match="the run is there"):
        store.restore("two")
    with pytest.raises(InputError, match="no removed rows"):
        store.restore("never")
    with store.journal("night") as journal:
        journal.add("runs", Run(run_id="night", suite="s", salon_version="1"))
        with pytest.raises(JournalInUseError):
            store.remove("night")
    assert store.remove("night")["runs"] == 1
    assert contents(store) == before


@pytest.mark.parametrize("listed", [True, False])
def test_rows_that_a_run_got_after_its_removal_are_never_mixed_with_those_of_before(tmp_path, listed):
    store = ResultStore.open(tmp_path / "s")
    before, after = (
        [Score(run_id="r", prompt_id=f"{name}{n}", value=1, **SCORE) for n in range(2)] for name in ("before", "after")
    )
    if listed:
        store.append("runs", [Run(run_id="r", suite="s", salon_version="1")], run_id="r")
    store.append("scores", before, run_id="r")
    store.remove("r")
    store.append("scores", after, run_id="r")
    expected = contents(store)
    for _ in range(2):
        with pytest.raises(InputError, match="the run is there"):
            store.restore("r")
        assert contents(store) == expected


def test_an_undo_brings_back_the_last_run_of_a_name_and_nothing_of_an_earlier_one(tmp_path):
    store = ResultStore.open(tmp_path / "s")
    run = Run(run_id="r", suite="s", salon_version="1")
    label = {"run_id": "r", "generation_id": "g", "taxonomy": "t", "label": "l", "present": True, "judge": "j"}
    store.append("runs", [run], run_id="r")
    store.append("scores", [Score(run_id="r", prompt_id="first", value=1, **SCORE)], run_id="r")
    store.append("assessments", [Assessment(assessment_id="first", **label)], run_id="r")
    store.remove("r")
    store.append("runs", [run], run_id="r")
    store.append("scores", [Score(run_id="r", prompt_id="second", value=1, **SCORE)], run_id="r")
    for _ in range(2):  # removed and put back, twice
        expected = contents(store)
        store.remove("r")
        store.restore("r")
        assert contents(store) == expected
    assert store.read("assessments").collect().is_empty()


def test_an_undo_brings_all_back_where_the_clock_of_the_writer_was_ahead(tmp_path, monkeypatch):
    store = ResultStore.open(tmp_path / "s")
    for table, rows in rows_of("one", 2).items():
        store.append(table, rows, run_id="one")
    expected = contents(store)
    store.remove("one")
    listed = DeltaLog.history

    def history(log):
        ahead = timedelta(hours=1)
        return [each if each.operation == REMOVE_RUN else replace(each, at=each.at + ahead) for each in listed(log)]

    monkeypatch.setattr(DeltaLog, "history", history)
    store.restore("one")
    assert contents(store) == expected


def test_an_undo_that_was_cut_off_goes_on_and_is_done_once(tmp_path, monkeypatch):
    store = filled(tmp_path / "s")
    before = contents(store)
    store.remove("two")
    commit, calls = DeltaLog.commit, []

    def failing(self, *given, **named):
        calls.append(named)
        if len(calls) == 3:
            raise StoreError("the disk is full")
        return commit(self, *given, **named)

    monkeypatch.setattr(DeltaLog, "commit", failing)
    with pytest.raises(StoreError):
        store.restore("two")
    monkeypatch.undo()
    assert sum(store.restore("two").values()) > 0 and contents(store) == before
    with pytest.raises(InputError, match="the run is there"):
        store.restore("two")


def test_an_undo_after_a_vacuum_names_the_missing_files(tmp_path):
    store = filled(tmp_path / "s")
    store.remove("two")
    long_ago = 1_000_000_000
    for path in (tmp_path / "s").rglob("*"):
        os.utime(path, (long_ago, long_ago), follow_symlinks=False)
    store.vacuum(retention=timedelta(hours=1))
    with pytest.raises(InputError, match="can no longer be read"):
        store.restore("two")


def test_the_command_removes_and_puts_back(tmp_path):
    filled(tmp_path / "s")
    words = ["store", "remove", str(tmp_path / "s"), "two"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0 and "scores: 3 rows removed" in done.stderr and "--undo" in done.stderr
    assert "scores: 3 rows put back" in CliRunner().invoke(main, [*words, "--undo"]).stderr
    assert ResultStore.open(tmp_path / "s").read("scores").filter(pl.col("run_id") == "two").collect().height == 3
