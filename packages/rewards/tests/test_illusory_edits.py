"""Illusory rectification: how well the rules tell the prompt's rewriting from the picture's, and what they do with any text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_rewards import illusory
from salon_taxonomy.testing import HOSTILE_REPLIES

ROWS = [json.loads(line) for line in (Path(__file__).parent / "illusory_instructions.jsonl").read_text().splitlines()]


def counts(split: str) -> tuple[int, int, int, int]:
    """True positives, false positives, false negatives, true negatives."""
    found = [(row["illusory"], illusory(row["text"]) is not None) for row in ROWS if row["split"] == split]
    return tuple(found.count(pair) for pair in ((True, True), (False, True), (True, False), (False, False)))


def test_the_labelled_set_has_both_kinds_in_both_splits_and_no_instruction_twice() -> None:
    assert len(ROWS) == len({row["text"] for row in ROWS}) == 168
    assert {(row["illusory"], row["split"]) for row in ROWS} == {
        (kind, split) for kind in (True, False) for split in ("development", "held-out")
    }


def test_the_counts_are_those_that_the_docs_print() -> None:
    assert counts("development") == (47, 0, 1, 44)
    assert counts("held-out") == (35, 0, 1, 40)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Replace two bowls with two plates in the prompt.", "rewritten"),
        ("The caption should mention the dog.", "ought"),
        ("New prompt: a blue star", "given_anew"),
        ("In the prompt, swap left for right.", "given_anew"),
    ],
)
def test_a_finding_names_its_rule(text: str, rule: str) -> None:
    found = illusory(text)
    assert found is not None
    assert found.rule == rule
    assert found.words


@pytest.mark.parametrize(
    "text",
    [
        "Replace the plates with bowls, as the prompt asks.",
        "Change the text on the sign to OPEN.",
        "Show a command prompt on the screen.",
        'Write "change the prompt" on the wall.',
    ],
)
def test_words_in_the_picture_and_reasons_from_the_prompt_are_no_rewriting(text: str) -> None:
    assert illusory(text) is None


@pytest.mark.parametrize("text", HOSTILE_REPLIES)
def test_a_hostile_instruction_never_raises(text: str) -> None:
    illusory(text)


@given(st.text())
def test_any_text_gets_a_finding_or_none(text: str) -> None:
    found = illusory(text)
    assert found is None or found.rule in {"rewritten", "ought", "given_anew"}
