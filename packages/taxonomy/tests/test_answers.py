"""What all four answer grammars promise: no text raises, every reason is one of five, time grows with length only."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy import answers
from salon_taxonomy.answers import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import last_box, split_reply, thought_letters
from salon_taxonomy.testing import (
    HOSTILE_REPLIES,
    magicmirror_answers,
    prism_answers,
    r3_answers,
    spoiled,
)
from salon_taxonomy.verdict import Reason, Unscored

PARSERS: dict[str, Callable[[str], Outcome]] = {
    "magicmirror": answers.parse_magicmirror,
    "magicmirror_json": answers.parse_magicmirror_json,
    "yes_no": answers.parse_yes_no,
    "yes_no_released": lambda text: answers.parse_yes_no(text, fidelity="released"),
    "video_choice": answers.parse_video_choice,
    "video_choice_released": lambda text: answers.parse_video_choice(text, fidelity="released"),
    "option_letters": answers.parse_option_letters,
    "option_letters_released": lambda text: answers.parse_option_letters(text, fidelity="released"),
    "r3": answers.parse_r3,
    "prism": answers.parse_prism,
}
REASONS = {Reason.EMPTY, Reason.REFUSED, Reason.TRUNCATED, Reason.MALFORMED, Reason.OFF_MENU}

parsers = pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)


def plausible_replies() -> st.SearchStrategy[str]:
    return st.one_of(
        magicmirror_answers().map(answers.render_magicmirror),
        r3_answers().map(answers.render_r3),
        prism_answers().map(answers.render_prism),
        st.sampled_from(["<think>So?</think>Answer: B, D", "<Video A>", "Final answer: no."]),
    )


def checked(outcome: object) -> None:
    assert isinstance(outcome, Parsed | Unparsed)
    if isinstance(outcome, Unparsed):
        assert outcome.reason in REASONS
        assert 0 < len(outcome.detail) < 400
        assert outcome.detail.isprintable()
    if outcome.reasoning is not None:
        outcome.reasoning.encode()


@parsers
@pytest.mark.parametrize("text", ["", " \n\t\x0b"])
def test_an_empty_reply_is_empty(parse, text):
    assert parse(text).reason == Reason.EMPTY


@parsers
def test_hostile_replies_have_no_verdict(parse):
    for reply in HOSTILE_REPLIES:
        outcome = parse(reply)
        checked(outcome)
        assert isinstance(outcome, Unparsed), reply[:80]


@pytest.mark.parametrize("parse", [answers.parse_magicmirror, answers.parse_r3, answers.parse_prism])
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("The hand has six fingers.", Reason.MALFORMED),
        ("I'm sorry, but I can't help with that.", Reason.REFUSED),
        ("I am unable to view images.", Reason.REFUSED),
        ("抱歉，我无法查看图片。", Reason.REFUSED),
        ("I cannot find any flaw.", Reason.MALFORMED),
        ("<think>The hand has", Reason.TRUNCATED),
        ("<think>Done.</think>", Reason.EMPTY),
        (r'\boxed{{"answer": true, "score": 7, "Whether Normal": tr', Reason.TRUNCATED),
    ],
)
def test_replies_without_an_answer_say_why(parse, reply, reason):
    assert parse(reply).reason == reason


@parsers
@given(text=st.text())
def test_no_text_raises(parse, text):
    checked(parse(text))


@parsers
@given(text=spoiled(plausible_replies()))
def test_no_spoiled_answer_raises(parse, text):
    checked(parse(text))


@parsers
def test_an_unparsed_reply_becomes_an_unscored_verdict_that_keeps_the_reply(parse):
    verdict = parse("<think>…").unscored(raw="<think>…")
    assert isinstance(verdict, Unscored)
    assert verdict.raw == "<think>…"
    assert verdict.detail


ADVERSARIAL = {
    "braces": "{",
    "brace pairs": "{}",
    "closing braces": "}",
    "nested objects": '{"a":',
    "boxes": r"\boxed{",
    "closed boxes": r"\boxed{}",
    "quotes": '"',
    "escaped quotes": '\\"',
    "escaped quotes within an object": '{"\\"',
    "backslashes": "\\",
    "opened thoughts": "<think>",
    "closed thoughts": "</think>",
    "thoughts": "<think></think>",
    "half tags": "<thin",
    "answers": "answer: ",
    "answers and spaces": "answer" + " " * 50,
    "videos and spaces": "video" + " " * 50,
    "letters": "A, ",
    "letters and": "B and ",
    "single letters": "C ",
    "spaces": " ",
    "yes": "yes ",
    "commas": "{,",
}


@pytest.mark.slow
@parsers
def test_time_grows_with_length_and_not_faster(parse):
    """250 kB of every repeated pattern in turn; anything quadratic would take many times the seconds that are allowed."""
    started = time.process_time()
    for pattern in ADVERSARIAL.values():
        checked(parse(pattern * (250_000 // len(pattern))))
    assert time.process_time() - started < 15


def test_a_reply_of_ten_megabytes_is_read():
    reply = "<think>" + "The hand is fine. " * 600_000 + r'</think>\boxed{{"Whether Normal": true}}'
    outcome = answers.parse_magicmirror(reply)
    assert outcome.answer.normal
    assert len(outcome.reasoning) > 10_000_000


def test_reasoning_is_what_stands_in_the_think_block():
    outcome = answers.parse_prism('<think>\nOne finger too many.\n</think>{"justification": "", "score": 3}')
    assert outcome.reasoning == "One finger too many."


def test_a_reply_without_a_think_block_has_no_reasoning():
    assert answers.parse_prism('{"justification": "", "score": 3}').reasoning is None


def test_an_empty_think_block_is_empty_reasoning():
    assert answers.parse_prism('<think> </think>{"justification": "", "score": 3}').reasoning == ""


def test_a_closing_tag_alone_ends_reasoning_that_began_in_the_prompt():
    outcome = answers.parse_r3('First {"answer": false}.</think>{"answer": true}')
    assert outcome.answer.matches
    assert outcome.reasoning == 'First {"answer": false}.'
    assert outcome.notes == (answers.Note.THINK_UNOPENED,)


def test_reasoning_may_speak_of_think_tags():
    outcome = answers.parse_r3('<think>I write <think> here</think> and on</think>{"answer": true}')
    assert outcome.answer.matches
    assert outcome.reasoning == "I write <think> here\nand on"


def test_an_answer_in_front_of_unfinished_reasoning_is_truncated():
    outcome = answers.parse_r3('{"answer": true}<think>Or rather')
    assert outcome.reason == Reason.TRUNCATED
    assert outcome.reasoning == "Or rather"


def test_lone_surrogates_are_replaced_and_noted():
    outcome = answers.parse_r3('<think>\ud83d</think>{"answer": true, "explanation": "\\ud800\ud83d\ude00"}')
    assert outcome.answer.explanation == "\ufffd😀"
    assert outcome.reasoning == "\ufffd"
    assert outcome.notes == (answers.Note.REPAIRED_TEXT,)


def test_surrogates_that_json_escapes_hide_are_replaced_too():
    assert answers.parse_r3('{"answer": true, "explanation": "\\ud800!"}').answer.explanation == "\ufffd!"


def test_every_parser_and_renderer_is_exported():
    public = {name for name in vars(answers) if name.startswith(("parse_", "render_"))}
    assert public <= set(answers.__all__)
    assert all(hasattr(answers, name) for name in answers.__all__)


def test_an_empty_reply_says_where_nothing_stands():
    assert split_reply("  ").detail == "nothing stands in the reply"
    assert split_reply("<think>Six fingers.</think> ").detail == "nothing stands after the reasoning"


@given(st.lists(st.sampled_from(["{", "}", "a", "b", "7", " ", ".", "\u200b", "\\boxed "]), max_size=14).map("".join))
def test_letters_of_a_thought_are_those_outside_of_braces(thought):
    left = thought.replace("\\boxed ", " ")
    while (inner := re.sub(r"\{[^{}]*\}", " ", left)) != left:
        left = inner
    outside = left.partition("{")[0]  # what is opened and never closed hides the rest
    assert thought_letters(thought) == "".join(sign for sign in outside if sign.isalnum())


@given(st.text("ab{}. ", max_size=3), st.text("ab}. ", max_size=3))
def test_a_box_is_surrounded_when_as_little_as_one_sign_stands_before_or_after_it(before, after):
    found = last_box(before + r"\boxed{7}" + after)
    if "{" not in before:
        assert found.body == "7"
        assert (answers.Note.SURROUNDED in found.notes) is bool((before + after).strip())


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("<think>a</think>x", ()),
        ("one</think>x", (Note.THINK_UNOPENED,)),
        ("one</think>two</think>x", (Note.THINK_UNOPENED, Note.THINK_REPEATED)),
        ("<think>a</think><think>b</think>x", (Note.THINK_REPEATED,)),
        ("<think>a</think>b</think>x", (Note.THINK_UNOPENED, Note.THINK_REPEATED)),
    ],
)
def test_reasoning_that_is_never_opened_or_comes_again_is_noted(text: str, notes: tuple[Note, ...]) -> None:
    reply = split_reply(text)
    assert not isinstance(reply, Unparsed) and (reply.answer, reply.notes) == ("x", notes)
