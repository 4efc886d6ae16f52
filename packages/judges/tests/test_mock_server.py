"""The mock server speaks as a real one does, fails as it is told and counts truly."""

import asyncio
import json
import math
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import aiohttp
import pytest
from click.testing import CliRunner

from salon_bench.cli.mock_server import mock_server
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
    read_lines,
    serving,
)
from salon_judges.testing.mock_server.server import _token, read_form
from salon_taxonomy.errors import InputError

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Is it real?"}]}
PIXEL = "data:image/gif;base64,R0lGODlh"


def exchange(script: Script, *bodies: Any) -> tuple[list[tuple[int, dict[str, str], str]], dict[str, Any]]:
    """The replies to these bodies, one after the other, and the counts."""

    async def main() -> tuple[list[tuple[int, dict[str, str], str]], dict[str, Any]]:
        found = []
        async with MockServer(script) as server, aiohttp.ClientSession() as session:
            for body in bodies:
                async with session.post(f"{server.url}/chat/completions", json=body) as reply:
                    found.append((reply.status, dict(reply.headers), await reply.text()))
            async with session.get(f"{server.url}/stats") as reply:
                return found, await reply.json()

    return asyncio.run(main())


def text(reply: tuple[int, dict[str, str], str]) -> str:
    content = json.loads(reply[2])["choices"][0]["message"]["content"]
    assert isinstance(content, str)
    return content


def test_rules_answer_by_the_request_alone() -> None:
    assert text(exchange(Script(rule=fixed("yes")), CHAT)[0][0]) == "yes"
    assert text(exchange(Script(rule=echo), CHAT)[0][0]) == "Is it real?"
    rule = drawn(["a", "b", "c"], seed=1)
    replies = [[text(reply) for reply in exchange(Script(rule=rule), CHAT, {**CHAT, "n": 2}, CHAT)[0]] for _ in range(2)]
    assert replies[0] == replies[1]
    assert replies[0][0] == replies[0][2]


def test_the_first_line_that_fits_and_is_not_used_up_answers() -> None:
    lines = (ScriptLine("first", times=1), ScriptLine("matched", contains="real"), ScriptLine("rest"))
    other = {"messages": [{"role": "user", "content": "Other"}]}
    replies, _ = exchange(Script(lines), CHAT, CHAT, other)
    assert [text(reply) for reply in replies] == ["first", "matched", "rest"]


def test_faults_have_the_form_of_real_ones() -> None:
    faults = (
        ServerFault.TOO_MANY,
        ServerFault.SERVER_ERROR,
        ServerFault.UNAVAILABLE,
        ServerFault.WRONG_TYPE,
        ServerFault.LENGTH,
        ServerFault.REFUSAL,
    )
    lines = tuple(ScriptLine("a long answer", fault=fault, times=1, retry_after_s=2) for fault in faults)
    replies, stats = exchange(Script(lines), *[CHAT] * len(faults))
    assert [reply[0] for reply in replies] == [429, 500, 503, 200, 200, 200]
    assert [reply[1].get("Retry-After") for reply in replies] == ["2", None, "2", None, None, None]
    assert replies[3][1]["Content-Type"] == "text/html"
    assert json.loads(replies[4][2])["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "a long", "refusal": None},
        "finish_reason": "length",
    }
    assert json.loads(replies[5][2])["choices"][0]["message"]["refusal"]
    assert stats["faults"] == dict.fromkeys(sorted(faults), 1)
    assert stats["paid"] == 2


def test_paid_answers_are_counted_and_those_paid_again() -> None:
    script = Script((ScriptLine(fault=ServerFault.MALFORMED, times=1), ScriptLine("yes")))
    _, stats = exchange(script, CHAT, CHAT, CHAT, {"messages": []})
    assert (stats["requests"], stats["paid"], stats["paid_again"], stats["distinct"]) == (4, 4, 1, 2)


def test_drawn_faults_meet_standing_lines_but_no_line_that_is_told_what_to_do() -> None:
    always = FaultRates({ServerFault.SERVER_ERROR: 1.0})
    lines = (ScriptLine("said once", times=1), ScriptLine(fault=ServerFault.EMPTY, times=1), ScriptLine("standing"))
    replies, stats = exchange(Script(lines, faults=always), *[CHAT] * 3)
    assert [status for status, *_ in replies] == [200, 200, 500]
    assert stats["faults"] == {"500": 1, "empty": 1}


def test_drawn_faults_come_at_their_rate_and_again_with_their_seed() -> None:
    rates = FaultRates({ServerFault.TOO_MANY: 0.2, ServerFault.SERVER_ERROR: 0.1})
    runs = [exchange(Script(faults=rates, seed=3), *[CHAT] * 300)[1]["faults"] for _ in range(2)]
    assert runs[0] == runs[1]
    assert 35 < runs[0]["429"] < 85
    assert 12 < runs[0]["500"] < 50


def test_a_full_server_says_so() -> None:
    async def main() -> tuple[list[int], int]:
        script = Script(capacity=3, latency=Latency.fixed(300))
        async with MockServer(script) as server, aiohttp.ClientSession() as session:

            async def one() -> int:
                async with session.post(f"{server.url}/chat/completions", json=CHAT) as reply:
                    return reply.status

            return sorted(await asyncio.gather(*(one() for _ in range(8)))), server.stats.in_flight

    assert asyncio.run(main()) == ([200] * 3 + [429] * 5, 0)


def test_a_client_that_leaves_is_counted_and_not_paid() -> None:
    async def main() -> tuple[int, int, int]:
        async with MockServer(Script((ScriptLine(fault=ServerFault.HANG),))) as server, aiohttp.ClientSession() as session:
            call = asyncio.ensure_future(session.post(f"{server.url}/chat/completions", json=CHAT))
            while not server.stats.requests:
                await asyncio.sleep(0.001)
            call.cancel()
            while not server.stats.left:
                await asyncio.sleep(0.001)
            return server.stats.left, server.stats.in_flight, server.stats.paid

    assert asyncio.run(main()) == (1, 0, 0)


def test_models_are_listed_and_other_paths_are_not_found() -> None:
    async def main() -> tuple[str, int]:
        async with MockServer(model="judge-1") as server, aiohttp.ClientSession() as session:
            async with session.get(f"{server.url}/models") as reply:
                name = (await reply.json())["data"][0]["id"]
            async with session.get(f"{server.url}/nothing") as reply:
                return name, reply.status

    assert asyncio.run(main()) == ("judge-1", 404)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"400"),
        ("POST / HTTP/1.1\r\nContent-Length: ²\r\n\r\n".encode("latin-1"), b"400"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999\r\n\r\n", b"413"),
        (b"x" * 70_000, b"400"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n", b"200"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz", b"200"),
    ],
    ids=range(7),
)
def test_what_is_no_request_is_refused(sent: bytes, status: bytes) -> None:
    with serving() as server, socket.create_connection(("127.0.0.1", int(server.url.split(":")[2].split("/")[0])), 5) as client:
        client.sendall(sent)
        assert client.recv(65536).split(b" ")[1] == status


def test_requests_in_small_pieces_and_behind_each_other_are_served() -> None:
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}"
    with serving() as server, socket.create_connection(("127.0.0.1", int(server.url.split(":")[2].split("/")[0])), 5) as client:
        for byte in request + request:
            client.sendall(bytes([byte]))
        received = b""
        while received.count(b"200 OK") < 2:
            received += client.recv(65536)
        assert received.count(b"100 Continue") == 2


def test_a_taken_port_is_explained() -> None:
    with serving() as server:
        port = int(server.url.split(":")[2].split("/")[0])

        async def second() -> None:
            async with MockServer(port=port):
                raise AssertionError("two servers listen on one port")

        with pytest.raises(InputError, match="cannot listen"):
            asyncio.run(second())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not JSON"),
        ("[]", "line 2: every line of a script is a JSON object"),
        ('{"replay": "x"}', "line 2: unknown key 'replay' (allowed: reply"),
        ('{"fault": "fire"}', "line 2, key 'fault': unknown fault 'fire' (allowed: 429"),
        ('{"times": -1}', "line 2, key 'times'"),
        ('{"times": true}', "line 2, key 'times'"),
        ('{"retry_after_s": 1e400}', "line 2, key 'retry_after_s'"),
        ('{"status": 99}', "line 2, key 'status'"),
        ('{"reply": 7}', "line 2, key 'reply': must be of type str"),
        ('{"tokens": {"Yes": 1}}', "line 2, key 'tokens': must be of type list"),
        ('{"tokens": ["Yes"]}', "line 2, key 'tokens': must be a list with a table for each token"),
        ('{"tokens": [{"Yes": 1.5}]}', "line 2, key 'tokens'"),
        ('{"tokens": [{}]}', "line 2, key 'tokens'"),
    ],
)
def test_what_is_wrong_in_a_script_is_named_by_its_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text('{"reply": "yes"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_lines(file)
    assert said in str(caught.value)


def test_a_script_is_read_and_a_missing_one_explained(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text('{"fault": "429", "retry_after_s": 2, "times": 3}\n\n{"reply": "yes"}\n', encoding="utf-8")
    assert read_lines(file) == (ScriptLine(fault=ServerFault.TOO_MANY, retry_after_s=2, times=3), ScriptLine("yes"))
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path / "none.jsonl")


@pytest.mark.parametrize("value", ["", "x", "-5", "10-2", "nan", "inf", "exp:", "exp:-1", "1-2-3"])
def test_a_latency_that_is_none_is_explained(value: str) -> None:
    with pytest.raises(InputError, match="latenc"):
        Latency.parse(value)


@pytest.mark.parametrize("value", ["429", "429=x", "fire=0.1", "429=2", "429=-1", "=", "429=nan"])
def test_a_rate_that_is_none_is_explained(value: str) -> None:
    with pytest.raises(InputError):
        FaultRates.parse((value,))


def test_rates_add_up_to_one_at_most() -> None:
    with pytest.raises(InputError, match="add up"):
        FaultRates.parse(("429=0.6", "500=0.6"))


def test_the_command_refuses_what_contradicts_itself() -> None:
    result = CliRunner().invoke(mock_server, ["--echo", "--reply", "yes"])
    assert result.exit_code == 2
    assert "exclude" in result.output


def test_the_command_serves_until_it_is_told_to_stop() -> None:
    code = "from salon_bench.cli.mock_server import mock_server; mock_server()"
    command = [
        sys.executable,
        "-c",
        code,
        "--port",
        "0",
        "--reply",
        "yes",
        "--latency",
        "1-2",
        "--fault",
        "429=0.1",
        "--seed",
        "2",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            with urlopen(f"{url}/models", timeout=30) as reply:
                assert json.load(reply)["object"] == "list"
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=30) == ("", "Stopped.\n")
            assert process.returncode == 0
        finally:
            process.kill()


def test_a_part_of_a_form_without_a_name_is_no_field_and_a_file_is_its_bytes() -> None:
    head = b"--x\r\nContent-Disposition: form-data"
    named, bare = b'; name="prompt"\r\n\r\nA star.\r\n', b"\r\n\r\nnobody\r\n"
    picture = b'; name="image"; filename="a.png"\r\n\r\n\x89PNG\r\n'
    body = b"".join(head + part for part in (named, bare, picture)) + b"--x--\r\n"
    assert read_form("multipart/form-data; boundary=x", body) == {"prompt": b"A star.", "image": b"\x89PNG"}
    assert read_form("application/json", b"{}") == read_form("text/plain", body) == {}


def test_alternatives_of_a_token_are_in_the_order_of_their_probability_and_the_first_is_the_one_written() -> None:
    token = _token({"no": 0.25, "yes": 0.5, "maybe": 0.125})
    assert (token["token"], token["logprob"]) == ("no", pytest.approx(math.log(0.25)))
    assert [pair["token"] for pair in token["top_logprobs"]] == ["yes", "no", "maybe"]
    assert [math.exp(pair["logprob"]) for pair in token["top_logprobs"]] == pytest.approx([0.5, 0.25, 0.125])
