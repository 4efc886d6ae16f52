"""A cache gives a reply back only for the same question to the same judge, and survives whatever happens to its files."""

import asyncio
import hashlib
import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from for_each import for_each
from salon_judges.clients import CachedJudge, ResponseCache, open_judge, read_settings
from salon_judges.clients.cache import CacheCounts, CacheSize
from salon_judges.clients.reply_documents import ReplyDocument
from salon_judges.clients.wrapping import remarks_of
from salon_judges.testing.mock_server import Script, fixed, serving
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Judge, Media, Question, Reply, Token, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Reason

QUESTION = Question(("Is it real?", Media.from_bytes(b"a picture")))


class Counting:
    """Answers with what ``answer`` makes of the number of the call."""

    def __init__(self, answer: Callable[[int], Reply] = lambda number: Reply(f"reply {number}"), version: str = "1") -> None:
        self.name, self.version, self.calls = "counting", version, 0
        self._answer = answer
        self.gate: asyncio.Event | None = None

    async def ask(self, question: Question) -> Reply:
        self.calls += 1
        number = self.calls
        if self.gate is not None:
            await self.gate.wait()
        return self._answer(number)


def ask(judge: Judge, question: Question = QUESTION) -> Reply:
    return asyncio.run(judge.ask(question))


def file_of(folder: Path) -> Path:
    return folder / "replies.sqlite3"


def change_body(folder: Path, body: bytes, sha256: bytes | None = None) -> None:
    with closing(sqlite3.connect(file_of(folder))) as database, database:
        database.execute("UPDATE replies SET body = ?, sha256 = coalesce(?, sha256)", (body, sha256))


def test_a_kept_reply_comes_back_whole_marked_as_cached_and_free(tmp_path: Path) -> None:
    tokens = (Token("yes", -0.1, (("yes", -0.1), ("no", -2.4))),)
    reply = Reply(
        "yes, 人 \U0001f600", finish=Finish.STOP, latency_ms=12.5, usage=Usage(10, 2, 0.01), tokens=tokens, http_status=200
    )
    inner = Counting(lambda number: reply)
    assert ask(CachedJudge(inner, ResponseCache(tmp_path))) == reply
    later = CachedJudge(inner, ResponseCache(tmp_path))
    found = ask(later)
    assert (found.text, found.tokens, found.finish, found.cached) == (reply.text, tokens, Finish.STOP, True)
    assert found.usage == Usage(0, 0, 0.0)
    assert inner.calls == 1
    assert later.cache.counts.hits == 1


@pytest.mark.parametrize(
    "other",
    [
        Question(("Is it  real?", Media.from_bytes(b"a picture"))),
        Question(("Is it real?", Media.from_bytes(b"another"))),
        Question((Media.from_bytes(b"a picture"), "Is it real?")),
        Question(QUESTION.parts, system="Be brief."),
        Question(QUESTION.parts, decoding=Decoding(temperature=0.5)),
        Question(QUESTION.parts, decoding=Decoding(seed=1)),
        Question(QUESTION.parts, response_schema={"type": "object"}),
    ],
)
def test_whatever_can_change_the_reply_is_another_entry(tmp_path: Path, other: Question) -> None:
    judge = CachedJudge(Counting(), ResponseCache(tmp_path))
    assert (ask(judge).text, ask(judge, other).text) == ("reply 1", "reply 2")


def test_a_judge_of_another_version_is_asked_itself(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    assert ask(CachedJudge(Counting(version="1"), cache)).cached is False
    assert ask(CachedJudge(Counting(version="2"), cache)).cached is False


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=12))
def test_a_cache_counts_and_answers_as_a_dictionary_would(asked: list[tuple[str, int]]) -> None:
    judges = {version: Counting(version=version) for version in "ab"}
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(Path(folder, "not", "made", "yet"))
        replies: dict[tuple[str, int], str] = {}
        for version, number in asked:
            reply = ask(CachedJudge(judges[version], cache), Question((f"{number}?",)))
            assert reply.cached == ((version, number) in replies)
            assert reply.text == replies.setdefault((version, number), f"reply {judges[version].calls}")
        assert cache.counts == CacheCounts(hits=len(asked) - len(replies), misses=len(replies), kept=len(replies))
        assert cache.size().entries == len(replies)
        assert cache.judges() == [("counting", version) for version in "ab" if judges[version].calls]
        cache.close()


numbers = st.floats(allow_nan=False, allow_infinity=False, max_value=0)
tokens = st.builds(
    Token, st.text(max_size=3), numbers, st.lists(st.tuples(st.text(max_size=3), numbers), max_size=2).map(tuple)
)
counted = st.none() | st.integers(0, (1 << 40) - 1)
amounts = st.none() | st.floats(0, allow_infinity=False)
kept_replies = st.builds(
    Reply,
    st.text(max_size=8),
    st.sampled_from(CallStatus),
    st.text(max_size=3),
    st.sampled_from(Finish),
    amounts,
    st.builds(Usage, counted, counted, amounts),
    st.lists(tokens, max_size=2).map(tuple),
    st.none() | st.integers(100, 599),
    st.none() | st.text(max_size=8),
)


@given(kept_replies)
def test_a_document_of_a_reply_is_the_reply_again(reply: Reply) -> None:
    document = ReplyDocument.model_validate_json(ReplyDocument.of(reply).model_dump_json(exclude_defaults=True))
    assert document.reply() == reply
    assert document.as_cached() == replace(reply, latency_ms=None, usage=Usage(0, 0, 0.0), cached=True)


NO_AMOUNTS = ("-1e-9", "NaN", "Infinity", "-Infinity")
NO_COUNTS = ("-1", str(1 << 40), "0.5", "NaN")


@for_each("name", ["latency_ms", "cost_usd", "prompt_tokens", "completion_tokens", "tokens"])
def test_a_document_with_an_impossible_number_is_refused(name: str) -> None:
    wrong = {"tokens": NO_AMOUNTS[1:]}.get(name, NO_COUNTS if name.endswith("_tokens") else NO_AMOUNTS)
    form = '[["a", -1.0, [["b", %s]]]]' if name == "tokens" else "%s"
    for number in wrong:
        with pytest.raises(ValidationError):
            ReplyDocument.model_validate_json(f'{{"text": "x", "{name}": {form % number}}}')
    ReplyDocument.model_validate_json(f'{{"text": "x", "{name}": {form % 0}}}')


def test_a_fault_of_a_document_never_shows_its_value() -> None:
    with pytest.raises(ValidationError) as refused:
        ReplyDocument.model_validate_json('{"text": {"a": "sk-secret"}}')
    assert "sk-secret" not in str(refused.value)


def test_threads_may_share_a_cache(tmp_path: Path) -> None:
    cache, found = ResponseCache(tmp_path), []
    cache.keep("1", "0" * 64, Reply("x"))
    thread = threading.Thread(target=lambda: found.append(cache.find("1", "0" * 64)))
    thread.start()
    thread.join()
    assert [reply and reply.text for reply in found] == ["x"]


PARTS = (
    Reply("", CallStatus.TIMEOUT, error="late"),
    Reply("", CallStatus.REJECTED, http_status=429),
    Reply("half of a", finish=Finish.LENGTH),
    Reply("I cannot", finish=Finish.FILTERED),
    Reply(""),
    Reply(" \n"),
)


@for_each("reply", PARTS)
def test_a_judge_whose_reply_was_not_whole_is_asked_again(tmp_path: Path, reply: Reply) -> None:
    replies = [reply, reply, Reply("whole"), reply]
    inner = Counting(lambda number: replies[number - 1])
    judge = CachedJudge(inner, ResponseCache(tmp_path))
    assert [ask(judge) for _ in range(3)] == replies[:3]
    assert (ask(judge).text, inner.calls, judge.cache.counts.damaged) == ("whole", 3, [])
    assert judge.cache.keep("1", QUESTION.request_sha256(), reply)
    assert ask(judge).text == "whole"


# --------------------------------------------------------------------------------------------------------------- replay


@for_each(
    "reply", [*PARTS, *(Reply(text) for text in HOSTILE_REPLIES), Reply("yes", finish=Finish.STOP, usage=Usage(5, 1, 0.5))]
)
def test_a_replay_gives_back_what_the_judge_gave_under_its_name_and_at_no_cost(tmp_path: Path, reply: Reply) -> None:
    ask(CachedJudge(Counting(lambda number: reply, version="v1"), ResponseCache(tmp_path)))
    judge = open_judge(f"replay:{tmp_path}", {})
    again = ask(judge)
    assert (judge.name, judge.version) == ("counting", "v1")
    assert (again.text, again.status, again.finish) == (reply.text.replace("\ud800", "\ufffd"), reply.status, reply.finish)
    assert (again.cached, again.usage, again.error) == (True, Usage(0, 0, 0.0), reply.error)


def test_a_question_without_a_reply_is_abstained_and_counted_and_a_replay_writes_nothing(tmp_path: Path) -> None:
    waiting = Counting(lambda number: Reply("yes") if number == 1 else Reply("", CallStatus.CANCELLED, error="of a batch"))
    cached = CachedJudge(waiting, ResponseCache(tmp_path))
    ask(cached)
    ask(cached, Question(("another",)))
    judge = CachedJudge.replay(tmp_path)
    for _ in range(2):
        reply = ask(judge, Question(("another",)))
        assert (reply.status, reply.problem().reason) == (CallStatus.CANCELLED, Reason.ABSTAINED)  # type: ignore[union-attr]
    assert remarks_of(judge) == ["2 questions had no reply in the cache"]
    assert ResponseCache(tmp_path).size().entries == 1


def test_a_folder_with_replies_of_several_versions_needs_a_choice(tmp_path: Path) -> None:
    folder, choice = tmp_path / "replies", tmp_path / "replay.toml"
    for version in ("v1", "v2"):
        ask(CachedJudge(Counting(lambda number, version=version: Reply(f"of {version}"), version), ResponseCache(folder)))
    with pytest.raises(InputError, match=r"(?s)several judges.*counting v1.*judge_version"):
        CachedJudge.replay(folder)
    choice.write_text(f'kind = "replay"\npath = "{folder}"\njudge_version = "v2"\n')
    assert ask(open_judge(str(choice), {})).text == "of v2"
    with pytest.raises(InputError, match="of this judge"):
        CachedJudge.replay(folder, "another")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "there is no such folder"),
        (lambda path: path.mkdir(), "there is no reply"),
        (lambda path: path.write_text("{}"), "is a file, not a folder"),
    ],
)
def test_what_is_no_folder_of_replies_is_not_replayed(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    path = tmp_path / "replies"
    make(path)
    with pytest.raises(InputError, match=said):
        open_judge(f"replay:{path}", {})
    with pytest.raises(InputError, match="names no folder"):
        open_judge("replay:", {})
    assert path.is_dir() is False or not list(path.iterdir())


@for_each("text", [text for text in HOSTILE_REPLIES if text.strip()])
def test_any_text_is_given_back_as_it_is_stored(tmp_path: Path, text: str) -> None:
    judge = CachedJudge(ReplayJudge([text]), ResponseCache(tmp_path))
    ask(judge)
    assert ask(judge).text == text.replace("\ud800", "\ufffd")


def replaced_by(content: bytes) -> Callable[[Path], object]:
    return lambda folder: file_of(folder).write_bytes(content)


def spoil(folder: Path) -> None:
    """Overwrite all pages but the first, as a failing disk does."""
    whole = file_of(folder).read_bytes()
    file_of(folder).write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: change_body(folder, b'{"text": "reply 9"}'),
        lambda folder: change_body(folder, b""),
        replaced_by(b"no database, but more than a hundred bytes of something else" * 40),
        lambda folder: file_of(folder).write_bytes(file_of(folder).read_bytes()[:5000]),
        spoil,
    ],
    ids=["other reply", "empty reply", "other file", "cut off", "bad pages"],
)
def test_damage_is_a_miss_is_reported_and_the_reply_is_written_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    judge = CachedJudge(Counting(), ResponseCache(tmp_path))
    ask(judge)
    judge.cache.close()
    damage(tmp_path)
    assert (ask(judge).text, judge.cache.counts.hits) == ("reply 2", 0)
    assert [each.path for each in judge.cache.counts.damaged] == [file_of(tmp_path)]
    assert (ask(judge).text, judge.cache.counts.hits) == ("reply 2", 1)


@pytest.mark.parametrize("damage", [lambda path: path.mkdir(), lambda path: path.symlink_to(path)], ids=["folder", "loop"])
def test_a_file_that_cannot_be_opened_costs_the_entry_and_not_the_reply(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    judge = CachedJudge(Counting(), ResponseCache(tmp_path))
    damage(file_of(tmp_path))
    assert [ask(judge).text for _ in range(2)] == ["reply 1", "reply 2"]
    assert judge.cache.counts.damaged
    assert judge.cache.counts.not_kept
    with pytest.raises(InputError, match="cannot be read"):
        judge.cache.size()


def test_a_process_that_finds_an_old_file_damaged_leaves_the_new_one_alone(tmp_path: Path) -> None:
    first, second = ResponseCache(tmp_path), ResponseCache(tmp_path)
    first.keep("1", "0" * 64, Reply("old"))
    first.close()
    spoil(tmp_path)
    assert second.find("1", "0" * 64) is None
    assert second.keep("1", "0" * 64, Reply("new"))
    first._close_and_set_aside(_corrupt())
    found = first.find("1", "0" * 64)
    assert found is not None
    assert found.text == "new"
    assert len(list(tmp_path.glob("damaged-*"))) == 1


def _corrupt() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def test_an_entry_with_a_right_checksum_and_a_wrong_content_is_damaged(tmp_path: Path) -> None:
    judge = CachedJudge(Counting(), ResponseCache(tmp_path))
    ask(judge)
    for body in (
        b'{"text": 7}',
        b'{"text": "x", "cost_usd": -1}',
        b'{"text": "x", "run": "rm"}',
        b"[" * 10_000,
    ):
        change_body(tmp_path, body, hashlib.sha256(body).digest())
        assert ask(judge).cached is False
    assert len(judge.cache.counts.damaged) == 4


def test_the_first_hundred_damaged_entries_are_told_and_every_one_is_a_miss(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    cache.keep("1", "0" * 64, Reply("x"))
    change_body(tmp_path, b"first")
    assert cache.find("1", "0" * 64) is None
    body = b'{"text": 7}'
    change_body(tmp_path, body, hashlib.sha256(body).digest())
    assert [cache.find("1", "0" * 64) for _ in range(100)] == [None] * 100
    problems = [each.problem for each in cache.counts.damaged]
    assert len(problems) == 100
    assert ["checksum" in problem for problem in problems] == [True] + [False] * 99


def test_equal_questions_in_flight_make_one_call(tmp_path: Path) -> None:
    inner = Counting()

    async def main() -> list[Reply]:
        inner.gate = asyncio.Event()
        judge = CachedJudge(inner, cache)
        asked = [asyncio.create_task(judge.ask(QUESTION)) for _ in range(20)]
        await asyncio.sleep(0)
        inner.gate.set()
        return await asyncio.gather(*asked)

    cache = ResponseCache(tmp_path)
    replies = asyncio.run(main())
    assert inner.calls == 1
    assert cache.counts == CacheCounts(hits=19, misses=1, kept=1)
    assert {reply.text for reply in replies} == {"reply 1"}
    assert [reply.usage for reply in replies if reply.cached] == [Usage(0, 0, 0.0)] * 19, "a shared reply is paid once"


def test_equal_questions_in_flight_fail_together_and_are_asked_again_later(tmp_path: Path) -> None:
    inner = Counting(lambda number: Reply("", CallStatus.UNREACHABLE) if number == 1 else Reply("now"))

    async def main() -> tuple[list[Reply], Reply]:
        inner.gate = asyncio.Event()
        judge = CachedJudge(inner, ResponseCache(tmp_path))
        asked = [asyncio.create_task(judge.ask(QUESTION)) for _ in range(5)]
        await asyncio.sleep(0)
        inner.gate.set()
        return await asyncio.gather(*asked), await judge.ask(QUESTION)

    replies, later = asyncio.run(main())
    assert {reply.status for reply in replies} == {CallStatus.UNREACHABLE}
    assert (later.text, inner.calls) == ("now", 2)


def test_whoever_is_cancelled_takes_nobody_along(tmp_path: Path) -> None:
    inner = Counting()

    async def main() -> list[object]:
        inner.gate = asyncio.Event()
        judge = CachedJudge(inner, ResponseCache(tmp_path))
        asked = [asyncio.create_task(judge.ask(QUESTION)) for _ in range(3)]
        await asyncio.sleep(0)
        asked[0].cancel()  # the one that asks
        asked[1].cancel()  # one that waits for it
        await asyncio.sleep(0)
        inner.gate.set()
        return list(await asyncio.gather(*asked, return_exceptions=True))

    first, second, third = asyncio.run(main())
    assert isinstance(first, asyncio.CancelledError)
    assert isinstance(second, asyncio.CancelledError)
    assert isinstance(third, Reply)
    assert third.text == "reply 2"


def _fill(folder: str, start: int) -> None:
    cache = ResponseCache(folder)
    for number in range(300):
        cache.keep("1", f"{(start + number) % 300:064x}", Reply("x" * 2000))
        found = cache.find("1", f"{number:064x}")
        assert found is None or len(found.text) == 2000
    assert cache.counts.damaged == []


def test_processes_may_share_a_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fill, args=(str(tmp_path), 75 * number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert ResponseCache(tmp_path).size().entries == 300


def _keep_one(folder: str, number: int, gate: "threading.Barrier", results: "multiprocessing.SimpleQueue[object]") -> None:
    cache = ResponseCache(folder)
    gate.wait()
    found, kept = cache.find("1", f"{number:064x}"), cache.keep("1", f"{number:064x}", Reply("reply"))
    results.put((found, kept, cache.counts.damaged))


def test_processes_that_begin_a_folder_together_keep_their_first_replies(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for place in range(3):
        gate, results = context.Barrier(6), context.SimpleQueue()
        workers = [
            context.Process(target=_keep_one, args=(str(tmp_path / str(place)), each, gate, results)) for each in range(6)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [results.get() for _ in workers] == [(None, True, [])] * 6


def _only_read(folder: str, results: "multiprocessing.SimpleQueue[object]") -> None:
    if os.getuid() == 0:  # whom no permission stops
        os.setuid(65534)
    cache = ResponseCache(folder)
    found = [cache.find("1", "0" * 64), cache.find("1", "1" * 64)]
    kept = cache.keep("1", "1" * 64, Reply("new"))
    results.put(([*found, cache.find("1", "0" * 64)], kept, cache.counts.damaged, cache.counts.not_kept))


def test_replies_are_found_in_a_folder_that_may_only_be_read() -> None:
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        cache = ResponseCache(folder)
        cache.keep("1", "0" * 64, Reply("kept"))
        cache.close()
        file_of(Path(folder)).chmod(0o444)
        Path(folder).chmod(0o555)
        results = context.SimpleQueue()
        worker = context.Process(target=_only_read, args=(folder, results))
        worker.start()
        worker.join(60)
        Path(folder).chmod(0o755)
    (first, missing, again), kept, damaged, not_kept = results.get()
    assert (first.text, again.text, missing) == ("kept", "kept", None)
    assert not kept
    assert "readonly" in not_kept
    assert damaged == []


@pytest.mark.timeout(30)
def test_a_found_reply_does_not_wait_for_a_process_that_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon_judges.clients.cache._BUSY_S", 3600.0)
    cache = ResponseCache(tmp_path)
    cache.keep("1", "0" * 64, Reply("kept"))
    with closing(sqlite3.connect(file_of(tmp_path), isolation_level=None)) as other:
        other.execute("UPDATE replies SET used_s = 0")
        other.execute("BEGIN IMMEDIATE")
        found = cache.find("1", "0" * 64)
    assert found is not None
    assert found.text == "kept"


def _keep_until_killed(folder: str) -> None:
    cache = ResponseCache(folder)
    for number in range(1_000_000):
        cache.keep("1", f"{number:064x}", Reply(f"{number} " * 500))


def test_a_killed_process_leaves_whole_entries_and_a_file_that_goes_on(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for kill in range(4):
        folder = tmp_path / str(kill)
        process = context.Process(target=_keep_until_killed, args=(str(folder),))
        cache = ResponseCache(folder)
        process.start()
        while cache.size().entries < 20 * (kill + 1):
            pass
        process.kill()
        process.join(60)
        cache.close()
        entries = cache.size().entries
        found = [cache.find("1", f"{number:064x}") for number in range(entries)]
        assert [reply.text for reply in found if reply] == [f"{number} " * 500 for number in range(entries)]
        assert cache.keep("1", "f" * 64, Reply("more"))
        assert cache.counts.damaged == []


@for_each(("age_s", "noted"), [(0, False), (50, False), (70, True), (10**6, True), (-50, True)])
def test_the_last_use_of_an_entry_is_noted_once_a_minute(tmp_path: Path, age_s: int, noted: bool) -> None:
    cache = ResponseCache(tmp_path)
    cache.keep("1", "0" * 64, Reply("x"))
    before = int(time.time()) - age_s
    with closing(sqlite3.connect(file_of(tmp_path))) as database, database:
        database.execute("UPDATE replies SET used_s = ?", (before,))
    assert cache.find("1", "0" * 64) is not None
    with closing(sqlite3.connect(file_of(tmp_path))) as database:
        [(used_s,)] = database.execute("SELECT used_s FROM replies")
    assert (used_s == before) == (not noted)
    assert used_s <= time.time()


@for_each("reply", PARTS)
def test_a_reply_that_is_not_whole_is_found_only_where_failures_are_wanted(tmp_path: Path, reply: Reply) -> None:
    cache = ResponseCache(tmp_path)
    assert cache.keep("1", "0" * 64, reply)
    assert cache.find("1", "0" * 64) is None
    found = cache.find("1", "0" * 64, failures=True)
    assert found is not None
    assert (found.text, found.status, found.finish) == (reply.text, reply.status, reply.finish)
    assert cache.judges() == [], "no judge was named"


def test_pruning_takes_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    for number in range(4):
        cache.keep("1", f"{number:064x}", Reply("x" * 1000))
        with closing(sqlite3.connect(file_of(tmp_path))) as database, database:
            database.execute("UPDATE replies SET used_s = ? WHERE used_s > 10000", (1000 + number,))
    assert cache.find("1", f"{0:064x}") is not None
    size = cache.size().size_bytes
    deleted = cache.prune(size // 2)
    assert (deleted.entries, cache.size().entries) == (2, 2)
    assert cache.find("1", f"{0:064x}") is not None
    assert cache.find("1", f"{1:064x}") is None
    assert cache.prune(0).entries == 2


def test_a_cache_without_replies_is_empty_before_and_after_its_first_use(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    for use in (lambda: None, lambda: cache.find("1", "0" * 64)):
        use()
        assert [cache.size(), cache.prune(0), cache.judges()] == [CacheSize(0, 0), CacheSize(0, 0), []]


@pytest.mark.timeout(30)
def test_a_reply_is_kept_while_another_process_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon_judges.clients.cache._BUSY_S", 0.0)
    cache = ResponseCache(tmp_path)
    cache.keep("1", "0" * 64, Reply("first"))
    with closing(sqlite3.connect(file_of(tmp_path), isolation_level=None)) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM replies").fetchone() == (1,)
        assert cache.keep("1", "1" * 64, Reply("second")), cache.counts.not_kept
    assert cache.size().entries == 2


@pytest.mark.timeout(30)
def test_a_file_that_another_process_locks_is_not_taken_for_one_that_may_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("salon_judges.clients.cache._BUSY_S", 0.0)
    cache = ResponseCache(tmp_path)
    with closing(sqlite3.connect(file_of(tmp_path), isolation_level=None)) as other:
        other.execute("CREATE TABLE another (id)")
        other.execute("BEGIN EXCLUSIVE")
        assert not cache.keep("1", "0" * 64, Reply("first"))
        assert "locked" in (cache.counts.not_kept or "")
        other.execute("ROLLBACK")
    assert cache.keep("1", "0" * 64, Reply("first"))
    assert cache.size().entries == 1


def test_a_reply_of_more_than_16_mib_is_not_kept_and_what_was_kept_stays(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    assert cache.keep("1", "0" * 64, Reply("short"))
    room = (16 << 20) - len('{"text":""}')
    assert not cache.keep("1", "0" * 64, Reply("x" * (room + 1)))
    assert cache.find("1", "0" * 64) == Reply("short", cached=True, usage=Usage(0, 0, 0.0))
    assert cache.keep("1", "1" * 64, Reply("x" * room))
    assert (cache.find("1", "0" * 64), cache.counts.kept) == (Reply("short", cached=True, usage=Usage(0, 0, 0.0)), 2)


def test_a_disk_that_refuses_costs_the_entry_and_not_the_reply(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "cache")
    judge = CachedJudge(Counting(), cache)
    (tmp_path / "cache").rmdir()
    (tmp_path / "cache").write_text("a file")
    assert ask(judge).text == "reply 1"
    assert cache.counts.not_kept is not None
    with pytest.raises(InputError, match="cannot be made"):
        ResponseCache(tmp_path / "cache")


def test_a_text_names_a_cache_around_a_judge_and_no_secret_reaches_it(tmp_path: Path) -> None:
    key = "sk-0123456789abcdef"
    with serving(Script(rule=fixed(f"yes {key}"))) as server:
        specification = f"cache:{tmp_path / 'replies'}=openai:mock@{server.url}"
        for cached in (False, True):
            judge = open_judge(specification, {"SALON_JUDGE_API_KEY": key})
            assert ask(judge).cached is cached
            assert (judge.name, judge.version) == ("mock", read_settings(f"openai:mock@{server.url}").version)
        assert server.stats.requests == 1
    assert all(key.encode() not in path.read_bytes() for path in (tmp_path / "replies").iterdir())


@pytest.mark.parametrize("text", ["cache:", "cache:folder", "cache:=openai:m", "cache:folder=", "cache:folder=nothing:m"])
def test_a_text_without_folder_or_judge_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_settings(text)
