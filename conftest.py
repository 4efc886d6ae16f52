"""Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes.

Where ``CI`` is set, Hypothesis draws the same examples every time; at a desk it looks for new ones. No test asks the model
hub for anything, and none waits for it. ``bucket`` is an object store on loopback, shared by the tests of a worker.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest
from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is first imported; child processes get it, too
settings.register_profile("salon", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("salon")


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
