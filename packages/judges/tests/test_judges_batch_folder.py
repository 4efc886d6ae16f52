"""Questions go into files that a vendor takes, replies come back in any shape, and nothing is asked or counted twice."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from salon_judges.clients import BatchFolder, ChatSettings, CollectingJudge, Ingested, OpenAICompatibleJudge, Prices, open_judge
from salon_judges.clients.batch_outputs import BatchReply, NoBatchReply, read_batch_line
from salon_judges.testing.mock_server import Script, fixed, serving
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Media, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import HOSTILE_REPLIES

PRICES = Prices(prompt_usd_per_million=1.0, completion_usd_per_million=10.0)
SETTINGS = ChatSettings(kind="openai", model="m", base_url="https://api.example.com/v1", prices=PRICES)


def question(number: int = 0) -> Question:
    return Question((f"question {number}", Media.from_bytes(b"GIF89a" + bytes([number]))), system="Be fair.")


def ask(folder: Path, *questions: Question, settings: ChatSettings = SETTINGS) -> tuple[list[Reply], list[Path]]:
    async def main() -> tuple[list[Reply], list[Path]]:
        judge = CollectingJudge(settings, folder)
        async with judge:
            replies = list(await asyncio.gather(*map(judge.ask, questions)))
        return replies, judge.written

    return asyncio.run(main())


def requests(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def completion(text: str, reason: str = "stop") -> dict[str, object]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return {"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


def output(custom_id: object, body: object, status: object = 200) -> str:
    return json.dumps({"id": "b", "custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None})


def failed(custom_id: object, code: str, message: str = "") -> str:
    return json.dumps({"custom_id": custom_id, "response": None, "error": {"code": code, "message": message}})


def ingest(folder: Path, *lines: str) -> Ingested:
    file = folder.parent / "output.jsonl"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    opened = BatchFolder(folder)
    try:
        return opened.ingest([file])
    finally:
        opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "calls"


def test_a_request_is_the_one_that_the_judge_behind_the_server_sends(folder: Path) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}}
    asked = Question(
        ("Score it.", Media.from_bytes(b"GIF89a")), "Be fair.", schema, Decoding(seed=7, top_logprobs=2, stop=("#",))
    )
    _, (path,) = ask(folder, asked)
    (request,) = requests(path)
    assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
    with serving(Script(rule=fixed("7"))) as server:
        bodies: list[bytes] = []
        live = OpenAICompatibleJudge(SETTINGS.model_copy(update={"base_url": server.url}))

        async def main() -> None:
            async with live:
                bodies.append(b"".join(await live._requests.write(asked)))
                await live.ask(asked)

        asyncio.run(main())
    assert request["body"] == json.loads(bodies[0])


def test_nobody_is_asked_and_every_question_waits(folder: Path) -> None:
    replies, (path,) = ask(folder, question(0), question(1), question(0))
    assert {reply.status for reply in replies} == {CallStatus.CANCELLED}
    assert len(requests(path)) == 2  # equal questions make one request
    replies, written = ask(folder, question(0), question(1))
    assert {reply.status for reply in replies} == {CallStatus.CANCELLED}
    assert written == []


def test_what_comes_back_is_a_reply_with_its_price_and_other_questions_go_on_waiting(folder: Path) -> None:
    _, (path,) = ask(folder, question(0), question(1))
    first = requests(path)[0]["custom_id"]
    found = ingest(folder, output(first, completion("yes")))
    assert (found.replies, found.waiting) == (1, 1)
    (reply, again, waiting), written = ask(folder, question(0), question(0), question(1))
    assert (reply.text, reply.finish, reply.status, reply.version) == ("yes", Finish.STOP, CallStatus.OK, SETTINGS.version)
    assert reply.usage == Usage(1000, 100, pytest.approx(0.002))
    assert (again.text, again.cached, again.usage.cost_usd) == ("yes", True, 0.0)
    assert waiting.status == CallStatus.CANCELLED
    assert written == []


def test_a_later_question_goes_into_the_next_file(folder: Path) -> None:
    ask(folder, question(0))
    _, (path,) = ask(folder, question(0), question(1))
    assert path.name == "requests-002.jsonl"
    assert len(requests(path)) == 1


def test_lines_are_counted_as_what_they_are(folder: Path) -> None:
    _, (path,) = ask(folder, *map(question, range(4)))
    ids = [request["custom_id"] for request in requests(path)]
    lines = [
        output(ids[0], completion("yes")),
        output(ids[0], completion("no")),  # repeated
        output("0" * 64, completion("yes")),  # unknown
        output("x", completion("yes")),
        failed(ids[1], "batch_expired", "not in time"),
        output(ids[2], {"error": {"message": "too large"}}, 400),
        "prose",
        "[1]",
        output(7, completion("yes")),
        json.dumps({"custom_id": ids[3]}),
        "[" * 100_000,
        output(ids[3], completion("yes"))[:-9],
    ]
    found = ingest(folder, *lines)
    assert (found.replies, found.failures, found.repeated, found.unknown, found.malformed) == (1, 2, 1, 2, 6)
    assert found.waiting == 1
    assert found.problems[0].endswith("output.jsonl, line 7: no JSON object")
    assert ingest(folder, *lines).repeated == 4
    (reply,), _ = ask(folder, question(0))
    assert reply.text == "yes"


def test_a_refused_request_is_written_again_until_the_attempts_are_used_up_and_a_lost_one_until_it_is_answered(
    folder: Path,
) -> None:
    settings = SETTINGS.model_copy(update={"limits": SETTINGS.limits.model_copy(update={"attempts": 2})})
    for number in (1, 2):
        (reply,), (path,) = ask(folder, question(), settings=settings)
        assert (reply.status, path.name) == (CallStatus.CANCELLED, f"requests-00{number}.jsonl")
        ingest(folder, output(requests(path)[0]["custom_id"], {"error": {"message": "too large"}}, 400))
    (reply,), written = ask(folder, question(), settings=settings)
    assert (reply.status, reply.http_status, written) == (CallStatus.REJECTED, 400, [])
    assert "too large" in (reply.error or "")
    for _ in range(4):
        (reply,), (path,) = ask(folder, question(1), settings=settings)
        assert reply.status == CallStatus.CANCELLED
        ingest(folder, output(requests(path)[0]["custom_id"], {"error": {"message": "overloaded"}}, 503))
    (reply,), (path,) = ask(folder, question(1), settings=settings)
    ingest(folder, output(requests(path)[0]["custom_id"], completion("yes")))
    assert ask(folder, question(1), settings=settings)[0][0].text == "yes"


@pytest.mark.parametrize("text", HOSTILE_REPLIES)
def test_every_text_passes_through(folder: Path, text: str) -> None:
    _, (path,) = ask(folder, question())
    ingest(folder, output(requests(path)[0]["custom_id"], completion(text)))
    (reply,), _ = ask(folder, question())
    assert (reply.text, reply.status) == (text.replace("\ud800", "\ufffd"), CallStatus.OK)


@pytest.mark.parametrize(
    ("line", "status", "finish"),
    [
        (output("1", completion("half", "length")), CallStatus.OK, Finish.LENGTH),
        (output("1", completion("", "content_filter")), CallStatus.OK, Finish.FILTERED),
        (output("1", None), CallStatus.UNREACHABLE, Finish.UNKNOWN),
        (output("1", {"choices": []}), CallStatus.UNREACHABLE, Finish.UNKNOWN),
        (output("1", completion("yes"), "200"), CallStatus.REJECTED, Finish.UNKNOWN),
        (output("1", "busy", 429), CallStatus.REJECTED, Finish.UNKNOWN),
        (failed("1", "batch_expired"), CallStatus.TIMEOUT, Finish.UNKNOWN),
        (failed("1", "batch_cancelled"), CallStatus.CANCELLED, Finish.UNKNOWN),
        (failed("1", "\x1b[31m"), CallStatus.REJECTED, Finish.UNKNOWN),
    ],
)
def test_a_line_says_how_its_call_ended(line: str, status: CallStatus, finish: Finish) -> None:
    read = read_batch_line(line.encode())
    assert isinstance(read, BatchReply)
    assert (read.reply.status, read.reply.finish) == (status, finish)
    assert "\x1b" not in (read.reply.error or "")


@pytest.mark.parametrize("line", [b"", b"null", b'{"custom_id": ""}', b'{"custom_id": "' + b"x" * 300 + b'"}', b"\xff"])
def test_a_line_that_is_none_says_why(line: bytes) -> None:
    assert isinstance(read_batch_line(line), NoBatchReply)


def test_files_are_split_by_rows_and_by_bytes(folder: Path) -> None:
    opened = BatchFolder(folder, most_rows=2, most_bytes=400)
    for number in range(5):
        opened.add(f"{number:064x}", [b'{"x":1}'])
    opened.add(f"{9:064x}", [b'"', b"x" * 200, b'"'])
    with pytest.raises(InputError, match="fits in no file"):
        opened.add(f"{10:064x}", [b"x" * 400])
    opened.close()
    files = sorted(folder.glob("requests-*.jsonl"))
    assert [len(requests(path)) for path in files] == [2, 2, 1, 1]
    assert max(path.stat().st_size for path in files) <= 400


def test_a_killed_writer_leaves_its_questions_open_and_no_half_file(folder: Path) -> None:
    ask(folder, question(0))
    (folder / "requests-002.jsonl.part").write_text('{"custom_id":"')
    with (folder / "calls.jsonl").open("ab") as log:
        log.write(b'{"event":"writ')
    _, (path,) = ask(folder, question(0), question(1))
    assert path.name == "requests-002.jsonl"
    assert len(requests(path)) == 1
    assert list(folder.glob("*.part")) == []


def test_a_file_that_was_named_but_not_written_down_is_found_again(folder: Path) -> None:
    ask(folder, question(0))
    (folder / "calls.jsonl").write_bytes(b"")
    _, written = ask(folder, question(0))
    assert written == []


@pytest.mark.parametrize("damage", [b"prose\n", b'{"event":"other"}\n', b'{"event":"settled","custom_id":"x","reply":{}}\n'])
def test_a_damaged_log_is_named_with_its_line(folder: Path, damage: bytes) -> None:
    ask(folder, question())
    log = folder / "calls.jsonl"
    log.write_bytes(log.read_bytes() + damage)
    with pytest.raises(InputError, match="line 2"):
        BatchFolder(folder)
    log.write_bytes(b"")
    BatchFolder(folder).close()  # the lock was let go


def test_one_process_at_a_time_holds_a_folder(folder: Path) -> None:
    opened = BatchFolder(folder)
    with pytest.raises(InputError, match="another process"):
        BatchFolder(folder)
    opened.close()


def test_judges_of_two_versions_share_a_folder_and_no_reply(folder: Path) -> None:
    other = SETTINGS.model_copy(update={"model": "other"})
    _, (path,) = ask(folder, question())
    ingest(folder, output(requests(path)[0]["custom_id"], completion("yes")))
    (reply,), (second,) = ask(folder, question(), settings=other)
    assert reply.status == CallStatus.CANCELLED
    assert requests(second)[0]["body"]["model"] == "other"  # type: ignore[index]


def test_a_text_names_a_batch_that_needs_no_key(folder: Path) -> None:
    judge = open_judge(f"batch:{folder}=openai:gpt-4o", {})
    assert judge.name == "gpt-4o"
    with pytest.raises(InputError, match="behind a server"):
        open_judge(f"batch:{folder}=transformers:some/model", {})


def test_media_that_cannot_be_shown_are_refused_before_anything_is_written(folder: Path) -> None:
    changed: Callable[[], object] = lambda: ask(folder, Question(("?", Media("0" * 64, uri="nowhere.png"))))  # noqa: E731
    with pytest.raises(InputError, match="cannot be read"):
        changed()
    assert list(folder.glob("requests-*")) == []
