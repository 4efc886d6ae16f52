"""Composed and written prompts: hostile replies first, then determinism, coverage and what a library may be."""

import asyncio
import hashlib
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites.magicbench import SubCategory, read_prompts
from salon_curate.construction.magicbench_prompts import (
    Library,
    compose,
    parse_written,
    save_prompts,
    write_with,
)
from salon_taxonomy.answers import Parsed, Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Reply
from salon_taxonomy.records import CallStatus
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge

GOOD = '{{"prompt": "A copper kettle number {} steams on a small stove.", "subject": "copper kettle"}}'


@for_each("reply", HOSTILE_REPLIES)
def test_no_hostile_reply_becomes_a_prompt(reply):
    assert isinstance(parse_written(reply), Unparsed)


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        ('{"prompt": "A kettle.", "subject": "kettle"}', "the description has 9 characters"),
        (json.dumps({"prompt": "A kettle " * 300, "subject": "kettle"}), "characters"),
        ('{"prompt": "A kettle steams on a small stove.", "subject": ""}', "the subject has 0 characters"),
        ('{"prompt": "A kettle steams on a small stove.", "subject": "pot"}', "does not name its subject"),
        ('{"prompt": "A kettle steams \\u202e on a small stove.", "subject": "kettle"}', "cannot be printed"),
        ('{"prompt": ["A kettle"], "subject": "kettle"}', "must hold text"),
        ('{"subject": "kettle"}', "must hold text"),
    ],
)
def test_a_description_that_cannot_be_used_says_why(reply, detail):
    assert detail in parse_written(reply).detail


@pytest.mark.parametrize(
    ("length", "subject", "taken"),
    [(19, 4, False), (20, 4, True), (1500, 4, True), (1501, 4, False), (300, 0, False), (300, 1, True), (300, 120, True),
     (300, 121, False), (20, 20, True)],
)  # fmt: skip
def test_descriptions_and_subjects_have_their_limits(length, subject, taken):
    outcome = parse_written(json.dumps({"prompt": "k" * length, "subject": "k" * subject}))
    assert isinstance(outcome, Parsed if taken else Unparsed)
    if taken:
        assert outcome.answer == ("k" * length, "k" * subject)
    else:
        assert f"{length if subject == 4 else subject} characters" in outcome.detail


def test_white_space_in_a_description_becomes_single_spaces():
    outcome = parse_written('Sure:\n{"prompt": "A kettle steams\\n  on a small stove.", "subject": "Kettle"}')
    assert outcome.answer == ("A kettle steams on a small stove.", "Kettle")


@given(st.text())
def test_the_parser_never_raises(text):
    assert isinstance(parse_written(text), Parsed | Unparsed)


def test_eight_hundred_prompts_a_hundred_of_each_no_two_alike():
    prompts = compose()
    assert Counter(prompt.category for prompt in prompts) == dict.fromkeys(SubCategory, 100)
    assert len({prompt.text for prompt in prompts}) == len({prompt.prompt_id for prompt in prompts}) == 800
    assert all(prompt.text.endswith(f"Show the complete subject in the image: {prompt.subject}.") for prompt in prompts)
    assert all(prompt.subject in f"{prompt.text[0].lower()}{prompt.text.partition('Show')[0][1:]}" for prompt in prompts)


def test_a_seed_gives_the_same_bytes_on_every_machine():
    rows = json.dumps([prompt.as_row() for prompt in compose(seed=7, per_category=3)])
    assert hashlib.sha256(rows.encode()).hexdigest()[:16] == "2e65275c30942057"


def test_another_seed_gives_other_prompts():
    assert {p.text for p in compose(seed=0)} & {p.text for p in compose(seed=1)} == set()


def test_every_subject_is_used_about_equally_often():
    used = Counter(prompt.subject for prompt in compose() if prompt.category is SubCategory.HUMAN_SINGLE)
    assert len(used) == 60
    assert set(used.values()) == {1, 2}


def test_the_library_has_over_three_hundred_subjects_and_pools_for_all_of_them():
    library = Library.bundled()
    entities = [entity for found in library.entities.values() for entity in found]
    assert len({entity.phrase for entity in entities}) == 380
    assert all(library.scenes[entity.place] for entity in entities)


@settings(max_examples=10)
@given(st.integers(0, 2**40), st.integers(1, 130))
def test_no_seed_and_number_repeat_a_prompt(seed, number):
    prompts = compose(seed=seed, per_category=number)
    assert len({prompt.text for prompt in prompts}) == 8 * number


SMALL = """
[subjects]
{subjects}
[scenes]
in = ["in a hall", "in a shed"]
[styles]
human = ["a photograph"]
animal = ["a photograph"]
object = ["a photograph"]
[shots]
human = ["a wide shot"]
animal = ["a wide shot"]
object = ["a wide shot"]
"""
SUBJECTS = {str(category): [f"in | a {category.value.replace('_', ' ')} | rests"] for category in SubCategory}


def library_file(path, subjects):
    path.write_text(SMALL.format(subjects="\n".join(f"{name} = {json.dumps(texts)}" for name, texts in subjects.items())))
    return path


def test_a_small_library_is_used_up_and_then_refused(tmp_path):
    library = Library.read(library_file(tmp_path / "own.toml", SUBJECTS))
    assert len(compose(per_category=2, library=library)) == 16
    with pytest.raises(InputError, match="has 2 combinations for human_single, fewer than 3"):
        compose(per_category=3, library=library)


@pytest.mark.parametrize("seed", range(4))
def test_a_library_whose_subjects_have_unequal_numbers_of_scenes_is_used_to_its_last_combination(tmp_path, seed):
    """One subject has 2 combinations, the other 4: whichever comes first in the draw, all six are composed."""
    text = SMALL.replace("[styles]", 'out = ["in a park", "on a hill", "on a quay", "in a yard"]\n[styles]')
    both = {name: [*texts, texts[0].replace("in | a", "out | another")] for name, texts in SUBJECTS.items()}
    (tmp_path / "own.toml").write_text(
        text.format(subjects="\n".join(f"{name} = {json.dumps(texts)}" for name, texts in both.items()))
    )
    library = Library.read(tmp_path / "own.toml")
    for number in range(1, 7):
        prompts = compose(seed=seed, per_category=number, library=library)
        assert len({prompt.text for prompt in prompts}) == 8 * number
    with pytest.raises(InputError, match="has 6 combinations"):
        compose(seed=seed, per_category=7, library=library)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"human_single": []}, "key 'subjects.human_single': needs a list"),
        ({"human_single": ["in | a cook"]}, "must read 'where | what | what it does'"),
        ({"human_single": ["moon | a cook | cooks"]}, "unknown place 'moon' (allowed: in, out, water)"),
        ({"human_single": ["out | a cook | cooks"]}, "key 'scenes.out': needs a list"),
        ({"human_single": ["in | a cook | cooks", "in | A cook | rests"]}, "occurs twice: 'A cook'"),
        ({"human_single": [7]}, "must be one line of 1 to 300 characters, not 7"),
        ({"human_single": ["in | a cook | \u0085"]}, "must be one line"),
    ],
)
def test_a_wrong_library_names_the_key(change, message, tmp_path):
    with pytest.raises(InputError) as caught:
        Library.read(library_file(tmp_path / "own.toml", SUBJECTS | change))
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"x = [", b"\xff", b"subjects = 3"])
def test_a_file_that_is_no_library_is_a_typed_error(content, tmp_path):
    (tmp_path / "own.toml").write_bytes(content)
    with pytest.raises(InputError, match=r"own\.toml"):
        Library.read(tmp_path / "own.toml")


@pytest.mark.parametrize(("options", "message"), [({"seed": -1}, "seed"), ({"per_category": 0}, "at least one")])
def test_numbers_out_of_range_are_typed_errors(options, message):
    with pytest.raises(InputError, match=message):
        compose(**options)


def test_saved_prompts_are_read_back_by_the_suite(tmp_path):
    prompts = compose(per_category=2)
    save_prompts(prompts, tmp_path / "prompts.jsonl")
    read = read_prompts(tmp_path / "prompts.jsonl")
    assert [(each.prompt.prompt_id, each.prompt.text) for each in read] == [(each.prompt_id, each.text) for each in prompts]


def test_an_unwritable_place_is_a_typed_error_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        save_prompts(compose(per_category=1), tmp_path / "no" / "prompts.jsonl")
    with pytest.raises(InputError, match="JSON Lines"):
        save_prompts(compose(per_category=1), tmp_path / "prompts.txt")
    assert list(tmp_path.iterdir()) == []


def written(replies, **options):
    judge = ReplayJudge(replies)
    return asyncio.run(write_with(judge, per_category=1, **options)), judge


def test_written_prompts_stand_in_order_and_end_with_the_demand():
    result, judge = written([GOOD.format(n) for n in range(8)])
    assert [prompt.category for prompt in result.prompts] == list(SubCategory)
    assert result.prompts[3].text.endswith("stove. Show the complete subject in the image: copper kettle.")
    assert (result.missed, result.calls, result.retries) == ((), 8, 0)
    assert len({question.request_sha256() for question in judge.asked}) == 8


def test_a_bad_reply_is_asked_for_again_and_counted():
    replies = ["no JSON", *[GOOD.format(n) for n in range(1, 8)], GOOD.format(0)]
    result, judge = written(replies)
    assert (len(result.prompts), result.calls, result.retries) == (8, 9, 1)
    assert judge.asked[8].decoding.seed != judge.asked[0].decoding.seed


def test_a_repeated_description_is_asked_for_again():
    result, _ = written(
        [GOOD.format(0), GOOD.format(0).replace("A copper", "a COPPER"), *[GOOD.format(n) for n in range(2, 9)]]
    )
    assert result.retries == 1
    assert len({prompt.text for prompt in result.prompts}) == 8


def test_what_cannot_be_had_is_unscored_with_its_last_reason():
    outage = Reply("", status=CallStatus.TIMEOUT, error="no byte in 30 s")
    result, _ = written([*[GOOD.format(n) for n in range(7)], outage, "still no JSON"], attempts=2)
    [missed] = result.missed
    assert (missed.category, missed.number, missed.reason.reason.value) == (SubCategory.OBJECT_COMPO, 1, "malformed")
    assert len(result.prompts) == 7


@pytest.mark.parametrize("option", ["attempts", "concurrency"])
def test_limits_below_one_are_typed_errors(option):
    with pytest.raises(InputError, match=option):
        written([], **{option: 0})
