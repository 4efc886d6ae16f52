"""The text check: what a prompt asks for, what was read, and how much of it."""

from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from salon_bench.runs.score_rows import frame_of
from salon_bench.suites.prism import suite
from salon_bench.suites.prism.scoring import summarize
from salon_bench.suites.prism.text_check import OcrReader, TextReader, check_text, compare, quoted_texts, summarize_text
from salon_bench.suites.prism.text_check.matching import edits_within, plain
from salon_judges.formats.generations import Generated, Generations


class Fixed:
    """A reader that always reads the same."""

    name, version = "fixed", "1"

    def __init__(self, *lines):
        self.lines = lines

    def read(self, picture):
        assert Image.open(BytesIO(picture)).size
        return self.lines


def drawn(*lines, size=56):
    picture = Image.new("RGB", (720, 60 + 110 * len(lines)), "white")
    brush, letters = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for place, line in enumerate(lines):
        brush.text((40, 40 + 110 * place), line, fill="black", font=letters)
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def cases_of(folder, *prompts, pictures=None):
    """Cases of the text rendering track, one picture each."""
    source = folder / "prompts.csv"
    quoted = ['"' + prompt.replace('"', '""') + '"' for prompt in prompts]
    source.write_text("prompt,track\n" + "".join(f"{prompt},text_rendering\n" for prompt in quoted), encoding="utf-8")
    files = []
    for number in range(len(prompts)):
        path = folder / f"{number}.png"
        data = drawn("x") if pictures is None else pictures[number]
        if data is not None:
            path.write_bytes(data)
            files.append(Generated(f"text-rendering-{number}", "painter", 0, path, folder))
    return list(suite.cases(suite.prompts(source), Generations(files)))


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


def edits_by_definition(pattern, text):
    """The least Levenshtein distance to any stretch of the text, by the textbook."""

    def distance(one, other):
        row = list(range(len(other) + 1))
        for i, a in enumerate(one, 1):
            before, row[0] = row[0], i
            for j, b in enumerate(other, 1):
                before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
        return row[-1]

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


def test_two_rows_for_each_picture_stand_in_dimensions_of_their_own(tmp_path):
    rows = list(check_text(cases_of(tmp_path, 'A sign "FRESH BREAD".'), Fixed("fresh", "braed")))
    assert [(row.task, row.dimension, row.value) for row in rows] == [
        ("text-rendering", "ocr", 8.0),
        ("text-rendering", "ocr-words", 5.0),
    ]
    assert {row.judge for row in rows} == {"fixed"}
    assert rows[0].generation_id is not None
    assert summarize(frame_of(rows)).table["scored"].sum() == 0, "the text check is no part of alignment or aesthetics"


def test_no_quoted_text_a_missing_and_a_damaged_picture_give_reasons_and_no_zero(tmp_path):
    cases = cases_of(tmp_path, "A blank sign.", 'A "MUG".', 'A "CUP".', pictures=[drawn("x"), None, b"no picture"])
    rows = list(check_text(cases, Fixed("MUG")))
    assert [row.unscored_reason for row in rows] == ["abstained"] * 2 + ["bad_media"] * 4
    table = summarize_text(frame_of(rows)).table
    assert table["value"].to_list() == [None, None]
    assert table["unscored"].to_list() == [3, 3]


def test_other_tracks_are_passed_over(tmp_path):
    source = tmp_path / "p.csv"
    source.write_text('prompt,track\n"A “sign”.",style\n', encoding="utf-8")
    picture = Generated("style-0", "painter", 0, tmp_path / "0.png", tmp_path)
    assert list(check_text(suite.cases(suite.prompts(source), Generations([picture])), Fixed())) == []


def test_the_summary_is_the_mean_over_pictures_with_an_interval(tmp_path):
    cases = cases_of(tmp_path, *['A "SIGN".', 'A "LAMP".'] * 5)
    table = summarize_text(frame_of(list(check_text(cases, Fixed("sign"))))).table
    first = table.row(1, named=True)
    assert (first["metric"], first["group"], first["value"], first["scored"]) == ("ocr-words", "text-rendering", 50.0, 10)
    assert first["ci_low"] < 50.0 < first["ci_high"]


@pytest.fixture(scope="module")
def ocr():
    pytest.importorskip("rapidocr", reason="runs with the extra ocr")
    return OcrReader()


def test_the_ocr_reader_reads_what_pillow_has_drawn(ocr, tmp_path):
    assert isinstance(ocr, TextReader)
    cases = cases_of(tmp_path, 'A sign "Fresh Bread Daily".', pictures=[drawn("Fresh Bread", "Daily")])
    good = list(check_text(cases, ocr))
    assert [row.value for row in good] == [10.0, 10.0]
    cases = cases_of(tmp_path, 'A sign "Fresh Bread Daily".', pictures=[drawn("Frash Braed", "Dally")])
    bad = list(check_text(cases, ocr))
    assert 5.0 < bad[0].value < 10.0
    assert bad[1].value < 5.0


def test_the_ocr_reader_finds_nothing_in_an_empty_picture_and_takes_transparent_and_tiny_ones(ocr):
    for picture in (Image.new("RGBA", (64, 64)), Image.new("L", (1, 1)), Image.fromarray(np.zeros((40, 400, 3), np.uint8))):
        file = BytesIO()
        picture.save(file, "PNG")
        assert list(ocr.read(file.getvalue())) == []
