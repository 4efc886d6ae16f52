"""What replies of judges must be, and what rows of R³-Bench must hold: nothing hostile raises, nothing wrong passes."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from r3_world import row

from for_each import for_each
from salon_bench.suites.r3_bench import gain, read_items
from salon_bench.suites.r3_bench.replies import parse_equivalent, parse_questions, parse_yes_no_lines
from salon_bench.suites.r3_bench.scoring import lines_of
from salon_bench.suites.r3_bench.staged import Staged, read_staged, write_staged
from salon_taxonomy.answers import Parsed, R3Answer, Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason, Scored, Unscored

PARSERS = (lambda text: parse_yes_no_lines(text, count=2), parse_equivalent, parse_questions)


@pytest.mark.parametrize("parse", PARSERS)
@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_reply_is_no_answer(parse, reply):
    assert isinstance(parse(reply), Unparsed)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text())
def test_no_text_raises(parse, text):
    assert isinstance(parse(text), Parsed | Unparsed)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("yes\nno", (True, False)),
        ("Yes, it is.\n\nNo: it is blue.\n", (True, False)),
        ("1. yes\n2) **No**, blue", (True, False)),
        ("- YES\n- no.", (True, False)),
        ("<think>no no no</think>\nyes\nyes", (True, True)),
    ],
)
def test_lines_that_begin_with_yes_or_no_are_read(text, answers):
    assert parse_yes_no_lines(text, count=2).answer == answers


@pytest.mark.parametrize("text", ["yes", "yes\nno\nyes", "yes\nmaybe", "yes no", "nothing\nyes", "Sure!\nyes\nno"])
def test_another_number_of_lines_or_another_word_is_a_format_failure(text):
    assert parse_yes_no_lines(text, count=2).reason == Reason.MALFORMED


def test_gain_is_relative_to_what_was_wrong_and_has_no_lower_bound():
    assert (gain(0.5, 0.75), gain(0.0, 1.0), gain(0.9, 0.0), gain(1.0, 0.0)) == (0.5, 1.0, pytest.approx(-9.0), 0.0)


def written(folder, **changes):
    path = folder / "rows.jsonl"
    path.write_text(json.dumps({**row(1, "red", "blue"), **changes}) + "\n")
    return path


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"idx": None}, "idx"),
        ({"idx": "a/b"}, "idx"),
        ({"idx": True}, "idx"),
        ({"original_prompt": ""}, "original_prompt"),
        ({"answer": "perhaps"}, "answer"),
        ({"answer": None}, "answer"),
        ({"category": "smell"}, "category"),
        ({"generated_qa": None}, "generated_qa"),
        ({"generated_qa": {"yn_question_list": ["a?"], "yn_answer_list": []}}, "generated_qa"),
        ({"generated_qa": {"yn_question_list": [], "yn_answer_list": []}}, "generated_qa"),
        ({"generated_qa": {"yn_question_list": "abc", "yn_answer_list": "abc"}}, "generated_qa"),
        ({"generated_qa": {"yn_question_list": [1], "yn_answer_list": ["yes"]}}, "generated_qa"),
        ({"generated_qa": {"yn_question_list": ["a?"], "yn_answer_list": ["hm"]}}, "generated_qa"),
        ({"bad_image": 7}, "bad_image"),
    ],
)
def test_a_wrong_cell_is_named_with_file_row_and_column(tmp_path, changes, column):
    with pytest.raises(InputError) as caught:
        read_items(written(tmp_path, **changes))
    assert (caught.value.column, caught.value.row) == (column, 1)
    assert "rows.jsonl" in str(caught.value)


def test_released_spellings_are_taken_and_an_aligned_row_needs_no_questions(tmp_path):
    path = tmp_path / "rows.json"
    odd = [{**row("a", "red", "red"), "generated_qa": None, "explanation": None, "answer": "True", "category": "non"}]
    path.write_text(json.dumps([*odd, {**row(2, "red", "blue"), "answer": "no", "category": "Non_Spatial"}]))
    first, second = read_items(path)
    assert (first.aligned, first.questions, first.category, second.category) == (True, (), "non-spatial", "non-spatial")
    assert second.answers == (True, True)


def test_an_id_that_occurs_twice_counts_once_and_a_file_without_rows_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text() * 2)
    found = read_items(path)
    assert len(found) == 1
    assert "row 1 already" in str(found.left_out[0].error)
    path.write_text("")
    with pytest.raises(InputError, match="no row"):
        read_items(path)


@pytest.mark.parametrize(
    "said", [None, Scored(R3Answer(False, "It is blue.", "Paint it.")), Scored(R3Answer(True)), Unscored(Reason.TIMEOUT)]
)
def test_what_a_stage_leaves_is_read_back(tmp_path, said):
    [item] = read_items(written(tmp_path))
    write_staged(tmp_path / "work" / "rows.jsonl", [Staged(item, said, "made" if said else None)])
    [back] = read_staged(tmp_path / "work" / "rows.jsonl")
    assert (back.item.idx, back.item.questions, back.edit) == (item.idx, item.questions, "made" if said else None)
    assert back.item.picture.resolve() == item.picture.resolve()
    if isinstance(said, Unscored):
        assert back.said.reason == said.reason
    else:
        assert back.said == said


@pytest.mark.parametrize(
    "changes", [{"said": 3}, {"said": {"answer": "yes"}}, {"said": {"unscored": "odd"}}, {"edit": "later"}]
)
def test_a_column_of_a_stage_that_is_none_is_refused(tmp_path, changes):
    with pytest.raises(InputError, match="row 1"):
        read_staged(written(tmp_path, **changes))


def test_a_single_row_has_no_bootstrap_interval():
    values = [0.5, 0.25, 0.75, 0.5, 0.25, 0.5]
    rows = pl.DataFrame({"dimension": ["s_rect"] * 6, "task": ["color", *["shape"] * 5], "value": values})
    whole, color, shape = lines_of(rows, "s_rect", "s_rect", "scored", share=False)
    assert (color["value"], color["ci_low"], color["ci_high"]) == (0.5, None, None)
    assert whole["ci_low"] < whole["value"] < whole["ci_high"]
    assert shape["ci_low"] < shape["value"] == 0.45
