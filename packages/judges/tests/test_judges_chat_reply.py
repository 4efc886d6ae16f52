"""Whatever a server sends as the body of its reply, reading it gives a completion or says why there is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.clients.chat_reply import Completion, NoCompletion, one_line, read_completion, read_error
from salon_taxonomy.protocols import Token
from salon_taxonomy.records import Finish
from salon_taxonomy.testing import HOSTILE_REPLIES

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["message", "content", "text", "x"]), inner),
    max_leaves=8,
)


def body(message: Any, finish: Any = "stop", **rest: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], **rest}).encode()


def completion(found: Completion | NoCompletion) -> Completion:
    assert isinstance(found, Completion)
    return found


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_text_as_the_whole_body_is_no_completion(text: str) -> None:
    assert isinstance(read_completion(text.encode("utf-8", "surrogatepass")), NoCompletion)


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_text_as_content_comes_through_and_can_be_stored(text: str) -> None:
    found = completion(read_completion(body({"content": text})))
    assert found.text == text.replace("\ud800", "�")
    found.text.encode()


@given(st.binary(max_size=60))
def test_no_bytes_raise(data: bytes) -> None:
    assert isinstance(read_completion(data), NoCompletion)
    assert isinstance(read_error(data), NoCompletion)


@given(message=values, finish=values, usage=values, logprobs=values)
def test_no_json_of_the_wrong_shape_raises(message: Any, finish: Any, usage: Any, logprobs: Any) -> None:
    choice = {"message": message, "finish_reason": finish, "logprobs": logprobs}
    for document in ({"choices": [choice], "usage": usage}, {"choices": message}, {"error": message}, message):
        found = read_completion(json.dumps(document).encode())
        assert isinstance(found, Completion | NoCompletion)
        read_error(json.dumps(document).encode())


def test_content_may_be_null_or_a_list_of_parts() -> None:
    assert completion(read_completion(body({"content": None}))).text == ""
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "b", 3]
    assert completion(read_completion(body({"content": parts}))).text == "ab"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", Finish.STOP),
        ("length", Finish.LENGTH),
        ("content_filter", Finish.FILTERED),
        ("?", Finish.UNKNOWN),
        ([], Finish.UNKNOWN),
    ],
)
def test_the_end_of_a_reply_is_told(reason: Any, finish: Finish) -> None:
    assert completion(read_completion(body({"content": "x"}, reason))).finish is finish


def test_a_refusal_is_withheld_text() -> None:
    found = completion(read_completion(body({"content": None, "refusal": "I can't."})))
    assert (found.text, found.finish) == ("I can't.", Finish.FILTERED)
    kept = completion(read_completion(body({"content": "yes", "refusal": ""})))
    assert (kept.text, kept.finish) == ("yes", Finish.STOP)


def test_reasoning_that_comes_apart_stands_in_think() -> None:
    found = completion(read_completion(body({"content": "yes", "reasoning_content": "Six fingers."})))
    assert found.text == "<think>\nSix fingers.\n</think>\nyes"


def test_reasoning_that_was_cut_off_is_left_open() -> None:
    found = completion(read_completion(body({"content": None, "reasoning": "Six fing"}, "length")))
    assert (found.text, found.finish) == ("<think>\nSix fing", Finish.LENGTH)


@pytest.mark.parametrize("count", [-1, True, 1.5, "7", None, 10**30])
def test_a_count_of_tokens_that_is_none_is_not_known(count: Any) -> None:
    found = completion(read_completion(body({"content": ""}, usage={"prompt_tokens": count, "completion_tokens": 3})))
    assert (found.prompt_tokens, found.completion_tokens) == (None, 3)


def test_log_probabilities_come_likeliest_first() -> None:
    others = [{"token": "no", "logprob": -2.0}, {"token": "yes", "logprob": -0.1}, {"token": 3, "logprob": -1.0}]
    logprobs = {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": others}]}
    choice = {"message": {"content": "yes"}, "logprobs": logprobs}
    found = completion(read_completion(json.dumps({"choices": [choice]}).encode()))
    assert found.tokens == (Token("yes", -0.1, (("yes", -0.1), ("no", -2.0))),)


@pytest.mark.parametrize("item", [None, {}, {"token": "a", "logprob": "x"}, {"token": "a", "logprob": float("nan")}])
def test_log_probabilities_that_cannot_be_read_are_left_out_as_a_whole(item: Any) -> None:
    choice = {"message": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": -1}, item]}}
    assert completion(read_completion(json.dumps({"choices": [choice]}).encode())).tokens == ()


@pytest.mark.parametrize(
    ("document", "problem", "code"),
    [
        ({"error": {"message": "no such model", "code": "model_not_found"}}, "no such model", "model_not_found"),
        ({"error": {"message": "busy", "code": 429}}, "busy", "429"),
        ({"error": "busy"}, "busy", ""),
        ({"detail": "not found"}, "not found", ""),
        ({"message": "line\n\x1b[31mtwo"}, r"line \x1b[31mtwo", ""),
    ],
)
def test_a_servers_own_words_are_kept_as_one_line(document: Any, problem: str, code: str) -> None:
    found = read_error(json.dumps(document).encode())
    assert (one_line(found.problem), found.code) == (problem, code)


def test_a_long_message_is_shortened() -> None:
    assert len(one_line("word " * 2_000)) == 300
