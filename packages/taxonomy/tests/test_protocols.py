"""Questions are values with a stable key; replies say what went wrong without raising."""

import asyncio
from dataclasses import replace

import pytest

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Edit, Editor, Finish, Judge, Media, Question, Reply, Token, Usage
from salon_taxonomy.records import CallStatus, JudgeCall, MediaKind
from salon_taxonomy.verdict import Reason

PICTURE = Media.from_bytes(b"\x89PNG")


def test_a_file_and_its_bytes_are_the_same_medium_to_a_judge(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG")
    by_file = Question(("What is wrong?", Media.from_file(path)))
    assert by_file.request_sha256() == Question(("What is wrong?", PICTURE)).request_sha256()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.png: cannot be read \(No such file or directory\)"):
        Media.from_file(tmp_path / "gone.png")


@pytest.mark.parametrize("sha256", ["", "0" * 63, "A" * 64, "g" * 64])
def test_media_have_a_real_hash(sha256):
    with pytest.raises(InputError, match="64 lower-case hex digits"):
        Media(sha256, uri="a.png")


def test_media_stand_somewhere():
    with pytest.raises(InputError, match="a uri or data"):
        Media("0" * 64)


def test_the_bytes_of_a_medium_are_not_printed():
    assert "PNG" not in repr(PICTURE)


QUESTION = Question(("Is it real?", PICTURE), system="Be strict.", response_schema={"type": "object"})


@pytest.mark.parametrize(
    "other",
    [
        replace(QUESTION, parts=(PICTURE, "Is it real?")),
        replace(QUESTION, parts=("Is it real? ", PICTURE)),
        replace(QUESTION, parts=("Is it real?", Media.from_bytes(b"\x89PNG2"))),
        replace(QUESTION, parts=("Is it real?", replace(PICTURE, kind=MediaKind.VIDEO))),
        replace(QUESTION, parts=("Is it real?", replace(PICTURE, frames_per_second=5.0))),
        replace(QUESTION, system=None),
        replace(QUESTION, response_schema=None),
        replace(QUESTION, decoding=Decoding(temperature=1.0)),
        replace(QUESTION, decoding=Decoding(top_p=0.5)),
        replace(QUESTION, decoding=Decoding(max_tokens=1)),
        replace(QUESTION, decoding=Decoding(seed=0)),
        replace(QUESTION, decoding=Decoding(stop=("\n",))),
        replace(QUESTION, decoding=Decoding(top_logprobs=2)),
    ],
)
def test_everything_that_can_change_the_reply_changes_the_key(other):
    assert other.request_sha256() != QUESTION.request_sha256()


def test_the_key_is_pinned_because_caches_are_kept():
    assert QUESTION.request_sha256() == "48fe2a1b88b7d9a26bf7e0f25f2981d05f70dc2c6d4b8650998a4dcc1b41be40"


def test_the_key_fits_the_table_of_calls():
    call = {"call_id": "c", "run_id": "r", "judge": "j", "judge_version": "1", "attempt": 1, "status": "ok"}
    assert JudgeCall(**call, request_sha256=QUESTION.request_sha256())


def test_questions_are_values():
    assert replace(QUESTION) == QUESTION
    assert hash(QUESTION) == hash(replace(QUESTION))
    assert (QUESTION.text, QUESTION.media) == ("Is it real?", (PICTURE,))


@pytest.mark.parametrize("parts", [(), "a text that would be taken letter by letter"])
def test_a_question_is_about_something(parts):
    with pytest.raises(InputError, match="at least one"):
        Question(parts)


@pytest.mark.parametrize("rate", [0.0, -5.0, float("nan"), float("inf")])
def test_a_video_is_shown_at_a_real_frame_rate(rate):
    with pytest.raises(InputError, match="frames_per_second"):
        Media.from_bytes(b"mp4", MediaKind.VIDEO, frames_per_second=rate)


@pytest.mark.parametrize(
    "setting",
    [
        {"temperature": -1.0}, {"temperature": float("nan")}, {"temperature": float("inf")}, {"top_p": 0.0},
        {"top_p": 1.1}, {"max_tokens": 0}, {"top_logprobs": -1},
    ],
)  # fmt: skip
def test_decoding_out_of_range_names_the_setting(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        Decoding(**setting)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("", CallStatus.TIMEOUT), Reason.TIMEOUT),
        (Reply("", CallStatus.UNREACHABLE), Reason.UNREACHABLE),
        (Reply("busy", CallStatus.REJECTED, http_status=429), Reason.REJECTED),
        (Reply("", CallStatus.CANCELLED), Reason.ABSTAINED),
        (Reply('{"score": 7}', finish=Finish.LENGTH), Reason.TRUNCATED),
        (Reply("", finish=Finish.FILTERED), Reason.REFUSED),
    ],
)
def test_a_reply_that_went_wrong_says_so_and_keeps_its_text(reply, reason):
    problem = reply.problem()
    assert (problem.reason, problem.raw) == (reason, reply.text)
    assert problem.detail


@pytest.mark.parametrize("finish", [Finish.STOP, Finish.UNKNOWN])
def test_a_whole_reply_has_no_problem(finish):
    assert Reply("yes", finish=finish, usage=Usage(3, 1), tokens=(Token("yes", -0.1),)).problem() is None


def test_every_status_but_ok_is_a_problem():
    assert {status for status in CallStatus if Reply("", status).problem() is None} == {CallStatus.OK}
    assert all(Edit(None, status).problem() for status in CallStatus if status is not CallStatus.OK)


def test_an_edit_is_ok_exactly_when_it_has_an_image():
    assert Edit(PICTURE).problem() is None
    for contradiction in [(None, CallStatus.OK), (PICTURE, CallStatus.TIMEOUT)]:
        with pytest.raises(InputError, match="OK exactly when"):
            Edit(*contradiction)


class Echo:
    """The smallest judge and editor there is."""

    name = "echo"
    version = "1"

    async def ask(self, question: Question) -> Reply:
        return Reply(question.text)

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        return Edit(image)


def test_any_object_of_the_right_shape_is_a_judge_and_an_editor():
    echo = Echo()
    judge: Judge = echo
    editor: Editor = echo
    assert isinstance(echo, Judge)
    assert isinstance(echo, Editor)
    assert asyncio.run(judge.ask(QUESTION)).text == "Is it real?"
    assert asyncio.run(editor.edit(PICTURE, "Remove a finger.")).image == PICTURE
