"""R³'s grammar: verdict, explanation, edit instruction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.answers import Note, Parsed, R3Answer, parse_r3, render_r3
from salon_taxonomy.answers.r3 import _answer, _parsed, _released_answer
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, r3_answers, reasonings, spoiled
from salon_taxonomy.verdict import Reason

FULL = '{"answer": false, "explanation": "Two lemons.", "edit_prompt": "Add one."}'
ANSWER = R3Answer(False, "Two lemons.", "Add one.")


@given(answer=r3_answers(), reasoning=reasonings())
def test_what_is_rendered_is_read_back(answer, reasoning):
    outcome = parse_r3(render_r3(answer, reasoning))
    assert (outcome.answer, outcome.reasoning, outcome.notes) == (answer, reasoning, ())


@pytest.mark.parametrize("text", ["see <think>", "</THINK> {", "a < b", '"}', "\\boxed{"])
def test_texts_that_look_like_grammar_survive(text):
    answer = R3Answer(False, text, text)
    assert parse_r3(render_r3(answer, "So.")).answer == answer


@pytest.mark.parametrize(
    ("reply", "notes"),
    [
        (FULL, ()),
        (f"```json\n{FULL}\n```", (Note.FENCED,)),
        (f"```json\n{FULL}\n``` Anything else?", (Note.SURROUNDED,)),
        (f"Here it is:\n{FULL}\nAnything else?", (Note.SURROUNDED,)),
        (f'The set {{a, b}} of 5 " lemons; {FULL}', (Note.SURROUNDED,)),
        (f'{{"answer": true}} {FULL}', (Note.SURROUNDED,)),
        (f"Open {{ first: {FULL}", (Note.SURROUNDED, Note.UNFINISHED)),
        (f'{FULL} and {{"answer": tr', (Note.SURROUNDED, Note.UNFINISHED)),
        (FULL.replace("}", ', "confidence": {"of": "{"}}'), (Note.EXTRA_KEYS,)),
    ],
)
def test_the_last_whole_object_counts_wherever_it_stands(reply, notes):
    outcome = parse_r3(reply)
    assert (outcome.answer, outcome.notes) == (ANSWER, notes)


@pytest.mark.parametrize("reply", ['{"answer": true}', '{"answer": true, "explanation": null, "edit_prompt": null}'])
def test_a_match_needs_no_explanation(reply):
    assert parse_r3(reply).answer == R3Answer(True)


def test_blank_texts_are_read_as_they_are():
    assert parse_r3('{"answer": false, "explanation": "", "edit_prompt": " "}').answer == R3Answer(False, "", " ")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"answer": "maybe", "explanation": "", "edit_prompt": ""}', Reason.OFF_MENU),
        ('{"answer": "true", "explanation": "", "edit_prompt": ""}', Reason.OFF_MENU),
        ('{"answer": 0, "explanation": "", "edit_prompt": ""}', Reason.OFF_MENU),
        ('{"explanation": "", "edit_prompt": ""}', Reason.MALFORMED),
        ('{"answer": false}', Reason.MALFORMED),
        ('{"answer": false, "explanation": "x", "edit_prompt": null}', Reason.MALFORMED),
        ('{"answer": false, "explanation": ["x"], "edit_prompt": ""}', Reason.MALFORMED),
        ('{"answer": true, "explanation": 3}', Reason.MALFORMED),
        ("{'answer': true}", Reason.MALFORMED),
        ("{}", Reason.MALFORMED),
        ("false", Reason.MALFORMED),
        (FULL[:-1], Reason.TRUNCATED),
        (FULL[:30], Reason.TRUNCATED),
        ('{"answer": false, "explanation": {"a": 1}, "edit', Reason.TRUNCATED),
    ],
)
def test_replies_that_do_not_follow_the_grammar_say_why(reply, reason):
    assert parse_r3(reply).reason == reason


def test_reasoning_with_a_think_tag_cannot_be_rendered():
    with pytest.raises(InputError, match="think tag"):
        render_r3(R3Answer(True), "a <think> b")


r3_replies = st.builds(render_r3, r3_answers(), st.none() | reasonings())


@given(reply=r3_replies | spoiled(r3_replies))
def test_the_short_way_to_r3s_answer_is_the_long_one(reply):
    assert parse_r3(reply) == _parsed(reply, _answer)
    assert parse_r3(reply, fidelity="released") == _parsed(reply, _released_answer)


@pytest.mark.parametrize(
    "reply",
    [
        '<think>a</think>{"answer": true, "explanation": "a } brace", "edit_prompt": ""}',
        '<think>a</think>{"answer": true, "more": 1}',
        '<think>a</think>{"answer": "true"}',
        '<think>a</think>{"answer": false, "explanation": "\\ud800", "edit_prompt": "\\\\ud800"}',
        '<think>a</think>{"answer": false, "answer": true}',
        '<think>a</think>{"answer": true}{"answer": false',
        ' <think> a </think>\n{"answer": true} ',
        '<think>a</think>{"answer": true, "explanation": "unclosed}',
        '\u2003<think>\u2003手\u2003</think>\x1c{"answer": true}\x85',
        *HOSTILE_REPLIES,
    ],
    ids=range(9 + len(HOSTILE_REPLIES)),
)
def test_the_short_way_to_r3s_answer_is_the_long_one_where_they_might_part(reply):
    assert parse_r3(reply) == _parsed(reply, _answer)
    assert parse_r3(reply, fidelity="released") == _parsed(reply, _released_answer)


@pytest.mark.parametrize("spaced", ["{}", "  {}\\n"])
@pytest.mark.parametrize(
    ("instruction", "taken"),
    [
        ("Add a lemo", False),  # ten signs
        ("Add a lemon", True),
        ("Two lemons..", False),  # no verb of editing, and short
        ("Two lemons there, ok", True),  # twenty signs need none
        ("Two lemons there ok", False),
        ("We remove it", True),
        ("Remain unchanged", False),
        ("remain unchanged.", True),  # as in the script: not the template, and "change" is in it
        ("Remain unchanged here", True),
        ("Add a Location-Specific editing instruction", False),
        ("", False),
    ],
)
def test_the_script_takes_a_false_answer_with_an_instruction_that_can_be_carried_out(instruction, taken, spaced):
    reply = f'{{"answer": false, "explanation": "x", "edit_prompt": "{spaced.format(instruction)}"}}'
    assert isinstance(parse_r3(reply, fidelity="released"), Parsed) is taken
    assert isinstance(parse_r3(reply), Parsed)
    aligned = reply.replace("false", "true")
    assert parse_r3(aligned, fidelity="released").answer.matches  # a match needs no instruction
