"""What all tests share: how Hypothesis draws, nothing from the network, and quick beginnings of stores and commands.

Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes. Where ``CI`` is set,
it draws the same 30 examples every time; at a desk it looks for new ones. ``pytest --hypothesis-profile long`` draws 1,000.
No test asks the model hub for anything, and none waits for it. The processes that tests start compile what they import once.
``bucket`` is an object store on loopback and ``browser`` a headless Chromium; the tests of a worker share them.
"""

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is first imported; child processes get it, too
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ.pop("COLUMNS", None)  # xdist sets it to 80; what is printed into a file is wider
# Equal code is tested on equal examples, so that luck plays no part; `--hypothesis-profile long` searches for others.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("salon", calm, max_examples=30, derandomize=True)
settings.register_profile("long", calm, max_examples=1000)
settings.load_profile("salon")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs deaf to Ctrl-C, and so do nohup and some CI machines; the programs that tests start
    # would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # what is collected, a million objects, stays to the end; looking through it is a quarter of the time it takes


SLOW = frozenset(Path(__file__).with_name("tests").joinpath("slow.txt").read_text(encoding="utf-8").split())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what ``tests/slow.txt`` names, so that the test command takes minutes; CI runs all."""
    for item in items:
        if item.nodeid.partition("[")[0] in SLOW:
            item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Collect garbage again, in what the tests make."""
    gc.freeze()
    gc.enable()


_look_up = metadata.entry_points
_entry_points = cache(lambda path, **wanted: _look_up(**wanted))
# Every command looks them up, among some 300 distributions; what is found changes with the path alone.
metadata.entry_points = lambda **wanted: _entry_points(tuple(sys.path), **wanted)


@pytest.fixture(scope="session", autouse=True)
def _files_of_tables_are_compared() -> None:
    """Compare the JSON that any test lets a command print with the files that ``--output`` writes."""
    from salon_console import output
    from table_files_of import table_bytes_compared

    output.table_bytes = table_bytes_compared


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
    """Stores begin as copies of an empty one, have no ``catalog.duckdb``, and are folded without a process for each fold.

    Nothing waits for the disk to be flushed: no test cuts the power. Not so in tests that are marked ``real_store``, nor in
    benchmarks.
    """
    if request.node.get_closest_marker("real_store") or request.node.nodeid.startswith("benchmarks/"):
        return
    monkeypatch.setattr(os, "fsync", os.fstat)
    store = sys.modules.get("salon_store.store")
    if store is None:
        return
    if checkpoint := sys.modules.get("salon_bench.runs.checkpoint"):
        monkeypatch.setattr(checkpoint, "fold_apart", checkpoint.fold_here)
    make, empty = store.make_store, request.getfixturevalue("empty_store")

    def copied(place: Any, *, create: bool) -> None:
        root = place.layout.root
        if not create or place.address != str(root) or (root.exists() and any(root.iterdir())):
            make(place, create=create)
        else:
            shutil.copytree(empty, root, dirs_exist_ok=True)

    monkeypatch.setattr(store, "make_store", copied)
    monkeypatch.setattr("salon_store.catalog.refresh", lambda layout, tables: False)


@pytest.fixture(scope="session")
def bucket() -> Iterator[dict[str, str]]:
    """Environment variables for an object store with S3's protocol that has an empty bucket, ``bucket``."""
    # A process of its own: a client that waits for it may hold this interpreter.
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    assert server.stdout is not None
    endpoint = server.stdout.readline().strip()
    urlopen(Request(f"{endpoint}/bucket", method="PUT")).close()
    yield {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "not-a-secret",
        "AWS_REGION": "us-east-1",
    }
    server.kill()
    server.communicate()


@pytest.fixture(scope="session")
def chromium() -> "Iterator[tuple[Browser, asyncio.AbstractEventLoop]]":
    """Start the worker's Chromium; give it with Playwright's event loop, which stays open in the main thread."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine; Debian's package `chromium` makes these run")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield started, loop
        asyncio._set_running_loop(loop)
        started.close()


@pytest.fixture
def browser(chromium: "tuple[Browser, asyncio.AbstractEventLoop]") -> "Iterator[Browser]":
    """A headless Chromium. Its event loop runs during this test alone, so that others can call ``asyncio.run``."""
    started, loop = chromium
    asyncio._set_running_loop(loop)
    yield started
    asyncio._set_running_loop(None)


SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""
