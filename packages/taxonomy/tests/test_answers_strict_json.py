"""JSON is taken as RFC 8259 has it, and every refusal is one exception."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.answers.strict_json import DEEPEST, LONGEST_INTEGER, JsonError, strict_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 10**LONGEST_INTEGER, 10**LONGEST_INTEGER - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=values)
def test_what_json_writes_is_read_back(value):
    assert strict_json(json.dumps(value)) == value


@given(text=st.text(st.sampled_from('{}[]",:\\ntrue019.eE- ')))
def test_whatever_is_refused_is_refused_by_one_exception(text):
    try:
        strict_json(text)
    except JsonError as error:
        assert 0 < len(str(error)) < 200


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[-1e400]"])
def test_numbers_that_are_not_finite_are_refused(text):
    with pytest.raises(JsonError, match=r"is not JSON|too large"):
        strict_json(text)


def test_a_key_that_stands_twice_is_named():
    with pytest.raises(JsonError, match="the key 'answer' occurs twice"):
        strict_json('{"answer": true, "x": {}, "answer": false}')


def test_an_integer_too_long_to_convert_is_refused():
    with pytest.raises(JsonError, match=r"5000 digits"):
        strict_json("9" * 5000)
    assert strict_json("9" * LONGEST_INTEGER) == 10**LONGEST_INTEGER - 1
    assert strict_json("-" + "9" * LONGEST_INTEGER) == 1 - 10**LONGEST_INTEGER


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_nesting_is_refused_before_python_recurses(bracket):
    closing = "]" if bracket == "[" else "}"
    assert strict_json(bracket * DEEPEST + "1" + closing * DEEPEST) is not None
    for depth in (DEEPEST + 1, 10 * sys.getrecursionlimit(), 100_000):
        with pytest.raises(JsonError, match="nested"):
            strict_json(bracket * depth + "1" + closing * depth)


def test_brackets_within_strings_do_not_nest():
    assert strict_json(json.dumps(["[{" * 100, 'a " quote {' * 40])) == ["[{" * 100, 'a " quote {' * 40]


@pytest.mark.parametrize(
    "text", ["", "True", "{'a': 1}", '{"a": 1,}', '{"a": 1} {}', '"line\nbreak"', "01", "// x\n1", "\ufeff1"]
)
def test_what_only_looks_like_json_is_refused(text):
    with pytest.raises(JsonError):
        strict_json(text)


@pytest.mark.parametrize("length", [1, 39, 40, 41, 400])
def test_a_long_key_that_stands_twice_is_named_by_its_beginning(length):
    key = ("abcdefghij" * 40)[:length]
    with pytest.raises(JsonError) as caught:
        strict_json(f'{{"{key}": 1, "{key}": 2}}')
    assert str(caught.value) == f"the key '{key[:40]}' occurs twice"
