"""MagicMirror's grammar: the box, the released validity rule, both spellings of the key."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.answers import (
    MAGICMIRROR_MENU,
    Artifact,
    MagicMirrorAnswer,
    Note,
    magicmirror_json,
    parse_magicmirror,
    parse_magicmirror_json,
    render_magicmirror,
)
from salon_taxonomy.answers.magicmirror import _parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.taxonomy import Taxonomy
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers, reasonings, spoiled, text
from salon_taxonomy.verdict import Reason

HUMAN = "L2: Abnormal Human Anatomy"
HAND = "L3: Hand Structure Deformity"
OBJECT = "L2: Abnormal Object Morphology"


def boxed(value: object) -> str:
    return f"<think>Looking.</think>\\boxed{{{value if isinstance(value, str) else json.dumps(value)}}}"


def artifact(labels: object, key: str = "Type of Deformity") -> str:
    return boxed({"Whether Normal": False, key: labels})


def test_the_menu_has_six_l2_and_seventeen_l3_labels():
    assert [len(l3) for l3 in MAGICMIRROR_MENU.values()] == [4, 3, 7, 3, 0, 0]
    assert len({label for l3 in MAGICMIRROR_MENU.values() for label in l3}) == 17


@given(answer=magicmirror_answers(), reasoning=reasonings())
def test_what_is_rendered_is_read_back(answer, reasoning):
    outcome = parse_magicmirror(render_magicmirror(answer, reasoning))
    assert (outcome.answer, outcome.reasoning) == (answer, reasoning)
    assert outcome.notes == (() if answer.normal else (Note.RELEASED_KEY,))
    assert parse_magicmirror_json(magicmirror_json(answer)).answer == answer


@pytest.mark.parametrize(("key", "note"), [("Type of Deformity", Note.RELEASED_KEY), ("Type of Abnormality", Note.PAPER_KEY)])
def test_both_spellings_of_the_key_are_read_and_written_and_told_apart(key, note):
    answer = MagicMirrorAnswer(False, (Artifact(HUMAN, (HAND,)),))
    outcome = parse_magicmirror(render_magicmirror(answer, key=key))
    assert (outcome.answer, outcome.notes) == (answer, (note,))


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        ({}, ()),
        ({OBJECT: True}, (Artifact(OBJECT),)),
        ({HUMAN: []}, (Artifact(HUMAN),)),
        ({OBJECT: True, HUMAN: [HAND]}, (Artifact(OBJECT), Artifact(HUMAN, (HAND,)))),
    ],
)
def test_valid_answers_by_the_released_rule(labels, answer):
    assert parse_magicmirror(artifact(labels)).answer == MagicMirrorAnswer(False, answer)


@pytest.mark.parametrize("value", [False, None, 0, "x", [], {"a": []}])
def test_a_label_without_children_takes_any_value_and_the_odd_ones_are_noted(value):
    outcome = parse_magicmirror(artifact({OBJECT: value}))
    assert outcome.answer.artifacts == (Artifact(OBJECT),)
    assert Note.CHILDLESS_VALUE in outcome.notes


def test_a_repeated_l3_label_counts_once_and_is_noted():
    outcome = parse_magicmirror(artifact({HUMAN: [HAND, HAND]}))
    assert outcome.answer.artifacts == (Artifact(HUMAN, (HAND,)),)
    assert Note.REPEATED_LABEL in outcome.notes


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (boxed({"Whether Normal": "true"}), Reason.OFF_MENU),
        (boxed({"Whether Normal": 1}), Reason.OFF_MENU),
        (boxed({"Whether Normal": None}), Reason.OFF_MENU),
        (boxed({"Whether Normal": True, "Type of Deformity": {}}), Reason.MALFORMED),
        (boxed({"Whether Normal": False}), Reason.MALFORMED),
        (boxed({"Whether Normal": False, "Type of Deformity": {}, "Type of Abnormality": {}}), Reason.MALFORMED),
        (boxed({"Whether Normal": False, "Type of Deformity": {}, "why": ""}), Reason.MALFORMED),
        (boxed({"Whether Normal": False, "type of deformity": {}}), Reason.MALFORMED),
        (boxed({"whether normal": True}), Reason.MALFORMED),
        (boxed([]), Reason.MALFORMED),
        (boxed("true"), Reason.MALFORMED),
        (boxed('{"Whether Normal": True}'), Reason.MALFORMED),
        (boxed('{"Whether Normal": true, "Whether Normal": true}'), Reason.MALFORMED),
        (boxed(""), Reason.MALFORMED),
        (artifact([HUMAN]), Reason.MALFORMED),
        (artifact(True), Reason.MALFORMED),
        (artifact({HUMAN: True}), Reason.MALFORMED),
        (artifact({HUMAN: HAND}), Reason.MALFORMED),
        (artifact({HUMAN: [3]}), Reason.MALFORMED),
        (artifact({HUMAN: [[HAND]]}), Reason.MALFORMED),
        (artifact({"Abnormal Human Anatomy": [HAND]}), Reason.OFF_MENU),
        (artifact({"L2: Melting Faces": []}), Reason.OFF_MENU),
        (artifact({HAND: []}), Reason.OFF_MENU),
        (artifact({HUMAN: ["L3: Sixth Finger"]}), Reason.OFF_MENU),
        (artifact({"L2: Abnormal Animal Anatomy": [HAND]}), Reason.OFF_MENU),
        ('<think>Fine.</think>{"Whether Normal": true}', Reason.MALFORMED),
        (r'<think>Fine. \boxed{{"Whether Normal": true}}</think>', Reason.EMPTY),
        (r'<think>Fine. \boxed{{"Whether Normal": true}}</think>So it is.', Reason.MALFORMED),
    ],
)
def test_invalid_answers_by_the_released_rule(reply, reason):
    assert parse_magicmirror(reply).reason == reason


replies = st.tuples(magicmirror_answers(), reasonings(), st.sampled_from(["Type of Deformity", "Type of Abnormality"])).map(
    lambda made: render_magicmirror(made[0], made[1], key=made[2])
)


@given(reply=replies | spoiled(replies) | text)
def test_the_shorter_way_for_replies_as_they_are_asked_for_reads_what_the_general_one_reads(reply):
    assert parse_magicmirror(reply) == _parsed(reply)


@pytest.mark.parametrize(
    "reply",
    [
        '<think></think>\\boxed{{"Whether Normal": true}}',
        ' <think> a\ud800 </think> \\boxed{ {"Whether Normal": true} } ',
        '\u2003<think>\u2003手\u2003</think>\x1c\\boxed{{"Whether Normal": true}}\x85',
        '<think>a</think>\\boxed{{"Whether Normal": true} {}}',
        '<think>a</think>\\boxed{{"Whether Normal": true}}}',
        '<think>a</think>\\boxed{{"Whether Normal": false, "Type of Deformity": {}}}' + " " * 2_000,
        "<think>a</think>\\boxed{" + " " * 2_000 + '{"Whether Normal": true}}',
        *HOSTILE_REPLIES,
    ],
    ids=range(7 + len(HOSTILE_REPLIES)),
)
def test_both_ways_agree_on_the_edge_of_what_is_asked_for(reply):
    assert parse_magicmirror(reply) == _parsed(reply)


def test_the_last_box_counts():
    reply = r'Not \boxed{{"Whether Normal": true}} but \boxed{{"Whether Normal": false, "Type of Deformity": {}}}.'
    outcome = parse_magicmirror(reply)
    assert not outcome.answer.normal
    assert outcome.notes == (Note.SURROUNDED, Note.RELEASED_KEY)


def test_the_last_box_counts_even_when_an_earlier_one_was_valid():
    assert parse_magicmirror(r'\boxed{{"Whether Normal": true}} \boxed{dunno}').reason == Reason.MALFORMED


def test_a_box_that_never_closes_gives_way_to_the_last_that_does_and_is_noted():
    outcome = parse_magicmirror(r'\boxed{{"Whether Normal": true}} or \boxed{{"Whether Nor')
    assert outcome.answer.normal
    assert Note.UNFINISHED in outcome.notes


def test_a_broken_off_reply_whose_closed_box_is_no_answer_is_truncated():
    assert parse_magicmirror(r'\boxed{answer} or \boxed{{"Whether Nor').reason == Reason.TRUNCATED


def test_bare_labels_are_read_from_a_data_set_column():
    assert parse_magicmirror_json(' {"Whether Normal": true}\n').answer.normal
    assert parse_magicmirror_json("\n").reason == Reason.EMPTY
    assert parse_magicmirror_json(boxed({"Whether Normal": True})).reason == Reason.MALFORMED


@pytest.mark.parametrize(
    "make",
    [
        lambda: Artifact("L2: Melting Faces"),
        lambda: Artifact(OBJECT, (HAND,)),
        lambda: Artifact("L2: Abnormal Animal Anatomy", (HAND,)),
        lambda: Artifact(HUMAN, (HAND, HAND)),
        lambda: MagicMirrorAnswer(True, (Artifact(HUMAN),)),
        lambda: MagicMirrorAnswer(False, (Artifact(HUMAN), Artifact(HUMAN, (HAND,)))),
        lambda: render_magicmirror(MagicMirrorAnswer(True), "a </THINK> b"),
        lambda: magicmirror_json(MagicMirrorAnswer(True), key="Type"),
    ],
)
def test_answers_that_the_grammar_cannot_say_are_refused_when_they_are_made(make):
    with pytest.raises(InputError):
        make()


def test_the_menu_is_the_taxonomys():
    taxonomy = Taxonomy.load("magicmirror")
    spelled = {l2.answer: tuple(l3.answer for l3 in taxonomy.children(l2.id)) for l2 in taxonomy.tier("L2")}
    assert spelled == dict(MAGICMIRROR_MENU)
    assert list(spelled) == list(MAGICMIRROR_MENU)
