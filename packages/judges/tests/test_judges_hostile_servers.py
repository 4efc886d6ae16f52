"""Servers that do not even speak HTTP: each becomes one typed reply, soon, and in little memory."""

import asyncio
import gzip
import json
import threading
import tracemalloc
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from salon_judges.clients import ChatSettings, OpenAICompatibleJudge, ServerLimits, chat_reply
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.records import CallStatus

GOOD = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MIB = 1 << 20

Act = Callable[[asyncio.StreamWriter], Awaitable[None]]


def before(act: Act, *, most: int = MIB, timeout_s: float = 2.0) -> Reply:
    """The reply of a judge to one question, whose server does ``act`` with the connection after the head of the request."""

    async def main() -> Reply:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                await act(writer)
                await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        limits = ServerLimits(attempts=1, timeout_s=timeout_s, most_reply_bytes=most)
        async with server, OpenAICompatibleJudge(ChatSettings(model="m", base_url=url, limits=limits)) as judge:
            return await judge.ask(Question(("Is it real?",)))

    return asyncio.run(main())


@pytest.mark.parametrize("status", ["200 OK", "500 Broken"])
def test_a_large_body_is_read_in_another_thread_than_the_event_loops(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    read = chat_reply._json

    def read_and_note_the_thread(body: bytes) -> object:
        threads.append(threading.current_thread())
        return read(body)

    monkeypatch.setattr(chat_reply, "_json", read_and_note_the_thread)
    body = GOOD + b" " * 100_000
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert before(sending(head, body)).status == (CallStatus.OK if status == "200 OK" else CallStatus.REJECTED)
    assert threads
    assert threading.current_thread() not in threads


def sending(*pieces: bytes) -> Act:
    async def act(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)

    return act


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\x00" * 100,
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/9.9 200 OK\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\n",
        HEAD + b"Content-Length: many\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        HEAD + b"Content-Length: 100\r\n\r\n" + GOOD[:20],
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\nabc",
        HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        (HEAD + b"Y: a\r\n" * 5000) + b"\r\n",
        HEAD + b"Content-Length: 0\r\n\r\n",
        HEAD + b"\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\x00",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3,
    ],
    ids=range(20),
)
def test_whatever_is_sent_is_a_failure_and_no_exception(sent: bytes) -> None:
    reply = before(sending(sent))
    assert reply.status in (CallStatus.UNREACHABLE, CallStatus.REJECTED)
    assert reply.text == ""
    assert reply.error
    assert reply.error.isprintable()


@given(sent=st.binary(max_size=300), with_head=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_bytes_raise(sent: bytes, with_head: bool) -> None:
    reply = before(sending(HEAD + b"\r\n" + sent if with_head else sent), timeout_s=1.0)
    assert reply.status != CallStatus.OK


@pytest.mark.parametrize("kind", [b"text/html", b"nonsense", b"application/json; charset=klingon"])
def test_a_completion_is_one_whatever_its_content_type_says(kind: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(GOOD))
    assert before(sending(head, GOOD)).text == "yes"


def test_a_chunked_and_a_compressed_completion_can_be_read() -> None:
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD)
    assert before(sending(chunked)).text == "yes"
    packed = gzip.compress(GOOD)
    assert before(sending(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed), packed)).text == "yes"


def test_a_body_without_end_is_read_no_further_than_allowed() -> None:
    async def flood(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"\r\n")
        while True:
            writer.write(b"x" * MIB)
            await writer.drain()

    reply = before(flood, timeout_s=20)
    assert (reply.status, reply.error) == (CallStatus.UNREACHABLE, f"the reply is longer than {MIB} bytes")


def test_a_length_beyond_the_allowed_is_not_waited_for() -> None:
    reply = before(sending(HEAD + b"Content-Length: 99999999999\r\n\r\n"), timeout_s=20)
    assert (reply.status, reply.error) == (CallStatus.UNREACHABLE, f"the reply is longer than {MIB} bytes")


def test_a_compressed_bomb_takes_little_memory() -> None:
    bomb = gzip.compress(b"x" * (200 * MIB), compresslevel=9)
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    tracemalloc.start()
    try:
        reply = before(sending(head, bomb), timeout_s=30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reply.status == CallStatus.UNREACHABLE
    assert peak < 64 * MIB


@pytest.mark.parametrize("piece", [b"H", HEAD, HEAD + b"Content-Length: 50\r\n\r\n{"], ids=["head", "headers", "body"])
def test_a_server_that_takes_its_time_is_left_after_the_patience(piece: bytes) -> None:
    async def dawdle(writer: asyncio.StreamWriter) -> None:
        for start in range(len(piece)):
            writer.write(piece[start : start + 1])
        while True:
            await asyncio.sleep(0.05)
            writer.write(b" " if b"{" in piece else b"")
            await writer.drain()

    reply = before(dawdle, timeout_s=0.3)
    assert (reply.status, reply.error) == (CallStatus.TIMEOUT, "no whole reply in 0.3 s")


def test_interim_replies_are_passed_over() -> None:
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(GOOD) + GOOD
    assert before(sending(b"HTTP/1.1 100 Continue\r\n\r\n", whole)).text == "yes"
