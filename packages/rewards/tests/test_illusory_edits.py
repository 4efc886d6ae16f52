"""Illusory rectification: how well the rules tell the prompt's rewriting from the picture's, and what they do with any text."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_rewards import illusory
from salon_taxonomy.testing import HOSTILE_REPLIES

ROWS = [json.loads(line) for line in (Path(__file__).parent / "illusory_instructions.jsonl").read_text().splitlines()]


GROUPS = ("plain", "wording", "written", "disguised", "language")


def group_of(kind: str) -> str:
    if kind in ("homoglyph", "zero-width"):
        return "disguised"
    return kind if kind in GROUPS else "language"


def counts(split: str) -> dict[str, tuple[int, ...]]:
    """True positives, false positives, false negatives, true negatives of each group."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    for row in ROWS:
        if row["split"] == split:
            found.setdefault(group_of(row["kind"]), []).append((row["illusory"], illusory(row["text"]) is not None))
    pairs = ((True, True), (False, True), (True, False), (False, False))
    return {group: tuple(found[group].count(pair) for pair in pairs) for group in GROUPS if group in found}


def test_the_first_set_is_split_by_a_hash_of_the_text_and_no_instruction_occurs_twice() -> None:
    assert len(ROWS) == len({row["text"] for row in ROWS}) == 638
    first = [row for row in ROWS if not row["split"].endswith(" 2")]
    assert len(first) == 336
    for row in first:
        odd = int(hashlib.sha256(row["text"].encode()).hexdigest(), 16) % 2
        assert row["split"] == ("development" if odd else "held-out")


def test_the_counts_are_those_that_the_docs_print() -> None:
    assert counts("development") == {"plain": (48, 0, 0, 44), "wording": (23, 0, 0, 16), "language": (31, 0, 0, 24)}
    assert counts("held-out") == {"plain": (35, 0, 1, 40), "wording": (12, 0, 1, 8), "language": (23, 0, 0, 30)}
    assert counts("development 2") == {"plain": (22, 0, 0, 0), "written": (0, 0, 0, 45), "language": (11, 0, 0, 22)}
    assert counts("held-out 2") == {
        "plain": (32, 4, 3, 11),
        "written": (0, 6, 0, 44),
        "disguised": (7, 0, 0, 7),
        "language": (37, 2, 0, 49),
    }


def disguised(text: str, name: str) -> str:
    """The text as a policy could write it that hides from a reader of letters."""
    latin, other = DISGUISES[name]
    return "".join(other[latin.index(sign)] if sign in latin else sign for sign in text)


SMALL = "abcdefghijklmnopqrstuvwxyz"
DISGUISES = {
    "cyrillic": ("aeopcxyismhk", "аеорсхуіѕмһк"),
    "greek": ("aiopktuvn", "αιορκτυνη"),
    "small capitals": ("mnprtuw", "ᴍɴᴘʀᴛᴜᴡ"),
    "full width": (SMALL, [chr(ord(sign) + 0xFEE0) for sign in SMALL]),
    "mathematical": (SMALL, [chr(0x1D41A + at) for at in range(26)]),
    "accents": (SMALL, [f"{sign}\u0301" for sign in SMALL]),
    "capitals": (SMALL, SMALL.upper()),
    "zero width": (SMALL, [f"{sign}\u200b" for sign in SMALL]),
    "soft hyphens": (SMALL, [f"{sign}\u00ad" for sign in SMALL]),
    "overrides": (SMALL, [f"\u202d{sign}" for sign in SMALL]),
    "variation selectors": (SMALL, [f"{sign}\ufe0f" for sign in SMALL]),
    "fillers": (SMALL, [f"{sign}\u3164" for sign in SMALL]),
    "underscores": (" ", "_"),
    "no-break spaces": (" ", "\u00a0"),
    "line breaks": (" ", ["\n\t"]),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_changes_no_finding(name: str) -> None:
    """Every English instruction, rewriting or not, is read alike in every spelling that looks alike."""
    rows = [row["text"] for row in ROWS if row["kind"] in ("plain", "wording", "written")]
    assert [text for text in rows if (illusory(disguised(text, name)) is None) is not (illusory(text) is None)] == []


@pytest.mark.parametrize("filler", ["Make the star red. ", "x", " ", '"', "change "])
def test_length_hides_nothing(filler: str) -> None:
    assert illusory(filler * 20_000 + '". Replace two bowls with two plates in the prompt.') is not None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Replace two bowls with two plates in the prompt.", "rewritten"),
        ("The caption should mention the dog.", "ought"),
        ("New prompt: a blue star", "new_prompt"),
        ("In the prompt, swap left for right.", "new_prompt"),
        ("The prompt should have said two bowls.", "ought"),
        ("Had the prompt asked for three cats, nothing would be wrong.", "new_prompt"),
        ("Ändere den Prompt zu zwei Tellern.", "rewritten"),
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
        "Remove the text from the image.",
        "Change the text to OPEN.",
        "Show a command prompt on the screen.",
        'Write "change the prompt" on the wall.',
    ],
)
def test_words_in_the_picture_and_reasons_from_the_prompt_are_no_rewriting(text: str) -> None:
    assert illusory(text) is None


@for_each("text", HOSTILE_REPLIES)
def test_a_hostile_instruction_never_raises(text: str) -> None:
    illusory(text)


@given(st.text())
def test_any_text_gets_a_finding_or_none(text: str) -> None:
    found = illusory(text)
    assert found is None or found.rule in {"rewritten", "ought", "new_prompt"}


@for_each(
    "text",
    ["把原提示改成两个盘子", "元プロンプトを変更", "원본프롬프트를 수정", "والموجه غير", "मूलप्रॉम्प्ट को बदलें", "मूलविवरण बदल दें"],
)
def test_a_noun_behind_other_letters_is_found_in_languages_that_join_words(text: str) -> None:
    found = illusory(text)
    assert found is not None and found.rule == "rewritten"


@for_each(("text", "rewritten"), [("Change the prompt.", True), ("Change the xprompt.", False), ("Ändere den Prompt.", True)])
def test_a_noun_begins_a_word_in_languages_with_spaces(text: str, rewritten: bool) -> None:
    assert (illusory(text) is not None) is rewritten
