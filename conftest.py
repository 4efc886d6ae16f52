"""What all tests share: how Hypothesis draws, nothing from the network, and quick beginnings of stores and commands.

Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes. Where ``CI`` is set,
it draws the same 50 examples every time; at a desk it looks for new ones. ``pytest --hypothesis-profile long`` draws 1,000.
No test asks the model hub for anything, and none waits for it. The processes that tests start compile what they import once.
"""

import os
import shutil
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is first imported; child processes get it, too
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("salon", settings(), deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("salon"), max_examples=1000)
settings.load_profile("salon")

_look_up = metadata.entry_points
_entry_points = cache(lambda path, **wanted: _look_up(**wanted))
# Every command looks them up, among some 300 distributions; what is found changes with the path alone.
metadata.entry_points = lambda **wanted: _entry_points(tuple(sys.path), **wanted)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without rows and without ``catalog.duckdb``."""
    from salon_store import ResultStore

    path = tmp_path_factory.mktemp("empty") / "store"
    ResultStore.open(path)
    (path / "catalog.duckdb").unlink()
    return path


@pytest.fixture(autouse=True)
def quick_stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores begin as copies of an empty one and have no ``catalog.duckdb``, unless the test is marked ``real_store``."""
    store = sys.modules.get("salon_store.store")
    if store is None or request.node.get_closest_marker("real_store"):
        return
    make, empty = store.make_store, request.getfixturevalue("empty_store")

    def copied(place: Any, *, create: bool) -> None:
        root = place.layout.root
        if not create or place.address != str(root) or (root.exists() and any(root.iterdir())):
            make(place, create=create)
        else:
            shutil.copytree(empty, root, dirs_exist_ok=True)

    monkeypatch.setattr(store, "make_store", copied)
    monkeypatch.setattr("salon_store.catalog.refresh", lambda layout, tables: False)
