"""Rows in a journal are safe once added, folded exactly once, and never skipped silently."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salon_store import DamagedFileError, JournalInUseError, ResultStore, RowError, StoreError
from salon_store.journal import _line, read_journal
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Prompt, Rating, Run


def prompts(count: int, first: int = 0) -> list[Prompt]:
    return [Prompt(prompt_id=f"p{number}", suite="s", text="line\nbreak \x1b \u2028") for number in range(first, first + count)]


@pytest.fixture
def abandoned(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Leaves a journal behind as a writer that died would: written, not folded, its lock gone."""

    def leave(count: int, run_id: str = "run/1") -> Path:
        journal = store.journal(run_id)
        for prompt in prompts(count):
            journal.add("prompts", prompt)
        journal._file.close()
        return journal.path

    return leave


def test_rows_are_in_the_table_when_the_block_ends_and_the_file_is_gone(store: ResultStore) -> None:
    with store.journal("run/1") as journal:
        assert journal.add("prompts", prompts(2)) == 2
        assert journal.add("prompts", prompts(1, 2)[0]) == 1
        assert journal.add("prompts", []) == 0
        assert journal.path.exists()
        assert store.read("prompts").collect().is_empty()
    assert store.read("prompts").collect()["prompt_id"].to_list() == ["p0", "p1", "p2"]
    assert not journal.path.exists()
    assert journal.folded is not None
    assert journal.folded.rows_written == 3


def test_rows_of_a_block_that_fails_are_kept(store: ResultStore) -> None:
    with pytest.raises(RuntimeError), store.journal("r") as journal:
        journal.add("prompts", prompts(2))
        raise RuntimeError("the judge broke")
    assert store.read("prompts").collect().height == 2


def test_a_journal_left_behind_is_folded_by_the_next_to_open_the_store(
    store: ResultStore, abandoned: Callable[..., Path]
) -> None:
    path = abandoned(3)
    reopened = ResultStore.open(store.path)
    (folded,) = reopened.recovered
    assert (folded.run_id, folded.rows_written, folded.set_aside) == ("run/1", 3, ())
    assert not path.exists()
    assert ResultStore.open(store.path).recovered == ()
    assert store.read("prompts").collect().height == 3


def test_a_journal_left_behind_is_folded_by_the_next_writer_of_its_run(
    store: ResultStore, abandoned: Callable[..., Path]
) -> None:
    abandoned(3)
    with store.journal("run/1") as journal:
        journal.add("prompts", prompts(2, 3))
    assert store.read("prompts").collect().height == 5
    assert [folded.rows_written for folded in store.recovered] == [3]


def test_folding_again_after_a_crash_doubles_nothing(store: ResultStore, abandoned: Callable[..., Path]) -> None:
    path = abandoned(3)
    copy = path.read_bytes()
    store.recover()
    path.write_bytes(copy)
    (folded,) = store.recover()
    assert (folded.rows_written, folded.rows_skipped) == (0, 3)
    assert store.read("prompts").collect().height == 3


def test_a_live_journal_is_left_alone_and_its_run_refused_to_others(store: ResultStore) -> None:
    with store.journal("r") as journal:
        journal.add("prompts", prompts(2))
        other = ResultStore.open(store.path)
        assert other.recovered == ()
        assert other.journals_waiting() == (journal.path,)
        with pytest.raises(JournalInUseError, match=r"r\.jsonl"):
            other.journal("r")
        with other.journal("another") as second:
            second.add("prompts", prompts(1, 9))
    assert store.read("prompts").collect().height == 3


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:-9]], "breaks off"),
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "breaks off"),
        (lambda lines: [*lines[:2], lines[2].replace(b"p1", b"pX"), *lines[3:]], "checksum"),
        (lambda lines: [lines[0], b"\x00\xff garbage\n", *lines[1:]], "no journal line"),
        (lambda lines: [lines[0], b"\n", *lines[1:]], "no journal line"),
    ],
)
def test_a_spoiled_line_is_set_aside_and_reported_and_the_others_are_kept(
    store: ResultStore, abandoned: Callable[..., Path], spoil: Callable[[list[bytes]], list[bytes]], reason: str
) -> None:
    path = abandoned(4)
    lines = path.read_bytes().splitlines(keepends=True)
    spoiled = spoil(lines)
    path.write_bytes(b"".join(spoiled))
    lost = len(set(lines) - set(spoiled))
    (folded,) = ResultStore.open(store.path).recovered
    (aside,) = folded.set_aside
    assert reason in aside.reason
    assert aside.kept_in.parent == store.path / "journal" / "set-aside"
    assert aside.kept_in.read_bytes() in spoiled
    assert store.read("prompts").collect().height == 4 - lost
    assert f"line {aside.line}" in str(aside)
    assert [problem.path for problem in store.verify().problems] == [aside.kept_in]


def test_a_line_that_its_table_no_longer_takes_is_set_aside(store: ResultStore, abandoned: Callable[..., Path]) -> None:
    path = abandoned(1)
    with path.open("ab") as file:
        file.write(_line(2, '"table":"prompts","rows":[{"prompt_id":""}]'))
        file.write(_line(3, '"table":"votes","rows":[{}]'))
        file.write(_line(4, '"rows":3'))
    (folded,) = ResultStore.open(store.path).recovered
    assert [aside.line for aside in folded.set_aside] == [3, 4, 5]
    assert folded.rows_written == 1


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_content_of_a_journal_file_breaks_the_reader(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x%2Fy.jsonl"
    path.write_bytes(content)
    found = read_journal(path)
    assert found.run_id == "x/y"
    assert sum(len(raw) for _, _, raw in found.bad) == len(content)


def test_a_wrong_row_is_refused_before_anything_is_written(store: ResultStore) -> None:
    rating = Rating(
        rating_id="r",
        prompt_id="p",
        generation_id="g",
        model="m",
        dimension="d",
        value=1,
        scale_min=1,
        scale_max=5,
        rater_id="a",
    )
    with store.journal("r") as journal:
        before = journal.path.read_bytes()
        with pytest.raises(RowError):
            journal.add("prompts", rating)
        with pytest.raises(InputError, match="no table"):
            journal.add("votes", rating)
        assert journal.path.read_bytes() == before


def test_a_closed_journal_takes_no_rows(store: ResultStore) -> None:
    journal = store.journal("r")
    first = journal.close()
    assert journal.close() is first
    with pytest.raises(ValueError, match="closed"):
        journal.add("prompts", prompts(1))


def test_a_disk_that_fills_up_spoils_no_other_line(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.journal("r") as journal:
        journal.add("prompts", prompts(1))
        write = type(journal._file).write

        def half(self: object, data: bytes) -> None:
            write(self, data[: len(data) // 2])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(type(journal._file), "write", half)
        with pytest.raises(StoreError, match="No space"):
            journal.add("prompts", prompts(1, 1))
        monkeypatch.undo()
        journal.add("prompts", prompts(1, 2))
    assert store.read("prompts").collect()["prompt_id"].to_list() == ["p0", "p2"]
    assert journal.folded is not None
    assert journal.folded.set_aside == ()


def test_several_threads_may_share_a_journal(store: ResultStore) -> None:
    with store.journal("r", sync_every=10) as journal:

        def add(first: int) -> None:
            for prompt in prompts(25, first):
                journal.add("prompts", prompt)

        threads = [Thread(target=add, args=(first,)) for first in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        journal.sync()
    assert store.read("prompts").collect()["prompt_id"].n_unique() == 75


def test_acknowledgements_may_be_batched(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes = []
    with store.journal("r", sync_every=5) as journal:
        monkeypatch.setattr(type(journal._file), "flush", lambda self: flushes.append(1))
        for prompt in prompts(12):
            journal.add("prompts", prompt)
        assert len(flushes) == 2
        journal.sync()
        assert len(flushes) == 3
    with pytest.raises(InputError, match="sync_every"):
        store.journal("r", sync_every=0)


def test_a_journal_waits_while_its_table_has_a_damaged_part(store: ResultStore, abandoned: Callable[..., Path]) -> None:
    part = store.append("prompts", prompts(3, 50), run_id="r").file
    path = abandoned(2)
    file = store.path / "prompts" / str(part)
    whole = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(whole[:20])
    reopened = ResultStore.open(store.path)
    assert reopened.recovered == ()
    assert reopened.journals_waiting() == (path,)
    with pytest.raises(DamagedFileError):
        reopened.append("prompts", prompts(1, 90), run_id="r")
    file.write_bytes(whole)
    assert [folded.rows_written for folded in ResultStore.open(store.path).recovered] == [2]


def test_every_line_is_json(store: ResultStore, abandoned: Callable[..., Path]) -> None:
    lines = [json.loads(line) for line in abandoned(2).read_bytes().splitlines()]
    assert [line["seq"] for line in lines] == [0, 1, 2]
    assert lines[0]["run_id"] == "run/1"
    assert lines[1]["table"] == "prompts"


@pytest.mark.parametrize("place", [1, 2, 5])
def test_a_row_that_does_not_fit_is_named_by_its_place_among_those_given(store: ResultStore, place: int) -> None:
    rows = [Prompt(prompt_id=f"p{number}", suite="s", text="t") for number in range(5)]
    wrong = {"seed": 2**63, "run_id": "r", "suite": "s", "salon_version": "1"}
    with store.journal("night") as journal:
        for bad, table in ((Run(run_id="r", suite="s", salon_version="1"), "prompts"), (Run(**wrong), "runs")):
            good = rows if table == "prompts" else [Run(run_id=f"r{n}", suite="s", salon_version="1") for n in range(5)]
            with pytest.raises(RowError, match=f"row {place}\\b"):
                journal.add(table, [*good[: place - 1], bad, *good[place - 1 :]])
        assert journal.lines == 0
