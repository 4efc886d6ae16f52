"""PRISM-Bench's examination: what is asked about a picture, and which rows follow from which verdicts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.suites import Case, Suite, dry_run, suite_named
from salon_bench.suites.prism import Axis, Language, PrismBench, Track, chinese, chinese_released, released, suite
from salon_bench.suites.prism.rubrics import aesthetic_rubric, alignment_rubric
from salon_judges.formats.generations import Generated, Generations
from salon_taxonomy import Taxonomy
from salon_taxonomy.answers import render_prism
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Prompt
from salon_taxonomy.testing import HOSTILE_REPLIES, prism_answers, reasonings, spoiled
from salon_taxonomy.verdict import Reason, Unscored

EIGHT = '{"justification": "A leg is missing.", "score": 8}'
SIX = '{"justification": "Warped.", "score": 6.5}'
PUBLISHED = {
    "imagination": [(4, 6), (3, 5), (2, 4), (1, 3)],
    "entity": [(4, 6), (3, 5), (2, 4), (1, 3)],
    "text-rendering": [(6, 8), (3, 5), (3, 5), (2, 4)],
    "style": [(5, 7), (4, 6), (2, 4), (1, 3)],
    "affection": [(6, 8), (3, 5), (3, 5), (2, 4), (2, 4)],
    "composition": [(3, 5), (3, 5), (2, 4), (2, 4), (1, 2)],
    "long-text": [(5, 7), (3, 5), (2, 4), (1, 1)],
}
"""Points that Tables 8 to 14 take off, in their order."""


def a_case(track=Track.IMAGINATION, problem=None):
    row = Prompt(prompt_id="p", suite="prism", text="A clock that melts upwards.")
    facts = {"track": str(track)}
    media = (Media.from_bytes(b"picture"),)
    return Case("case", "prism", "painter", row, facts=facts, media=media, generation_ids=("g",), problem=problem)


def values(dry_run):
    return {row.dimension: row.unscored_reason or row.value for row in dry_run.records}


@for_each("reply", HOSTILE_REPLIES)
@pytest.mark.parametrize("each", [suite, chinese_released], ids=lambda each: each.name)
def test_a_hostile_reply_gives_no_score_and_leaves_the_other_axis_alone(each, reply):
    found = dry_run(each, a_case(), [reply, SIX])
    assert [row.value for row in found.records] == [None, 6.5]
    assert found.records[0].unscored_reason in tuple(Reason)


@given(spoiled(st.builds(render_prism, prism_answers(), reasonings())))
def test_spoiled_replies_never_raise_and_never_give_a_score_off_the_scale(reply):
    for each in (suite, released):
        for row in dry_run(each, a_case(), [reply, reply]).records:
            assert (row.value is None) != (row.unscored_reason is None)
            assert row.value is None or 0 <= row.value <= 10


@pytest.mark.parametrize("reply", ['{"justification": "", "score": 11}', '{"justification": "", "score": -1}'])
def test_a_score_off_the_scale_is_off_the_menu(reply):
    assert values(dry_run(suite, a_case(), [reply, SIX]))["alignment"] == Reason.OFF_MENU


def test_two_questions_make_two_rows_under_the_track():
    found = dry_run(suite, a_case(Track.LONG_TEXT), [EIGHT, SIX])
    assert [inquiry.step for inquiry in found.inquiries] == ["alignment", "aesthetic"]
    assert values(found) == {"alignment": 8.0, "aesthetic": 6.5}
    assert {row.task for row in found.records} == {"long-text"}


def test_aesthetics_are_asked_even_when_alignment_could_not_be_had():
    found = dry_run(suite, a_case(), [Unscored(Reason.TIMEOUT, "no byte"), SIX])
    assert values(found) == {"alignment": "timeout", "aesthetic": 6.5}


def test_a_picture_that_cannot_be_shown_gives_two_rows_with_the_reason():
    found = dry_run(suite, a_case(problem=Unscored(Reason.BAD_MEDIA, "no file")), [])
    assert values(found) == {"alignment": "bad_media", "aesthetic": "bad_media"}


def test_a_score_written_as_a_text_counts_by_the_paper_and_not_by_the_script():
    reply = '{"justification": "x", "score": "7",}'
    assert values(dry_run(suite, a_case(), [reply, reply]))["alignment"] == 7.0
    assert values(dry_run(released, a_case(), [reply, reply]))["alignment"] == "malformed"


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("track", Track)
def test_every_alignment_rubric_keeps_the_published_points_in_their_order(track, language):
    rubric = alignment_rubric(track, language)
    assert [(each.low, each.high) for each in rubric.deductions] == PUBLISHED[track]
    question = PrismBench(language).questions.alignment(Media.from_bytes(b""), prompt="x", track=track)
    for deduction in rubric.deductions:
        assert (
            f"{deduction.name}（{deduction.points}）" in question.text
            or f"{deduction.name} ({deduction.points})" in question.text
        )


@pytest.mark.parametrize("language", Language)
def test_the_aesthetic_rubric_keeps_the_points_of_table_15(language):
    assert [(each.low, each.high) for each in aesthetic_rubric(language).deductions] == [(7, 9), (4, 6), (1, 3)]


def test_english_failures_bear_their_published_names():
    for track in Track:
        names = [each.name for each in Taxonomy.load("prism").find(track.value).deductions]
        assert [each.name for each in alignment_rubric(track, Language.ENGLISH).deductions] == names


def test_chinese_prompts_are_judged_in_chinese_by_the_paper_and_in_english_by_the_script():
    def text(each):
        return dry_run(each, a_case(), [EIGHT, SIX]).inquiries[0].question.text

    assert re.search("[一-鿿]", text(chinese))
    assert not re.search("[一-鿿]", text(chinese_released))
    assert text(chinese_released) == text(released) == text(suite)


@pytest.mark.parametrize("language", Language)
def test_no_question_shows_an_empty_variable_or_runs_into_a_blank_block(language):
    each = PrismBench(language)
    for track in Track:
        for inquiry in dry_run(each, a_case(track), [EIGHT, SIX]).inquiries:
            assert "None" not in inquiry.question.text
            assert "\n\n\n" not in inquiry.question.text
            assert inquiry.question.response_schema["required"] == ["justification", "score"]


def test_the_four_suites_are_installed_under_their_own_names():
    for each in (suite, chinese, released, chinese_released):
        assert isinstance(each, Suite)
        assert suite_named(each.name) is each


def test_each_suite_has_a_version_of_its_own_that_stays():
    every = [PrismBench(language, fidelity) for language in Language for fidelity in ("paper", "released")]
    assert len({each.version for each in every}) == 4
    assert PrismBench("zh", "paper").version == chinese.version


def test_cases_are_one_per_prompt_and_picture_and_a_missing_picture_is_a_case_with_a_problem(tmp_path):
    source = tmp_path / "prompts.csv"
    source.write_text("prompt,track\nA cat.,style\nA dog.,style\n")
    picture = Generated("style-0", "painter", 0, tmp_path / "style-0.png", tmp_path)
    cases = list(suite.cases(suite.prompts(source), Generations([picture])))
    assert [(case.prompt.prompt_id, len(case.pictures), case.problem is None) for case in cases] == [
        ("style-0", 1, True),
        ("style-1", 0, False),
    ]


def test_without_a_file_of_prompts_the_error_says_how_to_get_one():
    with pytest.raises(InputError, match=r"compose --output prompts\.jsonl --language zh"):
        chinese.prompts(None)


def test_an_unknown_language_or_fidelity_is_refused():
    with pytest.raises(InputError, match="unknown language 'fr'"):
        PrismBench("fr")
    with pytest.raises(InputError, match="unknown fidelity 'loose'"):
        PrismBench(fidelity="loose")


def test_axes_are_the_dimensions_of_the_scores():
    assert [row.dimension for row in dry_run(suite, a_case(), [EIGHT, SIX]).records] == list(Axis)
