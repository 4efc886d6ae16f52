"""Reasoning against answer: how well the reader does on a labelled set, and what it does with any text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards.monitors import Contradiction, FaultClaim, claimed, claimed_match, contradiction
from salon_rewards.monitors.lexicon import ATTRIBUTES, FLAWS, INTERACTION, OTHER, PHRASES, SOUND, SUBJECTS
from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, R3Answer
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers

ROWS = [json.loads(line) for line in (Path(__file__).parent / "contradictions.jsonl").read_text(encoding="utf-8").splitlines()]
NORMAL = MagicMirrorAnswer(normal=True)


def answer(row: dict) -> MagicMirrorAnswer:
    return MagicMirrorAnswer(not row["labels"], tuple(Artifact(label) for label in row["labels"]))


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_reasoning_never_raises(text: str) -> None:
    claimed(text)
    contradiction(text, NORMAL)
    assert claimed_match(text) in (True, False, None)
    contradiction(text, R3Answer(True))


@given(text=st.text(), answer=magicmirror_answers())
def test_any_text_is_read_or_left_unread(text: str, answer: MagicMirrorAnswer) -> None:
    assert claimed(text).kinds <= MAGICMIRROR_MENU.keys()
    contradiction(text, answer)


def counts(split: str) -> tuple[int, int, int, int, int]:
    """True positives, false positives, false negatives, true negatives, and true positives of the right kind."""
    found = [(row["contradiction"], contradiction(row["reasoning"], answer(row))) for row in ROWS if row["split"] == split]
    pairs = [(wanted is not None, given is not None) for wanted, given in found]
    outcome = [pairs.count(pair) for pair in ((True, True), (False, True), (True, False), (False, False))]
    return (*outcome, sum(wanted is not None and wanted == given for wanted, given in found))


def test_the_labelled_set_has_every_kind_in_both_halves_and_nothing_twice() -> None:
    assert len(ROWS) == len({(row["reasoning"], *row["labels"]) for row in ROWS}) == 137
    assert {(row["split"], row["contradiction"]) for row in ROWS} == {
        (split, kind) for split in ("development", "held-out") for kind in (None, "sound", "flawed", "other_kind")
    }
    halves = [{row["reasoning"] for row in ROWS if row["split"] == split} for split in ("development", "held-out")]
    assert halves[0].isdisjoint(halves[1])


def test_the_counts_are_those_that_the_docs_print() -> None:
    assert counts("development") == (24, 0, 1, 43, 24)
    assert counts("held-out") == (27, 1, 1, 40, 27)


@pytest.mark.parametrize(
    ("text", "flawed"),
    [
        ("The hand is not deformed.", False),
        ("The hand is not natural.", True),
        ("The dog has no tail.", True),
        ("There is no dog in the picture.", None),
        ("I checked whether the hand is deformed.", None),
        ("The hand seemed deformed, but it is a glove, so all is normal.", False),
        ("Overall it looks normal, but the hand is deformed.", True),
        ("", None),
    ],
)
def test_negation_supposition_and_conclusion_are_heard(text: str, flawed: bool | None) -> None:
    assert claimed(text).flawed is flawed


def test_kinds_come_from_what_the_clause_is_about_or_from_the_clause_before() -> None:
    assert claimed("The cup floats.").kinds == {"L2: Abnormal Object Morphology", INTERACTION} or claimed(
        "The cup floats."
    ).kinds >= {INTERACTION}
    assert claimed("The dog runs. It looks deformed.").kinds == {"L2: Abnormal Animal Anatomy"}
    assert claimed("The texture is unnatural.") == FaultClaim(True, frozenset({ATTRIBUTES}))


def test_an_answer_without_labels_or_with_the_last_resort_names_no_other_kind() -> None:
    text = "The hand has six fingers."
    assert contradiction(text, MagicMirrorAnswer(False)) is None
    assert contradiction(text, MagicMirrorAnswer(False, (Artifact(OTHER),))) is None


def test_the_lexicon_speaks_of_labels_of_the_menu_and_says_nothing_twice() -> None:
    kinds = {*SUBJECTS.values(), *FLAWS.values(), *PHRASES.values()} - {None}
    assert kinds <= MAGICMIRROR_MENU.keys()
    assert SOUND.isdisjoint(FLAWS)


# ------------------------------------------------------------------------------------------------------------- refiners

CLAIMS = [json.loads(line) for line in (Path(__file__).parent / "match_claims.jsonl").read_text(encoding="utf-8").splitlines()]


def test_refiners_thoughts_are_read_as_the_docs_print() -> None:
    for split, right, unread in (("development", 27, 1), ("held-out", 25, 3)):
        rows = [row for row in CLAIMS if row["split"] == split]
        read = [(claimed_match(row["reasoning"]), row["matches"]) for row in rows]
        assert len(rows) == len({row["reasoning"] for row in rows}) == 28
        assert (sum(one is other for one, other in read), sum(one is None is not other for one, other in read)) == (
            right,
            unread,
        )
    assert {row["matches"] for row in CLAIMS} == {True, False, None}


@given(text=st.text(alphabet="not missing matches., as asked instead of so wrong", max_size=80), matches=st.booleans())
def test_no_thought_contradicts_both_verdicts(text: str, matches: bool) -> None:
    both = {contradiction(text, R3Answer(matches)), contradiction(text, R3Answer(not matches))}
    assert None in both
    assert both <= {None, Contradiction.SOUND, Contradiction.FLAWED}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("The cat is there, but the dog is missing.", False),
        ("The dog seemed to be missing, but all is as asked.", True),
        ("The hat is wrong. It is not wrong after all, so it matches.", True),
        ("It is correct. No, the lamp is absent.", False),
        ("Does it match?", None),
        ("", None),
    ],
)
def test_a_refiners_negation_supposition_and_conclusion_are_heard(text: str, matches: bool | None) -> None:
    assert claimed_match(text) is matches


@for_each("between", range(8))
def test_a_negation_reaches_over_four_words(between: int) -> None:
    """Of what fits, of what fails and of what is there; a text of its own for each, as one "fails" outweighs a "fits"."""
    near, words = between < 4, "a " * between
    assert claimed_match(f"It is not {words}correct.") is not near
    assert claimed_match(f"It is not {words}missing.") is near
    assert claimed_match(f"There is not {words}present.") is not near
    assert claimed_match(f"It is not {words}too few.") is near
    assert claimed_match(f"It does not {words}show a dog.") is (False if near else None)


@for_each(
    ("part", "usual", "odd"),
    [
        ("fingers", (5, 10), (6, 9)),
        ("toes", (5, 10), (6, 9)),
        ("thumbs", (1, 2), (3, 5)),
        ("arms", (1, 2), (3, 6)),
        ("heads", (1,), (2, 3)),
        ("legs", (2, 4, 8), (3, 5, 6, 7)),
        ("tails", (1,), (2, 4)),
        ("wings", (2, 4), (3, 5)),
        ("eyes", (1, 2), (3, 5)),
    ],
)
def test_a_number_of_parts_is_a_fault_where_no_body_has_so_many(part: str, usual: tuple[int], odd: tuple[int]) -> None:
    for number in range(13):
        assert {claimed(f"It has {spelled} {part}.").flawed for spelled in (number, WORDS[number])} <= {True, None}
        if number in usual + odd:
            assert claimed(f"It has {number} {part}.").flawed is (True if number in odd else None), number
        assert claimed(f"It has {number} {part}.") == claimed(f"It has {WORDS[number]} {part}.")


WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


@for_each("between", range(8))
def test_an_assessors_negation_reaches_over_five_words(between: int) -> None:
    words = "a " * between
    assert claimed(f"The hand is not {words}normal.").flawed is (between < 5)
    assert claimed(f"The hand is not {words}deformed.").flawed is (between >= 5)
