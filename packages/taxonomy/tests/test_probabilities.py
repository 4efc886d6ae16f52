"""Probabilities of a menu's answers: hostile tokens first; each token once; white space is a step, not an answer."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_taxonomy.answers import answer_probabilities, value_probabilities
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Token

YES_NO = {"yes": ["yes"], "no": ["no"]}
MARKS = {str(mark): [str(mark), word] for mark, word in enumerate(("zero", "one", "two", "three", "four", "five"))}

WORDS = st.sampled_from(["yes", " Yes", "YES", "no", "No.", "", " ", "\n", "**", "1", "one", "10", "The", "nan", "\ud800", "-"])
LOGPROBS = st.one_of(st.floats(), st.floats(-5.0, 0.0))
TOKENS = st.lists(st.builds(Token, WORDS, LOGPROBS, st.lists(st.tuples(WORDS, LOGPROBS), max_size=8).map(tuple)), max_size=5)


def token(*pairs: tuple[str, float]) -> Token:
    """Return the token that was drawn first, with its alternatives."""
    return Token(pairs[0][0], math.log(pairs[0][1]), tuple((text, math.log(share)) for text, share in pairs))


@given(TOKENS, st.sampled_from([YES_NO, MARKS]))
def test_no_tokens_give_more_than_all_probability_or_less_than_none(tokens, menu):
    found = answer_probabilities(tokens, menu)
    assert list(found.shares) == list(menu)
    assert all(0 <= share <= 1 for share in found.shares.values())
    assert math.fsum(found.shares.values()) <= 1 + 1e-9
    assert found.other == pytest.approx(max(0.0, 1 - math.fsum(found.shares.values())), abs=1e-9)


@given(TOKENS, st.integers())
def test_the_order_of_alternatives_and_answers_changes_nothing(tokens, seed):
    shuffled = [
        Token(each.text, each.logprob, tuple(random.Random(seed).sample(each.alternatives, len(each.alternatives))))
        for each in tokens
    ]
    turned = dict(reversed(MARKS.items()))
    assert answer_probabilities(shuffled, turned).shares == answer_probabilities(tokens, MARKS).shares


@given(st.dictionaries(st.sampled_from(["yes", " Yes", "YES", "no", " no", "maybe", "The"]), st.floats(0.01, 1.0), min_size=1))
def test_the_shares_are_the_sums_over_spellings(weights):
    whole = sum(weights.values())
    shares = {text: weight / whole for text, weight in weights.items()}
    found = answer_probabilities([token(*shares.items())], YES_NO)
    for answer in ("yes", "no"):
        wanted = sum(share for text, share in shares.items() if text.strip().lower() == answer)
        assert found.shares[answer] == pytest.approx(wanted, abs=1e-9)


def test_the_drawn_token_counts_once_whether_or_not_it_is_an_alternative():
    alone = Token("Yes", math.log(0.6), (("No", math.log(0.3)),))
    among = Token("Yes", math.log(0.6), (("Yes", math.log(0.6)), ("Yes", math.log(0.6)), ("No", math.log(0.3))))
    for one in (alone, among):
        assert answer_probabilities([one], YES_NO).shares == {"yes": 0.6, "no": 0.3}


def test_white_space_and_markup_before_the_answer_are_a_step_on_the_way():
    two = [token((" ", 0.9), ("2", 0.1)), token(("**", 0.5), ("2", 0.5)), token(("2", 0.8), ("3", 0.2))]
    found = answer_probabilities(two, MARKS)
    assert found.shares["2"] == pytest.approx(0.1 + 0.9 * 0.5 + 0.9 * 0.5 * 0.8)
    assert found.shares["3"] == pytest.approx(0.9 * 0.5 * 0.2)
    assert found.word == "2"


@for_each(
    ("drawn", "behind", "word"),
    [("1", "0", "10"), ("no", "body", "nobody"), ("four", "teen", "fourteen"), ("1", ".5", "1.5"), ("1", "-3", "1-3")],
)
def test_a_word_that_goes_on_is_no_answer(drawn, behind, word):
    found = answer_probabilities([token((drawn, 0.9), (f" {drawn}", 0.1)), token((behind, 1.0))], {**MARKS, **YES_NO})
    answer = {"four": "4"}.get(drawn, drawn)
    assert found.shares[answer] == pytest.approx(0.1)
    assert found.word == word


@for_each("behind", [".", ", it is", " and more", "", "\n", "/5", "**", "▁the", "Ġthe"])
def test_a_word_that_ends_is_an_answer(behind):
    assert answer_probabilities([token(("4", 0.9)), Token(behind, 0.0)], MARKS).shares["4"] == pytest.approx(0.9)


@for_each("text", ["-4", "-", ".4", "44", "4.5", "4%", "yesterday", "The"])
def test_other_words_are_no_answers(text):
    assert answer_probabilities([token((text, 1.0))], {**MARKS, **YES_NO}).other == 1


@for_each("text", ["4", " 4", "▁4", "Ġ4", "**4**", "(4)", "4.", "Four", "four,", "FOUR\n"])
def test_every_spelling_is_an_answer(text):
    assert answer_probabilities([token((text, 1.0))], MARKS).shares["4"] == 1


def test_prose_is_not_searched_and_nothing_is_found_in_nothing():
    prose = [token(("There", 1.0)), token((" is", 1.0)), token((" no", 1.0)), token((" cat", 1.0))]
    assert (answer_probabilities(prose, YES_NO).other, answer_probabilities(prose, YES_NO).word) == (1, "there")
    for nothing in ([], [token((" ", 1.0))], [Token("yes", math.nan)], [Token("yes", -math.inf)]):
        assert answer_probabilities(nothing, YES_NO).other == 1


def test_a_menu_in_which_one_answer_begins_another_is_refused():
    with pytest.raises(InputError, match="'1' from '10'"):
        answer_probabilities([], {str(mark): [str(mark)] for mark in range(1, 11)})
    with pytest.raises(InputError, match="'six' from 'sixteen'"):
        answer_probabilities([], {"16": ["sixteen"], "6": ["six"]})
    assert answer_probabilities([], {"yes": ["y", "yes"], "no": ["n", "no"]}).other == 1


SIDES = {"left": ["left"], "right": ["right"], "tie": ["both"]}
OBJECT = '{"reason": "The \\"verdict\\": left.", "verdict": "left"}'


@given(st.sets(st.integers(1, len(OBJECT) - 1)), st.sampled_from(["", "Here:\n```json\n"]), st.sampled_from(["", "\n```"]))
def test_a_value_is_found_however_the_reply_is_cut_into_tokens(cuts: set[int], before: str, behind: str) -> None:
    """The token with the word has an alternative with another word; one that is cut within the word has none."""
    ends = sorted(cuts | {0, len(OBJECT)})
    texts = [OBJECT[start:end] for start, end in pairwise(ends)]
    at = OBJECT.rindex("left")
    place = next((number for number, start in enumerate(ends[:-1]) if start <= at and at + 4 <= ends[number + 1]), None)
    tokens = [Token(text, 0.0, ((text, 0.0),)) for text in texts]
    if place is not None:
        other = texts[place][: at - ends[place]] + "right" + texts[place][at - ends[place] + 4 :]
        one, two = (texts[place], math.log(0.7)), (other, math.log(0.3))
        tokens[place] = Token(*one, (one, two))
    reply = [*([Token(before, 0.0)] if before else []), *tokens, *([Token(behind, 0.0)] if behind else [])]
    found = value_probabilities(reply, "verdict", SIDES)
    assert found is not None
    if place is not None and not texts[place][: at - ends[place]].strip(' ":'):
        assert found.shares == {"left": pytest.approx(0.7), "right": pytest.approx(0.3), "tie": 0.0}
        assert found.word == "left"
    else:
        assert math.fsum(found.shares.values()) == 0.0


@for_each("text", ["", "left", "verdict: left", '{"verdict"', "[]", '{"verdict":'])
def test_without_the_key_or_a_value_there_are_no_shares(text: str) -> None:
    found = value_probabilities([Token(text, -0.1)] if text else [], "verdict", SIDES)
    assert found is None or math.fsum(found.shares.values()) == 0.0
