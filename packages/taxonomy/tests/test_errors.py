"""A message names the place, the value, what is allowed and what to do, and can do nothing to a terminal."""

import os
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from salon_taxonomy.errors import (
    _LONGEST_VALUE,
    IncompleteError,
    InputError,
    SalonError,
    _shortened,
    did_you_mean,
    missing_path,
)


def test_a_message_says_where_what_and_what_is_allowed_and_what_to_do():
    error = InputError(
        "unknown winner", source="votes.csv", row=3, column="winner", value="A", allowed=["tie", "model_a"], hint="Fix it."
    )
    assert str(error) == "votes.csv, row 3, column 'winner': unknown winner 'A' (allowed: tie, model_a)\nFix it."


def test_a_line_is_named_where_an_editor_would_show_it():
    assert str(InputError("no key", source="own.toml", line=7)) == "own.toml, line 7: no key"


def test_a_message_without_a_place_is_the_problem_alone():
    assert str(InputError("nothing to rank")) == "nothing to rank"


@pytest.mark.parametrize("value", [0, False, "", [], 0.0])
def test_a_falsy_value_is_shown(value):
    assert str(InputError("wrong", value=value)) == f"wrong {value!r}"


def test_row_zero_is_a_row():
    assert "row 0" in str(InputError("wrong", row=0))


def test_an_empty_allowed_set_is_shown_as_empty():
    assert str(InputError("wrong", allowed=[])) == "wrong (allowed: none)"


def test_long_values_and_long_lists_are_cut_and_say_so():
    text = str(InputError("wrong", value="x" * 10_000, allowed=range(1000)))
    assert "…" in text
    assert "and 940 more" in text
    assert len(text) < 500


def test_a_number_that_python_will_not_write_is_shown_by_its_kind():
    assert str(InputError("wrong", value=10**5000)) == "wrong of type int, too long to show"


hostile = st.text(st.characters() | st.sampled_from("\x00\x07\x1b\r\n\x7f\x9b\u202e\u2028\ud800"))


@given(source=hostile, column=hostile, value=hostile, allowed=st.lists(hostile))
def test_nothing_in_a_message_can_move_a_terminal(source, column, value, allowed):
    text = str(InputError("wrong", source=source, column=column, value=value, allowed=allowed))
    assert all(line.isprintable() for line in text.split("\n"))  # a second line is ours: "Did you mean …"
    text.encode()


def test_what_stood_in_the_message_can_be_read_by_a_program():
    error = InputError("wrong", source="a.csv", row=1, line=2, column="c", value=3, allowed=(4, 5), hint="H.")
    assert (error.problem, error.source, error.row, error.line) == ("wrong", "a.csv", 1, 2)
    assert (error.column, error.value, error.allowed, error.hint) == ("c", 3, ("4", "5"), "H.")


def test_an_error_survives_the_way_between_processes():
    error = InputError("wrong", source="a.csv", row=1, value="v", hint="H.")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.row, copy.value) == (str(error), 1, "v")


def test_one_except_clause_catches_them_all_and_nothing_else():
    assert issubclass(InputError, SalonError)
    assert issubclass(IncompleteError, SalonError)
    assert not issubclass(SalonError, ValueError | OSError)


def test_a_mistake_keeps_its_words_where_it_stands_in_something_larger():
    part = InputError("unknown winner", source="part", row=3, column="winner", key="k", value="A", allowed=["B"], hint="Look.")
    assert vars(part.at()) == vars(part)
    whole = part.at(source="votes.jsonl", line=1007, column="who")
    assert (whole.source, whole.row, whole.line, whole.column) == ("votes.jsonl", None, 1007, "who")
    assert (whole.problem, whole.key, whole.value, whole.allowed, whole.hint) == ("unknown winner", "k", "A", ("B",), "Look.")


def test_what_is_there_instead_of_something_missing_is_not_called_allowed() -> None:
    error = InputError("missing column", source="votes.csv", value="rater_id", found=["winner", "model_a"])
    assert str(error) == "votes.csv: missing column 'rater_id' (there are: winner, model_a)"
    assert str(error.at(source="more.csv")) == "more.csv: missing column 'rater_id' (there are: winner, model_a)"


def test_what_is_there_instead_of_a_missing_file_is_told_of_the_folder_that_was_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    for folder in (tmp_path, tmp_path / "inner"):
        (folder / "data.csv").touch()
    assert "This folder has: data.csv, inner." in str(missing_path("zzzz"))
    assert "The folder inner has: data.csv." in str(missing_path("inner/zzzz"))


def test_what_is_no_file_is_named_for_what_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a named pipe" in str(missing_path(tmp_path / "pipe"))
    assert "is a folder, not a suite file" in str(missing_path(tmp_path, "suite file"))


@example(_LONGEST_VALUE - 2, "x")
@example(_LONGEST_VALUE - 1, "x")
@given(st.integers(100, 140), st.sampled_from(["x", "é", "\\", "\x1b"]))
def test_a_value_is_shown_whole_up_to_the_limit_and_beyond_it_its_beginning_fills_the_limit(length, sign):
    shown = _shortened(sign * length)
    if len(repr(sign * length)) <= _LONGEST_VALUE:
        assert shown == repr(sign * length)
    else:
        assert len(shown) == _LONGEST_VALUE
        assert shown.endswith("…") and repr(sign * length).startswith(shown[:-1])


def test_a_list_of_what_is_allowed_shows_sixty_names_and_counts_the_rest():
    for count, more in ((60, ""), (61, " and 1 more"), (75, " and 15 more")):
        shown = str(InputError("wrong", allowed=[f"n{number}" for number in range(count)]))
        assert shown == f"wrong (allowed: {', '.join(f'n{number}' for number in range(min(count, 60)))}{more})"


def test_a_missing_file_is_answered_with_eight_names_of_its_folder_and_how_many_more(tmp_path):
    for count, more in ((8, ""), (9, " and 1 more"), (12, " and 4 more")):
        folder = tmp_path / str(count)
        folder.mkdir()
        for number in range(count):
            (folder / f"{'abcdefghijkl'[number] * 6}.csv").touch()
        names = ", ".join(f"{letter * 6}.csv" for letter in "abcdefgh")
        assert str(missing_path(folder / "zz.csv")).splitlines()[1] == f"The folder {folder} has: {names}{more}."


def test_three_near_names_are_offered_and_none_that_is_less_than_seven_tenths_alike():
    names = ["rating1", "rating2", "rating3", "rating4", "weight"]
    assert did_you_mean("rating", names).count("rating") == 3
    assert did_you_mean("abcdefghij", ["abcdefgxyz"]) == "Did you mean 'abcdefgxyz'?"
    assert did_you_mean("abcdefghij", ["abcdefwxyz"]) == ""
