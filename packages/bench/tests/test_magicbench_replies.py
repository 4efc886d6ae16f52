"""The two parsers of MagicBench: hostile replies first, then what they take and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites.magicbench import CountingRules
from salon_bench.suites.magicbench.fidelity import parse_assessment
from salon_taxonomy.answers import Parsed, Unparsed, parse_yes_or_no, render_magicmirror
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers, spoiled
from salon_taxonomy.verdict import Reason

PAPER, RELEASED = CountingRules.of("paper"), CountingRules.of("released")
EMPTY_ARTIFACT = r'<think>Odd.</think>\boxed{{"Whether Normal": false, "Type of Deformity": {}}}'
PAPER_KEY = r'\boxed{{"Whether Normal": false, "Type of Abnormality": {"L2: Abnormal Object Morphology": true}}}'


@for_each("reply", HOSTILE_REPLIES)
def test_no_hostile_reply_is_a_verdict(reply):
    assert isinstance(parse_yes_or_no(reply), Unparsed)
    assert isinstance(parse_assessment(reply, PAPER), Unparsed)
    assert isinstance(parse_assessment(reply, RELEASED), Unparsed)


@pytest.mark.parametrize(
    ("reply", "present"),
    [
        ("Yes", True),
        ("no.", False),
        ("Both hands are in the frame.\n\n**Yes**", True),
        ("The feet are cut off.\nFinal answer: No", False),
        ("The feet are cut off.\nThe answer is: *No*.\n", False),
        ("<think>yes? or no?</think>\nNo", False),
        ("No, the hand is behind the back.", False),
        ("YES — it is all there", True),
        ("Yes\n\nBoth hands and feet are in the frame.", True),
        ("**No.**\nThe left hand is cut off.\nEverything else is there.", False),
        ("Yes\nWait, the hand is hidden.\nNo", False),
    ],
)
def test_the_last_line_says_whether_the_subject_is_there(reply, present):
    outcome = parse_yes_or_no(reply)
    assert isinstance(outcome, Parsed)
    assert outcome.answer is present


@pytest.mark.parametrize(
    "reply",
    [
        "Yes and no",
        "Yes\nbut only half of it",
        "Yes\nOr rather:\nNo\nI am not sure",
        "Nobody",
        "Yesterday",
        "maybe",
        "Yes/No",
        "yes no",
    ],
)
def test_a_reply_that_does_not_decide_is_malformed(reply):
    outcome = parse_yes_or_no(reply)
    assert isinstance(outcome, Unparsed)
    assert outcome.reason is Reason.MALFORMED


def test_a_refusal_is_told_from_a_malformed_reply():
    assert parse_yes_or_no("I'm sorry, I can't help with that picture").reason is Reason.REFUSED


@given(st.text())
def test_the_subject_parser_never_raises(text):
    assert isinstance(parse_yes_or_no(text), Parsed | Unparsed)


@given(magicmirror_answers())
def test_every_answer_with_a_reason_is_read_back_by_both_rules(answer):
    reply = render_magicmirror(answer, "looked")
    outcomes = [parse_assessment(reply, rules) for rules in (PAPER, RELEASED)]
    if answer.normal or answer.artifacts:
        assert [outcome.answer for outcome in outcomes] == [answer, answer]
    else:
        assert isinstance(outcomes[0], Unparsed)
        assert outcomes[1].answer == answer


@given(spoiled(magicmirror_answers().map(lambda answer: render_magicmirror(answer, "looked"))))
def test_spoiled_assessments_never_raise(reply):
    assert isinstance(parse_assessment(reply, PAPER), Parsed | Unparsed)


def test_an_artifact_without_label_counts_for_the_script_and_is_malformed_for_the_paper():
    assert parse_assessment(EMPTY_ARTIFACT, RELEASED).answer.normal is False
    assert parse_assessment(EMPTY_ARTIFACT, PAPER).reason is Reason.MALFORMED


def test_the_key_of_the_papers_examples_is_read_by_the_paper_alone():
    assert parse_assessment(PAPER_KEY, PAPER).answer.labels == {"L2: Abnormal Object Morphology": ()}
    assert parse_assessment(PAPER_KEY, RELEASED).reason is Reason.MALFORMED
