"""Digests are a promise: the values below stood in somebody's result store and must never change."""

import hashlib
import subprocess
import sys
from collections import OrderedDict
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.records import Winner

PINNED = [
    (None, "77413b11a83af4269e0b4368"),
    (True, "604a7d77e92385479d55a3be"),
    (1, "4e06930abb477ec45692006f"),
    (1.0, "4e06930abb477ec45692006f"),
    (1.5, "5efbbdb2bf4c1c835d66b8a1"),
    ("", "4899c6599e2b53646067a570"),
    ("é", "45e96af65890dcf0982d8e2f"),
    ("e\u0301", "45e96af65890dcf0982d8e2f"),
    ([1, [2]], "60fb4e1fdb95e4b79d7f03c8"),
    ((1, (2,)), "60fb4e1fdb95e4b79d7f03c8"),
    ({"b": 1, "a": [True]}, "8f5ef771f1bd5cf480882da3"),
    (datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "8eed8e53d4111c6296e1efff"),
]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="ascii")), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("value", "key"), PINNED)
def test_pinned_digests_never_change(value, key):
    assert digest("t", value) == key


def test_the_rule_is_the_one_that_is_promised():
    body = '{"a":[true,null],"é":"x"}'
    assert (
        digest("kind", {"e\u0301": "x", "a": [True, None]}, length=64) == hashlib.sha256(f"kind\0{body}".encode()).hexdigest()
    )


def test_another_process_with_another_hash_seed_finds_the_same_key():
    code = "from salon_taxonomy.digest import digest; print(digest('t', {'b': 1, 'a': [True]}))"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == "8f5ef771f1bd5cf480882da3"


def test_the_kind_is_part_of_the_content():
    assert digest("prompt", "x") != digest("model", "x")


def test_the_length_is_the_number_of_digits():
    assert [len(digest("t", 1, length=n)) for n in (8, 24, 64)] == [8, 24, 64]
    assert digest("t", 1, length=64).startswith(digest("t", 1))


@given(members=st.dictionaries(st.text(st.characters(codec="ascii")), values, max_size=4))
def test_the_order_of_keys_does_not_matter(members):
    assert digest("t", members) == digest("t", OrderedDict(reversed(members.items())))


@given(value=values)
def test_a_value_in_a_list_is_another_value(value):
    assert digest("t", [value]) != digest("t", value)


@given(left=values, right=values)
def test_equal_digests_mean_equal_values(left, right):
    if digest("t", left) == digest("t", right):
        assert digest("u", left) == digest("u", right)
    elif type(left) is type(right) and not isinstance(left, str | list | dict):
        assert left != right


def test_the_same_instant_in_two_zones_has_one_digest():
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert digest("t", noon) == digest("t", noon.astimezone(timezone(timedelta(hours=5, minutes=45))))


def test_an_enum_counts_as_its_value():
    assert digest("t", Winner.TIE) == digest("t", "tie")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), datetime(2026, 1, 1), {"é": 1, "e\u0301": 2}])
def test_what_has_no_single_content_has_no_digest(value):
    with pytest.raises(ValueError, match=r"no digest|no time zone"):
        digest("t", [value])


@pytest.mark.parametrize("value", [b"bytes", bytearray(b"b"), {1, 2}, object(), 1j, {1: "a"}])
def test_what_is_no_plain_value_has_no_digest(value):
    with pytest.raises(TypeError):
        digest("t", value)


def test_lone_surrogates_have_a_digest_of_their_own():
    assert len({digest("t", "\ud800"), digest("t", "\udfff"), digest("t", "\ufffd")}) == 3


def test_a_file_is_hashed_by_its_bytes(tmp_path):
    path = tmp_path / "large.bin"
    path.write_bytes(b"\0\xff" * 1_500_000)
    assert file_sha256(path) == file_sha256(str(path)) == hashlib.sha256(b"\0\xff" * 1_500_000).hexdigest()
