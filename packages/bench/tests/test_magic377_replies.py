"""The three grammars of Magic-Bench-377: what is a verdict, and what never is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites.magic_bench_377.replies import parse_check, parse_mark
from salon_taxonomy.answers import Note, Parsed, SideVerdict, Unparsed, parse_pair_verdict
from salon_taxonomy.testing import HOSTILE_REPLIES, spoiled
from salon_taxonomy.verdict import Reason

PARSERS = {"satisfied": parse_check, "score": parse_mark, "verdict": parse_pair_verdict}
ANSWERS = {"satisfied": [True, False], "score": [1, 2, 3, 4, 5], "verdict": [str(each) for each in SideVerdict]}


@pytest.mark.parametrize("key", PARSERS)
@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_reply_is_no_verdict(key, reply):
    assert isinstance(PARSERS[key](reply), Unparsed)


@pytest.mark.parametrize(
    ("key", "reply", "reason"),
    [
        ("score", '{"score": 0}', Reason.OFF_MENU),
        ("score", '{"score": 6}', Reason.OFF_MENU),
        ("score", '{"score": 3.5}', Reason.OFF_MENU),
        ("score", '{"score": "4"}', Reason.MALFORMED),
        ("score", '{"score": true}', Reason.MALFORMED),
        ("score", '{"mark": 4}', Reason.MALFORMED),
        ("score", "[4]", Reason.MALFORMED),
        ("score", '{"score": 4} {"score": 5, "rea', Reason.TRUNCATED),
        ("score", "I cannot rate this picture.", Reason.REFUSED),
        ("satisfied", '{"satisfied": 1}', Reason.MALFORMED),
        ("satisfied", '{"satisfied": "yes"}', Reason.MALFORMED),
        ("verdict", '{"verdict": "tie"}', Reason.OFF_MENU),
        ("verdict", '{"verdict": ""}', Reason.OFF_MENU),
        ("verdict", '{"verdict": ["left"]}', Reason.MALFORMED),
        ("verdict", '{"verdict": "left", "verdict": "right"}', Reason.MALFORMED),
        ("verdict", '<think>{"verdict": "left"}</think>', Reason.EMPTY),
    ],
)
def test_what_was_not_offered_is_no_verdict(key, reply, reason):
    assert PARSERS[key](reply).reason == reason


@pytest.mark.parametrize("key", PARSERS)
@pytest.mark.parametrize("frame", ["{}", "<think>Hm.</think>{}", "```json\n{}\n```", "Here you are: {} Is that all?"])
def test_every_verdict_on_the_menu_is_read_wherever_it_stands(key, frame):
    for answer in ANSWERS[key]:
        reply = frame.replace("{}", json.dumps({"reason": "I {looked}.", key: answer}))
        assert PARSERS[key](reply).answer == answer


def test_a_battles_verdict_may_be_spelled_with_underscores_and_capitals():
    assert parse_pair_verdict('{"reason": "", "verdict": "Both_Bad "}').answer is SideVerdict.BOTH_BAD


def test_keys_that_nobody_asked_for_are_noted():
    assert parse_mark('{"score": 4.0, "mood": "blue"}').notes == (Note.EXTRA_KEYS,)


@given(st.text() | spoiled(st.sampled_from([json.dumps({"reason": "r", key: ANSWERS[key][0]}) for key in PARSERS])))
def test_no_text_makes_a_parser_raise_and_every_answer_is_on_the_menu(text):
    for key, parse in PARSERS.items():
        outcome = parse(text)
        assert isinstance(outcome, Unparsed) or outcome.answer in ANSWERS[key]


@given(st.sampled_from(list(PARSERS)), st.text(st.characters(exclude_categories=["Cs"])), st.data())
def test_whatever_the_reason_says_the_verdict_counts(key, reason, data):
    answer = data.draw(st.sampled_from(ANSWERS[key]))
    outcome = PARSERS[key](json.dumps({"reason": reason.replace("<", ""), key: answer}))
    assert isinstance(outcome, Parsed)
    assert outcome.answer == answer
