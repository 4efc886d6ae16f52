"""What was recorded is replayed under the recorded judge's name; a file that is wrong is named with its line."""

import asyncio
import json
from pathlib import Path

import pytest

from salon_judges.clients import Recording, RecordingJudge, ReplayFileJudge, open_judge, read_settings
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Reason


def question(number: int = 0) -> Question:
    return Question((f"question {number}",))


def record(path: Path, replies: list[str | Reply], questions: list[Question], version: str = "v1") -> None:
    async def main() -> None:
        async with RecordingJudge(ReplayJudge(replies, name="model", version=version), path) as judge:
            for each in questions:
                await judge.ask(each)

    asyncio.run(main())


def ask(judge: Judge, *questions: Question) -> list[Reply]:
    async def main() -> list[Reply]:
        return [await judge.ask(each) for each in questions]

    return asyncio.run(main())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def test_a_replay_passes_for_the_recorded_judge_and_costs_nothing(path: Path) -> None:
    record(path, [Reply("yes", finish=Finish.STOP, usage=Usage(5, 1, 0.5), version="v1")], [question()])
    judge = ReplayFileJudge(Recording.read(path))
    (reply,) = ask(judge, question())
    assert (judge.name, judge.version, reply.version) == ("model", "v1", "v1")
    assert (reply.text, reply.finish, reply.cached, reply.usage) == ("yes", Finish.STOP, True, Usage(0, 0, 0.0))


def test_replies_to_equal_questions_come_in_their_order_and_then_the_last_again(path: Path) -> None:
    record(path, ["a", "b", "c"], [question(), question(1), question()])
    judge = ReplayFileJudge(Recording.read(path))
    assert [reply.text for reply in ask(judge, *[question()] * 4)] == ["a", "c", "c", "c"]


def test_a_question_that_was_not_recorded_is_abstained_and_counted(path: Path) -> None:
    record(path, ["a"], [question()])
    judge = ReplayFileJudge(Recording.read(path))
    (reply,) = ask(judge, question(7))
    assert reply.status == CallStatus.CANCELLED
    assert reply.problem().reason == Reason.ABSTAINED  # type: ignore[union-attr]
    assert "replies.jsonl" in (reply.error or "")
    assert judge.missing == 1


def test_failures_are_recorded_and_replayed_as_failures(path: Path) -> None:
    failures: list[str | Reply] = [
        Reply("", CallStatus.TIMEOUT, error="late"),
        Reply("half", finish=Finish.LENGTH),
        Reply("", CallStatus.REJECTED, http_status=400, error="no"),
    ]
    asked = [question(number) for number in range(3)]
    record(path, failures, asked)
    replies = ask(ReplayFileJudge(Recording.read(path)), *asked)
    assert [reply.problem().reason for reply in replies] == [Reason.TIMEOUT, Reason.TRUNCATED, Reason.REJECTED]  # type: ignore[union-attr]


def test_every_text_survives_the_file(path: Path) -> None:
    asked = [question(number) for number in range(len(HOSTILE_REPLIES))]
    record(path, list(HOSTILE_REPLIES), asked)
    replies = ask(ReplayFileJudge(Recording.read(path)), *asked)
    assert [reply.text for reply in replies] == [text.replace("\ud800", "\ufffd") for text in HOSTILE_REPLIES]


def test_recording_goes_on_in_a_file_whose_writer_was_killed(path: Path) -> None:
    record(path, ["a"], [question()])
    with path.open("ab") as file:
        file.write(b'{"request_sha256": "12')
    recording = Recording.read(path)
    assert (recording.torn, recording.questions) == (True, 1)
    record(path, ["b"], [question(1)])
    whole = Recording.read(path)
    assert (whole.torn, whole.questions) == (False, 2)


def test_one_process_at_a_time_records_to_a_file(path: Path) -> None:
    async def main() -> None:
        async with RecordingJudge(ReplayJudge(["a"]), path) as judge:
            await judge.ask(question())
            await RecordingJudge(ReplayJudge(["b"]), path).ask(question())

    with pytest.raises(InputError, match="another process"):
        asyncio.run(main())


def line(**changes: object) -> str:
    whole = {"request_sha256": "0" * 64, "judge": "m", "judge_version": "1", "reply": {"text": "yes"}}
    return json.dumps({**whole, **changes})


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ("prose", "JSON"),
        ("[]", "object"),
        (line(request_sha256="xyz"), "request_sha256"),
        (line(reply={"text": 3}), "reply.text"),
        (line(reply={"text": "x", "status": "fine"}), "reply.status"),
        (line(reply={"text": "x", "latency_ms": -1}), "reply.latency_ms"),
        (line(reply={"text": "x", "cost_usd": float("nan")}), "reply.cost_usd"),
        (line(surprise=1), "surprise"),
        (line(judge="other"), "another judge"),
        ("[" * 100_000, "JSON"),
        ("\x00\x1b[31m", "JSON"),
    ],
)
def test_a_bad_line_is_named(path: Path, bad: str, named: str) -> None:
    path.write_text(f"{line()}\n\n{bad}\n{line()}\n")
    with pytest.raises(InputError) as error:
        Recording.read(path)
    assert error.value.line == 3
    assert named in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{", b"\xff\xfe"])
def test_a_file_without_a_reply_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match="no reply"):
        Recording.read(path)
    with pytest.raises(InputError, match="cannot be read"):
        Recording.read(path.parent / "nowhere")


def test_a_file_with_several_versions_needs_a_choice(path: Path, tmp_path: Path) -> None:
    record(path, ["old"], [question()], version="v1")
    record(path, ["new"], [question()], version="v2")
    with pytest.raises(InputError, match="judge_version"):
        Recording.read(path)
    choice = tmp_path / "replay.toml"
    choice.write_text(f'kind = "replay"\npath = "{path}"\njudge_version = "v2"\n')
    assert ask(open_judge(str(choice), {}), question())[0].text == "new"
    with pytest.raises(InputError, match="of this judge"):
        Recording.read(path, judge_version="v3")


def test_a_recording_that_changes_under_the_judge_is_an_error_and_no_reply(path: Path) -> None:
    record(path, ["a", "b"], [question(), question(1)])
    judge = ReplayFileJudge(Recording.read(path))
    path.write_bytes(path.read_bytes()[40:])
    with pytest.raises(InputError, match="has changed"):
        ask(judge, question(1))


def test_texts_name_recordings_and_replays(path: Path) -> None:
    record(path, ["a"], [question()])
    judge = open_judge(f"replay:{path}", {})
    assert ask(judge, question())[0].text == "a"
    assert read_settings(f"record:{path}=vllm:m").title == "m"
    copied = path.with_name("copy.jsonl")
    again = open_judge(f"record:{copied}=replay:{path}", {})

    async def main() -> None:
        async with again:
            await again.ask(question())

    asyncio.run(main())
    assert Recording.read(copied).judge == "model"
