"""PRISM-Bench's grammar: a score from 0 to 10 and its justification."""

import pytest
from hypothesis import given

from salon_taxonomy.answers import Note, PrismAnswer, parse_prism, render_prism
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import prism_answers, reasonings
from salon_taxonomy.verdict import Reason


@given(answer=prism_answers(), reasoning=reasonings())
def test_what_is_rendered_is_read_back(answer, reasoning):
    outcome = parse_prism(render_prism(answer, reasoning))
    assert (outcome.answer, outcome.reasoning, outcome.notes) == (answer, reasoning, ())


@pytest.mark.parametrize(
    ("score", "value", "notes"),
    [
        ("7", 7.0, ()),
        ("0", 0.0, ()),
        ("-0.0", 0.0, ()),
        ("10", 10.0, ()),
        ("8.25", 8.25, ()),
        ("1e1", 10.0, ()),
        ('"7"', 7.0, (Note.TEXT_SCORE,)),
        ('" 7.5 "', 7.5, (Note.TEXT_SCORE,)),
    ],
)
def test_scores_are_numbers_or_numbers_written_as_text(score, value, notes):
    outcome = parse_prism(f'{{"justification": "So.", "score": {score}}}')
    assert (outcome.answer, outcome.notes) == (PrismAnswer(value, "So."), notes)


def test_the_papers_template_with_its_trailing_comma_is_read():
    outcome = parse_prism('```json\n{\n  "justification": "…",\n  "score": "9",\n}\n```')
    assert outcome.answer == PrismAnswer(9.0, "…")
    assert outcome.notes == (Note.FENCED, Note.TRAILING_COMMA, Note.TEXT_SCORE)


def test_further_keys_are_left_out_and_noted():
    assert parse_prism('{"justification": "", "score": 1, "track": "style"}').notes == (Note.EXTRA_KEYS,)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"justification": "", "score": 11}', Reason.OFF_MENU),
        ('{"justification": "", "score": -1}', Reason.OFF_MENU),
        ('{"justification": "", "score": "85"}', Reason.OFF_MENU),
        ('{"justification": "", "score": 10.000001}', Reason.OFF_MENU),
        ('{"justification": "", "score": "7/10"}', Reason.MALFORMED),
        ('{"justification": "", "score": "seven"}', Reason.MALFORMED),
        ('{"justification": "", "score": "٧"}', Reason.MALFORMED),
        ('{"justification": "", "score": "inf"}', Reason.MALFORMED),
        ('{"justification": "", "score": ""}', Reason.MALFORMED),
        ('{"justification": "", "score": true}', Reason.MALFORMED),
        ('{"justification": "", "score": null}', Reason.MALFORMED),
        ('{"justification": "", "score": NaN}', Reason.MALFORMED),
        ('{"justification": ""}', Reason.MALFORMED),
        ('{"score": 7}', Reason.MALFORMED),
        ('{"justification": 7, "score": 7}', Reason.MALFORMED),
        ('{"justification": "", "score": 7,,}', Reason.MALFORMED),
        ("{,}", Reason.MALFORMED),
        ("7", Reason.MALFORMED),
        ('{"justification": "One fin', Reason.TRUNCATED),
    ],
)
def test_replies_that_do_not_follow_the_grammar_say_why(reply, reason):
    assert parse_prism(reply).reason == reason


@pytest.mark.parametrize("score", [-0.1, 10.1, float("nan"), float("inf")])
def test_a_score_off_the_scale_cannot_be_made(score):
    with pytest.raises(InputError, match="between 0 and 10"):
        PrismAnswer(score)
