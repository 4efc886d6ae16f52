"""The HTTP judge and a server that fails on purpose: every failure is a reply and is kept, and nothing is paid twice."""

import asyncio
import gc
import json
import logging
import pickle
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import pytest

from for_each import for_each
from salon_judges.clients import ChatSettings, OpenAICompatibleJudge, Prices, ServerLimits
from salon_judges.testing.mock_server import (
    FaultRates,
    Latency,
    MockServer,
    Script,
    ScriptLine,
    ServerFault,
    drawn,
    echo,
    fixed,
    serving,
)
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Media, Question, Reply
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason

QUESTION = Question(("Is this AI-generated?",))
KEY = "sk-0123456789abcdef"


class QuickClock:
    """Sleeping moves the time at once."""

    def __init__(self) -> None:
        self.time = 0.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += max(0.0, seconds)
        await asyncio.sleep(0)


def asked(
    script: Script,
    use: Callable[[OpenAICompatibleJudge, MockServer], Awaitable[Any]] | None = None,
    *,
    clock: QuickClock | None = None,
    environment: dict[str, str] | None = None,
    **settings: Any,
) -> Any:
    """What ``use`` makes of a judge before a mock server; by default the reply to one question."""

    async def main() -> Any:
        async with MockServer(script) as server:
            whole = ChatSettings(model="mock", base_url=server.url, **settings)
            async with OpenAICompatibleJudge(whole, environment, clock=clock or QuickClock()) as judge:
                return await (judge.ask(QUESTION) if use is None else use(judge, server))

    return asyncio.run(main())


def test_a_reply_says_everything_about_itself() -> None:
    prices = Prices(prompt_usd_per_million=1, completion_usd_per_million=10)
    reply = asked(Script(rule=fixed("yes, it is")), prices=prices, name="referee")
    assert (reply.text, reply.status, reply.finish, reply.http_status) == ("yes, it is", CallStatus.OK, Finish.STOP, 200)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (100, 3)
    assert reply.usage.cost_usd == pytest.approx(0.00013)
    assert reply.latency_ms > 0
    assert reply.earlier == ()
    assert reply.problem() is None


def test_it_is_a_judge_and_its_version_stands_in_every_reply() -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> None:
        assert isinstance(judge, Judge)
        assert judge.name == "mock"
        assert (await judge.ask(QUESTION)).version == judge.version == judge.settings.version

    asked(Script(), use)


def test_the_picture_arrives_byte_for_byte() -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> Reply:
        picture = Media.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9000)  # beyond what one write takes
        sent = Question(("Look:", picture))
        server.use(Script((ScriptLine("seen", image_sha256=picture.sha256),)))
        return await judge.ask(sent)

    assert asked(Script(), use).text == "seen"


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_text_is_a_reply_like_any_other(text: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
    reply = asked(Script((ScriptLine(body=body),)))
    assert (reply.status, reply.text) == (CallStatus.OK, text.replace("\ud800", "�"))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (ServerFault.REFUSAL, Reason.REFUSED),
        (ServerFault.LENGTH, Reason.TRUNCATED),
        (ServerFault.EMPTY, None),
        (ServerFault.MALFORMED, None),
    ],
)
def test_a_spoiled_answer_is_not_asked_for_again(fault: ServerFault, reason: Reason | None) -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[Reply, int]:
        return await judge.ask(QUESTION), server.stats.requests

    reply, requests = asked(Script((ScriptLine("a long answer", fault=fault),)), use)
    problem = reply.problem()
    assert (problem and problem.reason, requests) == (reason, 1)


RETRIED = {
    ServerFault.TOO_MANY: (CallStatus.REJECTED, 429),
    ServerFault.SERVER_ERROR: (CallStatus.REJECTED, 500),
    ServerFault.UNAVAILABLE: (CallStatus.REJECTED, 503),
    ServerFault.CUT: (CallStatus.UNREACHABLE, None),
    ServerFault.CUT_REPLY: (CallStatus.UNREACHABLE, None),
    ServerFault.TRUNCATED_JSON: (CallStatus.UNREACHABLE, 200),
    ServerFault.WRONG_TYPE: (CallStatus.UNREACHABLE, 200),
    ServerFault.HANG: (CallStatus.TIMEOUT, None),
    ServerFault.SLOW_LORIS: (CallStatus.TIMEOUT, None),
}


@pytest.mark.parametrize("fault", RETRIED, ids=str)
def test_a_failed_attempt_is_kept_and_followed_by_another(fault: ServerFault) -> None:
    limits = ServerLimits(timeout_s=0.5) if fault in (ServerFault.HANG, ServerFault.SLOW_LORIS) else ServerLimits()
    reply = asked(Script((ScriptLine("never", fault=fault, times=2), ScriptLine("yes"))), limits=limits)
    assert (reply.text, reply.status) == ("yes", CallStatus.OK)
    assert [(earlier.status, earlier.http_status) for earlier in reply.earlier] == [RETRIED[fault]] * 2
    assert all(earlier.error and earlier.problem() is not None for earlier in reply.earlier)


@pytest.mark.parametrize("fault", RETRIED, ids=str)
def test_attempts_end_and_the_last_failure_is_the_reply(fault: ServerFault) -> None:
    limits = ServerLimits(timeout_s=0.1 if fault in (ServerFault.HANG, ServerFault.SLOW_LORIS) else 5, attempts=3)
    reply = asked(Script((ScriptLine("never", fault=fault),)), limits=limits)
    assert (reply.status, reply.http_status) == RETRIED[fault]
    assert len(reply.earlier) == 2
    assert reply.text == ""


@pytest.mark.parametrize(
    ("status", "retried"), [(400, 0), (401, 0), (403, 0), (404, 0), (422, 0), (408, 1), (409, 1), (425, 1), (529, 1)]
)
def test_only_statuses_that_another_attempt_may_mend_are_asked_again(status: int, retried: int) -> None:
    body = json.dumps({"error": {"message": "no"}})
    reply = asked(Script((ScriptLine(body=body, status=status, times=1), ScriptLine("yes"))))
    assert len(reply.earlier) == retried
    failure = reply.earlier[0] if retried else reply
    assert (failure.status, failure.http_status, failure.error) == (CallStatus.REJECTED, status, f"HTTP {status}: no")


def test_an_exhausted_quota_is_not_waited_for() -> None:
    body = json.dumps({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})
    reply = asked(Script((ScriptLine(body=body, status=429),)))
    assert (reply.status, reply.http_status, reply.earlier) == (CallStatus.REJECTED, 429, ())


def test_an_error_that_a_gateway_wraps_in_a_success_is_an_error() -> None:
    body = json.dumps({"error": {"message": "upstream is busy", "code": 429}})
    reply = asked(Script((ScriptLine(body=body, times=1), ScriptLine("yes"))))
    assert (reply.text, reply.earlier[0].http_status) == ("yes", 200)
    assert reply.earlier[0].error == "HTTP 200 with error 429: upstream is busy"
    refused = asked(Script((ScriptLine(body=json.dumps({"error": {"message": "no", "code": 403}})),)))
    assert (refused.status, refused.http_status, refused.earlier) == (CallStatus.REJECTED, 200, ())


def test_retry_after_is_obeyed_and_holds_all_calls_back() -> None:
    clock = QuickClock()
    reply = asked(Script((ScriptLine(fault=ServerFault.TOO_MANY, retry_after_s=20, times=1), ScriptLine("yes"))), clock=clock)
    assert reply.text == "yes"
    assert 20 <= clock.time <= 20.5


def test_a_server_that_wants_to_be_left_alone_beyond_the_deadline_gets_its_will() -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[Reply, int]:
        return await judge.ask(QUESTION), server.stats.requests

    clock = QuickClock()
    reply, requests = asked(Script((ScriptLine(fault=ServerFault.TOO_MANY, retry_after_s=1e9),)), use, clock=clock)
    assert (reply.status, reply.http_status, requests, clock.sleeps) == (CallStatus.REJECTED, 429, 1, [])
    assert "no time was left" in reply.error


def test_the_deadline_ends_a_call_whatever_attempts_are_left() -> None:
    clock = QuickClock()
    limits = ServerLimits(attempts=100, first_wait_s=8, timeout_s=10, deadline_s=60)
    reply = asked(Script((ScriptLine(fault=ServerFault.SERVER_ERROR),)), clock=clock, limits=limits)
    assert clock.time < 60
    assert 1 <= len(reply.earlier) < 40
    assert "no time was left" in reply.error


def test_a_place_that_does_not_become_free_before_the_deadline_ends_the_call() -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> Reply:
        first = asyncio.create_task(judge.ask(QUESTION))
        while not server.stats.faults:
            await asyncio.sleep(0.001)
        hanging = asyncio.create_task(judge.ask(Question(("hang",))))
        reply = await first
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        return reply

    class RealTime(QuickClock):
        def now(self) -> float:
            return asyncio.get_running_loop().time()

        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(0.02)

    lines = (ScriptLine(fault=ServerFault.HANG, contains="hang"), ScriptLine(fault=ServerFault.SERVER_ERROR))
    reply = asked(
        Script(lines),
        use,
        clock=RealTime(),
        limits=ServerLimits(concurrency=1, timeout_s=0.3, deadline_s=0.3, first_wait_s=0.05),
    )
    assert reply.status == CallStatus.REJECTED
    assert "no time was left" in reply.error


def test_a_cancelled_call_ends_at_once_and_leaves_its_place() -> None:
    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[int, str]:
        call = asyncio.create_task(judge.ask(Question(("hang",))))
        while not server.stats.requests:
            await asyncio.sleep(0.001)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return judge.pacing.places.in_flight, (await judge.ask(QUESTION)).text

    script = Script((ScriptLine(fault=ServerFault.HANG, contains="hang"), ScriptLine("yes")))
    assert asked(script, use, limits=ServerLimits(concurrency=1)) == (0, "yes")


def test_in_a_storm_of_429_fewer_are_sent_at_once_and_every_call_is_answered_and_paid_once() -> None:
    lowest: list[float] = []

    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[list[Reply], dict[str, Any], float]:
        async def one(number: int) -> Reply:
            reply = await judge.ask(Question((str(number),)))
            lowest.append(judge.pacing.places.limit)
            return reply

        replies = await asyncio.gather(*(one(number) for number in range(400)))
        stats = server.stats.document()
        server.use(Script())  # the storm has passed
        for number in range(4000):
            if judge.pacing.places.limit == 64:
                break
            await asyncio.gather(*(judge.ask(Question((f"{number} {i}",))) for i in range(32)))
        return replies, stats, judge.pacing.places.limit

    script = Script(rule=echo, capacity=6, latency=Latency.fixed(10))
    replies, stats, recovered = asked(script, use, limits=ServerLimits(concurrency=64, attempts=100, first_wait_s=0.001))
    assert [reply.text for reply in replies] == [str(number) for number in range(400)]
    assert (stats["paid"], stats["distinct"], stats["paid_again"]) == (400, 400, 0)
    assert stats["faults"]["429"] > 0
    assert min(lowest) < 32
    assert recovered == 64


def test_a_faulty_server_changes_no_answer() -> None:
    answers = drawn([f"answer {number}" for number in range(9)], seed=5)
    faults = (
        ServerFault.TOO_MANY,
        ServerFault.SERVER_ERROR,
        ServerFault.CUT,
        ServerFault.CUT_REPLY,
        ServerFault.TRUNCATED_JSON,
    )

    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[list[str], dict[str, Any], int]:
        replies = await asyncio.gather(*(judge.ask(Question((str(number),))) for number in range(200)))
        return [reply.text for reply in replies], server.stats.document(), sum(len(reply.earlier) for reply in replies)

    limits = ServerLimits(attempts=20, first_wait_s=0.001)  # a server that hangs: test_a_failed_attempt_is_kept
    good, _, no_retries = asked(Script(rule=answers), use, limits=limits)
    faulty = Script(rule=answers, faults=FaultRates(dict.fromkeys(faults, 0.05)), seed=2)
    found, stats, retries = asked(faulty, use, limits=limits)
    assert found == good
    assert no_retries == 0
    assert retries == stats["requests"] - 200 == sum(stats["faults"].values()) > 20
    assert (stats["paid"], stats["paid_again"]) == (200, 0)


def test_nothing_listens() -> None:
    async def main() -> Reply:
        settings = ChatSettings(model="m", base_url="http://127.0.0.1:1/v1", limits=ServerLimits(attempts=2))
        async with OpenAICompatibleJudge(settings, clock=QuickClock()) as judge:
            return await judge.ask(QUESTION)

    reply = asyncio.run(main())
    assert (reply.status, len(reply.earlier)) == (CallStatus.UNREACHABLE, 1)


def test_a_judge_serves_one_event_loop_after_the_other() -> None:
    with serving(Script(rule=echo)) as server:
        judge = OpenAICompatibleJudge(ChatSettings(model="m", base_url=server.url))

        async def once(text: str) -> str:
            reply = await judge.ask(Question((text,)))
            await judge.close()
            return reply.text

        assert [asyncio.run(once("a")), asyncio.run(once("b"))] == ["a", "b"]


# --------------------------------------------------------------------------------------------------------------- secrets


def test_the_key_is_sent_and_shows_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    leak = json.dumps({"error": {"message": "x" * 290 + f"Incorrect API key provided: {KEY}. " + KEY}})
    page = json.dumps({"choices": [{"message": {"content": f"You sent {KEY}"}, "finish_reason": "stop"}]})
    lines = (ScriptLine(body=leak, status=500, times=1), ScriptLine(body=f"<html>{KEY}", times=1), ScriptLine(body=page))

    async def use(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[Reply, str, list[dict[str, str]]]:
        reply = await judge.ask(QUESTION)
        shown = repr(judge) + repr(judge.settings) + judge.settings.model_dump_json() + repr(vars(judge)) + judge.version
        return reply, shown, [request.headers for request in server.seen]

    reply, shown, headers = asked(
        Script(lines), use, environment={"KEY": KEY, "OTHER": KEY[::-1]}, api_key_env="KEY", secret_headers={"X-Auth": "OTHER"}
    )
    assert [found["authorization"] for found in headers] == [f"Bearer {KEY}"] * 3
    assert headers[0]["x-auth"] == KEY[::-1]
    everything = shown + repr(reply) + json.dumps(asdict(reply)) + caplog.text
    assert KEY[:12] not in everything
    assert KEY[::-1] not in everything
    assert reply.text == "You sent [secret]"


def test_a_key_that_is_no_secret_changes_no_reply() -> None:
    reply = asked(Script(rule=fixed("EMPTY")), environment={"KEY": "EMPTY"}, api_key_env="KEY")
    assert reply.text == "EMPTY"


def test_the_key_is_not_carried_to_where_a_redirect_points() -> None:
    async def main() -> tuple[Reply, int]:
        async with MockServer() as thief:

            async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(f"HTTP/1.1 307 Go\r\nLocation: {thief.url}/chat/completions\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                writer.close()

            front = await asyncio.start_server(redirect, "127.0.0.1", 0)
            settings = ChatSettings(
                model="m", base_url=f"http://127.0.0.1:{front.sockets[0].getsockname()[1]}/v1", api_key_env="KEY"
            )
            async with front, OpenAICompatibleJudge(settings, {"KEY": KEY}) as judge:
                return await judge.ask(QUESTION), thief.stats.requests

    reply, carried = asyncio.run(main())
    assert (reply.status, reply.http_status, reply.earlier, carried) == (CallStatus.REJECTED, 307, (), 0)
    assert "redirects are not followed" in str(reply.error)


@pytest.mark.parametrize("value", ["", "  ", "line\nbreak", "ключ-ключ-ключ"])
def test_a_key_that_is_missing_or_cannot_be_sent_is_told_without_showing_it(value: str) -> None:
    settings = ChatSettings(model="m", base_url="http://localhost/v1", api_key_env="MY_KEY")
    with pytest.raises(InputError, match="MY_KEY") as caught:
        OpenAICompatibleJudge(settings, {"MY_KEY": value})
    assert not value.strip() or value not in str(caught.value)


def test_nothing_is_left_open(recwarn: pytest.WarningsRecorder) -> None:
    asyncio.run(asyncio.sleep(0))  # lets go of the current loop, if another test has set one
    gc.collect()
    recwarn.clear()  # of what other tests left open
    asked(Script())
    gc.collect()
    assert [str(warning.message) for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


def test_a_judge_pickles_without_its_connections_and_never_with_a_key() -> None:
    async def again(judge: OpenAICompatibleJudge, server: MockServer) -> tuple[str, str]:
        first = await judge.ask(QUESTION)
        async with pickle.loads(pickle.dumps(judge)) as other:
            assert other.version == judge.version
            return first.text, (await other.ask(QUESTION)).text

    assert asked(Script(rule=fixed("yes")), again) == ("yes", "yes")

    async def kept(judge: OpenAICompatibleJudge, server: MockServer) -> None:
        with pytest.raises(InputError, match="a judge with a key cannot be pickled") as refused:
            pickle.dumps(judge)
        assert KEY not in str(refused.value)

    asked(Script(rule=fixed("yes")), kept, environment={"A_KEY": KEY}, api_key_env="A_KEY")
