"""Generic answers: no spoiled reply is a verdict, a plain one is read, and the same rules read Artifact-Bench's task 1."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_taxonomy.answers import (
    Outcome,
    Parsed,
    Unparsed,
    parse_choice,
    parse_list,
    parse_object,
    parse_scale,
    parse_text,
    parse_yes_or_no,
)
from salon_taxonomy.answers.strict_json import JsonError
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.testing import text as any_text
from salon_taxonomy.verdict import Reason

LABELS = ("photo", "oil painting", "painting", "C++")
SIGNED = ("-1", "0", "1", "10", ".5", "**1**", "(a)", "a", "$a$", "a.", "sky", "kilo", "flip")
"""Labels that differ in their signs alone, or have letters with odd capitals."""


def count(members: dict[str, Any]) -> int:
    if not isinstance(members.get("count"), int):
        raise JsonError("the key 'count' is missing or no number")
    return members["count"]


PARSERS: dict[str, Callable[[str], Outcome[Any]]] = {
    "yes/no": parse_yes_or_no,
    "choice": partial(parse_choice, labels=LABELS),
    "scale": partial(parse_scale, lowest=1, highest=5),
    "object": partial(parse_object, read=count),
    "list": parse_list,
}


@for_each("reply", HOSTILE_REPLIES)
def test_no_spoiled_reply_is_a_verdict(reply: str) -> None:
    assert [name for name, parse in PARSERS.items() if not isinstance(parse(reply), Unparsed)] == []


@given(any_text)
def test_no_text_raises(text: str) -> None:
    for parse in (*PARSERS.values(), partial(parse_choice, labels=SIGNED)):
        for reply in (text, f"Answer: {text}"):
            assert isinstance(parse(reply), Parsed | Unparsed)


@pytest.mark.parametrize(
    ("form", "reply", "reason"),
    [
        (form, reply, reason)
        for form, off_menu, cut in (
            ("yes/no", "Answer: perhaps", '{"answer": "ye'),
            ("choice", "It is no photo.\nAnswer: sculpture", '{"answer": "oil pain'),
            ("scale", "Answer: 6", '{"score": 4, "reason": "be'),
        )
        for reply, reason in (
            ("", "empty"),
            ("A lovely picture.", "malformed"),
            (cut, "truncated"),
            (off_menu, "off_menu"),
            ("I'm sorry, but I can't help with that.", "refused"),
        )
    ],
)
def test_each_kind_of_failure_has_its_reason(form: str, reply: str, reason: str) -> None:
    outcome = PARSERS[form](reply)
    assert isinstance(outcome, Unparsed)
    assert outcome.reason.value == reason


@given(st.sampled_from(LABELS), st.sampled_from(["{}", "Answer: {}", "<think>hm</think>It shows it. **Answer: {}.**"]))
def test_a_label_is_read_in_any_case_and_kept_in_its_spelling(label: str, around: str) -> None:
    for spelled in (label, label.upper()):
        assert parse_choice(around.format(spelled), LABELS) == Parsed(label, "hm" if "think" in around else None)


@given(st.sampled_from(SIGNED), st.sampled_from(["{}", "Answer: {}", "**Answer:** {}", "It is odd.\nThe answer is: `{}`."]))
def test_a_label_with_signs_is_read_as_itself(label: str, around: str) -> None:
    assert parse_choice(around.format(label), SIGNED) == Parsed(label)


@pytest.mark.parametrize("reply", ["-1", "Answer: -1", "Answer: **-1**", "\u22121", "Answer: .1", "Answer: 0.1"])
def test_a_number_without_its_sign_is_another_label(reply: str) -> None:
    assert isinstance(parse_choice(reply, ("0", "1", "10")), Unparsed)
    assert parse_choice("- 1", ("0", "1", "10")) == Parsed("1")


@pytest.mark.parametrize(("reply", "answer"), [("Answer: ye\u017f", True), ("ye\u017f, it is", True), ("YE\u017f", True)])
def test_capitals_of_other_alphabets_turn_no_verdict_round(reply: str, answer: bool) -> None:
    assert getattr(parse_yes_or_no(reply), "answer", answer) is answer
    for label, odd in (("sky", "\u017fky"), ("kilo", "\u212ailo"), ("flip", "fl\u0131p")):
        assert getattr(parse_choice(f"Answer: {odd}", SIGNED), "answer", label) == label


@given(st.integers(-3, 8), st.sampled_from(["{}", "Good, but dark.\nAnswer: {}", '{{"reason": "x", "score": {}}}', "{}/5"]))
def test_a_mark_is_read_within_its_scale_alone(mark: int, around: str) -> None:
    outcome = parse_scale(around.format(mark), 1, 5)
    if 1 <= mark <= 5:
        assert isinstance(outcome, Parsed)
        assert outcome.answer == mark
    else:
        assert isinstance(outcome, Unparsed)


@pytest.mark.parametrize(
    "reply", ["Answer: 3-4", "Answer: 3 or 4", "Answer: 4.5", "Answer: 4/10", "80%", "Answer: 1e2", "3 cats"]
)
def test_a_doubtful_mark_is_no_mark(reply: str) -> None:
    assert isinstance(parse_scale(reply, 1, 5), Unparsed)


@given(st.lists(st.sampled_from(["yes", "no", "not", ".", "a photo", "\n", "or", "I have no idea", "Sorry,"]), max_size=6))
def test_prose_without_an_answer_at_its_end_chooses_nothing(words: list[str]) -> None:
    text = " ".join([*words, "- that is all that I can see in it."])
    assert isinstance(parse_choice(text, LABELS), Unparsed)
    outcome = parse_yes_or_no(text)
    if isinstance(outcome, Parsed):  # a verdict that stands first, alone or before a comma or full stop
        assert text.lower().lstrip(" .\n").startswith("yes" if outcome.answer else "no")


@pytest.mark.parametrize("labels", [(), ("one",), ("Photo", "photo"), ("", "photo")])
def test_a_menu_needs_different_labels(labels: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="labels"):
        parse_choice("photo", labels)


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (("Yes", "It is whole."), True),
        (("**No**", "The hand is cut.", "So it is."), False),
        (("It is whole.", "Yes"), True),
        (("Yes", "It is cut.", "No"), False),  # the last line counts
        (("Yes", "it is not."), None),  # the sentence goes on
        (("Yes", "No", "It is hard to tell."), None),
        (("Perhaps", "It is whole."), None),
        (("It is whole.", "Both hands are there."), None),
    ],
)
def test_a_first_line_is_the_verdict_when_no_later_one_turns_it_round(lines: tuple[str, ...], answer: bool | None) -> None:
    for lined in (lines, ("", *lines, " ")):
        outcome = parse_yes_or_no("\n".join(lined))
        assert (outcome.answer if isinstance(outcome, Parsed) else None) is answer


@pytest.mark.parametrize("length", [1, 40, 81, 160, 319, 320, 500])
def test_a_label_of_any_length_is_read(length: int) -> None:
    label = ("a long label " * 40)[:length].strip()
    for reply in (label, f"Answer: {label}", f"It is hard to tell. Answer: **{label}**."):
        assert parse_choice(reply, (label, "other")) == Parsed(label)


@pytest.mark.parametrize(("lowest", "highest"), [(3, 3), (4, 3)])
def test_a_scale_has_at_least_two_marks(lowest: int, highest: int) -> None:
    with pytest.raises(InputError, match="lowest"):
        parse_scale("3", lowest, highest)
    assert parse_scale("Answer: 4", 3, 4) == Parsed(4)


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ("Here you are:\n1. a dog\n   runs\n\n2) it lies", ("a dog\n   runs", "it lies")),
        ("1. a; 2. b; 3. c.", ("a", "b", "c.")),
        ("**1.** a\n**2.** b", ("a", "b")),
        ("1. In the 2. Bundesliga\n2. they win", ("In the 2. Bundesliga", "they win")),
        ("1. a\n3. c", ("a\n3. c",)),
        ("<think>1. a</think>1. b 1.5 m", ("b 1.5 m",)),
    ],
)
def test_a_numbered_list_is_its_items_from_one(reply: str, items: tuple[str, ...]) -> None:
    assert getattr(parse_list(reply), "answer", None) == items


@pytest.mark.parametrize("reply", ["2. b", "1.", "1. ; 2. ;", "1. a\n2.\n3. c", "I can't view videos. 1. sorry", "- a\n- b"])
def test_what_is_no_numbered_list_is_none(reply: str) -> None:
    assert isinstance(parse_list(reply), Unparsed)


@given(st.lists(st.text("ab cä", min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=12), st.sampled_from("\n;"))
def test_a_written_list_is_read_back(items: list[str], between: str) -> None:
    text = between.join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    assert parse_list(text) == Parsed(tuple(item.strip() for item in items))


def test_words_are_a_text_and_their_absence_is_none() -> None:
    assert parse_text(" a dog\nruns ") == Parsed("a dog\nruns")
    assert [getattr(parse_text(reply), "reason", None) for reply in ("", " ", "I'm sorry, I can't help.", "<think>a")] == [
        Reason.EMPTY,
        Reason.EMPTY,
        Reason.REFUSED,
        Reason.TRUNCATED,
    ]


def test_a_numbered_list_has_at_most_a_hundred_items() -> None:
    for count in (99, 100, 101, 130):
        answer = parse_list("\n".join(f"{number}. item {number}" for number in range(1, count + 1))).answer
        assert len(answer) == min(count, 100) and answer[98] == "item 99"
    assert answer[99].splitlines()[:2] == ["item 100", "101. item 101"], "what is beyond belongs to the last"


@for_each(("count", "more"), [(8, ""), (9, " and 1 more"), (20, " and 12 more")])
def test_of_many_choices_eight_are_named(count: int, more: str) -> None:
    labels = [f"kind{number}" for number in range(count)]
    detail = parse_choice("Something else.", labels).detail
    assert detail == f"the last line is none of {', '.join(labels[:8])}{more}"
