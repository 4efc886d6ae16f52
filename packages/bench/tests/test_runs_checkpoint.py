"""What a run's checkpoint gives back is what was recorded, and it is folded when, and only when, something was."""

import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.runs import checkpoint as checkpoint_module
from salon_bench.runs.checkpoint import RunCheckpoint, fold_apart, fold_here
from salon_bench.runs.suite_runner import call_row
from salon_bench.suites.contract.suite import RunContext
from salon_judges.asking.asker import Call, ReadReply, StoredReply
from salon_store.errors import StoreError
from salon_store.journal import Journal
from salon_taxonomy.answers import Parsed
from salon_taxonomy.locked_file import LockedFile
from salon_taxonomy.protocols import Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish, JudgeCall, Prompt
from salon_taxonomy.store_address import StoreAddress

CONTEXT = RunContext("run", "judge", "1")
QUESTION = Question(("Is it real?",))
CALL = Call("first", 1, QUESTION, QUESTION.request_sha256(), None)

replies = st.builds(
    Reply,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(CallStatus),
    finish=st.sampled_from(Finish),
    latency_ms=st.none() | st.floats(0, 1e6),
    usage=st.builds(Usage, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99), st.none() | st.just(0.25)),
    http_status=st.none() | st.integers(100, 599),
    error=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    cached=st.booleans(),
)
starts = st.lists(st.lists(st.tuples(st.sampled_from("abc"), replies), max_size=4), min_size=1, max_size=3)


def row(call_id: str, reply: Reply, number: int = 1) -> JudgeCall:
    return call_row(ReadReply(reply, Parsed(1)), call_id, CALL, number, CONTEXT, "case")


@given(starts)
@settings(max_examples=8)
def test_every_start_knows_the_last_attempt_of_every_call_before_it(starts: list[list[tuple[str, Reply]]]) -> None:
    stored: dict[str, StoredReply] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "results")
        for attempts in [*starts, []]:
            checkpoint = RunCheckpoint.open(store, "run", fold_here)
            assert checkpoint.replayed == len(stored)
            assert {call_id: checkpoint.known(call_id) for call_id in "abc"} == {key: stored.get(key) for key in "abc"}
            for call_id, reply in attempts:
                number = stored[call_id].attempts + 1 if call_id in stored else 1
                checkpoint.record([row(call_id, reply, number)])
                free = replace(reply, latency_ms=None, usage=Usage(), cached=True)
                stored[call_id] = StoredReply(number, free)
            checkpoint.close()


@for_each(("notes", "rows"), list(product(range(3), range(3))))
def test_a_checkpoint_is_folded_once_if_anything_was_written(tmp_path: Path, notes: int, rows: int) -> None:
    folds: list[StoreAddress] = []
    checkpoint = RunCheckpoint.open(tmp_path, "run", folds.append)
    folds.clear()
    for number in range(notes):
        checkpoint.note("prompts", Prompt(prompt_id=f"p{number}", suite="s", text="a cat"))
    for number in range(rows):
        checkpoint.record([row(f"c{number}", Reply("1"))])
    checkpoint.close()
    checkpoint.close()
    assert folds == [tmp_path] * (notes + rows > 0)
    fold_here(tmp_path)


@for_each("rows", [0, 1])
def test_every_open_journal_of_a_run_is_flushed_and_none_that_was_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(Journal, "sync", lambda journal: flushed.append(journal.run_id))
    checkpoint = RunCheckpoint.open(tmp_path, "run", fold_here)
    checkpoint.record([row("c", Reply("1"))] * rows)
    checkpoint.sync()
    assert flushed == ["run", "run~1"][: 1 + rows]
    checkpoint.close()
    checkpoint.sync()
    assert len(flushed) == 1 + rows


def test_a_fold_in_a_second_process_keeps_every_row_or_says_why_not(tmp_path: Path) -> None:
    store = tmp_path / "results"
    checkpoint = RunCheckpoint.open(store, "run", fold_apart)
    checkpoint.record([row("c", Reply("1"))])
    checkpoint.close()
    again = RunCheckpoint.open(store, "run", fold_here)
    assert again.known("c") == StoredReply(1, Reply("1", cached=True))
    again.close()


@for_each(
    ("program", "why"),
    [
        ("import sys; sys.stderr.write('first\\nsecond\\nlast\\n'); sys.exit(1)", "last"),
        ("import sys; sys.exit(3)", "it ended with 3"),
        ("raise ValueError('no such number')", "ValueError: no such number"),
    ],
)
def test_a_fold_that_fails_in_a_second_process_says_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    monkeypatch.setattr(checkpoint_module, "_CHILD", program)
    with pytest.raises(StoreError) as failed:
        fold_apart(tmp_path)
    assert str(failed.value).rpartition("into parts: ")[2] == why


def test_a_directory_that_is_no_store_is_not_folded_and_the_reason_comes_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no store")
    with pytest.raises(StoreError, match=f"(?s)could not be folded.*{tmp_path / 'file'}"):
        fold_apart(tmp_path / "file")


def test_a_segment_that_a_killed_start_left_is_folded_before_the_next_one(tmp_path: Path) -> None:
    checkpoint = RunCheckpoint.open(tmp_path, "run", lambda store: None)
    checkpoint.record([row("c", Reply("1"))])
    checkpoint.close()
    again = RunCheckpoint.open(tmp_path, "run", fold_here)
    assert again.known("c") == StoredReply(1, Reply("1", cached=True))
    again.close()


def test_a_segment_that_another_process_folds_meanwhile_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = RunCheckpoint.open(tmp_path, "run", lambda store: None)
    checkpoint.record([row("c", Reply("1"))])
    checkpoint.close()
    [segment] = tmp_path.rglob("*~1.jsonl")
    opened = LockedFile.opened

    def folded_first(path: Path, *, create: bool) -> LockedFile | None:
        path.unlink(missing_ok=True)
        return opened(path, create=create)

    monkeypatch.setattr(LockedFile, "opened", folded_first)
    assert not checkpoint_module._segments_left(tmp_path, "run")
    assert not segment.exists()
