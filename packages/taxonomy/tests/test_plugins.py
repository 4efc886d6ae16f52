"""Kinds of judges and editors from installed packages: a broken one is named with its group and entry point."""

from importlib.metadata import EntryPoint

import pytest

from salon_taxonomy import plugins
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import EDITORS, EditorKind, installed, plugin

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
