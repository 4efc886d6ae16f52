"""Shared by the store's tests: an empty store, small frames for its tables, a bucket on loopback."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import polars as pl
import pytest

from salon_store import ResultStore


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """A new, empty store."""
    return ResultStore.open(tmp_path / "results")


@pytest.fixture
def battles() -> Callable[..., pl.DataFrame]:
    """Makes ``count`` valid battles whose ids begin with ``prefix``."""

    def make(count: int = 3, prefix: str = "b") -> pl.DataFrame:
        return pl.DataFrame(
            {
                "battle_id": [f"{prefix}{number}" for number in range(count)],
                "model_a": ["flux"] * count,
                "model_b": ["sdxl"] * count,
                "winner": ["model_a"] * count,
                "rater_id": ["ann"] * count,
                "mode": ["public"] * count,
            },
            schema_overrides=dict.fromkeys(("battle_id", "model_a", "model_b", "winner", "rater_id", "mode"), pl.String),
        )

    return make


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


SERVER = """
import logging, sys
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
sys.stdin.read()
"""
