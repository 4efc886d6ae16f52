"""An extractor may put a reply into another form, and may not say anything that the reply does not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.asking.extraction_check import faithful, invention
from salon_taxonomy.answers import (
    Artifact,
    MagicMirrorAnswer,
    OptionLettersAnswer,
    Parsed,
    parse_magicmirror,
    parse_option_letters,
    parse_prism,
    parse_r3,
    parse_yes_no,
    render_magicmirror,
)
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason

HAND = render_magicmirror(
    MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),)), "fingers"
)
NORMAL = render_magicmirror(MagicMirrorAnswer(True), "fine")


@pytest.mark.parametrize(
    ("reply", "restated", "parse"),
    [
        ("There is abnormal human anatomy: a hand structure deformity.", HAND, parse_magicmirror),
        ("Whether Normal - True. Looks fine.", NORMAL, parse_magicmirror),
        ("Score: 7/10. The light is wrong.", '{"score": 7, "justification": "The light is wrong."}', parse_prism),
        ("I'd say seven. The light is wrong.", '{"score": 7.0, "justification": "The light is wrong."}', parse_prism),
        ("Options A and C are there", "A, C", parse_option_letters),
        ("No, it doesn't look generated", "Answer: no", parse_yes_no),
    ],
)
def test_what_the_reply_says_is_taken_over(reply: str, restated: str, parse: object) -> None:
    assert isinstance(faithful(parse, reply)(restated), Parsed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "restated", "parse"),
    [
        ("There is abnormal human anatomy.", HAND, parse_magicmirror),  # no word of a hand
        ("The picture looks fine to me.", NORMAL, parse_magicmirror),
        ("The hand is not normal.", NORMAL, parse_magicmirror),
        ("Score: 7/10", '{"score": 8, "justification": ""}', parse_prism),
        ("It is quite good", '{"score": 7, "justification": "It is quite good"}', parse_prism),
        ("Three lemons, no limes", '{"answer": true}', parse_r3),
        ("a fine hand", "A", parse_option_letters),
        ("", "Answer: no", parse_yes_no),
    ],
)
def test_what_it_does_not_say_is_malformed(reply: str, restated: str, parse: object) -> None:
    outcome = faithful(parse, reply)(restated)  # type: ignore[arg-type]
    assert not isinstance(outcome, Parsed)
    assert outcome.reason == Reason.MALFORMED
    assert "which the reply does not" in outcome.detail


@for_each("reply", HOSTILE_REPLIES)
@pytest.mark.parametrize("parse", [parse_magicmirror, parse_prism, parse_r3, parse_yes_no, parse_option_letters])
def test_no_restatement_of_a_hostile_reply_becomes_an_answer(reply: str, parse: object) -> None:
    restatements = [HAND, NORMAL, '{"score": 5, "justification": ""}', '{"answer": true}', "yes", "A, B"]
    restatements += [text for text in HOSTILE_REPLIES if len(text) < 1000]
    assert not any(isinstance(faithful(parse, reply)(restated), Parsed) for restated in restatements)  # type: ignore[arg-type]


@given(st.integers(0, 10), st.integers(0, 10))
def test_a_number_is_held_to_the_digit(said: int, told: int) -> None:
    restated = json.dumps({"score": told, "justification": ""})
    outcome = faithful(parse_prism, f"I give {said} points")(restated)
    assert isinstance(outcome, Parsed) is (said == told and isinstance(parse_prism(restated), Parsed))


def test_answers_of_any_make_are_walked_through() -> None:
    answer = {"labels": frozenset({"six fingers"}), "score": (2.5, None)}
    assert invention(answer, "", "labels: six fingers; score 2.5") is None
    assert invention(answer, "", "labels: fingers, six; score 2.5") == "six fingers"
    assert invention(OptionLettersAnswer(frozenset("B")), "B", "b") == "B"


@for_each(
    ("answer", "restated", "reply", "invented"),
    [
        (True, "yes", "That is true.", None),
        (True, "true", "Yes!", None),
        (False, "no", "It looks wrong.", None),
        (False, "no", "It isn't there.", None),
        (True, "yes", "No.", "yes"),
        (False, "no", "Yes.", "no"),
        (True, "yes, 7", "Yes, all seven.", None),
        (True, "yes, 7", "Yes, all eight.", "7"),
        (True, "yes, seven", "Yes, 7.", None),
        (True, "yes, many", "Yes, 7.", "many"),
        (True, "yes", "Yes and no.", "one of two"),
        (7, "7 of ten", "seven", None),
    ],
)
def test_a_bare_yes_or_no_says_nothing_but_the_words_of_the_reply(answer, restated, reply, invented):
    found = invention(answer, restated, reply)
    assert (found is None) == (invented is None), found
    assert invented is None or invented in (found, restated.split()[0])


def test_what_was_invented_is_shown_in_60_signs_and_a_reply_is_read_up_to_200000():
    assert invention("x" * 61, "", "y") == "x" * 60
    assert invention("late", "", "." * 199_996 + "late") is None
    assert invention("late", "", "." * 199_997 + "late") == "late"


NINE = "one two three four five six seven eight nine"


@for_each(
    ("answer", "reply", "held"),
    [
        (NINE[:-5], f"so {NINE[:-5]} it is", True),  # up to eight words are one label, in its order
        (NINE[:-5], " ".join(reversed(NINE[:-5].split())), False),
        (NINE, " ".join(reversed(NINE.split())), True),  # of longer texts two thirds of the words
        (NINE, "one two three four five six", True),
        (NINE, "one two three four five", False),
        (("late", True), "late", False),  # a truth value among others needs its word, too
        (("late", True), "late, yes", True),
        (("late", False), "late, yes", False),
        (1e18, "1000000000000000000 of them", True),  # 19 digits are a number
        (1e19, "10000000000000000000 of them", False),
    ],
)
def test_labels_texts_truth_values_and_numbers_are_held_to_the_reply(answer, reply, held):
    assert (invention(answer, "", reply) is None) == held
