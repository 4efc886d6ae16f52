"""The scorer ``ocr``: what a prompt asks for, what was read, and how much of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from salon_judges.scorers.ocr import OcrScorer
from salon_judges.scorers.text_matching import compare, edits_within, longtext_share, plain, quoted_texts, similarity
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored


def drawn(*lines, size=56):
    picture = Image.new("RGB", (720, 60 + 110 * len(lines)), "white")
    brush, letters = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for place, line in enumerate(lines):
        brush.text((40, 40 + 110 * place), line, fill="black", font=letters)
    return picture


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ('A sign that reads "OPEN".', ("OPEN",)),
        ("A bottle labeled ‘WHISTLE’ featuring ‘BARREL-AGED RYE’ on a table.", ("WHISTLE", "BARREL-AGED RYE")),
        ("一个标有“清茶”并写着「每日新鲜」的盒子", ("清茶", "每日新鲜")),
        ("The baker's shop; it's closed, the dogs' bowl too.", ()),
        ("A mug with 'Don't panic' on it.", ("Don't panic",)),
        ("A mug with ‘Don’t panic’ on it.", ("Don’t panic",)),
        ('Nothing: "" or "!!!".', ()),
        ('An "unclosed mark', ()),
        ("Over “two\nlines”", ()),
    ],
)
def test_texts_in_quotation_marks_are_found(prompt, expected):
    assert quoted_texts(prompt) == expected


@given(st.text(max_size=300) | st.text("'\"“”‘’ab「」\n", max_size=300))
def test_any_prompt_can_be_looked_through(prompt):
    assert all(any(character.isalnum() for character in text) for text in quoted_texts(prompt))


def test_long_runs_of_marks_are_looked_through_quickly():
    for mark in "'\"“‘’”「":
        assert quoted_texts(mark * 20_000) == ()
        assert quoted_texts(f"a {mark}b " * 3_000) is not None


def distance(one, other):
    """Levenshtein's, by the textbook."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def edits_by_definition(pattern, text):
    """The least distance to any stretch of the text."""
    return min(distance(pattern, text[start:end]) for start in range(len(text) + 1) for end in range(start, len(text) + 1))


@given(st.text("abc", max_size=6), st.text("abc", max_size=8))
def test_edits_within_a_text_are_the_least_over_all_stretches(pattern, text):
    assert edits_within(pattern, text) == edits_by_definition(pattern, text)


@given(
    st.lists(st.text(min_size=1, max_size=30).filter(plain), min_size=1, max_size=4), st.lists(st.text(max_size=40), max_size=4)
)
def test_a_match_lies_between_0_and_1_and_is_whole_for_the_text_itself(expected, lines):
    match = compare(expected, lines)
    assert 0.0 <= match.characters <= 1.0
    assert 0.0 <= match.words <= 1.0
    assert compare(expected, expected).characters == 1.0


@given(st.text("abc", max_size=7), st.text("abc", max_size=9))
def test_similarity_is_one_less_the_normalised_edit_distance(expected, read):
    wanted = 1 - distance(expected, read) / max(len(expected), len(read), 1)
    assert similarity([expected], list(read)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(
    ("expected", "lines", "share"),
    [  # found / expected, as preprocess_string and calculate_char_match_ratio of textbench/summary_scores.py give them
        (["FRESH BREWS, EVERY MORNING", "Locally Roasted"], ["fresh brews every", "every roasted"], 4 / 6),
        (["CENTRAL PARK - 2 BLOCKS"], ["CENTRAL PARK-2 BLOCKS"], 2 / 4),
        (["Don't stop, don’t"], ["dont  dont\nstop!"], 3 / 3),
        (["Café à Noël ñ"], ["café a noël"], 2 / 3),
        (["每日新鲜", "清茶 A1"], ["日每鲜茶a1"], 5 / 8),
        (["open"], [], 0.0),
        (["Открыто"], ["Открыто"], None),
        (["…"], [], None),
    ],
)
def test_longtext_share_follows_the_released_rule(expected, lines, share):
    assert longtext_share(expected, lines) == share


def test_case_punctuation_spacing_and_other_text_cost_nothing():
    match = compare(["Mind the Step!"], ["SHOE SHOP", "MIND  the", "step", "since 1987"])
    assert (match.characters, match.words) == (1.0, 1.0)


def test_a_word_that_is_asked_for_twice_must_be_read_twice():
    assert compare(["OPEN", "OPEN"], ["open"]).words == 0.5


def test_nothing_read_is_nothing_right_and_nothing_expected_is_refused():
    assert compare(["OPEN"], []) == compare(["OPEN"], ["…"])
    assert compare(["OPEN"], []).characters == 0.0
    with pytest.raises(ValueError, match="nothing is expected"):
        compare(["!"], ["!"])


def test_a_picture_is_scored_by_characters_or_by_words_and_a_prompt_without_text_is_not():
    read = {"characters": 0.8, "words": 0.5}
    for measure, share in read.items():
        scorer = OcrScorer(measure, lambda image: ("fresh", "braed"), "1")
        verdicts = scorer([drawn("x")] * 2, ['A sign "FRESH BREAD".', "A blank sign."])
        assert verdicts[0] == Scored(share)
        assert isinstance(verdicts[1], Unscored) and verdicts[1].reason is Reason.ABSTAINED
    with pytest.raises(InputError, match="allowed: characters, words, exact, similarity, longtext"):
        OcrScorer("letters")


@pytest.mark.parametrize(
    ("measure", "lines", "share"),
    [
        ("exact", ("since 1987", "fresh", "BREAD"), 1.0),
        ("exact", ("fresh", "braed"), 0.0),
        ("similarity", ("fresh", "bread"), 1.0),
        ("similarity", ("fresh", "bread", "since 1987"), round(10 / 19, 9)),
        ("longtext", ("since 1987", "fresh"), 0.5),
    ],
)
def test_other_measures(measure, lines, share):
    assert OcrScorer(measure, lambda image: lines, "1")([drawn("x")], ['A sign "FRESH BREAD".']) == [Scored(share)]


@pytest.mark.parametrize(
    ("pattern", "prompt", "lines", "verdict"),
    [
        (".+", "FRESH BREAD\nDAILY", ("fresh bread daily",), 1.0),
        ("says: (.*)", "A sign. It says: OPEN", ("open",), 1.0),
        ("<(.*?)>|\\[(.*?)\\]", "<A> over [B]", ("a",), 0.5),
        ("<(.*?)>", "A sign 'OPEN'", ("open",), Reason.ABSTAINED),
        (".+", "!!!", ("open",), Reason.ABSTAINED),
    ],
)
def test_a_pattern_finds_what_is_expected(pattern, prompt, lines, verdict):
    [found] = OcrScorer("characters", lambda image: lines, "1", pattern=pattern)([drawn("x")], [prompt])
    assert (found.value if isinstance(found, Scored) else found.reason) == verdict


@pytest.mark.parametrize(
    "text", ["words,pattern=", "pattern=", "wordspattern=.+", "words;pattern=.+", "pattern=(", "words,.+", "line,words"]
)
def test_wrong_settings_are_refused(text):
    pytest.importorskip("rapidocr", reason="runs with the extra ocr")
    with pytest.raises(InputError):
        open_scorer(f"ocr:{text}")


def test_a_pattern_is_part_of_the_version():
    pytest.importorskip("rapidocr", reason="runs with the extra ocr")
    texts = ("ocr", "ocr:pattern=.+", "ocr:pattern=.*", "ocr:words,pattern=.+", "ocr:line", "ocr:words,line,pattern=.+")
    versions = {open_scorer(text).version for text in texts}
    assert len(versions) == 6


@pytest.fixture(scope="module")
def ocr():
    pytest.importorskip("rapidocr", reason="runs with the extra ocr")
    return open_scorer("ocr", {})


def test_the_ocr_scorer_reads_what_pillow_has_drawn(ocr):
    prompt = 'A sign "Fresh Bread Daily".'
    good, bad = ocr([drawn("Fresh Bread", "Daily"), drawn("Frash Braed", "Dally")], [prompt] * 2)
    assert good == Scored(1.0) and 0.5 < bad.value < 1.0
    [words] = open_scorer("ocr:words", {})([drawn("Frash Braed", "Dally")], [prompt])
    assert words.value < 0.5


def test_the_ocr_scorer_finds_nothing_in_an_empty_picture_and_takes_transparent_and_tiny_ones(ocr):
    for picture in (Image.new("RGBA", (64, 64)), Image.new("L", (1, 1)), Image.fromarray(np.zeros((40, 400, 3), np.uint8))):
        assert ocr([picture], ['"text"']) == [Scored(0.0)]


def test_a_picture_of_one_line_is_read_as_a_whole_where_no_place_of_text_is_found(ocr):
    picture = Image.new("RGB", (28, 12), "white")
    ImageDraw.Draw(picture).text((14, 6), "OWL", fill="black", font=ImageFont.load_default(11), anchor="mm")
    assert open_scorer("ocr:similarity,line", {})([picture] * 2, ['"OWL"', '"OW"']) == [Scored(1.0), Scored(round(2 / 3, 9))]
    assert ocr([picture], ['"OWL"']) == [Scored(0.0)]


@pytest.mark.parametrize("measure", ["characters", "similarity", "oneig-edits"])
def test_a_prompt_that_asks_for_very_much_text_has_no_score_and_takes_no_time(measure):
    """A hundred texts of 2,000 characters took half a minute for one picture that shows 20,000."""
    scorer = OcrScorer(measure, lambda image: pytest.fail("it is not even read"), "1")
    [found] = scorer([None], ['"' + "a" * 2_000 + '" ' + f'"{"a" * 2_000}" ' * 99])
    assert isinstance(found, Unscored) and "asks for 200,000 characters" in found.detail


class Engine:
    """Returns the same lines for every picture, and remembers the picture's pixels and how it was asked."""

    def __init__(self, boxes, texts):
        self.result, self.asked = SimpleNamespace(boxes=boxes, txts=texts), []

    def __call__(self, pixels, **options):
        self.asked.append((pixels.copy(), options))
        return self.result


def box(left, top, width, height):
    return [[left, top], [left + width, top], [left + width, top + height], [left, top + height]]


def test_lines_are_read_from_top_to_bottom_and_from_left_to_right_where_they_are_side_by_side():
    boxes = [box(60, 12, 40, 20), box(5, 60, 90, 20), box(5, 10, 40, 20), box(5, 31, 40, 20)]
    scorer = OcrScorer()
    scorer._engine = engine = Engine(boxes, ("second", "fourth", "first", "third"))
    assert scorer._rapidocr(Image.new("RGB", (4, 3), (1, 2, 3))) == ("first", "second", "third", "fourth")
    [(pixels, options)] = engine.asked
    assert (pixels == (3, 2, 1)).all() and pixels.shape == (3, 4, 3) and options == {}, "blue is first"
    scorer._engine = Engine(None, None)
    assert scorer._rapidocr(Image.new("L", (4, 3))) == ()


def test_a_picture_of_one_line_is_recognised_without_looking_for_lines():
    scorer = OcrScorer(line=True)
    scorer._engine = engine = Engine(None, ("all of it",))
    assert scorer._line(Image.new("RGB", (4, 3), (1, 2, 3))) == ("all of it",)
    [(pixels, options)] = engine.asked
    assert (pixels == (3, 2, 1)).all() and options == {"use_det": False, "use_cls": False, "use_rec": True}
    scorer._engine = Engine(None, None)
    assert scorer._line(Image.new("L", (4, 3))) == ()
    assert (scorer._shape, OcrScorer()._shape) == ({"Rec.rec_img_shape": [3, 48, 48]}, {})
