"""The one way to ask: what becomes of every reply, what is kept, what is asked again, and who is never asked."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.asking.asker import (
    REMINDER,
    Asker,
    AskPolicy,
    Call,
    InquiryResult,
    Memory,
    ReadReply,
    StopAskingError,
    StoredReply,
    storable,
)
from salon_judges.asking.inquiry import Inquiry, drive, drive_async
from salon_judges.asking.spending import RunLimits, Spending
from salon_taxonomy.answers import Parsed, Unparsed
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, SalonError, StorageError
from salon_taxonomy.protocols import CallOutcome, Decoding, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.verdict import Reason, Scored, Unscored


def mark(text: str) -> Parsed[int] | Unparsed:
    """A whole number from 1 to 9."""
    if not text:
        return Unparsed(Reason.EMPTY, "nothing")
    if text in "123456789":
        return Parsed(int(text))
    return Unparsed(Reason.OFF_MENU if text.isdigit() else Reason.MALFORMED, "no mark")


MARK = Inquiry("mark", Question(("How good is it, 1 to 9?",)), mark)
READ = Reply("7")
UNREAD = {
    "empty": Reply(""),
    "prose": Reply("What a lovely cat."),
    "truncated JSON": Reply('{"mark": '),
    "off the menu": Reply("11"),
}
FINAL = {
    "cut off": Reply("7", finish=Finish.LENGTH),
    "withheld": Reply("", finish=Finish.FILTERED),
}
LOST = {
    "late": Reply("", CallStatus.TIMEOUT, error="no byte in 30 s"),
    "no server": Reply("", CallStatus.UNREACHABLE),
    "no call": Reply("", CallStatus.CANCELLED),
    "wrong key": Reply("", CallStatus.REJECTED, http_status=401),
    "too busy": Reply("", CallStatus.REJECTED, http_status=429),
    "declined": Reply("", CallStatus.REJECTED, http_status=422),
}
EVERY = {"read": READ, **UNREAD, **FINAL, **LOST}


class Script:
    """A judge that gives the replies of a list in their order, the last one ever after; what is no reply is raised."""

    name = "script"

    def __init__(self, *replies: Reply | Exception, version: str = "1", pause: float = 0.0) -> None:
        self.replies, self.version, self.pause = list(replies), version, pause
        self.asked: list[Question] = []
        self.open = self.most_open = 0

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(self.pause)
        self.open -= 1
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


@dataclass
class Journal:
    """Keeps every attempt by step, as a run's checkpoint does."""

    stored: dict[str, StoredReply] = field(default_factory=dict)
    kept: list[tuple[Call, Sequence[ReadReply], int]] = field(default_factory=list)

    def key(self, call: Call) -> str:
        return f"{call.step} {call.request}"

    def known(self, key: str) -> StoredReply | None:
        return self.stored.get(key)

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        self.kept.append((call, attempts, first))
        self.stored[key] = StoredReply(first + len(attempts) - 1, attempts[-1].reply)


def asked(asker: Asker, replies: Any, inquiry: Inquiry[Any] = MARK) -> InquiryResult[Any]:
    return asyncio.run(asker.answer(inquiry, replies))


def expected(replies: Sequence[Reply], re_asks: int) -> tuple[int, Any, bool]:
    """How many calls the replies take, the verdict's value or reason, and whether the question is lost."""
    for number, reply in enumerate(replies[: re_asks + 1], start=1):
        if reply.outcome is not CallOutcome.ANSWERED:
            return number, reply.problem().reason, True
        if reply.problem() is not None:
            return number, reply.problem().reason, False
        if isinstance(outcome := mark(reply.text), Parsed):
            return number, outcome.answer, False
    return re_asks + 1, outcome.reason, False


@given(st.lists(st.sampled_from(sorted(EVERY)), min_size=4, max_size=4), st.integers(0, 3))
def test_every_sequence_of_replies_gives_the_verdict_of_the_flow_chart(names, re_asks):
    replies = [EVERY[name] for name in names]
    judge, journal = Script(*replies), Journal()
    answer = asked(Asker(AskPolicy(judge, re_asks)), journal)
    value = answer.verdict.value if isinstance(answer.verdict, Scored) else answer.verdict.reason
    assert (len(judge.asked), value, answer.lost) == expected(replies, re_asks)
    assert [attempts[-1].reply for _, attempts, _ in journal.kept] == replies[: len(judge.asked)], "a reply was not kept"
    assert len({question.request_sha256() for question in judge.asked}) == len(judge.asked), "a cache would answer again"
    assert all(REMINDER.format(number=n) in q.parts for n, q in enumerate(judge.asked[1:], start=2))


@given(st.lists(st.sampled_from(sorted(EVERY)), min_size=3, max_size=3))
def test_a_second_start_asks_only_what_got_no_reply_and_says_the_same(names):
    journal = Journal()
    first = asked(Asker(AskPolicy(Script(*[EVERY[name] for name in names]), 2)), journal)
    judge = Script(Reply("5"))
    again = asked(Asker(AskPolicy(judge, 2)), journal)
    assert len(judge.asked) == int(first.lost)
    assert again == (InquiryResult(Scored(5)) if first.lost else first)
    assert journal.kept[-1][2] == (2 if first.lost else 1), "attempts are counted on"


def test_without_a_judge_only_stored_replies_are_read():
    journal = Journal()
    judge = Script(Reply("x"), Reply("8"))
    before = asked(Asker(AskPolicy(judge)), journal)
    assert asked(Asker(AskPolicy(None)), journal) == before == InquiryResult(Scored(8))
    nothing = asked(Asker(AskPolicy(None)), Journal())
    assert nothing == InquiryResult(Unscored(Reason.ABSTAINED, "no reply to this question is stored", ""), lost=True)


def test_a_limit_of_calls_is_never_passed_however_many_ask_at_once():
    judge, spending = Script(READ, pause=0.001), Spending(RunLimits(calls=5))
    asker, journal = Asker(AskPolicy(judge), spending), Journal()

    async def all_of_them() -> list[Any]:
        inquiries = [Inquiry("mark", Question((f"Picture {number}?",)), mark) for number in range(20)]
        return await asyncio.gather(*(asker.answer(each, journal) for each in inquiries), return_exceptions=True)

    results = asyncio.run(all_of_them())
    assert [len(judge.asked), len(journal.kept), spending.calls] == [5, 5, 5]
    assert sum(isinstance(result, StopAskingError) for result in results) == 15


def test_equal_questions_that_are_open_share_a_call_and_a_lost_one_is_asked_again():
    judge, journal = Script(LOST["late"], READ, pause=0.01), Journal()
    asker = Asker(AskPolicy(judge))

    async def twice() -> list[InquiryResult[Any]]:
        return [await each for each in [*map(asyncio.ensure_future, (asker.answer(MARK, journal) for _ in range(3)))]]

    assert [answer.lost for answer in asyncio.run(twice())] == [True] * 3
    assert len(judge.asked) == 1
    assert [answer.verdict for answer in asyncio.run(twice())] == [Scored(7)] * 3
    assert len(judge.asked) == 2


@for_each("most", [1, 3])
def test_no_more_calls_are_open_than_were_allowed(most):
    judge = Script(READ, pause=0.001)

    async def many() -> None:
        asker = Asker(AskPolicy(judge), concurrency=most)
        await asyncio.gather(
            *(asker.answer(Inquiry("mark", Question((f"{n}?",)), mark), Journal()) for n in range(12)),
        )

    asyncio.run(many())
    assert (judge.most_open, len(judge.asked)) == (most, 12)


@for_each(
    ("raised", "reason"),
    [
        (InputError("no videos"), Reason.BAD_MEDIA),
        (StorageError("no room"), Reason.UNREACHABLE),
        (ConnectionResetError("gone"), Reason.UNREACHABLE),
        (TimeoutError(), Reason.TIMEOUT),
    ],
)
def test_a_tolerant_policy_takes_an_exception_for_a_missing_verdict_and_a_strict_one_raises_it(raised, reason):
    journal = Journal()
    answer = asked(Asker(AskPolicy(Script(raised, READ), tolerant=True)), journal)
    assert (answer.lost, answer.verdict.reason, journal.kept) == (True, reason, [])
    with pytest.raises(type(raised)):
        asked(Asker(AskPolicy(Script(raised))), journal)
    assert journal.kept == []


def test_a_silent_judge_is_left_after_the_time_limit_and_its_place_is_free():
    asker = Asker(AskPolicy(Script(READ, pause=60), tolerant=True, timeout_s=0.01))
    answer = asked(asker, Journal())
    assert answer == InquiryResult(Unscored(Reason.TIMEOUT, "no answer in 0.01 s"), lost=True)
    assert asker._open == {}


def test_a_reply_that_cannot_be_written_down_does_not_count():
    class Full(Journal):
        def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
            raise StorageError("no space left")

    for tolerant in (False, True):
        with pytest.raises(SalonError, match="no space left"):
            asked(Asker(AskPolicy(Script(READ), tolerant=tolerant)), Full())


SENTENCE = Reply("I would give it seven points.")


@for_each(
    ("restated", "value", "lost"),
    [
        (Reply("7"), 7, False),
        (Reply("3"), Reason.MALFORMED, False),
        (Reply("seven"), Reason.MALFORMED, False),
        (Reply(""), Reason.MALFORMED, False),
        (LOST["late"], Reason.MALFORMED, True),
        (FINAL["withheld"], Reason.MALFORMED, False),
    ],
)
def test_an_extractor_restates_a_reply_and_adds_nothing(restated, value, lost):
    extractor, journal = Script(restated), Journal()
    asker = Asker(AskPolicy(Script(SENTENCE), 1, extractor), Spending())
    answer = asked(asker, journal)
    found = answer.verdict.value if isinstance(answer.verdict, Scored) else answer.verdict.reason
    assert (found, answer.lost) == (value, lost)
    assert (asker.spending.re_asked, asker.spending.extracted, len(extractor.asked)) == (1 + 1 - 1, 1, 1)
    assert [(call.step, call.ask) for call, _, _ in journal.kept] == [("mark", 1), ("mark#2", 2), ("mark#extract", 0)]
    assert extractor.asked[0].media == () and SENTENCE.text in extractor.asked[0].text


@for_each("reply", [READ, UNREAD["empty"], *FINAL.values(), *LOST.values()])
def test_no_extractor_is_asked_about_what_was_read_or_says_nothing(reply):
    extractor = Script(READ)
    asked(Asker(AskPolicy(Script(reply), 0, extractor)), Journal())
    assert extractor.asked == []


def test_a_seed_goes_with_every_question_and_makes_it_another():
    judge = Script(SENTENCE, READ)
    asked(Asker(AskPolicy(judge, decoding_seed=3)), Journal())
    assert [question.decoding.seed for question in judge.asked] == [3, 3]
    assert replace(MARK.question, decoding=Decoding(seed=3)).request_sha256() == judge.asked[0].request_sha256()


def test_each_step_asks_the_judge_that_was_named_for_it():
    class Routed(Script):
        def judge_of(self, step: str) -> Script:
            return small if step == "small" else self

    small, large = Script(Reply("1")), Routed(Reply("9"))
    asker = Asker(AskPolicy(large))
    assert asked(asker, Journal(), replace(MARK, step="small")).verdict == Scored(1)
    assert asked(asker, Journal()).verdict == Scored(9)
    assert (len(small.asked), len(large.asked)) == (1, 1)


def test_what_cannot_be_stored_is_made_plain_also_of_earlier_attempts():
    wild = Reply("a\ud800", error="b\udfff", latency_ms=-1.0, usage=Usage(-5, 2**60, float("nan")))
    tame = Reply("a\ufffd", error="b\ufffd")
    assert storable(replace(wild, earlier=(wild,))) == replace(tame, earlier=(tame,))
    whole = Reply("fine", latency_ms=0.0, usage=Usage(0, 2**53 - 1, 0.25))
    assert storable(whole) is whole
    assert storable(replace(whole, latency_ms=2.0**53, usage=Usage(2**53, 2**53, 2.0**53))) == Reply("fine"), "not exact"


def test_attempts_of_the_client_are_kept_before_its_reply():
    journal = Journal()
    asked(Asker(AskPolicy(Script(replace(READ, earlier=(LOST["late"], LOST["too busy"]))))), journal)
    [(_, attempts, first)] = journal.kept
    assert [attempt.reply.status for attempt in attempts] == [CallStatus.TIMEOUT, CallStatus.REJECTED, CallStatus.OK]
    assert first == 1 and isinstance(attempts[-1].outcome, Parsed)


@given(st.lists(st.integers(0, 7), max_size=40), st.integers(1, 5))
def test_memory_remembers_what_was_read_most_lately(pictures, most):
    judge, memory, held = Script(READ), Memory(most), []
    for number in pictures:
        before = len(judge.asked)
        asked(Asker(AskPolicy(judge)), memory, Inquiry("mark", Question((f"{number}?",)), mark))
        assert len(judge.asked) - before == (number not in held)
        held = [*[each for each in held if each != number], number][-most:]


def test_memory_keeps_versions_apart_and_forgets_what_could_not_be_read():
    memory = Memory()
    for judge, calls in ((Script(SENTENCE), 1), (Script(SENTENCE), 1), (Script(READ), 1), (Script(READ), 0)):
        asked(Asker(AskPolicy(judge, 0)), memory)
        assert len(judge.asked) == calls
    other = Script(READ, version="2")
    asked(Asker(AskPolicy(other, 0)), memory)
    assert len(other.asked) == 1


def test_a_long_reply_is_parsed_beside_the_event_loop():
    import threading

    parsed_in: list[threading.Thread] = []

    def watched(text: str) -> Parsed[int]:
        parsed_in.append(threading.current_thread())
        return Parsed(len(text))

    for length, here in ((1 << 15, True), ((1 << 15) + 1, False)):
        assert asked(Asker(AskPolicy(Script(Reply("x" * length)))), Journal(), replace(MARK, parse=watched)).verdict == Scored(
            length
        )
        assert (parsed_in[-1] is threading.main_thread()) == here


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_re_asks_are_counted_from_0():
    judge = Script(SENTENCE)
    asked(Asker(AskPolicy(judge)), Journal())
    assert len(judge.asked) == 2
    with pytest.raises(InputError, match="re-asks"):
        AskPolicy(Script(READ), -1)


def twice(first: str, second: str) -> Any:
    one = yield replace(MARK, step=first)
    other = yield replace(MARK, step=second)
    return [one, other]


@for_each("way", ["drive", "drive_async"])
def test_a_generator_is_sent_each_verdict_and_no_two_steps_share_a_name(way):
    def driven(inquiries: Any, answer: Callable[[Inquiry[Any]], Any]) -> Any:
        async def later(inquiry: Inquiry[Any]) -> Any:
            return answer(inquiry)

        return drive(inquiries, answer) if way == "drive" else asyncio.run(drive_async(inquiries, later))

    assert driven(twice("a", "b"), lambda inquiry: Scored(inquiry.step)) == [Scored("a"), Scored("b")]
    for wrong in (twice("a", "a"),):
        with pytest.raises(InputError, match="same name"):
            driven(wrong, lambda inquiry: Scored(1))
        assert wrong.gi_frame is None, "the generator is closed"

    def fails(inquiry: Inquiry[Any]) -> Any:
        raise StorageError("full")

    half = twice("a", "b")
    with pytest.raises(StorageError):
        driven(half, fails)
    assert half.gi_frame is None


def test_the_words_of_asking_again_are_part_of_the_version_of_runs_and_stay():
    policy = AskPolicy(Script(READ), 2, Script(READ, version="x"))
    assert digest("asking", policy.rule, length=16) == "7ed92e47c2012fe2"
    assert policy.rule["extractor"] == "x" and replace(policy, extractor=None).rule["extraction"] is None
