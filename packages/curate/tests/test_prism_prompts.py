"""Prompts composed from pools: what the paper spreads evenly, the same in both languages, the same on every machine."""

import re
from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_bench.suites.prism import Language, Track, read_prompts
from salon_curate.construction.prism_prompts import compose
from salon_curate.construction.prism_prompts.draws import Draws
from salon_curate.construction.prism_prompts.pools import in_language, pool, pools
from salon_judges.scorers.text_matching import quoted_texts
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_json_lines

ENGLISH, CHINESE = compose("en"), compose("zh")


def of(track, prompts=ENGLISH):
    return [each.text for each in prompts if each.track is track]


def test_every_track_has_fifty_different_prompts_in_both_languages():
    for prompts in (ENGLISH, CHINESE):
        assert Counter(each.track for each in prompts) == dict.fromkeys(Track, 50)
        assert len({each.prompt_id for each in prompts}) == 350
    assert all(len(set(of(track))) == 50 for track in Track)


def test_the_id_of_a_translation_is_that_of_its_prompt_with_an_ending():
    assert [f"{each.prompt_id}-zh" for each in ENGLISH] == [each.prompt_id for each in CHINESE]


def test_english_prompts_hold_no_chinese_and_chinese_ones_are_chinese():
    assert not [each.text for each in ENGLISH if re.search("[一-鿿]", each.text)]
    assert not [each.text for each in CHINESE if not re.search("[一-鿿]", each.text)]


def test_no_place_of_a_sentence_is_left_open():
    assert not [each.text for each in chain(ENGLISH, CHINESE) if re.search(r"[{}]", each.text)]


def test_each_of_the_25_styles_is_asked_for_twice():
    names = [english for group in pools("style", "styles") for english, _ in group]
    assert len(names) == len(set(names)) == 25
    assert Counter(name for text in of(Track.STYLE) for name in names if text.endswith(f", {name}.")) == dict.fromkeys(names, 2)


def test_the_emotions_are_plutchiks_eight_in_three_strengths_and_each_is_asked_for():
    names = [english for english, _ in pool("affection", "pools", "emotions")]
    assert len(names) == 24
    assert {"joy", "trust", "fear", "surprise", "sadness", "disgust", "anger", "anticipation"} <= set(names)
    counts = Counter(name for text in of(Track.AFFECTION) for name in names if f"speaks of {name}," in text)
    assert set(counts) == set(names)
    assert set(counts.values()) == {2, 3}


def test_one_two_and_three_entities_come_in_turn():
    names = [english for kind in pools("entity", "kinds") for english, _ in kind]
    found = [sum(name.casefold() in text.casefold() for name in names) for text in of(Track.ENTITY)]
    assert found == [1 + number % 3 for number in range(50)]


@pytest.mark.parametrize("prompts", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_every_text_rendering_prompt_quotes_exactly_one_text_of_the_pools(prompts):
    known = set(chain.from_iterable(chain.from_iterable(pools("text", "contents"))))
    for text in of(Track.TEXT_RENDERING, prompts):
        [quoted] = quoted_texts(text)
        assert quoted in known


def test_counts_and_nouns_agree_in_composition():
    assert not [text for text in of(Track.COMPOSITION) if re.search(r"\bone \w+ \w+ \w+s\b", text)]
    assert all(re.search(r"\b(one|two|three|four|five) ", text) for text in of(Track.COMPOSITION))


def test_long_texts_are_long():
    assert min(len(text.split()) for text in of(Track.LONG_TEXT)) > 80


def test_the_same_seed_gives_the_same_prompts_for_good():
    assert compose("en") == ENGLISH
    assert ENGLISH[0].prompt_id == "imagination-001-516934"
    assert compose("en", seed=1) != ENGLISH


def test_fewer_prompts_are_the_first_of_more():
    assert compose("zh", per_track=3, tracks=[Track.STYLE]) == [each for each in CHINESE if each.track is Track.STYLE][:3]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"language": "fr"}, "unknown language 'fr'"),
        ({"seed": -1}, "the seed must be 0 or more"),
        ({"per_track": 0}, "at least one prompt per track"),
        ({"per_track": 5000, "tracks": [Track.STYLE]}, "the pools of style give no new one; wanted 5000"),
    ],
)
def test_what_cannot_be_composed_is_refused(options, problem):
    with pytest.raises(InputError, match=problem):
        compose(**options)


def test_what_is_composed_can_be_read_by_the_suite(tmp_path):
    path = tmp_path / "both.jsonl"
    assert write_json_lines(path, (each.as_row() for each in chain(ENGLISH, CHINESE))) == 700
    for language, prompts in ((Language.ENGLISH, ENGLISH), (Language.CHINESE, CHINESE)):
        assert [each.prompt.text for each in read_prompts(path, language)] == [each.text for each in prompts]


@given(st.text(), st.integers(1, 30), st.data())
def test_samples_are_different_places_of_the_pool(name, size, data):
    number = data.draw(st.integers(0, size))
    drawn = Draws(name).sample(range(size), number)
    assert len(set(drawn)) == number
    assert set(drawn) <= set(range(size))


def test_draws_are_about_even():
    draws = Draws("even")
    counts = Counter(draws.pick(range(10)) for _ in range(5000))
    assert min(counts.values()) > 400


def test_every_other_imagination_prompt_has_two_ideas_of_different_categories():
    groups = pools("imagination", "ideas")
    for language, prompts in ((Language.ENGLISH, ENGLISH), (Language.CHINESE, CHINESE)):
        numbered = [prompt for prompt in prompts if prompt.track == Track.IMAGINATION]
        assert len(numbered) == 50
        for number, prompt in enumerate(numbered):
            ideas = [[in_language(idea, language).casefold() for idea in group] for group in groups]
            kinds = [place for place, group in enumerate(ideas) if any(idea in prompt.text.casefold() for idea in group)]
            assert len(kinds) == (2 if number % 2 else 1), (number, prompt.text)
