"""Kinds of judges and editors from installed packages: a broken one is named with its group and entry point."""

import os
import sys
from contextlib import nullcontext
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from salon_taxonomy import plugins
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import EDITORS, EditorKind, JudgeSettings, checked_load, installed, module_of_file, plugin
from salon_taxonomy.protocols import Judge

GROUP = EDITORS


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (("no_such_package_at_all:kind",), "cannot be imported"),
        (("json:no_such_name",), "cannot be imported"),
        (("json:dumps",), "must be of type EditorKind, not 'function'"),
        (("json:dumps", "json:loads"), "several packages bring this name"),
    ],
)
def test_an_entry_point_that_brings_no_kind_is_refused_by_name(monkeypatch, values, problem) -> None:
    found = [EntryPoint("mine", value, GROUP) for value in values]
    monkeypatch.setattr(plugins, "entry_points", lambda group: found)
    assert installed(GROUP) == ["mine"]
    with pytest.raises(InputError, match=problem) as caught:
        plugin(GROUP, "mine", EditorKind)
    assert "mine" in str(caught.value)
    assert GROUP in str(caught.value)


@pytest.mark.parametrize("missing", [("ask",), ("name", "ask"), ("name", "version", "ask")])
def test_an_object_that_is_no_judge_is_told_exactly_the_members_that_it_lacks(missing: tuple[str, ...]) -> None:
    members = ("name", "version", "ask")
    made = SimpleNamespace(**{member: None for member in members if member not in missing})
    with pytest.raises(InputError, match="it lacks") as caught:
        checked_load(lambda: made, Judge, source="s", members=members, hint="h")
    assert caught.value.value == list(missing) and caught.value.hint == "h"


def test_a_judge_is_called_by_its_name_or_its_kind_and_its_name_shapes_no_reply() -> None:
    class Settings(JudgeSettings):
        seed: int = 0

    plain, named = Settings(kind="http"), Settings(kind="http", name="Ann")
    assert (plain.title, named.title) == ("http", "Ann")
    assert plain.version == named.version
    assert len({plain.version, Settings(kind="panel").version, Settings(kind="http", seed=1).version}) == 3
    for length, fits in ((0, False), (1, True), (400, True), (401, False)):
        with nullcontext() if fits else pytest.raises(ValidationError):
            Settings(kind="http", name="x" * length)
    with pytest.raises(ValidationError):
        plain.name = "Bob"
    with pytest.raises(ValidationError):
        Settings(kind="http", key="secret")


def test_a_file_changed_within_a_second_to_a_text_of_equal_length_is_read_as_it_is_now(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # Python's cache knows a text by its second and its length alone
    file = tmp_path / "metrics.py"
    for version in ("1", "2"):
        file.write_text(f'version = "{version}"\n')
        os.utime(file, (1_700_000_000, 1_700_000_000))
        assert module_of_file(file).version == version
